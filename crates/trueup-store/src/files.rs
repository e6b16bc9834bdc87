//! The file operations that write a dataset, in one place so that each of them can be made to fail.
//!
//! Everything that creates, links, renames, removes or syncs a file of a dataset goes through [`Files`]. A program uses
//! [`Files::default`], which calls the operating system. A test, or an ingest that may be interrupted, gives
//! [`Files::failing`] a [`FaultInjector`], which decides before each operation whether it fails, and with which error.

use std::fmt;
use std::fs::{self, File, OpenOptions, ReadDir};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// An operation on a file or a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Open a file or folder for reading, or a file for writing at its end, which creates it if it does not exist.
    Open,
    /// Create a file that must not exist.
    Create,
    /// Create a folder that must not exist.
    CreateFolder,
    /// Read bytes.
    Read,
    /// Write bytes.
    Write,
    /// Make a file's bytes, or a folder's names, durable.
    Sync,
    /// Give a file a second name, which must not exist.
    Link,
    /// Rename a file.
    Rename,
    /// Remove a file.
    Remove,
    /// Remove a folder.
    RemoveFolder,
    /// List a folder.
    List,
    /// Lock a file, which gives the right to write to a folder.
    Lock,
}

/// What happens instead of an operation.
#[derive(Debug)]
pub enum InjectedFault {
    /// The operation fails and has no effect.
    Fail(io::Error),
    /// The operation takes effect and still reports an error, as a sync or a link over a network can. A read, a write
    /// or a lock has no effect.
    FailAfter(io::Error),
    /// A write or a read moves only one byte. Other operations happen as usual.
    Short,
}

/// Decides which operations fail.
pub trait FaultInjector: fmt::Debug + Send + Sync {
    /// Decides before each operation what happens instead; `None` lets the operation happen. `path` is that of the file
    /// or folder; for a link and a rename it is the new one.
    fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault>;

    /// Returns the most bytes of a manifest that is published, if a test wants fewer than readers accept.
    fn max_manifest_bytes(&self) -> Option<u64> {
        None
    }
}

/// The file operations of the operating system, which a [`FaultInjector`] can make fail. `Files` is an injector, too,
/// so that another injector can decide first and leave the rest to it.
#[derive(Clone, Debug, Default)]
pub struct Files(Option<Arc<dyn FaultInjector>>);

impl FaultInjector for Files {
    fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
        self.0.as_ref().and_then(|faults| faults.before(operation, path))
    }

    fn max_manifest_bytes(&self) -> Option<u64> {
        self.0.as_ref().and_then(|faults| faults.max_manifest_bytes())
    }
}

impl Files {
    /// Returns operations that fail when `faults` says so.
    #[must_use]
    pub fn failing(faults: Arc<dyn FaultInjector>) -> Self {
        Self(Some(faults))
    }

    /// Performs an operation, unless a fault is injected.
    fn act<T>(&self, operation: Operation, path: &Path, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.before(operation, path) {
            None | Some(InjectedFault::Short) => act(),
            Some(InjectedFault::Fail(error)) => Err(error),
            Some(InjectedFault::FailAfter(error)) => act().and(Err(error)),
        }
    }

    /// Opens a file for reading, or a folder, which can then be locked or synced.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let file = self.act(Operation::Open, path, || File::open(path))?;
        Ok(OpenFile { files: self.clone(), path: path.into(), file })
    }

    /// Creates a file that must not exist, for reading and writing. On Unix its owner may use it, and everyone who may
    /// read its folder may read it, unless the umask of the process forbids it.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn create(&self, path: &Path) -> io::Result<OpenFile> {
        let file = self.act(Operation::Create, path, || create_options(path, 0o600, 0o044)?.open(path))?;
        Ok(OpenFile { files: self.clone(), path: path.into(), file })
    }

    /// Opens a file for writing at its end. Creates it if it does not exist, with the permissions of
    /// [`create`](Self::create).
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn append(&self, path: &Path) -> io::Result<OpenFile> {
        let file = self.act(Operation::Open, path, || {
            let mut options = create_options(path, 0o600, 0o044)?;
            options.create_new(false).create(true).append(true).open(path)
        })?;
        Ok(OpenFile { files: self.clone(), path: path.into(), file })
    }

    /// Creates a folder that must not exist. On Unix only its owner may use it.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn create_private_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::CreateFolder, path, || folder_builder(0o700).create(path))
    }

    /// Creates a folder that must not exist. On Unix its owner may use it, and everyone who may read its parent may
    /// read it, unless the umask of the process forbids it.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::CreateFolder, path, || folder_builder(mode_below(path, 0o700, 0o055)?).create(path))
    }

    /// Gives a file a second name, which must not exist.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act(Operation::Link, to, || fs::hard_link(from, to))
    }

    /// Renames a file, and replaces a file of the new name.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act(Operation::Rename, to, || fs::rename(from, to))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::Remove, path, || fs::remove_file(path))
    }

    /// Removes a folder, which must be empty.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::RemoveFolder, path, || fs::remove_dir(path))
    }

    /// Removes a folder and everything in it. A symbolic link in it is removed, not followed.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn remove_folder_and_contents(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::RemoveFolder, path, || fs::remove_dir_all(path))
    }

    /// Returns the entries of a folder.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn list(&self, path: &Path) -> io::Result<ReadDir> {
        self.act(Operation::List, path, || fs::read_dir(path))
    }

    /// Makes the names in a folder durable, on platforms that can do so.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::Sync, path, || if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) })
    }
}

/// An open file, whose operations can be made to fail.
#[derive(Debug)]
pub struct OpenFile {
    files: Files,
    path: Box<Path>,
    file: File,
}

impl OpenFile {
    /// Makes the written bytes durable.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn sync(&self) -> io::Result<()> {
        self.files.act(Operation::Sync, &self.path, || self.file.sync_all())
    }

    /// Returns what the operating system knows of the file. This cannot be made to fail.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn metadata(&self) -> io::Result<fs::Metadata> {
        self.file.metadata()
    }

    /// Locks the file until it is closed. Only one open file of a path can hold the lock.
    ///
    /// # Errors
    /// Another open file holds the lock, or the operating system reports an error.
    pub fn try_lock(&self) -> Result<(), fs::TryLockError> {
        match self.files.before(Operation::Lock, &self.path) {
            Some(InjectedFault::Fail(error) | InjectedFault::FailAfter(error)) => Err(fs::TryLockError::Error(error)),
            None | Some(InjectedFault::Short) => self.file.try_lock(),
        }
    }

    /// Returns the file of the standard library, whose operations cannot be made to fail.
    #[must_use]
    pub fn into_inner(self) -> File {
        self.file
    }

    /// Returns how many bytes a read or a write moves: all of `length`, unless a fault is injected.
    fn transfer(&mut self, operation: Operation, length: usize) -> io::Result<usize> {
        match self.files.before(operation, &self.path) {
            Some(InjectedFault::Fail(error) | InjectedFault::FailAfter(error)) => Err(error),
            Some(InjectedFault::Short) => Ok(length.min(1)),
            None => Ok(length),
        }
    }
}

impl Read for OpenFile {
    /// Reads bytes, and repeats a read that a signal interrupts, because not every reader of a format does.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.transfer(Operation::Read, buffer.len());
            match read.and_then(|length| self.file.read(&mut buffer[..length])) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Write for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.transfer(Operation::Write, bytes.len())?;
        self.file.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

/// Returns options that create a file, which must not exist, for reading and writing, with the permissions of
/// [`mode_below`].
fn create_options(path: &Path, always: u32, inherited: u32) -> io::Result<OpenOptions> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode_below(path, always, inherited)?);
    #[cfg(not(unix))]
    let _ = (path, always, inherited);
    Ok(options)
}

fn folder_builder(mode: u32) -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
    #[cfg(not(unix))]
    let _ = (&mut builder, mode);
    builder
}

/// Returns the permissions `always`, and those of `inherited` that the folder of `path` has.
fn mode_below(path: &Path, always: u32, inherited: u32) -> io::Result<u32> {
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(folder)?);
        Ok(always | (mode & inherited))
    }
    #[cfg(not(unix))]
    {
        let _ = (path, inherited);
        Ok(always)
    }
}

#[cfg(test)]
mod tests {
    use super::{FaultInjector, Files, InjectedFault, Operation};
    use std::fs;
    use std::io::{self, Read};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn an_interrupted_read_is_repeated() {
        /// Interrupts every second read.
        #[derive(Debug, Default)]
        struct Interrupting(AtomicBool);
        impl FaultInjector for Interrupting {
            fn before(&self, operation: Operation, _: &Path) -> Option<InjectedFault> {
                let interrupts = operation == Operation::Read && !self.0.fetch_xor(true, Ordering::Relaxed);
                interrupts.then(|| InjectedFault::Fail(io::ErrorKind::Interrupted.into()))
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "abc").unwrap();
        let mut file = Files::failing(Arc::new(Interrupting::default())).open(&path).unwrap();
        let mut bytes = [0; 2];
        assert_eq!((file.read(&mut bytes).unwrap(), &bytes), (2, b"ab"));
        assert_eq!((file.read(&mut bytes).unwrap(), bytes[0]), (1, b'c'));
        assert_eq!(file.read(&mut bytes).unwrap(), 0);
    }
}
