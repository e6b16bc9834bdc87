import assert from "node:assert/strict";
import { test } from "node:test";
import { searchFields } from "../../src/dictionary";
import { formatValue } from "../../src/format";
import { columnChoice } from "../../src/page/field_choices";
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

test("the columns of a comparison have labels, and a change has a sign", () => {
  const { dictionary } = INDEX;
  assert.equal(dictionary.label("spend.previous"), "Spend: before");
  // Names that every object of JavaScript has.
  assert.deepEqual([dictionary.label("constructor"), dictionary.isMetric("leads.constructor")], ["constructor", false]);
  assert.ok(dictionary.isMetric("leads.ratio") && !dictionary.isMetric("campaign.previous") && !dictionary.isMetric("leads.x"));
  const shown = (name: string, value: number | null) => formatValue(value, dictionary.get(name)?.format ?? "");
  assert.equal(shown("spend.change", 1200), "+1,200.00");
  assert.equal(shown("leads.ratio", -0.125), "-12.5%");
  assert.equal(shown("bookRate.change", 0.031), "+3.1 pp");
  assert.equal(shown("leads.change", 0), "0");
  assert.equal(shown("bookRate.mixEffect", -0.00001), "0.0 pp");
  assert.equal(shown("leads.ratio", null), "–");
});

test("a column of any name is a dimension, and a metric is none", () => {
  assert.equal(columnChoice("own column", INDEX.dictionary)?.value, "own column");
  for (const typed of ["leads", "openLeads", "leads.previous", "start", "a,b"]) assert.equal(columnChoice(typed, INDEX.dictionary), null, typed);
});

test("a change is good or bad by the direction of its metric", () => {
  const { dictionary } = INDEX;
  assert.deepEqual([dictionary.judge("bookRate.change", 0.1), dictionary.judge("bookRate.change", -0.1)], ["good", "bad"]);
  assert.deepEqual([dictionary.judge("medianDaysLeadToSold.ratio", -0.1), dictionary.judge("bookRate.change", 0)], ["good", ""]);
  // What is shown as 0.0 pp is no change.
  assert.deepEqual([dictionary.judge("bookRate.change", 0.0004), dictionary.judge("bookRate.change", -0.0004), dictionary.judge("bookRate.change", 0.0006)], ["", "", "good"]);
  assert.deepEqual([dictionary.judge("spend.change", 5), dictionary.judge("bookRate.previous", 5), dictionary.judge("bookRate", 5)], ["", "", ""]);
});

test("open leads are not offered, but have a label", () => {
  assert.ok(INDEX.dictionary.offers("medianDaysLeadToSold") && !INDEX.dictionary.offers("openLeads") && !INDEX.dictionary.offers("campaign"));
  assert.ok(!INDEX.dictionary.all("metric").some(({ name }) => name === "openLeads"));
  assert.equal(INDEX.dictionary.label("openLeads"), "Open Leads");
});

test("a formula is in words", () => {
  const { dictionary } = INDEX;
  assert.equal(dictionary.formulaInWords("closedRevenue / (adSpend + managementFee)"), "Closed Revenue / Spend");
  assert.equal(dictionary.formulaInWords("adSpend + managementFee"), "Ad Spend + Management Fee");
  assert.equal(dictionary.formulaInWords("(closedRevenue - spend) / leads"), "(Closed Revenue - Spend) / Leads");
  assert.equal(dictionary.formulaInWords("firstBookedEstimated / firstBooked"), "First Booked Estimated / First Booked");
});
