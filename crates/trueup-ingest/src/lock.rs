//! Only one ingest writes to a dataset at a time.

use crate::IngestError;
use crate::error::{AtPath, Kind};
use std::fs::{File, TryLockError};
use std::path::Path;

/// The right to write to a dataset, given back when dropped, even if the process is killed.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the right, or says that another ingest has it.
    pub(crate) fn take(dir: &Path) -> Result<Self, IngestError> {
        let file = Self::file(dir).at("lock", dir)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Kind::Busy(dir.to_owned()).into()),
            Err(TryLockError::Error(error)) => Err(error).at("lock", dir),
        }
    }

    /// The folder itself, so that no lock file is left in it.
    #[cfg(unix)]
    fn file(dir: &Path) -> std::io::Result<File> {
        File::open(dir)
    }

    /// A file, where folders cannot be locked; it stays, since removing it would race with the next ingest.
    #[cfg(not(unix))]
    fn file(dir: &Path) -> std::io::Result<File> {
        File::options().create(true).truncate(false).write(true).open(dir.join("ingest.lock"))
    }
}
