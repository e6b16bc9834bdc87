// The question that the page begins with, and the check of a question that came with a link.

import { faultOf } from "./condition";
import { addDays, namedRange, type DayRange } from "./days";
import type { Dictionary, Index } from "./dictionary";
import type { Question } from "./question";
import { Fault, type Service } from "./service";

const DIMENSIONS = ["attributionChannel"];
const METRICS = ["leads", "bookRate", "spend", "avgCostPerLead", "closedRevenue", "roasClosed"];

/** How far back the page looks for data. */
const MONTHS_BACK = 36;

/**
 * Returns the question to begin with: what each channel brought in the newest month with data, or in the last 30 days if
 * there is no such month. `null` if the key reaches no organization.
 */
export async function firstQuestion(service: Service, index: Index, today: string): Promise<Question | null> {
  const [first] = index.organizations;
  if (!first) return null;
  const known = (names: string[]) => names.filter((name) => index.dictionary.get(name));
  const months = await monthsWithData(service, first.organization, [], today);
  const newest = months[months.length - 1];
  return {
    organization: first.organization,
    accounts: [],
    dimensions: known(DIMENSIONS),
    metrics: known(METRICS),
    days: newest ?? { name: "30d" },
    interval: "total",
    conditions: [],
    within: null,
    attribution: "recorded",
    compare: null,
    sort: { field: "leads", descending: true },
    charted: null,
    benchmarks: false,
  };
}

/** Returns the last months that have events, the oldest first; none if the service does not say. */
export async function monthsWithData(service: Service, organization: string, accounts: string[], today: string): Promise<DayRange[]> {
  const month = namedRange("this-month", today);
  if (!month) return [];
  const start = `${addDays(month.start, -31 * MONTHS_BACK).slice(0, 7)}-01`;
  const request = { organization, accounts, fields: ["eventCount"], range: { start, end: month.end }, interval: "month" as const, filters: [] };
  try {
    const { rows } = await service.events(request);
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
