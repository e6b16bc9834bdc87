//! A value of an answer, as text for a model and as data.

use serde_json::{Number, Value as Json};
use trueup::{Column, ResultTable, Value, definitions::Definitions};
use trueup_report::number::ColumnStyle;
use trueup_report::text::is_control;

/// The most characters of a text of the data that an answer shows.
const MAX_TEXT: usize = 80;
/// The most characters of a text of the data that an answer has as data. Longer texts cannot be asked for again.
const MAX_DATA_TEXT: usize = 300;

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// As a model reads it.
    pub(crate) text: String,
    pub(crate) value: Json,
}

impl Cell {
    /// Returns a text of our own, such as the name of a metric.
    pub(crate) fn word(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { value: text.clone().into(), text }
    }

    /// Returns a text of the data.
    pub(crate) fn text(text: &str) -> Self {
        Self { text: quoted(text), value: data_text(text).into() }
    }

    /// Returns a count.
    pub(crate) fn count(count: u64) -> Self {
        Self { text: trueup_report::number::grouped(&count.to_string()), value: count.into() }
    }

    /// Returns what stands for a value that there is none of.
    pub(crate) fn null() -> Self {
        Self { text: "null".to_owned(), value: Json::Null }
    }

    /// Returns a value of a column.
    pub(crate) fn of(definitions: &Definitions, column: &Column, row: usize) -> Self {
        match column.value(row) {
            Some(Value::Text(text)) => Self::text(text),
            Some(value) if !column.is_over_nothing(row) => Self::number(definitions, &column.name, value),
            _ => Self::null(),
        }
    }

    /// Returns a number of the field or column `name`.
    pub(crate) fn number(definitions: &Definitions, name: &str, value: Value<'_>) -> Self {
        let json = match value {
            Value::Null => return Self::null(),
            Value::Text(text) => return Self::text(text),
            Value::Day(day) => return Self::word(day.to_string()),
            Value::Count(count) => count.into(),
            Value::Integer(integer) => integer.into(),
            number => number.as_f64().and_then(Number::from_f64).map_or(Json::Null, Json::Number),
        };
        let mut text = String::new();
        ColumnStyle::of(definitions, name).push(&mut text, value);
        Self { text, value: json }
    }
}

/// Returns the values of a row of a table.
pub(crate) fn row(definitions: &Definitions, table: &ResultTable, row: usize) -> Vec<Cell> {
    table.columns().iter().map(|column| Cell::of(definitions, column, row)).collect()
}

/// Returns a text of the data in double quotes, so that a model cannot take it for words of this program: on one line,
/// without characters that nobody sees, and at most [`MAX_TEXT`] characters long.
pub(crate) fn quoted(text: &str) -> String {
    quoted_up_to(text, MAX_TEXT)
}

/// Returns a text as [`quoted`] does, with at most some characters of it.
pub(crate) fn quoted_up_to(text: &str, characters: usize) -> String {
    // Writing a text as JSON cannot fail.
    serde_json::to_string(&cut(&visible(text), characters)).unwrap_or_default()
}

/// Returns whether nobody sees a character: a control character, or one that is ignored by default. These are the
/// category Cf of Unicode, which has the zero-width ones and the tags that spell words without a glyph, and the
/// selectors of variants above `U+FFFF`; the ones below are in emoji.
fn is_invisible(char: char) -> bool {
    is_control(char)
        || matches!(
            char,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns a text as answers have it: each character that nobody sees is replaced, line breaks included.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(|char| if is_invisible(char) { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

/// Returns a command on one line that a shell takes: a character that nobody sees is written as the numbers of its
/// bytes. A word that has one is in single quotes, which end before it and begin again after it.
pub(crate) fn visible_command(command: &str) -> String {
    let mut shown = String::with_capacity(command.len());
    for char in command.chars() {
        if is_invisible(char) {
            let bytes = char.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect::<String>();
            shown += &format!("'$'{bytes}''");
        } else {
            shown.push(char);
        }
    }
    shown
}

/// Returns a text of the data as data.
pub(crate) fn data_text(text: &str) -> String {
    cut(text, MAX_DATA_TEXT)
}

/// Returns whether an answer shows a value as another text: shortened, or without what nobody sees. A caller can copy
/// such a text, and no condition on it selects the value.
pub(crate) fn is_shown_as(value: &str, text: &str) -> bool {
    value != text && (cut(&visible(value), MAX_TEXT) == text || data_text(value) == text)
}

/// Cuts a text after some characters.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_data_are_marked_and_harmless() {
        assert_eq!(quoted("Paid \"Search\""), r#""Paid \"Search\"""#);
        assert_eq!(quoted("a\n\u{1b}[2J\u{202e}b"), "\"a\u{fffd}\u{fffd}[2J\u{fffd}b\"");
        assert_eq!(quoted("a\u{200b}b\u{e0041}\u{feff}\u{ad}"), "\"a\u{fffd}b\u{fffd}\u{fffd}\u{fffd}\"");
        assert_eq!(quoted("Zoë, 北京, שלום ☎\u{fe0f}"), "\"Zoë, 北京, שלום ☎\u{fe0f}\"");
        assert_eq!(quoted(&"x".repeat(10_000)).chars().count(), MAX_TEXT + 3);
    }

    #[test]
    fn a_command_is_one_line_that_a_shell_takes() {
        assert_eq!(visible_command("trueup query --where 'a = b'"), "trueup query --where 'a = b'");
        assert_eq!(visible_command("--where 'a\nb\u{200b}'"), r"--where 'a'$'\012''b'$'\342\200\213'''");
    }
}
