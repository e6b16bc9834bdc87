// Calendar days as `YYYY-MM-DD`, and the names of ranges: those of `trueup query --range` except spans of months and
// years, such as `6mo`.

import { count } from "./format";

/** A range of days, both included. */
export interface DayRange {
  start: string;
  end: string;
}

/** The days of a question: a name, whose days may depend on today, or the days themselves. */
export type Days = { name: string } | DayRange;

/** The most days that one sub-range may have. */
export const ATTRIBUTION_WINDOW = 90;

export type Interval = "total" | "month" | "week" | "day";
export const INTERVALS: readonly Interval[] = ["total", "month", "week", "day"];

const DAY = 86_400_000;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const UNITS = ["week", "month", "quarter", "year"] as const;
type Unit = (typeof UNITS)[number];

/** The named ranges that the page offers, with what people call them. */
export const OFFERED_RANGES: readonly (readonly [name: string, label: string])[] = [
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["90d", "Last 90 days"],
  ["month-to-date", "Month to date"],
  ["last-month", "Last month"],
  ["quarter-to-date", "Quarter to date"],
  ["last-quarter", "Last quarter"],
  ["year-to-date", "Year to date"],
  ["last-year", "Last year"],
];

/** Returns today in the time zone of the browser. */
export function today(now = new Date()): string {
  return toText(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()));
}

/** Returns whether a text is a calendar day that trueup knows. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && toText(time) === text && text >= "1970-01-01" && text <= "2149-06-06";
}

/** Returns the day a number of days later, or earlier. */
export function addDays(day: string, days: number): string {
  return toText(toTime(day) + days * DAY);
}

/** Returns whether a text is the window of a cohort: a number of days such as `90d`, or `all`. */
export function isWindow(text: string): boolean {
  return /^(?:\d{1,5}d|all)$/.test(text);
}

/** Returns what people call the window of a cohort. */
export function describeWindow(within: string): string {
  return within === "all" ? "without end" : count(Number.parseInt(within, 10), "day");
}

/** Returns how many days a range has. */
export function countDays({ start, end }: DayRange): number {
  return Math.round((toTime(end) - toTime(start)) / DAY) + 1;
}

/** What named ranges count from: they end where the data end, so that none of them is empty because the data are not of today. */
export interface Now {
  today: string;
  /** The newest day with data, at most today. */
  newest: string;
}

/** Returns the days of a question; `null` if its name is not that of a range. */
export function resolveDays(days: Days, now: Now): DayRange | null {
  return "name" in days ? anchoredRange(days.name, now) : days;
}

/**
 * Returns the days of a named range that ends where the data end; `null` if there is no such name. The last month is the
 * newest one that is over by then: a month whose last day has data, unless that day is today.
 */
function anchoredRange(name: string, { today, newest }: Now): DayRange | null {
  const next = addDays(newest, 1);
  return namedRange(name, !name.startsWith("last-") ? newest : next < today ? next : today);
}

/** Returns the days of a named range; `null` if there is no such name. */
export function namedRange(name: string, now: string): DayRange | null {
  if (name === "today") return { start: now, end: now };
  if (name === "yesterday") return { start: addDays(now, -1), end: addDays(now, -1) };
  const last = /^([1-9]\d{0,3})([dw])$/.exec(name);
  if (last) return { start: addDays(now, 1 - Number(last[1]) * (last[2] === "w" ? 7 : 1)), end: now };
  const of = /^(?:(this|last)-(week|month|quarter|year)|(week|month|quarter|year)-to-date)$/.exec(name);
  if (of) {
    const unit = (of[2] ?? of[3]) as Unit;
    const current = unitAround(now, unit);
    if (of[3]) return { start: current.start, end: now };
    return of[1] === "this" ? current : unitAround(addDays(current.start, -1), unit);
  }
  const calendar = /^(\d{4})(?:-(?:(0[1-9]|1[0-2])|Q([1-4])))?$/.exec(name);
  if (!calendar || !isDay(`${calendar[1]}-01-01`)) return null;
  const [, year, month, quarter] = calendar;
  const first = month ?? (quarter ? String(Number(quarter) * 3 - 2).padStart(2, "0") : "01");
  const range = unitAround(`${year}-${first}-01`, month ? "month" : quarter ? "quarter" : "year");
  return isDay(range.end) ? range : null;
}

/** Returns what people call a range. */
export function describeDays(days: Days): string {
  if (!("name" in days)) return formatRange(days);
  return OFFERED_RANGES.find(([name]) => name === days.name)?.[1] ?? days.name;
}

/**
 * Returns the days that a comparison takes the earlier values from, as the service chooses them: before whole months as many
 * months, before other days as many days.
 */
export function earlierRange({ start, end }: DayRange, earlier: "previous-period" | "previous-year" | DayRange): DayRange {
  if (typeof earlier !== "string") return earlier;
  if (earlier === "previous-year") return { start: monthsBefore(start, 12), end: monthsBefore(end, 12) };
  const after = addDays(end, 1);
  const isWhole = start.endsWith("-01") && after.endsWith("-01");
  const first = isWhole ? monthsBefore(start, monthOf(after) - monthOf(start)) : addDays(start, -countDays({ start, end }));
  return { start: first, end: addDays(start, -1) };
}

/** Returns the same day a number of months earlier, or the last day of a shorter month. */
export function monthsBefore(day: string, months: number): string {
  const number = monthOf(day) - months;
  const [year, month] = [Math.floor(number / 12), number % 12];
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return toText(Date.UTC(year, month, Math.min(Number(day.slice(8)), last)));
}

/** Returns the days of a range as people write them: `Jun 2026`, `Q2 2026`, `2026`, `1 Jun 2026` or `1 – 9 Jun 2026`. */
export function formatRange(range: DayRange): string {
  const { start, end } = range;
  const [unit, year] = [unitOf(range), start.slice(0, 4)];
  if (unit === "year") return year;
  if (unit !== null) return unit === "month" ? formatMonth(start) : `Q${Math.ceil(Number(start.slice(5, 7)) / 3)} ${year}`;
  if (start === end) return formatDate(start);
  if (start.slice(0, 7) === end.slice(0, 7)) return `${Number(start.slice(8))} – ${formatDate(end)}`;
  return start.slice(0, 4) === end.slice(0, 4) ? `${formatDay(start)} – ${formatDate(end)}` : `${formatDate(start)} – ${formatDate(end)}`;
}

/** Returns what a range is one of; `null` if it is neither a whole year nor a quarter nor a month. */
export function unitOf({ start, end }: DayRange): "year" | "quarter" | "month" | null {
  const units = ["year", "quarter", "month"] as const;
  return units.find((unit) => isSame(unitAround(start, unit), { start, end })) ?? null;
}

/** Returns whether two ranges have the same days. */
export function isSame(a: DayRange, b: DayRange): boolean {
  return a.start === b.start && a.end === b.end;
}

/** Returns a day with its year, such as `1 Jun 2026`. */
export function formatDate(day: string): string {
  return `${formatDay(day)} ${day.slice(0, 4)}`;
}

/** Returns a day without its year, such as `1 Jun`. */
export function formatDay(day: string): string {
  return `${Number(day.slice(8))} ${nameOfMonth(day)}`;
}

/** Returns the month of a day, such as `Jun 2026`. */
export function formatMonth(day: string): string {
  return `${nameOfMonth(day)} ${day.slice(0, 4)}`;
}

/** Returns the month of a day without its year, such as `Jun`. */
export function nameOfMonth(day: string): string {
  return MONTHS[Number(day.slice(5, 7)) - 1] ?? "";
}

/** Returns the sub-ranges of a range, clipped to it. */
export function subRanges({ start, end }: DayRange, interval: Interval): DayRange[] {
  if (interval === "total") return [{ start, end }];
  const ranges: DayRange[] = [];
  for (let first = start; first <= end; ) {
    const last = interval === "day" ? first : unitAround(first, interval).end;
    ranges.push({ start: first, end: last < end ? last : end });
    first = addDays(last, 1);
  }
  return ranges;
}

/** Returns whether a sub-range at an edge of the range is only a part of its month or week. */
export function isPartial({ start, end }: DayRange, interval: Interval): boolean {
  if (interval !== "month" && interval !== "week") return false;
  return !isSame(unitAround(start, interval), { start, end });
}

function unitAround(day: string, unit: Unit): DayRange {
  if (unit === "week") {
    const start = addDays(day, -((new Date(toTime(day)).getUTCDay() + 6) % 7));
    return { start, end: addDays(start, 6) };
  }
  const [year, month] = [Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1];
  const months = { month: 1, quarter: 3, year: 12 }[unit];
  const first = month - (month % months);
  return { start: toText(Date.UTC(year, first, 1)), end: toText(Date.UTC(year, first + months, 0)) };
}

/** Returns the number of a month, counted over the years. */
function monthOf(day: string): number {
  return Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1;
}

function toTime(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

function toText(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
