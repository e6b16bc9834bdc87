// The question that the page begins with, and the check of a question that came with a link.

import { faultOf } from "./condition";
import { addDays, namedRange, resolveDays, type DayRange, type Days, type Now } from "./days";
import type { Dictionary, Index } from "./dictionary";
import type { EventsRequest, Question } from "./question";
import { Fault, type Service } from "./service";

const DIMENSIONS = ["attributionChannel"];
const METRICS = ["leads", "bookRate", "spend", "avgCostPerLead", "closedRevenue", "roasClosed"];

/** How far back the page looks for data. */
const MONTHS_BACK = 36;

/** What the service says about the days of the data. */
export interface Extent {
  organization: string;
  now: Now;
  /** The months with events, the oldest first; none if the service does not say. */
  months: DayRange[];
}

/**
 * Returns the question to begin with: what each channel brought in the newest month that is over and has data. Where there is
 * none yet, it is the newest month so far, and where the service does not say, the last 30 days. `null` if the key reaches no
 * organization.
 */
export function firstQuestion(index: Index, { now, months }: Extent): Question | null {
  const [first] = index.organizations;
  if (!first) return null;
  const known = (names: string[]) => names.filter((name) => index.dictionary.get(name));
  return {
    organization: first.organization,
    accounts: [],
    dimensions: known(DIMENSIONS),
    metrics: known(METRICS),
    days: firstDays(months, now),
    interval: "total",
    conditions: [],
    within: null,
    attribution: "recorded",
    compare: "previous-period",
    sort: { field: "leads", descending: true },
    charted: null,
    benchmarks: false,
    targets: false,
    pivot: false,
  };
}

function firstDays(months: DayRange[], now: Now): Days {
  const newest = months.at(-1);
  if (!newest) return { name: "30d" };
  const whole = resolveDays({ name: "last-month" }, now);
  const isKnown = whole !== null && months.some(({ start }) => start === whole.start);
  return isKnown ? whole : { start: newest.start, end: now.newest };
}

/** Returns what holds until the service has said more: data up to today. */
export function unknownExtent(organization: string, today: string): Extent {
  return { organization, now: { today, newest: today }, months: [] };
}

/** Asks where the data of an organization end, and which months have any. */
export async function findExtent(service: Service, organization: string, today: string): Promise<Extent> {
  const months = await monthsWithData(service, organization, [], today);
  const month = months.at(-1);
  if (!month) return unknownExtent(organization, today);
  const range = { start: month.start, end: month.end < today ? month.end : today };
  const days = await rangesWithData(service, { organization, accounts: [], range, interval: "day" });
  return { organization, now: { today, newest: days.at(-1)?.end ?? range.end }, months };
}

/** Returns the last months that have events, the oldest first; none if the service does not say. */
export async function monthsWithData(service: Service, organization: string, accounts: string[], today: string): Promise<DayRange[]> {
  const month = namedRange("this-month", today);
  if (!month) return [];
  const start = `${addDays(month.start, -31 * MONTHS_BACK).slice(0, 7)}-01`;
  return rangesWithData(service, { organization, accounts, range: { start, end: month.end }, interval: "month" });
}

async function rangesWithData(service: Service, asked: Pick<EventsRequest, "organization" | "accounts" | "range" | "interval">): Promise<DayRange[]> {
  try {
    const { rows } = await service.events({ ...asked, fields: ["eventCount"], filters: [] });
    return rows.filter((row) => row.eventCount !== 0).map((row) => ({ start: String(row.start), end: String(row.end) }));
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}

/** Returns why the question of a link cannot be asked with these fields; `null` if it can. */
export function misfitOf(question: Question, dictionary: Dictionary): string | null {
  const noMetric = question.metrics.find((name) => !dictionary.offers(name));
  if (noMetric !== undefined) return `“${noMetric}” is no metric that your key reaches`;
  const noDimension = question.dimensions.find((name) => dictionary.isMetric(name) || name === "start" || name === "end");
  if (noDimension !== undefined) return `“${noDimension}” is no dimension`;
  for (const condition of question.conditions) {
    const fault = faultOf(condition, dictionary.isMetric(condition.field));
    if (fault) return `in the filter on “${condition.field}”: ${fault}`;
  }
  return null;
}
