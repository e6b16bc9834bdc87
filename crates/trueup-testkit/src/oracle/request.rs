//! Sections 3, 4, 6, 7, 12, 16 and the API: a request, the reasons to refuse one, the sub-ranges of its days, and the
//! names of the fields that the semantics define.

use std::fmt;

use chrono::{Datelike, NaiveDate};

use super::duration;
use super::values::monday;

/// One query for events metrics.
///
/// For example, `leads` by `campaign` in January 2025 by month, of all accounts, with the filter `campaign=["ne",""]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The dimensions and metrics, in the order of the keys of the result. Duplicates are dropped.
    pub fields: Vec<String>,
    /// The first day, included.
    pub start: NaiveDate,
    /// The last day, included.
    pub end: NaiveDate,
    /// `total`, `month`, `week` or `day`.
    pub interval: String,
    /// The accounts in scope; `None` means all.
    pub accounts: Option<Vec<String>>,
    /// The decoded `<field>=<value>` pairs of the query string. A repeated field means either value.
    pub filters: Vec<(String, String)>,
    /// The values of the parameter `filter`, as JSON texts. A repeated parameter means either value.
    pub filter: Vec<String>,
    /// The window of `cohort` mode; `None` outside it.
    pub cohort: Option<Window>,
    /// The event from which attribution dimensions are taken.
    pub attribution: Attribution,
}

/// Section 16: "from which event the attribution dimensions of a row are taken".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribution {
    /// "the row's own event"
    Recorded,
    /// "the customer's first conversion of all"
    First,
    /// "the customer's last conversion at or before the row, in the customer's order; the first one, if there is none
    /// before"
    Last,
}

/// Section 12: "a window `within`: a number of days W >= 0, or `all`".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The first day and this many days after it.
    Days(u32),
    /// The whole history.
    All,
}

/// The reason why a request is refused. Tests of the engine compare the variant only; the texts are for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `invalid-filter` (section 8).
    InvalidFilter(String),
    /// `missing-metric`: no field is a metric.
    MissingMetric,
    /// `invalid-fields`: a field named `start` or `end` (section 9).
    InvalidFields(String),
    /// `unknown-interval`: not one of the four intervals of section 3.
    UnknownInterval(String),
    /// `invalid-range`: `end` before `start`.
    InvalidRange,
    /// Section 12: "Outside cohort mode it is an error."
    OpenLeadsOutsideCohorts,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidFilter(why) => write!(formatter, "invalid filter: {why}"),
            Self::MissingMetric => formatter.write_str("expected at least one metric among the fields"),
            Self::InvalidFields(field) => write!(formatter, "expected no field named `{field}`"),
            Self::UnknownInterval(interval) => {
                write!(formatter, "expected total, month, week or day as interval, but found `{interval}`")
            }
            Self::InvalidRange => formatter.write_str("expected an end that is not before the start"),
            Self::OpenLeadsOutsideCohorts => write!(formatter, "expected cohort mode for `{OPEN_LEADS}`"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Returns the sub-ranges of a range, each as its first and last day. Section 3: "`interval` cuts the range into
/// sub-ranges: `total` one, `month` calendar months, `week` weeks from Monday to Sunday, `day` days; the first and last
/// are clipped to the range." Computed by walking over every day of the range.
pub(super) fn sub_ranges(
    start: NaiveDate,
    end: NaiveDate,
    interval: &str,
) -> Result<Vec<(NaiveDate, NaiveDate)>, Refusal> {
    let same: fn(NaiveDate, NaiveDate) -> bool = match interval {
        "total" => |_, _| true,
        "month" => |a, b| (a.year(), a.month()) == (b.year(), b.month()),
        "week" => |a, b| monday(a) == monday(b),
        "day" => |a, b| a == b,
        unknown => return Err(Refusal::UnknownInterval(unknown.to_owned())),
    };
    if end < start {
        return Err(Refusal::InvalidRange);
    }
    let mut sub_ranges: Vec<(NaiveDate, NaiveDate)> = Vec::new();
    for day in start.iter_days().take_while(|day| *day <= end) {
        match sub_ranges.last_mut() {
            Some((first, last)) if same(*first, day) => *last = day,
            _ => sub_ranges.push((day, day)),
        }
    }
    Ok(sub_ranges)
}

/// Sections 4 and 7: the computed fields. A further column of the event table with such a name is ignored.
pub const COMPUTED_FIELDS: [&str; 16] = [
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
    "currency",
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
    METRICS.contains(&name) || name == OPEN_LEADS || duration::pair_of(name).is_some()
}

/// Returns whether a further column of the event table is kept: its name is neither computed nor a metric.
pub(super) fn is_stored(name: &str) -> bool {
    !COMPUTED_FIELDS.contains(&name) && !is_metric(name)
}

/// Section 12: the metric of cohort mode.
pub const OPEN_LEADS: &str = "openLeads";

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
