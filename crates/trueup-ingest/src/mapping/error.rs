//! The errors of a mapping: in the file, in its keys, and in the rows of its inputs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use trueup_core::Shown;

/// Why a mapping cannot be read or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The operating system refused.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The mapping, one of its files, or a file to be written.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The mapping is not TOML, or has a key that mappings do not have.
    #[error("mapping `{}`: {source}", path.display())]
    Syntax {
        /// The mapping.
        path: PathBuf,
        /// Where and why it does not parse.
        source: Box<toml::de::Error>,
    },
    /// A key of the mapping cannot be carried out.
    #[error(
        "mapping `{}`, key `{}`{}: {reason}",
        path.display(), Shown(.key), value.as_ref().map(|v| format!(", value `{}`", Shown(v))).unwrap_or_default()
    )]
    Key {
        /// The mapping.
        path: PathBuf,
        /// The key with dots, tables of a list counted from 0: `events[0].columns.date`.
        key: String,
        /// The key's value, if it is a single one.
        value: Option<String>,
        /// The reason.
        reason: String,
    },
    /// A given file cannot be used.
    #[error("`{}`: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A row has a value that the mapping cannot read.
    #[error(transparent)]
    Value(Box<ValueFault>),
    /// Polars, which runs the mapping, reported an error.
    #[error("mapping key `{key}`: {source}")]
    Engine {
        /// The key of the mapping that polars ran, such as a table.
        key: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl MappingError {
    /// Wraps an error that polars reported while it ran a key of the mapping.
    pub(super) fn engine(key: &str, source: polars::prelude::PolarsError) -> Self {
        Self::Engine { key: key.to_owned(), source: Box::new(source) }
    }
}

/// A value that a mapping cannot read.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{}`, row {row}, column `{}`: {reason}, but found `{}` (mapping key `{}`)",
    path.display(), Shown(.column), Shown(.value), Shown(.key)
)]
pub struct ValueFault {
    /// The file.
    pub path: PathBuf,
    /// The row, counted from 1 after the header.
    pub row: u64,
    /// The column as the file names it, or as the mapping renames it.
    pub column: String,
    /// The value; empty if there is none.
    pub value: String,
    /// What was expected.
    pub reason: String,
    /// The key of the mapping that reads the column.
    pub key: String,
}

/// A fault of a key. The caller adds the path of the mapping.
#[derive(Debug)]
pub(super) struct KeyFault {
    key: String,
    value: Option<String>,
    reason: String,
}

impl KeyFault {
    pub(super) fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), value: None, reason: reason.into() }
    }

    pub(super) fn with_value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// Adds the path of the mapping.
    pub(super) fn of(self, path: &Path) -> MappingError {
        MappingError::Key { path: path.to_owned(), key: self.key, value: self.value, reason: self.reason }
    }
}

/// Returns the location of a row among all files: the file's number in the upper bits, and the row's number, counted
/// from 1, in the lower 40.
pub(super) const fn location(file: u32, row: u64) -> u64 {
    ((file as u64) << ROW_BITS) | row
}

const ROW_BITS: u32 = 40;

/// The first faulty value of a run. Polars reads many rows in parallel, so every fault is compared with the first so
/// far.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstFault(Arc<Mutex<Option<FoundFault>>>);

/// A faulty value. Faults are ordered by location first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FoundFault {
    location: u64,
    /// Orders a fault with a value before one without, because a value that cannot be read leaves an empty cell, whose
    /// fault says less.
    is_empty: bool,
    key: String,
    column: String,
    value: String,
    reason: String,
}

impl FirstFault {
    /// Returns the first fault so far as an error. `files` are the files that [`location`] numbers.
    pub(super) fn check(&self, files: &[PathBuf]) -> Result<(), MappingError> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(fault) = found else { return Ok(()) };
        let file = usize::try_from(fault.location >> ROW_BITS).ok().and_then(|at| files.get(at));
        Err(MappingError::Value(Box::new(ValueFault {
            path: file.cloned().unwrap_or_default(),
            row: fault.location & ((1 << ROW_BITS) - 1),
            column: fault.column,
            value: fault.value,
            reason: fault.reason,
            key: fault.key,
        })))
    }
}

/// A column that is read row by row, as its faults name it.
#[derive(Clone, Debug)]
pub(super) struct ColumnSite {
    pub(super) first_fault: FirstFault,
    /// The key of the mapping.
    pub(super) key: String,
    /// The column of the input.
    pub(super) column: String,
}

impl ColumnSite {
    /// Notes a fault, unless there is an earlier one.
    pub(super) fn refuse(&self, location: u64, value: String, reason: String) {
        let (is_empty, key, column) = (value.is_empty(), self.key.clone(), self.column.clone());
        let fault = FoundFault { location, is_empty, key, column, value, reason };
        let mut first = self.first_fault.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|first| fault < *first) {
            *first = Some(fault);
        }
    }
}
