import assert from "node:assert/strict";
import { test } from "node:test";
import { chartOf } from "../../src/chart";
import { cohortsOf, mappedMetric, windowsOf } from "../../src/cohorts";
import { formatValue } from "../../src/format";
import { INDEX } from "./sample";

test("the last column has the window of the question", () => {
  assert.deepEqual(windowsOf("90d"), ["7d", "14d", "30d", "60d", "90d"]);
  assert.deepEqual(windowsOf("100d"), ["14d", "30d", "60d", "90d", "100d"]);
  assert.deepEqual(windowsOf("all"), ["90d", "180d", "365d", "730d", "all"]);
  assert.deepEqual(windowsOf("0d"), ["0d"]);
});

test("the map begins with a metric that depends on the window", () => {
  assert.equal(mappedMetric(["leads", "spend", "roasClosed"], null), "roasClosed");
  assert.equal(mappedMetric(["leads", "spend"], null), "leads");
  assert.equal(mappedMetric(["leads", "roasClosed"], "leads"), "leads");
});

test("a cell is open as long as the window of a lead is", () => {
  const columns = [
    [
      { start: "2026-05-01", end: "2026-05-31", leads: 3, openLeads: 0 },
      { start: "2026-06-01", end: "2026-06-20", leads: 2, openLeads: 0 },
    ],
    [{ start: "2026-05-01", end: "2026-05-31", leads: 4, openLeads: 1 }],
  ];
  assert.deepEqual(cohortsOf({ start: "2026-05-01", end: "2026-06-20" }, "month", "leads", columns), [
    { start: "2026-05-01", end: "2026-05-31", cells: [{ value: 3, isOpen: false }, { value: 4, isOpen: true }] },
    { start: "2026-06-01", end: "2026-06-20", cells: [{ value: 2, isOpen: false }, { value: 0, isOpen: false }] },
  ]);
});

test("the columns of a comparison have labels, and a change has a sign", () => {
  const { dictionary } = INDEX;
  assert.equal(dictionary.label("spend.previous"), "Spend: before");
  assert.ok(dictionary.isMetric("leads.ratio") && !dictionary.isMetric("campaign.previous") && !dictionary.isMetric("leads.x"));
  const shown = (name: string, value: number | null) => formatValue(value, dictionary.get(name)?.format ?? "");
  assert.equal(shown("spend.change", 1200), "+1,200.00");
  assert.equal(shown("leads.ratio", -0.125), "-12.5%");
  assert.equal(shown("bookRate.change", 0.031), "+3.1 pp");
  assert.equal(shown("leads.change", 0), "0");
  assert.equal(shown("bookRate.mixEffect", -0.00001), "0.0 pp");
  assert.equal(shown("leads.ratio", null), "–");
});

test("bars have a mark for the value before", () => {
  const row = { campaign: "A", leads: 5, "leads.previous": 4, "leads.change": 1, "leads.ratio": 0.25 };
  const chart = chartOf({ dimensions: ["campaign"], metrics: ["leads"], interval: "total" }, { start: "2026-06-01", end: "2026-06-30" }, null, [row]);
  assert.ok(chart.kind === "bars");
  assert.deepEqual(chart.bars, [{ label: "A", value: 5, previous: 4 }]);
});
