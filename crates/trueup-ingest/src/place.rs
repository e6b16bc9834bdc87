//! Where in a file a row stands, and what is wrong with it.

use std::fmt;
use trueup_core::Shown;

/// Where in a file a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The physical line, from 1, on which the record begins.
    Line(u64),
    /// The row of a Parquet row group, both from 0.
    Row { row_group: usize, row: usize },
}

impl fmt::Display for Place {
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
    pub(crate) place: Place,
    /// The column at fault; `None` if the record as a whole is.
    pub(crate) column: Option<String>,
    /// The value at fault, as text.
    pub(crate) value: Option<String>,
    pub(crate) reason: String,
    /// The row's cells as text, as far as they could be read.
    pub(crate) cells: Vec<(String, Option<String>)>,
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
