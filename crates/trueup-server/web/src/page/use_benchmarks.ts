// Asks for the benchmarks of the months of an answer.

import { useEffect, useState } from "preact/hooks";
import { benchmarkPath, type BenchmarkScope } from "../benchmarks";
import type { Row } from "../question";
import { Fault, type Service } from "../service";

export interface Benchmarks {
  /** The answers by month; one that is missing has not arrived, or is not asked for. */
  byMonth: Map<string, Row[]>;
  /** Whether every month has arrived. */
  isWhole: boolean;
  /** Why the other months did not arrive. */
  fault: Fault | null;
}

const NONE: Benchmarks = { byMonth: new Map(), isWhole: false, fault: null };

/** How often the page asks for the benchmarks of a month that the service still computes, the first time included. */
const MAX_TRIES = 30;

/**
 * Asks for the benchmarks of metrics in months, the newest first; nothing if the question has no scope or no metric of benchmarks.
 * While another answer is on its way (not `isCurrent`), what has arrived stays, and nothing more is asked for.
 */
export function useBenchmarks(service: Service, scope: BenchmarkScope | null, metrics: string[], months: string[], isCurrent: boolean): Benchmarks {
  const [found, setFound] = useState<{ of: string; benchmarks: Benchmarks } | null>(null);
  const key = JSON.stringify([scope, metrics, months]);

  useEffect(() => {
    if (!scope || metrics.length === 0 || !isCurrent || (found?.of === key && found.benchmarks.isWhole)) return;
    const controller = new AbortController();
    const byMonth: Benchmarks["byMonth"] = new Map();
    const publish = (isWhole: boolean, fault: Fault | null) => setFound({ of: key, benchmarks: { byMonth: new Map(byMonth), isWhole, fault } });
    const ask = async () => {
      for (const month of [...months].reverse()) {
        byMonth.set(month, await patiently(service, benchmarkPath(scope, metrics, month), controller.signal));
        if (controller.signal.aborted) return;
        publish(false, null);
      }
      publish(true, null);
    };
    ask().catch((error: unknown) => controller.signal.aborted || publish(false, error instanceof Fault ? error : new Fault("unreadable", "")));
    return () => controller.abort();
  }, [service, key, isCurrent]);
  return found?.of === key ? found.benchmarks : NONE;
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
