//! Why a request is not answered.

use super::BenchmarkJobError;
use crate::access::{self, Hourly, OutOfReach, Refusal};
use crate::benchmarks::{BenchmarkDimension, BenchmarkFault};
use crate::filter::InvalidFilter;
use crate::query::{FilterFault, UnknownInterval};
use crate::{DatasetError, Day, Error, Interruption, QueryError};
use std::sync::Arc;

/// Why a request is not answered. What a caller is told stands in one table, from which the text of this error is taken too; a cause
/// that callers are not told is its [source](std::error::Error::source).
#[derive(Debug)]
#[non_exhaustive]
pub enum ServiceError {
    /// No field was named.
    MissingFields,
    /// A date that is needed is not there.
    MissingRange(MissingRange),
    /// No field is a metric.
    MissingMetric,
    /// The query does not read.
    InvalidQuery(InvalidQuery),
    /// A field is named `start` or `end`.
    ReservedField {
        /// Which.
        name: String,
    },
    /// There is no such interval.
    UnknownInterval(UnknownInterval),
    /// A date is none.
    InvalidDate {
        /// `start` or `end`.
        parameter: &'static str,
        /// What was given.
        text: String,
    },
    /// The range ends before it starts.
    ReversedRange {
        /// The first day asked for.
        start: Day,
        /// The last day asked for.
        end: Day,
    },
    /// A parameter is no filter.
    InvalidFilter(InvalidFilter),
    /// A filter of a typed query is at fault.
    Filter {
        /// The field of the condition.
        field: String,
        /// What is wrong with it.
        fault: FilterFault,
    },
    /// A whole range is longer than the attribution window.
    SpanTooLong {
        /// Days asked for.
        days: u32,
        /// Days allowed.
        limit: u32,
    },
    /// Accounts times sub-ranges are too many.
    TooManyIntervals {
        /// Accounts in scope.
        accounts: usize,
        /// Sub-ranges of the range.
        sub_ranges: usize,
        /// Their product may be so large.
        limit: usize,
    },
    /// The answer would have too many rows.
    TooManyRows {
        /// Rows allowed.
        limit: usize,
    },
    /// The answer would have too many rows for its columns.
    TooManyCells {
        /// Its columns.
        columns: usize,
        /// Rows allowed, of so many columns.
        rows: usize,
        /// Their product may be so large.
        limit: usize,
    },
    /// The query takes more memory than one may.
    TooMuchMemory {
        /// Bytes allowed.
        limit: usize,
    },
    /// Too many insight documents match.
    TooManyDocuments {
        /// How many do.
        matched: usize,
        /// Documents allowed.
        limit: usize,
    },
    /// Benchmarks are not asked for as they can be.
    Benchmarks(BenchmarkFault),
    /// Benchmarks are filtered by an expression, where they are by one value.
    BenchmarkExpression {
        /// The dimension that is filtered on.
        dimension: BenchmarkDimension,
        /// The expression.
        expression: String,
    },
    /// The credentials let nobody in.
    Unauthorized(Refusal),
    /// The credentials let nobody in, where a session would have been enough.
    SignedOut(Refusal),
    /// The path names no organization or account in reach.
    InaccessibleOrganization {
        /// What it names.
        segment: String,
    },
    /// An account was named that is not in the organization or not in reach.
    InaccessibleAccounts(OutOfReach),
    /// There is nothing at the path.
    NotFound {
        /// The path.
        path: String,
    },
    /// The method is not `GET`.
    MethodNotAllowed {
        /// Which it is.
        method: String,
    },
    /// The user's hour is used up.
    RateLimited {
        /// Seconds until it passes.
        retry_after_seconds: u32,
    },
    /// The dataset or the directory failed.
    Upstream(Upstream),
    /// The figures of benchmarks are not there yet.
    BenchmarksGathering {
        /// Seconds after which to ask again.
        retry_after_seconds: u32,
    },
    /// The memory for queries and answers is taken, for now.
    Overloaded {
        /// Seconds after which to ask again.
        retry_after_seconds: u32,
    },
    /// The query was ended before it was answered.
    Timeout(Interruption),
}

/// Which date is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRange {
    /// The first of these that events need and that is absent or empty: `start`, `end`.
    Needed(&'static str),
    /// The one that would have to go with the other.
    Unpaired(&'static str),
}

/// Why a query does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidQuery {
    /// A parameter is no UTF-8 once it is decoded.
    NotUtf8 {
        /// The parameter as it was sent.
        parameter: String,
    },
    /// A parameter that can have one value only has two.
    Repeated {
        /// Which.
        parameter: &'static str,
        /// Its first value.
        first: String,
        /// The first value that differs.
        second: String,
    },
}

/// What failed. It goes to logs, not to callers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Upstream {
    /// The dataset.
    #[error(transparent)]
    Dataset(DatasetError),
    /// The query, for no fault of the caller's.
    #[error(transparent)]
    Query(Error),
    /// The gathering of the figures of benchmarks, for all requests that waited for it.
    #[error("the figures of benchmarks were not gathered: {0}")]
    Benchmarks(Arc<BenchmarkJobError>),
    /// The directory.
    #[error(transparent)]
    Directory(access::Error),
    /// An answer could not be written.
    #[error("the answer could not be written: {0}")]
    Write(std::io::Error),
    /// A published document is not what it was when it was ingested.
    #[error("the insight of account `{account}` of {date} does not read: {source}")]
    Document {
        /// Whose it is.
        account: String,
        /// The day of publication.
        date: Day,
        /// What the reader said.
        source: serde_json::Error,
    },
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

impl From<std::io::Error> for ServiceError {
    fn from(error: std::io::Error) -> Self {
        Self::Upstream(Upstream::Write(error))
    }
}

impl ServiceError {
    /// The error of a query.
    pub(super) fn query(error: Error) -> Self {
        match error {
            Error::Query(error) => Self::fault(error),
            Error::Dataset(error) => error.into(),
            Error::Interrupted(interruption) => Self::Timeout(interruption),
            Error::NoRoom(missing) => Self::no_room(missing),
            other => Self::Upstream(Upstream::Query(other)),
        }
    }

    fn fault(error: QueryError) -> Self {
        match error {
            QueryError::MissingFields => Self::MissingFields,
            QueryError::MissingMetric => Self::MissingMetric,
            QueryError::ReservedField { name } => Self::ReservedField { name },
            QueryError::ReversedRange { start, end } => Self::ReversedRange { start, end },
            QueryError::SpanTooLong { days, limit } => Self::SpanTooLong { days, limit },
            QueryError::TooManyRows { limit } => Self::TooManyRows { limit },
            QueryError::Filter { fault: FilterFault::Interrupted(interruption), .. } => Self::Timeout(interruption),
            QueryError::Filter { field, fault } => Self::Filter { field, fault },
            // A sum that whole numbers cannot hold: the data are at fault.
            other => Self::Upstream(Upstream::Query(other.into())),
        }
    }

    /// The error of a filter, or of the request's end while it was read.
    pub(super) fn filter(error: InvalidFilter) -> Self {
        error.interruption().map_or(Self::InvalidFilter(error), Self::Timeout)
    }

    /// The hour's refusal, if it is one.
    pub(super) const fn hourly(hourly: Hourly) -> Result<(), Self> {
        match hourly {
            Hourly::Allowed => Ok(()),
            Hourly::Limited { retry_after_seconds } => Err(Self::RateLimited { retry_after_seconds }),
        }
    }
}

impl std::fmt::Display for ServiceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.row().words)
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
