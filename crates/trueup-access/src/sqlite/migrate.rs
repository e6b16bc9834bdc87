//! The tables of the file, brought to the version that this trueup writes.

use super::fault::SqliteFault;
use crate::error::Error;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// Marks the file as ours ("trup").
const APPLICATION_ID: i64 = 0x7472_7570;

/// The step at index `n` leads from version `n` to `n + 1`. Steps are only ever added: files of every version are out there.
const STEPS: &[&str] = &[include_str!("schema/1.sql")];

/// Brings the file to the last version.
pub(super) fn update(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    migrate(connection, path, STEPS)
}

/// Makes an empty file a directory.
pub(super) fn create(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    advance(&transaction, STEPS, STEPS)?;
    transaction.commit().map_err(SqliteFault::from)?;
    check(connection, path)
}

/// Refuses a file that is something else, or later than this trueup. Changes nothing.
pub(super) fn check(connection: &mut Connection, path: &Path) -> Result<(), SqliteFault> {
    outdated(&connection.transaction()?, path, STEPS).map(drop)
}

/// Brings the file to the last version that `steps` lead to, all or nothing.
fn migrate(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), SqliteFault> {
    if outdated(&connection.transaction()?, path, steps)?.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again: another process may have been faster.
    advance(&transaction, outdated(&transaction, path, steps)?, steps)?;
    transaction.commit()?;
    Ok(())
}

/// Takes the steps that are missing out of all of them.
fn advance(transaction: &Transaction<'_>, missing: &[&str], steps: &[&str]) -> Result<(), SqliteFault> {
    for step in missing {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known(steps))?;
    Ok(())
}

/// The steps that the file still lacks. In one transaction: between two questions another process may be through with all of them.
fn outdated<'s>(
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
    missing.ok_or_else(|| Error::TooNew { path: path.to_owned(), found: version, known: known(steps) }.into())
}

fn known(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
