//! One file that is open: its connections, for as long as it is the one that its path names.

use super::check::{Depth, findings};
use super::companions::Companions;
use super::connect::{Purpose, allow_checkpoint_on_close, connect, patiently, write_ahead};
use super::fault::Fault;
use super::identity::Identity;
use super::migrate;
use super::turn::Turn;
use crate::error::{Error, StorageError};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Idle connections that are kept for reading; more are opened and closed as threads need them.
const IDLE_READERS: usize = 16;
/// How often a file may be replaced while it is being opened.
const ATTEMPTS: usize = 5;

/// The open file.
pub(super) struct OpenFile {
    /// Without symbolic links: SQLite names its log so.
    path: PathBuf,
    /// Nobody else gets the file's number while connections are open.
    identity: Identity,
    // Dropped before the writers, so that one of these closes last.
    readers: Mutex<Vec<Connection>>,
    turn: Turn,
    writers: Mutex<Writers>,
}

/// One turn for both: SQLite lets one write at a time, and waiting here costs less than its retries.
struct Writers {
    change: Connection,
    count: Connection,
}

impl OpenFile {
    /// Opens the file that `path` names, if it is a directory and undamaged. An earlier version's tables are brought to the current one.
    pub(super) fn open(path: &Path, deadline: Instant) -> Result<Self, Error> {
        // Not opened yet: a pipe would block.
        Identity::of(path)?;
        let failed = |error| StorageError::new(path, error);
        let path = path.canonicalize().map_err(failed)?;
        if path.metadata().map_err(failed)?.len() == 0 {
            return Err(Error::EmptyFile { path });
        }
        let (identity, writers) = Self::connect(&path, deadline)?;
        let found = patiently(deadline, || findings(&writers.change, Depth::Quick));
        match found {
            Ok(findings) if findings.is_empty() => {}
            Ok(findings) => return Err(Fault::Findings(findings).at(&path)),
            Err(fault) => return Err(fault.at(&path)),
        }
        Ok(Self { path, identity, readers: Mutex::default(), turn: Turn::default(), writers: Mutex::new(writers) })
    }

    /// The connections that write, and the file to which they belong.
    fn connect(path: &Path, deadline: Instant) -> Result<(Identity, Writers), Error> {
        let mut companions = Companions::lock(path, deadline)?;
        for _ in 0..ATTEMPTS {
            let identity = Identity::of(path)?;
            companions.separate(&identity)?;
            let writers = patiently(deadline, || Writers::open(path)).map_err(|fault| fault.at(path))?;
            // SQLite has opened what the path names: which file that was is known if it is the same before and after.
            if Identity::of(path)? == identity {
                companions.record(&identity)?;
                for connection in [&writers.change, &writers.count] {
                    allow_checkpoint_on_close(connection).map_err(|fault| fault.at(path))?;
                }
                return Ok((identity, writers));
            }
        }
        Err(Error::Locked { path: path.to_owned() })
    }

    pub(super) const fn identity(&self) -> Identity {
        self.identity
    }

    /// Reads from one state of the file: the last that was committed when it begins.
    pub(super) fn read<T>(
        &self,
        deadline: Instant,
        read: impl Fn(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        patiently(deadline, || {
            // A statement of its own, so that the lock is not held while connecting.
            let idle = self.idle_readers().pop();
            let connection = match idle {
                Some(connection) => connection,
                None => connect(&self.path, Purpose::Read)?,
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
        change: impl Fn(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let _turn = self.turn.take(deadline).ok_or(Fault::Waited)?;
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
    pub(super) fn findings(&self) -> Result<Vec<String>, Fault> {
        findings(&connect(&self.path, Purpose::Read)?, Depth::Full)
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
    fn open(path: &Path) -> Result<Self, Fault> {
        let mut change = connect(path, Purpose::Change)?;
        // Before anything is written: the file may be somebody else's.
        migrate::check(&mut change, path)?;
        write_ahead(&change)?;
        migrate::update(&mut change, path)?;
        let count = connect(path, Purpose::Count)?;
        // Opens the log.
        migrate::check(&mut change, path)?;
        Ok(Self { change, count })
    }
}
