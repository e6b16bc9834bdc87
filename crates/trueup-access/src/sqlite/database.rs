//! An open file: its checks and its connections.

use super::companions::{CompanionFiles, FileIdentity};
use super::connection::retry_while_busy;
use super::connection::{Purpose, SqliteFault, all, allow_checkpoint_on_close, connect, enable_write_ahead_log};
use super::create;
use crate::error::{Error, StorageError};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Largest number of idle connections that are kept for reading. Others are opened and closed as threads need them.
const IDLE_READERS: usize = 64;
/// Largest number of attempts to open a file. An attempt fails if the file is replaced meanwhile.
const ATTEMPTS: usize = 5;

/// An open file, and its connections.
pub(super) struct OpenDatabase {
    /// The path without symbolic links, because SQLite names the log after it.
    path: PathBuf,
    /// No other file gets this identity while connections are open, because the inode is not reused until they close.
    identity: FileIdentity,
    // Declared before the writers, and so dropped before them: a writer must close last, to write the log into the
    // file.
    readers: Mutex<Vec<Connection>>,
    /// Locked while a connection is opened, so that threads of this process do not poll for the file lock.
    connecting: Mutex<()>,
    writers: Mutex<Writers>,
}

/// The connections that write, one for changes and one for hourly counts. One lock covers both, because SQLite admits
/// one writer at a time, and a retry costs more than a lock.
struct Writers {
    change: Connection,
    count: Connection,
}

impl OpenDatabase {
    /// Opens and checks the file at `path`. Tables of an earlier version are migrated.
    pub(super) fn open(path: &Path, deadline: Instant) -> Result<Self, Error> {
        // Refuses a pipe before it is opened, because opening it would block.
        FileIdentity::of(path)?;
        let failed = |error| StorageError::new(path, error);
        let path = path.canonicalize().map_err(failed)?;
        let bytes = path.metadata().map_err(failed)?.len();
        if bytes == 0 {
            return Err(Error::EmptyFile(path));
        }
        let (identity, writers) = Self::open_writers(&path, deadline)?;
        let checked = retry_while_busy(deadline, || {
            check_length(&writers.change, bytes)?;
            match findings(&writers.change, CheckDepth::when_opening(bytes))? {
                findings if findings.is_empty() => Ok(()),
                findings => Err(SqliteFault::Findings(findings)),
            }
        });
        checked.map_err(|fault| fault.at(&path))?;
        Ok(Self {
            path,
            identity,
            readers: Mutex::default(),
            connecting: Mutex::default(),
            writers: Mutex::new(writers),
        })
    }

    /// Opens the connections that write, and returns them with the identity of their file.
    fn open_writers(path: &Path, deadline: Instant) -> Result<(FileIdentity, Writers), Error> {
        let mut companions = CompanionFiles::lock(path, deadline)?;
        for _ in 0..ATTEMPTS {
            let identity = FileIdentity::of(path)?;
            companions.set_aside_foreign_log(&identity)?;
            let opened = retry_while_busy(deadline, || Writers::open(path, identity));
            if FileIdentity::of(path)? != identity {
                continue;
            }
            companions.record_log(&identity)?;
            let writers = opened.and_then(Writers::allow_checkpoint_on_close).map_err(|fault| fault.at(path))?;
            return Ok((identity, writers));
        }
        Err(Error::Locked(path.to_owned()))
    }

    pub(super) const fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Reads in one transaction.
    pub(super) fn read<T>(
        &self,
        deadline: Instant,
        read: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>,
    ) -> Result<T, SqliteFault> {
        retry_while_busy(deadline, || {
            // A separate statement, so that the lock is released before a connection is opened.
            let idle = self.idle_readers().pop();
            let connection = match idle {
                Some(connection) => connection,
                None => self.connect_to_read(deadline)?,
            };
            let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
            let result = read(&transaction)?;
            transaction.commit()?;
            let mut idle = self.idle_readers();
            if idle.len() < IDLE_READERS {
                idle.push(connection);
            }
            Ok(result)
        })
    }

    /// Changes the file in one transaction.
    pub(super) fn write<T>(
        &self,
        purpose: Purpose,
        deadline: Instant,
        change: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>,
    ) -> Result<T, SqliteFault> {
        // The deadline counts from the start of the call. A thread that waited for this lock past its deadline still
        // makes one attempt.
        let writers = self.writers();
        let connection = if purpose == Purpose::Count { &writers.count } else { &writers.change };
        retry_while_busy(deadline, || {
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })
    }

    /// Checks the whole file and returns its first faults; none if the file is sound.
    pub(super) fn findings(&self, deadline: Instant) -> Result<Vec<String>, SqliteFault> {
        findings(&self.connect_to_read(deadline)?, CheckDepth::Full)
    }

    fn connect_to_read(&self, deadline: Instant) -> Result<Connection, SqliteFault> {
        let _connecting = self.connecting.lock().unwrap_or_else(PoisonError::into_inner);
        let _companions = CompanionFiles::lock(&self.path, deadline)?;
        let mut connection = connect(&self.path, self.identity, Purpose::Read)?;
        // This first transaction opens the log.
        create::check_version(&mut connection, &self.path)?;
        Ok(connection)
    }

    // A poisoned lock is ignored: a panic rolls back the transaction, and the connection stays usable.

    fn idle_readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writers(&self) -> MutexGuard<'_, Writers> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writers {
    fn open(path: &Path, file: FileIdentity) -> Result<Self, SqliteFault> {
        let mut change = connect(path, file, Purpose::Change)?;
        // Before anything is written, because the file may belong to another program.
        create::check_version(&mut change, path)?;
        enable_write_ahead_log(&change)?;
        create::migrate(&mut change, path)?;
        let mut count = connect(path, file, Purpose::Count)?;
        // These transactions open the log for both.
        create::check_version(&mut change, path)?;
        create::check_version(&mut count, path)?;
        Ok(Self { change, count })
    }

    fn allow_checkpoint_on_close(self) -> Result<Self, SqliteFault> {
        for connection in [&self.change, &self.count] {
            allow_checkpoint_on_close(connection)?;
        }
        Ok(self)
    }
}

/// How many findings an error reports at most. A damaged file may have thousands.
const MAX_FINDINGS: usize = 5;

/// The size, in bytes, up to which opening a file checks it fully. That takes about a tenth of a second.
const MAX_FULL_CHECK_BYTES: u64 = 8 << 20;

/// Refuses a file that ends within a page, because SQLite would fill the page with zeros.
fn check_length(connection: &Connection, bytes: u64) -> Result<(), SqliteFault> {
    let page: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    if bytes.is_multiple_of(page.into()) {
        return Ok(());
    }
    Err(SqliteFault::Findings(vec![format!("it has {bytes} bytes, and ends within a page of {page} bytes")]))
}

/// How closely a file is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckDepth {
    /// Every page.
    Quick,
    /// Every page, every index against its table, and every reference.
    Full,
}

impl CheckDepth {
    /// Returns the check for opening a file of this size. With 100,000 users, the quick check takes 0.1 s and the full
    /// one 0.6 s.
    const fn when_opening(bytes: u64) -> Self {
        if bytes <= MAX_FULL_CHECK_BYTES { Self::Full } else { Self::Quick }
    }
}

/// Checks the file and returns at most [`MAX_FINDINGS`] findings; none if the file is sound.
fn findings(connection: &Connection, depth: CheckDepth) -> Result<Vec<String>, SqliteFault> {
    let pragma = if depth == CheckDepth::Full { "integrity_check" } else { "quick_check" };
    let mut findings = all(connection, &format!("PRAGMA {pragma}({MAX_FINDINGS})"), [], |row| row.get::<_, String>(0))?;
    findings.retain(|finding| finding != "ok");
    if findings.is_empty() && depth == CheckDepth::Full {
        findings = all(connection, "PRAGMA foreign_key_check", [], |row| {
            let (table, of): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(format!("a row of `{table}` refers to a row of `{of}` that does not exist"))
        })?;
    }
    findings.truncate(MAX_FINDINGS);
    Ok(findings.iter().map(|finding| finding.trim().replace('\n', ": ")).collect())
}
