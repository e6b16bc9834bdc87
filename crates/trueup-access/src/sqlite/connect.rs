//! Connections to the file.

use super::fault::Fault;
use super::migrate;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a statement waits for another process to finish its change.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// More than there are statements, so that each is prepared once per connection.
const PREPARED_STATEMENTS: usize = 64;

/// What a connection is for.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// Reads alone.
    Read,
    /// Changes that survive a loss of power: a revoked key must not come back.
    Change,
    /// Hourly counts; a loss of power may forget the last of them.
    Count,
}

/// A connection to a file that exists and is a directory.
pub(super) fn connect(path: &Path, purpose: Purpose) -> Result<Connection, Fault> {
    let connection = open(path)?;
    let synchronous = match purpose {
        Purpose::Change => "FULL",
        Purpose::Read | Purpose::Count => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "query_only", matches!(purpose, Purpose::Read))?;
    Ok(connection)
}

/// Makes the file a directory of the current version, if it is empty or an earlier one.
pub(super) fn prepare(path: &Path) -> Result<(), Fault> {
    let mut connection = open(path)?;
    // Before anything is written: the file may be somebody else's.
    migrate::check(&mut connection, path)?;
    write_ahead(&connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    migrate::migrate(&mut connection, path, migrate::STEPS)
}

fn open(path: &Path) -> Result<Connection, Fault> {
    // No `URI` flag: a path is a path, whatever it begins with.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Readers see the last commit while a change is being written. SQLite gives up on this switch at once when two processes make it
/// together, so that it is tried again here.
fn write_ahead(connection: &Connection) -> Result<(), Fault> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return Err(rusqlite::Error::InvalidQuery.into()),
            Err(error) if begun.elapsed() < BUSY_TIMEOUT && is_busy(&error) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
