//! Shows the rows of an answer with the targets of their metrics.

mod cells;
mod comparison;
mod note;
mod rows;
mod selection;

pub use comparison::{TargetColumn, TargetComparison};

use crate::error::QueryError;
use crate::text::quoted;

/// Why the answer to a query cannot have targets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotTargeted {
    /// The query compares two ranges.
    #[error("an answer has either targets or a comparison; leave one of the two out")]
    Compared,
    /// The query is one of a cohort.
    #[error("targets are of the days of a month, and not of a cohort of leads; leave the cohort out")]
    Cohort,
    /// None of the metrics has a target.
    #[error(
        "none of the metrics has a target{}",
        if .0.is_empty() { ", and nor has any other metric of these accounts".to_owned() } else {
            format!("; metrics with targets are {}", quoted(.0))
        }
    )]
    NoMetric(Vec<String>),
}

impl From<NotTargeted> for QueryError {
    fn from(fault: NotTargeted) -> Self {
        Self::NotTargeted(fault)
    }
}
