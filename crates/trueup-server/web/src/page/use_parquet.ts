// Asks the service for the answer as a Parquet file, and saves the file.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { pathOf, type EventsRequest } from "../question";
import { Fault, PARQUET, type Service } from "../service";
import { saveFile } from "./save_file";

export type ParquetState = { phase: "idle" } | { phase: "asking" } | { phase: "fault"; fault: Fault; at: number };

export interface ParquetExport {
  state: ParquetState;
  save: () => void;
}

const IDLE: ParquetState = { phase: "idle" };

export function useParquet(service: Service, request: EventsRequest | null, name: string): ParquetExport {
  const [state, setState] = useState(IDLE);
  const running = useRef<AbortController | null>(null);
  const path = request && pathOf(request);

  // The file of an earlier question is not saved, and its fault not shown.
  useEffect(
    () => () => {
      running.current?.abort();
      setState(IDLE);
    },
    [service, path],
  );

  const save = useCallback(() => {
    if (!request) return;
    const controller = new AbortController();
    running.current?.abort();
    running.current = controller;
    setState({ phase: "asking" });
    service.parquet(request, controller.signal).then(
      (file) => {
        if (controller.signal.aborted) return;
        saveFile(name, PARQUET, file);
        setState(IDLE);
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setState({ phase: "fault", fault: error instanceof Fault ? error : new Fault("unreadable", ""), at: Date.now() });
      },
    );
  }, [service, path, name]);
  return { state, save };
}
