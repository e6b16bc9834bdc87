//! Columns that are not stored, and why.

use crate::Input;
use trueup_core::model::CUSTOMER_COLUMN;
use trueup_core::{Shown, dictionary};

/// A column that is not stored, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IgnoredColumn {
    column: String,
    why: String,
}

impl IgnoredColumn {
    /// A column of events whose values trueup makes itself; `None` for one that its own files have.
    pub(crate) fn of_events(column: &str) -> Option<Self> {
        if column == CUSTOMER_COLUMN {
            return None;
        }
        let why = match dictionary::metric(column) {
            Some(_) => "it has the name of a metric",
            None => "its values are computed",
        };
        Some(Self { column: column.to_owned(), why: why.to_owned() })
    }

    /// A column that the table does not have.
    pub(crate) fn unknown(column: &str, table: &str, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|column| format!("`{column}`")).collect();
        let why = format!("the {table} table has no column `{}`; it has {}", Shown(column), known.join(", "));
        Self { column: column.to_owned(), why }
    }

    /// What the caller is told.
    pub(crate) fn warning(&self, input: &Input) -> String {
        format!("{}: column `{}` is ignored: {}", input.shown.display(), Shown(&self.column), self.why)
    }
}
