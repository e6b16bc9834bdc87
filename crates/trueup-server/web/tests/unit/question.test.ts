import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition } from "../../src/condition";
import { expressionOf, faultOf, filterParameters } from "../../src/condition";
import { monthsRequest, pathOf, rowsRequest, settle, targetsRequest, totalsRequest, type Question } from "../../src/question";
import { INDEX, NOW, QUESTION } from "./sample";

const { dictionary } = INDEX;
const settled = (part: Partial<Question>) => settle({ ...QUESTION, ...part }, dictionary, NOW);
const path = (part: Partial<Question>) => pathOf(rowsRequest(settled(part).question, dictionary)!);
const filters = (...conditions: Condition[]) => filterParameters(conditions, (field) => dictionary.isMetric(field));

test("a question becomes the path of the service", () => {
  assert.equal(path({}), "api/group/events?fields=campaign,leads,spend&start=2026-06-01&end=2026-06-30");
  assert.equal(
    path({ organization: "a b/c", accounts: ["a", "b"], interval: "week", days: { name: "2026-02" } }),
    "api/a%20b%2Fc/events?fields=campaign,leads,spend&start=2026-02-01&end=2026-02-28&interval=week&accounts=a,b",
  );
});

test("a cohort asks for its open leads, and a comparison for its days", () => {
  assert.equal(path({ within: "90d" }), "api/group/events?fields=campaign,leads,spend,openLeads&start=2026-06-01&end=2026-06-30&cohort=true&within=90d");
  assert.equal(path({ compare: "previous-year" }), "api/group/events?fields=campaign,leads,spend&start=2026-06-01&end=2026-06-30&compare=previous-year");
  // A cohort has totals however many days it has.
  const totals = totalsRequest(settled({ within: "all", interval: "month", days: { name: "2025" } }).question, dictionary);
  assert.deepEqual([totals?.fields, totals?.within], [["leads", "spend", "openLeads"], "all"]);
});

test("an attribution other than the recorded one is a parameter, and a field of its name is none", () => {
  assert.equal(path({ attribution: "last" }), "api/group/events?fields=campaign,leads,spend&start=2026-06-01&end=2026-06-30&attribution=last");
  assert.deepEqual(filters({ field: "attribution", operator: "is", values: ["first"] }), [["filter", '{"attribution":["eq","first"]}']]);
});

test("nothing in a value ends its parameter", () => {
  const conditions: Condition[] = [{ field: "campaign", operator: "is", values: ["a&b=c+d #é%"] }];
  const query = new URL(path({ conditions }), "http://host/").searchParams;
  assert.equal(query.get("campaign"), "a&b=c+d #é%");
  assert.deepEqual([...query.keys()], ["fields", "start", "end", "campaign"]);
});

test("conditions become expressions of the filter language", () => {
  const expression = (operator: Condition["operator"], ...values: string[]) => expressionOf({ field: "f", operator, values }, false);
  assert.deepEqual(expression("is", "A"), ["eq", "A"]);
  assert.deepEqual(expression("is", "A", "B"), ["or", "A", "B"]);
  assert.deepEqual(expression("isNot", "A", "B"), ["not", ["or", "A", "B"]]);
  assert.deepEqual(expression("contains", "a.b["), ["regex", "a\\.b\\[", "i"]);
  assert.deepEqual(expression("contains", "a", "b"), ["or", ["regex", "a", "i"], ["regex", "b", "i"]]);
  assert.deepEqual(expression("atLeast", "12"), ["gte", 12]);
  assert.deepEqual(expression("below", "2026-01-01"), ["lt", "2026-01-01"]);
  assert.deepEqual(expression("empty"), ["empty"]);
  assert.deepEqual(expressionOf({ field: "leads", operator: "is", values: ["5", "6.5"] }, true), ["or", 5, 6.5]);
});

test("a value that the service would read as an expression is sent as one", () => {
  assert.deepEqual(filters({ field: "campaign", operator: "is", values: ["[Va] Drain"] }), [["campaign", '["eq","[Va] Drain"]']]);
  assert.deepEqual(filters({ field: "campaign", operator: "is", values: [""] }), [["campaign", '["eq",""]']]);
  assert.deepEqual(filters({ field: "campaign", operator: "is", values: ["Drain"] }), [["campaign", "Drain"]]);
  // The service reads no exponent in a text.
  assert.deepEqual(filters({ field: "leads", operator: "is", values: ["0.0000001"] }), [["leads", '["eq",1e-7]']]);
  assert.deepEqual(filters({ field: "leads", operator: "is", values: ["12.50"] }), [["leads", "12.5"]]);
});

test("all conditions of a field must hold", () => {
  const both = filters({ field: "leads", operator: "atLeast", values: ["5"] }, { field: "leads", operator: "below", values: ["9"] });
  assert.deepEqual(both, [["leads", '["and",["gte",5],["lt",9]]']]);
});

test("a field whose name is a parameter travels in filter", () => {
  const condition: Condition = { field: "account", operator: "isNot", values: ["a"] };
  assert.deepEqual(filters(condition), [["filter", '{"account":["ne","a"]}']]);
});

test("a condition that cannot be sent says why", () => {
  assert.equal(faultOf({ field: "leads", operator: "atLeast", values: ["5"] }, true), null);
  assert.match(faultOf({ field: "leads", operator: "atLeast", values: ["five"] }, true) ?? "", /number such as 12.5, but found “five”/);
  assert.match(faultOf({ field: "leads", operator: "matches", values: ["5"] }, true) ?? "", /does not apply/);
  assert.match(faultOf({ field: "campaign", operator: "is", values: [] }, false) ?? "", /choose or type/);
});

test("totals are one group over the whole range, whatever metrics are conditions", () => {
  const conditions: Condition[] = [
    { field: "leads", operator: "atLeast", values: ["5"] },
    { field: "total", operator: "above", values: ["100"] },
    { field: "campaign", operator: "is", values: ["A"] },
  ];
  const totals = totalsRequest({ ...QUESTION, interval: "week", conditions }, dictionary);
  assert.deepEqual(totals?.fields, ["leads", "spend"]);
  assert.equal(totals?.interval, "total");
  assert.deepEqual(totals?.filters, [["total", '["gt",100]'], ["campaign", "A"]]);
});

test("there are no totals of one row, nor of more days than the service computes as a whole", () => {
  assert.equal(totalsRequest({ ...QUESTION, dimensions: [] }, dictionary), null);
  assert.equal(totalsRequest(settled({ interval: "month", days: { name: "2025" } }).question, dictionary), null);
  assert.notEqual(totalsRequest({ ...QUESTION, dimensions: [], interval: "day" }, dictionary), null);
});

test("a question without a metric is not asked", () => {
  assert.equal(rowsRequest({ ...QUESTION, metrics: [] }, dictionary), null);
});

test("days that are too many for one figure are asked for by month, and a cohort as a whole", () => {
  for (const name of ["last-quarter", "last-year", "year-to-date"]) {
    const { question, isDivided } = settled({ days: { name }, compare: "previous-period" });
    assert.deepEqual([question.interval, question.compare, isDivided], ["month", "previous-period", true], name);
  }
  const { question, isDivided } = settled({ days: { name: "90d" }, compare: "previous-period" });
  assert.deepEqual([question.interval, question.compare, isDivided], ["total", "previous-period", false]);
  assert.equal(settled({ days: { name: "last-year" }, within: "90d" }).question.interval, "total");
  assert.equal(settled({ days: { name: "last-year" }, interval: "week" }).isDivided, false);
});

test("spend is not asked for by what it does not have", () => {
  const metrics = ["leads", "spend", "avgCostPerLead", "closedRevenue"];
  assert.deepEqual(settled({ dimensions: ["account", "campaign"], metrics }).leftOut, []);
  const { question, leftOut } = settled({ dimensions: ["account", "opportunityId"], metrics });
  assert.deepEqual([question.metrics, leftOut], [["leads", "closedRevenue"], ["spend", "avgCostPerLead"]]);
  assert.equal(rowsRequest(settled({ dimensions: ["own column"], metrics: ["spend"] }).question, dictionary), null);
});

test("targets are asked for where the service has them", () => {
  const whole = "api/group/events?fields=leads,spend&start=2026-06-01&end=2026-06-30&%24targets=true";
  const ofTiles = (part: Partial<Question>) => {
    const request = targetsRequest(settled(part).question, dictionary);
    return request && pathOf(request);
  };
  // Tiles have them next to any comparison; the table has them in place of one.
  assert.equal(ofTiles({ compare: "previous-year" }), whole);
  assert.ok(!path({ compare: "previous-year", targets: true }).includes("targets"));
  assert.equal(path({ targets: true }), whole.replace("fields=", "fields=campaign,"));
  assert.equal(pathOf(totalsRequest(settled({ targets: true }).question, dictionary)!), whole);
  assert.equal(ofTiles({ targets: true }), null, "the totals have them");
  for (const none of [{ within: "90d" }, { metrics: ["spend"] }]) {
    assert.equal(ofTiles(none), null);
    assert.ok(!path({ ...none, targets: true }).includes("targets"));
  }
  const months = monthsRequest(settled({ targets: true }).question, dictionary, 13)!;
  assert.ok(!pathOf(months).includes("targets"));
});

test("tiles have the year up to the month of the question", () => {
  const request = monthsRequest({ ...QUESTION, days: { start: "2026-06-01", end: "2026-06-12" }, compare: "previous-year" }, dictionary, 13)!;
  assert.equal(pathOf(request), "api/group/events?fields=leads,spend&start=2025-06-01&end=2026-06-12&interval=month");
});
