import assert from "node:assert/strict";
import { test } from "node:test";
import { copyAs, type Language } from "../../src/copies";
import { searchFields } from "../../src/dictionary";
import type { Question } from "../../src/question";
import { INDEX, QUESTION, TODAY } from "./sample";

const question: Question = {
  ...QUESTION,
  interval: "month",
  conditions: [{ field: "campaign", operator: "isNot", values: ["Bob's \"#1\" Drain"] }],
  sort: { field: "leads", descending: true },
};
const copied = (language: Language, of = question) => copyAs(language, of, INDEX, "https://host/base/", TODAY);

test("the command line", () => {
  assert.equal(
    copied("trueup"),
    `trueup query DATASET --fields campaign,leads,spend \\
  --start 2026-06-01 --end 2026-06-30 \\
  --interval month \\
  --account a \\
  --account b \\
  --filter '{"campaign":["ne","Bob'\\''s \\"#1\\" Drain"]}' \\
  --sort leads:desc
`,
  );
});

test("curl", () => {
  assert.equal(
    copied("curl", QUESTION),
    `curl -sS --compressed -H "Authorization: $TRUEUP_KEY" \\
  'https://host/base/api/group/events?fields=campaign,leads,spend&start=2026-06-01&end=2026-06-30'
`,
  );
  assert.ok(!copied("curl")?.split("\n")[1]?.slice(3, -1).includes("'"), "a quotation mark would end the address");
});

test("Rust", () => {
  assert.equal(
    copied("rust"),
    `use trueup::query::{EventsQuery, Interval};
use trueup::{Dataset, filter};

let dataset = Dataset::open("DATASET")?;
let query = EventsQuery::new(["campaign", "leads", "spend"], "2026-06-01".parse()?, "2026-06-30".parse()?)
    .interval(Interval::Month)
    .accounts(["a", "b"])
    .filter(filter::from_json(r##"{"campaign":["ne","Bob's \\"#1\\" Drain"]}"##)?)
    .sort("leads:desc");
let table = dataset.query(&query)?;
`,
  );
});

test("Python", () => {
  assert.equal(
    copied("python", { ...question, accounts: ["b"], sort: null }),
    `import trueup

table = trueup.open("DATASET").query(
    ["campaign", "leads", "spend"],
    start="2026-06-01", end="2026-06-30",
    interval="month",
    accounts=["b"],
    filter="{\\"campaign\\":[\\"ne\\",\\"Bob's \\\\\\"#1\\\\\\" Drain\\"]}",
)
`,
  );
});

test("an incomplete question has no copies", () => {
  assert.equal(copied("trueup", { ...QUESTION, metrics: [] }), null);
});

test("fields are found by what people call them", () => {
  const names = (typed: string) => searchFields(INDEX.dictionary.all("metric"), typed).map(({ name }) => name);
  assert.equal(names("cost per lead")[0], "avgCostPerLead");
  assert.equal(names("CPL")[0], "avgCostPerLead");
  assert.equal(names("calls")[0], "conversions");
  assert.equal(names("bookrate")[0], "bookRate");
  assert.equal(names("management fee")[0], "spend");
  assert.deepEqual(names("leads"), ["leads", "soldLeads"]);
  assert.deepEqual(names("nothing of this kind"), []);
  assert.equal(searchFields(INDEX.dictionary.all("dimension"), "credited")[0]?.name, "attributionChannel");
});
