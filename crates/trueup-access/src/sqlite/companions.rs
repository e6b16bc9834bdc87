//! The files next to a directory: SQLite's write-ahead log and the index of it, and a record of the file to which they belong.
//!
//! SQLite finds the log by its name alone. If another file takes the place of the directory while its log is there, because a service
//! runs or was killed, SQLite would apply the changes of the old file to the new one. So each opening records which log belongs to
//! which file, and the next one sets aside a log that was recorded for another file. A log that was never recorded came with the file.

use super::identity::FileIdentity;
use crate::error::{Error, StorageError};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two attempts to get the lock.
const PAUSE: Duration = Duration::from_millis(2);
/// More than a record has.
const LONGEST_RECORD: u64 = 1024;

/// The companions of one directory, locked: nobody else opens it meanwhile.
pub(super) struct CompanionFiles<'a> {
    path: &'a Path,
    /// Holds the lock, and the record.
    record: File,
}

impl<'a> CompanionFiles<'a> {
    /// Waits until nobody else opens the directory at `path`.
    pub(super) fn lock(path: &'a Path, deadline: Instant) -> Result<Self, Error> {
        let name = named(path, "-lock");
        let record = private().read(true).create(true).open(&name).map_err(|error| StorageError::new(path, error))?;
        loop {
            match record.try_lock() {
                Ok(()) => return Ok(Self { path, record }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(Error::Locked { path: path.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(StorageError::new(path, error).into()),
            }
        }
    }

    /// Sets aside a log that belongs to another file than `file`. It is kept, since it may hold the last changes of that one.
    pub(super) fn separate(&mut self, file: &FileIdentity) -> Result<(), Error> {
        let recorded = self.read().map_err(|error| StorageError::new(self.path, error))?;
        let mut lines = recorded.lines();
        let (Some(of_file), Some(of_log)) = (lines.next(), lines.next()) else { return Ok(()) };
        if of_file == file.record() || Some(of_log) != self.log()?.as_deref() {
            return Ok(());
        }
        let set_aside = || {
            // The index first: it tells of the log that is there.
            absent_is_fine(fs::remove_file(named(self.path, "-shm")))?;
            fs::rename(named(self.path, "-wal"), named(self.path, "-wal-replaced"))
        };
        set_aside().map_err(|error| StorageError::new(self.path, error).into())
    }

    /// Records that the log that is there belongs to `file`.
    pub(super) fn record(&mut self, file: &FileIdentity) -> Result<(), Error> {
        let text = format!("{}\n{}\n", file.record(), self.log()?.unwrap_or_default());
        let mut write = || {
            if self.read()? == text {
                return Ok(());
            }
            self.record.rewind()?;
            // Longer or shorter than before: what follows the two lines is not read.
            self.record.write_all(text.as_bytes())?;
            self.record.set_len(text.len() as u64)
        };
        write().map_err(|error: io::Error| StorageError::new(self.path, error).into())
    }

    fn read(&mut self) -> io::Result<String> {
        self.record.rewind()?;
        let mut bytes = Vec::new();
        (&self.record).take(LONGEST_RECORD).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The log that is there.
    fn log(&self) -> Result<Option<String>, Error> {
        let name = named(self.path, "-wal");
        match name.symlink_metadata() {
            Ok(metadata) => Ok(Some(FileIdentity::from(&metadata).record())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StorageError::new(self.path, error).into()),
        }
    }
}

/// The name of the file next to `path` with that ending.
pub(super) fn named(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// How files are made that only their owner may read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// A file that is to be removed may be gone.
pub(super) fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
