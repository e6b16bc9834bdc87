//! Parses conditions, from left to right: a field, an operator, and what the operator takes.

use super::{ParseConditionError, Test, TypedCondition};
use std::str::FromStr;
use trueup_core::Shown;
use trueup_core::query::{ComparisonOperator, Operand, Predicate};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equals,
    NotEquals,
    Compare(ComparisonOperator),
    Matches { flags: &'static str },
    In { negated: bool },
    Empty,
    NotEmpty,
}

/// The operators that are signs. A sign that starts with another sign comes before it.
const SIGNS: [(&str, Operator); 8] = [
    ("!=", Operator::NotEquals),
    ("<=", Operator::Compare(ComparisonOperator::LessOrEqual)),
    (">=", Operator::Compare(ComparisonOperator::GreaterOrEqual)),
    ("<", Operator::Compare(ComparisonOperator::Less)),
    (">", Operator::Compare(ComparisonOperator::Greater)),
    ("~*", Operator::Matches { flags: "i" }),
    ("~", Operator::Matches { flags: "" }),
    ("=", Operator::Equals),
];
/// The operators that are words.
const WORDS: [(&[&str], Operator); 4] = [
    (&["in"], Operator::In { negated: false }),
    (&["not", "in"], Operator::In { negated: true }),
    (&["is", "empty"], Operator::Empty),
    (&["is", "not", "empty"], Operator::NotEmpty),
];
/// Operators of other languages, each with what to write here in its place.
const FAMILIAR: [(&str, &str); 17] = [
    ("<>", "`!=`"),
    ("=>", "`>=`"),
    ("=<", "`<=`"),
    ("==", "`=`"),
    ("=~", "`~`"),
    ("!~", "a JSON expression with `not` and `regex`"),
    ("between", "two conditions, with `>=` and `<=`"),
    ("contains", "`~*` and a regular expression"),
    ("eq", "`=`"),
    ("equals", "`=`"),
    ("ilike", "`~*` and a regular expression"),
    ("is", "`is empty` or `is not empty`; a value that is missing is empty"),
    ("like", "`~` and a regular expression"),
    ("matches", "`~` and a regular expression"),
    ("ne", "`!=`"),
    ("not", "`not in`"),
    ("regexp", "`~` and a regular expression"),
];

impl FromStr for TypedCondition {
    type Err = ParseConditionError;

    fn from_str(text: &str) -> Result<Self, ParseConditionError> {
        let mut cursor = Cursor { text, at: 0 };
        cursor.skip_blanks();
        let field = cursor.field()?;
        if let Some(value) = cursor.rest().strip_prefix('=') {
            return Ok(Self { field, test: Test::Parameter(value.to_owned()) });
        }
        cursor.skip_blanks();
        let Some(operator) = cursor.operator() else {
            // The name of a parameter may have blanks and signs.
            if let Some((name, value)) = text.split_once('=')
                && cursor.familiar_operator().is_none()
                && !name.ends_with(|char: char| char.is_whitespace() || matches!(char, '!' | '<' | '>' | '~'))
            {
                return Ok(Self { field: name.trim_start().to_owned(), test: Test::Parameter(value.to_owned()) });
            }
            return Err(cursor.no_operator());
        };
        let test = match operator {
            Operator::Equals => Test::Predicate(Predicate::Equals(Operand::Text(cursor.value(operator)?.text))),
            Operator::NotEquals => Test::Predicate(Predicate::NotEquals(Operand::Text(cursor.value(operator)?.text))),
            Operator::Compare(comparison) => Test::Predicate(Predicate::Compare(comparison, cursor.operand(operator)?)),
            Operator::Matches { flags } => {
                let pattern = cursor.value(operator)?.text;
                Test::Predicate(Predicate::Matches { pattern, flags: flags.to_owned() })
            }
            Operator::In { negated } => Test::In { values: cursor.list()?, negated },
            Operator::Empty => Test::Predicate(Predicate::Empty),
            Operator::NotEmpty => Test::Predicate(Predicate::NotEmpty),
        };
        cursor.end()?;
        Ok(Self { field, test })
    }
}

/// A place in the text of a condition.
struct Cursor<'t> {
    text: &'t str,
    /// The byte at which the rest starts.
    at: usize,
}

/// A value as it was read.
struct ReadValue {
    text: String,
    quoted: bool,
    /// The byte at which it starts, a quote included.
    start: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Reads the characters up to the first for which `ends` holds.
    fn read_until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(ends).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Returns the error that the text from the byte `start` to this place is at fault.
    fn fault(&self, start: usize, fault: impl Into<String>) -> ParseConditionError {
        ParseConditionError { text: self.text.to_owned(), place: start..self.at, fault: fault.into() }
    }

    /// Returns the error that `expected` was expected in place of what comes next, up to the next blank.
    fn expected(&self, expected: &str) -> ParseConditionError {
        let start = self.at;
        let mut cursor = Cursor { ..*self };
        let found = match cursor.read_until(char::is_whitespace) {
            "" => "nothing".to_owned(),
            found => format!("`{}`", Shown(found)),
        };
        cursor.fault(start, format!("expected {expected}, but found {found}"))
    }

    /// Reads the name of a field, with or without double quotes.
    fn field(&mut self) -> Result<String, ParseConditionError> {
        if self.rest().starts_with('"') {
            return self.quoted('"');
        }
        match self.read_until(|char| !is_name_char(char)) {
            "" => Err(self.expected("the name of a field")),
            name => Ok(name.to_owned()),
        }
    }

    /// Reads a text in quotes, in which two quotes in a row are one.
    fn quoted(&mut self, quote: char) -> Result<String, ParseConditionError> {
        let start = self.at;
        let mut text = String::new();
        loop {
            self.at += quote.len_utf8();
            text.push_str(self.read_until(|char| char == quote));
            if self.rest().is_empty() {
                return Err(self.fault(start, format!("expected a closing {quote}, but found nothing")));
            }
            self.at += quote.len_utf8();
            if !self.rest().starts_with(quote) {
                return Ok(text);
            }
            text.push(quote);
        }
    }

    /// Reads an operator; reads nothing if there is none.
    fn operator(&mut self) -> Option<Operator> {
        let rest = self.rest();
        let is_familiar = self.familiar_operator().is_some();
        if let Some((sign, operator)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign) && !is_familiar) {
            self.at += sign.len();
            return Some(*operator);
        }
        WORDS.iter().find_map(|(words, operator)| {
            let mut cursor = Cursor { ..*self };
            words.iter().all(|word| cursor.takes(word)).then(|| {
                self.at = cursor.at;
                *operator
            })
        })
    }

    /// Skips blanks and reads up to a blank or `(`. Returns whether that is `word`, in upper or lower case.
    fn takes(&mut self, word: &str) -> bool {
        self.skip_blanks();
        self.read_until(|char| char.is_whitespace() || char == '(').eq_ignore_ascii_case(word)
    }

    /// If an operator of another language comes next, returns what is written here in its place.
    fn familiar_operator(&self) -> Option<&'static str> {
        let word = Cursor { ..*self }.read_until(|char| char.is_whitespace() || char == '(');
        let signs = Cursor { ..*self }.read_until(|char| !matches!(char, '=' | '!' | '<' | '>' | '~'));
        FAMILIAR.iter().find(|(name, _)| signs == *name || word.eq_ignore_ascii_case(name)).map(|(_, here)| *here)
    }

    fn no_operator(&self) -> ParseConditionError {
        let operators =
            "an operator (`=`, `!=`, `<`, `<=`, `>`, `>=`, `~`, `~*`, `in`, `not in`, `is empty`, `is not empty`)";
        let mut error = self.expected(operators);
        if let Some(here) = self.familiar_operator() {
            error.fault.push_str("; write ");
            error.fault.push_str(here);
        }
        error
    }

    /// Reads the value at the end of a condition.
    fn value(&mut self, operator: Operator) -> Result<ReadValue, ParseConditionError> {
        self.skip_blanks();
        let start = self.at;
        if self.rest().starts_with('\'') {
            return Ok(ReadValue { text: self.quoted('\'')?, quoted: true, start });
        }
        self.refuse_double_quotes()?;
        let text = self.read_until(char::is_whitespace);
        if text.is_empty() {
            let value = if matches!(operator, Operator::Matches { .. }) { "a regular expression" } else { "a value" };
            return Err(self.expected(&format!("{value}; the empty text is ''")));
        }
        if !self.rest().trim().is_empty() && !self.starts_condition() {
            self.at = self.text.trim_end().len();
            let whole = &self.text[start..self.at];
            return Err(
                self.fault(start, format!("a value with blanks needs quotes: '{}'", Shown(&whole.replace('\'', "''"))))
            );
        }
        Ok(ReadValue { text: text.to_owned(), quoted: false, start })
    }

    /// Reads the operand of a comparison: a number if it is not quoted and is one, otherwise a text.
    fn operand(&mut self, operator: Operator) -> Result<Operand, ParseConditionError> {
        let value = self.value(operator)?;
        if value.quoted || !is_like_a_number(&value.text) {
            return Ok(Operand::Text(value.text));
        }
        let is_decimal = {
            let unsigned = value.text.strip_prefix('-').unwrap_or(&value.text);
            let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            unsigned.split_once('.').map_or_else(|| digits(unsigned), |(whole, part)| digits(whole) && digits(part))
        };
        let number = value.text.parse().ok().filter(|number: &f64| is_decimal && number.is_finite());
        number.map(Operand::Number).ok_or_else(|| {
            let found = Shown(&value.text).to_string();
            self.fault(
                value.start,
                format!(
                    "expected a decimal number such as 500 or 0.5, but found `{found}`; a text is in quotes: '{found}'"
                ),
            )
        })
    }

    /// Reads values in parentheses, separated by commas.
    fn list(&mut self) -> Result<Vec<String>, ParseConditionError> {
        self.skip_blanks();
        if !self.rest().starts_with('(') {
            return Err(self.expected("values in parentheses, such as `(A, 'B C')`"));
        }
        let mut values = Vec::new();
        loop {
            // A parenthesis or a comma.
            self.at += 1;
            self.skip_blanks();
            let start = self.at;
            if self.rest().starts_with('\'') {
                values.push(self.quoted('\'')?);
            } else {
                self.refuse_double_quotes()?;
                match self.read_until(ends_item) {
                    "" => return Err(self.expected("a value; the empty text is ''")),
                    value => values.push(value.to_owned()),
                }
            }
            self.skip_blanks();
            match self.rest().chars().next() {
                Some(',') => (),
                Some(')') => {
                    self.at += 1;
                    return Ok(values);
                }
                None => return Err(self.expected("`,` or `)`")),
                Some(_) => {
                    self.read_until(|char| matches!(char, ',' | ')'));
                    return Err(self
                        .fault(start, "expected `,` or `)` after a value; a value with blanks or signs needs quotes"));
                }
            }
        }
    }

    fn refuse_double_quotes(&self) -> Result<(), ParseConditionError> {
        if self.rest().starts_with('"') {
            return Err(self.expected("a value in single quotes (double quotes are for names of fields)"));
        }
        Ok(())
    }

    /// Returns whether another condition seems to follow.
    fn starts_condition(&self) -> bool {
        let mut cursor = Cursor { ..*self };
        cursor.takes("and") || Cursor { ..*self }.takes("or")
    }

    /// Checks that nothing but blanks is left.
    fn end(&mut self) -> Result<(), ParseConditionError> {
        self.skip_blanks();
        if self.rest().is_empty() {
            return Ok(());
        }
        let mut error = self.expected("the end");
        if self.starts_condition() {
            error.fault.push_str("; conditions are given one by one, and a value with blanks needs quotes");
        }
        Err(error)
    }
}

/// Returns whether a character can be in the name of a field that is not quoted.
pub(super) fn is_name_char(char: char) -> bool {
    !char.is_whitespace() && !matches!(char, '=' | '!' | '<' | '>' | '~' | '"' | '\'' | '(' | ')' | ',')
}

/// Returns whether a value needs no quotes where a condition ends after it.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace) && !text.starts_with(['\'', '"'])
}

/// Returns whether a character ends a value of a list that is not quoted.
pub(super) fn ends_item(char: char) -> bool {
    char.is_whitespace() || matches!(char, ',' | '(' | ')' | '\'' | '"')
}

/// Returns whether an unquoted text is a number to a reader, in some spelling: `500`, `.5`, `1e3`, `$1,200.00`, `12%`.
pub(super) fn is_like_a_number(text: &str) -> bool {
    let plain: String = text.chars().filter(|char| !matches!(char, '$' | '€' | '£' | ',' | '_' | '%')).collect();
    plain.contains(|char: char| char.is_ascii_digit()) && plain.parse::<f64>().is_ok()
}
