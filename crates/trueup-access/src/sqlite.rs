//! A directory in one SQLite file.

mod check;
mod companions;
mod connect;
mod create;
mod fault;
mod file;
mod identity;
mod keys;
mod migrate;
mod organizations;
mod requests;
mod rows;
mod users;

use crate::error::{Error, StorageError};
use crate::settings::DirectorySettings;
use connect::Purpose;
use fault::SqliteFault;
use file::OpenDatabase;
use identity::FileIdentity;
use rusqlite::Transaction;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// For how long a file that was refused is not looked at again: what is answered meanwhile is why it was refused.
const REFUSED_FOR: Duration = Duration::from_millis(250);

/// A [`Directory`](crate::Directory) in one SQLite file, which many threads and processes may have open.
///
/// Nothing is cached: each call reads the file as the last finished change left it, whoever made it. Changes survive a loss of power;
/// the last hourly counts before it may not.
///
/// A file that takes the place of another by a rename, as when a backup is restored, is answered from by every call that begins after
/// it. It has to pass the checks that it would have to pass when it is opened. A file that was removed is an error.
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
    /// Held while another file is being opened, by one thread for all.
    refused: Mutex<Option<RefusedFile>>,
}

/// A file that has taken the place of another, and cannot be used.
struct RefusedFile {
    identity: FileIdentity,
    when: Instant,
    why: Error,
}

impl SqliteDirectory {
    /// Opens the file at `path`, or makes it, readable by its owner alone. An earlier version's tables are brought to the current one.
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

    /// Opens the file at `path`; as [`SqliteDirectory::open`], but a file that is not there is an error. Every page of it is
    /// read and checked; [`SqliteDirectory::verify`] looks closer at a large one.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::Locked`], [`Error::Damaged`], [`Error::EmptyFile`], [`Error::NotAFile`], [`Error::NotADirectory`],
    /// [`Error::TooNew`].
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

    /// Checks the whole file: each page, each index against its table, and each reference. Gives what is wrong, or nothing. A large
    /// file takes seconds.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::Locked`], or [`Error::Damaged`] if the check itself ends at a page that does not read.
    ///
    /// ```
    /// # use trueup_access::{DirectorySettings, SqliteDirectory};
    /// # let folder = tempfile::tempdir().unwrap();
    /// let directory = SqliteDirectory::open(folder.path().join("directory.sqlite"), DirectorySettings::default())?;
    /// assert!(directory.verify()?.is_empty());
    /// # Ok::<(), trueup_access::Error>(())
    /// ```
    pub fn verify(&self) -> Result<Vec<String>, Error> {
        self.on_current(Instant::now() + self.settings.change_wait, |file, deadline| {
            connect::patiently(deadline, || file.findings(deadline))
        })
    }

    /// The file.
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

    /// Reads from one state of the file: the last that was committed when it begins.
    fn read<T>(&self, read: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        self.on_current(Instant::now() + self.settings.wait, |file, deadline| file.read(deadline, &read))
    }

    /// Changes the file, whole or not at all.
    fn change<T>(&self, change: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        let deadline = Instant::now() + self.settings.change_wait;
        self.on_current(deadline, |file, deadline| file.write(Purpose::Change, deadline, &change))
    }

    /// As `change`, for counts.
    fn tally<T>(&self, tally: impl Fn(&Transaction<'_>) -> Result<T, SqliteFault>) -> Result<T, Error> {
        let deadline = Instant::now() + self.settings.wait;
        self.on_current(deadline, |file, deadline| file.write(Purpose::Count, deadline, &tally))
    }

    /// Acts on the file that the path names when it is done. If that is another than when it began, it is done once more: neither an
    /// answer from a file that was replaced counts, nor a change to it.
    fn on_current<T>(
        &self,
        deadline: Instant,
        act: impl Fn(&OpenDatabase, Instant) -> Result<T, SqliteFault>,
    ) -> Result<T, Error> {
        loop {
            let file = self.current(deadline)?;
            let result = act(&file, deadline).map_err(|fault| fault.at(&self.path));
            if FileIdentity::of(&self.path)? == file.identity() {
                return result;
            }
            if Instant::now() >= deadline {
                return Err(Error::Locked { path: self.path.clone() });
            }
        }
    }

    /// The file that the path names now, opened if it is another than before.
    fn current(&self, deadline: Instant) -> Result<Arc<OpenDatabase>, Error> {
        // Each time: it takes a microsecond, and a key that was revoked in the file must not work once more.
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
        if let Some(RefusedFile { why, .. }) = refused.as_ref().filter(|refused| refused.holds(identity)) {
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

impl RefusedFile {
    fn holds(&self, identity: FileIdentity) -> bool {
        self.identity == identity && self.when.elapsed() < REFUSED_FOR
    }
}

impl std::fmt::Debug for SqliteDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("SqliteDirectory");
        debug.field("settings", &self.settings).field("path", &self.path).finish_non_exhaustive()
    }
}

/// SQLite takes names such as `:memory:` for something else, and the process may change its folder.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| StorageError::new(path, source).into())
}
