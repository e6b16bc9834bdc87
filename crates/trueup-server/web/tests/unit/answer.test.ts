import assert from "node:assert/strict";
import { test } from "node:test";
import { chartOf, chartedMetric, ticksOf, volumesOf, type Charted } from "../../src/chart";
import { colorsOf } from "../../src/colors";
import { toCsv } from "../../src/csv";
import { wordsOf } from "../../src/fault_words";
import { formatNumber, formatText, formatTick, formatValue, showCurrency } from "../../src/format";
import type { Row } from "../../src/question";
import { namedColumns, sortRows, tableColumns } from "../../src/rows";
import { Fault } from "../../src/service";
import { INDEX } from "./sample";

const { dictionary } = INDEX;
const chart = (question: Partial<Charted>, rows: Row[], range = JUNE, volumes: Row[] | null = null, earlier: Row[] | null = null) =>
  chartOf({ dimensions: ["campaign"], metrics: ["leads"], interval: "total", compare: null, sort: null, charted: null, ...question }, range, rows, dictionary, { volumes, earlier });

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

test("amounts have the sign of the one currency, and no other number has", () => {
  showCurrency("CAD");
  try {
    assert.deepEqual([formatNumber(-1234.5, "currency"), formatNumber(1200, "change of currency"), formatTick(1200, "currency")], ["-$1,234.50", "+$1,200.00", "$1.2K"]);
    assert.deepEqual([formatNumber(7.456, "decimal"), formatNumber(0.5, "change of decimal"), formatNumber(3, "number"), formatTick(1200, "decimal")], ["7.46", "+0.50", "3", "1.2K"]);
  } finally {
    showCurrency(null);
  }
  assert.equal(formatNumber(1234.5, "currency"), "1,234.50");
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
  const bars = chart({ metrics: ["avgCostPerLead"] }, rows);
  assert.ok(bars.kind === "bars");
  assert.deepEqual(bars.bars.map(({ value }) => value), [null, 0]);
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

/** Every character is as wide as the size of the font. */
const widthOf = (text: string) => text.length;

test("a column has room for its widest value, and a number is never cut off", () => {
  const widths = (columns: string[], rows: Row[], totals: Row | null = null) => tableColumns(namedColumns(columns, dictionary), rows, totals, dictionary, widthOf, true).map(({ width }) => Number((width - 1.5).toFixed(1)));
  assert.deepEqual(widths(["campaign", "leads", "spend"], ROWS, { leads: 1_000_000, spend: -99999.5 }), [9.2, 9, 10]);
  // A fraction may be wider than a larger number.
  assert.deepEqual(widths(["leads"], [{ leads: 1_000 }, { leads: 0.333333 }]), [8]);
  assert.deepEqual(widths(["spend"], [{ spend: -(10 ** 12) }]), ["-1,000,000,000,000.00".length]);
  assert.deepEqual(widths(["campaign"], [{ campaign: "x".repeat(99) }]), [24]);
});

test("a comparison has one column for each metric, unless all are wanted", () => {
  const columns = ["campaign", "bookRate", "bookRate.previous", "bookRate.change", "bookRate.ratio", "leads", "leads.previous", "leads.change", "leads.ratio"];
  const row = { campaign: "A", bookRate: 0.5, "bookRate.change": 0.021, leads: 5, "leads.ratio": 1.25 };
  const compact = tableColumns(namedColumns(columns, dictionary), [row], null, dictionary, widthOf, false);
  assert.deepEqual(compact.map(({ name, part }) => [name, part]), [["campaign", null], ["bookRate", "bookRate.change"], ["leads", "leads.ratio"]]);
  // Both numbers have room: 50.0% and +2.1 pp.
  assert.ok(compact[1]!.width >= 5 + 7 * 0.9);
  assert.deepEqual(tableColumns(namedColumns(columns, dictionary), [row], null, dictionary, widthOf, true).map(({ name }) => name), columns);
});

test("targets have columns of their own", () => {
  const columns = ["campaign", "leads", "leads.target", "leads.pace"];
  const row = { campaign: "A", leads: 12, "leads.target": 309.677419, "leads.pace": 0.03875 };
  const shown = tableColumns(namedColumns(columns, dictionary), [row], null, dictionary, widthOf, false);
  assert.deepEqual(shown.map(({ name }) => name), columns);
  assert.deepEqual(shown.map(({ label }) => label), ["Campaign", "Leads", "Leads: target", "Leads: pace"]);
  const texts = columns.map((name) => formatValue(row[name as keyof typeof row], dictionary.get(name)?.format ?? ""));
  assert.deepEqual(texts, ["A", "12", "309.68", "3.9%"]);
  assert.equal(dictionary.get("spend.target")?.format, "currency");
});

test("one row has a funnel where its metrics are stages", () => {
  const row = { leads: 200, soldLeads: 50, spend: 7 };
  const funnel = chart({ dimensions: [], metrics: ["spend", "soldLeads", "leads"] }, [row]);
  assert.ok(funnel.kind === "funnel");
  assert.deepEqual(funnel.stages, [
    { metric: "leads", value: 200, share: 1 },
    { metric: "soldLeads", value: 50, share: 0.25 },
  ]);
  assert.equal(chart({ dimensions: [], metrics: ["soldLeads", "spend"] }, [row]).kind, "none");
});

test("bars are in the order of the table", () => {
  const bars = chart({ metrics: ["leads", "spend"], charted: "spend" }, ROWS);
  assert.ok(bars.kind === "bars");
  assert.deepEqual(bars.bars, [
    { label: "B", value: 1234.5, previous: null },
    { label: "(none)", value: 0, previous: null },
    { label: 'a,"b"', value: 0.1, previous: null },
  ]);
});

test("the chart shows the metric that was chosen, or else the one that the table is sorted by", () => {
  const question = { dimensions: ["campaign"], metrics: ["leads", "spend", "bookRate"], interval: "total", compare: null, sort: null, charted: null } as const;
  const shown = (part: Partial<Charted>) => chartedMetric({ ...question, dimensions: [], metrics: [...question.metrics], ...part });
  const sort = { field: "spend.change", descending: true };
  assert.deepEqual([shown({}), shown({ sort }), shown({ sort, charted: "bookRate" }), shown({ sort: { field: "campaign", descending: false } })], ["leads", "spend", "bookRate", "leads"]);
});

test("a percentile, which no groups add up to, has bars with a mark for the value before", () => {
  const row = { campaign: "A", medianDaysLeadToSold: 5, "medianDaysLeadToSold.previous": 4, "medianDaysLeadToSold.change": 1 };
  const bars = chart({ metrics: ["medianDaysLeadToSold"], compare: "previous-period" }, [row]);
  assert.ok(bars.kind === "bars");
  assert.deepEqual(bars.bars, [{ label: "A", value: 5, previous: 4 }]);
});

test("no chart shows a few of many customers", () => {
  for (const interval of ["total", "month"] as const) assert.equal(chart({ dimensions: ["account", "opportunityId"], interval }, [{ account: "a", opportunityId: "1", leads: 1, start: "2026-06-01" }]).kind, "none");
});

test("lines have a gap where a group has no row, whatever the order of the table", () => {
  const rows: Row[] = [
    { start: "2026-07-01", end: "2026-07-15", campaign: "A", leads: 4 },
    { start: "2026-06-01", end: "2026-06-30", campaign: "A", leads: 5 },
    { start: "2026-07-01", end: "2026-07-15", campaign: "B", leads: 8, openLeads: 2 },
  ];
  const lines = chart({ interval: "month" }, rows, { start: "2026-05-02", end: "2026-07-15" });
  assert.ok(lines.kind === "lines");
  assert.deepEqual(lines.lines, [
    { label: "A", group: ["A"], values: [null, 5, 4], earlier: [], open: [false, false, false] },
    { label: "B", group: ["B"], values: [null, null, 8], earlier: [], open: [false, false, true] },
  ]);
  assert.deepEqual(lines.days.map(({ partial }) => partial), [true, false, true]);
});

test("lines are those with the most behind them, and not those with the highest value", () => {
  // Seven small campaigns have a high rate, the large one a low rate.
  const start = "2026-06-01";
  const rates = ["big", "s1", "s2", "s3", "s4", "s5", "s6", "s7"].map((campaign) => ({ start, campaign, bookRate: campaign === "big" ? 0.2 : 0.9, leads: 1 }));
  const volumes = rates.map(({ campaign }) => ({ start, campaign, customers: campaign === "big" ? 900 : 2 }));
  const question = { interval: "month", metrics: ["bookRate"] } as const;
  const asked = { dimensions: ["campaign"], compare: null, sort: null, charted: null, ...question, metrics: ["bookRate"] };
  assert.deepEqual(volumesOf(asked, rates, dictionary), ["customers"]);
  assert.deepEqual(volumesOf(asked, rates.slice(2), dictionary), [], "all of them are drawn");
  const lines = chart({ ...asked }, rates, JUNE, volumes);
  assert.ok(lines.kind === "lines" && lines.lines[0]?.label === "big" && lines.lines.length === 6);
  const volume = (metric: string) => dictionary.volumeOf(metric);
  assert.deepEqual(["leads", "bookRate", "avgCostPerLead", "roasClosed", "stepEstimateRate", "medianDaysLeadToSold"].map(volume), ["leads", "customers", "leads", "spend", "eventCount", "eventCount"]);
});

test("a color belongs to a value, whatever else is drawn", () => {
  const groups = (...names: string[]) => names.map((name) => [name]);
  const known = new Map<string, number>();
  const six = colorsOf(groups("Direct", "Paid Search", "Radio", "Referral", "Display", "Walk-In"), known);
  assert.deepEqual([...six].sort(), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(colorsOf(groups("Walk-In", "Direct"), known), [six[5], six[0]]);
  // On a page that has drawn nothing, the color comes from the name alone.
  assert.deepEqual(colorsOf(groups("Direct", "x"), new Map())[0], colorsOf(groups("Direct", "x"), new Map())[0]);
  assert.deepEqual(colorsOf([[]], known), [0]);
});

test("an axis has round numbers from end to end", () => {
  assert.deepEqual(ticksOf(0, 287), [0, 100, 200, 300]);
  assert.deepEqual(ticksOf(0.1, 0.34), [0, 0.1, 0.2, 0.3, 0.4]);
  assert.deepEqual(ticksOf(-30, 50), [-40, -20, 0, 20, 40, 60]);
  assert.deepEqual(ticksOf(0, 0), [0, 1]);
});

test("the texts of an axis are equal to its values", () => {
  assert.deepEqual(ticksOf(0, 1).map((tick) => formatTick(tick, "decimal")), ["0", "0.25", "0.5", "0.75", "1"]);
  const scales: Record<string, number> = { K: 1e3, M: 1e6, B: 1e9 };
  for (const format of ["number", "currency", "decimal", "percent"]) {
    for (let power = -4; power < 10; power += 1) {
      for (const highest of [1, 1.3, 1.7, 2.2, 3.1, 4.8, 7.7, 9.9]) {
        for (const tick of ticksOf(-0.3 * highest * 10 ** power, highest * 10 ** power)) {
          const [, digits, unit] = /^(-?[\d.,]+)([KMB%]?)$/.exec(formatTick(tick, format))!;
          const value = Number(digits!.replaceAll(",", "")) * (unit === "%" ? 0.01 : (scales[unit!] ?? 1));
          assert.ok(Math.abs(value - tick) <= 1e-9 * Math.abs(tick), `${tick} as ${format}`);
        }
      }
    }
  }
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

test("lines have the values of the earlier days at the place of their sub-range", () => {
  const rows = [
    { start: "2026-06-01", end: "2026-06-07", campaign: "A", leads: 5 },
    { start: "2026-06-08", end: "2026-06-14", campaign: "A", leads: 7 },
  ];
  const earlier = [
    { start: "2026-05-18", end: "2026-05-24", campaign: "B", leads: 9 },
    { start: "2026-05-25", end: "2026-05-31", campaign: "A", leads: 3 },
  ];
  const fortnight = { start: "2026-06-01", end: "2026-06-14" };
  const lines = chart({ interval: "week", compare: "previous-period" }, rows, fortnight, null, earlier);
  assert.ok(lines.kind === "lines");
  assert.deepEqual(lines.earlier, [{ start: "2026-05-18", end: "2026-05-24" }, { start: "2026-05-25", end: "2026-05-31" }]);
  assert.deepEqual(lines.lines.map(({ values, earlier }) => [values, earlier]), [[[5, 7], [null, 3]]]);
  // Longer earlier days end with those of the question.
  const longer = chart({ interval: "week", compare: { start: "2026-04-06", end: "2026-05-31" } }, rows, fortnight, null, earlier);
  assert.ok(longer.kind === "lines" && longer.earlier.length === 2);
});
