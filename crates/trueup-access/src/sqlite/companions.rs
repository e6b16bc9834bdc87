//! The files next to the file of a directory: the write-ahead log of SQLite, the index of the log, and a record of the
//! file to which the log belongs.
//!
//! SQLite finds the log by its name alone. If the file is replaced while its log exists, because a service runs or was
//! killed, SQLite would apply the changes of the old file to the new one. So opening a file records which log belongs
//! to it, and the next opening sets aside a log that was recorded for another file. A log that was never recorded is
//! used, because it was copied together with the file.

use crate::error::{Error, StorageError};
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The pause between two attempts to get the lock.
const PAUSE: Duration = Duration::from_millis(2);
/// More bytes than any record has.
const LONGEST_RECORD: u64 = 1024;

/// The companion files of one directory, locked: meanwhile, no other thread or process opens the directory.
pub(super) struct CompanionFiles<'a> {
    path: &'a Path,
    /// The file that holds the lock and the record.
    record: File,
}

impl<'a> CompanionFiles<'a> {
    /// Waits until no other thread or process is opening the directory at `path`.
    pub(super) fn lock(path: &'a Path, deadline: Instant) -> Result<Self, Error> {
        let name = with_suffix(path, "-lock");
        let record =
            private_options().read(true).create(true).open(&name).map_err(|error| StorageError::new(path, error))?;
        loop {
            match record.try_lock() {
                Ok(()) => return Ok(Self { path, record }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(Error::Locked(path.to_owned())),
                Err(TryLockError::Error(error)) => return Err(StorageError::new(path, error).into()),
            }
        }
    }

    /// Sets aside a log that was recorded for another file. The log is kept, because it may contain the last changes of
    /// that file.
    pub(super) fn set_aside_foreign_log(&mut self, file: &FileIdentity) -> Result<(), Error> {
        let recorded = self.read_record().map_err(|error| StorageError::new(self.path, error))?;
        let mut lines = recorded.lines();
        let (Some(of_file), Some(of_log)) = (lines.next(), lines.next()) else { return Ok(()) };
        if of_file == file.to_record() || Some(of_log) != self.current_log()?.as_deref() {
            return Ok(());
        }
        let set_aside = || {
            // The index is removed first, because it describes the log.
            ignore_missing(fs::remove_file(with_suffix(self.path, "-shm")))?;
            fs::rename(with_suffix(self.path, "-wal"), with_suffix(self.path, "-wal-replaced"))
        };
        set_aside().map_err(|error| StorageError::new(self.path, error).into())
    }

    /// Records that the current log belongs to `file`.
    pub(super) fn record_log(&mut self, file: &FileIdentity) -> Result<(), Error> {
        let text = format!("{}\n{}\n", file.to_record(), self.current_log()?.unwrap_or_default());
        let mut write = || {
            if self.read_record()? == text {
                return Ok(());
            }
            self.record.rewind()?;
            // If the process is killed before the file is cut, the rest of a longer record follows. Only the first two
            // lines of a record count.
            self.record.write_all(text.as_bytes())?;
            self.record.set_len(text.len() as u64)
        };
        write().map_err(|error: io::Error| StorageError::new(self.path, error).into())
    }

    fn read_record(&mut self) -> io::Result<String> {
        self.record.rewind()?;
        let mut bytes = Vec::new();
        (&self.record).take(LONGEST_RECORD).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the identity of the current log as in a record; `None` if there is no log.
    fn current_log(&self) -> Result<Option<String>, Error> {
        let name = with_suffix(self.path, "-wal");
        match name.symlink_metadata() {
            Ok(metadata) => Ok(Some(FileIdentity::from(&metadata).to_record())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StorageError::new(self.path, error).into()),
        }
    }
}

/// Appends a suffix to the name of a file.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Returns options that open a file for writing. If they also create it, only its owner may read it.
pub(super) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// Treats the removal of a file that does not exist as a success.
pub(super) fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The identity of a regular file, whatever its name and contents. The inode alone is not enough, because it is reused
/// after a file is removed and closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    /// The inode.
    number: u64,
    created: Option<SystemTime>,
}

impl FileIdentity {
    /// Returns the identity of the file at `path` without opening the file, because opening a pipe would block.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let metadata = path.metadata().map_err(|source| StorageError::new(path, source))?;
        if !metadata.is_file() {
            return Err(Error::NotAFile(path.to_owned()));
        }
        Ok(Self::from(&metadata))
    }

    /// Returns the text of the identity in a record. It omits the device, whose number may change when the machine
    /// restarts.
    pub(super) fn to_record(self) -> String {
        let created = self.created.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{} {}", self.number, created.unwrap_or_default().as_nanos())
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let (device, number) = {
            use std::os::unix::fs::MetadataExt as _;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let (device, number) = (0, 0);
        Self { device, number, created: metadata.created().ok() }
    }
}
