// A request without an answer, and what the user can do.

import { useEffect, useState } from "preact/hooks";
import type { Interval } from "../days";
import { duration, wordsOf } from "../fault_words";
import type { Question } from "../question";
import type { Fault } from "../service";

interface Props {
  fault: Fault;
  /** When it happened, in milliseconds of the clock. */
  at: number;
  askAgain: () => void;
  signOut: () => void;
  update: (part: Partial<Question>) => void;
}

const OFFERED: readonly [Interval, string][] = [
  ["month", "By month"],
  ["week", "By week"],
  ["day", "By day"],
];

export function FaultNotice({ fault, at, askAgain, signOut, update }: Props) {
  const { title, advice, offer, retry } = wordsOf(fault);
  const wait = useWait(at, fault.retryAfter ?? 0);
  return (
    <section class="notice bad" role="alert">
      <h2>{title}</h2>
      {fault.message && fault.kind !== "key" && <p class="said">{fault.message}</p>}
      <p>{advice}</p>
      <p class="buttons">
        {offer === "interval" &&
          OFFERED.map(([interval, label]) => (
            <button key={interval} type="button" onClick={() => update({ interval })}>
              {label}
            </button>
          ))}
        {offer === "sign-in" && (
          <button type="button" class="primary" onClick={signOut}>
            Sign in with another key
          </button>
        )}
        {retry && (
          <button type="button" onClick={askAgain} disabled={wait > 0}>
            Ask again{wait > 0 && <span aria-hidden="true"> in {duration(wait)}</span>}
          </button>
        )}
      </p>
    </section>
  );
}

/** Returns the seconds that are left until the service may be asked again. */
function useWait(at: number, seconds: number): number {
  const left = () => Math.max(0, Math.ceil((at + seconds * 1_000 - Date.now()) / 1_000));
  const [wait, setWait] = useState(left);
  useEffect(() => {
    setWait(left());
    const timer = setInterval(() => setWait(left()), 1_000);
    return () => clearInterval(timer);
  }, [at, seconds]);
  return wait;
}
