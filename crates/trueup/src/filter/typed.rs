//! Conditions as people type them, such as `total >= 500`: parsed, with the place of a fault, and printed.
//!
//! | form | holds when the value of the field |
//! |---|---|
//! | `field=value`, without a blank before `=` | satisfies this parameter of the API: text or JSON after `=` |
//! | `field = value`, `field != value` | equals the value, or does not |
//! | `field < value`, `<=`, `>`, `>=` | compares: as a number if the value is an unquoted number, else as text |
//! | `field ~ regex`, `field ~* regex` | contains a match; `~*` ignores case |
//! | `field in (a, b)`, `field not in (a, b)` | is one of the values, or none of them |
//! | `field is empty`, `field is not empty` | is the empty text, or is not |
//!
//! A metric or `total` is always compared as a number, even if the number is in quotes.
//!
//! As in SQL, a value with blanks is in single quotes, and a single quote inside of it is written twice: `'Dan''s
//! Drains'`. In the form `field=value`, however, the value is all of the text after `=`, quotes included. A field whose
//! name has blanks or one of `=!<>~"'(),` is in double quotes; in the form `field=value`, a name such as `Lead Source`,
//! in which no operator follows the first word, needs no quotes. The words of operators, such as `in`, may be in upper
//! or lower case.
//!
//! | file | what it does |
//! |---|---|
//! | `parser` | parses a condition |
//! | `fault` | describes why a text is not a condition, and marks the place |

mod fault;
mod parser;
#[cfg(test)]
mod tests;

pub use fault::ParseConditionError;

use super::error::{FilterPath, InvalidFilter, ParseFault};
use super::expression::ParsedCondition;
use parser::{ends_item, is_like_a_number, is_name_char, is_word};
use serde::{Deserialize, Serialize};
use std::fmt;
use trueup_core::query::{Filter, FilterLimits, Operand, Predicate};

/// A condition on one field as people type it. [`FromStr`](std::str::FromStr) parses it, and [`Display`](fmt::Display)
/// prints it so that it parses to an equal condition.
///
/// Parsing checks the form alone. [`filter`](Self::filter) also checks that the value suits the field.
///
/// ```
/// use trueup::filter::TypedCondition;
/// use trueup::query::Filter;
///
/// let condition: TypedCondition = "campaign = 'Spring Sale'".parse()?;
/// assert_eq!(condition.filter()?, Filter::equals("campaign", "Spring Sale"));
///
/// let refused = "total => 500".parse::<TypedCondition>().unwrap_err();
/// assert_eq!(refused.column(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TypedCondition {
    field: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// `field=value`: the value of a parameter of the API.
    Parameter(String),
    Predicate(Predicate),
    In {
        values: Vec<String>,
        negated: bool,
    },
}

impl TypedCondition {
    /// Returns the condition that a field has none of these values.
    pub fn not_in(field: impl Into<String>, values: Vec<String>) -> Self {
        Self { field: field.into(), test: Test::In { values, negated: true } }
    }

    /// Returns the field that the condition is on.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the condition as a filter.
    ///
    /// # Errors
    /// The field is a number (a metric or `total`) and the condition does not compare it with a number, a regular
    /// expression does not compile or is too long or too large, a JSON expression is invalid, or there are too many
    /// values.
    pub fn filter(&self) -> Result<Filter, InvalidFilter> {
        self.read(&mut FilterLimits::default()).map(|read| read.filter)
    }

    /// Returns the field if the form is `field=value`, also with a JSON expression, or `field = value`: such conditions
    /// on one field are alternatives.
    pub(super) fn alternative(&self) -> Option<&str> {
        let is_equality = matches!(self.test, Test::Parameter(_) | Test::Predicate(Predicate::Equals(_)));
        is_equality.then_some(self.field.as_str())
    }

    /// Converts the condition, and counts it against the limits.
    pub(super) fn read(&self, limits: &mut FilterLimits) -> Result<ParsedCondition, InvalidFilter> {
        let path = FilterPath::parameter(&self.field);
        let read = |limits: &mut FilterLimits, predicate| {
            limits.count_condition().map_err(ParseFault::found_at(&path))?;
            ParsedCondition::new(limits, &self.field, predicate, &path, false)
        };
        match &self.test {
            Test::Parameter(value) => super::parse_parameter(limits, &self.field, value),
            Test::Predicate(predicate) => read(limits, predicate.clone()),
            Test::In { values, negated } => {
                let levels = 1 + usize::from(*negated);
                (1..=levels).try_for_each(|depth| limits.count_join(depth)).map_err(ParseFault::found_at(&path))?;
                let equals = |value: &String| read(limits, Predicate::Equals(Operand::Text(value.clone())));
                let any = ParsedCondition::any(values.iter().map(equals).collect::<Result<_, _>>()?, &path)?;
                if *negated { any.not(&path) } else { Ok(any) }
            }
        }
    }
}

impl TryFrom<String> for TypedCondition {
    type Error = ParseConditionError;

    fn try_from(text: String) -> Result<Self, ParseConditionError> {
        text.parse()
    }
}

impl From<TypedCondition> for String {
    fn from(condition: TypedCondition) -> Self {
        condition.to_string()
    }
}

impl fmt::Display for TypedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() || !self.field.chars().all(is_name_char) {
            write!(f, "\"{}\"", self.field.replace('"', "\"\""))?;
        } else {
            f.write_str(&self.field)?;
        }
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let word = |text: &str| if is_word(text) { text.to_owned() } else { quoted(text) };
        match &self.test {
            Test::Parameter(value) => write!(f, "={value}"),
            Test::Predicate(predicate) => match predicate {
                Predicate::Equals(operand) => write!(f, " = {}", word(&shown(operand))),
                Predicate::NotEquals(operand) => write!(f, " != {}", word(&shown(operand))),
                Predicate::Compare(comparison, Operand::Number(number)) => {
                    write!(f, " {} {number}", comparison.symbol())
                }
                Predicate::Compare(comparison, Operand::Text(text)) => {
                    let text = if is_like_a_number(text) { quoted(text) } else { word(text) };
                    write!(f, " {} {text}", comparison.symbol())
                }
                Predicate::Matches { pattern, flags } => {
                    write!(f, " ~{} {}", if flags.is_empty() { "" } else { "*" }, word(pattern))
                }
                Predicate::Empty => f.write_str(" is empty"),
                Predicate::NotEmpty => f.write_str(" is not empty"),
            },
            Test::In { values, negated } => {
                let item = |text: &String| {
                    if is_word(text) && !text.contains(ends_item) { text.clone() } else { quoted(text) }
                };
                let values: Vec<String> = values.iter().map(item).collect();
                write!(f, " {} ({})", if *negated { "not in" } else { "in" }, values.join(", "))
            }
        }
    }
}

/// Returns an operand of an equality as text. The parser makes all of these operands texts.
fn shown(operand: &Operand) -> String {
    match operand {
        Operand::Text(text) => text.clone(),
        Operand::Number(number) => number.to_string(),
    }
}
