//! A request that was read for a dataset: its names are checked, and its days are fixed.

use super::{InvalidParameter, QueryRequest};
use crate::benchmarks::BenchmarkComparison;
use crate::filter::{InvalidFilter, InvalidRequest, apply_typed};
use crate::query::{
    AccountFilter, ComparisonRange, EventsQuery, ParseComparisonRangeError, RangeOutOfBounds, current_day,
};
use crate::targets::{NotTargeted, TargetComparison};
use crate::{Dataset, Day, Error, Execution, QueryError, ResultTable, Shown, UnseenValue};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

/// What the answer to a query is compared with.
///
/// The text form is `benchmarks`, or that of an [`ComparisonRange`].
///
/// ```
/// use trueup::query::ComparisonRange;
/// use trueup::request::ComparedWith;
///
/// assert_eq!("benchmarks".parse(), Ok(ComparedWith::Benchmarks));
/// assert_eq!("previous-year".parse(), Ok(ComparedWith::Earlier(ComparisonRange::PreviousYear)));
/// assert!("last".parse::<ComparedWith>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ComparedWith {
    /// The answer for an earlier range.
    Earlier(ComparisonRange),
    /// The benchmarks of its rows.
    Benchmarks,
}

/// A text that names nothing to compare with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; `benchmarks` compares with other accounts")]
pub struct NotCompared(#[from] ParseComparisonRangeError);

impl FromStr for ComparedWith {
    type Err = NotCompared;

    fn from_str(text: &str) -> Result<Self, NotCompared> {
        match text {
            "benchmarks" => Ok(Self::Benchmarks),
            _ => Ok(Self::Earlier(text.parse()?)),
        }
    }
}

impl fmt::Display for ComparedWith {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Earlier(earlier) => earlier.fmt(f),
            Self::Benchmarks => f.write_str("benchmarks"),
        }
    }
}

impl TryFrom<String> for ComparedWith {
    type Error = NotCompared;

    fn try_from(text: String) -> Result<Self, NotCompared> {
        text.parse()
    }
}

impl From<ComparedWith> for String {
    fn from(compared: ComparedWith) -> Self {
        compared.to_string()
    }
}

/// What today is: the day that somebody gives, or else that of the clock.
#[derive(Clone, Copy, Debug)]
pub struct Today {
    given: Option<Day>,
    /// Read once, so that all queries of a batch have the same clock.
    now: SystemTime,
}

impl Today {
    /// Reads the clock, unless the day is given.
    #[must_use]
    pub fn new(given: Option<Day>) -> Self {
        Self { given, now: SystemTime::now() }
    }

    /// Reads the clock.
    #[must_use]
    pub fn now() -> Self {
        Self::new(None)
    }

    /// Returns the day for a query that reads these accounts: the given one, or else that of the clock in their time
    /// zones, the earliest if they differ.
    fn of(&self, dataset: &Dataset, accounts: &AccountFilter) -> Day {
        self.given.unwrap_or_else(|| current_day(dataset.accounts(), accounts, self.now))
    }
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A part of the request is invalid, or the request lacks its days.
    #[error(transparent)]
    Parameter(#[from] InvalidParameter),
    /// The days of a named range are not all days that a dataset can have.
    #[error(transparent)]
    Range(#[from] RangeOutOfBounds),
    /// The dataset lacks an account.
    #[error("the dataset has no account `{}`; it has {}", Shown(.account), listed(.known))]
    MissingAccount {
        /// The key.
        account: String,
        /// The keys that the dataset has.
        known: Vec<String>,
    },
    /// No field is a metric. If some are unknown, which are probably meant as metrics, the error says so.
    #[error("{}", missing_metric(.0.as_deref()))]
    MissingMetric(Option<Box<Error>>),
    /// A condition is invalid.
    #[error(transparent)]
    Filter(#[from] InvalidFilter),
    /// The request compares with benchmarks, which only an answer to a query can.
    #[error("only an answer to a query is compared with `benchmarks`")]
    Benchmarks,
    /// The request asks for targets, which only an answer to a query has.
    #[error("only an answer to a query has `targets`")]
    Targets,
    /// The request is strict, and no event and no spend has these values.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    UnseenValues(Vec<UnseenValue>),
    /// The query is invalid, or the dataset fails.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl From<QueryError> for RequestError {
    fn from(error: QueryError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<InvalidRequest> for RequestError {
    fn from(error: InvalidRequest) -> Self {
        match error {
            InvalidRequest::Query(error) => error.into(),
            InvalidRequest::Filter(error) => Self::Filter(error),
        }
    }
}

fn missing_metric(unknown: Option<&Error>) -> String {
    match unknown {
        Some(unknown) => format!("{}; {unknown}", QueryError::MissingMetric),
        None => format!("{}, such as `leads`", QueryError::MissingMetric),
    }
}

/// Lists the first of several keys.
fn listed(keys: &[String]) -> String {
    const MAX_LISTED: usize = 8;
    let listed: Vec<String> = keys.iter().take(MAX_LISTED).map(|key| format!("`{}`", Shown(key))).collect();
    match (listed.is_empty(), keys.len().saturating_sub(MAX_LISTED)) {
        (true, _) => "no account at all".to_owned(),
        (false, 0) => listed.join(", "),
        (false, more) => format!("{} and {more} more", listed.join(", ")),
    }
}

impl RequestError {
    /// Checks that the dataset has every account of `keys`.
    ///
    /// # Errors
    /// [`MissingAccount`](Self::MissingAccount) if it lacks one; an error of the dataset if its accounts cannot be
    /// read.
    pub fn check_accounts(dataset: &Dataset, keys: &[String]) -> Result<(), Self> {
        let missing = dataset.missing_accounts(keys).map_err(Error::from)?;
        let Some(account) = missing.first() else { return Ok(()) };
        let known = dataset.account_keys().map_err(Error::from)?;
        Err(Self::MissingAccount {
            account: (*account).to_owned(),
            known: known.iter().map(|key| (*key).to_owned()).collect(),
        })
    }
}

/// A query that is ready to run, and whose answer may be compared with benchmarks.
#[derive(Clone, Debug)]
pub struct PreparedQuery {
    kind: Kind,
    is_strict: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Events(Box<EventsQuery>),
    WithBenchmarks(Box<BenchmarkComparison>),
    WithTargets(Box<TargetComparison>),
}

impl From<EventsQuery> for PreparedQuery {
    fn from(query: EventsQuery) -> Self {
        Self { kind: Kind::Events(Box::new(query)), is_strict: false }
    }
}

impl QueryRequest {
    /// Returns the request, for what does more with a query than answer it.
    ///
    /// # Errors
    /// [`RequestError::Benchmarks`] if the request compares with benchmarks, [`RequestError::Targets`] if it asks for
    /// targets.
    pub fn of_events_alone(&self) -> Result<&Self, RequestError> {
        match self.compare {
            Some(ComparedWith::Benchmarks) => Err(RequestError::Benchmarks),
            _ if self.targets => Err(RequestError::Targets),
            _ => Ok(self),
        }
    }

    /// Returns the query for `dataset`.
    ///
    /// # Errors
    /// The first fault in this order: the days are missing or are given twice, or no dataset can have them; the dataset
    /// lacks an account; one of the faults of [`EventsQuery::check`]; a field of the query is unknown; a condition is
    /// invalid; a field of a condition is unknown; the query cannot be compared with benchmarks, or have targets. A
    /// range that is longer than the attribution window is found when the query is run.
    pub fn prepare(&self, dataset: &Dataset, today: &Today) -> Result<PreparedQuery, RequestError> {
        let today = || today.of(dataset, &self.account_filter());
        let range = self.days(today)?;
        if let Some(keys) = &self.accounts {
            RequestError::check_accounts(dataset, keys)?;
        }
        let query = self.query(range, dataset.definitions());
        let kind = if self.targets {
            if self.compare == Some(ComparedWith::Benchmarks) {
                return Err(QueryError::from(NotTargeted::Compared).into());
            }
            // As below, an order may name a column that only the finished answer has.
            let query = self.ordered(self.checked(query, dataset)?);
            Kind::WithTargets(Box::new(TargetComparison::new(&query, dataset)?))
        } else if self.compare == Some(ComparedWith::Benchmarks) {
            // Ordered after the checks, which would refuse a column that only the comparison has.
            let query = self.ordered(self.checked(query, dataset)?);
            let comparison = BenchmarkComparison::new(&query)?;
            comparison.period(today())?;
            Kind::WithBenchmarks(Box::new(comparison))
        } else {
            Kind::Events(Box::new(self.checked(self.ordered(query), dataset)?))
        };
        Ok(PreparedQuery { kind, is_strict: self.strict })
    }

    /// Adds the conditions to the query, and checks its names.
    fn checked(&self, query: EventsQuery, dataset: &Dataset) -> Result<EventsQuery, RequestError> {
        let check_names = |query: &EventsQuery| dataset.check_names(query).map_err(Error::from);
        if let Err(QueryError::MissingMetric) = query.check() {
            // An unknown name is probably meant as a metric.
            let unknown = check_names(&query.allow_unknown(false)).err().map(Box::new);
            return Err(RequestError::MissingMetric(unknown));
        }
        let filtered = apply_typed(query.clone(), &self.conditions, self.filter.as_deref());
        if let Err(InvalidRequest::Filter(_)) = filtered {
            // Unknown fields come before the faults of filters.
            check_names(&query)?;
        }
        let query = filtered?;
        let query = self.filters.iter().cloned().fold(query, EventsQuery::filter);
        check_names(&query)?;
        // `--year 2025` means the year.
        let may_be_long = self.allow_long_total || self.start.is_none();
        Ok(if may_be_long { query.allow_long_total() } else { query })
    }
}

impl PreparedQuery {
    /// Returns the query of events and spend that is run. If its answer is compared with benchmarks or has targets, it
    /// has exact ratios and no order.
    #[must_use]
    pub const fn events(&self) -> &EventsQuery {
        match &self.kind {
            Kind::Events(query) => query,
            Kind::WithBenchmarks(comparison) => comparison.query(),
            Kind::WithTargets(comparison) => comparison.query(),
        }
    }

    /// Returns each value in the conditions that no event and no spend has.
    ///
    /// # Errors
    /// The request is strict and there is such a value, or the query cannot be run.
    pub fn unseen_values(&self, dataset: &Dataset, execution: &Execution) -> Result<Vec<UnseenValue>, RequestError> {
        match dataset.unseen_values(self.events(), execution)? {
            unseen if self.is_strict && !unseen.is_empty() => Err(RequestError::UnseenValues(unseen)),
            unseen => Ok(unseen),
        }
    }

    /// Answers the query. Benchmarks are those for a caller who sees the accounts of the query, and no others.
    ///
    /// # Errors
    /// Those of [`Dataset::run`], of [`BenchmarkComparison::run`] and of [`TargetComparison::run`].
    pub fn run(&self, dataset: &Dataset, execution: Execution) -> Result<ResultTable, Error> {
        match &self.kind {
            Kind::Events(query) => dataset.run(query, execution),
            Kind::WithBenchmarks(comparison) => comparison.run(dataset, &execution),
            Kind::WithTargets(comparison) => comparison.run(dataset, &execution),
        }
    }
}
