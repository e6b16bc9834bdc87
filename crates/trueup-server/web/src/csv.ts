// An answer as CSV, as `trueup query --format csv` writes it: names of fields, then values as the service sent them.

import type { Row } from "./question";

export function toCsv(columns: string[], rows: Row[]): string {
  const lines = [columns.map(cell).join(",")];
  for (const row of rows) lines.push(columns.map((column) => cell(String(exported(row, column) ?? ""))).join(","));
  return `${lines.join("\n")}\n`;
}

/** Returns the value of a column in a file. A change from or to a ratio over nothing, which is null, is none. */
export function exported(row: Row, column: string): Row[string] | undefined {
  const metric = /^(.+)\.(?:change|ratio)$/.exec(column)?.[1];
  const isOverNothing = metric !== undefined && (row[metric] === null || row[`${metric}.previous`] === null);
  return isOverNothing ? null : row[column];
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
