//! Creates the file of a directory, and migrates tables of an earlier version.

use super::companions::{CompanionFiles, FileIdentity, ignore_missing, private_options, with_suffix};
use super::connection::{Purpose, SqliteFault, allow_checkpoint_on_close, connect, enable_write_ahead_log};
use crate::error::{Error, StorageError};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Instant;

/// Creates an empty directory at `path`, readable by its owner only, unless the path exists. A crash leaves nothing or
/// the whole directory at `path`.
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
    let mut connection = connect(draft, FileIdentity::of(draft)?, Purpose::Change)?;
    // The tables are made without a log, because an error in writing the log into the file on close would be silent.
    create_tables(&mut connection, draft)?;
    enable_write_ahead_log(&connection)?;
    allow_checkpoint_on_close(&connection)?;
    connection.close().map_err(|(_, error)| error.into())
}

/// Gives the file its name, unless another file has it by now.
fn publish(draft: &Path, path: &Path) -> io::Result<()> {
    File::open(draft)?.sync_all()?;
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        // Some file systems do not support links. There, a file that another program has just created is replaced.
        Err(_) => fs::rename(draft, path)?,
        Ok(()) => {}
    }
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Marks a SQLite file as a directory ("trup").
const APPLICATION_ID: i64 = 0x7472_7570;

/// The step at index `n` migrates from version `n` to `n + 1`. The statements of a step are never changed, because
/// files of every version exist.
const STEPS: &[&str] = &[include_str!("schema/1.sql")];

/// Migrates the file to the current version.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    migrate_by(connection, path, STEPS)
}

/// Creates the tables in an empty file or database.
pub(crate) fn create_tables(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    advance(&transaction, STEPS, STEPS)?;
    transaction.commit().map_err(SqliteFault::from)?;
    check_version(connection, path)
}

/// Refuses a file that is not a directory, or that has a later version. Changes nothing.
pub(super) fn check_version(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    missing_steps(&connection.transaction()?, path, STEPS).map(drop)
}

/// Migrates the file by the steps that it lacks, in one transaction.
fn migrate_by(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), SqliteFault> {
    if missing_steps(&connection.transaction()?, path, steps)?.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Checked again inside the transaction, because another process may have migrated the file.
    advance(&transaction, missing_steps(&transaction, path, steps)?, steps)?;
    transaction.commit()?;
    Ok(())
}

/// Runs the missing steps, and records the latest version.
fn advance(transaction: &Transaction<'_>, missing: &[&str], steps: &[&str]) -> Result<(), SqliteFault> {
    for step in missing {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", latest_version(steps))?;
    Ok(())
}

/// Returns the steps that the file lacks. The application id and the version are read in one transaction, because
/// another process may migrate in between.
fn missing_steps<'s>(
    transaction: &Transaction<'_>,
    path: &Path,
    steps: &'s [&'s str],
) -> Result<&'s [&'s str], SqliteFault> {
    let number = |sql| transaction.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application != APPLICATION_ID || version < 1 {
        return Err(Error::NotADirectory(path.to_owned()).into());
    }
    let missing = usize::try_from(version).ok().and_then(|version| steps.get(version..));
    missing.ok_or_else(|| Error::TooNew { path: path.to_owned(), found: version, known: latest_version(steps) }.into())
}

fn latest_version(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
