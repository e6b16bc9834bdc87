//! Why a filter is refused, and where in its parameter.

use std::fmt;
use trueup_core::query::{FilterFault, MAX_FILTER_DEPTH};
use trueup_core::{Interruption, QueryError, Shown};

/// A parameter is not a valid filter: which parameter, where in it, and why. Also the error of a request that ended
/// while its filters were read: then it has an [`interruption`](Self::interruption).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {fault}", Shown(.at))]
pub struct InvalidFilter {
    at: String,
    fault: ParseFault,
}

impl InvalidFilter {
    /// Returns the parameter and the place in its expression, for example `campaign` or `filter[1].total[2]`. Entry 0
    /// of a list is its operator.
    #[must_use]
    pub fn at(&self) -> &str {
        &self.at
    }

    /// Returns what ended the request while its filters were read: its deadline, or a cancellation. Returns `None` if
    /// the filter is invalid.
    #[must_use]
    pub const fn interruption(&self) -> Option<Interruption> {
        match self.fault {
            ParseFault::Filter(FilterFault::Interrupted(interruption)) => Some(interruption),
            _ => None,
        }
    }
}

/// Why a query cannot be built from the parameters of a request.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// The fields, the range or the columns to sort by are invalid.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A filter is invalid.
    #[error(transparent)]
    Filter(#[from] InvalidFilter),
}

/// What is wrong with a filter.
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
         `or` or `not`; metrics are decided on finished groups, so join the two with `and`",
        Shown(.metric), Shown(.dimension)
    )]
    Mixed { metric: String, dimension: String },
    /// A fault that the engine also finds in filters that were built by hand.
    #[error(transparent)]
    Filter(FilterFault),
}

impl ParseFault {
    pub(super) fn too_deep(path: &FilterPath<'_>) -> InvalidFilter {
        Self::Filter(FilterFault::TooDeep { limit: MAX_FILTER_DEPTH }).at(path)
    }

    /// Returns a function that converts a fault found at `path`.
    pub(super) fn found_at(path: &FilterPath<'_>) -> impl FnOnce(FilterFault) -> InvalidFilter {
        move |fault| Self::Filter(fault).at(path)
    }

    pub(super) fn at(self, path: &FilterPath<'_>) -> InvalidFilter {
        InvalidFilter { at: path.to_string(), fault: self }
    }
}

/// A place in a parameter's expression, for example `filter[1].total[2]`: a linked list on the parser's stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterPath<'a> {
    parent: Option<&'a FilterPath<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> FilterPath<'a> {
    pub(super) fn parameter(name: &'a str) -> Self {
        Self { parent: None, step: Step::Name(name) }
    }

    /// Returns the place of the entry `index` of the list here.
    pub(super) fn entry(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// Returns the place of the value of `key` in the object here.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Name(key) }
    }
}

impl fmt::Display for FilterPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.parent, self.step) {
            (None, Step::Name(name)) => f.write_str(name),
            (parent, step) => {
                if let Some(parent) = parent {
                    parent.fmt(f)?;
                }
                match step {
                    Step::Index(index) => write!(f, "[{index}]"),
                    Step::Name(name) if is_plain(name) => write!(f, ".{name}"),
                    Step::Name(name) => write!(f, "[{name:?}]"),
                }
            }
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_')
}
