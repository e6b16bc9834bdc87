import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { rowsRequest } from "../../src/question";
import { Fault, Service, isSendable } from "../../src/service";
import { INDEX, QUESTION } from "./sample";

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

const request = rowsRequest(QUESTION, INDEX.dictionary)!;
const service = new Service("tu_1", "https://host/base/");

/** Answers the next requests, and returns what was sent. */
function answerWith(body: string, init: ResponseInit = {}): { url: string; init: RequestInit }[] {
  const sent: { url: string; init: RequestInit }[] = [];
  globalThis.fetch = (async (url: URL, options: RequestInit) => {
    sent.push({ url: String(url), init: options });
    return new Response(body, init);
  }) as typeof fetch;
  return sent;
}

async function faultOf(body: string, init: ResponseInit = {}): Promise<Fault> {
  answerWith(body, init);
  const error = await service.events(request).then(() => undefined, (error: unknown) => error);
  assert.ok(error instanceof Fault);
  return error;
}

test("the key travels in the header and nowhere else", async () => {
  const sent = answerWith("[]");
  await service.events(request);
  assert.equal(sent[0]?.url, "https://host/base/api/group/events?fields=campaign,leads,spend&start=2026-06-01&end=2026-06-30");
  const { headers, credentials, cache, redirect } = sent[0].init;
  // A ratio over nothing comes as null, and is shown as a dash.
  assert.deepEqual(headers, { Authorization: "tu_1", Accept: "application/json; over-nothing=null" });
  assert.deepEqual([credentials, cache, redirect], ["omit", "no-store", "error"]);
  assert.ok(!JSON.stringify(service).includes("tu_1"));
});

test("an answer has the columns of its question, and the names that nobody knows", async () => {
  answerWith('[{"start":"2026-06-01","end":"2026-06-30","campaign":"A","leads":1,"spend":0.5}]', {
    headers: { "Trueup-Unknown-Fields": "chanel, own%20column" },
  });
  const answer = await service.events({ ...request, interval: "month" });
  assert.deepEqual(answer.columns, ["start", "end", "campaign", "leads", "spend"]);
  assert.deepEqual(answer.unknownFields, ["chanel", "own column"]);
  assert.equal(answer.rows[0]?.spend, 0.5);
});

test("an answer with targets has their columns, and says why some are missing", async () => {
  answerWith('[{"start":"2026-06-01","end":"2026-06-30","campaign":"A","leads":1,"leads.target":null,"leads.pace":null,"spend":3}]', {
    headers: { "Trueup-Notes": "%60leads.target%60%20is%20null%2C%20because, more" },
  });
  const answer = await service.events({ ...request, interval: "month", targets: true });
  assert.deepEqual(answer.columns, ["start", "end", "campaign", "leads", "leads.target", "leads.pace", "spend"]);
  assert.deepEqual(answer.notes, ["`leads.target` is null, because", "more"]);
});

test("the columns of a comparison are in the order of the question, whatever their names", async () => {
  answerWith('[{"campaign":"A","2024":"x","leads":1,"leads.previous":2,"own.column":"y","spend":3,"spend.previous":4}]');
  const answer = await service.events({ ...request, fields: ["campaign", "2024", "leads", "own.column", "spend"], compare: "previous-year" });
  assert.deepEqual(answer.columns, ["campaign", "2024", "leads", "leads.previous", "own.column", "spend", "spend.previous"]);
});

test("each status is a kind of fault", async () => {
  const kinds: [number, string][] = [
    [400, "refused"],
    [401, "key"],
    [403, "forbidden"],
    [404, "inaccessible"],
    [429, "limit"],
    [500, "service"],
    [502, "service"],
    [503, "busy"],
    [504, "timeout"],
  ];
  for (const [status, kind] of kinds) {
    const fault = await faultOf('{"error":"words","code":"c"}', { status, headers: { "Retry-After": "7", "X-Request-Id": "r" } });
    assert.deepEqual([fault.kind, fault.message, fault.code, fault.retryAfter, fault.requestId], [kind, "words", "c", 7, "r"]);
  }
  const silent = await faultOf("<html>", { status: 502 });
  assert.deepEqual([silent.kind, silent.message, silent.retryAfter], ["service", "", null]);
});

test("what is no answer is not shown as one", async () => {
  assert.equal((await faultOf("<html>")).kind, "unreadable");
  assert.equal((await faultOf('{"rows":[]}')).kind, "unreadable");
  answerWith("{}");
  await assert.rejects(service.index(), (error: Fault) => error.kind === "unreadable");
});

test("a Parquet file is asked for by its type, with the key in the header, and has every byte", async () => {
  const sent = answerWith("PAR1 bytes PAR1");
  assert.equal(await (await service.parquet(request)).text(), "PAR1 bytes PAR1");
  assert.equal(sent[0]?.url, "https://host/base/api/group/events?fields=campaign,leads,spend&start=2026-06-01&end=2026-06-30");
  assert.deepEqual(sent[0].init.headers, { Authorization: "tu_1", Accept: "application/vnd.apache.parquet" });
});

test("what is no whole Parquet file is not saved as one", async () => {
  for (const body of ["[]", "", "PAR1 cut", "<html>PAR1", '{"rows":[]}']) {
    answerWith(body);
    await assert.rejects(service.parquet(request), (error: Fault) => error.kind === "unreadable", body);
  }
  answerWith('{"error":"words","code":"too-many-rows"}', { status: 400 });
  await assert.rejects(service.parquet(request), (error: Fault) => error.kind === "refused" && error.message === "words" && error.code === "too-many-rows");
});

test("without a network there is a fault, and after a cancellation there is none", async () => {
  globalThis.fetch = async () => Promise.reject(new TypeError("failed"));
  await assert.rejects(service.events(request), (error: Fault) => error.kind === "network");
  await assert.rejects(service.events(request, AbortSignal.abort()), TypeError);
});

test("only what fits into a header is a key", () => {
  assert.ok(isSendable("tu_Az09"));
  for (const key of ["", "a b", "a\nb", "schlüssel"]) assert.ok(!isSendable(key), key);
});
