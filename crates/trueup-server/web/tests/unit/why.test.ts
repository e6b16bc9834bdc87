import assert from "node:assert/strict";
import { test } from "node:test";
import { readExplanation, whyPath } from "../../src/why";
import { INDEX, QUESTION } from "./sample";

const JUNE = { start: "2026-06-01", end: "2026-06-30" };

test("a request names the row by its dimensions and days, and asks as the answer was asked", () => {
  const row = { start: "2026-06-08", end: "2026-06-14", campaign: 'a "b"', leads: 3, spend: 1 };
  const path = whyPath({ ...QUESTION, interval: "week", days: { name: "last-month" }, accounts: ["a"] }, JUNE, row, "leads", 100, INDEX.dictionary)!;
  const { pathname, searchParams } = new URL(path, "http://host/");
  assert.equal(pathname, "/api/group/events");
  assert.deepEqual(Object.fromEntries(searchParams), {
    fields: "campaign,leads,spend",
    ...JUNE,
    interval: "week",
    accounts: "a",
    why: "leads",
    row: JSON.stringify({ campaign: 'a "b"', start: "2026-06-08" }),
    lines: "100",
  });
});

test("a single row needs no name, and a cell has no earlier days", () => {
  const path = whyPath({ ...QUESTION, dimensions: [], compare: "previous-year" }, JUNE, { leads: 3 }, "leads", 1, INDEX.dictionary);
  assert.equal(path, "api/group/events?fields=leads,spend&start=2026-06-01&end=2026-06-30&why=leads&lines=1");
});

test("an explanation has the lines of each of its measures", () => {
  const explanation = readExplanation({
    metrics: [{ metric: "avgCostPerLead", value: 20.5, formula: "spend / leads" }],
    measures: [
      { measure: "spend", format: "currency", sum: 41, lines: 1, leftOut: 0 },
      { measure: "leads", format: "number", sum: 2, lines: 2, leftOut: 1 },
    ],
    lines: [
      { measure: "spend", account: "a", date: "2026-06-01", count: 0, amount: 41, rule: "spend" },
      { measure: "leads", account: "a", opportunityId: "c", eventId: "e", date: "2026-06-02", type: "call", count: 1, amount: 0, rule: "first touch" },
    ],
  });
  assert.deepEqual([explanation?.value, explanation?.formula], [20.5, "spend / leads"]);
  const [spend, leads] = explanation!.measures;
  assert.deepEqual(spend!.lines, [{ account: "a", customer: "", event: "", type: "", date: "2026-06-01", adds: 41, rule: "spend" }]);
  assert.deepEqual([leads!.count, leads!.leftOut, leads!.lines[0]!.adds], [2, 1, 1]);
  for (const other of [[], {}, null, { metrics: [], measures: [], lines: [] }]) assert.equal(readExplanation(other), null);
});
