// Which chart fits an answer, and what it shows.

import { contributionsOf, type Contributions } from "./contributions";
import { earlierRange, isPartial, subRanges, type DayRange } from "./days";
import { OPEN_LEADS, type Dictionary } from "./dictionary";
import { formatText } from "./format";
import { metricOf, type Question, type Row } from "./question";

/** The most groups that a chart shows: as many lines as there are colors. */
export const MAX_LINES = 6;
export const MAX_BARS = 20;

/** Dimensions with a value for each customer or event: a chart of a few of them would say nothing about the others. */
const SINGLE = ["opportunityId", "eventId"];

export type Chart =
  | { kind: "funnel"; stages: Stage[] }
  | { kind: "bars"; metric: string; bars: Bar[]; groups: number }
  | { kind: "contributions"; metric: string; contributions: Contributions }
  | { kind: "lines"; metric: string; days: ChartDay[]; lines: ChartLine[]; groups: number; earlier: DayRange[] }
  | { kind: "none" };

/** A stage of a funnel, with its share of the first one. */
export interface Stage {
  metric: string;
  value: number;
  share: number;
}

export interface Bar {
  label: string;
  /** `null` if there is none, as the cost per lead without leads. */
  value: number | null;
  /** The value of the days that are compared with; `null` without a comparison. */
  previous: number | null;
}

export interface ChartDay extends DayRange {
  /** Whether it is only a part of its month or week. */
  partial: boolean;
}

export interface ChartLine {
  label: string;
  /** The values of the dimensions. */
  group: string[];
  /** One value per sub-range; `null` where the group has no row, or no value. */
  values: (number | null)[];
  /** The values of the earlier days, by the place of their sub-range; none without a comparison. */
  earlier: (number | null)[];
  /** Whether each value may still change, because the window of some of its leads is not over. */
  open: boolean[];
}

/** What a chart depends on, besides the rows. */
export type Charted = Pick<Question, "dimensions" | "metrics" | "interval" | "compare" | "sort" | "charted">;

/** How much is behind the groups of an answer, if the answer itself does not say: rows with the metrics of `volumesOf`. */
export type Volumes = Row[] | null;

/** Metrics that count parts of what the first one counts, so that each has a share of it. */
const FUNNELS: readonly (readonly string[])[] = [
  ["leads", "soldLeads", "closedLeads"],
  ["customers", "matchedCustomers", "bookedCustomers", "payingCustomers"],
  ["conversions", "gradedConversions", "bookableConversions", "bookedConversions"],
];

/** What lines take from other answers: how much is behind the groups, and the rows of the earlier days of a comparison. */
export interface Behind {
  volumes: Volumes;
  earlier: Row[] | null;
}

/** Returns the chart of an answer. `rows` are in the order of the table, which is the order of the bars. */
export function chartOf(question: Charted, range: DayRange, rows: Row[], dictionary: Dictionary, behind: Behind = { volumes: null, earlier: null }): Chart {
  const { dimensions, metrics, interval } = question;
  const metric = chartedMetric(question);
  const [first] = rows;
  if (metric === undefined || first === undefined || isSingle(dimensions)) return { kind: "none" };
  if (interval !== "total") return linesOf(question, metric, range, rows, dictionary, behind);
  if (dimensions.length === 0) {
    const stages = stagesOf(metrics, first);
    return stages.length > 0 ? { kind: "funnel", stages } : { kind: "none" };
  }
  if (question.compare !== null) {
    const contributions = contributionsOf(rows, dimensions, metric, dictionary);
    if (contributions.shown.length > 0) return { kind: "contributions", metric, contributions };
  }
  const bars = rows.slice(0, MAX_BARS).map((row) => ({ label: labelOf(row, dimensions), value: valueOf(row, metric), previous: previousOf(row, metric) }));
  return { kind: "bars", metric, bars, groups: rows.length };
}

/** Returns whether dimensions have a group for each customer or event. */
export function isSingle(dimensions: string[]): boolean {
  return dimensions.some((name) => SINGLE.includes(name));
}

/** Returns the metric of the chart: the one that was chosen, or else the one that the table is sorted by, or the first. */
export function chartedMetric({ metrics, charted, sort }: Charted): string | undefined {
  const chosen = [charted, sort && metricOf(sort.field)];
  return metrics.find((metric) => metric === chosen[0]) ?? metrics.find((metric) => metric === chosen[1]) ?? metrics[0];
}

/**
 * Returns the metrics to ask for in addition, so that lines can be chosen by how much is behind them; none if the answer has
 * them, or if all of its groups are drawn.
 */
export function volumesOf({ dimensions, metrics, interval }: Charted, rows: Row[], dictionary: Dictionary): string[] {
  if (interval === "total" || new Set(rows.map((row) => keyOf(row, dimensions))).size <= MAX_LINES) return [];
  if (isSingle(dimensions)) return [];
  return [...new Set(metrics.map((metric) => dictionary.volumeOf(metric)))].filter((volume) => !metrics.includes(volume));
}

function keyOf(row: Row, dimensions: string[]): string {
  return JSON.stringify(dimensions.map((name) => row[name]));
}

/**
 * Returns the stages of the funnel of which the answer has the most metrics. A funnel counts only if the answer has its
 * first metric and one more; if none does, there are no stages.
 */
function stagesOf(metrics: string[], row: Row): Stage[] {
  const chosen = FUNNELS.map((funnel) => funnel.filter((metric) => metrics.includes(metric)));
  const [first, ...others] = chosen.filter((stages, index) => stages[0] === FUNNELS[index]?.[0]).sort((a, b) => b.length - a.length)[0] ?? [];
  if (first === undefined || others.length === 0) return [];
  const whole = numberOf(row, first);
  return [first, ...others].map((metric) => {
    const value = numberOf(row, metric);
    return { metric, value, share: whole === 0 ? 0 : value / whole };
  });
}

/** Draws the groups that have most behind them. A sub-range without any row is drawn too, as a gap. */
function linesOf({ dimensions, metrics, interval, compare }: Charted, metric: string, range: DayRange, rows: Row[], dictionary: Dictionary, { volumes, earlier }: Behind): Chart {
  const groups = new Map<string, { label: string; group: string[]; byStart: Map<string, Row> }>();
  for (const row of rows) {
    const key = keyOf(row, dimensions);
    let group = groups.get(key);
    if (!group) {
      group = { label: labelOf(row, dimensions), group: dimensions.map((name) => String(row[name] ?? "")), byStart: new Map() };
      groups.set(key, group);
    }
    group.byStart.set(String(row.start), row);
  }
  const volume = dictionary.volumeOf(metric);
  const sums = new Map<string, number>();
  for (const row of metrics.includes(volume) ? rows : (volumes ?? [])) {
    const key = keyOf(row, dimensions);
    sums.set(key, (sums.get(key) ?? 0) + Math.abs(numberOf(row, volume)));
  }
  const drawn = [...groups].sort(([a], [b]) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0)).slice(0, MAX_LINES);
  const ranges = subRanges(range, interval);
  const before = earlier && compare !== null ? subRanges(earlierRange(range, compare), interval).slice(0, ranges.length) : [];
  const values = new Map((earlier ?? []).map((row) => [`${row.start} ${keyOf(row, dimensions)}`, valueOf(row, metric)]));
  const lines = drawn.map(([key, { label, group, byStart }]) => ({
    label,
    group,
    earlier: before.map(({ start }) => values.get(`${start} ${key}`) ?? null),
    values: ranges.map(({ start }) => valueOf(byStart.get(start), metric)),
    open: ranges.map(({ start }) => numberOf(byStart.get(start), OPEN_LEADS) > 0),
  }));
  const days = ranges.map((each) => ({ ...each, partial: isPartial(each, interval) }));
  return { kind: "lines", metric, days, lines, groups: groups.size, earlier: before };
}

/** Returns round numbers from at most the lowest to at least the highest value, and 0. */
export function ticksOf(lowest: number, highest: number, about = 4): number[] {
  const [low, high] = [Math.min(0, lowest), Math.max(0, highest)];
  if (low === high) return [0, 1];
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  const ticks: number[] = [];
  for (let index = Math.floor(low / step); index <= Math.ceil(high / step - 1e-9); index += 1) ticks.push(Number((index * step).toPrecision(12)));
  return ticks;
}

function labelOf(row: Row, dimensions: string[]): string {
  return dimensions.map((name) => formatText(String(row[name] ?? ""))).join(" · ");
}

/** Returns the earlier value of a metric; `null` without a comparison. */
export function previousOf(row: Row, metric: string): number | null {
  const value = row[`${metric}.previous`];
  return typeof value === "number" ? value : null;
}

/** Returns the value of a metric; `null` if the row has none. */
export function valueOf(row: Row | undefined, metric: string): number | null {
  const value = row?.[metric];
  return typeof value === "number" ? value : null;
}

function numberOf(row: Row | undefined, metric: string): number {
  return valueOf(row, metric) ?? 0;
}
