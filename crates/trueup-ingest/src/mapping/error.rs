//! The errors of a mapping: in the file, in its keys, and in the rows of its inputs.

pub use crate::row_fault::ValueFault;

use crate::IngestError;
use crate::error::ErrorKind;
use std::path::{Path, PathBuf};
use trueup_core::Shown;
use trueup_core::dataset::without_credentials;

/// Why a mapping cannot be read or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The operating system refused.
    #[error("`{}`: {source}", without_credentials(path).display())]
    Io {
        /// The mapping, one of its files, or a file to be written.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The mapping is not TOML, or has a key that mappings do not have or a wrong kind of value.
    #[error("mapping `{}`: {source}", without_credentials(path).display())]
    Syntax {
        /// The mapping.
        path: PathBuf,
        /// Where and why it does not parse.
        source: Box<toml::de::Error>,
    },
    /// A key of the mapping cannot be carried out.
    #[error(
        "mapping `{}`, key `{}`{}: {reason}",
        without_credentials(path).display(), Shown(.key), value.as_ref().map(|v| format!(", value `{}`", Shown(v))).unwrap_or_default()
    )]
    Key {
        /// The mapping.
        path: PathBuf,
        /// The key with dots, tables of a list counted from 0: `events[0].columns.date`.
        key: String,
        /// The value or the name at fault, if it is a single one.
        value: Option<String>,
        /// The reason.
        reason: String,
    },
    /// A given file cannot be used.
    #[error("`{}`: {reason}", without_credentials(path).display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A row has a value that the mapping cannot read, or for which it finds no row to join.
    #[error(transparent)]
    Value(Box<ValueFault>),
    /// Reading or writing failed in another way.
    #[error(transparent)]
    Ingest(IngestError),
}

impl From<IngestError> for MappingError {
    fn from(error: IngestError) -> Self {
        match error.into_kind() {
            ErrorKind::Io { path, source, .. } => Self::Io { path, source },
            ErrorKind::Input { path, fault } => Self::File { path, reason: fault.to_string() },
            ErrorKind::Row { path, fault } => Self::File { path, reason: fault.to_string() },
            ErrorKind::Value(fault) => Self::Value(fault),
            other => Self::Ingest(other.into()),
        }
    }
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

/// Why a plan cannot be made: a key is at fault, or a file.
pub(super) enum PlanFault {
    Key(KeyFault),
    Mapping(MappingError),
}

impl PlanFault {
    /// Adds the path of the mapping.
    pub(super) fn of(self, path: &Path) -> MappingError {
        match self {
            Self::Key(fault) => fault.of(path),
            Self::Mapping(error) => error,
        }
    }
}

impl From<KeyFault> for PlanFault {
    fn from(fault: KeyFault) -> Self {
        Self::Key(fault)
    }
}

impl From<MappingError> for PlanFault {
    fn from(error: MappingError) -> Self {
        Self::Mapping(error)
    }
}

impl From<IngestError> for PlanFault {
    fn from(error: IngestError) -> Self {
        Self::Mapping(error.into())
    }
}
