//! A directory in one SQLite file.

mod connect;
mod fault;
mod keys;
mod migrate;
mod organizations;
mod requests;
mod rows;
mod users;

use crate::error::{Error, StorageError};
use crate::settings::Settings;
use connect::{Purpose, connect};
use fault::Fault;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Idle connections that are kept for reading; more are opened and closed as threads need them.
const IDLE_READERS: usize = 16;

/// A [`Directory`](crate::Directory) in one SQLite file, which many threads and processes may have open.
///
/// Nothing is cached: each call reads the file as the last finished change left it, whoever made it. Changes survive a loss of power;
/// the last hourly counts before it may not.
///
/// ```
/// use trueup_access::{Settings, SqliteDirectory, Users as _};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("directory.sqlite");
/// let directory = SqliteDirectory::open(&path, Settings::default())?;
/// directory.add_user("anna")?;
/// drop(directory);
/// assert_eq!(SqliteDirectory::open(&path, Settings::default())?.users()?.len(), 1);
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub struct SqliteDirectory {
    settings: Settings,
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    writers: Mutex<Writers>,
}

/// One lock for both: SQLite lets one write at a time, and waiting here costs less than its retries.
struct Writers {
    change: Connection,
    count: Connection,
}

impl SqliteDirectory {
    /// Opens the file at `path`, or makes it, readable by its owner alone. An earlier version's tables are brought to the current one.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::NotADirectory`], [`Error::TooNew`].
    ///
    /// ```
    /// use trueup_access::{Settings, SqliteDirectory};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let directory = SqliteDirectory::open(folder.path().join("directory.sqlite"), Settings::default())?;
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, settings: Settings) -> Result<Self, Error> {
        create(path.as_ref())?;
        Self::open_existing(path, settings)
    }

    /// Opens the file at `path`; as [`SqliteDirectory::open`], but a file that is not there is an error.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::NotADirectory`], [`Error::TooNew`].
    ///
    /// ```
    /// use trueup_access::{Settings, SqliteDirectory};
    ///
    /// assert!(SqliteDirectory::open_existing("no-such-directory.sqlite", Settings::default()).is_err());
    /// ```
    pub fn open_existing(path: impl AsRef<Path>, settings: Settings) -> Result<Self, Error> {
        // Absolute: SQLite takes names such as `:memory:` for something else, and the process may change its folder.
        let path = std::path::absolute(&path).map_err(|source| StorageError::new(path.as_ref(), source))?;
        let open = || {
            connect::prepare(&path)?;
            Ok(Writers { change: connect(&path, Purpose::Change)?, count: connect(&path, Purpose::Count)? })
        };
        let writers = open().map_err(|fault: Fault| fault.at(&path))?;
        Ok(Self { settings, path, readers: Mutex::default(), writers: Mutex::new(writers) })
    }

    /// The file.
    ///
    /// ```
    /// # use trueup_access::{Settings, SqliteDirectory};
    /// # let folder = tempfile::tempdir().unwrap();
    /// let directory = SqliteDirectory::open(folder.path().join("directory.sqlite"), Settings::default())?;
    /// assert!(directory.path().ends_with("directory.sqlite"));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads from one state of the file: the last that was committed when it begins.
    fn read<T>(&self, read: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, Error> {
        let attempt = || {
            // A statement of its own, so that the lock is not held while connecting.
            let idle = self.idle_readers().pop();
            let mut connection = match idle {
                Some(connection) => connection,
                None => connect(&self.path, Purpose::Read)?,
            };
            let transaction = connection.transaction()?;
            let result = read(&transaction)?;
            transaction.commit()?;
            Ok((result, connection))
        };
        let (result, connection) = attempt().map_err(|fault: Fault| fault.at(&self.path))?;
        let mut idle = self.idle_readers();
        if idle.len() < IDLE_READERS {
            idle.push(connection);
        }
        Ok(result)
    }

    /// Changes the file, whole or not at all.
    fn change<T>(&self, change: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, Error> {
        write(&mut self.writers().change, change).map_err(|fault| fault.at(&self.path))
    }

    /// As `change`, for counts.
    fn tally<T>(&self, tally: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, Error> {
        write(&mut self.writers().count, tally).map_err(|fault| fault.at(&self.path))
    }

    // A panic in between leaves connections whose transaction was rolled back; they can be used on.

    fn idle_readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writers(&self) -> MutexGuard<'_, Writers> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for SqliteDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("SqliteDirectory");
        debug.field("settings", &self.settings).field("path", &self.path).finish_non_exhaustive()
    }
}

fn write<T>(
    connection: &mut Connection,
    change: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let result = change(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

/// An empty file that nobody else may read, unless one is there. SQLite gives the files beside it the same rights.
fn create(path: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    match options.open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(StorageError::new(path, error).into()),
        _ => Ok(()),
    }
}
