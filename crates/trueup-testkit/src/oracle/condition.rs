//! Section 8: conditions, and how they are decided in three-valued logic.

use regex::Regex;

use super::values::decimal_number;

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// The value that a condition tests.
pub(super) enum TestedValue {
    /// A dimension.
    Text(String),
    /// `total` of an event (`None`: null), or a finished metric.
    Number(Option<f64>),
    /// A dimension that spend does not carry, or a ratio whose denominator is 0.
    Unknown,
}

/// The operand of a comparison. JSON null is the text `""`; true and false are the texts `true` and `false`.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Text(String),
    Number(f64),
}

/// How a value is compared with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
}

/// A test of one value.
#[derive(Clone, Debug)]
pub(super) enum ValueTest {
    Compare(Comparison, Operand),
    Regex(Regex),
    Empty,
    NotEmpty,
}

/// A tree of tests on fields.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Leaf(String, ValueTest),
}

impl Condition {
    /// Decides the condition in three-valued logic: `and` is false if one is false, unknown if none is false and one
    /// unknown; `or` is true if one is true, unknown if none is true and one unknown; `not` unknown is unknown.
    pub(super) fn truth(&self, value: &dyn Fn(&str) -> TestedValue) -> Truth {
        match self {
            Self::All(parts) => {
                let truths: Vec<Truth> = parts.iter().map(|part| part.truth(value)).collect();
                if truths.contains(&Truth::False) {
                    Truth::False
                } else if truths.contains(&Truth::Unknown) {
                    Truth::Unknown
                } else {
                    Truth::True
                }
            }
            Self::Any(parts) => {
                let truths: Vec<Truth> = parts.iter().map(|part| part.truth(value)).collect();
                if truths.contains(&Truth::True) {
                    Truth::True
                } else if truths.contains(&Truth::Unknown) {
                    Truth::Unknown
                } else {
                    Truth::False
                }
            }
            Self::Not(part) => match part.truth(value) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            },
            Self::Leaf(field, test) => match value(field) {
                TestedValue::Unknown => Truth::Unknown,
                TestedValue::Text(text) => Truth::from(test.holds_for_text(&text)),
                TestedValue::Number(number) => Truth::from(test.holds_for_number(number)),
            },
        }
    }

    /// Returns every tested field.
    pub(super) fn fields(&self) -> Vec<&str> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::fields).collect(),
            Self::Not(part) => part.fields(),
            Self::Leaf(field, _) => vec![field],
        }
    }
}

impl ValueTest {
    /// Tests a dimension. `v` and `x` are the value and the operand, as in the table of section 8.
    fn holds_for_text(&self, v: &str) -> bool {
        match self {
            // "equals x; JSON `null`: is `""`; JSON `true`/`false`: is that word".
            Self::Compare(Comparison::Eq, Operand::Text(x)) => v == x,
            // "JSON number: is a decimal number equal to it".
            Self::Compare(Comparison::Eq, Operand::Number(x)) => decimal_number(v) == Some(*x),
            Self::Compare(Comparison::Ne, Operand::Text(x)) => v != x,
            Self::Compare(Comparison::Ne, Operand::Number(x)) => decimal_number(v) != Some(*x),
            // "as numbers if x is a number (a v that is no decimal number never holds)".
            Self::Compare(comparison, Operand::Number(x)) => {
                decimal_number(v).is_some_and(|number| comparison.orders(&number, x))
            }
            // "as text, byte by byte, if x is a string. `""` never holds".
            Self::Compare(comparison, Operand::Text(x)) => {
                !v.is_empty() && comparison.orders(&v.as_bytes(), &x.as_bytes())
            }
            // "contains a match".
            Self::Regex(regex) => regex.is_match(v),
            Self::Empty => v.is_empty(),
            Self::NotEmpty => !v.is_empty(),
        }
    }

    /// Tests `total` or a metric, for which every operand is a number. A null `total` behaves as `""`.
    fn holds_for_number(&self, v: Option<f64>) -> bool {
        match self {
            Self::Compare(Comparison::Ne, Operand::Number(x)) => v != Some(*x),
            Self::Compare(comparison, Operand::Number(x)) => v.is_some_and(|number| comparison.orders(&number, x)),
            // These were refused when the filter was read.
            Self::Compare(_, Operand::Text(_)) | Self::Regex(_) | Self::Empty | Self::NotEmpty => false,
        }
    }
}

impl Comparison {
    /// Returns whether the comparison of `v` with `x` holds.
    fn orders<T: PartialOrd>(self, v: &T, x: &T) -> bool {
        match self {
            Self::Eq => v == x,
            Self::Ne => v != x,
            Self::Gt => v > x,
            Self::Gte => v >= x,
            Self::Lt => v < x,
            Self::Lte => v <= x,
        }
    }
}
