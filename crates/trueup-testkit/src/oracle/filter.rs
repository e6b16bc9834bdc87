//! Section 8: conditions and how they are decided, in three-valued logic.

use regex::Regex;

use super::number::decimal_number;

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

/// What a condition looks at.
pub(super) enum Value {
    /// A dimension.
    Text(String),
    /// `total` of an event (`None`: null), or a finished metric.
    Number(Option<f64>),
    /// Not carried by spend, or a ratio whose denominator is 0.
    Unknown,
}

/// What a value is compared with. JSON null is the word `""`, true and false are those words.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Word(String),
    Number(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
}

/// One test of one value.
#[derive(Clone, Debug)]
pub(super) enum Test {
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
    Leaf(String, Test),
}

impl Condition {
    /// `and`/`or`/`not` in three-valued logic: `and` is false if one is false, unknown if none is false and one unknown;
    /// `or` is true if one is true, unknown if none is true and one unknown; `not` unknown is unknown.
    pub(super) fn truth(&self, value: &dyn Fn(&str) -> Value) -> Truth {
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
                Value::Unknown => Truth::Unknown,
                Value::Text(text) => Truth::from(test.holds_for_text(&text)),
                Value::Number(number) => Truth::from(test.holds_for_number(number)),
            },
        }
    }

    /// Every field that is tested.
    pub(super) fn fields(&self) -> Vec<&str> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::fields).collect(),
            Self::Not(part) => part.fields(),
            Self::Leaf(field, _) => vec![field],
        }
    }
}

impl Test {
    fn holds_for_text(&self, v: &str) -> bool {
        match self {
            // "equals x; JSON `null`: is `""`; JSON `true`/`false`: is that word".
            Self::Compare(Comparison::Eq, Operand::Word(x)) => v == x,
            // "JSON number: is a decimal number equal to it".
            Self::Compare(Comparison::Eq, Operand::Number(x)) => decimal_number(v) == Some(*x),
            Self::Compare(Comparison::Ne, Operand::Word(x)) => v != x,
            Self::Compare(Comparison::Ne, Operand::Number(x)) => decimal_number(v) != Some(*x),
            // "as numbers if x is a number (a v that is no decimal number never holds)".
            Self::Compare(comparison, Operand::Number(x)) => {
                decimal_number(v).is_some_and(|number| comparison.orders(&number, x))
            }
            // "as text, byte by byte, if x is a string. `""` never holds".
            Self::Compare(comparison, Operand::Word(x)) => {
                !v.is_empty() && comparison.orders(&v.as_bytes(), &x.as_bytes())
            }
            // "contains a match".
            Self::Regex(regex) => regex.is_match(v),
            Self::Empty => v.is_empty(),
            Self::NotEmpty => !v.is_empty(),
        }
    }

    /// On `total` and metrics every operand is a number. A null `total` behaves as `""`.
    fn holds_for_number(&self, v: Option<f64>) -> bool {
        match self {
            Self::Compare(Comparison::Ne, Operand::Number(x)) => v != Some(*x),
            Self::Compare(comparison, Operand::Number(x)) => v.is_some_and(|number| comparison.orders(&number, x)),
            // Refused when the filter was read.
            Self::Compare(_, Operand::Word(_)) | Self::Regex(_) | Self::Empty | Self::NotEmpty => false,
        }
    }
}

impl Comparison {
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
