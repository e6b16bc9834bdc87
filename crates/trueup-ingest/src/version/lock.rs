//! The lock of a dataset's folder: the right to write to the dataset. Others wait for it as long as they may, in no
//! order.

use super::version_files::{Made, make_dataset_folder, sync_parents};
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use crate::monitor::{Monitor, Phase};
use std::fs::{self, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;
use trueup_core::files::{Files, OpenFile};

/// The first pause between two attempts to take the lock, and the longest. A short one finds the end of a short ingest;
/// the longest one is how late an interrupt may be noticed.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The right to write to a dataset. The operating system takes it back when the process ends, even if it is killed.
pub(super) struct DatasetLock {
    _folder: OpenFile,
}

impl DatasetLock {
    /// Locks the dataset's folder itself, so that no lock file stays in it. Makes the folder, and the folders above it,
    /// if they do not exist, and adds them to `made`.
    ///
    /// # Errors
    /// Another process has the lock for as long as the ingest may wait, the ingest is interrupted, or the file system
    /// refuses.
    pub(super) fn take(
        files: &Files,
        dir: &Path,
        made: &mut Vec<Made>,
        monitor: &Monitor,
    ) -> Result<Self, IngestError> {
        let (mut pause, mut is_waiting) = (FIRST_PAUSE, false);
        loop {
            make_dataset_folder(files, dir, made)?;
            if let Some(lock) = Self::try_take(files, dir)? {
                return Ok(lock);
            }
            // The folder belongs to the other process now, even if it is still empty. That process does not know that
            // the folder is new, so this one makes it durable.
            let made = std::mem::take(made);
            // A failure does not matter if the other process has removed the folder.
            if let Err(error) = sync_parents(files, &made)
                && dir.exists()
            {
                return Err(error);
            }
            if !monitor.may_wait() {
                return Err(ErrorKind::Busy { dataset: dir.to_owned(), waited: monitor.wait() }.into());
            }
            if !is_waiting {
                monitor.begin(Phase::Waiting, None);
                is_waiting = true;
            }
            monitor.check()?;
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Returns the lock of a folder that is locked already.
    pub(super) fn of(folder: OpenFile) -> Self {
        Self { _folder: folder }
    }

    /// Returns `None` if another process has the lock, or has just removed the folder that it had made.
    fn try_take(files: &Files, dir: &Path) -> Result<Option<Self>, IngestError> {
        let folder = match files.open(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.at("lock", dir)?,
        };
        match folder.try_lock() {
            Ok(()) => Ok(is_at(&folder, dir).then_some(Self { _folder: folder })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).at("lock", dir),
        }
    }
}

/// Returns whether the path leads to the open folder. It does not if the folder was removed before it was locked.
#[cfg(unix)]
fn is_at(folder: &OpenFile, dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (folder.metadata(), fs::metadata(dir)) {
        (Ok(open), Ok(found)) => (open.dev(), open.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &OpenFile, dir: &Path) -> bool {
    fs::metadata(dir).is_ok()
}
