//! What the answer to a query is compared with, and a query that is ready to run.

use crate::benchmarks::BenchmarkComparison;
use crate::query::{Earlier, EventsQuery, NotEarlier};
use crate::{Dataset, Day, Error, Execution, QueryError, ResultTable};
use std::str::FromStr;

/// What the answer to a query is compared with.
///
/// The text form is `benchmarks`, or that of an [`Earlier`].
///
/// ```
/// use trueup::ComparedWith;
/// use trueup::query::Earlier;
///
/// assert_eq!("benchmarks".parse(), Ok(ComparedWith::Benchmarks));
/// assert_eq!("previous-year".parse(), Ok(ComparedWith::Earlier(Earlier::PreviousYear)));
/// assert!("last".parse::<ComparedWith>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedWith {
    /// The answer for an earlier range.
    Earlier(Earlier),
    /// The benchmarks of its rows.
    Benchmarks,
}

/// A text that names nothing to compare with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; `benchmarks` compares with other accounts")]
pub struct NotCompared(#[from] NotEarlier);

impl FromStr for ComparedWith {
    type Err = NotCompared;

    fn from_str(text: &str) -> Result<Self, NotCompared> {
        match text {
            "benchmarks" => Ok(Self::Benchmarks),
            _ => Ok(Self::Earlier(text.parse()?)),
        }
    }
}

/// A query that is ready to run, and whose answer may be compared with benchmarks.
#[derive(Clone, Debug)]
pub enum ReadyQuery {
    /// A query of events and spend.
    Events(Box<EventsQuery>),
    /// A query whose answer is compared with benchmarks.
    WithBenchmarks(Box<BenchmarkComparison>),
}

impl ReadyQuery {
    /// Returns the comparison of a query with benchmarks. The query must [know](EventsQuery::definitions) the
    /// definitions of its dataset. Its sort keys may be columns of the comparison.
    ///
    /// # Errors
    /// Those of [`BenchmarkComparison::new`] and of [`BenchmarkComparison::period`].
    ///
    /// ```
    /// use trueup::ReadyQuery;
    /// use trueup::query::EventsQuery;
    ///
    /// let query = EventsQuery::new(["bookRate"], "2025-01-01".parse()?, "2025-01-31".parse()?).accounts(["north"]);
    /// assert!(ReadyQuery::with_benchmarks(&query, "2025-03-15".parse()?).is_ok());
    /// // The month is not over.
    /// assert!(ReadyQuery::with_benchmarks(&query, "2025-01-15".parse()?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_benchmarks(query: &EventsQuery, today: Day) -> Result<Self, QueryError> {
        let comparison = BenchmarkComparison::new(query)?;
        comparison.period(today)?;
        Ok(Self::WithBenchmarks(Box::new(comparison)))
    }

    /// Returns the query of events and spend that is run. If its answer is compared with benchmarks, it has further
    /// metrics and no order.
    #[must_use]
    pub const fn events(&self) -> &EventsQuery {
        match self {
            Self::Events(query) => query,
            Self::WithBenchmarks(comparison) => comparison.query(),
        }
    }

    /// Answers the query. Benchmarks are those for a caller who sees the accounts of the query, and no others.
    ///
    /// # Errors
    /// Those of [`Dataset::run`] and of [`BenchmarkComparison::run`].
    pub fn run(&self, dataset: &Dataset, execution: Execution) -> Result<ResultTable, Error> {
        match self {
            Self::Events(query) => dataset.run(query, execution),
            Self::WithBenchmarks(comparison) => comparison.run(dataset, &execution),
        }
    }
}
