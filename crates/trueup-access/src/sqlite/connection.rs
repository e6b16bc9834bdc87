//! Connections to the file, the SQL statements that several files of this folder share, and the faults of both.

use super::companions::FileIdentity;
use crate::error::{Entity, Error, StorageError};
use crate::secret::KeyHash;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Params, Row, Transaction};
use std::path::Path;
use std::time::{Duration, Instant};

/// The pause between two attempts to get a lock. SQLite's own pauses grow to a tenth of a second, so a process that
/// writes all the time would keep others out.
const PAUSE: Duration = Duration::from_millis(1);
/// More than the number of different statements, so each is prepared once per connection.
const PREPARED_STATEMENTS: usize = 64;

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reads.
    Read,
    /// Changes that survive a loss of power, because a revoked key must not come back.
    Change,
    /// Changes to hourly counts. A loss of power may undo the last ones.
    Count,
}

/// Connects to `file`, which `path` names. The connection does not wait for locks, and keeps the write-ahead log when
/// it is closed.
///
/// [`CompanionFiles`](super::companions::CompanionFiles) must be locked until the first transaction has ended, because
/// that transaction opens the log by its name.
pub(super) fn connect(path: &Path, file: FileIdentity, purpose: Purpose) -> Result<Connection, SqliteFault> {
    // Without the `URI` flag, a path that begins with `file:` is a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // The file is open now and the log is not yet, so a file that was replaced has not been mixed with another log.
    if FileIdentity::of(path)? != file {
        return Err(SqliteFault::Replaced);
    }
    connection.busy_timeout(Duration::ZERO)?;
    // The last connection to close writes the log into the file. That is allowed only once the two are known to belong
    // together.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    configure(&connection)?;
    let synchronous = match purpose {
        Purpose::Change => "FULL",
        Purpose::Read | Purpose::Count => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "query_only", purpose == Purpose::Read)?;
    Ok(connection)
}

/// Sets what every connection has, to a file or to memory.
pub(crate) fn configure(connection: &Connection) -> Result<(), SqliteFault> {
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

/// Lets the connection write the log into the file if it is the last to close.
pub(super) fn allow_checkpoint_on_close(connection: &Connection) -> Result<(), SqliteFault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(())
}

/// Turns on the write-ahead log, with which readers see the last commit while a change is written.
pub(super) fn enable_write_ahead_log(connection: &Connection) -> Result<(), SqliteFault> {
    let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
    if mode == "wal" { Ok(()) } else { Err(rusqlite::Error::InvalidQuery.into()) }
}

/// Retries while another process holds a lock, until the deadline.
pub(super) fn retry_while_busy<T>(
    deadline: Instant,
    mut act: impl FnMut() -> Result<T, SqliteFault>,
) -> Result<T, SqliteFault> {
    loop {
        match act() {
            Err(fault) if fault.is_busy() && Instant::now() < deadline => std::thread::sleep(PAUSE),
            result => return result,
        }
    }
}

/// An error of SQLite or of the caller that does not name the file yet; [`SqliteFault::at`] adds the path.
pub(crate) enum SqliteFault {
    Sqlite(rusqlite::Error),
    /// The file was replaced while it was being opened.
    Replaced,
    /// The faults that SQLite finds in the file.
    Findings(Vec<String>),
    Error(Error),
}

impl SqliteFault {
    /// Converts the fault to an error that names the file.
    pub(crate) fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            _ if self.is_busy() => Error::Locked(path),
            Self::Sqlite(source) if source.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                Error::Damaged { path, finding: source.to_string() }
            }
            Self::Sqlite(source) => StorageError::new(&path, source).into(),
            Self::Findings(findings) => Error::Damaged { path, finding: findings.join("; ") },
            Self::Replaced => Error::Locked(path),
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

/// Returns the row of the key, or of the session's token, with this hash.
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
