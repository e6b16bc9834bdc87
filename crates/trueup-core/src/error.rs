//! The errors of queries, by what is at fault.

use crate::benchmarks::NotBenchmarked;
use crate::dataset::error::{DatasetError, ManifestError};
use crate::definitions::DefinitionError;
use crate::execute::{MixedCurrencies, PartialError};
use crate::query::{FilterFault, Interval, TooEarly, WhyRowFault};
use crate::targets::NotTargeted;
use crate::text::{did_you_mean, quoted};
use crate::{Day, NoRoom, Shown, model};
use std::fmt;
use trueup_store::Interruption;

/// Why a query was not answered or a dataset was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The query is at fault.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The dataset, or the store that holds it, is at fault.
    #[error(transparent)]
    Dataset(DatasetError),
    /// The columns or rows of tables in memory break a rule.
    #[error(transparent)]
    Table(#[from] model::TableFault),
    /// Valid tables do not decode, which is a bug in trueup.
    #[error("tables that were found sound do not decode: column `{column}`: {fault}")]
    Unexpected {
        /// The column.
        column: String,
        /// What is wrong with the column.
        fault: &'static str,
    },
    /// Events do not fit into Arrow arrays, which is a bug in trueup.
    #[error("events do not fit into Arrow arrays: {reason}")]
    NotArrow {
        /// What Arrow found.
        reason: String,
    },
    /// The lines that explain a number do not add up to it, which is a bug in trueup.
    #[error("the lines of `{metric}` add up to {found}, but the answer says {expected}")]
    Unbalanced {
        /// The name of the metric.
        metric: String,
        /// What the lines add up to.
        found: String,
        /// The value of the metric in the answer.
        expected: String,
    },
    /// The definitions of metrics and dimensions are at fault.
    #[error("definitions: {0}")]
    Definitions(#[from] DefinitionError),
    /// The query was interrupted before it was answered.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
    /// The memory budget has no room for the query.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A split or a partial result is refused.
    #[error(transparent)]
    Partial(#[from] PartialError),
    /// Threads could not be started.
    #[error("threads could not be started: {0}")]
    Threads(String),
}

impl From<ManifestError> for Error {
    fn from(error: ManifestError) -> Self {
        Self::Dataset(error.into())
    }
}

impl Error {
    /// Returns whether the query is at fault, so that another query could succeed.
    #[must_use]
    pub const fn is_query(&self) -> bool {
        matches!(self, Self::Query(_))
    }
}

/// Returns the messages of an error and of its causes, separated by colons. A cause whose text the message already
/// contains is left out.
///
/// ```
/// let missing = trueup_core::Dataset::open("/no/such/folder").unwrap_err();
/// assert!(trueup_core::message_with_causes(&missing).starts_with(&missing.to_string()));
/// ```
#[must_use]
pub fn message_with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| cause.source()) {
        let text = cause.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
    }
    message
}

/// Why a query cannot be answered.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// No field was named.
    #[error("expected at least one field")]
    MissingFields,
    /// No field is a metric.
    #[error("expected at least one metric among the fields")]
    MissingMetric,
    /// A name among the fields or in the filter is neither in the dictionary nor in the dataset.
    #[error("neither the dictionary nor the dataset knows {}", listed(.fields))]
    UnknownFields {
        /// The unknown names, in the order of the query and each once.
        fields: Vec<UnknownField>,
    },
    /// A field has the name of a column in which answers show the sub-range.
    #[error("a field cannot be named `{name}`: answers carry the sub-range under that name")]
    ReservedField {
        /// `start` or `end`.
        name: String,
    },
    /// A field or a condition names a metric that only cohorts have, and the query is not one of a cohort.
    #[error(
        "only a cohort has `{name}`, which counts leads whose window is not over; ask for a cohort, or leave it out"
    )]
    NotACohort {
        /// The name of the metric.
        name: &'static str,
    },
    /// The range ends before it starts.
    #[error("the range ends on {end}, before it starts on {start}")]
    ReversedRange {
        /// The first day of the range.
        start: Day,
        /// The last day of the range.
        end: Day,
    },
    /// A comparison has an interval other than `total`.
    #[error(
        "a comparison has one row per group, and none per {interval}; leave the interval out, or compare each {interval} \
         by itself"
    )]
    ComparedIntervals {
        /// The interval.
        interval: Interval,
    },
    /// The range to compare with ends before it starts.
    #[error("the range to compare with ends on {end}, before it starts on {start}")]
    ReversedComparison {
        /// Its first day.
        start: Day,
        /// Its last day.
        end: Day,
    },
    /// The range to compare with begins before [`Day::MIN`].
    #[error(transparent)]
    ComparedTooEarly(#[from] TooEarly),
    /// The query cannot be compared with benchmarks.
    #[error(transparent)]
    NotBenchmarked(#[from] Box<NotBenchmarked>),
    /// The answer to the query cannot have targets.
    #[error(transparent)]
    NotTargeted(NotTargeted),
    /// A field of a comparison has the name of a column that the answer has for a metric, such as `leads.change`.
    #[error("a field cannot be named `{name}` in a comparison: answers show what became of a metric under that name")]
    ReservedComparisonField {
        /// The name of the column.
        name: String,
    },
    /// One sub-range, that of the interval `total`, would be longer than the attribution window.
    #[error(
        "requested range spans {days} days, exceeding the {limit}-day attribution window; \
         use the interval month, week or day, or shorten the range"
    )]
    SpanTooLong {
        /// The days of the range.
        days: u32,
        /// The most days allowed.
        limit: u32,
    },
    /// With an interval, the totals would still cover more days than the attribution window.
    #[error(
        "the totals would span {days} days, exceeding the {limit}-day attribution window; \
         leave them out, or shorten the range"
    )]
    TotalsTooLong {
        /// The days of the range.
        days: u32,
        /// The most days allowed.
        limit: u32,
    },
    /// A field has the name of the column by which answers mark their totals.
    #[error("a field cannot be named `{name}` in a query with totals: answers mark the totals under that name")]
    ReservedTotalsField {
        /// The name of the column.
        name: &'static str,
    },
    /// The answer has no column with the name of a column to sort by.
    #[error(
        "expected to sort by a column of the answer ({}), with `:asc` or `:desc` after it or neither, but found `{}`",
        quoted(.columns), Shown(.name)
    )]
    UnknownSortColumn {
        /// The name that was asked for.
        name: String,
        /// The columns of the answer.
        columns: Vec<String>,
    },
    /// The query asks for events one by one, and for something that only groups of events have.
    #[error("expected a query of events, without {part}; of the metrics, only `total` has a value on an event")]
    NotOfEvents {
        /// What events do not have.
        part: String,
    },
    /// The question about a row of the answer has a fault, or the answer has no such row.
    #[error(transparent)]
    Row(#[from] WhyRowFault),
    /// The query would add up amounts of different currencies.
    #[error(transparent)]
    MixedCurrencies(Box<MixedCurrencies>),
    /// A count does not fit into 64 bits.
    #[error("the sum of `{name}` is beyond the largest whole number that can be held")]
    Overflow {
        /// The name of the metric.
        name: String,
    },
    /// The answer would have more rows than allowed, before conditions on metrics and before the limit of the query.
    #[error(
        "the answer would have more than {limit} rows; ask for fewer dimensions, a shorter range or longer intervals"
    )]
    TooManyRows {
        /// The most rows allowed.
        limit: usize,
    },
    /// The filter is at fault.
    #[error("filter on `{}`: {fault}", Shown(.field))]
    Filter {
        /// The field of the condition.
        field: String,
        /// What is wrong with it.
        fault: FilterFault,
    },
}

/// The unknown names for which similar ones are looked for, and which a message shows. A search compares a name with
/// every known one: 15,000 of them would take minutes.
const MAX_SUGGESTED: usize = 10;

/// A name that neither the dictionary nor the dataset knows. Its [`Display`](fmt::Display) is the name in backticks,
/// and a question with the names that are similar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// The name.
    pub name: String,
    /// The most similar names that are known, as [`similar_names`](crate::dictionary::similar_names) returns them;
    /// empty if none is similar, and after the first ten unknown names of a query.
    pub similar: Vec<String>,
}

impl UnknownField {
    /// Returns the fields of unknown names, the first [`MAX_SUGGESTED`] of them with similar names.
    pub(crate) fn with_similar<'a>(
        names: impl IntoIterator<Item = &'a str>,
        similar: impl Fn(&str) -> Vec<String>,
    ) -> Vec<Self> {
        let field = |(place, name): (usize, &str)| Self {
            name: name.to_owned(),
            similar: if place < MAX_SUGGESTED { similar(name) } else { Vec::new() },
        };
        names.into_iter().enumerate().map(field).collect()
    }
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`{}", Shown(&self.name), did_you_mean(&self.similar))
    }
}

/// Returns the first fields, and the number of the others.
fn listed(fields: &[UnknownField]) -> String {
    let (first, others) = fields.split_at(fields.len().min(MAX_SUGGESTED));
    let first = first.iter().map(UnknownField::to_string).collect::<Vec<_>>().join(", ");
    match others.len() {
        0 => first,
        1 => format!("{first}, nor another name"),
        more => format!("{first}, nor {more} other names"),
    }
}
