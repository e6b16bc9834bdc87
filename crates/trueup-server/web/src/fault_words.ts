// What the page says about a request without an answer: what happened, and what to do.

import type { Fault } from "./service";

export interface FaultWords {
  title: string;
  /** What to do about it. */
  advice: string;
  /** What helps, besides asking again. */
  offer: "interval" | "sign-in" | null;
  /** Whether the same question may be answered later. */
  retry: boolean;
}

export function wordsOf(fault: Fault): FaultWords {
  switch (fault.kind) {
    case "key":
      return words("The service does not accept your key any more", "It was rotated or deleted, or its user is inactive. Sign in with another key; your question stays.", "sign-in");
    case "forbidden":
      return words("You may not ask this", "Something between this page and the service refused the request. Ask the operator of the service.");
    case "inaccessible":
      return words("Your key does not reach this organization or account", "Choose an organization and accounts from the lists.");
    case "refused":
      return isTooLong(fault)
        ? words("These days need an interval", "The service computes one figure for at most 90 days. Divide the days into intervals, or choose fewer days.", "interval")
        : words("The service refused the question", "Change the question as the message says.");
    case "limit":
      return words("You have used up the requests of this hour", `Ask again in ${duration(fault.retryAfter ?? 3_600)}.`, null, true);
    case "busy":
      return words("The service is busy", `It has no room for this answer now. Ask again in ${duration(fault.retryAfter ?? 5)}.`, null, true);
    case "timeout":
      return words("The answer took too long", "Choose fewer days, dimensions or metrics, so that it takes less time.", null, true);
    case "service":
      return words("The service failed", `Try again later. If it fails again, tell the operator${fault.requestId ? ` the request id ${fault.requestId}` : ""}.`, null, true);
    case "network":
      return words("The service cannot be reached", "Check your connection, and whether the service still runs. Then ask again.", null, true);
    case "unreadable":
      return words("The answer cannot be read", "What arrived is no answer of the service. Ask again; if this happens again, tell the operator.", null, true);
  }
}

/** Returns a time in words. */
export function duration(seconds: number): string {
  if (seconds < 90) return seconds === 1 ? "1 second" : `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}

function words(title: string, advice: string, offer: FaultWords["offer"] = null, retry = false): FaultWords {
  return { title, advice, offer, retry };
}

/** The error about too many days is one of the three without a code. */
function isTooLong({ status, code, message }: Fault): boolean {
  return status === 400 && code === "" && message.includes("attribution window");
}
