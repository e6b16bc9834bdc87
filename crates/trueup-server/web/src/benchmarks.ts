// Figures of similar businesses: whether a question has them, their requests, and the bands of their answers.

import { isPartial, unitOf, type DayRange } from "./days";
import type { Dictionary, Field } from "./dictionary";
import { inRow } from "./format";
import { encode, isTaken, type DatedQuestion, type Question, type Row } from "./question";

/** The most months that the page asks for benchmarks of. */
export const MAX_MONTHS = 24;

/** The percentiles of the accounts' own figures, and the figure of all of them together, as the service names them. */
export const SERIES = ["p10", "p25", "p50", "p75", "p90", "benchmark"] as const;
export type Series = (typeof SERIES)[number];

/** The benchmarks of one metric in one month. */
export interface Band extends Record<Series, number> {
  /** How many accounts are compared. */
  accounts: number;
}

/** What the requests for the benchmarks of a question say. */
export interface BenchmarkScope {
  organization: string;
  accounts: string[];
  /** The dimensions of the question without the ones that tell accounts apart; each is a dimension of benchmarks. */
  dimensions: string[];
  filters: [string, string][];
}

/** Dimensions that tell accounts apart: the benchmarks of all are what each of them is compared with. */
const ACCOUNT = ["account", "accountKey", "accountName"];

/**
 * Returns what to ask for the benchmarks of a question; `null` if it has none. Benchmarks are of calendar months and of what events record, and
 * know four dimensions, each of which they can be filtered on by one value. With any other condition, they would not be
 * figures of what the lines show.
 */
export function benchmarkScope(question: DatedQuestion, dictionary: Dictionary): BenchmarkScope | null {
  const { organization, accounts, attribution, conditions, dimensions, within } = question;
  if (!isByMonth(question) || within !== null || isTaken(attribution)) return null;
  const segments = dimensions.filter((name) => !ACCOUNT.includes(name));
  if (!segments.every((name) => dictionary.get(name)?.hasBenchmarks)) return null;
  const filters: [string, string][] = [];
  for (const { field, operator, values } of conditions) {
    // A condition on a metric chooses rows, and changes none.
    if (dictionary.isMetric(field) && field !== "total") continue;
    const [value] = values;
    const isOneValue = operator === "is" && values.length === 1 && value !== undefined && value !== "" && !value.trimStart().startsWith("[");
    if (!isOneValue || !dictionary.get(field)?.hasBenchmarks || filters.some(([other]) => other === field)) return null;
    filters.push([field, value]);
  }
  return { organization, accounts, dimensions: segments, filters };
}

/** Returns why a metric has no benchmarks, or the question none at all. */
export function noBenchmarks(metric: string, { dimensions }: DatedQuestion, dictionary: Dictionary): string {
  const label = dictionary.label(metric);
  if (!dictionary.get(metric)?.hasBenchmarks) return `${label} has no benchmarks: it depends on the size of a business. Rates and costs have them.`;
  const unknown = dimensions.filter((name) => !ACCOUNT.includes(name) && !dictionary.get(name)?.hasBenchmarks);
  if (unknown.length > 0) return `Similar businesses are not known by ${inRow(unknown.map((name) => dictionary.label(name)))}.`;
  return "Similar businesses are known by month, of what each event records, and with filters on one value of a channel, category, status or business unit.";
}

/** Returns what to change so that a question has benchmarks with it, as far as its days go. */
export function withBenchmarks(question: DatedQuestion): Partial<Question> {
  return { benchmarks: true, compare: null, targets: false, ...(!isByMonth(question) && { interval: "month" }) };
}

function isByMonth({ interval, days }: DatedQuestion): boolean {
  return interval === "month" || (interval === "total" && unitOf(days) === "month");
}

/** Returns whether a sub-range has a benchmark: the service has them of whole months, and of the current one to date. */
export function hasBenchmark(range: DayRange, today: string): boolean {
  return range.start <= today && !isPartial(range, "month");
}

/** Returns path and query of the request for all benchmarks of some months, relative to the page. */
export function benchmarkPath(scope: BenchmarkScope, metrics: string[], months: string[]): string {
  const parameters: [string, string][] = [
    ["month", months.join(",")],
    ["fields", [...scope.dimensions, ...metrics].join(",")],
  ];
  if (scope.accounts.length > 0) parameters.push(["accounts", scope.accounts.join(",")]);
  parameters.push(...scope.filters);
  const query = parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  return `api/${encodeURIComponent(scope.organization)}/benchmarks?${query}`;
}

/**
 * Returns the band of a metric in the segment with these values of the dimensions; `null` if there is none,
 * because it would reveal too much about single accounts.
 */
export function bandOf(rows: Row[], metric: string, dimensions: string[], values: string[]): Band | null {
  const band: Partial<Band> = {};
  for (const row of rows) {
    const [series, figure] = [row.series, row[metric]];
    if (typeof figure !== "number" || !dimensions.every((name, index) => row[name] === values[index])) continue;
    if (SERIES.some((known) => known === series)) band[series as Series] = figure;
    band.accounts = Number(row.cohortAccounts);
  }
  return band.accounts !== undefined && SERIES.every((series) => band[series] !== undefined) ? (band as Band) : null;
}

/** Returns the runs of neighboring months that have a band, each from its first to its last index. */
export function runsOf(bands: (Band | null)[]): [first: number, last: number][] {
  const runs: [number, number][] = [];
  bands.forEach((band, index) => {
    const run = runs.at(-1);
    if (band === null) return;
    if (run && run[1] === index - 1) run[1] = index;
    else runs.push([index, index]);
  });
  return runs;
}

/** Returns where a figure stands among those of similar businesses, in words; which side is better depends on the metric. */
export function standingOf(value: number, band: Band, better: Field["better"]): string {
  const [above, below] = better === null ? ["higher", "lower"] : ["better", "worse"];
  const isLower = better === "lower";
  // Percentiles that the figure is at or beyond, seen from the worse side.
  const passed = [band.p10, band.p25, band.p50, band.p75, band.p90].filter((mark) => (isLower ? value <= mark : value >= mark)).length;
  return [`${below} than 9 in 10`, `${below} than 3 in 4`, `${below} than half`, `${above} than half`, `${above} than 3 in 4`, `${above} than 9 in 10`][passed]!;
}
