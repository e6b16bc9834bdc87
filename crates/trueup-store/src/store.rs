//! The folder of a dataset, wherever it is: the operations by which its files and its versions appear and disappear.
//!
//! A store of another kind is a file with an implementation of [`Store`], and a line in [`open_store`].

mod folder;

use crate::files::Files;
use crate::interrupt::Interrupt;
use crate::locations::{check_slashes, is_url};
use crate::pending::Pending;
use bytes::Bytes;
use folder::FolderStore;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// A folder of files, in a file system or in an object store. Names are below the folder, with `/` between their parts.
///
/// An object becomes visible as a whole, and survives any failure of a machine once the store has answered. In a file
/// system, [`sync`](Self::sync) does as much for names.
pub trait Store: fmt::Debug + Send + Sync {
    /// Returns whether versions can be published here. On a web server they cannot, because none lets a file be created
    /// only if it does not exist.
    fn is_writable(&self) -> bool;

    /// Returns whether this is a folder of a file system: a lock of it excludes other writers, and its files can be
    /// opened.
    fn is_folder(&self) -> bool;

    /// Returns the server and the account that the environment names, so that the same URL may mean another folder with
    /// other ones; empty if it names none, or if this is a folder of a file system.
    fn server(&self) -> &str;

    /// Lists the files in a folder below this one, but not in folders below that; `""` is this one. A folder that does
    /// not exist is empty, and names that are not UTF-8 are left out. A web server lists its page, and of this only
    /// names that begin and end like one of `numbered`, with a number between.
    ///
    /// # Errors
    /// The folder cannot be listed.
    fn list(&self, below: &str, numbered: &'static [(&'static str, &'static str)]) -> io::Result<Vec<Entry>>;

    /// Returns when a file was written, by the clock of the store or of the file system.
    ///
    /// # Errors
    /// There is no such file, or the store refuses.
    fn modified(&self, name: &str) -> io::Result<SystemTime>;

    /// Returns the length of a file.
    ///
    /// # Errors
    /// There is no such file, or the store refuses.
    fn length(&self, name: &str) -> io::Result<u64>;

    /// Opens a plain file of a file system, which can be read at any position; `None` of another store, which is asked
    /// for [bytes](Self::fetch) each time.
    ///
    /// # Errors
    /// The file cannot be opened, is not plain, or is behind a symbolic link.
    fn open(&self, name: &str) -> Result<Option<File>, ReadFault>;

    /// Starts to read bytes of a file that must be `promised` bytes long.
    fn fetch(&self, name: &str, bytes: &Range<u64>, promised: u64) -> Pending;

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// The file cannot be read, is not plain, or is longer.
    fn read(&self, name: &str, limit: u64) -> Result<Bytes, ReadFault>;

    /// Creates a file, unless there is one of its name. Returns whether there was none.
    ///
    /// # Errors
    /// The store refuses, or `interrupt` ends the wait. The file may exist nevertheless.
    fn put_new(&self, name: &str, bytes: Bytes, interrupt: &Interrupt) -> io::Result<bool>;

    /// Sends a file, which must have a name of its own, because a file with that name is replaced.
    ///
    /// # Errors
    /// The file cannot be read, the store refuses, or `interrupt` ends the wait. It may be there nevertheless.
    fn upload(&self, name: &str, file: &Path, interrupt: &Interrupt) -> io::Result<()>;

    /// Replaces a file by what `replacement` makes of its bytes, if it is still the one that was read. Does nothing if
    /// there is no file, or no replacement. `staged` is the name of a file of the caller, which a file system has until
    /// it gets the name.
    ///
    /// # Errors
    /// The store refuses, or `replacement` fails each time.
    fn replace_if(&self, name: &str, staged: &str, replacement: Replacement<'_>) -> io::Result<()>;

    /// Creates a file, and finds out whether it was created if the answer is lost: of several writers of one name,
    /// exactly one succeeds. Nothing interrupts it. Also returns whether the outcome is that of the only request, so
    /// that no other one was or will be applied. A file system has the bytes as `staged` first.
    fn publish(&self, name: &str, staged: &Path, publication: Publication) -> (Result<(), PublishError>, bool);

    /// Removes a file, if it exists.
    ///
    /// # Errors
    /// The store refuses, or does not answer in time.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the names in a folder below this one durable, if there is one; `""` is this one, which must exist.
    ///
    /// # Errors
    /// The file system refuses.
    fn sync(&self, below: &str) -> io::Result<()>;
}

/// Makes the bytes that replace those of a file; `None` if they are to stay.
pub type Replacement<'a> = &'a dyn Fn(&[u8]) -> io::Result<Option<Vec<u8>>>;

/// A file in a list of a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name in the folder that was listed.
    pub name: String,
    /// What the list says of the file; `None` if it lists names only.
    pub listed: Option<Listed>,
}

/// What the list of an object store says of a file.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// When it was written, by the clock of the store.
    pub modified: SystemTime,
    /// The length in bytes.
    pub size: u64,
}

/// A file that exactly one of several writers of its name creates.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The bytes of the file.
    pub bytes: Bytes,
    /// The bytes of a file that takes the name if the publication is given up, so that no late request can create
    /// the file.
    pub fence: Bytes,
    /// Says what has the name, by what was found there and by the bytes of the file; an error if what was found is
    /// damaged, so that it may be anything.
    pub holder: fn(&[u8], &[u8]) -> io::Result<Holder>,
}

/// What has the name of a file that was to be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The file itself, or what has replaced it since.
    Own,
    /// A fence.
    Fence,
    /// Something else.
    Other,
}

/// Why a file is not known to be published.
#[derive(Debug)]
pub enum PublishError {
    /// The name is taken.
    Conflict,
    /// The file system or the store reported an error. Nothing was published, and no request that publishes is under
    /// way.
    Failed(io::Error),
    /// The file system or the store reported an error, and whether it has published, or will, is unknown.
    Indeterminate(io::Error),
}

impl From<io::Error> for PublishError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Why a file cannot be read.
#[derive(Debug)]
pub enum ReadFault {
    /// The error of the store or of the operating system.
    Io(io::Error),
    /// The file has this many bytes: not as many as promised, or more than the caller takes.
    Length(u64),
    /// The name leads to something else than a plain file.
    NotPlain(&'static str),
}

impl From<io::Error> for ReadFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ReadFault> for io::Error {
    fn from(fault: ReadFault) -> Self {
        match fault {
            ReadFault::Io(error) => error,
            ReadFault::Length(found) => {
                let text = format!("the file has {found} bytes, more than trueup writes");
                Self::new(io::ErrorKind::FileTooLarge, text)
            }
            ReadFault::NotPlain(found) => Self::other(format!("expected a plain file, but found {found}")),
        }
    }
}

/// Returns the folder at a location: a path, whose files are written by `files`, or a URL.
///
/// # Errors
/// The URL means no store, has a user (other than a container of Azure), a password, a `?` or a `#`, or has only one
/// slash after its scheme; a setting of the environment is wrong; or the feature `object-store` is missing.
pub fn open_store(location: &Path, files: &Files) -> io::Result<Arc<dyn Store>> {
    check_slashes(location)?;
    if !is_url(location) {
        return Ok(Arc::new(FolderStore::new(location, files)));
    }
    #[cfg(feature = "object-store")]
    return Ok(Arc::new(crate::remote::RemoteStore::find(location)?));
    #[cfg(not(feature = "object-store"))]
    return crate::absent::unsupported();
}
