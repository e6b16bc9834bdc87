//! Errors that say what to do.

use crate::cell::visible;
use serde_json::{Value, json};
use trueup::benchmarks::BenchmarkFault;
use trueup::query::WhyRowFault;
use trueup::request::RequestError;
use trueup::{Error, QueryError, message_with_causes};

/// Why a call was not answered, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {fix}")]
pub struct Fault {
    /// A name for programs, such as `unknown-fields`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub fix: String,
    /// Arguments that would work, as JSON; empty if there are none to show.
    pub example: String,
}

/// An example of the arguments of a query.
const QUERY: &str = r#"{"metrics": ["leads", "bookRate"], "by": ["attributionChannel"], "days": "last-month"}"#;

impl Fault {
    /// Returns a fault without an example.
    pub fn new(code: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        // Both name what was given. A message about a condition has several lines, which JSON writes as one.
        let visible = |text: String| text.split('\n').map(visible).collect::<Vec<_>>().join("\n");
        Self { code, message: visible(message.into()), fix: visible(fix.into()), example: String::new() }
    }

    pub(crate) fn example(self, example: impl Into<String>) -> Self {
        Self { example: example.into(), ..self }
    }

    /// Returns the fault as an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { code, message, fix, example } = self;
        json!({ "code": code, "message": message, "fix": fix, "example": example })
    }
}

impl From<RequestError> for Fault {
    fn from(error: RequestError) -> Self {
        let message = error.to_string();
        match error {
            RequestError::Parameter(fault) if fault.name == "range" => {
                Self::new("invalid-days", message, "give `days` as a name or as two dates")
                    .example(r#"{"days": "last 90d"}"#)
            }
            RequestError::Parameter(_) => Self::new("invalid-argument", message, "correct the argument").example(QUERY),
            RequestError::Range(_) => Self::new("invalid-days", message, "ask for days of the data; `overview` has them"),
            RequestError::MissingAccount { .. } => {
                Self::new("inaccessible-accounts", message, "name keys of accounts; `overview` has them")
            }
            // A name that is unknown was probably meant as the metric.
            RequestError::MissingMetric(Some(unknown)) => (*unknown).into(),
            RequestError::MissingMetric(_) => {
                Self::new("missing-metric", message, "find the names of metrics with `find_fields`").example(QUERY)
            }
            RequestError::Filter(_) => Self::new(
                "invalid-filter",
                message,
                "write conditions as `field = value`, `field in (a, b)` or `field >= 5`, with single quotes around values \
                 that have blanks",
            )
            .example(r#"{"where": ["campaign ~* drain", "attributionChannel not in (Direct, Referral)"]}"#),
            RequestError::Engine(error) => error.into(),
            _ => Self::new("invalid-query", message, "change the arguments").example(QUERY),
        }
    }
}

impl From<QueryError> for Fault {
    fn from(error: QueryError) -> Self {
        let message = error.to_string();
        match error {
            QueryError::UnknownFields { .. } => {
                Self::new("unknown-fields", message, "use a name that exists; `find_fields` searches them")
                    .example(r#"{"search": "cost per lead"}"#)
            }
            QueryError::MissingMetric | QueryError::MissingFields => {
                Self::new("missing-metric", message, "name at least one metric").example(QUERY)
            }
            QueryError::MixedCurrencies(_) => {
                let fix = "set `totals` to false and add `currency` to `by`, or name accounts of one currency";
                Self::new("mixed-currencies", message, fix).example(r#"{"by": ["currency"], "totals": false}"#)
            }
            QueryError::NotTargeted(_) => {
                Self::new("no-targets", message, "`overview` says which metrics have targets; or leave `targets` out")
                    .example(r#"{"metrics": ["leads"], "days": "this-month", "targets": true}"#)
            }
            QueryError::ReversedRange { .. } => Self::new("invalid-range", message, "exchange the two days"),
            QueryError::TooManyRows { .. } => Self::new("too-many-rows", message, "ask for fewer dimensions or days"),
            QueryError::UnknownSortColumn { .. } => {
                Self::new("invalid-sort", message, "sort by a metric or a dimension of the question")
                    .example(r#"{"sort": ["leads:desc"]}"#)
            }
            QueryError::Filter { .. } => Self::new("invalid-filter", message, "correct the condition"),
            QueryError::Row(WhyRowFault::NotASum { .. }) => {
                Self::new("not-explainable", message, "explain a metric that is a sum or a ratio of sums")
            }
            QueryError::Row(_) => Self::new(
                "invalid-row",
                message,
                "give `row` the value of each dimension of `by` and, with an interval, `start`, as `query` shows them",
            )
            .example(r#"{"by": ["campaign"], "row": {"campaign": "Drains"}}"#),
            _ => Self::new("invalid-query", message, "change the arguments").example(QUERY),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Query(error) => error.into(),
            Error::Interrupted(trueup::Interruption::Canceled) => {
                Self::new("canceled", "the call was canceled", "call again if the answer is still wanted")
            }
            Error::Interrupted(trueup::Interruption::Deadline) => Self::new(
                "timeout",
                "the question takes longer than it may",
                "ask for fewer days, dimensions or metrics",
            ),
            Error::NoRoom(_) => Self::new(
                "no-room",
                "the question takes more memory than it may",
                "ask for fewer days, dimensions or metrics",
            ),
            // Paths and causes are for the owner of the dataset, not for an agent.
            error => {
                tracing::error!("{}", message_with_causes(&error));
                Self::new(
                    "upstream-failed",
                    "the dataset cannot be read",
                    "tell the person who runs this server; `trueup verify` checks the dataset",
                )
            }
        }
    }
}

impl From<BenchmarkFault> for Fault {
    fn from(fault: BenchmarkFault) -> Self {
        let code = match fault {
            BenchmarkFault::MissingMetric => "missing-metric",
            BenchmarkFault::InvalidMonth { .. } => "invalid-month",
            BenchmarkFault::FutureMonth { .. } => "future-month",
            _ => "not-benchmarkable",
        };
        Self::new(code, fault.to_string(), "ask for months that have begun, and for metrics that have benchmarks")
            .example(r#"{"metrics": ["bookRate"], "months": ["2026-05"]}"#)
    }
}

impl From<trueup::DatasetError> for Fault {
    fn from(error: trueup::DatasetError) -> Self {
        Error::Dataset(error).into()
    }
}
