import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_COLUMNS, pivotOf } from "../../src/pivot";
import { rangesRequest } from "../../src/question";
import { INDEX, QUESTION } from "./sample";

const label = (field: string) => INDEX.dictionary.label(field);
const SPRING = { ...QUESTION, interval: "month" as const, days: { start: "2026-04-15", end: "2026-06-30" } };

test("months are columns, and a cell knows the row that it is from", () => {
  const rows = [
    { start: "2026-04-15", end: "2026-04-30", campaign: "A", leads: 1, spend: 9 },
    { start: "2026-05-01", end: "2026-05-31", campaign: "B", leads: 2, spend: 8 },
    { start: "2026-06-01", end: "2026-06-30", campaign: "A", leads: 3, spend: 7 },
  ];
  const pivot = pivotOf(SPRING, "leads", rows, label);
  assert.deepEqual(pivot.columns.map(({ name, field, label }) => [name, field, label.replace("\u00a0", " ")]), [
    ["campaign", "campaign", "Campaign"],
    ["2026-04-15", "leads", "Apr 2026"],
    ["2026-05-01", "leads", "May 2026"],
    ["2026-06-01", "leads", "Jun 2026"],
  ]);
  assert.deepEqual(pivot.rows, [
    { campaign: "A", "2026-04-15": 1, "2026-05-01": null, "2026-06-01": 3 },
    { campaign: "B", "2026-04-15": null, "2026-05-01": 2, "2026-06-01": null },
  ]);
  const [first] = pivot.rows;
  assert.equal(pivot.origin(first!, "2026-04-15"), rows[0]);
  assert.equal(pivot.origin(first!, "2026-05-01"), undefined, "the group has no row there");
  assert.equal(pivot.origin(first!, "campaign"), rows[2]);
});

test("of many days the newest are columns", () => {
  const pivot = pivotOf({ ...QUESTION, interval: "day", days: { start: "2026-01-01", end: "2026-06-30" } }, "leads", [{ start: "2026-01-01", end: "2026-01-01", campaign: "A", leads: 5 }], label);
  assert.deepEqual([pivot.columns.length, pivot.leftOut], [1 + MAX_COLUMNS, 181 - MAX_COLUMNS]);
  assert.deepEqual([pivot.columns.at(-1)?.name, pivot.columns.at(-1)?.label], ["2026-06-30", "30\u00a0Jun\u00a02026"]);
  assert.ok(!("2026-01-01" in pivot.rows[0]!));
});

test("all groups together are asked for by month, without conditions on metrics", () => {
  const many = { field: "leads", operator: "above" as const, values: ["5"] };
  const request = rangesRequest({ ...SPRING, metrics: ["leads"], conditions: [many], compare: "previous-year" }, INDEX.dictionary);
  assert.deepEqual([request?.fields, request?.interval, request?.filters, request?.compare], [["leads"], "month", [], null]);
});
