//! Connections to the file, and retries while another process holds a lock.

use super::companions::FileIdentity;
use super::statements::SqliteFault;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
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
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    connection.pragma_update(None, "trusted_schema", false)?;
    let synchronous = match purpose {
        Purpose::Change => "FULL",
        Purpose::Read | Purpose::Count => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "query_only", purpose == Purpose::Read)?;
    Ok(connection)
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
