// A question: everything that the page asks the service, except for the key.

import { countDays, ATTRIBUTION_WINDOW, resolveDays, type DayRange, type Days, type Interval } from "./days";
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
  /** The earlier days to compare with; `null` for none. Only a question about the days as a whole compares. */
  compare: Earlier | null;
  /** `null` for the order of the service: days, then dimensions. */
  sort: Sort | null;
  /** The metric that the chart shows; `null` for the first. */
  charted: string | null;
  /** Whether a line chart by month shows benchmarks, where there are any. */
  benchmarks: boolean;
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
}

/** Returns the request for the rows of an answer; `null` if the question has no metric or no days. */
export function rowsRequest(question: Question, dictionary: Dictionary, today: string): EventsRequest | null {
  const range = resolveDays(question.days, today);
  if (!range || question.metrics.length === 0) return null;
  return {
    organization: question.organization,
    fields: [...question.dimensions, ...metricsOf(question)],
    range,
    interval: question.interval,
    accounts: question.accounts,
    filters: filterParameters(question.conditions, (field) => dictionary.isMetric(field)),
    within: question.within,
    attribution: question.attribution,
    compare: question.compare,
  };
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
export function totalsRequest(question: Question, dictionary: Dictionary, today: string): EventsRequest | null {
  const rows = rowsRequest(question, dictionary, today);
  if (!rows || !hasTotals(question, rows.range)) return null;
  const conditions = conditionsOnEvents(question, dictionary);
  return {
    ...rows,
    fields: metricsOf(question),
    interval: "total",
    filters: filterParameters(conditions, (field) => dictionary.isMetric(field)),
  };
}

/** Returns the conditions that choose events. The others, on metrics, choose rows of an answer. */
export function conditionsOnEvents({ conditions }: Question, dictionary: Dictionary): Condition[] {
  return conditions.filter(({ field }) => field === "total" || !dictionary.isMetric(field));
}

function hasTotals(question: Question, range: DayRange): boolean {
  const isOneRow = question.dimensions.length === 0 && question.interval === "total";
  return !isOneRow && (question.within !== null || countDays(range) <= ATTRIBUTION_WINDOW);
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
