//! The text of a draft: lines of TOML, and questions whose answers are lines that are commented out.

use super::formats::{AmountReading, DateForm, DateReading, fitting};
use crate::mapping::amounts::DecimalMark;
use std::fmt::Write;
use trueup_core::Shown;

/// A source of a column that may be right.
pub(super) struct SourceDraft {
    /// The value of its key.
    pub(super) source: String,
    /// What it means, for a comment.
    pub(super) note: String,
    /// The sampled values that it cannot read.
    pub(super) misfits: Vec<String>,
}

impl SourceDraft {
    /// Returns the note, and which values the source cannot read.
    pub(super) fn comment(&self) -> String {
        format!("{}{}", self.note, fitting(&self.misfits))
    }
}

/// A draft while it is written.
#[derive(Default)]
pub(super) struct DraftText {
    text: String,
    questions: usize,
}

impl DraftText {
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a line, and a comment after it on the same line.
    pub(super) fn noted(&mut self, line: &str, comment: &str) {
        self.line(&format!("{line}  # {}", on_one_line(comment)));
    }

    pub(super) fn comment(&mut self, comment: &str) {
        self.line(&format!("# {}", on_one_line(comment)));
    }

    /// Writes a question, and the lines that answer it, each with a comment.
    pub(super) fn question(&mut self, question: &str, answers: &[(String, String)]) {
        self.questions += 1;
        self.comment(&format!("QUESTION {}: {question}", self.questions));
        for (line, comment) in answers {
            let comment = if comment.is_empty() { String::new() } else { format!("  # {}", on_one_line(comment)) };
            self.line(&format!("#{line}{comment}"));
        }
    }

    /// Writes the sources that may be right: a single one as it is and with this comment, several as a question.
    pub(super) fn choice(&mut self, name: &str, sources: &[SourceDraft], question: &str, comment: &str) {
        let line = |found: &SourceDraft| format!("{} = {}", key(name), found.source);
        match sources {
            [only] => self.noted(&line(only), &format!("{comment}{}", fitting(&only.misfits))),
            _ => {
                let lines = sources.iter().map(|found| (line(found), found.comment()));
                self.question(question, &lines.collect::<Vec<_>>());
            }
        }
    }

    /// Returns the number of questions so far.
    pub(super) const fn questions(&self) -> usize {
        self.questions
    }

    /// Returns the whole draft, with a head that says which questions are open.
    pub(super) fn finish(self, head: &str) -> String {
        let mut all = head.to_owned();
        if self.questions > 0 {
            let numbers: Vec<String> = (1..=self.questions).map(|number| number.to_string()).collect();
            let _ = writeln!(
                all,
                "# To answer a question, remove the `#` of the line that is right, or edit it; then remove the number of the question\n\
                 # from this list. The mapping does not load while a question is open.\n\
                 open_questions = [{}]",
                numbers.join(", ")
            );
        }
        all + "\n" + &self.text
    }
}

/// Returns a text in quotes, on one line.
pub(super) fn quoted(text: &str) -> String {
    let quoted = toml::Value::String(text.to_owned()).to_string();
    // Three quotes may enclose several lines, and cannot enclose a key.
    if !quoted.starts_with("\"\"\"") && !quoted.starts_with("'''") {
        return quoted;
    }
    format!("\"{}\"", on_one_line(&text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// Returns a text with line ends and other control characters as escapes of TOML: a comment cannot have them.
pub(super) fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_ascii_control() && char != '\t' {
            let _ = write!(line, "\\u{:04X}", u32::from(char));
        } else {
            line.push(char);
        }
    }
    line
}

/// Returns a key, in quotes if it needs them.
pub(super) fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
    if is_bare { name.to_owned() } else { quoted(name) }
}

/// Returns the source of a column with further keys.
pub(super) fn source(column: &str, keys: &[(&str, &str)]) -> String {
    if keys.is_empty() { quoted(column) } else { format!("{{ {} }}", members(column, keys)) }
}

/// Returns the source of a column with further keys, of whose missing texts `others` take the place, in this order. One
/// with the same keys is only named, because it is then read as the column is.
pub(super) fn source_with_others(column: &str, keys: &[(&str, &str)], others: &[(String, Keys<'_>)]) -> String {
    let other = |(name, own): &(String, Keys<'_>)| {
        if own == keys { quoted(name) } else { format!("{{ {} }}", members(name, own)) }
    };
    let otherwise = match others {
        [] => return source(column, keys),
        [only] => other(only),
        several => format!("[{}]", several.iter().map(other).collect::<Vec<_>>().join(", ")),
    };
    format!("{{ {}, otherwise = {otherwise} }}", members(column, keys))
}

/// The keys of a source, each with its value.
pub(super) type Keys<'a> = Vec<(&'a str, &'a str)>;

fn members(column: &str, keys: &[(&str, &str)]) -> String {
    let keys: String = keys.iter().map(|(key, value)| format!(", {key} = {}", quoted(value))).collect();
    format!("column = {}{keys}", quoted(column))
}

/// Returns the sources that may read a column of dates. `zone` is for clock times.
pub(super) fn date_sources(column: &str, form: &DateForm, example: &str, zone: Option<&str>) -> Vec<SourceDraft> {
    let of_reading = |DateReading { format, misfits }: &DateReading| {
        let mut keys: Vec<(&str, &str)> = format.iter().map(|format| ("format", format.as_str())).collect();
        keys.extend(zone.map(|zone| ("time_zone", zone)));
        let month = |format: &str| ["%m", "%b", "%B"].iter().find_map(|month| format.find(month));
        let order = match format.as_deref() {
            Some(format) if format.find("%d") < month(format) => "day before month",
            _ => "month before day",
        };
        let note = format!("`{}`: {order}", Shown(example));
        SourceDraft { source: source(column, &keys), note, misfits: misfits.clone() }
    };
    form.readings.iter().map(of_reading).collect()
}

/// Returns the sources that may read a column of amounts.
pub(super) fn amount_sources(column: &str, readings: &[AmountReading]) -> Vec<SourceDraft> {
    let of_reading = |AmountReading { mark, is_named, misfits }: &AmountReading| {
        let (mark, note) = match mark {
            DecimalMark::Point => (".", "the point is the decimal mark"),
            DecimalMark::Comma => (",", "the comma is the decimal mark"),
        };
        let keys: &[(&str, &str)] = if *is_named { &[("decimal_mark", mark)] } else { &[] };
        SourceDraft { source: source(column, keys), note: note.to_owned(), misfits: misfits.clone() }
    };
    readings.iter().map(of_reading).collect()
}
