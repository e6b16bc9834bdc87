import assert from "node:assert/strict";
import { test } from "node:test";
import { cohortsOf, mappedMetric, windowsOf } from "../../src/cohorts";

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
