// The heat map of cohorts: what the leads of each month, week or day became within windows of growing length.

import { valueOf } from "./chart";
import { subRanges, type DayRange } from "./days";
import { OPEN_LEADS } from "./dictionary";
import type { EventsRequest, Row } from "./question";

/** Windows of the columns, up to that of the question. */
const WINDOWS = [7, 14, 30, 60, 90, 180, 365, 730];
const MAX_COLUMNS = 5;

/** Metrics that are the same in every window, and so tell least. */
const CONSTANT = ["leads", "spend", "cost", "campaignSpend", "clicks", "impressions", "avgCostPerLead"];

/** Returns the metric of the map: the one that was chosen for the chart, or the first that depends on the window. */
export function mappedMetric(metrics: string[], charted: string | null): string {
  if (charted !== null && metrics.includes(charted)) return charted;
  return metrics.find((metric) => !CONSTANT.includes(metric)) ?? metrics[0] ?? "";
}

/** The most rows of the map. */
export const MAX_COHORTS = 60;

export interface CohortCell {
  value: number | null;
  /** Whether the window of some of its leads is not over. */
  isOpen: boolean;
}

export interface Cohort extends DayRange {
  /** One cell per window. */
  cells: CohortCell[];
}

/** Returns the windows of the columns, the shortest first; the last one is that of the question. */
export function windowsOf(within: string): string[] {
  const longest = within === "all" ? Infinity : Number.parseInt(within, 10);
  const shorter = WINDOWS.filter((days) => days < longest).slice(1 - MAX_COLUMNS);
  return [...shorter.map((days) => `${days}d`), within];
}

/** Returns the request for a column: one metric of all leads of each cohort. */
export function columnRequest(rows: EventsRequest, metric: string, within: string): EventsRequest {
  return { ...rows, fields: metric === OPEN_LEADS ? [metric] : [metric, OPEN_LEADS], within, compare: null };
}

/** Returns the newest cohorts, the oldest of them first, from the answers of the columns. */
export function cohortsOf(range: DayRange, interval: EventsRequest["interval"], metric: string, columns: Row[][]): Cohort[] {
  const byStart = columns.map((rows) => new Map(rows.map((row) => [row.start, row])));
  return subRanges(range, interval)
    .slice(-MAX_COHORTS)
    .map((days) => ({
      ...days,
      cells: byStart.map((rows) => {
        const row = rows.get(days.start);
        return { value: row ? valueOf(row, metric) : 0, isOpen: Number(row?.[OPEN_LEADS] ?? 0) > 0 };
      }),
    }));
}
