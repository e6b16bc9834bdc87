// An answer as XLSX, as `trueup query -o answer.xlsx` formats it: a frozen header, the formats of the fields, and the totals in bold.

import { exported } from "./csv";
import type { Dictionary } from "./dictionary";
import type { Row } from "./question";
import type { NamedColumn } from "./rows";

export const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** The most rows of a sheet, and characters of a cell. */
const MAX_ROWS = 1_048_576;
const MAX_CHARACTERS = 32_767;
/** The widest column, in characters, and the rows that are read to find out how wide one is. */
const MAX_WIDTH = 50;
const SAMPLED_ROWS = 1_000;

/** The formats of cells; each is a style, and another one in bold. */
const FORMATS = ["General", "yyyy-mm-dd", "#,##0", "#,##0.00", "0.0%"];
const [TEXT, DAY, COUNT, AMOUNT, PERCENT] = [0, 1, 2, 3, 4];
const FIRST_FORMAT = 164;

/** The seconds of a day, and the days from the day 0 of spreadsheets to 1970. */
const MILLISECONDS = 86_400_000;
const EPOCH = 25_569;

/** Returns why an answer fits into no sheet; `null` if it does. */
export function sheetFault(rows: Row[]): string | null {
  if (rows.length > MAX_ROWS - 2) return "A sheet has not that many rows: export CSV";
  const isTooLong = (row: Row) => Object.values(row).some((value) => typeof value === "string" && value.length > MAX_CHARACTERS);
  return rows.some(isTooLong) ? "A text is too long for a sheet: export CSV" : null;
}

/** Returns a workbook with one sheet: labels, rows, and the totals if there are any. */
export async function toXlsx(columns: NamedColumn[], rows: Row[], totals: Row | null, dictionary: Dictionary): Promise<Blob> {
  const formats = columns.map(({ name, field }) => formatOf(name, field, rows, dictionary));
  const line = (cells: string[]) => `<row>${cells.join("")}</row>`;
  const cells = (row: Row, isBold: boolean) => line(columns.map(({ name }, at) => cell(exported(row, name), formats[at]!, isBold)));
  const header = line(columns.map(({ label }) => cell(label, TEXT, true)));
  const first = columns[0]?.name ?? "";
  const last = totals && cells(first in totals ? totals : { ...totals, [first]: "Total" }, true);
  const widths = columns.map(({ name, label }, at) => {
    const lengths = rows.slice(0, SAMPLED_ROWS).map((row) => String(row[name] ?? "").length);
    const width = formats[at] === TEXT ? Math.max(label.length, ...lengths) : Math.max(label.length, 12);
    return `<col min="${at + 1}" max="${at + 1}" width="${Math.min(width, MAX_WIDTH) + 2}" customWidth="1"/>`;
  });
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
  const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const packaged = "http://schemas.openxmlformats.org/package/2006";
  const relation = (type: string, target: string, id: number) => `<Relationship Id="rId${id}" Type="${office}/${type}" Target="${target}"/>`;
  const type = (part: string, name: string) => `<Override PartName="/xl/${part}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${name}+xml"/>`;
  const font = (bold: string) => `<font>${bold}<sz val="11"/><name val="Calibri"/></font>`;
  const styles = FORMATS.flatMap((_, at) => [0, 1].map((bold) => `<xf numFmtId="${at === TEXT ? 0 : FIRST_FORMAT + at}" fontId="${bold}" applyNumberFormat="1" applyFont="1"/>`));
  return zip([
    [
      "[Content_Types].xml",
      `<Types xmlns="${packaged}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${type("workbook", "sheet.main")}${type("worksheets/sheet1", "worksheet")}${type("styles", "styles")}</Types>`,
    ],
    ["_rels/.rels", `<Relationships xmlns="${packaged}/relationships">${relation("officeDocument", "xl/workbook.xml", 1)}</Relationships>`],
    ["xl/_rels/workbook.xml.rels", `<Relationships xmlns="${packaged}/relationships">${relation("worksheet", "worksheets/sheet1.xml", 1)}${relation("styles", "styles.xml", 2)}</Relationships>`],
    ["xl/workbook.xml", `<workbook ${main} xmlns:r="${office}"><sheets><sheet name="answer" sheetId="1" r:id="rId1"/></sheets></workbook>`],
    [
      "xl/styles.xml",
      `<styleSheet ${main}><numFmts count="${FORMATS.length}">${FORMATS.map((format, at) => `<numFmt numFmtId="${FIRST_FORMAT + at}" formatCode="${format}"/>`).join("")}</numFmts><fonts count="2">${font("")}${font("<b/>")}</fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="${styles.length}">${styles.join("")}</cellXfs></styleSheet>`,
    ],
    [
      "xl/worksheets/sheet1.xml",
      `<worksheet ${main}><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${widths.join("")}</cols><sheetData>${header}${rows.map((row) => cells(row, false)).join("")}${last ?? ""}</sheetData></worksheet>`,
    ],
  ]);
}

/** Returns the place of the format of a column. */
function formatOf(name: string, field: string, rows: Row[], dictionary: Dictionary): number {
  if (name === "start" || name === "end") return DAY;
  if (!dictionary.isMetric(field)) return dictionary.get(field)?.format === "date" ? DAY : TEXT;
  const format = dictionary.get(field)?.format ?? "";
  if (/(percent|ratio)$/.test(format)) return PERCENT;
  return format.endsWith("number") && rows.every((row) => Number.isInteger(row[name] ?? 0)) ? COUNT : AMOUNT;
}

function cell(value: string | number | null | undefined, format: number, isBold: boolean): string {
  const style = `s="${2 * format + (isBold ? 1 : 0)}"`;
  if (typeof value === "number") return `<c ${style}><v>${value}</v></c>`;
  if (value === null || value === undefined || value === "") return "<c/>";
  const day = format === DAY ? Date.parse(value) / MILLISECONDS + EPOCH : NaN;
  if (!Number.isNaN(day)) return `<c ${style}><v>${day}</v></c>`;
  return `<c ${style} t="inlineStr"><is><t xml:space="preserve">${xml(value)}</t></is></c>`;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Returns a text of a cell. What XML has no character for is written as spreadsheets do, by its code: `_x001B_`. */
function xml(text: string): string {
  const code = (character: string) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`;
  return text.replace(/_(?=x[0-9A-Fa-f]{4}_)|[\0-\x08\x0b-\x1f\ufffe\uffff]|\p{Cs}/gu, code).replace(/[&<>]/g, (character) => ENTITIES[character]!);
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';

/** Returns a ZIP archive of XML, each with its name. */
async function zip(files: [name: string, text: string][]): Promise<Blob> {
  const parts: BlobPart[] = [];
  const directory: BlobPart[] = [];
  let [offset, length] = [0, 0];
  for (const [name, text] of files) {
    // A file of gzip has a header of 10 bytes, then what an archive holds, its checksum, and its size.
    const packed = await new Response(new Blob([DECLARATION, text]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
    const body = packed.slice(10, -8);
    const [checksum, size] = new Uint32Array(packed.slice(-8));
    // Version 2.0, no flags, deflate, and the first day that an archive can name.
    const entry = [...u16(20, 0, 8, 0, 0x21), ...u32(checksum!, body.byteLength, size!), ...u16(name.length, 0)];
    const local = bytes(u32(0x04034b50), entry);
    const central = bytes(u32(0x02014b50), [...u16(20), ...entry, ...u16(0, 0, 0), ...u32(0, offset)]);
    parts.push(local, name, body);
    directory.push(central, name);
    offset += local.length + name.length + body.byteLength;
    length += central.length + name.length;
  }
  const end = bytes(u32(0x06054b50), [...u16(0, 0, files.length, files.length), ...u32(length, offset), ...u16(0)]);
  return new Blob([...parts, ...directory, end], { type: XLSX });
}

const u16 = (...numbers: number[]) => numbers.flatMap((number) => [number & 255, number >>> 8]);
const u32 = (...numbers: number[]) => numbers.flatMap((number) => u16(number & 65_535, number >>> 16));
const bytes = (...parts: number[][]) => new Uint8Array(parts.flat());
