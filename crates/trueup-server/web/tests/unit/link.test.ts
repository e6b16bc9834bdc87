import assert from "node:assert/strict";
import { test } from "node:test";
import { misfitOf } from "../../src/first_question";
import { readLink, writeLink } from "../../src/link";
import type { Earlier, Question } from "../../src/question";
import { INDEX, QUESTION } from "./sample";

const FULL: Question = {
  organization: "group & co",
  accounts: ["a", "b"],
  dimensions: ["campaign", "own column"],
  metrics: ["leads"],
  days: { name: "last-month" },
  interval: "week",
  conditions: [
    { field: "campaign", operator: "is", values: ["A, B", "#é[", ""] },
    { field: "zip", operator: "empty", values: [] },
  ],
  within: "90d",
  attribution: "first",
  compare: null,
  sort: { field: "own:column", descending: true },
  charted: "leads",
  benchmarks: true,
  targets: true,
  pivot: true,
};

test("a link holds the whole question", () => {
  const earlier: Earlier[] = ["previous-period", "previous-year", { start: "2025-06-01", end: "2025-06-30" }];
  const compared = earlier.flatMap((compare) => [{ ...QUESTION, compare }, { ...QUESTION, compare, interval: "month" as const }]);
  const long: Question = {
    ...QUESTION,
    accounts: Array.from({ length: 61 }, (_, number) => `account-${number}`),
    conditions: [
      { field: "campaign", operator: "is", values: ["x".repeat(2_000), "🔧"] },
      { field: "zip", operator: "is", values: Array.from({ length: 61 }, (_, number) => `zip ${number}`) },
    ],
  };
  for (const question of [QUESTION, FULL, { ...QUESTION, metrics: [] }, long, ...compared]) assert.deepEqual(readLink(writeLink(question)), { question });
});

test("without a link there is no question", () => {
  assert.equal(readLink(""), null);
  assert.equal(readLink("#"), null);
});

test("a link that was changed is refused with the place", () => {
  const sound = writeLink(QUESTION);
  const faulty: [string, RegExp][] = [
    ["#x", /a part “x”/],
    [`${sound}&benchmarks=no`, /benchmarks to be true, but found “no”/],
    [`${sound}&key=tu_1`, /a part “key”/],
    [`${sound}&__proto__=1`, /a part “__proto__”/],
    [`${sound}&interval=year`, /“year” is no interval/],
    [`${sound}&start=2026-06-02`, /“start” more than once/],
    [sound.replace("2026-06-30", "2026-06-31"), /end to be a day as YYYY-MM-DD, but found “2026-06-31”/],
    [sound.replace("2026-06-30", "2026-05-30"), /the end 2026-05-30 is before/],
    [sound.replace("end=2026-06-30", ""), /the link has no end/],
    [`${sound}&days=30d`, /both named days/],
    [`${sound}&where=x`, /filter “x” cannot be read/],
    [`${sound}&where=${encodeURIComponent('["campaign","toString","A"]')}`, /an operator that does not exist/],
    [`${sound}&where=${encodeURIComponent('["campaign","is",{"a":1}]')}`, /cannot be read/],
    [`${sound}&where=${encodeURIComponent('["campaign","matches","a","b"]')}`, /a wrong number of values/],
    [`${sound}&where=${encodeURIComponent(String.raw`["campaign","is","\ud83d"]`)}`, /has half of a character/],
    [`${sound}&where=${encodeURIComponent(String.raw`["\udd27","empty"]`)}`, /has half of a character/],
    [`${sound}&sort=leads`, /leads:desc/],
    [`${sound}&chart=%00`, /the chart to have no control character/],
    [sound.replace("organization=group", "organization="), /names no organization/],
    [`${sound}&attribution=linear`, /“linear” is no attribution; it is one of recorded, first, last/],
    [`${sound}&within=90`, /window such as 90d or all, but found “90”/],
    [`${sound}&compare=last`, /START..END, but found “last”/],
    [`${sound}&compare=2026-02-01..2026-02-30`, /“2026-02-30”/],
    [`#${"x".repeat(70_000)}`, /70000 characters/],
  ];
  for (const [link, message] of faulty) {
    const linked = readLink(link);
    assert.ok(linked && "fault" in linked, link);
    assert.match(linked.fault, message);
  }
});

test("a link can ask only for fields that fit", () => {
  assert.equal(misfitOf(FULL, INDEX.dictionary), null);
  assert.match(misfitOf({ ...QUESTION, metrics: ["campaign"] }, INDEX.dictionary) ?? "", /“campaign” is no metric/);
  const conditions = [{ field: "leads", operator: "atLeast" as const, values: ["many"] }];
  assert.match(misfitOf({ ...QUESTION, conditions }, INDEX.dictionary) ?? "", /filter on “leads”: expected a number such as 12.5, but found “many”/);
  assert.match(misfitOf({ ...QUESTION, dimensions: ["leads"] }, INDEX.dictionary) ?? "", /“leads” is no dimension/);
});
