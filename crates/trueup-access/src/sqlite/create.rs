//! Creates the file of a directory: first under a temporary name, so that the file is complete when it gets its final
//! name.

use super::companions::{CompanionFiles, FileIdentity, ignore_missing, private_options, with_suffix};
use super::connect::{self, Purpose};
use super::migrate;
use super::statements::SqliteFault;
use crate::error::{Error, StorageError};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Instant;

/// Creates an empty directory at `path`, readable by its owner only, unless the path exists. A crash leaves nothing at
/// `path`.
pub(super) fn create(path: &Path, deadline: Instant) -> Result<(), Error> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let _companions = CompanionFiles::lock(path, deadline)?;
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let draft = with_suffix(path, "-new");
    let failed = |error: io::Error| Error::from(StorageError::new(path, error));
    // An attempt that was killed may have left these files.
    for ending in ["", "-journal", "-wal", "-shm"] {
        ignore_missing(fs::remove_file(with_suffix(&draft, ending))).map_err(failed)?;
    }
    private_options().create_new(true).open(&draft).map_err(failed)?;
    let made = write_draft(&draft).map_err(|fault| fault.at(path)).and_then(|()| publish(&draft, path).map_err(failed));
    let removed = ignore_missing(fs::remove_file(&draft)).map_err(failed);
    made.and(removed)
}

fn write_draft(draft: &Path) -> Result<(), SqliteFault> {
    let mut connection = connect::connect(draft, FileIdentity::of(draft)?, Purpose::Change)?;
    // The tables are made without a log, because an error in writing the log into the file on close would be silent.
    migrate::create(&mut connection, draft)?;
    connect::enable_write_ahead_log(&connection)?;
    connect::allow_checkpoint_on_close(&connection)?;
    connection.close().map_err(|(_, error)| error.into())
}

/// Gives the file its name, unless another file has it by now.
fn publish(draft: &Path, path: &Path) -> io::Result<()> {
    File::open(draft)?.sync_all()?;
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        // Some file systems do not support links.
        Err(_) => fs::rename(draft, path)?,
        Ok(()) => {}
    }
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
