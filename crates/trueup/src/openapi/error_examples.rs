//! Examples of the errors of the service, from `errors.json`: at least one for each code, and for each error without a
//! code, in the order in which a request is checked.

use crate::access::{OutOfReach, Refusal};
use crate::benchmarks::{BenchmarkDimension, BenchmarkFault, BenchmarkPeriod};
use crate::query::{ParseComparisonRangeError, UnknownInterval, WhyRowFault};
use crate::request::NotCompared;
use crate::service::{InvalidQuery, Limits, MissingRange, ServiceError, Upstream};
use crate::{ATTRIBUTION_WINDOW_DAYS, Day, Interruption, QueryError, filter};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// An error, and where it occurs. Its status, code and text come from the table of errors.
#[derive(Deserialize)]
pub(super) struct ErrorExample {
    /// The name of the example.
    pub(super) name: String,
    /// The error; the file has a name for it.
    #[serde(deserialize_with = "read_error")]
    pub(super) error: ServiceError,
    /// The operations that may answer with it; none if no operation does.
    pub(super) at: Vec<String>,
    /// When it occurs.
    pub(super) when: String,
    /// A header of the response: name, type of the value, and description.
    pub(super) header: Option<(String, String, String)>,
}

/// Returns every example.
pub(super) fn error_examples() -> Vec<ErrorExample> {
    // The tests read the document: one without errors is never published.
    serde_json::from_str(include_str!("errors.json")).unwrap_or_default()
}

fn read_error<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ServiceError, D::Error> {
    let name = String::deserialize(deserializer)?;
    error(&name).ok_or_else(|| D::Error::custom(format_args!("there is no error `{name}`")))
}

/// Returns the error that has this name in the file.
fn error(name: &str) -> Option<ServiceError> {
    let text = str::to_owned;
    let day = Day::from_number;
    let invalid_month = |text| BenchmarkPeriod::read(Some(text), day(20_119)).err().map(ServiceError::Benchmarks);
    let Limits { account_intervals, rows, documents, .. } = Limits::default();
    Some(match name {
        "method-not-allowed" => ServiceError::MethodNotAllowed(text("POST")),
        "not-found" => ServiceError::NotFound(text("/api/acme/reports")),
        "unauthorized" => ServiceError::Unauthorized(Refusal::Missing),
        "signed-out" => ServiceError::SignedOut(Refusal::Missing),
        "rate-limited" => ServiceError::RateLimited(2_700),
        "inaccessible-organization" => ServiceError::InaccessibleOrganization(text("elsewhere")),
        "inaccessible-accounts" => ServiceError::InaccessibleAccounts(OutOfReach { account: text("elsewhere") }),
        "missing-fields" => ServiceError::Query(QueryError::MissingFields),
        "missing-range" => ServiceError::MissingRange(MissingRange::Needed("start")),
        "unpaired-range" => ServiceError::MissingRange(MissingRange::Unpaired("end")),
        "missing-metric" => ServiceError::Query(QueryError::MissingMetric),
        "invalid-query" => {
            let (first, second) = (text("2025-01-01"), text("2025-02-01"));
            ServiceError::InvalidQuery(InvalidQuery::Repeated { parameter: "start", first, second })
        }
        "invalid-query-value" => {
            let fault = NotCompared::from(ParseComparisonRangeError(text("last"))).to_string();
            ServiceError::InvalidQuery(InvalidQuery::Value { parameter: "compare", fault })
        }
        "invalid-query-encoding" => ServiceError::InvalidQuery(InvalidQuery::NotUtf8(text("campaign=%FF"))),
        "invalid-fields" => ServiceError::Query(QueryError::ReservedField { name: text("start") }),
        "unknown-interval" => ServiceError::UnknownInterval(UnknownInterval(text("year"))),
        "invalid-date" => ServiceError::InvalidDate { parameter: "start", text: text("01/31/2025") },
        "date-out-of-range" => ServiceError::DateOutOfRange { parameter: "start", text: text("1969-12-31") },
        "invalid-range" => ServiceError::Query(QueryError::ReversedRange { start: day(20_120), end: day(20_089) }),
        "invalid-filter" => {
            ServiceError::InvalidFilter(filter::from_parameter("campaign", r#"["or", ["near", "drain"]]"#).err()?)
        }
        "invalid-month" => invalid_month("January")?,
        "future-month" => invalid_month("2025-02")?,
        "missing-benchmark-metric" => ServiceError::Benchmarks(BenchmarkFault::MissingMetric),
        "not-benchmarkable" => ServiceError::Benchmarks(BenchmarkFault::Field { name: text("leads") }),
        "not-benchmarkable-filter" => ServiceError::BenchmarkExpression {
            dimension: BenchmarkDimension::CustomerStatus,
            expression: text(r#"["ne", "New Customer"]"#),
        },
        "attribution-window" => {
            let limit = ATTRIBUTION_WINDOW_DAYS;
            ServiceError::Query(QueryError::SpanTooLong { days: limit + 1, limit })
        }
        "too-many-intervals" => {
            ServiceError::TooManyIntervals { accounts: 100, sub_ranges: 365, limit: account_intervals }
        }
        "too-many-rows" => ServiceError::Query(QueryError::TooManyRows { limit: rows }),
        "too-much-memory" => ServiceError::TooMuchMemory(1 << 30),
        "too-many-documents" => ServiceError::TooManyDocuments { matched: documents + 50, limit: documents },
        "invalid-row" => {
            let row = text("campaign = `Boilers`, days from 2025-01-01 to 2025-03-31");
            ServiceError::Query(WhyRowFault::NoSuchRow { row }.into())
        }
        "upstream-failed" => ServiceError::Upstream(Upstream::Write(std::io::ErrorKind::Other.into())),
        "overloaded" => ServiceError::Overloaded(5),
        "benchmarks-gathering" => ServiceError::BenchmarksGathering(2),
        "timeout" => ServiceError::Timeout(Interruption::Deadline),
        _ => return None,
    })
}
