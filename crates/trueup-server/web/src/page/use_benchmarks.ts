// Asks for the benchmarks behind a line chart: a few months to find out whether there are any, and all once they are shown.

import { useEffect, useState } from "preact/hooks";
import { MAX_MONTHS, TRIED_MONTHS, bandOf, benchmarkPath, hasBenchmark, type BenchmarkScope } from "../benchmarks";
import type { DayRange } from "../days";
import type { Row } from "../question";
import { Fault, type Service } from "../service";

export interface Benchmarks {
  /** Whether there are any, as far as that is known. */
  exist: boolean | null;
  /** The answers by month; one that is missing has not arrived, or is not asked for. */
  byMonth: Map<string, Row[]>;
  /** Why the other months did not arrive. */
  fault: Fault | null;
}

const UNKNOWN: Benchmarks = { exist: null, byMonth: new Map(), fault: null };

/** How often the page asks for the benchmarks of a month that the service still computes, the first time included. */
const MAX_TRIES = 30;

interface BenchmarksAsked {
  /** `null` if the question has no benchmarks. */
  scope: BenchmarkScope | null;
  /** The metrics of the question that have benchmarks. */
  metrics: string[];
  /** The metric of the chart. */
  metric: string;
  /** The sub-ranges of the chart. */
  days: DayRange[];
  /** The answer: with another one, all are asked for again. */
  rows: Row[];
  isShown: boolean;
  today: string;
}

export function useBenchmarks(service: Service, { scope, metrics, metric, days, rows, isShown, today }: BenchmarksAsked): Benchmarks {
  const [found, setFound] = useState<{ rows: Row[]; benchmarks: Benchmarks } | null>(null);
  const isAsked = scope !== null && metrics.includes(metric);
  const current = found?.rows === rows && isAsked ? found.benchmarks : UNKNOWN;

  useEffect(() => {
    if (!scope || !isAsked) return;
    const controller = new AbortController();
    const benchmarks: Benchmarks = { exist: null, fault: null, byMonth: new Map(current.byMonth) };
    const publish = () => setFound({ rows, benchmarks: { ...benchmarks, byMonth: new Map(benchmarks.byMonth) } });
    const starts = new Set(rows.map((row) => row.start));
    const months = days.filter((range) => hasBenchmark(range, today) && starts.has(range.start)).slice(-MAX_MONTHS).reverse();
    const ask = async () => {
      for (const [index, { start }] of months.entries()) {
        const month = start.slice(0, 7);
        if (!isShown && (benchmarks.exist || index >= TRIED_MONTHS)) break;
        if (!benchmarks.byMonth.has(month)) {
          benchmarks.byMonth.set(month, await patiently(service, benchmarkPath(scope, metrics, month), controller.signal));
          if (controller.signal.aborted) return;
        }
        benchmarks.exist ||= hasBand(benchmarks.byMonth.get(month) ?? [], metric, scope.dimensions);
        if (isShown) publish();
      }
      benchmarks.exist ??= false;
      publish();
    };
    ask().catch((error: unknown) => {
      if (controller.signal.aborted) return;
      benchmarks.fault = error instanceof Fault ? error : new Fault("unreadable", "");
      publish();
    });
    return () => controller.abort();
  }, [service, rows, JSON.stringify([scope, metric, metrics]), isShown, today]);
  return current;
}

/** Returns whether any segment has a band of the metric. */
function hasBand(rows: Row[], metric: string, dimensions: string[]): boolean {
  return rows.some((row) => bandOf(rows, metric, dimensions, dimensions.map((name) => String(row[name]))) !== null);
}

/** Asks again while the service computes the benchmarks of the month. */
async function patiently(service: Service, path: string, signal: AbortSignal): Promise<Row[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await service.benchmarks(path, signal);
    } catch (error) {
      // The month has begun in this time zone, and not yet for the service.
      if (error instanceof Fault && error.code === "future-month") return [];
      if (!(error instanceof Fault) || error.kind !== "busy" || tries === MAX_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfter ?? 2) * 1_000));
      if (signal.aborted) throw error;
    }
  }
}
