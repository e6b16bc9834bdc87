// An answer by month, week or day with a column for each of them, in place of a row.

import { formatDate, formatMonth, subRanges, type DayRange, type Interval } from "./days";
import type { DatedQuestion, Row } from "./question";
import type { NamedColumn } from "./rows";

/** The most sub-ranges that have a column: the newest of them. */
export const MAX_COLUMNS = 60;

export interface Pivot {
  /** The dimensions, then the sub-ranges by their first day. */
  columns: NamedColumn[];
  /** A row for each group, with the values of one metric; a value that is missing is null. */
  rows: Row[];
  /** The sub-ranges that are left out, because there are too many. */
  leftOut: number;
  /** Returns the row of the answer that a cell is from; the newest one of the group for a column of a dimension. */
  origin: (row: Row, column: string) => Row | undefined;
}

/** Returns an answer with its sub-ranges as columns, in the order in which groups occur. */
export function pivotOf({ dimensions, days, interval }: DatedQuestion, metric: string, rows: Row[], label: (field: string) => string): Pivot {
  const all = subRanges(days, interval);
  const ranges = all.slice(-MAX_COLUMNS);
  const keyOf = (row: Row) => JSON.stringify(dimensions.map((name) => row[name]));
  const groups = new Map<string, { row: Row; origins: Map<string, Row> }>();
  for (const row of rows) {
    const key = keyOf(row);
    let group = groups.get(key);
    if (!group) {
      const values = [...dimensions.map((name) => [name, row[name] ?? null]), ...ranges.map(({ start }) => [start, null])];
      group = { row: Object.fromEntries(values) as Row, origins: new Map() };
      groups.set(key, group);
    }
    const start = String(row.start);
    group.origins.set(start, row);
    if (start in group.row) group.row[start] = row[metric] ?? null;
  }
  return {
    columns: [
      ...dimensions.map((name) => ({ name, field: name, label: label(name) })),
      ...ranges.map((range) => ({ name: range.start, field: metric, label: labelOf(range, interval) })),
    ],
    rows: [...groups.values()].map(({ row }) => row),
    leftOut: all.length - ranges.length,
    origin: (row, column) => {
      const origins = groups.get(keyOf(row))?.origins;
      return origins?.get(column) ?? (dimensions.includes(column) ? [...(origins?.values() ?? [])].at(-1) : undefined);
    },
  };
}

function labelOf({ start }: DayRange, interval: Interval): string {
  // On one line, whatever the width of the column.
  return (interval === "month" ? formatMonth(start) : formatDate(start)).replaceAll(" ", "\u00a0");
}
