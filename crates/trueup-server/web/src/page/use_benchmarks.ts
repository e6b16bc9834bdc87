// Asks for the benchmarks of the months of an answer.

import { useEffect, useState } from "preact/hooks";
import { benchmarkPath, type BenchmarkScope } from "../benchmarks";
import type { Row } from "../question";
import { Fault, type Service } from "../service";

export interface Benchmarks {
  /** The answers by month; none until they have arrived. */
  byMonth: Map<string, Row[]>;
  /** Whether they have arrived. */
  isWhole: boolean;
  /** Why they did not. */
  fault: Fault | null;
}

const NONE: Benchmarks = { byMonth: new Map(), isWhole: false, fault: null };

/** How often the page asks for benchmarks that the service still computes, the first time included. */
const MAX_TRIES = 30;

/**
 * Asks for the benchmarks of metrics in months; nothing if the question has no scope or no metric of benchmarks. While another
 * answer is on its way (not `isCurrent`), what has arrived stays, and nothing more is asked for.
 */
export function useBenchmarks(service: Service, scope: BenchmarkScope | null, metrics: string[], months: string[], isCurrent: boolean): Benchmarks {
  const [found, setFound] = useState<{ of: string; benchmarks: Benchmarks } | null>(null);
  const key = JSON.stringify([scope, metrics, months]);

  useEffect(() => {
    if (!scope || metrics.length === 0 || months.length === 0 || !isCurrent || (found?.of === key && found.benchmarks.isWhole)) return;
    const controller = new AbortController();
    const publish = (benchmarks: Benchmarks) => controller.signal.aborted || setFound({ of: key, benchmarks });
    patiently(service, scope, metrics, months, controller.signal).then(
      (byMonth) => publish({ byMonth, isWhole: true, fault: null }),
      (error: unknown) => publish({ ...NONE, fault: error instanceof Fault ? error : new Fault("unreadable", "") }),
    );
    return () => controller.abort();
  }, [service, key, isCurrent]);
  return found?.of === key ? found.benchmarks : NONE;
}

/** Asks again while the service computes the benchmarks. */
async function patiently(service: Service, scope: BenchmarkScope, metrics: string[], months: string[], signal: AbortSignal): Promise<Benchmarks["byMonth"]> {
  for (let tries = 1; months.length > 0; tries += 1) {
    try {
      const rows = await service.benchmarks(benchmarkPath(scope, metrics, months), signal);
      return new Map(months.map((month) => [month, rows.filter((row) => (row.month ?? month) === month)]));
    } catch (error) {
      // The newest month has begun in this time zone, and not yet for the service.
      if (error instanceof Fault && error.code === "future-month") return patiently(service, scope, metrics, months.slice(0, -1), signal);
      if (!(error instanceof Fault) || error.kind !== "busy" || tries === MAX_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfter ?? 2) * 1_000));
      if (signal.aborted) throw error;
    }
  }
  return new Map();
}
