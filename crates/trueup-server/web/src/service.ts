// Requests to the service that serves the page. The key is kept in this object alone.

import { readIndex, type Index } from "./dictionary";
import { pathOf, type EventsRequest } from "./question";

/** A row of an answer: texts of dimensions and days, numbers of metrics. */
export type Row = Record<string, string | number>;

export interface Answer {
  /** The columns in order, with `start` and `end` first if there is an interval. */
  columns: string[];
  rows: Row[];
  /** Names that neither the dictionary nor the data knows. */
  unknownFields: string[];
  milliseconds: number;
}

/** What kept an answer from arriving. */
export type FaultKind =
  | "key"
  | "forbidden"
  | "inaccessible"
  | "refused"
  | "limit"
  | "busy"
  | "timeout"
  | "service"
  | "network"
  | "unreadable";

/** A request without an answer. */
export class Fault extends Error {
  constructor(
    readonly kind: FaultKind,
    /** What the service said; empty if it said nothing. */
    message: string,
    readonly status = 0,
    readonly code = "",
    /** The seconds after which another try may succeed; `null` if the service names none. */
    readonly retryAfter: number | null = null,
    readonly requestId = "",
  ) {
    super(message);
  }
}

export class Service {
  readonly #key: string;
  readonly #base: string;

  constructor(key: string, base: string) {
    this.#key = key;
    this.#base = base;
  }

  async index(signal?: AbortSignal): Promise<Index> {
    const { body } = await this.#get("api", signal);
    const index = readIndex(body);
    if (!index) throw new Fault("unreadable", "");
    return index;
  }

  async events(request: EventsRequest, signal?: AbortSignal): Promise<Answer> {
    const began = performance.now();
    const { body, headers } = await this.#get(pathOf(request), signal);
    if (!Array.isArray(body)) throw new Fault("unreadable", "");
    return {
      columns: [...(request.interval === "total" ? [] : ["start", "end"]), ...request.fields],
      rows: body as Row[],
      unknownFields: namesOf(headers.get("trueup-unknown-fields") ?? ""),
      milliseconds: performance.now() - began,
    };
  }

  async #get(path: string, signal?: AbortSignal): Promise<{ body: unknown; headers: Headers }> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(new URL(path, this.#base), {
        headers: { Authorization: this.#key },
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal: signal ?? null,
      });
      text = await response.text();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Fault("network", "");
    }
    const body = parse(text);
    if (!response.ok) throw faultOf(response, body);
    if (body === undefined) throw new Fault("unreadable", "", response.status);
    return { body, headers: response.headers };
  }
}

/** Returns whether a key can be sent in a header at all. */
export function isSendable(key: string): boolean {
  return /^[\x21-\x7e]{1,512}$/.test(key);
}

/** Reads a list of names, in which other bytes than those of most names are percent-encoded. */
function namesOf(list: string): string[] {
  const names = list.split(",").map((name) => name.trim());
  return names.filter((name) => name !== "").map(decodeURIComponent);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function faultOf(response: Response, body: unknown): Fault {
  const { error = "", code = "" } = (typeof body === "object" && body !== null ? body : {}) as { error?: unknown; code?: unknown };
  const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return new Fault(
    kindOf(response.status),
    String(error),
    response.status,
    String(code),
    Number.isNaN(seconds) ? null : seconds,
    response.headers.get("x-request-id") ?? "",
  );
}

function kindOf(status: number): FaultKind {
  switch (status) {
    case 401:
      return "key";
    case 403:
      return "forbidden";
    case 404:
      return "inaccessible";
    case 429:
      return "limit";
    case 503:
      return "busy";
    case 504:
      return "timeout";
    default:
      return status >= 500 ? "service" : "refused";
  }
}
