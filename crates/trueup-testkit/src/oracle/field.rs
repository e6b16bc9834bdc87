//! Sections 4 and 6: the names that mean something of their own.

use super::metric::METRICS;

/// Section 4: the computed fields, which no stored column can replace.
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

/// API: "A name that is a known metric is computed. Any other name is treated as a dimension".
pub(super) fn is_metric(name: &str) -> bool {
    METRICS.contains(&name)
}

/// Whether a further column of the event table is kept: not if its name is computed or a metric.
pub(super) fn is_stored(name: &str) -> bool {
    !COMPUTED_FIELDS.contains(&name) && !is_metric(name)
}
