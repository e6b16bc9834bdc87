//! What only a directory in a file does: opening and reopening, several processes, locked, damaged and replaced files.

#![expect(clippy::unwrap_used, reason = "tests")]

mod damaged;
mod open;
mod processes;
mod replaced;
mod secrets;

use std::path::Path;
use trueup_access::{DirectorySettings, SqliteDirectory, UnixTime};

const NOW: UnixTime = UnixTime::from_seconds(1_760_001_800);

fn open(path: &Path) -> SqliteDirectory {
    SqliteDirectory::open(path, DirectorySettings::default()).unwrap()
}
