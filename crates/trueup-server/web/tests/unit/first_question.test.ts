import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { firstQuestion, monthsWithData } from "../../src/first_question";
import { Service } from "../../src/service";
import { INDEX, TODAY } from "./sample";

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

const service = new Service("tu_1", "https://host/base/");

test("the page begins with the newest month that has events", async () => {
  const months = [["2026-04", 30, 5], ["2026-05", 31, 7], ["2026-06", 30, 0]].map(([month, last, eventCount]) => ({ start: `${month}-01`, end: `${month}-${last}`, eventCount }));
  globalThis.fetch = async () => Response.json(months);
  assert.deepEqual((await firstQuestion(service, INDEX, TODAY))?.days, { start: "2026-05-01", end: "2026-05-31" });
});

test("where the service does not say which months have events, the page begins with the last days", async () => {
  const faults = [async () => Promise.reject(new TypeError("failed")), async () => new Response("{}", { status: 503 }), async () => new Response("{}", { status: 400 })];
  for (const fault of faults) {
    globalThis.fetch = fault;
    assert.deepEqual(await monthsWithData(service, "group", [], TODAY), []);
    assert.deepEqual((await firstQuestion(service, INDEX, TODAY))?.days, { name: "30d" });
  }
});
