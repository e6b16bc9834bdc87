import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { findExtent, firstQuestion, monthsWithData } from "../../src/first_question";
import { Service } from "../../src/service";
import { INDEX, NOW, TODAY } from "./sample";

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

const service = new Service("tu_1", "https://host/base/");

/** Answers like a service that has events on these days: of each month, and of each day of the newest one. */
function dataUpTo(newest: string, months: string[]) {
  globalThis.fetch = async (url) => {
    const { searchParams } = new URL(String(url));
    if (searchParams.get("interval") === "day") return Response.json([{ start: newest, end: newest, eventCount: 4 }, { start: "2026-07-31", end: "2026-07-31", eventCount: 0 }]);
    return Response.json(months.map((month) => ({ start: `${month}-01`, end: `${month}-30`, eventCount: 7 })));
  };
}

test("the page begins with the newest whole month that has events, compared with the one before", async () => {
  for (const [newest, today, start, end] of [
    // The data end with a month, or within one; a month is over once its last day is.
    ["2026-06-30", "2026-11-23", "2026-06-01", "2026-06-30"],
    ["2026-06-12", "2026-11-23", "2026-05-01", "2026-05-31"],
    ["2026-06-30", "2026-06-30", "2026-05-01", "2026-05-31"],
    ["2026-06-02", "2026-06-02", "2026-05-01", "2026-05-31"],
  ] as const) {
    dataUpTo(newest, ["2026-04", "2026-05", "2026-06"]);
    const question = firstQuestion(INDEX, await findExtent(service, "group", today));
    assert.deepEqual([question?.days, question?.compare], [{ start, end }, "previous-period"], newest);
  }
  // The first month of the data is not over.
  dataUpTo("2026-06-12", ["2026-06"]);
  assert.deepEqual(firstQuestion(INDEX, await findExtent(service, "group", TODAY))?.days, { start: "2026-06-01", end: "2026-06-12" });
});

test("where the service does not say which months have events, the page begins with the last days", async () => {
  const faults = [async () => Promise.reject(new TypeError("failed")), async () => new Response("{}", { status: 503 }), async () => new Response("{}", { status: 400 })];
  for (const fault of faults) {
    globalThis.fetch = fault;
    assert.deepEqual(await monthsWithData(service, "group", [], TODAY), []);
    const extent = await findExtent(service, "group", TODAY);
    assert.deepEqual([extent.now, firstQuestion(INDEX, extent)?.days], [NOW, { name: "30d" }]);
  }
});
