//! Conditions on fields, and the reasons why one is refused. `predicate` compiles what a condition asks of one value.

mod predicate;
#[cfg(test)]
mod tests;

pub use predicate::{CompiledPatterns, MAX_PATTERN_BYTES, MAX_PATTERN_CHARS, MAX_PATTERNS_BYTES, is_result_metric};

pub(crate) use predicate::{CompiledPattern, NumberPredicate, TextPredicate, decimal_number};

use crate::{Interruption, Shown};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A condition on the rows of a query: predicates on fields, joined by `and`, `or` and `not`.
///
/// # Kinds of fields
/// A condition on a dimension, or on `total` (an event's own amount), selects events and spend before they are
/// aggregated. A condition on any other metric selects rows of the result. Only a [`Filter::All`] that no
/// [`Filter::Any`] or [`Filter::Not`] contains can join the two kinds, because a row of the result cannot be decided
/// together with an event.
///
/// A row of spend is left out only if the condition is false for it, whatever the values of the fields that spend does
/// not have. `total` is one of these fields.
///
/// # Null and empty
/// A null dimension is the empty text. A dimension that no table has is the empty text on every event. The `total` of
/// an event without an amount equals nothing and compares with nothing, so that only [`Predicate::NotEquals`] accepts
/// it. A ratio whose denominator is 0 passes neither a predicate nor its opposite.
///
/// # Errors
/// Building a filter never fails. The query that a filter is added to refuses it with a [`FilterFault`] if a predicate
/// does not suit its field, if a regular expression does not compile or is too large, if the two kinds are mixed, or if
/// the filter exceeds [`MAX_FILTER_DEPTH`](crate::query::MAX_FILTER_DEPTH) or
/// [`MAX_FILTER_OPERANDS`](crate::query::MAX_FILTER_OPERANDS).
///
/// # Example: new customers with an event of at least 500 currency units
/// ```
/// use trueup_core::query::{ComparisonOperator, Filter, Operand, Predicate};
///
/// let at_least = Predicate::Compare(ComparisonOperator::GreaterOrEqual, Operand::Number(500.0));
/// let filter = Filter::equals("customerStatus", "New Customer").and(Filter::field("total", at_least));
/// assert!(matches!(filter, Filter::All(parts) if parts.len() == 2));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Filter {
    /// Every condition holds. An empty list always holds.
    All(Vec<Filter>),
    /// At least one condition holds. An empty list never holds.
    Any(Vec<Filter>),
    /// The condition does not hold.
    Not(Box<Filter>),
    /// The field's value passes the predicate.
    Field {
        /// The name of a dimension or a metric.
        name: String,
        /// The predicate on its value.
        predicate: Predicate,
    },
}

/// A predicate on one field's value `v`. The value of a dimension is its text; null is the empty text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Predicate {
    /// `v` equals the operand.
    Equals(Operand),
    /// `v` does not equal the operand.
    NotEquals(Operand),
    /// `v` compares with the operand as stated. The empty text never does.
    Compare(ComparisonOperator, Operand),
    /// `v` contains a match of the regular expression. Only texts can match.
    Matches {
        /// The expression, in the syntax of the `regex` crate; at most [`MAX_PATTERN_CHARS`] characters.
        pattern: String,
        /// Any of `i` (case does not matter), `m` (`^` and `$` match at each line), `s` (`.` matches a line feed), `x`
        /// (white space and comments in the pattern are ignored) and `u` (no effect: matching is always Unicode).
        flags: String,
    },
    /// `v` is the empty text. A metric or `total` cannot be tested for that.
    Empty,
    /// `v` is not the empty text. A metric or `total` cannot be tested for that.
    NotEmpty,
}

/// An operator that compares a value with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ComparisonOperator {
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

impl ComparisonOperator {
    /// Returns whether a value passes; `ordering` is the order of the value relative to the operand.
    #[must_use]
    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
        }
    }

    /// Returns the operator as people write it.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
        }
    }
}

/// The constant that a value is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operand {
    /// A text, compared byte by byte; a metric or `total` takes only the text of a decimal number, and compares it as a
    /// number. In a filter of the API, JSON `null` is the empty text, and JSON `true` and `false` are the texts `true`
    /// and `false`.
    Text(String),
    /// A number. A dimension's text compares with it as a double if the text is a decimal number, and not at all
    /// otherwise.
    Number(f64),
}

impl Filter {
    /// Returns the condition that the field `name` passes `predicate`.
    #[must_use]
    pub fn field(name: impl Into<String>, predicate: Predicate) -> Self {
        Self::Field { name: name.into(), predicate }
    }

    /// Returns the condition that the field `name` equals the text `value`.
    #[must_use]
    pub fn equals(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::field(name, Predicate::Equals(Operand::Text(value.into())))
    }

    /// Returns the condition that both this condition and `other` hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut parts) => {
                parts.push(other);
                Self::All(parts)
            }
            first => Self::All(vec![first, other]),
        }
    }
}

/// The reason why a condition is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterFault {
    /// A flag of a regular expression is unknown.
    #[error("expected flags among `i`, `m`, `s`, `u`, `x`, but found `{0}`")]
    UnknownFlag(char),
    /// A regular expression has too many characters.
    #[error("the regular expression has {found} characters, but {limit} are allowed")]
    PatternTooLong {
        /// The number of its characters.
        found: usize,
        /// The number of characters allowed.
        limit: usize,
    },
    /// A regular expression does not compile, or takes more memory than a single one may.
    #[error("the regular expression `{}` does not compile: {reason}", Shown(.pattern))]
    BadPattern {
        /// The pattern, on one line.
        pattern: String,
        /// The reason, on one line.
        reason: String,
    },
    /// The regular expressions of the request take more memory than they may together.
    #[error(
        "up to this one, the regular expressions of the request take more than {limit} bytes once they are compiled; \
         ask for fewer, or for shorter repetitions"
    )]
    PatternsTooLarge {
        /// The number of bytes allowed.
        limit: usize,
    },
    /// The request was interrupted before its regular expressions were compiled. The condition itself is not at fault.
    #[error(transparent)]
    Interrupted(Interruption),
    /// A metric or `total` is compared with an operand that is not a decimal number, or any field with a number that is
    /// not finite.
    #[error("expected a number to compare with, but found `{}`", Shown(.0))]
    NotANumber(String),
    /// A metric or `total` has a predicate that only texts can pass.
    #[error("regex, empty and notEmpty test texts, but this field is a number")]
    NotAText,
    /// One `or` or `not` joins conditions on rows of the result with conditions on events.
    #[error(
        "conditions on metrics and on dimensions (or `total`) can be joined by `and` only: under one `or` or `not` they cannot be decided together"
    )]
    MixedKinds,
    /// The condition is nested too deeply.
    #[error("conditions are nested deeper than {limit} levels")]
    TooDeep {
        /// The number of levels allowed.
        limit: usize,
    },
    /// The filters of the request have too many operands.
    #[error("the filter has more than {limit} operands")]
    TooManyOperands {
        /// The number of operands allowed.
        limit: usize,
    },
}
