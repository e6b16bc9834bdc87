import assert from "node:assert/strict";
import { test } from "node:test";
import { addDays, countDays, earlierRange, formatRange, isDay, isPartial, namedRange, resolveDays, subRanges, today } from "../../src/days";

test("a day is a calendar day that trueup knows", () => {
  for (const day of ["1970-01-01", "2024-02-29", "2149-06-06"]) assert.ok(isDay(day), day);
  for (const day of ["", "2026-02-29", "2026-6-1", "1969-12-31", "2149-06-07", "2026-13-01", "2026-06-01T00:00:00Z"]) assert.ok(!isDay(day), day);
});

test("named ranges have the days of the command line", () => {
  // The examples of docs/command-line.md are counted from the same day.
  const expected: Record<string, [string, string]> = {
    today: ["2026-11-23", "2026-11-23"],
    yesterday: ["2026-11-22", "2026-11-22"],
    "90d": ["2026-08-26", "2026-11-23"],
    "12w": ["2026-09-01", "2026-11-23"],
    "this-week": ["2026-11-23", "2026-11-29"],
    "last-week": ["2026-11-16", "2026-11-22"],
    "last-month": ["2026-10-01", "2026-10-31"],
    "month-to-date": ["2026-11-01", "2026-11-23"],
    "last-quarter": ["2026-07-01", "2026-09-30"],
    "quarter-to-date": ["2026-10-01", "2026-11-23"],
    "last-year": ["2025-01-01", "2025-12-31"],
    "2026-02": ["2026-02-01", "2026-02-28"],
    "2026-Q2": ["2026-04-01", "2026-06-30"],
    "2024": ["2024-01-01", "2024-12-31"],
  };
  for (const [name, [start, end]] of Object.entries(expected)) assert.deepEqual(namedRange(name, "2026-11-23"), { start, end }, name);
  for (const name of ["", "0d", "last-decade", "2026-00", "2026-Q5", "0001", "toString"]) assert.equal(namedRange(name, "2026-11-23"), null, name);
});

test("the month before January is of the year before", () => {
  assert.deepEqual(namedRange("last-month", "2026-01-31"), { start: "2025-12-01", end: "2025-12-31" });
});

test("days are counted with both ends", () => {
  assert.equal(countDays({ start: "2026-03-01", end: "2026-03-31" }), 31);
  assert.equal(addDays("2024-02-28", 2), "2024-03-01");
});

test("today is the day of the clock on the wall", () => {
  assert.equal(today(new Date(2026, 0, 2, 23, 59)), "2026-01-02");
});

test("sub-ranges at the edges may be partial", () => {
  assert.ok(!isPartial({ start: "2026-06-01", end: "2026-06-30" }, "month"));
  assert.ok(isPartial({ start: "2026-06-02", end: "2026-06-30" }, "month"));
  assert.ok(!isPartial({ start: "2026-06-01", end: "2026-06-07" }, "week"));
  assert.ok(isPartial({ start: "2026-06-29", end: "2026-06-30" }, "week"));
  assert.ok(!isPartial({ start: "2026-06-29", end: "2026-06-29" }, "day"));
});

test("sub-ranges cover the range and are clipped to it", () => {
  const range = { start: "2026-06-10", end: "2026-07-01" };
  const starts = (interval: "month" | "week" | "day" | "total") => subRanges(range, interval).map(({ start }) => start);
  assert.deepEqual(subRanges(range, "month"), [
    { start: "2026-06-10", end: "2026-06-30" },
    { start: "2026-07-01", end: "2026-07-01" },
  ]);
  assert.deepEqual(starts("week"), ["2026-06-10", "2026-06-15", "2026-06-22", "2026-06-29"]);
  assert.equal(starts("day").length, 22);
  assert.deepEqual(subRanges(range, "total"), [range]);
});

test("named ranges end where the data end", () => {
  const range = (name: string, newest: string, today = "2026-11-23") => resolveDays({ name }, { today, newest });
  assert.deepEqual(range("30d", "2026-06-30"), { start: "2026-06-01", end: "2026-06-30" });
  assert.deepEqual(range("month-to-date", "2026-06-12"), { start: "2026-06-01", end: "2026-06-12" });
  // The last month is over, even if no data came after it; today is not.
  assert.deepEqual(range("last-month", "2026-06-30"), { start: "2026-06-01", end: "2026-06-30" });
  assert.deepEqual(range("last-month", "2026-06-29"), { start: "2026-05-01", end: "2026-05-31" });
  assert.deepEqual(range("last-quarter", "2026-06-30"), { start: "2026-04-01", end: "2026-06-30" });
  assert.deepEqual(range("last-month", "2026-11-30", "2026-11-30"), { start: "2026-10-01", end: "2026-10-31" });
  assert.deepEqual(range("2026-02", "2026-06-30"), { start: "2026-02-01", end: "2026-02-28" });
});

test("a range is written as people write it", () => {
  const written = (start: string, end: string) => formatRange({ start, end });
  assert.equal(written("2026-06-01", "2026-06-30"), "Jun 2026");
  assert.equal(written("2026-04-01", "2026-06-30"), "Q2 2026");
  assert.equal(written("2026-01-01", "2026-12-31"), "2026");
  assert.equal(written("2026-06-01", "2026-06-01"), "1 Jun 2026");
  assert.equal(written("2026-06-01", "2026-06-09"), "1 – 9 Jun 2026");
  assert.equal(written("2026-05-30", "2026-06-09"), "30 May – 9 Jun 2026");
  assert.equal(written("2025-12-30", "2026-01-02"), "30 Dec 2025 – 2 Jan 2026");
});

test("a comparison is with the days that the service compares with", () => {
  // The examples of the tests of the core.
  for (const [start, end, first, last] of [
    ["2026-05-01", "2026-05-31", "2026-04-01", "2026-04-30"],
    ["2026-01-01", "2026-03-31", "2025-10-01", "2025-12-31"],
    ["2024-02-01", "2024-02-29", "2024-01-01", "2024-01-31"],
    ["2024-02-01", "2024-02-28", "2024-01-04", "2024-01-31"],
    ["2026-05-15", "2026-05-15", "2026-05-14", "2026-05-14"],
  ] as const) {
    assert.deepEqual(earlierRange({ start, end }, "previous-period"), { start: first, end: last });
  }
  assert.deepEqual(earlierRange({ start: "2024-02-29", end: "2024-03-01" }, "previous-year"), { start: "2023-02-28", end: "2023-03-01" });
});
