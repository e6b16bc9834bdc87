// Asks the service whenever the question changes, and says how far the request has come.

import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Dictionary } from "../dictionary";
import { volumesOf, type Volumes } from "../chart";
import { earlierRequest, rowsRequest, totalsRequest, type DatedQuestion, type Row } from "../question";
import { Fault, type Answer, type Service } from "../service";

/** Milliseconds between a change and the request to the service, because more changes may follow. */
const PAUSE = 120;

/** An answer with the question that it belongs to. */
export interface Answered {
  question: DatedQuestion;
  answer: Answer;
  totals: Row | null;
  volumes: Volumes;
  /** The rows of the earlier days, if the answer has an interval and is compared. */
  earlier: Row[] | null;
}

export type State =
  | { phase: "incomplete" }
  | { phase: "asking"; since: number }
  | { phase: "answered" }
  | { phase: "fault"; fault: Fault; at: number }
  | { phase: "canceled" };

export interface Asked {
  state: State;
  /**
   * The last answer; while another is being asked for, and after a fault or `cancel`, it is that of an earlier question. `null`
   * before the first, while the question is incomplete, and once the key is refused.
   */
  answered: Answered | null;
  cancel: () => void;
  askAgain: () => void;
}

export function useAnswer(service: Service, question: DatedQuestion, dictionary: Dictionary): Asked {
  const [state, setState] = useState<State>({ phase: "asking", since: Date.now() });
  const [answered, setAnswered] = useState<Answered | null>(null);
  const [attempt, setAttempt] = useState(0);
  const running = useRef<AbortController | null>(null);

  const rows = rowsRequest(question, dictionary);
  const totals = totalsRequest(question, dictionary);
  const earlier = earlierRequest(question, dictionary);
  // The order of the rows and the metric of the chart are not part of a request.
  const requests = JSON.stringify([rows, totals, earlier]);

  // Before the page is painted, so that an answer that is already there is in the first picture.
  useLayoutEffect(() => {
    if (!rows) {
      setAnswered(null);
      setState({ phase: "incomplete" });
      return;
    }
    const controller = new AbortController();
    running.current = controller;
    setState({ phase: "asking", since: Date.now() });
    const ask = async () => {
      const totalsAnswer = totals && service.events(totals, controller.signal);
      const earlierAnswer = earlier && service.events(earlier, controller.signal);
      // A fault of these is thrown where they are awaited; if the rows fail first, only their fault is reported.
      for (const other of [totalsAnswer, earlierAnswer]) other?.catch(() => undefined);
      const answer = await service.events(rows, controller.signal);
      const row = (await totalsAnswer)?.rows[0] ?? null;
      const before = (await earlierAnswer)?.rows ?? null;
      const volumes = volumesOf(question, answer.rows, dictionary);
      const more = volumes.length > 0 ? await askForVolumes(volumes) : null;
      if (controller.signal.aborted) return;
      setAnswered({ question, answer, totals: row, volumes: more, earlier: before });
      setState({ phase: "answered" });
    };
    // Without them the lines are still right, only not the best choice.
    const askForVolumes = (volumes: string[]) =>
      service.events({ ...rows, fields: [...question.dimensions, ...volumes], targets: false }, controller.signal).then(
        (answer) => answer.rows,
        () => null,
      );
    const failed = (error: unknown) => {
      if (controller.signal.aborted) return;
      controller.abort();
      const fault = error instanceof Fault ? error : new Fault("unreadable", "");
      // Numbers that the key no longer reaches do not stay on the screen.
      if (fault.kind === "key") setAnswered(null);
      setState({ phase: "fault", fault, at: Date.now() });
    };
    const timer = setTimeout(() => ask().catch(failed), answered ? PAUSE : 0);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [service, requests, attempt]);

  const cancel = useCallback(() => {
    running.current?.abort();
    setState({ phase: "canceled" });
  }, []);
  const askAgain = useCallback(() => setAttempt((number) => number + 1), []);
  return { state, answered, cancel, askAgain };
}
