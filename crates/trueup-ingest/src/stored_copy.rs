//! Copies of files that the dataset has in an object store, for the steps that read all of a file.

use crate::IngestError;
use crate::error::ErrorContext;
use crate::monitor::Monitor;
use crate::version::{Scratch, VersionFiles};
use std::io::Write;
use std::path::Path;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{CheckedFile, is_url};

/// The bytes of a file that are copied at a time.
const COPIED_BYTES: u64 = 32 << 20;

/// Copies a file of a dataset in a store into a scratch folder, so that it is read once and with few requests. Returns
/// the scratch folder, in which the copy has the path that it has in the dataset; `None` if the dataset is in a folder.
pub(crate) fn local_copy(
    dir: &Path,
    file: &DataFile,
    version: &mut VersionFiles,
    monitor: &Monitor,
) -> Result<Option<Scratch>, IngestError> {
    if !is_url(dir) {
        return Ok(None);
    }
    let scratch = version.scratch()?;
    let (from, to) = (dir.join(&file.path), scratch.path().join(&file.path));
    if let Some(folder) = to.parent() {
        scratch.files().create_private_folder(folder).at("make the folder", folder)?;
    }
    let mut copy = scratch.files().create(&to).at("create", &to)?;
    let size = file.size;
    let file = CheckedFile::open(dir, file).of_dataset(&from)?.until(monitor.interrupt());
    let mut start = 0;
    while start < size {
        let end = size.min(start + COPIED_BYTES);
        let bytes = file.bytes(&(start..end));
        monitor.check()?;
        copy.write_all(&bytes.of_dataset(&from)?).at("write", &to)?;
        start = end;
    }
    Ok(Some(scratch))
}
