//! What only a directory in a file does: opening and reopening, several processes, locked, damaged and replaced files.

#![expect(clippy::unwrap_used, reason = "tests")]

mod damaged;
mod open;
mod processes;
mod replaced;
mod secrets;

use std::path::{Path, PathBuf};
use tempfile::TempDir;
use trueup_access::{DirectorySettings, SqliteDirectory, UnixTime};

const NOW: UnixTime = UnixTime::from_seconds(1_760_001_800);

fn open(path: &Path) -> SqliteDirectory {
    SqliteDirectory::open(path, DirectorySettings::default()).unwrap()
}

/// Returns a temporary folder, the path of the file of a directory in it, and the directory, new and empty.
fn new_directory() -> (TempDir, PathBuf, SqliteDirectory) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    let directory = open(&path);
    (folder, path, directory)
}
