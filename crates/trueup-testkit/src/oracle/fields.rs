//! Sections 4, 6 and 7: the names of computed fields, lead-grading fields and metrics.

/// Section 4: the computed fields. A stored column with such a name is ignored.
pub const COMPUTED_FIELDS: [&str; 15] = [
    "adjustedType",
    "typeIsLast",
    "opportunityStartDate",
    "firstBooked",
    "firstEstimated",
    "firstSold",
    "firstClosed",
    "firstCanceled",
    "opportunityBooked",
    "date",
    "week",
    "month",
    "dateTime",
    "accountKey",
    "accountName",
];

/// Section 6: the fields that read as `""` for an account whose `leadGrading` is false.
pub const GRADING_FIELDS: [&str; 21] = [
    "conversionDetailedLabel",
    "conversionIntent",
    "conversionReasonUnbookable",
    "conversionReasonLost",
    "conversionOutOfServiceAreaZip",
    "conversionNotOfferedServiceRequested",
    "conversionNeedsManagementReview",
    "conversionPlannedFollowUpSubcategory",
    "conversionVersion",
    "conversionOriginalDetailedLabel",
    "conversionOriginalIntent",
    "conversionOriginalReasonUnbookable",
    "conversionOriginalReasonLost",
    "opportunityDetailedLabel",
    "opportunityReasonUnbookable",
    "opportunityReasonLost",
    "opportunityIntent",
    "conversionTranscript",
    "conversionCallOrChatSummary",
    "recordingPlayer",
    "opportunityTranscript",
];

/// Returns whether a field is a metric. API: "A name that is a known metric is computed. Any other name is treated as a
/// dimension".
pub(super) fn is_metric(name: &str) -> bool {
    METRICS.contains(&name)
}

/// Returns whether a further column of the event table is kept: its name is neither computed nor a metric.
pub(super) fn is_stored(name: &str) -> bool {
    !COMPUTED_FIELDS.contains(&name) && !is_metric(name)
}

/// All metrics of sections 6 and 7, in order.
pub const METRICS: [&str; 47] = [
    "eventCount",
    "conversions",
    "leads",
    "soldLeads",
    "closedLeads",
    "opportunityCount",
    "total",
    "customers",
    "matchedCustomers",
    "unmatchedCustomers",
    "payingCustomers",
    "bookedCustomers",
    "canceledCustomers",
    "opportunityAgents",
    "estimatedRevenue",
    "soldRevenue",
    "closedRevenue",
    "revenuePotential",
    "spend",
    "campaignSpend",
    "cost",
    "clicks",
    "impressions",
    "gradedConversions",
    "bookableConversions",
    "bookedConversions",
    "bookableUnbookedConversions",
    "unbookableConversions",
    "percentConversionsGraded",
    "conversionQuality",
    "avgConversionsPerLead",
    "avgCostPerConversion",
    "avgCostPerLead",
    "avgCostPerPayingCustomer",
    "avgCostPerBookedCustomer",
    "avgTicket",
    "bookRate",
    "matchRate",
    "payingCustomerRate",
    "customerCancelRate",
    "cancelRate",
    "roasPotential",
    "roasClosed",
    "stepBookRate",
    "stepEstimateRate",
    "stepSoldRate",
    "stepCloseRate",
];
