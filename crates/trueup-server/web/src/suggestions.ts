// Questions that people have next, each of which one click asks.

import { resolveDays, countDays, type Now } from "./days";
import type { Dictionary } from "./dictionary";
import { CUSTOMERS } from "./drill";
import { conditionsOnEvents, rowsRequest, type DatedQuestion, type EventsRequest, type Question, type Row } from "./question";

/** The days over which a return is judged: revenue comes after the spend. */
const RETURN_DAYS = "90d";

const RETURN_METRICS = ["roasClosed", "spend", "closedRevenue", "leads", "avgCostPerLead"];

/** Returns the request for the spend of each campaign, from which `leastReturn` takes what counts as much. */
export function spendRequest(question: DatedQuestion, now: Now, dictionary: Dictionary): EventsRequest | null {
  const asked = { ...question, ...returnDays(question, now), ...PLAIN, dimensions: ["campaign"], metrics: ["spend"], conditions: conditionsOnEvents(question, dictionary) };
  return rowsRequest({ ...asked, days: resolveDays(asked.days, now) ?? question.days }, dictionary);
}

/** Returns the campaigns that spent more than the median of them, those with the least return first. */
export function leastReturn(question: DatedQuestion, spent: Row[], now: Now, dictionary: Dictionary): Partial<Question> {
  const spends = spent.map(({ spend }) => Number(spend)).filter((spend) => spend > 0).sort((a, b) => a - b);
  const median = roundDown(spends[Math.floor(spends.length / 2)] ?? 0);
  return {
    ...PLAIN,
    ...returnDays(question, now),
    dimensions: ["campaign"],
    metrics: RETURN_METRICS.filter((name) => dictionary.offers(name)),
    conditions: [...conditionsOnEvents(question, dictionary), { field: "spend", operator: "above", values: [String(median)] }],
    sort: { field: "roasClosed", descending: false },
  };
}

/** Returns the leads of the days that became revenue, whenever that was. */
export function closedLeads(question: DatedQuestion, dictionary: Dictionary): Partial<Question> {
  return {
    ...PLAIN,
    within: "all",
    // The campaign is that of the lead, and not of the event that closed it.
    attribution: "first",
    dimensions: [...CUSTOMERS, "campaign"],
    metrics: ["closedRevenue"],
    conditions: [...conditionsOnEvents(question, dictionary), { field: "closedRevenue", operator: "above", values: ["0"] }],
    sort: { field: "closedRevenue", descending: true },
  };
}

/** What a suggestion does not take over from the question before it. */
const PLAIN = { interval: "total", compare: null, within: null, attribution: "recorded", charted: null, benchmarks: false, targets: false, pivot: false } satisfies Partial<Question>;

/** Returns the days over which a return is judged: those of the question if they are many. */
function returnDays({ days }: DatedQuestion, now: Now): Partial<Question> {
  const named = { name: RETURN_DAYS };
  const range = resolveDays(named, now);
  return range && countDays(days) < countDays(range) ? { days: named } : {};
}

/** Returns an amount rounded down to one digit, which is easier to read. */
function roundDown(amount: number): number {
  if (amount < 1) return 0;
  const power = 10 ** Math.floor(Math.log10(amount));
  return Math.floor(amount / power) * power;
}
