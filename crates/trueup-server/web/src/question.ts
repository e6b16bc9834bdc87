// A question: everything that the page asks the service, except for the key.

import { ATTRIBUTION_WINDOW, countDays, earlierRange, monthsBefore, resolveDays, type DayRange, type Days, type Interval, type Now } from "./days";
import { filterParameters, type Condition } from "./condition";
import { OPEN_LEADS, type Dictionary } from "./dictionary";

/** A row of an answer: texts of dimensions and days, numbers of metrics; `null` where a comparison has no value. */
export type Row = Record<string, string | number | null>;

/** A column to sort by. */
export interface Sort {
  field: string;
  descending: boolean;
}

export interface Question {
  organization: string;
  /** Accounts to restrict the answer to; empty for all of the organization. */
  accounts: string[];
  dimensions: string[];
  metrics: string[];
  days: Days;
  interval: Interval;
  conditions: Condition[];
  /** The window of a cohort, such as `90d` or `all`; `null` if the question is not one of a cohort. */
  within: string | null;
  /** The event from which the dimensions of attribution are taken. */
  attribution: Attribution;
  /** The earlier days to compare with; `null` for none. */
  compare: Earlier | null;
  /** `null` for the order of the service: days, then dimensions. */
  sort: Sort | null;
  /** The metric that the chart shows; `null` for the first. */
  charted: string | null;
  /** Whether the figures are compared with those of similar businesses, where there are any. */
  benchmarks: boolean;
  /** Whether the table has the targets of the metrics, where there are any. */
  targets: boolean;
  /** Whether the table has months, weeks or days as columns. */
  pivot: boolean;
}

/** What each event records, or the customer's first or last conversion, as the service names them. */
export const ATTRIBUTIONS = ["recorded", "first", "last"] as const;
export type Attribution = (typeof ATTRIBUTIONS)[number];

/** The days that a comparison takes the earlier values from. */
export type Earlier = "previous-period" | "previous-year" | DayRange;

/** What can be sent to the service. */
export interface EventsRequest {
  organization: string;
  fields: string[];
  range: DayRange;
  interval: Interval;
  accounts: string[];
  filters: [string, string][];
  within?: string | null;
  /** Left out: what each event records. */
  attribution?: Attribution;
  compare?: Earlier | null;
  targets?: boolean;
}

/** A question about certain days. */
export type DatedQuestion = Question & { days: DayRange };

/** A question as the service can answer it, and what was changed for that. */
export interface Settled {
  question: DatedQuestion;
  /** Whether the days are divided by month, because the service computes one figure for at most 90 of them. */
  isDivided: boolean;
  /** Metrics that are left out, because they would show the whole spend on every row. */
  leftOut: string[];
}

/** Returns what can be asked in place of a question, so that no choice of days or dimensions ends in an error or a wrong sum. */
export function settle(question: Question, dictionary: Dictionary, now: Now): Settled {
  // A link is refused if its days have a name that does not exist.
  const days = resolveDays(question.days, now) ?? { start: now.newest, end: now.newest };
  const isDivided = question.interval === "total" && isTooLong(question, days);
  const isRepeated = dictionary.repeatsSpend(question.dimensions);
  const leftOut = question.metrics.filter((metric) => isRepeated && dictionary.get(metric)?.usesSpend);
  const metrics = question.metrics.filter((metric) => !leftOut.includes(metric));
  return { question: { ...question, days, metrics, ...(isDivided && { interval: "month" }) }, isDivided, leftOut };
}

/** Returns whether days are more than the service computes as a whole. A cohort may have any number. */
export function isTooLong({ within }: Question, days: DayRange): boolean {
  return within === null && countDays(days) > ATTRIBUTION_WINDOW;
}

/** Returns the column of a comparison that says best how a metric changed: in points for a share, else in percent. */
export function changeColumn(metric: string, dictionary: Dictionary): string {
  return `${metric}.${dictionary.get(metric)?.format === "percent" ? "change" : "ratio"}`;
}

/** Returns the metric of a column, which in a comparison or next to a target may be one of several. */
export function metricOf(column: string): string {
  return column.replace(/\.\w+$/, "");
}

/** Returns whether a column has the target of a metric, or says how much of it there is. */
export function isOfTarget(column: string): boolean {
  return /\.(target|pace)$/.test(column);
}

/** Returns whether an answer has targets: the service has none of cohorts, and none next to earlier days. */
export function takesTargets(question: Question, dictionary: Dictionary): boolean {
  return question.targets && question.compare === null && mayHaveTargets(question, dictionary);
}

/** Returns whether targets can be asked for. */
export function mayHaveTargets({ metrics, within }: Question, dictionary: Dictionary): boolean {
  return within === null && metrics.some((metric) => dictionary.get(metric)?.hasTargets);
}

/** Returns the request for the rows of an answer; `null` if the question has no metric. */
export function rowsRequest(question: DatedQuestion, dictionary: Dictionary): EventsRequest | null {
  if (question.metrics.length === 0) return null;
  return {
    organization: question.organization,
    fields: [...question.dimensions, ...metricsOf(question)],
    range: question.days,
    interval: question.interval,
    accounts: question.accounts,
    filters: filterParameters(question.conditions, (field) => dictionary.isMetric(field)),
    within: question.within,
    attribution: question.attribution,
    // The service compares the days as a whole alone.
    compare: question.interval === "total" ? question.compare : null,
    targets: takesTargets(question, dictionary),
  };
}

/** Returns the request for the earlier days of a comparison by month, week or day, which are asked for by themselves. */
export function earlierRequest(question: DatedQuestion, dictionary: Dictionary): EventsRequest | null {
  const rows = rowsRequest(question, dictionary);
  if (!rows || question.compare === null || question.interval === "total") return null;
  return { ...rows, range: earlierRange(question.days, question.compare) };
}

/** Returns the metrics to ask for. A cohort has one more, which says whether its numbers are final. */
function metricsOf({ metrics, within }: Question): string[] {
  return within === null || metrics.includes(OPEN_LEADS) ? metrics : [...metrics, OPEN_LEADS];
}

/**
 * Returns the request for the totals of an answer: the same metrics over the whole range, as one group. Conditions on
 * metrics choose rows and do not change totals, as with `trueup query --totals`. `null` if there are none: the answer
 * has a single row, or the range is longer than the service computes as a whole.
 */
export function totalsRequest(question: DatedQuestion, dictionary: Dictionary): EventsRequest | null {
  return hasTotals(question) ? wholeRequest(question, dictionary) : null;
}

/** Returns the request for all rows of an answer together, or for those of each group, month by month up to the last of its days. */
export function monthsRequest(question: DatedQuestion, dictionary: Dictionary, months: number, dimensions: string[] = []): EventsRequest | null {
  const { end } = question.days;
  const range = { start: monthsBefore(`${end.slice(0, 7)}-01`, months - 1), end };
  const whole = wholeRequest({ ...question, compare: null, targets: false }, dictionary);
  return whole && { ...whole, fields: [...dimensions, ...whole.fields], range, interval: "month" };
}

/** Returns the request for the targets of all rows of an answer together; `null` if there are none, or if the answer has them. */
export function targetsRequest(question: DatedQuestion, dictionary: Dictionary): EventsRequest | null {
  if (takesTargets(question, dictionary) || !mayHaveTargets(question, dictionary)) return null;
  return wholeRequest({ ...question, compare: null, targets: true }, dictionary);
}

/** Returns the request for all rows of each sub-range of an answer together. */
export function rangesRequest(question: DatedQuestion, dictionary: Dictionary): EventsRequest | null {
  const whole = wholeRequest({ ...question, compare: null, targets: false }, dictionary);
  return whole && { ...whole, interval: question.interval };
}

/** Returns the request for all rows of an answer as one group. */
function wholeRequest(question: DatedQuestion, dictionary: Dictionary): EventsRequest | null {
  const rows = rowsRequest(question, dictionary);
  const filters = filterParameters(conditionsOnEvents(question, dictionary), (field) => dictionary.isMetric(field));
  return rows && { ...rows, fields: metricsOf(question), interval: "total", filters, compare: question.compare };
}

/** Returns the conditions that choose events. The others, on metrics, choose rows of an answer. */
export function conditionsOnEvents({ conditions }: Question, dictionary: Dictionary): Condition[] {
  return conditions.filter(({ field }) => field === "total" || !dictionary.isMetric(field));
}

function hasTotals(question: DatedQuestion): boolean {
  const isOneRow = question.dimensions.length === 0 && question.interval === "total";
  return !isOneRow && !isTooLong(question, question.days);
}

/** Returns path and query of a request, relative to the page. */
export function pathOf(request: EventsRequest): string {
  const parameters: [string, string][] = [
    ["fields", request.fields.join(",")],
    ["start", request.range.start],
    ["end", request.range.end],
  ];
  if (request.interval !== "total") parameters.push(["interval", request.interval]);
  if (request.within) parameters.push(["cohort", "true"], ["within", request.within]);
  if (isTaken(request.attribution)) parameters.push(["attribution", request.attribution]);
  if (request.compare) parameters.push(["compare", earlierText(request.compare)]);
  if (request.targets) parameters.push(["$targets", "true"]);
  if (request.accounts.length > 0) parameters.push(["accounts", request.accounts.join(",")]);
  parameters.push(...request.filters);
  const query = parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  return `api/${encodeURIComponent(request.organization)}/events?${query}`;
}

/** Returns whether the dimensions of attribution are taken from a conversion, and not from each event itself. */
export function isTaken(attribution?: Attribution): attribution is "first" | "last" {
  return attribution !== undefined && attribution !== "recorded";
}

/** Returns the days to compare with as the service and `trueup query --compare` read them. */
export function earlierText(earlier: Earlier): string {
  return typeof earlier === "string" ? earlier : `${earlier.start}..${earlier.end}`;
}

/** Encodes a part of a query; commas and colons stay readable. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%20/g, "+");
}
