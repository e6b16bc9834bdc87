//! A number of files and their bytes, as the commands that remove or merge files print them.

use crate::output::bytes;
use serde::Serialize;
use trueup_ingest::FileCount;
use trueup_report::number;

/// A number of files, and their bytes, as JSON.
#[derive(Serialize)]
pub(super) struct FileCountReport {
    files: u64,
    bytes: u64,
}

impl From<FileCount> for FileCountReport {
    fn from(count: FileCount) -> Self {
        Self { files: count.files, bytes: count.bytes }
    }
}

/// Returns a number of files, and their size, for people.
pub(super) fn text(count: FileCount) -> String {
    format!("{}, {}", number::counted(count.files, "file"), bytes(count.bytes))
}
