// An answer as CSV, as `trueup query --format csv` writes it: names of fields, then values as the service sent them.

import type { Row } from "./question";

export function toCsv(columns: string[], rows: Row[]): string {
  const lines = [columns.map(cell).join(",")];
  for (const row of rows) lines.push(columns.map((column) => cell(String(row[column] ?? ""))).join(","));
  return `${lines.join("\n")}\n`;
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
