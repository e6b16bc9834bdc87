import assert from "node:assert/strict";
import { test } from "node:test";
import { closedLeads, leastReturn, spendRequest } from "../../src/suggestions";
import type { DatedQuestion } from "../../src/question";
import { INDEX, NOW, QUESTION } from "./sample";

const { dictionary } = INDEX;
const search = { field: "attributionChannel", operator: "is" as const, values: ["Paid Search"] };
const many = { field: "leads", operator: "above" as const, values: ["5"] };
const JUNE: DatedQuestion = { ...QUESTION, compare: "previous-period", conditions: [search, many], charted: "leads", benchmarks: true };

test("campaigns with the least return are those of ninety days that spent much", () => {
  const request = spendRequest(JUNE, NOW, dictionary);
  assert.deepEqual(request?.range, { start: "2026-08-26", end: "2026-11-23" });
  assert.deepEqual([request?.fields, request?.filters, request?.compare], [["campaign", "spend"], [["attributionChannel", "Paid Search"]], null]);
  const spent = [0, 10, 470, 480, 9_000].map((spend, number) => ({ campaign: `c${number}`, spend }));
  const asked = leastReturn(JUNE, spent, NOW, dictionary);
  // The median of those with any spend is 480, of which one digit is left; a condition on a metric is not kept.
  assert.deepEqual(asked.conditions, [search, { field: "spend", operator: "above", values: ["400"] }]);
  assert.deepEqual([asked.days, asked.sort, asked.compare, asked.charted, asked.benchmarks], [{ name: "90d" }, { field: "roasClosed", descending: false }, null, null, false]);
  assert.deepEqual(asked.metrics, ["roasClosed", "spend", "closedRevenue", "leads", "avgCostPerLead"]);
  // More days than that stay, and so does a question of which nothing was spent.
  assert.ok(!("days" in leastReturn({ ...JUNE, days: { start: "2026-01-01", end: "2026-06-30" } }, spent, NOW, dictionary)));
  assert.deepEqual(leastReturn(JUNE, [], NOW, dictionary).conditions?.at(-1)?.values, ["0"]);
});

test("leads that became revenue are customers of the same days, followed until now", () => {
  const asked = closedLeads(JUNE, dictionary);
  assert.deepEqual(asked.dimensions, ["account", "opportunityId", "opportunityStartDate", "firstBooked", "firstSold", "firstClosed", "campaign"]);
  assert.deepEqual(asked.conditions, [search, { field: "closedRevenue", operator: "above", values: ["0"] }]);
  assert.deepEqual([asked.within, asked.attribution, asked.interval, asked.compare], ["all", "first", "total", null]);
  assert.ok(!("days" in asked));
});
