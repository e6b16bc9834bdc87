//! Only one ingest writes to a dataset at a time.

use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use std::fs::TryLockError;
use std::path::Path;
use trueup_core::files::{Files, OpenFile};

/// The right to write to a dataset, given back when dropped, even if the process is killed.
pub(crate) struct DatasetLock {
    _folder: OpenFile,
}

impl DatasetLock {
    /// Takes the right, or says that another ingest has it. The folder itself is locked, so that no lock file is left in it.
    pub(crate) fn take(files: &Files, dir: &Path) -> Result<Self, IngestError> {
        let folder = files.open(dir).at("lock", dir)?;
        match folder.try_lock() {
            Ok(()) => Ok(Self { _folder: folder }),
            Err(TryLockError::WouldBlock) => Err(ErrorKind::Busy(dir.to_owned()).into()),
            Err(TryLockError::Error(error)) => Err(error).at("lock", dir),
        }
    }
}
