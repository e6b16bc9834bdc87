//! Statements that several parts share.

use super::fault::SqliteFault;
use crate::error::{Entity, Error};
use crate::secret::KeyHash;
use rusqlite::{Params, Row, Transaction};

/// Whether a statement that begins with `SELECT` finds a row.
pub(super) fn exists(transaction: &Transaction<'_>, sql: &str, params: impl Params) -> Result<bool, SqliteFault> {
    Ok(transaction.prepare_cached(sql)?.exists(params)?)
}

/// Runs a statement and returns how many rows it changed.
pub(super) fn execute(transaction: &Transaction<'_>, sql: &str, params: impl Params) -> Result<usize, SqliteFault> {
    Ok(transaction.prepare_cached(sql)?.execute(params)?)
}

/// All rows of a statement.
pub(super) fn all<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    params: impl Params,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, SqliteFault> {
    Ok(transaction.prepare_cached(sql)?.query_map(params, row)?.collect::<Result<_, _>>()?)
}

/// The row of the key with this hash. `sql` takes the locator and returns the stored hash first; the rows are candidates, and which of
/// them it is, is told in constant time.
pub(super) fn by_hash<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    hash: &KeyHash,
    mut row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, SqliteFault> {
    let candidate = |found: &Row<'_>| Ok((KeyHash::from_bytes(found.get(0)?), row(found)?));
    let candidates = all(transaction, sql, [hash.locator()], candidate)?;
    Ok(candidates.into_iter().find(|(stored, _)| stored.matches(hash)).map(|(_, found)| found))
}

/// [`Error::Unknown`] unless the id is in the directory.
pub(super) fn known(transaction: &Transaction<'_>, entity: Entity, id: &str) -> Result<(), SqliteFault> {
    let sql = match entity {
        Entity::Organization => "SELECT 1 FROM organizations WHERE id = ?1",
        Entity::Account => "SELECT 1 FROM accounts WHERE key = ?1",
        Entity::User => "SELECT 1 FROM users WHERE login = ?1",
    };
    if exists(transaction, sql, [id])? { Ok(()) } else { Err(Error::unknown(entity, id).into()) }
}

/// `error` if no row was changed.
pub(super) fn changed(rows: usize, error: impl FnOnce() -> Error) -> Result<(), SqliteFault> {
    if rows == 0 { Err(error().into()) } else { Ok(()) }
}
