//! The version of the tables, and the steps that migrate them to the current version.

use super::statements::SqliteFault;
use crate::error::Error;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// Marks a SQLite file as a directory ("trup").
const APPLICATION_ID: i64 = 0x7472_7570;

/// The step at index `n` migrates from version `n` to `n + 1`. The statements of a step are never changed, because
/// files of every version exist.
const STEPS: &[&str] = &[include_str!("schema/1.sql")];

/// Migrates the file to the current version.
pub(super) fn update(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    migrate(connection, path, STEPS)
}

/// Creates the tables in an empty file.
pub(super) fn create(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    advance(&transaction, STEPS, STEPS)?;
    transaction.commit().map_err(SqliteFault::from)?;
    check(connection, path)
}

/// Refuses a file that is not a directory, or of a later version. Changes nothing.
pub(super) fn check(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    missing_steps(&connection.transaction()?, path, STEPS).map(drop)
}

/// Migrates the file by the steps that it lacks, in one transaction.
fn migrate(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), SqliteFault> {
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

/// Returns the steps that the file lacks. Both numbers are read in one transaction, because another process may migrate
/// in between.
fn missing_steps<'s>(
    transaction: &Transaction<'_>,
    path: &Path,
    steps: &'s [&'s str],
) -> Result<&'s [&'s str], SqliteFault> {
    let number = |sql| transaction.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application != APPLICATION_ID || version < 1 {
        return Err(Error::NotADirectory { path: path.to_owned() }.into());
    }
    let missing = usize::try_from(version).ok().and_then(|version| steps.get(version..));
    missing.ok_or_else(|| Error::TooNew { path: path.to_owned(), found: version, known: latest_version(steps) }.into())
}

fn latest_version(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
