//! Predicates on numbers and on texts, checked and compiled.

use super::pattern::{CompiledPattern, CompiledPatterns};
use super::{Comparison, FilterFault, Operand, Predicate};
use crate::dictionary;

/// A predicate on a number: the `total` of an event, or a metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NumberPredicate {
    Equals(f64),
    NotEquals(f64),
    Compare(Comparison, f64),
}

impl NumberPredicate {
    /// Reads a predicate as one on numbers.
    pub(crate) fn new(predicate: &Predicate) -> Result<Self, FilterFault> {
        match predicate {
            Predicate::Equals(operand) => Ok(Self::Equals(number(operand)?)),
            Predicate::NotEquals(operand) => Ok(Self::NotEquals(number(operand)?)),
            Predicate::Compare(comparison, operand) => Ok(Self::Compare(*comparison, number(operand)?)),
            Predicate::Matches { .. } | Predicate::Empty | Predicate::NotEmpty => Err(FilterFault::NotAText),
        }
    }

    /// Returns whether a value passes. An absent value equals nothing and compares with nothing.
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

/// A predicate on the text of a dimension, with its regular expression compiled.
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
    /// Reads a predicate as one on texts, and compiles its regular expression.
    pub(crate) fn new(predicate: &Predicate, patterns: &mut CompiledPatterns) -> Result<Self, FilterFault> {
        if let Predicate::Equals(Operand::Number(number))
        | Predicate::NotEquals(Operand::Number(number))
        | Predicate::Compare(_, Operand::Number(number)) = predicate
            && !number.is_finite()
        {
            return Err(FilterFault::NotANumber(number.to_string()));
        }
        Ok(match predicate {
            Predicate::Equals(operand) => Self::Equals(operand.clone()),
            Predicate::NotEquals(operand) => Self::NotEquals(operand.clone()),
            Predicate::Compare(comparison, operand) => Self::Compare(*comparison, operand.clone()),
            Predicate::Matches { pattern, flags } => Self::Matches(patterns.compile(pattern, flags)?),
            Predicate::Empty => Self::Empty,
            Predicate::NotEmpty => Self::NotEmpty,
        })
    }

    /// Returns whether a text passes.
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

/// Returns whether filters treat the field as a number. They do for every metric, the event's own `total` among them.
pub(crate) fn is_number(name: &str) -> bool {
    dictionary::metric(name).is_some()
}

/// Returns whether a condition on the field selects rows of the result instead of events: whether the field is a
/// metric other than the event's own `total`.
///
/// ```
/// use trueup_core::query::is_result_metric;
///
/// assert!(is_result_metric("bookRate"));
/// assert!(!is_result_metric("total") && !is_result_metric("campaign"));
/// ```
#[must_use]
pub fn is_result_metric(name: &str) -> bool {
    name != "total" && is_number(name)
}

/// Returns the double of a decimal number `-?[0-9]+(\.[0-9]+)?`, or `None` for any other text.
fn decimal_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_decimal = match unsigned.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(unsigned),
    };
    if is_decimal { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::decimal_number;

    #[test]
    fn only_plain_decimal_numbers_are_read() {
        assert_eq!(decimal_number("-12.50"), Some(-12.5));
        assert_eq!(decimal_number("007"), Some(7.0));
        for text in ["", "-", "+1", "1.", ".5", "1e3", "٣", "1 ", "NaN", "1.2.3"] {
            assert_eq!(decimal_number(text), None, "{text}");
        }
    }
}
