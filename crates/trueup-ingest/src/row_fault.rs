//! A faulty row: its location in a file, and what is wrong with it.

use std::fmt;
use trueup_core::Shown;

/// The location of a row in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputLocation {
    /// The physical line, counted from 1, on which the record begins.
    Line(u64),
    /// The row of a row group, both counted from 0.
    Row { row_group: usize, row: usize },
}

impl InputLocation {
    /// Returns whether this location comes before another location of the same file.
    pub(crate) fn is_before(self, other: Self) -> bool {
        let key = |location| match location {
            Self::Line(line) => (line, 0),
            Self::Row { row_group, row } => (u64::try_from(row_group).unwrap_or(0), row),
        };
        key(self) < key(other)
    }
}

impl fmt::Display for InputLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row { row_group, row } => write!(f, "row group {row_group}, row {row} (both counted from 0)"),
        }
    }
}

/// A row that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowFault {
    pub(crate) location: InputLocation,
    /// The column at fault; `None` if the record as a whole is.
    pub(crate) column: Option<String>,
    /// The value at fault, as text.
    pub(crate) value: Option<String>,
    pub(crate) reason: String,
    /// The row's cells as text by column name, as far as they could be read; null is `None`.
    pub(crate) cells: Vec<(String, Option<String>)>,
}

impl RowFault {
    /// Returns the bytes of memory that it takes, approximately.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let cells: usize = self.cells.iter().map(|(name, cell)| size_of_val(name) * 2 + name.len() + text(cell)).sum();
        size_of_val(self) + text(&self.column) + text(&self.value) + self.reason.len() + cells
    }
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.location)?;
        if let Some(column) = &self.column {
            write!(f, ", column `{}`", Shown(column))?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Characters that remain of a text that is longer than allowed.
const SHORTENED_CHARS: usize = 200;

/// Returns the text, or its beginning if it has more than `longest` bytes.
pub(crate) fn shortened(text: &str, longest: usize) -> &str {
    if text.len() <= longest {
        return text;
    }
    text.char_indices().nth(SHORTENED_CHARS).map_or(text, |(end, _)| &text[..end])
}
