//! Which filters are accepted.

use super::filter::decimal_number;
use super::pattern::{CompiledPattern, CompiledPatterns};
use super::{Comparison, Operand, Predicate};
use crate::{Interruption, Shown, dictionary};

/// What is wrong with a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterFault {
    /// The flag means nothing.
    #[error("expected flags out of `i`, `m`, `s`, `u`, `x`, but found `{0}`")]
    UnknownFlag(char),
    /// The pattern is longer than allowed.
    #[error("the regular expression has {found} characters, but {limit} are allowed")]
    PatternTooLong {
        /// Its characters.
        found: usize,
        /// Characters allowed.
        limit: usize,
    },
    /// The pattern does not compile, or not within the size allowed.
    #[error("the regular expression `{}` does not compile: {reason}", Shown(.pattern))]
    BadPattern {
        /// The pattern on one line.
        pattern: String,
        /// Why it does not, on one line.
        reason: String,
    },
    /// The regular expressions of the request are larger than allowed, all together.
    #[error(
        "up to this one, the regular expressions of the request take more than {limit} bytes once they are compiled; \
         ask for fewer, or for shorter repetitions"
    )]
    PatternsTooLarge {
        /// Bytes allowed.
        limit: usize,
    },
    /// The request ended before its regular expressions were compiled; no fault of the condition.
    #[error(transparent)]
    Interrupted(Interruption),
    /// A metric or `total` is compared with something that is no number.
    #[error("expected a number to compare with, but found `{}`", Shown(.0))]
    NotANumber(String),
    /// A metric or `total` is tested as only a text can be.
    #[error("regex, empty and notEmpty test texts, but this field is a number")]
    NotAText,
    /// Conditions on finished rows and on events stand under one `or` or `not`.
    #[error(
        "conditions on metrics and on dimensions (or `total`) can be joined by `and` only: under one `or` or `not` they cannot be decided together"
    )]
    MixedKinds,
    /// Nested deeper than allowed.
    #[error("conditions are nested deeper than {limit} levels")]
    TooDeep {
        /// Levels allowed.
        limit: usize,
    },
    /// More conditions than allowed.
    #[error("the filter has more than {limit} operands")]
    TooManyOperands {
        /// Operands allowed.
        limit: usize,
    },
}

/// A test of a number that a field has: an event's `total` or a metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NumberPredicate {
    Equals(f64),
    NotEquals(f64),
    Compare(Comparison, f64),
}

impl NumberPredicate {
    /// Reads a test as one of numbers.
    pub(crate) fn new(test: &Predicate) -> Result<Self, FilterFault> {
        match test {
            Predicate::Equals(operand) => Ok(Self::Equals(number(operand)?)),
            Predicate::NotEquals(operand) => Ok(Self::NotEquals(number(operand)?)),
            Predicate::Compare(comparison, operand) => Ok(Self::Compare(*comparison, number(operand)?)),
            Predicate::Matches { .. } | Predicate::Empty | Predicate::NotEmpty => Err(FilterFault::NotAText),
        }
    }

    /// Whether a value passes; an absent one equals nothing and compares with nothing.
    pub(crate) fn holds(&self, value: Option<f64>) -> bool {
        match (self, value) {
            (Self::Equals(operand), Some(value)) => value == *operand,
            (Self::NotEquals(operand), Some(value)) => value != *operand,
            (Self::Compare(comparison, operand), Some(value)) => {
                value.partial_cmp(operand).is_some_and(|ordering| comparison.holds(ordering))
            }
            (Self::Equals(_) | Self::Compare(..), None) => false,
            (Self::NotEquals(_), None) => true,
        }
    }
}

fn number(operand: &Operand) -> Result<f64, FilterFault> {
    let number = match operand {
        Operand::Number(number) => Some(*number),
        Operand::Text(text) => decimal_number(text),
    };
    number.filter(|number| number.is_finite()).ok_or_else(|| {
        FilterFault::NotANumber(match operand {
            Operand::Number(number) => number.to_string(),
            Operand::Text(text) => text.clone(),
        })
    })
}

/// A test of a dimension's text, compiled.
#[derive(Clone, Debug)]
pub(crate) enum TextPredicate {
    Equals(Operand),
    NotEquals(Operand),
    Compare(Comparison, Operand),
    Matches(CompiledPattern),
    Empty,
    NotEmpty,
}

impl TextPredicate {
    /// Compiles a test of texts.
    pub(crate) fn new(test: &Predicate, patterns: &mut CompiledPatterns) -> Result<Self, FilterFault> {
        if let Predicate::Equals(Operand::Number(number))
        | Predicate::NotEquals(Operand::Number(number))
        | Predicate::Compare(_, Operand::Number(number)) = test
            && !number.is_finite()
        {
            return Err(FilterFault::NotANumber(number.to_string()));
        }
        Ok(match test {
            Predicate::Equals(operand) => Self::Equals(operand.clone()),
            Predicate::NotEquals(operand) => Self::NotEquals(operand.clone()),
            Predicate::Compare(comparison, operand) => Self::Compare(*comparison, operand.clone()),
            Predicate::Matches { pattern, flags } => Self::Matches(patterns.compile(pattern, flags)?),
            Predicate::Empty => Self::Empty,
            Predicate::NotEmpty => Self::NotEmpty,
        })
    }

    /// Whether a text passes.
    pub(crate) fn holds(&self, value: &str) -> bool {
        match self {
            Self::Equals(operand) => equals(value, operand),
            Self::NotEquals(operand) => !equals(value, operand),
            Self::Compare(_, _) if value.is_empty() => false,
            Self::Compare(comparison, Operand::Text(text)) => comparison.holds(value.as_bytes().cmp(text.as_bytes())),
            Self::Compare(comparison, Operand::Number(number)) => decimal_number(value)
                .and_then(|value| value.partial_cmp(number))
                .is_some_and(|ordering| comparison.holds(ordering)),
            Self::Matches(pattern) => pattern.is_match(value),
            Self::Empty => value.is_empty(),
            Self::NotEmpty => !value.is_empty(),
        }
    }
}

fn equals(value: &str, operand: &Operand) -> bool {
    match operand {
        Operand::Text(text) => value == text,
        Operand::Number(number) => decimal_number(value) == Some(*number),
    }
}

/// Whether the field is a number to filters: a metric, or the event's `total`.
pub(crate) fn is_number(name: &str) -> bool {
    dictionary::metric(name).is_some()
}

/// Whether a condition on the field is decided on finished rows: a metric other than the event's own `total`.
#[must_use]
pub fn is_result_metric(name: &str) -> bool {
    name != "total" && is_number(name)
}
