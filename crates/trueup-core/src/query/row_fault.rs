//! Why a question about a row of an answer is refused.

use super::DateRange;
use crate::Shown;
use crate::text::quoted;

/// Why a row cannot be explained.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WhyRowFault {
    /// A text is neither a value of a dimension nor a row as JSON.
    #[error("expected a dimension and its value, such as `campaign=Drains`, or a row as JSON, but found `{}`", Shown(.text))]
    NotAValue {
        /// The text.
        text: String,
    },
    /// A text that starts like a row as JSON is no JSON object.
    #[error("expected a row as a JSON object: {fault}")]
    NotJson {
        /// What the JSON reader found.
        fault: String,
    },
    /// The row has a value for something that is no dimension of the query.
    #[error("a row of the answer is known by {}, not by `{}`", known_by(.columns), Shown(.name))]
    NotADimension {
        /// The name.
        name: String,
        /// The columns by which a row is known.
        columns: Vec<String>,
    },
    /// The row has no value for a dimension of the query, or no first day of a sub-range.
    #[error("expected a value for each column by which a row of the answer is known ({}), but `{}` has none", known_by(.columns), Shown(.missing))]
    MissingValue {
        /// The name of the column.
        missing: String,
        /// The columns by which a row is known.
        columns: Vec<String>,
    },
    /// Different values are given for a column.
    #[error("two values are given for `{}`: `{}` and `{}`", Shown(.name), Shown(.one), Shown(.other))]
    TwoValues {
        /// The name of the column.
        name: String,
        /// One of the values.
        one: String,
        /// The other value.
        other: String,
    },
    /// The given first day begins no sub-range, or the given last day ends none.
    #[error("expected the {which} day of a sub-range between {} and {}, but found `{}`", .range.start, .range.end, Shown(.found))]
    NotASubRange {
        /// `first` or `last`.
        which: &'static str,
        /// The range of the query.
        range: DateRange,
        /// What is given.
        found: String,
    },
    /// A metric to explain is not one of the query.
    #[error("expected one of the metrics of the query ({}), but found `{}`", quoted(.metrics), Shown(.name))]
    NotAMetric {
        /// The name.
        name: String,
        /// The metrics of the query.
        metrics: Vec<String>,
    },
    /// The answer has no such row.
    #[error("the answer has no row with {row}")]
    NoSuchRow {
        /// The values of the row.
        row: String,
    },
    /// A metric to explain is a percentile, to which no single line adds anything.
    #[error(
        "`{metric}` is a percentile, not a sum of what single customers add; add the average of these days to the \
         query and explain that: its lines are the days of each customer"
    )]
    NotASum {
        /// The name of the metric.
        metric: &'static str,
    },
}

/// Returns the names of columns in backticks, for a message.
fn known_by(columns: &[String]) -> String {
    match columns {
        [] => "nothing but its metrics".to_owned(),
        _ => quoted(columns),
    }
}
