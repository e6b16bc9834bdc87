//! Why a request for benchmarks is refused.

use super::{BenchmarkDimension, BenchmarkMetric, Month};
use crate::Shown;
use std::fmt;

/// Why benchmarks are not answered: what was asked is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BenchmarkFault {
    /// Fields were named, and none of them is a metric.
    #[error("expected at least one metric among the fields; those with benchmarks are {}", NameList(&BenchmarkMetric::ALL))]
    MissingMetric,
    /// The text names no month that data can have.
    #[error("expected a month as YYYY-MM from 1970-01 on, or `previous-mtd`, but found `{}`", Shown(.found))]
    InvalidMonth {
        /// The text.
        found: String,
    },
    /// The month has not begun.
    #[error("the month `{month}` has not begun; the latest that can be asked for is `{current}`")]
    FutureMonth {
        /// The month asked for.
        month: Month,
        /// The month that today is in.
        current: Month,
    },
    /// A field has no benchmarks.
    #[error(
        "there are no benchmarks of or by `{}`; metrics with benchmarks are {}, and dimensions {}",
        Shown(.name), NameList(&BenchmarkMetric::ALL), NameList(&BenchmarkDimension::ALL)
    )]
    Field {
        /// Its name.
        name: String,
    },
    /// A field that is filtered on does not filter benchmarks.
    #[error("benchmarks cannot be filtered on `{}`; they can be on {}", Shown(.name), NameList(&BenchmarkDimension::ALL))]
    Filter {
        /// Its name.
        name: String,
    },
    /// A dimension is filtered on with different values.
    #[error(
        "benchmarks are filtered on one value of a dimension, but `{dimension}` was given `{}` and `{}`",
        Shown(.first), Shown(.second)
    )]
    SeveralValues {
        /// The dimension.
        dimension: BenchmarkDimension,
        /// The value given first.
        first: String,
        /// A value given later.
        second: String,
    },
}

impl BenchmarkFault {
    /// Whether a field or filter is at fault that benchmarks do not know, or do not know in that way.
    #[must_use]
    pub const fn is_not_benchmarkable(&self) -> bool {
        matches!(self, Self::Field { .. } | Self::Filter { .. } | Self::SeveralValues { .. })
    }
}

/// NameList in a sentence.
struct NameList<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for NameList<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
