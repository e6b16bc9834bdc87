//! The local folder in which the files of a version are written before they are uploaded to a store. It is locked as
//! long as its ingest runs, so that the next one can tell, and remove, a folder whose ingest was killed.

use super::file_names::is_id;
use crate::IngestError;
use crate::error::ErrorContext;
use std::env;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use trueup_core::files::{Files, OpenFile};

#[cfg(test)]
mod tests;

/// The beginning of the folder's name; the id of the ingest follows.
const PREFIX: &str = "trueup-ingest-";

/// The most attempts to lock the folder, and the time between two.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Makes a folder among the temporary files, and locks it. Removes the folders of killed ingests.
pub(super) fn make(files: &Files, id: &str) -> Result<(PathBuf, OpenFile), IngestError> {
    let temporary = env::temp_dir();
    // Folders of other users cannot be opened, and what cannot be removed is in nobody's way.
    drop(remove_abandoned(files, &temporary));
    let path = temporary.join(format!("{PREFIX}{id}"));
    for _ in 0..ATTEMPTS {
        match files.create_private_folder(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).at("make the folder", &path);
            }
            _ => {}
        }
        // Another ingest may look at the folder before it is locked, find it abandoned, and remove it.
        match files.open(&path) {
            Ok(folder) => match folder.try_lock() {
                Ok(()) if path.exists() => return Ok((path, folder)),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error).at("lock", &path),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).at("open", &path),
        }
        thread::sleep(PAUSE);
    }
    let reason = "other processes removed or locked the new folder each time; try again";
    Err(io::Error::new(io::ErrorKind::WouldBlock, reason)).at("lock", &path)
}

/// Removes the folders of killed ingests.
fn remove_abandoned(files: &Files, temporary: &Path) -> io::Result<()> {
    for entry in files.list(temporary)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(is_id);
        if !is_ours || !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        let Ok(folder) = files.open(&path) else { continue };
        if folder.try_lock().is_ok() {
            // Locked until it is gone: an ingest that has just made the folder must not lock it in between.
            drop(files.remove_folder_and_contents(&path));
        }
    }
    Ok(())
}
