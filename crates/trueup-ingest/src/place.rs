//! Where in a file a row stands, and what is wrong with it.

use std::fmt;
use trueup_core::Shown;

/// Where in a file a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputLocation {
    /// The physical line, from 1, on which the record begins.
    Line(u64),
    /// The row of a Parquet row group, both from 0.
    Row { row_group: usize, row: usize },
}

impl InputLocation {
    /// Whether it comes before another place of the same file.
    pub(crate) fn is_before(self, other: Self) -> bool {
        let key = |place| match place {
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
    pub(crate) place: InputLocation,
    /// The column at fault; `None` if the record as a whole is.
    pub(crate) column: Option<String>,
    /// The value at fault, as text.
    pub(crate) value: Option<String>,
    pub(crate) reason: String,
    /// The row's cells as text, as far as they could be read.
    pub(crate) cells: Vec<(String, Option<String>)>,
}

impl RowFault {
    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let cells: usize = self.cells.iter().map(|(name, cell)| size_of_val(name) * 2 + name.len() + text(cell)).sum();
        size_of_val(self) + text(&self.column) + text(&self.value) + self.reason.len() + cells
    }
}

/// The most characters that are kept of a text that is longer than a text may be.
const KEPT: usize = 200;

/// The text, or how it begins if it has more than `longest` bytes.
pub(crate) fn shortened(text: &str, longest: usize) -> &str {
    if text.len() <= longest {
        return text;
    }
    text.char_indices().nth(KEPT).map_or(text, |(end, _)| &text[..end])
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(column) = &self.column {
            write!(f, ", column `{}`", Shown(column))?;
        }
        write!(f, ": {}", self.reason)
    }
}
