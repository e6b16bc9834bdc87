// The link to a question: the part of the address after `#`, which browsers do not send to any server.

import { INTERVALS, isDay, isWindow, namedRange, type DayRange, type Days, type Interval } from "./days";
import { OPERATORS, takesNone, takesSeveral, type Condition, type Operator } from "./condition";
import { ATTRIBUTIONS, earlierText, encode, isTaken, type Attribution, type Earlier, type Question, type Sort } from "./question";

/** The most characters of a link: more than those of any question that the service takes. */
const MAX_LINK = 65_536;
const PARAMETERS = ["organization", "accounts", "dimensions", "metrics", "days", "start", "end", "interval", "within", "attribution", "compare", "where", "sort", "chart", "benchmarks", "targets", "pivot"];

/** A question that a link holds, or what is wrong with the link. */
export type Linked = { question: Question } | { fault: string };

class LinkFault extends Error {}

/** Writes a question; the result begins with `#`. */
export function writeLink(question: Question): string {
  const { days } = question;
  const parameters: [string, string][] = [["organization", question.organization]];
  const add = (name: string, value: string | null) => value && parameters.push([name, value]);
  add("accounts", question.accounts.join(","));
  add("dimensions", question.dimensions.join(","));
  add("metrics", question.metrics.join(","));
  if ("name" in days) add("days", days.name);
  else parameters.push(["start", days.start], ["end", days.end]);
  add("interval", question.interval === "total" ? null : question.interval);
  add("within", question.within);
  add("attribution", isTaken(question.attribution) ? question.attribution : null);
  add("compare", question.compare && earlierText(question.compare));
  for (const { field, operator, values } of question.conditions) add("where", JSON.stringify([field, operator, ...values]));
  add("sort", question.sort && `${question.sort.field}:${question.sort.descending ? "desc" : "asc"}`);
  add("chart", question.charted);
  add("benchmarks", question.benchmarks ? "true" : null);
  add("targets", question.targets ? "true" : null);
  add("pivot", question.pivot ? "true" : null);
  return `#${parameters.map(([name, value]) => `${name}=${encode(value)}`).join("&")}`;
}

/** Reads a link; `null` if there is none. Every part of it is checked before anything is used. */
export function readLink(hash: string): Linked | null {
  const text = hash.replace(/^#/, "");
  if (text === "") return null;
  try {
    return { question: parse(text) };
  } catch (error) {
    if (error instanceof LinkFault) return { fault: error.message };
    throw error;
  }
}

function parse(text: string): Question {
  if (text.length > MAX_LINK) throw new LinkFault(`the link has ${text.length} characters, but a link has at most ${MAX_LINK}`);
  const parameters = new URLSearchParams(text);
  for (const name of new Set(parameters.keys())) {
    if (!PARAMETERS.includes(name)) throw new LinkFault(`the link has a part ${quote(name)}, which no question has`);
    if (name !== "where" && parameters.getAll(name).length > 1) throw new LinkFault(`the link has ${quote(name)} more than once`);
  }
  return {
    organization: oneLine(parameters.get("organization") ?? "", "organization"),
    accounts: names(parameters, "accounts"),
    dimensions: names(parameters, "dimensions"),
    metrics: names(parameters, "metrics"),
    days: days(parameters),
    interval: interval(parameters.get("interval") ?? "total"),
    conditions: parameters.getAll("where").map(condition),
    within: within(parameters.get("within")),
    attribution: attribution(parameters.get("attribution") ?? "recorded"),
    compare: compare(parameters),
    sort: sort(parameters.get("sort")),
    charted: parameters.has("chart") ? oneLine(parameters.get("chart") ?? "", "chart") : null,
    benchmarks: isTrue(parameters, "benchmarks"),
    targets: isTrue(parameters, "targets"),
    pivot: isTrue(parameters, "pivot"),
  };
}

function names(parameters: URLSearchParams, name: string): string[] {
  const listed = (parameters.get(name) ?? "").split(",").filter((part) => part !== "");
  return [...new Set(listed.map((part) => oneLine(part, `name in ${quote(name)}`)))];
}

function days(parameters: URLSearchParams): Days {
  const [name, start, end] = [parameters.get("days"), parameters.get("start"), parameters.get("end")];
  if (name !== null) {
    if (start !== null || end !== null) throw new LinkFault("the link has both named days and a start or an end");
    if (!namedRange(name, "2026-01-01")) throw new LinkFault(`${quote(name)} is no name of days; one is "last-month"`);
    return { name };
  }
  return range(start, end);
}

function range(start: string | null, end: string | null): DayRange {
  for (const [label, day] of [["start", start], ["end", end]] as const) {
    if (day === null) throw new LinkFault(`the link has no ${label}`);
    if (!isDay(day)) throw new LinkFault(`expected ${label} to be a day as YYYY-MM-DD, but found ${quote(day)}`);
  }
  if (start! > end!) throw new LinkFault(`the end ${end} is before the start ${start}`);
  return { start: start!, end: end! };
}

function within(text: string | null): string | null {
  if (text !== null && !isWindow(text)) throw new LinkFault(`expected a window such as 90d or all, but found ${quote(text)}`);
  return text;
}

function attribution(text: string): Attribution {
  const found = ATTRIBUTIONS.find((known) => known === text);
  if (!found) throw new LinkFault(`${quote(text)} is no attribution; it is one of ${ATTRIBUTIONS.join(", ")}`);
  return found;
}

function compare(parameters: URLSearchParams): Earlier | null {
  const text = parameters.get("compare");
  if (text === null) return null;
  if (text === "previous-period" || text === "previous-year") return text;
  const days = text.split("..");
  if (days.length !== 2) throw new LinkFault(`expected to compare with previous-period, previous-year or START..END, but found ${quote(text)}`);
  return range(days[0]!, days[1]!);
}

function interval(text: string): Interval {
  const found = INTERVALS.find((known) => known === text);
  if (!found) throw new LinkFault(`${quote(text)} is no interval; intervals are ${INTERVALS.join(", ")}`);
  return found;
}

function condition(text: string): Condition {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    throw new LinkFault(`the filter ${quote(text)} cannot be read`);
  }
  if (!Array.isArray(parts) || parts.length < 2 || !parts.every((part) => typeof part === "string")) {
    throw new LinkFault(`the filter ${quote(text)} cannot be read`);
  }
  const [field, operator, ...values] = parts as [string, string, ...string[]];
  if (!Object.hasOwn(OPERATORS, operator)) throw new LinkFault(`the filter ${quote(text)} has an operator that does not exist`);
  const known = operator as Operator;
  if (takesNone(known) ? values.length > 0 : values.length === 0 || (values.length > 1 && !takesSeveral(known))) {
    throw new LinkFault(`the filter ${quote(text)} has a wrong number of values`);
  }
  // JSON can spell half of a pair of surrogates, which no request can carry.
  if (parts.some((part) => /\p{Cs}/u.test(part))) throw new LinkFault(`the filter ${quote(text)} has half of a character`);
  return { field: oneLine(field, "field of a filter"), operator: known, values };
}

function sort(text: string | null): Sort | null {
  if (text === null) return null;
  const parts = /^(.+):(asc|desc)$/s.exec(text);
  if (!parts) throw new LinkFault(`expected to sort by a field and its direction, such as leads:desc, but found ${quote(text)}`);
  return { field: oneLine(parts[1]!, "field to sort by"), descending: parts[2] === "desc" };
}

function isTrue(parameters: URLSearchParams, name: string): boolean {
  const text = parameters.get(name);
  if (text !== null && text !== "true") throw new LinkFault(`expected ${name} to be true, but found ${quote(text)}`);
  return text === "true";
}

/** Returns a text that is not empty and one line. */
function oneLine(text: string, part: string): string {
  if (text === "") throw new LinkFault(`the link names no ${part}`);
  if (/\p{Cc}/u.test(text)) throw new LinkFault(`expected the ${part} to have no control character, but found ${quote(text)}`);
  return text;
}

function quote(text: string): string {
  return `“${text.length > 60 ? `${text.slice(0, 60)}…` : text}”`;
}
