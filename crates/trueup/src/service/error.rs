//! Why a request fails.

use crate::access::{self, OutOfReach, Refusal};
use crate::benchmarks::{BenchmarkDimension, BenchmarkFault};
use crate::filter::InvalidFilter;
use crate::query::{FilterFault, UnknownInterval};
use crate::{DatasetError, Error, Interruption, NoRoom, QueryError};
use std::io;
use std::sync::Arc;

/// What a service calls with the error of each request that fails.
pub(super) type FailureHook = Arc<dyn Fn(&ServiceError) + Send + Sync>;

/// Seconds after which a caller should retry when there was no memory.
const NO_ROOM_RETRY_SECONDS: u32 = 5;

/// Why a request fails.
///
/// Its text is what the caller reads. The error's [source](std::error::Error::source), if it has one, is the cause, for
/// logs: it may say what callers must not see.
///
/// ```
/// use trueup::service::ServiceError;
///
/// let error = ServiceError::RateLimited(90);
/// assert_eq!((error.status(), error.code()), (429, Some("rate-limited")));
/// assert_eq!(
///     error.to_string(),
///     "all requests that an hour allows are used; retry in 90 seconds, when it has passed"
/// );
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ServiceError {
    /// A required date is missing.
    MissingRange(MissingRange),
    /// The query string is malformed.
    InvalidQuery(InvalidQuery),
    /// The interval is unknown.
    UnknownInterval(UnknownInterval),
    /// A date is not a calendar date.
    InvalidDate {
        /// `start` or `end`.
        parameter: &'static str,
        /// The value as it was sent.
        text: String,
    },
    /// A calendar date is before [`Day::MIN`](crate::Day::MIN) or after [`Day::MAX`](crate::Day::MAX).
    DateOutOfRange {
        /// `start` or `end`.
        parameter: &'static str,
        /// The date as it was sent.
        text: String,
    },
    /// A parameter is not a valid filter.
    InvalidFilter(InvalidFilter),
    /// The query is invalid, or its answer is too large.
    Query(QueryError),
    /// The number of accounts times sub-ranges is too large.
    TooManyIntervals {
        /// Accounts in scope.
        accounts: usize,
        /// Sub-ranges of the range.
        sub_ranges: usize,
        /// The largest product allowed.
        limit: usize,
    },
    /// The answer would have too many rows for its columns.
    TooManyCells {
        /// Columns of the answer.
        columns: usize,
        /// Rows allowed for that number of columns.
        rows: usize,
        /// The largest product of rows and columns allowed.
        limit: usize,
    },
    /// The query needs more memory than one query may take, in bytes.
    TooMuchMemory(usize),
    /// Too many insight documents match.
    TooManyDocuments {
        /// The number of documents that match.
        matched: usize,
        /// Documents allowed.
        limit: usize,
    },
    /// A request for benchmarks is invalid.
    Benchmarks(BenchmarkFault),
    /// A request for benchmarks names more months than one request may have.
    TooManyMonths {
        /// The number of months.
        count: usize,
        /// The most months of a request.
        limit: usize,
    },
    /// A filter of benchmarks is an expression; only one value is supported.
    BenchmarkExpression {
        /// The dimension of the filter.
        dimension: BenchmarkDimension,
        /// The expression.
        expression: String,
    },
    /// The key is not accepted.
    Unauthorized(Refusal),
    /// Neither a key nor a session is accepted, where a session would be enough.
    SignedOut(Refusal),
    /// The organization that the path names is unknown or out of reach.
    InaccessibleOrganization(String),
    /// A named account is not in the organization, or out of reach.
    InaccessibleAccounts(OutOfReach),
    /// There is no endpoint at the path.
    NotFound(String),
    /// The method is not `GET`.
    MethodNotAllowed(String),
    /// The user has sent as many requests as an hour allows; the next one begins in this many seconds.
    RateLimited(u32),
    /// The dataset or the directory failed.
    Upstream(Upstream),
    /// The data of benchmarks is still being computed; the caller should retry after this many seconds.
    BenchmarksGathering(u32),
    /// Other queries and answers hold the memory; the caller should retry after this many seconds.
    Overloaded(u32),
    /// The request was interrupted, or its deadline passed.
    Timeout(Interruption),
}

/// Which date is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRange {
    /// The first of `start` and `end` that an events request does not give, or gives as an empty text.
    Needed(&'static str),
    /// The one of `start` and `end` that an insights request lacks.
    Unpaired(&'static str),
}

/// What is malformed in a query string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidQuery {
    /// A parameter, as it was sent, is not UTF-8 after percent-decoding.
    NotUtf8(String),
    /// A parameter that takes one value has two different ones.
    Repeated {
        /// Its name.
        parameter: &'static str,
        /// Its first value.
        first: String,
        /// The first value that differs from it.
        second: String,
    },
    /// The value of a parameter is not one that it takes, or does not go with the other parameters.
    Value {
        /// The name of the parameter.
        parameter: &'static str,
        /// What is wrong with the value.
        fault: String,
    },
}

/// A failure that is not the caller's. It goes to logs, never to callers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Upstream {
    /// The dataset could not be read.
    #[error(transparent)]
    Dataset(DatasetError),
    /// A query failed for another reason, such as a sum that overflows.
    #[error(transparent)]
    Query(Error),
    /// The data of benchmarks was not computed. All requests that waited for it share the error.
    #[error("the benchmarks were not computed: {0}")]
    Benchmarks(Arc<BenchmarkJobError>),
    /// The directory of users and keys failed.
    #[error(transparent)]
    Directory(access::Error),
    /// The answer could not be written.
    #[error("the answer could not be written: {0}")]
    Write(io::Error),
}

/// Why the data of benchmarks was not computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchmarkJobError {
    /// The query failed.
    #[error(transparent)]
    Query(Error),
    /// The computation panicked.
    #[error("the computation panicked: {0}")]
    Panicked(String),
    /// No thread could be started.
    #[error("no thread could be started: {0}")]
    NoThread(io::Error),
}

impl From<DatasetError> for ServiceError {
    fn from(error: DatasetError) -> Self {
        Self::Upstream(Upstream::Dataset(error))
    }
}

impl From<access::Error> for ServiceError {
    fn from(error: access::Error) -> Self {
        Self::Upstream(Upstream::Directory(error))
    }
}

impl From<io::Error> for ServiceError {
    fn from(error: io::Error) -> Self {
        Self::Upstream(Upstream::Write(error))
    }
}

impl ServiceError {
    /// Converts the error of a query.
    pub(super) fn query(error: Error) -> Self {
        match error {
            Error::Query(QueryError::Filter { fault: FilterFault::Interrupted(interruption), .. }) => {
                Self::Timeout(interruption)
            }
            // The data is at fault.
            Error::Query(error @ QueryError::Overflow { .. }) => Self::Upstream(Upstream::Query(error.into())),
            Error::Query(error) => Self::Query(error),
            Error::Dataset(error) => error.into(),
            Error::Interrupted(interruption) => Self::Timeout(interruption),
            Error::NoRoom(missing) => Self::no_room(missing),
            other => Self::Upstream(Upstream::Query(other)),
        }
    }

    /// Converts the error of a filter, which is a timeout if the request ended while its filters were read.
    pub(super) fn filter(error: InvalidFilter) -> Self {
        error.interruption().map_or(Self::InvalidFilter(error), Self::Timeout)
    }

    /// Converts a lack of memory: too large for the budget at any time, or no room at the moment.
    pub(super) const fn no_room(missing: NoRoom) -> Self {
        if missing.is_too_large() {
            // A budget grants one query at most half of its bytes, see `NoRoom::is_too_large`.
            Self::TooMuchMemory(missing.limit / 2)
        } else {
            Self::Overloaded(NO_ROOM_RETRY_SECONDS)
        }
    }
}

impl std::fmt::Display for ServiceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.text().fmt(f)
    }
}

impl std::error::Error for ServiceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Upstream(cause) => Some(cause),
            Self::Unauthorized(refusal) | Self::SignedOut(refusal) => Some(refusal),
            Self::Timeout(interruption) => Some(interruption),
            Self::InvalidFilter(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{EventsQuery, Interval, SortKey};
    use crate::{Dataset, Day, Tables};

    #[test]
    fn faults_of_a_query_built_by_hand_are_not_those_of_the_dataset() {
        let sorted = EventsQuery::new(["leads"], Day::MIN, Day::MIN).sort(SortKey::descending("spend"));
        let year = EventsQuery::new(["leads"], Day::MIN, Day::from_number(364)).interval(Interval::Month).totals();
        let dataset = Dataset::from_tables(&Tables::default()).unwrap();
        for query in [sorted, year] {
            let fault = dataset.check(&query).unwrap_err();
            let words = fault.to_string();
            let error = ServiceError::query(fault.into());
            assert_eq!((error.status(), error.code()), (400, Some("invalid-query")));
            assert_eq!(error.to_string(), words);
        }
        let overflow = ServiceError::query(QueryError::Overflow { name: "leads".to_owned() }.into());
        assert_eq!(overflow.status(), 502);
    }
}
