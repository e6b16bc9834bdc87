//! Conditions on fields.

/// A condition on one row: conditions on fields, joined.
///
/// A condition on a dimension, or on `total` (the event's own amount), picks events; one on any other metric picks finished rows.
/// The two kinds may be joined by [`Filter::All`] only.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// Every one holds; an empty list always holds.
    All(Vec<Filter>),
    /// At least one holds; an empty list never holds.
    Any(Vec<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
    /// The field's value passes the test.
    Field {
        /// A dimension or metric; names that no table has read as the empty text.
        name: String,
        /// The test of its value.
        predicate: Predicate,
    },
}

/// A test of one field's value `v`; a dimension's value is its text, null being the empty text.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// `v` equals the operand.
    Equals(Operand),
    /// `v` does not equal the operand.
    NotEquals(Operand),
    /// `v` compares with the operand as stated; the empty text never does.
    Compare(Comparison, Operand),
    /// `v` contains a match of the regular expression.
    Matches {
        /// The expression, in the syntax of the `regex` crate; at most 1,000 characters.
        pattern: String,
        /// Any of `i`, `m`, `s`, `u`, `x`.
        flags: String,
    },
    /// `v` is empty.
    Empty,
    /// `v` is not empty.
    NotEmpty,
}

/// How two values are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

impl Comparison {
    /// Whether a value that orders so against the operand passes.
    #[must_use]
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
        }
    }
}

/// What a value is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Text, byte by byte. JSON `null`, `true` and `false` are the texts ``, `true` and `false`.
    Text(String),
    /// A number: a text that is a decimal number equals or compares with it as a double.
    Number(f64),
}

impl Filter {
    /// The condition that `name` passes `test`.
    #[must_use]
    pub fn field(name: impl Into<String>, predicate: Predicate) -> Self {
        Self::Field { name: name.into(), predicate }
    }

    /// The condition that `name` is the text `value`.
    #[must_use]
    pub fn equals(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::field(name, Predicate::Equals(Operand::Text(value.into())))
    }

    /// This condition and `other`.
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

/// The double of a decimal number `-?[0-9]+(\.[0-9]+)?`, or `None` for any other text.
#[must_use]
pub(crate) fn decimal_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let shaped = match unsigned.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(unsigned),
    };
    if shaped { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::decimal_number;

    #[test]
    fn decimal_numbers_are_plain() {
        assert_eq!(decimal_number("-12.50"), Some(-12.5));
        assert_eq!(decimal_number("007"), Some(7.0));
        for text in ["", "-", "+1", "1.", ".5", "1e3", "٣", "1 ", "NaN", "1.2.3"] {
            assert_eq!(decimal_number(text), None, "{text}");
        }
    }
}
