//! A directory in SQLite tables. [`organizations`], [`users`] and [`requests`] implement the traits of a directory for
//! all [`tables`], and this file for those in one SQLite file: [`create`] creates the file and migrates its tables, and
//! [`database`] opens and checks it, with [`companions`] for the files next to it and [`connection`] for its
//! connections.

mod companions;
pub(crate) mod connection;
pub(crate) mod create;
mod database;
mod organizations;
mod requests;
pub(crate) mod tables;
mod users;

use crate::error::{Error, StorageError};
use crate::settings::DirectorySettings;
use companions::FileIdentity;
use connection::{Purpose, SqliteFault, retry_while_busy};
use database::OpenDatabase;
use rusqlite::Transaction;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tables::Tables;

/// Time for which calls repeat the error of a refused file before one opens the file again.
const REFUSED_FOR: Duration = Duration::from_millis(250);

/// A [`Directory`](crate::Directory) in one SQLite file, which many threads and processes may have open.
///
/// Nothing is cached: each call reads the file as the last committed change of any process left it. Changes survive a
/// loss of power, except for the last hourly counts.
///
/// A file may be replaced by a rename, for example to restore a backup. Every call that begins afterwards reads the new
/// file, which must pass the same checks as a file that is opened. A file that was removed is an error.
///
/// ```
/// use trueup_access::{DirectorySettings, SqliteDirectory, Users as _};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("directory.sqlite");
/// let directory = SqliteDirectory::open(&path, DirectorySettings::default())?;
/// directory.add_user("anna")?;
/// drop(directory);
/// assert_eq!(SqliteDirectory::open(&path, DirectorySettings::default())?.users()?.len(), 1);
/// # Ok::<(), trueup_access::Error>(())
/// ```
pub struct SqliteDirectory {
    settings: DirectorySettings,
    path: PathBuf,
    file: RwLock<Arc<OpenDatabase>>,
    /// The file that replaced the open one, if it cannot be used. Locked while a thread opens a new file for all
    /// threads.
    refused: Mutex<Option<RefusedFile>>,
}

/// A file that replaced the open one, and the error of opening it.
struct RefusedFile {
    identity: FileIdentity,
    when: Instant,
    why: Error,
}

impl SqliteDirectory {
    /// Opens the file at `path`; creates it, readable by its owner only, if it does not exist. Tables of an earlier
    /// version are migrated.
    ///
    /// # Errors
    /// Those of [`SqliteDirectory::open_existing`].
    ///
    /// ```
    /// use trueup_access::{DirectorySettings, SqliteDirectory};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let directory = SqliteDirectory::open(folder.path().join("directory.sqlite"), DirectorySettings::default())?;
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, settings: DirectorySettings) -> Result<Self, Error> {
        let path = absolute(path.as_ref())?;
        create::create(&path, Instant::now() + settings.change_wait)?;
        Self::open_existing(path, settings)
    }

    /// Opens the file at `path`, like [`SqliteDirectory::open`], but never creates one.
    ///
    /// Every page is read and checked; in a small file, also each index and each reference.
    /// [`SqliteDirectory::verify`] checks these in a file of any size.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::Locked`], [`Error::Damaged`], [`Error::EmptyFile`], [`Error::NotAFile`],
    /// [`Error::NotADirectory`], [`Error::TooNew`].
    ///
    /// ```
    /// use trueup_access::{DirectorySettings, SqliteDirectory};
    ///
    /// assert!(SqliteDirectory::open_existing("no-such-directory.sqlite", DirectorySettings::default()).is_err());
    /// ```
    pub fn open_existing(path: impl AsRef<Path>, settings: DirectorySettings) -> Result<Self, Error> {
        let path = absolute(path.as_ref())?;
        let file = OpenDatabase::open(&path, Instant::now() + settings.change_wait)?;
        Ok(Self { settings, path, file: RwLock::new(Arc::new(file)), refused: Mutex::default() })
    }

    /// Checks the whole file: each page, each index against its table, and each reference. Returns the first faults;
    /// none if the file is sound. A large file takes seconds.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::Locked`], or [`Error::Damaged`] if the check itself stops at an unreadable page. If
    /// the file was replaced, also the other errors of [`SqliteDirectory::open_existing`].
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, SqliteDirectory};
    /// # let folder = tempfile::tempdir().unwrap();
    /// let directory = SqliteDirectory::open(folder.path().join("directory.sqlite"), DirectorySettings::default())?;
    /// assert!(directory.verify()?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    pub fn verify(&self) -> Result<Vec<String>, Error> {
        self.with_current_file(Instant::now() + self.settings.change_wait, |file, deadline| {
            retry_while_busy(deadline, || file.findings(deadline))
        })
    }

    /// Returns the path of the file.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, SqliteDirectory};
    /// # let folder = tempfile::tempdir().unwrap();
    /// let directory = SqliteDirectory::open(folder.path().join("directory.sqlite"), DirectorySettings::default())?;
    /// assert!(directory.path().ends_with("directory.sqlite"));
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Acts on the file that the path names now. If the file was replaced meanwhile, acts again on the new one, because
    /// neither a result from the old file nor a change to it is valid.
    fn with_current_file<T>(
        &self,
        deadline: Instant,
        act: impl Fn(&OpenDatabase, Instant) -> Result<T, SqliteFault>,
    ) -> Result<T, Error> {
        loop {
            let file = self.current_file(deadline)?;
            let result = act(&file, deadline).map_err(|fault| fault.at(&self.path));
            if FileIdentity::of(&self.path)? == file.identity() {
                return result;
            }
            if Instant::now() >= deadline {
                return Err(Error::Locked(self.path.clone()));
            }
        }
    }

    /// Returns the file that the path names now. Opens the file if it replaced the open one.
    fn current_file(&self, deadline: Instant) -> Result<Arc<OpenDatabase>, Error> {
        // Checked on every call, which takes a microsecond, because a key that the new file revokes must not work
        // again.
        let identity = FileIdentity::of(&self.path)?;
        let file = self.file();
        if file.identity() == identity {
            return Ok(file);
        }
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.file();
        if file.identity() == identity {
            return Ok(file);
        }
        if let Some(RefusedFile { why, .. }) = refused.as_ref().filter(|refused| refused.applies_to(identity)) {
            return Err(why.clone());
        }
        match OpenDatabase::open(&self.path, deadline) {
            Ok(file) => {
                let file = Arc::new(file);
                *self.file.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&file);
                *refused = None;
                Ok(file)
            }
            Err(why) => {
                *refused = Some(RefusedFile { identity, when: Instant::now(), why: why.clone() });
                Err(why)
            }
        }
    }

    fn file(&self) -> Arc<OpenDatabase> {
        Arc::clone(&self.file.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Tables for SqliteDirectory {
    fn settings(&self) -> &DirectorySettings {
        &self.settings
    }

    fn read<T>(&self, read: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        self.with_current_file(Instant::now() + self.settings.wait, |file, deadline| file.read(deadline, &read))
    }

    fn change<T>(&self, change: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        let deadline = Instant::now() + self.settings.change_wait;
        self.with_current_file(deadline, |file, deadline| file.write(Purpose::Change, deadline, &change))
    }

    /// Does not flush to disk.
    fn change_counts<T>(&self, change: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        let deadline = Instant::now() + self.settings.wait;
        self.with_current_file(deadline, |file, deadline| file.write(Purpose::Count, deadline, &change))
    }
}

impl RefusedFile {
    fn applies_to(&self, identity: FileIdentity) -> bool {
        self.identity == identity && self.when.elapsed() < REFUSED_FOR
    }
}

impl std::fmt::Debug for SqliteDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("SqliteDirectory");
        debug.field("settings", &self.settings).field("path", &self.path).finish_non_exhaustive()
    }
}

/// Makes a path absolute, because SQLite gives names such as `:memory:` another meaning, and the process may change its
/// folder.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| StorageError::new(path, source).into())
}
