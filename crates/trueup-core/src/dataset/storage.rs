//! The folder or the store of a dataset: the operations of a [`Store`] by which versions appear and disappear, with
//! errors that say what they were about. Data files are written and read elsewhere.

use super::error::ManifestError;
use super::tombstone::{TOMBSTONE_BYTES, is_tombstone, replacement};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use trueup_store::files::Files;
use trueup_store::{
    Entry, Interrupt, Publication, PublishError, ReadFault, Store, location_of, open_store, without_credentials,
};

/// What names begin and end with around a number: of a manifest, and of a file that says how many have expired.
const NUMBERED: [(&str, &str); 2] = [("manifest-", ".json"), ("expired-to-", "")];

/// The folder or the store of a dataset.
#[derive(Clone, Debug)]
pub(super) struct Storage<'a> {
    dir: &'a Path,
    store: Arc<dyn Store>,
}

impl<'a> Storage<'a> {
    /// Returns the storage of a dataset for reading.
    pub(super) fn open(dir: &'a Path) -> Result<Self, ManifestError> {
        Self::with_files(dir, &Files::default())
    }

    /// Returns the storage of a dataset, whose folder is written by these operations.
    pub(super) fn with_files(dir: &'a Path, files: &Files) -> Result<Self, ManifestError> {
        match open_store(dir, files) {
            Ok(store) => Ok(Self { dir, store }),
            Err(source) => Err(ManifestError::Io { action: "list", path: without_credentials(dir), source }),
        }
    }

    /// Returns the error of an action on a name; `""` is the folder itself.
    pub(super) fn failed(&self, action: &'static str, name: &str, source: io::Error) -> ManifestError {
        let path = if name.is_empty() { self.dir.to_owned() } else { location_of(self.dir, name) };
        ManifestError::Io { action, path: without_credentials(&path), source }
    }

    /// Returns the path or the URL of a name, for messages.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        without_credentials(&location_of(self.dir, name))
    }

    /// Returns whether versions can be published here.
    pub(super) fn is_writable(&self) -> bool {
        self.store.is_writable()
    }

    /// Returns whether a lock excludes other writers.
    pub(super) fn has_lock(&self) -> bool {
        self.store.is_folder()
    }

    /// Lists the names in the folder. A web server lists only names that manifests may have, and what
    /// [`VersionNumbers`](super::version_numbers) needs.
    pub(super) fn list(&self) -> Result<Vec<Entry>, ManifestError> {
        self.store.list("", &NUMBERED).map_err(|error| self.failed("list", "", error))
    }

    /// Returns when a file was written, by the clock of the store or of the file system.
    pub(super) fn modified(&self, entry: &Entry) -> io::Result<SystemTime> {
        entry.listed.map_or_else(|| self.store.modified(&entry.name), |listed| Ok(listed.modified))
    }

    /// Returns whether a file is a tombstone: in a store by its length, in a folder by its bytes. A file that is gone
    /// is none.
    pub(super) fn is_tombstone(&self, entry: &Entry) -> io::Result<bool> {
        let length = entry.listed.map_or_else(|| self.store.length(&entry.name), |listed| Ok(listed.size));
        let has_length = match length {
            Ok(length) => length == TOMBSTONE_BYTES,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if !has_length || !self.store.is_folder() {
            return Ok(has_length);
        }
        match self.read(&entry.name, TOMBSTONE_BYTES) {
            Ok(bytes) => Ok(is_tombstone(&bytes)),
            // What is no plain file is no tombstone, and reading it as a manifest says what it is.
            Err(_) => Ok(false),
        }
    }

    /// Returns the length of a file.
    pub(super) fn length(&self, name: &str) -> io::Result<u64> {
        self.store.length(name)
    }

    /// Reads a file of at most `limit` bytes.
    pub(super) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, ReadFault> {
        self.store.read(name, limit).map(Into::into)
    }

    /// Creates a file, unless there is one of its name. Returns whether there was none. In a folder, the bytes are
    /// durable, and [`sync`](Self::sync) makes the name durable.
    pub(super) fn create(&self, name: &str, bytes: &[u8]) -> Result<bool, ManifestError> {
        let created = self.store.put_new(name, bytes.to_owned().into(), &Interrupt::default());
        created.map_err(|error| self.failed("write", name, error))
    }

    /// Publishes a file: of several writers of its name, exactly one succeeds.
    pub(super) fn publish(
        &self,
        name: &str,
        staged: &Path,
        publication: Publication,
    ) -> (Result<(), PublishError>, bool) {
        self.store.publish(name, staged, publication)
    }

    /// Replaces a manifest by its tombstone, unless that has happened, or nothing has its name. `staged` is the name of
    /// a file of the caller in a folder, until it gets the name of the manifest.
    ///
    /// # Errors
    /// The file system or the store refuses, or what has the name is damaged.
    pub(super) fn bury(&self, name: &str, staged: &str) -> Result<(), ManifestError> {
        self.store.replace_if(name, staged, &replacement).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => ManifestError::Checksum { path: self.path(name) },
            _ => self.failed("write", name, error),
        })
    }

    /// Removes a file or an object, if it exists.
    pub(super) fn remove(&self, name: &str) -> Result<(), ManifestError> {
        self.store.remove(name).map_err(|error| self.failed("remove", name, error))
    }

    /// Makes the names in the folder durable; those of a store are once it has answered.
    pub(super) fn sync(&self) -> Result<(), ManifestError> {
        self.sync_below("")
    }

    /// Makes the names in a folder below the dataset's durable, if there is one.
    pub(super) fn sync_below(&self, folder: &str) -> Result<(), ManifestError> {
        self.store.sync(folder).map_err(|error| self.failed("sync", folder, error))
    }
}
