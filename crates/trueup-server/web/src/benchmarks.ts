// Benchmarks behind a line chart by month: whether a question has them, their requests, and the bands of their answers.

import { isPartial, type DayRange } from "./days";
import type { Dictionary } from "./dictionary";
import { encode, isTaken, type Question, type Row } from "./question";

/** The most months that the page asks for benchmarks of: each is a request. */
export const MAX_MONTHS = 24;

/** The number of newest months with rows that the page tries before it concludes that there are no benchmarks. */
export const TRIED_MONTHS = 3;

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
export function benchmarkScope(question: Question, dictionary: Dictionary): BenchmarkScope | null {
  const { organization, accounts, attribution, conditions, dimensions, interval, within } = question;
  if (interval !== "month" || within !== null || isTaken(attribution)) return null;
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

/** Returns whether a sub-range has a benchmark: the service has them of whole months, and of the current one to date. */
export function hasBenchmark(range: DayRange, today: string): boolean {
  return range.start <= today && !isPartial(range, "month");
}

/** Returns path and query of the request for all benchmarks of one month, relative to the page. */
export function benchmarkPath(scope: BenchmarkScope, metrics: string[], month: string): string {
  const parameters: [string, string][] = [
    ["month", month],
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
