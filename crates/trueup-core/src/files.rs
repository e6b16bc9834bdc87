//! The file operations that write a dataset, in one place, so that a test can make each of them fail.
//!
//! Everything that creates, links, renames, removes or syncs a file of a dataset goes through [`Files`]. A program uses
//! [`Files::default`], which calls the operating system. A test gives [`Files::failing`] a [`Faults`], which decides before each operation
//! whether it fails, and with which error.

use std::fmt;
use std::fs::{self, File, OpenOptions, ReadDir};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// What is about to be done to a file or a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Open a file or folder for reading.
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
    /// Take the right to write to a folder.
    Lock,
}

/// What a test lets happen instead of an operation.
#[derive(Debug)]
pub enum Fault {
    /// The operation fails and has no effect.
    Fail(io::Error),
    /// The operation takes effect, and fails all the same, as a sync or a link over a network can.
    FailAfter(io::Error),
    /// A write or a read moves one byte only.
    Short,
}

/// Decides which operations fail.
pub trait Faults: fmt::Debug + Send + Sync {
    /// Called before each operation; `None` lets it happen.
    fn before(&self, operation: Operation, path: &Path) -> Option<Fault>;
}

/// File operations: those of the operating system, unless a test makes them fail.
#[derive(Clone, Debug, Default)]
pub struct Files(Option<Arc<dyn Faults>>);

impl Files {
    /// Operations that fail where `faults` says so.
    #[must_use]
    pub fn failing(faults: Arc<dyn Faults>) -> Self {
        Self(Some(faults))
    }

    fn act<T>(&self, operation: Operation, path: &Path, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.0.as_ref().and_then(|faults| faults.before(operation, path)) {
            None | Some(Fault::Short) => act(),
            Some(Fault::Fail(error)) => Err(error),
            Some(Fault::FailAfter(error)) => act().and(Err(error)),
        }
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// Those of the operating system, as for every method here.
    pub fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let file = self.act(Operation::Open, path, || File::open(path))?;
        Ok(OpenFile { files: self.clone(), path: path.into(), file })
    }

    /// Creates a file that must not exist, for its owner and for those who may read its folder.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn create(&self, path: &Path) -> io::Result<OpenFile> {
        let file = self.act(Operation::Create, path, || create_options(path, 0o600, 0o044)?.open(path))?;
        Ok(OpenFile { files: self.clone(), path: path.into(), file })
    }

    /// Opens a file for writing at its end; it is created if it is not there.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn append(&self, path: &Path) -> io::Result<OpenFile> {
        let file = self.act(Operation::Open, path, || {
            let mut options = create_options(path, 0o600, 0o044)?;
            options.create_new(false).create(true).append(true).open(path)
        })?;
        Ok(OpenFile { files: self.clone(), path: path.into(), file })
    }

    /// Creates a folder that must not exist, for its owner alone.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn create_private_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::CreateFolder, path, || folder_builder(0o700).create(path))
    }

    /// Creates a folder that must not exist, for its owner and for those who may read the folder that it lies in.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::CreateFolder, path, || folder_builder(mode_below(path, 0o700, 0o055)?).create(path))
    }

    /// Gives a file a second name, which must not exist.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act(Operation::Link, to, || fs::hard_link(from, to))
    }

    /// Renames a file; one of the new name is replaced.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act(Operation::Rename, to, || fs::rename(from, to))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::Remove, path, || fs::remove_file(path))
    }

    /// Removes a folder, which must be empty.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::RemoveFolder, path, || fs::remove_dir(path))
    }

    /// Removes a folder and everything in it; a symbolic link in it is removed, not followed.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn remove_folder_and_contents(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::RemoveFolder, path, || fs::remove_dir_all(path))
    }

    /// The entries of a folder.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn list(&self, path: &Path) -> io::Result<ReadDir> {
        self.act(Operation::List, path, || fs::read_dir(path))
    }

    /// Makes the names in a folder durable, where the platform has a way to do so.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::Sync, path, || if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) })
    }
}

/// An open file.
#[derive(Debug)]
pub struct OpenFile {
    files: Files,
    path: Box<Path>,
    file: File,
}

impl OpenFile {
    /// Makes what was written durable.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn sync(&self) -> io::Result<()> {
        self.files.act(Operation::Sync, &self.path, || self.file.sync_all())
    }

    /// Takes the right to write, which only one open file of a path has at a time; it ends with the file.
    ///
    /// # Errors
    /// Somebody else has the right, or the operating system refuses.
    pub fn try_lock(&self) -> Result<(), fs::TryLockError> {
        match self.files.0.as_ref().and_then(|faults| faults.before(Operation::Lock, &self.path)) {
            Some(Fault::Fail(error) | Fault::FailAfter(error)) => Err(fs::TryLockError::Error(error)),
            None | Some(Fault::Short) => self.file.try_lock(),
        }
    }

    /// The file of the standard library, whose operations no test can make fail.
    #[must_use]
    pub fn into_inner(self) -> File {
        self.file
    }

    /// Moves bytes: all that fit, unless a fault says otherwise.
    fn transfer(&mut self, operation: Operation, length: usize) -> io::Result<usize> {
        match self.files.0.as_ref().and_then(|faults| faults.before(operation, &self.path)) {
            Some(Fault::Fail(error) | Fault::FailAfter(error)) => Err(error),
            Some(Fault::Short) => Ok(length.min(1)),
            None => Ok(length),
        }
    }
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.transfer(Operation::Read, buffer.len())?;
        self.file.read(&mut buffer[..length])
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

/// How a new file is created: with the permissions `least`, and those of `most` that its folder gives.
fn create_options(path: &Path, least: u32, most: u32) -> io::Result<OpenOptions> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode_below(path, least, most)?);
    #[cfg(not(unix))]
    let _ = (path, least, most);
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

/// The permissions `least`, and those of `most` that the folder of `path` gives.
fn mode_below(path: &Path, least: u32, most: u32) -> io::Result<u32> {
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(folder)?);
        Ok(least | (mode & most))
    }
    #[cfg(not(unix))]
    {
        let _ = (path, most);
        Ok(least)
    }
}
