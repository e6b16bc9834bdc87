//! Why a filter is refused.

use super::path::FilterPath;
use trueup_core::query::{FilterFault, MAX_FILTER_DEPTH};
use trueup_core::{Interruption, QueryError, Shown};

/// A parameter is no filter: which one, where in it, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {fault}", Shown(.at))]
pub struct InvalidFilter {
    at: String,
    fault: ParseFault,
}

impl InvalidFilter {
    /// The parameter, and where in its expression: `campaign`, `filter[1].total[2]`. Entry 0 of a list is its operator.
    #[must_use]
    pub fn at(&self) -> &str {
        &self.at
    }

    /// What ended the request before the filter was read; `None` if the filter is at fault.
    #[must_use]
    pub const fn interruption(&self) -> Option<Interruption> {
        match self.fault {
            ParseFault::Test(FilterFault::Interrupted(interruption)) => Some(interruption),
            _ => None,
        }
    }
}

/// Why a request is refused before its query is run.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// The fields or the range are at fault.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A filter is at fault.
    #[error(transparent)]
    Filter(#[from] InvalidFilter),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ParseFault {
    #[error("expected JSON, but found `{}` ({reason})", Shown(.text))]
    NotJson { text: String, reason: String },
    #[error("expected an operator, but found nothing; an expression is a list such as `[\"eq\", \"x\"]`")]
    EmptyList,
    #[error("expected at least one field, but found `{{}}`")]
    EmptyObject,
    #[error("expected a field once, but found `{}` again", Shown(.0))]
    DuplicateKey(String),
    #[error("expected an operator (one of {known}), but found {found}{hint}")]
    UnknownOperator { known: &'static str, found: String, hint: &'static str },
    #[error("expected {wanted} for `{operator}`, but found {found}")]
    OperandCount { operator: String, wanted: &'static str, found: usize },
    #[error("expected {wanted}, but found {found}")]
    OperandKind { wanted: &'static str, found: String },
    #[error(
        "expected conditions that can be decided together, but found metric `{}` and dimension `{}` under one \
         `or` or `not`; metrics are decided on finished rows, so join the two with `and`",
        Shown(.metric), Shown(.dimension)
    )]
    Mixed { metric: String, dimension: String },
    #[error(transparent)]
    Test(FilterFault),
}

impl ParseFault {
    pub(super) fn too_deep(path: &FilterPath<'_>) -> InvalidFilter {
        Self::Test(FilterFault::TooDeep { limit: MAX_FILTER_DEPTH }).at(path)
    }

    /// A bound is passed at `path`.
    pub(super) fn beyond(path: &FilterPath<'_>) -> impl FnOnce(FilterFault) -> InvalidFilter {
        move |fault| Self::Test(fault).at(path)
    }

    pub(super) fn at(self, path: &FilterPath<'_>) -> InvalidFilter {
        InvalidFilter { at: path.to_string(), fault: self }
    }
}
