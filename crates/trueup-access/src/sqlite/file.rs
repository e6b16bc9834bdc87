//! One file that is open: its connections, for as long as it is the one that its path names.

use super::check::{CheckDepth, check_length, findings};
use super::companions::CompanionFiles;
use super::connect::{Purpose, allow_checkpoint_on_close, connect, patiently, write_ahead};
use super::fault::SqliteFault;
use super::identity::FileIdentity;
use super::migrate;
use crate::error::{Error, StorageError};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Idle connections that are kept for reading; more are opened and closed as threads need them.
const IDLE_READERS: usize = 64;
/// How often a file may be replaced while it is being opened.
const ATTEMPTS: usize = 5;

/// The open file.
pub(super) struct OpenDatabase {
    /// Without symbolic links: SQLite names its log so.
    path: PathBuf,
    /// Nobody else gets the file's number while connections are open.
    identity: FileIdentity,
    // Dropped before the writers, so that one of these closes last.
    readers: Mutex<Vec<Connection>>,
    /// Held while one more is opened: threads of one process need not poll for what they give each other.
    connecting: Mutex<()>,
    writers: Mutex<Writers>,
}

/// One lock for both: SQLite lets one write at a time, and waiting here costs less than its retries.
struct Writers {
    change: Connection,
    count: Connection,
}

impl OpenDatabase {
    /// Opens the file that `path` names, if it is a directory and undamaged. An earlier version's tables are brought to the current one.
    pub(super) fn open(path: &Path, deadline: Instant) -> Result<Self, Error> {
        // Not opened yet: a pipe would block.
        FileIdentity::of(path)?;
        let failed = |error| StorageError::new(path, error);
        let path = path.canonicalize().map_err(failed)?;
        let bytes = path.metadata().map_err(failed)?.len();
        if bytes == 0 {
            return Err(Error::EmptyFile { path });
        }
        let (identity, writers) = Self::connect(&path, deadline)?;
        let checked = patiently(deadline, || {
            check_length(&writers.change, bytes)?;
            match findings(&writers.change, CheckDepth::to_open(bytes))? {
                none if none.is_empty() => Ok(()),
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

    /// The connections that write, and the file to which they belong.
    fn connect(path: &Path, deadline: Instant) -> Result<(FileIdentity, Writers), Error> {
        let mut companions = CompanionFiles::lock(path, deadline)?;
        for _ in 0..ATTEMPTS {
            let identity = FileIdentity::of(path)?;
            companions.separate(&identity)?;
            let opened = patiently(deadline, || Writers::open(path, identity));
            if FileIdentity::of(path)? != identity {
                continue;
            }
            companions.record(&identity)?;
            let writers = opened.and_then(Writers::allow_checkpoint_on_close).map_err(|fault| fault.at(path))?;
            return Ok((identity, writers));
        }
        Err(Error::Locked { path: path.to_owned() })
    }

    pub(super) const fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Reads from one state of the file: the last that was committed when it begins.
    pub(super) fn read<T>(
        &self,
        deadline: Instant,
        read: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>,
    ) -> Result<T, SqliteFault> {
        patiently(deadline, || {
            // A statement of its own, so that the lock is not held while connecting.
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

    /// Changes the file, whole or not at all.
    pub(super) fn write<T>(
        &self,
        purpose: Purpose,
        deadline: Instant,
        change: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>,
    ) -> Result<T, SqliteFault> {
        // Whoever waits for the lock has waited: the deadline is that of the call, so that one more attempt is all that follows.
        let writers = self.writers();
        let connection = if purpose == Purpose::Count { &writers.count } else { &writers.change };
        patiently(deadline, || {
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })
    }

    /// What is wrong with the file; nothing if it is whole.
    pub(super) fn findings(&self, deadline: Instant) -> Result<Vec<String>, SqliteFault> {
        findings(&self.connect_to_read(deadline)?, CheckDepth::Full)
    }

    fn connect_to_read(&self, deadline: Instant) -> Result<Connection, SqliteFault> {
        let _connecting = self.connecting.lock().unwrap_or_else(PoisonError::into_inner);
        let _companions = CompanionFiles::lock(&self.path, deadline)?;
        let mut connection = connect(&self.path, self.identity, Purpose::Read)?;
        // Opens the log.
        migrate::check(&mut connection, &self.path)?;
        Ok(connection)
    }

    // A panic in between leaves connections whose transaction was rolled back; they can be used on.

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
        // Before anything is written: the file may be somebody else's.
        migrate::check(&mut change, path)?;
        write_ahead(&change)?;
        migrate::update(&mut change, path)?;
        let mut count = connect(path, file, Purpose::Count)?;
        // Opens the log for both.
        migrate::check(&mut change, path)?;
        migrate::check(&mut count, path)?;
        Ok(Self { change, count })
    }

    fn allow_checkpoint_on_close(self) -> Result<Self, SqliteFault> {
        for connection in [&self.change, &self.count] {
            allow_checkpoint_on_close(connection)?;
        }
        Ok(self)
    }
}
