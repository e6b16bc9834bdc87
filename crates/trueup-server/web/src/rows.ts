// The rows of an answer in the order of the table, and the room that its columns need.

import { OPEN_LEADS, type Dictionary } from "./dictionary";
import { formatValue } from "./format";
import { changeColumn, isOfTarget, metricOf, type Row, type Sort } from "./question";
import type { TextWidth } from "./text_width";

/** Rows that are read to find out how wide a column of texts is. */
const SAMPLED_ROWS = 2_000;

// In em of the table, as in the style sheet.
/** The most room for a text. A number is never cut off. */
const MAX_TEXT = 24;
/** What a cell has on both sides. */
const PADDING = 1.5;
/** The arrow of the column that rows are sorted by. */
const ARROW = 1.2;
/** The mark of leads whose window is not over. */
const MARK = 1.5;
/** The size of a change, and what is between the value and it. */
const SMALL = 0.9;
const GAP = 0.6;

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

/** A column by the name that it has in the rows. */
export interface NamedColumn {
  name: string;
  /** The field of its values. */
  field: string;
  label: string;
}

/** A column of the table. */
export interface TableColumn extends NamedColumn {
  /** The column with the change of the values, which its cells show too; `null` for none. */
  part: string | null;
  /** In em: room for every one of its numbers, for its texts up to a limit, and for the longest word of its header. */
  width: number;
}

/** Returns the columns of the table. In a comparison they are one for each metric, unless all columns are shown. */
export function tableColumns(columns: NamedColumn[], rows: Row[], totals: Row | null, dictionary: Dictionary, widthOf: TextWidth, areAll: boolean): TableColumn[] {
  const names = columns.map(({ name }) => name);
  const isPart = (column: string) => metricOf(column) !== column && !isOfTarget(column) && dictionary.isMetric(column) && names.includes(metricOf(column));
  const contents = (name: string, field: string) => contentWidth(name, field, rows, totals, dictionary, widthOf);
  return columns
    .filter(({ name }) => areAll || !isPart(name))
    .map(({ name, field, label }) => {
      const part = areAll || !names.includes(changeColumn(name, dictionary)) ? null : changeColumn(name, dictionary);
      const width = contents(name, field) + (part === null ? 0 : contents(part, part) * SMALL + GAP);
      const header = Math.max(...label.split(" ").map(widthOf)) + ARROW + (part === null ? 0 : ARROW);
      return { name, field, label, part, width: Math.max(dictionary.isMetric(field) ? width : Math.min(width, MAX_TEXT), header) + PADDING };
    });
}

/** Returns the columns of an answer as they are. */
export function namedColumns(columns: string[], dictionary: Dictionary): NamedColumn[] {
  return columns.map((name) => ({ name, field: name, label: dictionary.label(name) }));
}

/** Returns the width of the widest value of a column. */
function contentWidth(column: string, field: string, rows: Row[], totals: Row | null, dictionary: Dictionary, widthOf: TextWidth): number {
  const format = dictionary.get(field)?.format ?? "text";
  const step = dictionary.isMetric(field) ? 1 : Math.max(1, Math.floor(rows.length / SAMPLED_ROWS));
  let [width, longest] = [0, 0];
  for (let index = 0; index < rows.length; index += step) {
    const value = rows[index]?.[column];
    // A number is only measured if it may be wider than those before it, as a fraction of up to six digits may be.
    if (typeof value === "number") {
      const isFraction = format.endsWith("number") && !Number.isInteger(value);
      if (Math.abs(value) <= longest && value >= 0 && !isFraction) continue;
      longest = Math.max(longest, Math.abs(value));
    }
    width = Math.max(width, widthOf(formatValue(value, format)));
  }
  if (totals && column in totals) width = Math.max(width, widthOf(formatValue(totals[column], format)));
  return column === OPEN_LEADS ? width + MARK : width;
}
