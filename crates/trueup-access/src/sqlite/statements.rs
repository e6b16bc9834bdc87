//! SQL statements that several files of this folder share, and the errors of a statement.

use crate::error::{Entity, Error, StorageError};
use crate::secret::KeyHash;
use rusqlite::{Connection, ErrorCode, Params, Row, Transaction};
use std::path::Path;

/// An error of SQLite or of the caller that does not name the file yet; [`SqliteFault::at`] adds the path.
pub(super) enum SqliteFault {
    Sqlite(rusqlite::Error),
    /// The file was replaced while it was being opened.
    Replaced,
    /// The faults that SQLite finds in the file.
    Findings(Vec<String>),
    Error(Error),
}

impl SqliteFault {
    /// Converts the fault to an error that names the file.
    pub(super) fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            _ if self.is_busy() => Error::Locked { path },
            Self::Sqlite(source) if source.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                Error::Damaged { path, finding: source.to_string() }
            }
            Self::Sqlite(source) => StorageError::new(&path, source).into(),
            Self::Findings(findings) => Error::Damaged { path, finding: findings.join("; ") },
            Self::Replaced => Error::Locked { path },
            Self::Error(error) => error,
        }
    }

    /// Returns whether another process holds a lock.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Self::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
            }
            Self::Replaced | Self::Findings(_) | Self::Error(_) => false,
        }
    }
}

impl From<rusqlite::Error> for SqliteFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for SqliteFault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Returns whether a `SELECT` finds a row.
pub(super) fn exists(transaction: &Transaction<'_>, sql: &str, params: impl Params) -> Result<bool, SqliteFault> {
    Ok(transaction.prepare_cached(sql)?.exists(params)?)
}

/// Runs a statement and returns how many rows it changed.
pub(super) fn execute(transaction: &Transaction<'_>, sql: &str, params: impl Params) -> Result<usize, SqliteFault> {
    Ok(transaction.prepare_cached(sql)?.execute(params)?)
}

/// Returns all rows of a statement.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, SqliteFault> {
    Ok(connection.prepare_cached(sql)?.query_map(params, row)?.collect::<Result<_, _>>()?)
}

/// Returns the row of the key with this hash.
///
/// `sql` takes the locator, and its first column is the stored hash. The rows are candidates; the full hashes are
/// compared in constant time.
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

/// Returns [`Error::Unknown`] unless the id is in the directory.
pub(super) fn check_known(transaction: &Transaction<'_>, entity: Entity, id: &str) -> Result<(), SqliteFault> {
    let sql = match entity {
        Entity::Organization => "SELECT 1 FROM organizations WHERE id = ?1",
        Entity::Account => "SELECT 1 FROM accounts WHERE key = ?1",
        Entity::User => "SELECT 1 FROM users WHERE login = ?1",
    };
    if exists(transaction, sql, [id])? { Ok(()) } else { Err(Error::unknown(entity, id).into()) }
}

/// Returns `error` if a statement changed no row.
pub(super) fn check_changed(rows: usize, error: impl FnOnce() -> Error) -> Result<(), SqliteFault> {
    if rows == 0 { Err(error().into()) } else { Ok(()) }
}
