import assert from "node:assert/strict";
import { test } from "node:test";
import { LANGUAGES, copyAs, type Language } from "../../src/copies";
import type { DatedQuestion } from "../../src/question";
import { INDEX, QUESTION } from "./sample";

const question: DatedQuestion = {
  ...QUESTION,
  interval: "month",
  conditions: [{ field: "campaign", operator: "isNot", values: ["Bob's \"#1\" Drain"] }],
  sort: { field: "leads", descending: true },
};
const copied = (language: Language, of = question) => copyAs(language, of, INDEX, "https://host/base/");

test("a question becomes a command of trueup", () => {
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

test("a question becomes a command of curl", () => {
  assert.equal(
    copied("curl", QUESTION),
    `curl -sS --compressed -H "Authorization: $TRUEUP_KEY" \\
  'https://host/base/api/group/events?fields=campaign,leads,spend&start=2026-06-01&end=2026-06-30'
`,
  );
  assert.ok(!copied("curl")?.split("\n")[1]?.slice(3, -1).includes("'"), "a quotation mark would end the address");
});

test("a question becomes code in Rust", () => {
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

test("a question with targets asks for them in each language", () => {
  const asked = { ...QUESTION, targets: true, sort: { field: "leads.pace", descending: true } };
  assert.ok(copied("trueup", asked)?.includes(" \\\n  --targets \\\n"));
  assert.ok(copied("curl", asked)?.includes("&%24targets=true'"));
  assert.ok(copied("python", asked)?.includes("    targets=True,\n"));
  assert.equal(
    copied("rust", asked),
    `use trueup::query::EventsQuery;
use trueup::targets::TargetComparison;
use trueup::{Dataset, Execution};

let dataset = Dataset::open("DATASET")?;
let query = EventsQuery::new(["campaign", "leads", "spend"], "2026-06-01".parse()?, "2026-06-30".parse()?)
    .accounts(["a", "b"])
    .sort("leads.pace:desc");
let table = TargetComparison::new(&query, &dataset)?.run(&dataset, &Execution::default())?;
`,
  );
});

test("a question becomes code in Python", () => {
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

test("a cohort, the attribution and a comparison are part of every copy", () => {
  const cohort = { ...QUESTION, within: "90d", attribution: "first" as const, compare: { start: "2025-06-01", end: "2025-06-30" } };
  assert.match(copied("trueup", cohort) ?? "", /--fields campaign,leads,spend,openLeads [^]*--cohort --within 90d [^]*--attribution first [^]*--compare 2025-06-01\.\.2025-06-30/);
  assert.match(copied("curl", cohort) ?? "", /&cohort=true&within=90d&attribution=first&compare=2025-06-01\.\.2025-06-30'/);
  assert.match(copied("rust", cohort) ?? "", /\.cohort\("90d"\.parse\(\)\?\)\n    \.attribution\("first"\.parse\(\)\?\)\n    \.compare\("2025-06-01\.\.2025-06-30"\.parse\(\)\?\)/);
  assert.match(copied("python", cohort) ?? "", /cohort=True, within="90d",\n    attribution="first",\n    compare="2025-06-01\.\.2025-06-30"/);
});

test("the question of an organization without accounts is one for the service alone", () => {
  const index = { ...INDEX, organizations: [{ organization: "group", accounts: [], currency: null }] };
  const copies = LANGUAGES.map(([language]) => copyAs(language, QUESTION, index, "https://host/base/") !== null);
  assert.deepEqual(copies, [false, true, false, false]);
});

test("an incomplete question has no copies", () => {
  assert.equal(copied("trueup", { ...QUESTION, metrics: [] }), null);
});
