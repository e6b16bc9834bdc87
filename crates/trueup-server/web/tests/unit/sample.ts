// A small dictionary and a question, for the tests.

import { readIndex, type Index } from "../../src/dictionary";
import type { DatedQuestion } from "../../src/question";

const metric = (displayName: string, format: string, definition = "") => ({ displayName, definition, type: "metric", format });
const dimension = (displayName: string, definition = "") => ({ displayName, definition, type: "dimension", format: "text" });

export const INDEX = readIndex({
  user: "anna@example.com",
  organizations: [{ organization: "group", accounts: ["a", "b"] }],
  endpoints: [],
  dictionary: {
    leads: { ...metric("Leads", "number", "Customers whose first event is a conversion."), formula: "leads", direction: "higher", hasTargets: true },
    medianDaysLeadToSold: { ...metric("Median Days Lead to Sold", "decimal", "The median of the days."), direction: "lower", formula: "50th percentile of daysLeadToSold" },
    openLeads: metric("Open Leads", "number"),
    soldLeads: metric("Sold Leads", "number"),
    customers: { ...metric("Customers", "number"), formula: "customers" },
    eventCount: { ...metric("Events", "number"), formula: "rows" },
    conversions: metric("Conversions", "number"),
    spend: { ...metric("Spend", "currency", "Ad spend and management fees."), formula: "adSpend + managementFee", usesSpend: true },
    avgCostPerLead: { ...metric("Average Cost per Lead", "currency"), formula: "(adSpend + managementFee) / leads", usesSpend: true },
    closedRevenue: { ...metric("Closed Revenue", "currency"), formula: "closedRevenue", direction: "higher" },
    roasClosed: { ...metric("Closed Return on Ad Spend", "decimal"), formula: "closedRevenue / (adSpend + managementFee)", usesSpend: true },
    stepEstimateRate: { ...metric("Booked to Estimated Rate", "percent"), formula: "firstBookedEstimated / firstBooked" },
    bookRate: { ...metric("Book Rate", "percent"), direction: "higher", benchmarkable: true, formula: "bookedCustomers / customers" },
    total: metric("Total", "currency"),
    campaign: { ...dimension("Campaign"), splitsSpend: true },
    account: { ...dimension("Account"), splitsSpend: true },
    attributionChannel: { ...dimension("Attribution Channel", "The channel that is credited."), benchmarkDimension: true, splitsSpend: true },
    opportunityId: dimension("Customer"),
    type: { ...dimension("Event Type"), "possible values": ["booked", "sold"] },
  },
}) as Index;

export const QUESTION: DatedQuestion = {
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
  targets: false,
  pivot: false,
};

export const TODAY = "2026-11-23";

/** Data that end today. */
export const NOW = { today: TODAY, newest: TODAY };
