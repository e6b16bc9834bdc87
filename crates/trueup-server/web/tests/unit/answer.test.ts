import assert from "node:assert/strict";
import { test } from "node:test";
import { chartOf, ticksOf } from "../../src/chart";
import { toCsv } from "../../src/csv";
import { wordsOf } from "../../src/fault_words";
import { formatNumber, formatText, formatValue } from "../../src/format";
import { columnWidths, sortRows } from "../../src/rows";
import { Fault } from "../../src/service";
import { INDEX } from "./sample";

const JUNE = { start: "2026-06-01", end: "2026-06-30" };

const ROWS = [
  { campaign: "B", leads: 3, spend: 1234.5 },
  { campaign: "", leads: 12, spend: 0 },
  { campaign: "a,\"b\"", leads: 3, spend: 0.1 },
];

test("numbers are shown in the format of their field", () => {
  assert.equal(formatNumber(1234567, "number"), "1,234,567");
  assert.equal(formatNumber(1234.5, "currency"), "1,234.50");
  assert.equal(formatNumber(0.3214, "percent"), "32.1%");
  assert.equal(formatNumber(7.456, "decimal"), "7.46");
});

test("an empty text differs from the text `(none)`", () => {
  assert.equal(formatText(""), "(none)");
  assert.equal(formatText("(none)"), '"(none)"');
});

test("CSV holds the values as the service sent them", () => {
  assert.equal(toCsv(["campaign", "leads", "spend"], ROWS), 'campaign,leads,spend\nB,3,1234.5\n,12,0\n"a,""b""",3,0.1\n');
});

test("a ratio over nothing is a dash, an empty cell, the last row, and a bar without length", () => {
  const rows = [
    { campaign: "A", avgCostPerLead: null },
    { campaign: "B", avgCostPerLead: 0 },
  ];
  assert.equal(formatValue(null, "currency"), "–");
  assert.equal(toCsv(["campaign", "avgCostPerLead"], rows), "campaign,avgCostPerLead\nA,\nB,0\n");
  for (const descending of [true, false]) assert.equal(sortRows(rows, { field: "avgCostPerLead", descending })[1]?.campaign, "A");
  const chart = chartOf({ dimensions: ["campaign"], metrics: ["avgCostPerLead"], interval: "total" }, JUNE, null, rows);
  assert.ok(chart.kind === "bars");
  assert.deepEqual(chart.bars.map(({ value }) => value), [null, 0]);
});

test("rows that are equal stay in their order, and those without a value come last", () => {
  const campaigns = (field: string, descending: boolean) => sortRows(ROWS, { field, descending }).map((row) => row.campaign);
  assert.deepEqual(campaigns("leads", true), ["", "B", 'a,"b"']);
  assert.deepEqual(campaigns("leads", false), ["B", 'a,"b"', ""]);
  assert.deepEqual(campaigns("campaign", false), ["B", 'a,"b"', ""]);
  assert.deepEqual(campaigns("campaign", true), ['a,"b"', "B", ""]);
  assert.equal(sortRows(ROWS, null), ROWS);
});

test("texts are sorted byte by byte, as the copied command sorts them", () => {
  const sorted = (...texts: string[]) => sortRows(texts.map((campaign) => ({ campaign })), { field: "campaign", descending: false }).map((row) => row.campaign);
  // In UTF-16 the first is before the second.
  assert.deepEqual(sorted("🔧", "ﬁ"), ["ﬁ", "🔧"]);
  assert.deepEqual(sorted("x🔨", "x🔧b", "x🔧", "x", "é", "z"), ["x", "x🔧", "x🔧b", "x🔨", "z", "é"]);
});

test("a column is as wide as its widest value", () => {
  const [campaign, leads, spend] = columnWidths(["campaign", "leads", "spend"], ROWS, { leads: 1_000_000, spend: -99999.5 }, INDEX.dictionary);
  assert.deepEqual([campaign, leads, spend], [11, 11, 12]);
  // A fraction may be wider than a larger number.
  assert.deepEqual(columnWidths(["leads"], [{ leads: 1_000 }, { leads: 0.333333 }], null, INDEX.dictionary), [10]);
});

test("one row is figures, and a funnel where its metrics are stages", () => {
  const row = { leads: 200, soldLeads: 50, spend: 7 };
  const chart = chartOf({ dimensions: [], metrics: ["spend", "soldLeads", "leads"], interval: "total" }, JUNE, null, [row]);
  assert.ok(chart.kind === "figures");
  assert.deepEqual(chart.stages, [
    { metric: "leads", value: 200, share: 1 },
    { metric: "soldLeads", value: 50, share: 0.25 },
  ]);
  const other = chartOf({ dimensions: [], metrics: ["soldLeads", "spend"], interval: "total" }, JUNE, null, [row]);
  assert.ok(other.kind === "figures" && other.stages.length === 0);
});

test("bars are in the order of the table", () => {
  const chart = chartOf({ dimensions: ["campaign"], metrics: ["leads", "spend"], interval: "total" }, JUNE, "spend", ROWS);
  assert.ok(chart.kind === "bars");
  assert.deepEqual(chart.bars, [
    { label: "B", value: 1234.5, previous: null },
    { label: "(none)", value: 0, previous: null },
    { label: 'a,"b"', value: 0.1, previous: null },
  ]);
});

test("bars have a mark for the value before", () => {
  const row = { campaign: "A", leads: 5, "leads.previous": 4, "leads.change": 1, "leads.ratio": 0.25 };
  const chart = chartOf({ dimensions: ["campaign"], metrics: ["leads"], interval: "total" }, JUNE, null, [row]);
  assert.ok(chart.kind === "bars");
  assert.deepEqual(chart.bars, [{ label: "A", value: 5, previous: 4 }]);
});

test("lines have a gap where a group has no row, whatever the order of the table", () => {
  const rows = [
    { start: "2026-07-01", end: "2026-07-15", campaign: "A", leads: 4 },
    { start: "2026-06-01", end: "2026-06-30", campaign: "A", leads: 5 },
    { start: "2026-07-01", end: "2026-07-15", campaign: "B", leads: 9 },
  ];
  const chart = chartOf({ dimensions: ["campaign"], metrics: ["leads"], interval: "month" }, { start: "2026-05-02", end: "2026-07-15" }, null, rows);
  assert.ok(chart.kind === "lines");
  assert.deepEqual(chart.lines, [
    { label: "B", group: ["B"], values: [null, null, 9] },
    { label: "A", group: ["A"], values: [null, 5, 4] },
  ]);
  assert.deepEqual(chart.days.map(({ partial }) => partial), [true, false, true]);
});

test("an axis has round numbers from end to end", () => {
  assert.deepEqual(ticksOf(0, 287), [0, 100, 200, 300]);
  assert.deepEqual(ticksOf(0.1, 0.34), [0, 0.1, 0.2, 0.3, 0.4]);
  assert.deepEqual(ticksOf(-30, 50), [-40, -20, 0, 20, 40, 60]);
  assert.deepEqual(ticksOf(0, 0), [0, 1]);
});

test("each fault says what to do", () => {
  const tooLong = "Requested range spans 91 days, exceeding the 90-day attribution window. Pass interval=month|week|day";
  assert.equal(wordsOf(new Fault("refused", tooLong, 400)).offer, "interval");
  assert.equal(wordsOf(new Fault("refused", "expected a number", 400, "invalid-filter")).offer, null);
  assert.match(wordsOf(new Fault("limit", "", 429, "rate-limited", 1_234)).advice, /in 21 minutes/);
  assert.match(wordsOf(new Fault("busy", "", 503, "overloaded", 1)).advice, /in 1 second\./);
  assert.match(wordsOf(new Fault("service", "", 502, "upstream-failed", null, "r-1")).advice, /request id r-1/);
  assert.equal(wordsOf(new Fault("key", "", 401)).offer, "sign-in");
});
