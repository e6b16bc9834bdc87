// Asks for values by month, week or day, for what stands next to the numbers of an answer.

import { useEffect, useState } from "preact/hooks";
import { valueOf } from "../chart";
import { subRanges, type DayRange } from "../days";
import type { EventsRequest, Row } from "../question";
import type { Service } from "../service";

/** How many months a small line shows: the last one, and all of the year before it. */
export const MONTHS = 13;

export interface Monthly {
  ranges: DayRange[];
  /** Returns the values of a metric, one for each sub-range, in the group of a row. */
  values: (metric: string, row: Row) => (number | null)[];
}

/** An answer without them is whole, so a fault shows none. */
export function useMonths(service: Service, request: EventsRequest | null, dimensions: string[]): Monthly | null {
  const [found, setFound] = useState<(Monthly & { of: string }) | null>(null);
  const key = JSON.stringify(request);
  useEffect(() => {
    if (!request) return;
    const controller = new AbortController();
    service.events(request, controller.signal).then(
      ({ rows }) => {
        const ranges = subRanges(request.range, request.interval);
        const keyOf = (start: string, row: Row) => JSON.stringify([start, ...dimensions.map((name) => row[name])]);
        const byKey = new Map(rows.map((row) => [keyOf(String(row.start), row), row]));
        setFound({ of: key, ranges, values: (metric, row) => ranges.map(({ start }) => valueOf(byKey.get(keyOf(start, row)), metric)) });
      },
      () => undefined,
    );
    return () => controller.abort();
  }, [service, key]);
  return found?.of === key ? found : null;
}
