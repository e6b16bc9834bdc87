// A small dictionary and a question, for the tests.

import { readIndex, type Index } from "../../src/dictionary";
import type { Question } from "../../src/question";

const metric = (displayName: string, format: string, definition = "") => ({ displayName, definition, type: "metric", format });
const dimension = (displayName: string, definition = "") => ({ displayName, definition, type: "dimension", format: "text" });

export const INDEX = readIndex({
  user: "anna@example.com",
  organizations: [{ organization: "group", accounts: ["a", "b"] }],
  endpoints: [],
  dictionary: {
    leads: metric("Leads", "number", "Customers whose first event is a conversion."),
    medianDaysLeadToSold: { ...metric("Median Days Lead to Sold", "decimal", "The median of the days."), direction: "lower" },
    openLeads: metric("Open Leads", "number"),
    soldLeads: metric("Sold Leads", "number"),
    customers: metric("Customers", "number"),
    conversions: metric("Conversions", "number"),
    spend: metric("Spend", "currency", "Ad spend and management fees."),
    avgCostPerLead: metric("Average Cost per Lead", "currency"),
    bookRate: { ...metric("Book Rate", "percent"), direction: "higher", benchmarkable: true },
    total: metric("Total", "currency"),
    campaign: dimension("Campaign"),
    account: dimension("Account"),
    attributionChannel: { ...dimension("Attribution Channel", "The channel that is credited."), benchmarkDimension: true },
    type: { ...dimension("Event Type"), "possible values": ["booked", "sold"] },
  },
}) as Index;

export const QUESTION: Question = {
  organization: "group",
  accounts: [],
  dimensions: ["campaign"],
  metrics: ["leads", "spend"],
  days: { start: "2026-06-01", end: "2026-06-30" },
  interval: "total",
  conditions: [],
  within: null,
  attribution: "recorded",
  compare: null,
  sort: null,
  charted: null,
  benchmarks: false,
};

export const TODAY = "2026-11-23";
