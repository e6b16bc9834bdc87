//! A number of files and their bytes, as the commands that remove or merge files show them to people.

use crate::output::bytes;
use trueup_ingest::FileCount;
use trueup_report::number;

/// Returns a number of files, and their size, for people.
pub(super) fn text(count: FileCount) -> String {
    format!("{}, {}", number::counted(count.files, "file"), bytes(count.bytes))
}
