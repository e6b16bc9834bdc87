// Why a number is what it is: the request for the lines of one cell, and its answer.

import type { DayRange } from "./days";
import type { Dictionary } from "./dictionary";
import { encode, pathOf, rowsRequest, type Question, type Row } from "./question";

/** Lines of each measure that are listed at first, and with "show more". */
export const FIRST_LINES = 100;
export const MORE_LINES = 1_000;

/** What a number is made of. */
export interface Explanation {
  value: number | null;
  /** The sum of measures, or the ratio of two, that the metric is. */
  formula: string;
  measures: Measure[];
}

/** A sum over lines. */
export interface Measure {
  name: string;
  format: string;
  sum: number;
  /** How many lines there are, and how many of them are not listed. */
  count: number;
  leftOut: number;
  lines: Line[];
}

/** What a measure counts once: a customer, an event, or a row of spend. */
export interface Line {
  account: string;
  customer: string;
  event: string;
  type: string;
  date: string;
  adds: number;
  rule: string;
}

/** Returns path and query of the request for a cell; `null` if the question is not complete. The row is one of its answer. */
export function whyPath(question: Question, range: DayRange, row: Row, metric: string, limit: number, dictionary: Dictionary): string | null {
  // Neither the earlier days of a comparison nor a target are part of the cell.
  const request = rowsRequest({ ...question, days: range, compare: null, targets: false }, dictionary);
  if (!request) return null;
  const known = [...question.dimensions, ...(question.interval === "total" ? [] : ["start"])];
  const values = known.map((name) => [name, String(row[name] ?? "")]);
  const named = known.length === 0 ? "" : `&row=${encode(JSON.stringify(Object.fromEntries(values)))}`;
  return `${pathOf(request)}&why=${encode(metric)}${named}&lines=${limit}`;
}

/** Reads an answer; `null` if it is none. */
export function readExplanation(body: unknown): Explanation | null {
  const { metrics, measures, lines } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  if (!Array.isArray(metrics) || !Array.isArray(measures) || !Array.isArray(lines)) return null;
  const [metric] = metrics as { value?: unknown; formula?: unknown }[];
  if (!metric) return null;
  const text = (value: unknown) => (value === undefined || value === null ? "" : String(value));
  return {
    value: typeof metric.value === "number" ? metric.value : null,
    formula: text(metric.formula),
    measures: (measures as Record<string, unknown>[]).map((measure) => ({
      name: text(measure.measure),
      format: text(measure.format),
      sum: Number(measure.sum),
      count: Number(measure.lines),
      leftOut: Number(measure.leftOut),
      lines: (lines as Record<string, unknown>[])
        .filter((line) => line.measure === measure.measure)
        .map((line) => ({
          account: text(line.account),
          customer: text(line.opportunityId),
          event: text(line.eventId),
          type: text(line.type),
          date: text(line.date),
          adds: Number(measure.format === "currency" ? line.amount : line.count),
          // What the rules quote as code, a reader reads as a name.
          rule: text(line.rule).replace(/`([^`]*)`/g, "“$1”"),
        })),
    })),
  };
}
