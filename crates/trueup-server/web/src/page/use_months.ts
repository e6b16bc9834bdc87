// Asks for values by month, week or day, for what stands next to the numbers of an answer.

import { useMemo } from "preact/hooks";
import { valueOf } from "../chart";
import { subRanges, type DayRange } from "../days";
import type { EventsRequest, Row } from "../question";
import type { Service } from "../service";
import { useRows } from "./use_rows";

/** How many months a small line shows: the last one, and all of the year before it. */
export const MONTHS = 13;

export interface Monthly {
  ranges: DayRange[];
  /** Returns the values of a metric, one for each sub-range, in the group of a row. */
  values: (metric: string, row: Row) => (number | null)[];
}

export function useMonths(service: Service, request: EventsRequest | null, dimensions: string[]): Monthly | null {
  const rows = useRows(service, request);
  return useMemo(() => {
    if (!rows || !request) return null;
    const ranges = subRanges(request.range, request.interval);
    const keyOf = (start: string, row: Row) => JSON.stringify([start, ...dimensions.map((name) => row[name])]);
    const byKey = new Map(rows.map((row) => [keyOf(String(row.start), row), row]));
    return { ranges, values: (metric, row) => ranges.map(({ start }) => valueOf(byKey.get(keyOf(start, row)), metric)) };
  }, [rows]);
}
