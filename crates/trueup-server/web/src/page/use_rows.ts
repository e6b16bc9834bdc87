// Asks for rows that stand next to the numbers of an answer.

import { useEffect, useState } from "preact/hooks";
import type { EventsRequest, Row } from "../question";
import type { Service } from "../service";

/** An answer without them is whole, so a fault shows none. */
export function useRows(service: Service, request: EventsRequest | null): Row[] | null {
  const [found, setFound] = useState<{ rows: Row[]; of: string } | null>(null);
  const key = JSON.stringify(request);
  useEffect(() => {
    if (!request) return;
    const controller = new AbortController();
    service.events(request, controller.signal).then(
      ({ rows }) => setFound({ rows, of: key }),
      () => undefined,
    );
    return () => controller.abort();
  }, [service, key]);
  return found?.of === key ? found.rows : null;
}
