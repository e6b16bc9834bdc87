//! Failures below the boundary of a directory, where the file is not named yet.

use crate::error::{Error, StorageError};
use std::path::Path;

/// Either SQLite failed, or what was asked is at fault.
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    Error(Error),
}

impl Fault {
    /// Names the file.
    pub(super) fn at(self, path: &Path) -> Error {
        match self {
            Self::Sqlite(source) => StorageError::new(path, source).into(),
            Self::Error(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}
