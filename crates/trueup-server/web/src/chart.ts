// Which chart fits an answer, and what it shows.

import { isPartial, subRanges, type DayRange, type Interval } from "./days";
import { formatText } from "./format";
import type { Row } from "./question";

/** The most groups that a chart shows. */
export const MAX_LINES = 8;
export const MAX_BARS = 20;

export type Chart =
  | { kind: "figures"; metrics: string[]; row: Row; stages: Stage[] }
  | { kind: "bars"; metric: string; bars: Bar[]; groups: number }
  | { kind: "lines"; metric: string; days: ChartDay[]; lines: ChartLine[]; groups: number }
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
}

/** What a chart depends on, besides the rows. */
interface Charted {
  dimensions: string[];
  metrics: string[];
  interval: Interval;
}

/** Metrics that count parts of what the first one counts, so that each has a share of it. */
const FUNNELS: readonly (readonly string[])[] = [
  ["leads", "soldLeads", "closedLeads"],
  ["customers", "matchedCustomers", "bookedCustomers", "payingCustomers"],
  ["conversions", "gradedConversions", "bookableConversions", "bookedConversions"],
];

/** Returns the chart of an answer. `rows` are in the order of the table, which is the order of the bars. */
export function chartOf({ dimensions, metrics, interval }: Charted, range: DayRange, charted: string | null, rows: Row[]): Chart {
  const metric = charted !== null && metrics.includes(charted) ? charted : metrics[0];
  const [first] = rows;
  if (metric === undefined || first === undefined) return { kind: "none" };
  if (interval !== "total") return linesOf(dimensions, metric, subRanges(range, interval), interval, rows);
  if (dimensions.length === 0) return { kind: "figures", metrics, row: first, stages: stagesOf(metrics, first) };
  const bars = rows.slice(0, MAX_BARS).map((row) => ({ label: labelOf(row, dimensions), value: valueOf(row, metric), previous: previousOf(row, metric) }));
  return { kind: "bars", metric, bars, groups: rows.length };
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

/** Draws the groups with the highest values. A sub-range without any row is drawn too, as a gap. */
function linesOf(dimensions: string[], metric: string, ranges: DayRange[], interval: Interval, rows: Row[]): Chart {
  const groups = new Map<string, { label: string; group: string[]; highest: number; byStart: Map<string, number | null> }>();
  for (const row of rows) {
    const key = JSON.stringify(dimensions.map((name) => row[name]));
    let group = groups.get(key);
    if (!group) {
      group = { label: labelOf(row, dimensions), group: dimensions.map((name) => String(row[name] ?? "")), highest: -Infinity, byStart: new Map() };
      groups.set(key, group);
    }
    const value = valueOf(row, metric);
    group.byStart.set(String(row.start), value);
    group.highest = Math.max(group.highest, value ?? -Infinity);
  }
  const drawn = [...groups.values()].sort((a, b) => b.highest - a.highest).slice(0, MAX_LINES);
  const lines = drawn.map(({ label, group, byStart }) => ({ label, group, values: ranges.map(({ start }) => byStart.get(start) ?? null) }));
  const days = ranges.map((range) => ({ ...range, partial: isPartial(range, interval) }));
  return { kind: "lines", metric, days, lines, groups: groups.size };
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

function numberOf(row: Row, metric: string): number {
  return valueOf(row, metric) ?? 0;
}
