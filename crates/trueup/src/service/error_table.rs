//! The table of errors: the status, code and text of each [`ServiceError`].

use super::error::{InvalidQuery, MissingRange, ServiceError};
use super::error_text::ErrorText;
use crate::benchmarks::{BenchmarkDimension, BenchmarkFault};
use crate::dictionary::{FieldKind, fields};
use crate::query::{Interval, WhyRowFault};
use crate::{Day, QueryError};
use trueup_core::Shown;

/// A row of the table, for example `404`, `not-found`, `there is nothing at ...`.
pub(super) struct ErrorRow {
    pub(super) status: u16,
    /// `None` if the body of the response has a text only.
    pub(super) code: Option<&'static str>,
    pub(super) text: ErrorText,
}

impl ServiceError {
    /// Returns the HTTP status of the response.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.row().status
    }

    /// Returns the name by which programs recognize the error, for example `missing-range`.
    ///
    /// `None` for the errors whose response has a text only: [`QueryError::SpanTooLong`],
    /// [`TooManyDocuments`](Self::TooManyDocuments) and [`SignedOut`](Self::SignedOut).
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        self.row().code
    }

    /// Returns the row of the error.
    pub(super) fn row(&self) -> ErrorRow {
        let (status, code, text) = match self {
            Self::Query(QueryError::MissingFields) => (
                400,
                Some("missing-fields"),
                "`fields` is missing; name the dimensions and metrics wanted, separated by commas, for example \
                 fields=account,leads"
                    .to_owned(),
            ),
            Self::MissingRange(MissingRange::Needed(missing)) => (
                400,
                Some("missing-range"),
                format!("`{missing}` is missing; pass both `start` and `end`, each a date as YYYY-MM-DD"),
            ),
            Self::MissingRange(MissingRange::Unpaired(missing)) => (
                400,
                Some("missing-range"),
                format!(
                    "`{missing}` is missing; pass both `start` and `end`, or neither for the most recent insight of each \
                     account"
                ),
            ),
            Self::Query(QueryError::MissingMetric) => (
                400,
                Some("missing-metric"),
                format!("`fields` has no metric; add at least one of {}", metrics().collect::<Vec<_>>().join(", ")),
            ),
            Self::InvalidQuery(InvalidQuery::NotUtf8(parameter)) => (
                400,
                Some("invalid-query"),
                format!("the parameter `{}` is not UTF-8; encode its text as UTF-8", Shown(parameter)),
            ),
            Self::InvalidQuery(InvalidQuery::Repeated { parameter, first, second }) => (
                400,
                Some("invalid-query"),
                format!("`{parameter}` is given twice, as `{}` and as `{}`; give it once", Shown(first), Shown(second)),
            ),
            Self::InvalidQuery(InvalidQuery::Value { parameter, fault }) => {
                (400, Some("invalid-query"), format!("`{parameter}`: {fault}"))
            }
            Self::Query(QueryError::ReservedField { name }) => (
                400,
                Some("invalid-fields"),
                format!(
                    "a field cannot be named `{name}`: an answer names its sub-ranges by `start` and `end`; leave it out"
                ),
            ),
            Self::Query(QueryError::NotACohort { name }) => (
                400,
                Some("invalid-fields"),
                format!("only a cohort has `{name}`, which counts leads whose window is not over; leave it out"),
            ),
            Self::UnknownInterval(unknown) => (
                400,
                Some("unknown-interval"),
                format!("the interval `{}` is unknown; use one of {}", Shown(&unknown.0), intervals().join(", ")),
            ),
            Self::InvalidDate { parameter, text } => (
                400,
                Some("invalid-date"),
                format!("expected `{parameter}` to be a calendar date as YYYY-MM-DD, but found `{}`", Shown(text)),
            ),
            Self::DateOutOfRange { parameter, text } => (
                400,
                Some("invalid-date"),
                format!(
                    "expected `{parameter}` to be a date from {} to {}, but found `{}`",
                    Day::MIN,
                    Day::MAX,
                    Shown(text)
                ),
            ),
            Self::Query(QueryError::ReversedRange { start, end }) => (
                400,
                Some("invalid-range"),
                format!("the range ends on {end}, before it starts on {start}; exchange `start` and `end`"),
            ),
            Self::InvalidFilter(error) => (400, Some("invalid-filter"), error.to_string()),
            Self::Query(QueryError::Filter { field, fault }) => {
                (400, Some("invalid-filter"), format!("`{}`: {fault}", Shown(field)))
            }
            Self::Query(QueryError::Row(fault @ (WhyRowFault::NotAMetric { .. } | WhyRowFault::NotASum { .. }))) => {
                (400, Some("invalid-query"), format!("`why`: {fault}"))
            }
            Self::Query(QueryError::Row(fault)) => {
                (400, Some("invalid-row"), format!("`row`: {fault}; the answer without `why` has every row"))
            }
            Self::Query(QueryError::SpanTooLong { days, limit }) => (
                400,
                None,
                format!(
                    "Requested range spans {days} days, exceeding the {limit}-day attribution window. Pass \
                         interval=month|week|day to compute metrics per sub-range, or shorten the range."
                ),
            ),
            Self::TooManyIntervals { accounts, sub_ranges, limit } => (
                400,
                Some("too-many-intervals"),
                format!(
                    "too many accounts and intervals: {accounts} accounts x {sub_ranges} sub-ranges are {}, and the limit \
                     is {limit}; reduce the accounts or the range, or choose a longer interval",
                    accounts.saturating_mul(*sub_ranges)
                ),
            ),
            Self::Query(QueryError::TooManyRows { limit }) => (
                400,
                Some("too-many-rows"),
                format!(
                    "too many rows: the answer would have more than {limit}, which is the limit; reduce the dimensions, \
                     the accounts or the range, or choose a longer interval"
                ),
            ),
            Self::Query(fault) => (400, Some("invalid-query"), fault.to_string()),
            Self::TooManyCells { columns, rows, limit } => (
                400,
                Some("too-many-rows"),
                format!(
                    "too many rows: the answer would have more than {rows} of {columns} columns, and the limit is {limit} \
                     values; reduce the fields, the accounts or the range, or choose a longer interval"
                ),
            ),
            Self::TooMuchMemory(limit) => (
                400,
                Some("too-many-rows"),
                format!(
                    "too many rows: the query takes more than {limit} bytes of memory, and one may take no more; reduce the \
                     fields, the accounts or the range, or choose a longer interval"
                ),
            ),
            Self::TooManyDocuments { matched, limit } => (
                400,
                None,
                format!(
                    "{matched} insight documents match, exceeding the limit of {limit} per request. Ask for fewer \
                         accounts or a shorter period."
                ),
            ),
            Self::Benchmarks(fault) => (400, Some(benchmarks_code(fault)), fault.to_string()),
            Self::TooManyMonths { count, limit } => (
                400,
                Some("invalid-month"),
                format!(
                    "the request names {count} months, but a request for benchmarks may name at most {limit}; ask for fewer"
                ),
            ),
            Self::BenchmarkExpression { dimension, expression } => (
                400,
                Some("not-benchmarkable"),
                format!(
                    "benchmarks are filtered on one value of a dimension, but `{dimension}` was given the expression \
                     `{}`; give the value itself, of any of {}",
                    Shown(expression),
                    benchmark_dimensions().join(", ")
                ),
            ),
            Self::Unauthorized(_) => (
                401,
                Some("unauthorized"),
                "the API key is missing or not valid; send a user API key, alone, in the header Authorization"
                    .to_owned(),
            ),
            Self::SignedOut(_) => {
                (401, None, "Sign in or use an API key: send it, alone, in the header Authorization.".to_owned())
            }
            Self::InaccessibleOrganization(segment) => (
                404,
                Some("inaccessible-organization"),
                format!(
                    "`{}` is unknown or inaccessible; GET /api lists the organizations that can be asked for",
                    Shown(segment)
                ),
            ),
            Self::InaccessibleAccounts(out) => (
                404,
                Some("inaccessible-accounts"),
                format!(
                    "the account `{}` is unknown or inaccessible here; GET /api lists the accounts of each organization",
                    Shown(&out.account)
                ),
            ),
            Self::NotFound(path) => {
                (404, Some("not-found"), format!("there is nothing at `{}`; GET /api lists the endpoints", Shown(path)))
            }
            Self::MethodNotAllowed(method) => {
                (405, Some("method-not-allowed"), format!("the method `{}` is not allowed; use GET", Shown(method)))
            }
            Self::RateLimited(retry_after_seconds) => (
                429,
                Some("rate-limited"),
                format!(
                    "all requests that an hour allows are used; retry in {retry_after_seconds} seconds, when it has passed"
                ),
            ),
            Self::Upstream(_) => (
                502,
                Some("upstream-failed"),
                "an upstream data service failed or gave an unreadable response; retry later".to_owned(),
            ),
            Self::BenchmarksGathering(retry_after_seconds) => (
                503,
                Some("benchmarks-gathering"),
                format!(
                    "the benchmarks of this month are still being gathered; retry in {retry_after_seconds} seconds"
                ),
            ),
            Self::Overloaded(retry_after_seconds) => (
                503,
                Some("overloaded"),
                format!(
                    "the service holds as many queries and answers as it may; retry in {retry_after_seconds} seconds, and \
                     read answers as they come"
                ),
            ),
            Self::Timeout(_) => (
                504,
                Some("timeout"),
                "the request took too long; use a shorter date range, fewer dimensions or fewer metrics".to_owned(),
            ),
        };
        let text = if self.is_about_size() { ErrorText::about_size(text) } else { ErrorText::new(text) };
        ErrorRow { status, code, text }
    }

    /// Returns whether a smaller question would be answered, as the text then says in words by which clients
    /// [recognize](super::error_text::SIZE_WORDS) that.
    const fn is_about_size(&self) -> bool {
        matches!(
            self,
            Self::Query(QueryError::SpanTooLong { .. } | QueryError::TooManyRows { .. })
                | Self::TooManyIntervals { .. }
                | Self::TooManyCells { .. }
                | Self::TooMuchMemory(_)
                | Self::TooManyDocuments { .. }
        )
    }
}

const fn benchmarks_code(fault: &BenchmarkFault) -> &'static str {
    match fault {
        BenchmarkFault::MissingMetric => "missing-metric",
        BenchmarkFault::InvalidMonth { .. } => "invalid-month",
        BenchmarkFault::FutureMonth { .. } => "future-month",
        // A field or a filter that benchmarks do not support.
        _ => "not-benchmarkable",
    }
}

fn benchmark_dimensions() -> [String; BenchmarkDimension::ALL.len()] {
    BenchmarkDimension::ALL.map(|dimension| format!("`{dimension}`"))
}

/// Returns the names of the metrics that the dictionary of the service has always listed.
fn metrics() -> impl Iterator<Item = &'static str> {
    fields().filter(|field| matches!(field.kind, FieldKind::Metric(_))).map(|field| field.name)
}

fn intervals() -> Vec<&'static str> {
    Interval::ALL.map(Interval::name).to_vec()
}
