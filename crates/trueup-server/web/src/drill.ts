// From a row of an answer to what is behind it: the same metrics of the events of the row alone, by something else.

import type { Condition } from "./condition";
import type { Dictionary } from "./dictionary";
import { conditionsOnEvents, type Question, type Row } from "./question";

/**
 * The dimensions of a list of customers: what tells them apart, because an id is unique only within its account, and the days on
 * which each of them began and first reached a stage, which are the same on all events of a customer.
 */
export const CUSTOMERS: readonly string[] = ["account", "opportunityId", "opportunityStartDate", "firstBooked", "firstSold", "firstClosed"];

/**
 * Returns the part of the question that changes to look into a row. The new question selects what the row counts: its
 * days and its values are conditions, and its totals are the numbers of the row. Conditions on metrics chose the row
 * among others, and would choose among its parts; they are left out.
 */
export function lookInto(question: Question, row: Row, dimensions: readonly string[], dictionary: Dictionary): Partial<Question> {
  const { interval, compare } = question;
  const kept = conditionsOnEvents(question, dictionary);
  const key = question.dimensions.map((field): Condition => {
    const value = String(row[field] ?? "");
    return value === "" ? { field, operator: "empty", values: [] } : { field, operator: "is", values: [value] };
  });
  return {
    dimensions: [...dimensions],
    conditions: [...kept, ...key.filter((condition) => !kept.some((other) => JSON.stringify(other) === JSON.stringify(condition)))],
    ...(interval === "total"
      ? {}
      : {
          days: { start: String(row.start), end: String(row.end) },
          interval: "total" as const,
          // Certain days are those of the whole range, and not of the row.
          compare: typeof compare === "string" ? compare : null,
        }),
    // Most parts of a row are parts of its target.
    targets: false,
    sort: question.metrics[0] === undefined ? null : { field: question.metrics[0], descending: true },
  };
}
