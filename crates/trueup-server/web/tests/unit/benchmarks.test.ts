import assert from "node:assert/strict";
import { test } from "node:test";
import { bandOf, benchmarkPath, benchmarkScope, hasBenchmark, noBenchmarks, runsOf, standingOf, withBenchmarks } from "../../src/benchmarks";
import type { DatedQuestion } from "../../src/question";
import { INDEX, QUESTION } from "./sample";

const MONTHLY: DatedQuestion = { ...QUESTION, metrics: ["bookRate"], dimensions: [], interval: "month" };
const scopeOf = (part: Partial<DatedQuestion>) => benchmarkScope({ ...MONTHLY, ...part }, INDEX.dictionary);

test("only questions by month have benchmarks, by dimensions that benchmarks know or by account", () => {
  assert.deepEqual(scopeOf({}), { organization: "group", accounts: [], dimensions: [], filters: [] });
  assert.deepEqual(scopeOf({ dimensions: ["account"] })?.dimensions, []);
  assert.deepEqual(scopeOf({ dimensions: ["account", "attributionChannel"] })?.dimensions, ["attributionChannel"]);
  for (const part of [{ interval: "week" as const }, { within: "90d" }, { attribution: "first" as const }, { dimensions: ["campaign"] }]) assert.equal(scopeOf(part), null);
});

test("one month as a whole has benchmarks, other days are shown by month", () => {
  assert.notEqual(scopeOf({ interval: "total" }), null);
  assert.equal(scopeOf({ interval: "total", days: { start: "2026-05-01", end: "2026-06-30" } }), null);
  assert.deepEqual(withBenchmarks({ ...MONTHLY, interval: "total" }), { benchmarks: true, compare: null, targets: false });
  assert.deepEqual(withBenchmarks({ ...MONTHLY, interval: "total", days: { start: "2026-05-01", end: "2026-06-30" } }), { benchmarks: true, compare: null, targets: false, interval: "month" });
  assert.deepEqual(withBenchmarks({ ...MONTHLY, interval: "week" }), { benchmarks: true, compare: null, targets: false, interval: "month" });
});

test("a question without benchmarks says why", () => {
  assert.match(noBenchmarks("leads", MONTHLY, INDEX.dictionary), /^Leads has no benchmarks/);
  assert.match(noBenchmarks("bookRate", { ...MONTHLY, dimensions: ["account", "campaign"] }, INDEX.dictionary), /not known by Campaign\.$/);
  assert.match(noBenchmarks("bookRate", { ...MONTHLY, within: "90d" }, INDEX.dictionary), /of what each event records/);
});

test("a figure stands between percentiles, and which side is better depends on the metric", () => {
  const band = { p10: 1, p25: 2, p50: 3, p75: 4, p90: 5, benchmark: 3, accounts: 20 };
  const standings = (better: "higher" | "lower" | null) => [0, 1, 2, 3, 4, 5].map((value) => standingOf(value, band, better));
  assert.deepEqual(standings("higher"), ["worse than 9 in 10", "worse than 3 in 4", "worse than half", "better than half", "better than 3 in 4", "better than 9 in 10"]);
  assert.deepEqual([standingOf(0, band, "lower"), standingOf(3, band, "lower"), standingOf(6, band, "lower")], ["better than 9 in 10", "better than half", "worse than 9 in 10"]);
  assert.deepEqual([standingOf(0, band, null), standingOf(5, band, null)], ["lower than 9 in 10", "higher than 9 in 10"]);
});

test("a condition that benchmarks cannot have leaves none", () => {
  const is = (field: string, ...values: string[]) => ({ field, operator: "is" as const, values });
  const search = is("attributionChannel", "Paid Search");
  assert.deepEqual(scopeOf({ conditions: [search, { field: "leads", operator: "above", values: ["5"] }] })?.filters, [["attributionChannel", "Paid Search"]]);
  for (const other of [is("attributionChannel", "A", "B"), is("campaign", "A"), { ...search, operator: "isNot" as const }, { field: "total", operator: "above" as const, values: ["5"] }]) {
    assert.equal(scopeOf({ conditions: [other] }), null, JSON.stringify(other));
  }
  assert.equal(scopeOf({ conditions: [search, search] }), null);
  assert.equal(scopeOf({ conditions: [is("attributionChannel", '["ne","A"]')] }), null);
});

test("a request names the months, and nothing of the lines but their scope", () => {
  const scope = scopeOf({ accounts: ["a", "b"], dimensions: ["attributionChannel"] })!;
  assert.equal(benchmarkPath(scope, ["bookRate"], ["2026-04", "2026-05"]), "api/group/benchmarks?month=2026-04,2026-05&fields=attributionChannel,bookRate&accounts=a,b");
});

test("whole months have benchmarks, up to the current one", () => {
  assert.ok(hasBenchmark({ start: "2026-05-01", end: "2026-05-31" }, "2026-05-31"));
  assert.ok(hasBenchmark({ start: "2026-05-01", end: "2026-05-31" }, "2026-05-02"));
  assert.ok(!hasBenchmark({ start: "2026-05-02", end: "2026-05-31" }, "2026-06-30"));
  assert.ok(!hasBenchmark({ start: "2026-07-01", end: "2026-07-31" }, "2026-06-30"));
});

test("a band needs every figure of its segment", () => {
  const rows = ["benchmark", "p10", "p25", "p50", "p75", "p90"].flatMap((series, index) => [
    { series, cohortAccounts: 28, attributionChannel: "Radio", bookRate: null },
    { series, cohortAccounts: 21, attributionChannel: "Paid Search", bookRate: index / 10 },
  ]);
  const band = bandOf(rows, "bookRate", ["attributionChannel"], ["Paid Search"]);
  assert.deepEqual(band, { benchmark: 0, p10: 0.1, p25: 0.2, p50: 0.3, p75: 0.4, p90: 0.5, accounts: 21 });
  assert.equal(bandOf(rows, "bookRate", ["attributionChannel"], ["Radio"]), null);
  assert.equal(bandOf(rows.slice(2), "bookRate", ["attributionChannel"], ["Paid Search"]), null);
  assert.equal(bandOf([], "bookRate", [], []), null);
  assert.deepEqual(runsOf([band, null, band, band]), [[0, 0], [2, 3]]);
});
