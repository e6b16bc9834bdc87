import assert from "node:assert/strict";
import { test } from "node:test";
import { searchFields } from "../../src/dictionary";
import { INDEX } from "./sample";

test("fields are found by what people call them", () => {
  const names = (typed: string) => searchFields(INDEX.dictionary.all("metric"), typed).map(({ name }) => name);
  assert.equal(names("cost per lead")[0], "avgCostPerLead");
  assert.equal(names("CPL")[0], "avgCostPerLead");
  assert.equal(names("calls")[0], "conversions");
  assert.equal(names("bookrate")[0], "bookRate");
  assert.equal(names("management fee")[0], "spend");
  assert.deepEqual(names("leads"), ["leads", "soldLeads"]);
  assert.deepEqual(names("nothing of this kind"), []);
  assert.equal(searchFields(INDEX.dictionary.all("dimension"), "credited")[0]?.name, "attributionChannel");
});

test("a change is good or bad by the direction of its metric", () => {
  const { dictionary } = INDEX;
  assert.deepEqual([dictionary.judge("bookRate.change", 0.1), dictionary.judge("bookRate.change", -0.1)], ["good", "bad"]);
  assert.deepEqual([dictionary.judge("medianDaysLeadToSold.ratio", -0.1), dictionary.judge("bookRate.change", 0)], ["good", ""]);
  assert.deepEqual([dictionary.judge("spend.change", 5), dictionary.judge("bookRate.previous", 5), dictionary.judge("bookRate", 5)], ["", "", ""]);
});

test("the page asks for open leads by itself, and only about cohorts", () => {
  assert.ok(INDEX.dictionary.offers("medianDaysLeadToSold") && !INDEX.dictionary.offers("openLeads") && !INDEX.dictionary.offers("campaign"));
  assert.ok(!INDEX.dictionary.all("metric").some(({ name }) => name === "openLeads"));
  assert.equal(INDEX.dictionary.label("openLeads"), "Open Leads");
});
