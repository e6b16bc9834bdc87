//! The tables of errors: the status and code, and the text, of each [`ServiceError`].

use super::error::{InvalidQuery, MissingRange, ServiceError};
use super::error_text::ErrorText;
use crate::benchmarks::{BenchmarkDimension, BenchmarkFault};
use crate::dictionary::{FieldKind, fields};
use crate::query::{Interval, WhyRowFault};
use crate::{Day, QueryError};
use trueup_core::Shown;

impl ServiceError {
    /// Returns the HTTP status of the response.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.kind().0
    }

    /// Returns the name by which programs recognize the error, for example `missing-range`.
    ///
    /// `None` for the errors whose response has a text only: [`QueryError::SpanTooLong`],
    /// [`TooManyDocuments`](Self::TooManyDocuments) and [`SignedOut`](Self::SignedOut).
    #[must_use]
    pub const fn code(&self) -> Option<&'static str> {
        self.kind().1
    }

    /// Returns the status and the code.
    const fn kind(&self) -> (u16, Option<&'static str>) {
        let (status, code) = match self {
            Self::Query(QueryError::SpanTooLong { .. }) | Self::TooManyDocuments { .. } => return (400, None),
            Self::SignedOut(_) => return (401, None),
            Self::Query(QueryError::MissingFields) => (400, "missing-fields"),
            Self::MissingRange(_) => (400, "missing-range"),
            Self::Query(QueryError::MissingMetric) | Self::Benchmarks(BenchmarkFault::MissingMetric) => {
                (400, "missing-metric")
            }
            Self::Query(QueryError::ReservedField { .. } | QueryError::NotACohort { .. }) => (400, "invalid-fields"),
            Self::UnknownInterval(_) => (400, "unknown-interval"),
            Self::InvalidDate { .. } | Self::DateOutOfRange { .. } => (400, "invalid-date"),
            Self::Query(QueryError::ReversedRange { .. }) => (400, "invalid-range"),
            Self::InvalidFilter(_) | Self::Query(QueryError::Filter { .. }) => (400, "invalid-filter"),
            Self::Query(QueryError::Row(WhyRowFault::NotAMetric { .. } | WhyRowFault::NotASum { .. })) => {
                (400, "invalid-query")
            }
            Self::Query(QueryError::Row(_)) => (400, "invalid-row"),
            Self::TooManyIntervals { .. } => (400, "too-many-intervals"),
            Self::Query(QueryError::TooManyRows { .. }) | Self::TooManyCells { .. } | Self::TooMuchMemory(_) => {
                (400, "too-many-rows")
            }
            Self::InvalidQuery(_) | Self::Query(_) => (400, "invalid-query"),
            Self::Benchmarks(BenchmarkFault::InvalidMonth { .. }) | Self::TooManyMonths { .. } => {
                (400, "invalid-month")
            }
            Self::Benchmarks(BenchmarkFault::FutureMonth { .. }) => (400, "future-month"),
            // A field or a filter that benchmarks do not support.
            Self::Benchmarks(_) | Self::BenchmarkExpression { .. } => (400, "not-benchmarkable"),
            Self::Unauthorized(_) => (401, "unauthorized"),
            Self::InaccessibleOrganization(_) => (404, "inaccessible-organization"),
            Self::InaccessibleAccounts(_) => (404, "inaccessible-accounts"),
            Self::NotFound(_) => (404, "not-found"),
            Self::MethodNotAllowed(_) => (405, "method-not-allowed"),
            Self::RateLimited(_) => (429, "rate-limited"),
            Self::Upstream(_) => (502, "upstream-failed"),
            Self::BenchmarksGathering(_) => (503, "benchmarks-gathering"),
            Self::Overloaded(_) => (503, "overloaded"),
            Self::Timeout(_) => (504, "timeout"),
        };
        (status, Some(code))
    }

    /// Returns the text of the response. If a smaller question would be answered, it says so in words by which clients
    /// [recognize](super::error_text::SIZE_WORDS) that.
    pub(super) fn text(&self) -> ErrorText {
        let is_about_size = matches!(self.kind(), (400, None | Some("too-many-intervals" | "too-many-rows")));
        let text = self.words();
        if is_about_size { ErrorText::about_size(text) } else { ErrorText::new(text) }
    }

    fn words(&self) -> String {
        match self {
            Self::Query(QueryError::MissingFields) => {
                "`fields` is missing; name the dimensions and metrics wanted, separated by commas, for example \
                 fields=account,leads"
                    .to_owned()
            }
            Self::MissingRange(MissingRange::Needed(missing)) => {
                format!("`{missing}` is missing; pass both `start` and `end`, each a date as YYYY-MM-DD")
            }
            Self::MissingRange(MissingRange::Unpaired(missing)) => format!(
                "`{missing}` is missing; pass both `start` and `end`, or neither for the most recent insight of each \
                 account"
            ),
            Self::Query(QueryError::MissingMetric) => {
                format!("`fields` has no metric; add at least one of {}", metrics().collect::<Vec<_>>().join(", "))
            }
            Self::InvalidQuery(InvalidQuery::NotUtf8(parameter)) => {
                format!("the parameter `{}` is not UTF-8; encode its text as UTF-8", Shown(parameter))
            }
            Self::InvalidQuery(InvalidQuery::Repeated { parameter, first, second }) => {
                format!("`{parameter}` is given twice, as `{}` and as `{}`; give it once", Shown(first), Shown(second))
            }
            Self::InvalidQuery(InvalidQuery::Value { parameter, fault }) => format!("`{parameter}`: {fault}"),
            Self::Query(QueryError::ReservedField { name }) => format!(
                "a field cannot be named `{name}`: an answer names its sub-ranges by `start` and `end`; leave it out"
            ),
            Self::Query(QueryError::NotACohort { name }) => {
                format!("only a cohort has `{name}`, which counts leads whose window is not over; leave it out")
            }
            Self::UnknownInterval(unknown) => {
                format!("the interval `{}` is unknown; use one of {}", Shown(&unknown.0), intervals().join(", "))
            }
            Self::InvalidDate { parameter, text } => {
                format!("expected `{parameter}` to be a calendar date as YYYY-MM-DD, but found `{}`", Shown(text))
            }
            Self::DateOutOfRange { parameter, text } => format!(
                "expected `{parameter}` to be a date from {} to {}, but found `{}`",
                Day::MIN,
                Day::MAX,
                Shown(text)
            ),
            Self::Query(QueryError::ReversedRange { start, end }) => {
                format!("the range ends on {end}, before it starts on {start}; exchange `start` and `end`")
            }
            Self::InvalidFilter(error) => error.to_string(),
            Self::Query(QueryError::Filter { field, fault }) => format!("`{}`: {fault}", Shown(field)),
            Self::Query(QueryError::Row(fault @ (WhyRowFault::NotAMetric { .. } | WhyRowFault::NotASum { .. }))) => {
                format!("`why`: {fault}")
            }
            Self::Query(QueryError::Row(fault)) => format!("`row`: {fault}; the answer without `why` has every row"),
            Self::Query(QueryError::SpanTooLong { days, limit }) => format!(
                "Requested range spans {days} days, exceeding the {limit}-day attribution window. Pass \
                 interval=month|week|day to compute metrics per sub-range, or shorten the range."
            ),
            Self::TooManyIntervals { accounts, sub_ranges, limit } => format!(
                "too many accounts and intervals: {accounts} accounts x {sub_ranges} sub-ranges are {}, and the limit \
                 is {limit}; reduce the accounts or the range, or choose a longer interval",
                accounts.saturating_mul(*sub_ranges)
            ),
            Self::Query(QueryError::TooManyRows { limit }) => format!(
                "too many rows: the answer would have more than {limit}, which is the limit; reduce the dimensions, \
                 the accounts or the range, or choose a longer interval"
            ),
            Self::Query(fault) => fault.to_string(),
            Self::TooManyCells { columns, rows, limit } => format!(
                "too many rows: the answer would have more than {rows} of {columns} columns, and the limit is {limit} \
                 values; reduce the fields, the accounts or the range, or choose a longer interval"
            ),
            Self::TooMuchMemory(limit) => format!(
                "too many rows: the query takes more than {limit} bytes of memory, and one may take no more; reduce the \
                 fields, the accounts or the range, or choose a longer interval"
            ),
            Self::TooManyDocuments { matched, limit } => format!(
                "{matched} insight documents match, exceeding the limit of {limit} per request. Ask for fewer \
                 accounts or a shorter period."
            ),
            Self::Benchmarks(fault) => fault.to_string(),
            Self::TooManyMonths { count, limit } => format!(
                "the request names {count} months, but a request for benchmarks may name at most {limit}; ask for fewer"
            ),
            Self::BenchmarkExpression { dimension, expression } => format!(
                "benchmarks are filtered on one value of a dimension, but `{dimension}` was given the expression \
                 `{}`; give the value itself, of any of {}",
                Shown(expression),
                benchmark_dimensions().join(", ")
            ),
            Self::Unauthorized(_) => {
                "the API key is missing or not valid; send a user API key, alone, in the header Authorization"
                    .to_owned()
            }
            Self::SignedOut(_) => "Sign in or use an API key: send it, alone, in the header Authorization.".to_owned(),
            Self::InaccessibleOrganization(segment) => format!(
                "`{}` is unknown or inaccessible; GET /api lists the organizations that can be asked for",
                Shown(segment)
            ),
            Self::InaccessibleAccounts(out) => format!(
                "the account `{}` is unknown or inaccessible here; GET /api lists the accounts of each organization",
                Shown(&out.account)
            ),
            Self::NotFound(path) => format!("there is nothing at `{}`; GET /api lists the endpoints", Shown(path)),
            Self::MethodNotAllowed(method) => format!("the method `{}` is not allowed; use GET", Shown(method)),
            Self::RateLimited(retry_after_seconds) => format!(
                "all requests that an hour allows are used; retry in {retry_after_seconds} seconds, when it has passed"
            ),
            Self::Upstream(_) => {
                "an upstream data service failed or gave an unreadable response; retry later".to_owned()
            }
            Self::BenchmarksGathering(retry_after_seconds) => {
                format!("the benchmarks of this month are still being gathered; retry in {retry_after_seconds} seconds")
            }
            Self::Overloaded(retry_after_seconds) => format!(
                "the service holds as many queries and answers as it may; retry in {retry_after_seconds} seconds, and \
                 read answers as they come"
            ),
            Self::Timeout(_) => {
                "the request took too long; use a shorter date range, fewer dimensions or fewer metrics".to_owned()
            }
        }
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
