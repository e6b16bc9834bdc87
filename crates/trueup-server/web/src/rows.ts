// The rows of an answer in the order of the table, and the room that its columns need.

import { CHANGE, formatValue } from "./format";
import type { Dictionary } from "./dictionary";
import type { Row, Sort } from "./question";

/** Rows that are read to find out how wide a column of texts is. */
const SAMPLED_ROWS = 2_000;
const MAX_TEXT_WIDTH = 44;

/**
 * Sorts rows by one column, texts byte by byte; rows that are equal in it stay in their order, and rows without a value
 * come last.
 */
export function sortRows(rows: Row[], sort: Sort | null): Row[] {
  if (!sort) return rows;
  const { field, descending } = sort;
  const sign = descending ? -1 : 1;
  const values = rows.map((row) => row[field] ?? "");
  const order = values.map((_, index) => index);
  order.sort((one, other) => {
    const a = values[one]!;
    const b = values[other]!;
    if (a === b) return 0;
    if (a === "" || b === "") return a === "" ? 1 : -1;
    const isBefore = typeof a === "string" && typeof b === "string" ? isTextBefore(a, b) : a < b;
    return isBefore ? -sign : sign;
  });
  return order.map((index) => rows[index]!);
}

/** Returns whether a text is before another by its code points, which is the order of its bytes in UTF-8. */
function isTextBefore(a: string, b: string): boolean {
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return (a.codePointAt(at) ?? -1) < (b.codePointAt(at) ?? -1);
}

/** Returns the width of each column in characters, wide enough for its values and for the longest word of its header. */
export function columnWidths(columns: string[], rows: Row[], totals: Row | null, dictionary: Dictionary): number[] {
  return columns.map((column) => {
    const format = dictionary.get(column)?.format ?? "text";
    const header = Math.max(...dictionary.label(column).split(" ").map((word) => word.length)) + 3;
    const step = dictionary.isMetric(column) ? 1 : Math.max(1, Math.floor(rows.length / SAMPLED_ROWS));
    let [width, longest] = [0, 0];
    for (let index = 0; index < rows.length; index += step) {
      const value = rows[index]?.[column];
      // A number is only formatted if it may be wider than those before it, as a fraction of up to six digits may be.
      if (typeof value === "number") {
        const isFraction = format.endsWith("number") && !Number.isInteger(value);
        if (Math.abs(value) <= longest && value >= 0 && !isFraction) continue;
        longest = Math.max(longest, Math.abs(value));
      }
      width = Math.max(width, formatValue(value, format).length);
    }
    if (totals && column in totals) width = Math.max(width, formatValue(totals[column], format).length);
    // Signs are wider than digits.
    const room = format.startsWith(CHANGE) ? 4 : 2;
    return Math.min(Math.max(width + room, header), MAX_TEXT_WIDTH);
  });
}
