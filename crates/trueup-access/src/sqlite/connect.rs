//! Connections to the file.

use super::fault::SqliteFault;
use super::identity::FileIdentity;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two attempts to get what another process holds. SQLite's own waiting backs off to a tenth of a second, by which a process
/// that writes all the time keeps others out.
const PAUSE: Duration = Duration::from_millis(1);
/// More than there are statements, so that each is prepared once per connection.
const PREPARED_STATEMENTS: usize = 64;

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reads alone.
    Read,
    /// Changes that survive a loss of power: a revoked key must not come back.
    Change,
    /// Hourly counts; a loss of power may forget the last of them.
    Count,
}

/// A connection to `file`, which `path` names. It does not wait for others, and leaves the write-ahead log alone when it is closed.
///
/// [`CompanionFiles`](super::companions::CompanionFiles) must be locked until the first transaction has ended: it opens the log by its name.
pub(super) fn connect(path: &Path, file: FileIdentity, purpose: Purpose) -> Result<Connection, SqliteFault> {
    // No `URI` flag: a path is a path, whatever it begins with.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // The file is open by now, the log is not: if the name has got another file, nothing of the two has been mixed.
    if FileIdentity::of(path)? != file {
        return Err(SqliteFault::Replaced);
    }
    connection.busy_timeout(Duration::ZERO)?;
    // Whoever closes last writes the log into the file: that the two belong together must be known before.
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

/// Lets the connection write the log into the file when it is the last to be closed.
pub(super) fn allow_checkpoint_on_close(connection: &Connection) -> Result<(), SqliteFault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(())
}

/// Readers see the last commit while a change is being written.
pub(super) fn write_ahead(connection: &Connection) -> Result<(), SqliteFault> {
    let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
    if mode == "wal" { Ok(()) } else { Err(rusqlite::Error::InvalidQuery.into()) }
}

/// Does it again while another process holds what it needs, until the deadline.
pub(super) fn patiently<T>(
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
