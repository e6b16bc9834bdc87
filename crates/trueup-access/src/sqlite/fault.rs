//! Failures below the boundary of a directory, where the file is not named yet.

use crate::error::{Error, StorageError};
use rusqlite::ErrorCode;
use std::path::Path;

/// Either SQLite failed, or what was asked is at fault.
pub(super) enum SqliteFault {
    Sqlite(rusqlite::Error),
    /// The path names another file by now.
    Replaced,
    /// What SQLite finds wrong in the file.
    Findings(Vec<String>),
    Error(Error),
}

impl SqliteFault {
    /// Names the file.
    pub(super) fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            _ if self.is_busy() => Error::Locked { path },
            Self::Sqlite(source) if source.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                Error::Damaged { path, finding: source.to_string() }
            }
            Self::Sqlite(source) => StorageError::new(&path, source).into(),
            Self::Findings(findings) => Error::Damaged { path, finding: findings.join("; ") },
            Self::Replaced => Error::Locked { path },
            Self::Error(error) => error,
        }
    }

    /// Whether another process holds what is needed.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Self::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
            }
            Self::Replaced | Self::Findings(_) | Self::Error(_) => false,
        }
    }
}

impl From<rusqlite::Error> for SqliteFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for SqliteFault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}
