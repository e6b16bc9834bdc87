// Requests to the service that serves the page. The key is kept in this object alone.

import { readIndex, type Index } from "./dictionary";
import { metricOf, pathOf, type EventsRequest, type Row } from "./question";
import { readExplanation, type Explanation } from "./why";

export interface Answer {
  /** The columns in order, with `start` and `end` first if there is an interval. */
  columns: string[];
  rows: Row[];
  /** Names that neither the dictionary nor the data knows. */
  unknownFields: string[];
  /** Why targets are missing. */
  notes: string[];
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

/** What the rows of an answer are asked for as: a ratio over nothing is null, and not 0. */
const ROWS = "application/json; over-nothing=null";

/** The media type of Parquet files. */
export const PARQUET = "application/vnd.apache.parquet";
/** What a whole Parquet file begins and ends with. */
const PARQUET_MAGIC = "PAR1";

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

/** What a link that signs in gets in exchange for its token. */
export interface SignedIn {
  key: string;
  /** The token of the next exchange, with which the page survives a reload. */
  next: string;
}

export class Service {
  readonly #key: string;
  readonly #base: string;
  /** Answers that were asked for before they are needed, by path. */
  readonly #ahead = new Map<string, Promise<Answer>>();

  constructor(key: string, base: string) {
    this.#key = key;
    this.#base = base;
  }

  async index(signal?: AbortSignal): Promise<Index> {
    const { body } = await this.#get("api?dictionary=all", signal);
    const index = readIndex(body);
    if (!index) throw new Fault("unreadable", "");
    return index;
  }

  /** Asks before the answer is needed: the next call of `events` for the same request gets this answer. */
  askAhead(request: EventsRequest): void {
    const answer = this.events(request);
    // A fault is that of the call that takes the answer.
    answer.catch(() => undefined);
    this.#ahead.set(pathOf(request), answer);
  }

  async events(request: EventsRequest, signal?: AbortSignal): Promise<Answer> {
    const path = pathOf(request);
    const ahead = this.#ahead.get(path);
    this.#ahead.delete(path);
    if (ahead) return ahead;
    const began = performance.now();
    const { body, headers } = await this.#get(path, signal, ROWS);
    if (!Array.isArray(body)) throw new Fault("unreadable", "");
    const rows = body as Row[];
    return {
      columns: columnsOf(request, rows),
      rows,
      unknownFields: listOf(headers.get("trueup-unknown-fields") ?? ""),
      notes: listOf(headers.get("trueup-notes") ?? ""),
      milliseconds: performance.now() - began,
    };
  }

  /** Returns the rows of an answer as a Parquet file, in the order of the service. */
  async parquet(request: EventsRequest, signal?: AbortSignal): Promise<Blob> {
    const url = new URL(pathOf(request), this.#base);
    const { body } = await send("GET", url, { Authorization: this.#key, Accept: PARQUET }, readParquet, signal);
    return body;
  }

  /** Returns benchmarks. */
  async benchmarks(path: string, signal?: AbortSignal): Promise<Row[]> {
    const { body } = await this.#get(path, signal);
    if (!Array.isArray(body)) throw new Fault("unreadable", "");
    return body as Row[];
  }

  /** Returns what the number of one cell is made of. */
  async why(path: string, signal?: AbortSignal): Promise<Explanation> {
    const { body } = await this.#get(path, signal);
    const explanation = readExplanation(body);
    if (!explanation) throw new Fault("unreadable", "");
    return explanation;
  }

  async #get(path: string, signal?: AbortSignal, accept = "application/json"): Promise<{ body: unknown; headers: Headers }> {
    return send("GET", new URL(path, this.#base), { Authorization: this.#key, Accept: accept }, readJson, signal);
  }
}

/** Exchanges the token of a link for a key. Works once. */
export async function exchange(token: string, base: string): Promise<SignedIn> {
  const { body } = await send("POST", new URL("explore/key", base), { Authorization: token }, readJson);
  const { key, next } = (typeof body === "object" && body !== null ? body : {}) as Partial<SignedIn>;
  if (typeof key !== "string" || typeof next !== "string") throw new Fault("unreadable", "");
  return { key, next };
}

/** Sends a request. `read` reads the body of an answer; that of an error is always JSON. */
async function send<T>(
  method: string,
  url: URL,
  headers: Record<string, string>,
  read: (response: Response) => Promise<T>,
  signal?: AbortSignal,
): Promise<{ body: T; headers: Headers }> {
  try {
    const response = await fetch(url, {
      method,
      headers,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: signal ?? null,
    });
    if (!response.ok) throw faultOfResponse(response, parse(await response.text()));
    return { body: await read(response), headers: response.headers };
  } catch (error) {
    if (error instanceof Fault || signal?.aborted) throw error;
    throw new Fault("network", "");
  }
}

async function readJson(response: Response): Promise<unknown> {
  const body = parse(await response.text());
  if (body === undefined) throw new Fault("unreadable", "", response.status);
  return body;
}

/** Reads a Parquet file. What is none, such as the JSON of a service that ignores `Accept`, is never saved as one. */
async function readParquet(response: Response): Promise<Blob> {
  const file = await response.blob();
  const length = PARQUET_MAGIC.length;
  const ends = await Promise.all([file.slice(0, length).text(), file.slice(-length).text()]);
  if (ends.some((end) => end !== PARQUET_MAGIC)) throw new Fault("unreadable", "", response.status);
  return file;
}

/** Returns whether a key can be sent in a header at all. */
export function isSendable(key: string): boolean {
  return /^[\x21-\x7e]{1,512}$/.test(key);
}

/** Returns the columns of an answer. A comparison and targets have several for a metric, and only the service knows which. */
function columnsOf({ fields, interval, compare, targets }: EventsRequest, [first]: Row[]): string[] {
  if (!(compare || targets) || !first) return [...(interval === "total" ? [] : ["start", "end"]), ...fields];
  // JavaScript puts a name that is a whole number before all others.
  const place = (column: string) => fields.indexOf(fields.includes(column) ? column : metricOf(column));
  return Object.keys(first).sort((a, b) => place(a) - place(b));
}

/** Reads a header that lists texts: separated by commas, and percent-encoded. */
function listOf(list: string): string[] {
  const texts = list.split(",").map((text) => text.trim());
  return texts.filter((text) => text !== "").map(decodeURIComponent);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function faultOfResponse(response: Response, body: unknown): Fault {
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
