//! Creates a directory: under a temporary name, so that it is complete when it gets its own.

use super::companions::FileIdentity;
use super::companions::{CompanionFiles, absent_is_fine, named, private};
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
    let draft = named(path, "-new");
    let failed = |error: io::Error| Error::from(StorageError::new(path, error));
    // The rest of an attempt that was killed.
    for ending in ["", "-journal", "-wal", "-shm"] {
        absent_is_fine(fs::remove_file(named(&draft, ending))).map_err(failed)?;
    }
    private().create_new(true).open(&draft).map_err(failed)?;
    let made = make(&draft).map_err(|fault| fault.at(path)).and_then(|()| publish(&draft, path).map_err(failed));
    let removed = absent_is_fine(fs::remove_file(&draft)).map_err(failed);
    made.and(removed)
}

fn make(draft: &Path) -> Result<(), SqliteFault> {
    let mut connection = connect::connect(draft, FileIdentity::of(draft)?, Purpose::Change)?;
    // The tables are made without a log, because an error in writing the log into the file on close would be silent.
    migrate::create(&mut connection, draft)?;
    connect::write_ahead(&connection)?;
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
