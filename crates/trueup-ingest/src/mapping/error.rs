//! What can be wrong with a mapping or with the files it is given.

use std::path::PathBuf;
use trueup_core::Shown;

/// Why a mapping was not read, or did not make canonical tables of its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The operating system refused.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The mapping, one of its files, or a file to be written.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// The mapping is no TOML, or has keys that no mapping has.
    #[error("mapping `{}`: {source}", path.display())]
    Syntax {
        /// The mapping.
        path: PathBuf,
        /// Where and why it does not parse.
        source: Box<toml::de::Error>,
    },
    /// A key of the mapping says what cannot be done.
    #[error(
        "mapping `{}`, key `{}`{}: {reason}",
        path.display(), Shown(.key), value.as_ref().map(|v| format!(", value `{}`", Shown(v))).unwrap_or_default()
    )]
    Key {
        /// The mapping.
        path: PathBuf,
        /// The key, dotted, tables of a list counted from 0: `events[0].columns.date`.
        key: String,
        /// What it says, where that is one value.
        value: Option<String>,
        /// Why that cannot be.
        reason: String,
    },
    /// A file that was given cannot be used.
    #[error("`{}`: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why it cannot.
        reason: String,
    },
    /// A row holds a value that the mapping cannot take.
    #[error(transparent)]
    Cell(Box<CellFault>),
    /// The engine that carries the mapping out gave up.
    #[error("mapping key `{key}`: {source}")]
    Engine {
        /// The table it was working on.
        key: String,
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A value that a mapping cannot take.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{}`, row {row}, column `{}`: {reason}, but found `{}` (mapping key `{}`)",
    path.display(), Shown(.column), Shown(.value), Shown(.key)
)]
pub struct CellFault {
    /// The file.
    pub path: PathBuf,
    /// The row, the first one below the header being 1.
    pub row: u64,
    /// The column as the file has it, or as the mapping renames it.
    pub column: String,
    /// What stands there; empty for no value.
    pub value: String,
    /// What was expected.
    pub reason: String,
    /// The key of the mapping that asked.
    pub key: String,
}

/// A fault of a key before the mapping's path is known to the code that finds it.
#[derive(Debug)]
pub(super) struct KeyFault {
    pub(super) key: String,
    pub(super) value: Option<String>,
    pub(super) reason: String,
}

impl KeyFault {
    pub(super) fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), value: None, reason: reason.into() }
    }

    pub(super) fn with_value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    pub(super) fn of(self, path: &std::path::Path) -> MappingError {
        MappingError::Key { path: path.to_owned(), key: self.key, value: self.value, reason: self.reason }
    }
}
