// How values are shown: by the format that the dictionary gives a field.

const integer = new Intl.NumberFormat("en-US", { maximumFractionDigits: 6 });
const percent = new Intl.NumberFormat("en-US", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const signed = (options: Intl.NumberFormatOptions) => new Intl.NumberFormat("en-US", { ...options, signDisplay: "exceptZero" });
const changeOfInteger = signed({ maximumFractionDigits: 6 });
const changeInPercent = signed({ style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const changeOfPoints = signed({ minimumFractionDigits: 1, maximumFractionDigits: 1 });
const tickInPercent = new Intl.NumberFormat("en-US", { style: "percent", maximumSignificantDigits: 4 });
const share = new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 1 });
const decimals = amountsIn(null);
let amounts = decimals;

function amountsIn(currency: string | null) {
  const money = currency === null ? {} : ({ style: "currency", currency, currencyDisplay: "narrowSymbol" } as const);
  const exact = { ...money, minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return {
    currency,
    amount: new Intl.NumberFormat("en-US", exact),
    change: signed(exact),
    // A tick is a small multiple of a round step, which four digits write in full.
    tick: new Intl.NumberFormat("en-US", { ...money, notation: "compact", maximumSignificantDigits: 4 }),
  };
}

/** Says which currency amounts are in, whose sign they have from then on; `null` if they have several or an unknown one. */
export function showCurrency(code: string | null): void {
  if (code !== amounts.currency) amounts = code === null ? decimals : amountsIn(code);
}

/** The formats of a change begin with this: they show a sign. */
export const CHANGE = "change of ";

/** Returns a number as a table shows it. A change of a share is in percentage points, and not in percent of the share. */
export function formatNumber(value: number, format: string): string {
  if (format.startsWith(CHANGE)) {
    const kind = format.slice(CHANGE.length);
    if (kind === "percent") return `${changeOfPoints.format(value * 100)} pp`;
    if (kind === "ratio") return changeInPercent.format(value);
    return (kind === "currency" ? amounts.change : kind === "decimal" ? decimals.change : changeOfInteger).format(value);
  }
  if (format === "percent") return percent.format(value);
  return (format === "currency" ? amounts.amount : format === "decimal" ? decimals.amount : integer).format(value);
}

/** Returns a number of an axis, which has little room: short, and never rounded. */
export function formatTick(value: number, format: string): string {
  return (format === "percent" ? tickInPercent : (format.endsWith("currency") ? amounts : decimals).tick).format(value);
}

/** Returns whether a number is shown as zero, such as 0.0 pp. */
export function isShownAsZero(value: number, format: string): boolean {
  return !/[1-9]/.test(formatNumber(value, format));
}

/** Returns a share of a whole, such as 12.5%. */
export function formatShare(value: number): string {
  return share.format(value);
}

/** Returns a text as a table shows it. The empty text is `(none)`, and a text `(none)` of the data has quotes. */
export function formatText(value: string): string {
  if (value === "") return "(none)";
  return value === "(none)" ? '"(none)"' : value;
}

/** Returns a number or a text as the table shows it; an empty text if there is none, a dash for a value that does not exist. */
export function formatValue(value: string | number | null | undefined, format: string): string {
  if (value === undefined) return "";
  if (value === null) return "–";
  return typeof value === "number" ? formatNumber(value, format) : formatText(value);
}

/** Returns a number of things, such as `1 row` and `1,200 rows`. */
export function count(number: number, thing: string): string {
  return `${integer.format(number)} ${thing}${number === 1 ? "" : "s"}`;
}

/** Returns names in a row, such as `Account, Campaign and Device`. */
export function inRow(names: string[]): string {
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((part) => part !== "").join(" and ");
}
