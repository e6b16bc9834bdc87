//! The error of a text that is no condition, with marks below the place of the fault.

use std::fmt;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text that is not a condition: the place of its fault, and what is expected there. [`Display`](fmt::Display) writes
/// a message, and then lines that start with two blanks and `|`. They show the text, with marks below the place of the
/// fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseConditionError {
    pub(super) text: String,
    /// The bytes at fault; empty at the end of the text.
    pub(super) place: std::ops::Range<usize>,
    pub(super) fault: String,
}

impl ParseConditionError {
    /// Returns the place of the fault: the number of its first character, counted from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.split()[0].chars().count() + 1
    }

    /// Returns the text before the fault, at fault, and after it.
    fn split(&self) -> [&str; 3] {
        let part = |place| self.text.get::<std::ops::Range<usize>>(place).unwrap_or_default();
        [0..self.place.start, self.place.clone(), self.place.end..self.text.len()].map(part)
    }
}

impl std::error::Error for ParseConditionError {}

impl fmt::Display for ParseConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The most columns of a terminal that the text before the fault may take, and that the whole text may take.
        const BEFORE: usize = 50;
        const SHOWN: usize = 90;
        let [before, fault, after] = self.split().map(|part| part.replace(char::is_control, " "));
        let before = last(&before, BEFORE);
        let indent = before.width();
        let fault = first(&fault, SHOWN - BEFORE);
        let marks = fault.width().max(1);
        let after = first(&after, SHOWN.saturating_sub(indent + marks));
        writeln!(f, "{} (column {})", self.fault, self.column())?;
        writeln!(f, "  |\n  | {before}{fault}{after}")?;
        write!(f, "  | {:indent$}{:^>marks$}", "", "")
    }
}

/// Returns the characters at the start of a text that fit into `columns` of a terminal.
fn first(text: &str, columns: usize) -> &str {
    let mut fits = fitting(columns);
    let end = text.char_indices().find(|(_, char)| !fits(*char)).map_or(text.len(), |(start, _)| start);
    &text[..end]
}

/// Returns the characters at the end of a text that fit into `columns` of a terminal.
fn last(text: &str, columns: usize) -> &str {
    let mut fits = fitting(columns);
    let cut = text.char_indices().rev().find(|(_, char)| !fits(*char));
    &text[cut.map_or(0, |(start, char)| start + char.len_utf8())..]
}

/// Returns a function that says of one character after another whether it still fits into `columns` of a terminal.
fn fitting(mut columns: usize) -> impl FnMut(char) -> bool {
    move |char| {
        let left = columns.checked_sub(char.width().unwrap_or(0));
        columns = left.unwrap_or(columns);
        left.is_some()
    }
}
