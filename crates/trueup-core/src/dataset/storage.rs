//! The folder or the store of a dataset: the few operations by which its versions appear and disappear, in one place
//! for both. Data files are written and read elsewhere.

use super::error::ManifestError;
use super::tombstone::{TOMBSTONE_BYTES, is_tombstone, replacement};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use trueup_store::files::Files;
use trueup_store::{
    Interrupt, NotOpened, ReadFault, RemoteFolder, RemoteObject, location_of, open_plain, without_credentials,
};

/// What names begin and end with around a number: of a manifest, and of a file that says how many have expired.
const NUMBERED: [(&str, &str); 2] = [("manifest-", ".json"), ("expired-to-", "")];

/// The folder or the store of a dataset.
#[derive(Clone, Debug)]
pub(super) struct Storage<'a> {
    dir: &'a Path,
    files: Files,
    remote: Option<RemoteFolder>,
}

/// A name in the folder of a dataset.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// What the list says of the file; `None` if it lists names only.
    listed: Option<Listed>,
}

/// What a store lists of an object.
#[derive(Clone, Copy, Debug)]
struct Listed {
    modified: SystemTime,
    size: u64,
}

impl<'a> Storage<'a> {
    /// Returns the storage of a dataset for reading.
    pub(super) fn open(dir: &'a Path) -> Result<Self, ManifestError> {
        Self::with_files(dir, &Files::default())
    }

    /// Returns the storage of a dataset, whose folder is written by these operations.
    pub(super) fn with_files(dir: &'a Path, files: &Files) -> Result<Self, ManifestError> {
        let remote = RemoteFolder::of(dir).map_err(|source| ManifestError::Io {
            action: "list",
            path: without_credentials(dir),
            source,
        })?;
        Ok(Self { dir, files: files.clone(), remote })
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
        self.remote.as_ref().is_none_or(RemoteFolder::is_writable)
    }

    /// Returns whether a lock excludes other writers.
    pub(super) const fn has_lock(&self) -> bool {
        self.remote.is_none()
    }

    /// Lists the names in the folder, except for names that are not UTF-8; none if there is no such folder. A web
    /// server lists only names that manifests may have, and what [`VersionNumbers`](super::version_numbers) needs.
    pub(super) fn list(&self) -> Result<Vec<Entry>, ManifestError> {
        let listed = match &self.remote {
            Some(remote) if !remote.is_writable() => remote
                .names(&NUMBERED)
                .map(|names| names.into_iter().map(|name| Entry { name, listed: None }).collect()),
            Some(remote) => remote.objects("").map(|objects| {
                let entry = |object: RemoteObject| {
                    let listed = Listed { modified: object.modified, size: object.size };
                    Entry { name: object.name, listed: Some(listed) }
                };
                objects.into_iter().map(entry).collect()
            }),
            None => names(self.dir),
        };
        listed.map_err(|error| self.failed("list", "", error))
    }

    /// Returns when a file was written, by the clock of the store or of the file system.
    pub(super) fn modified(&self, entry: &Entry) -> io::Result<SystemTime> {
        match (entry.listed, &self.remote) {
            (Some(listed), _) => Ok(listed.modified),
            (None, Some(remote)) => remote.modified(&entry.name),
            (None, None) => fs::symlink_metadata(self.dir.join(&entry.name))?.modified(),
        }
    }

    /// Returns whether a file is a tombstone: in a store by its length, in a folder by its bytes. A file that is gone
    /// is none.
    pub(super) fn is_tombstone(&self, entry: &Entry) -> io::Result<bool> {
        let length = entry.listed.map_or_else(|| self.length(&entry.name), |listed| Ok(listed.size));
        let has_length = match length {
            Ok(length) => length == TOMBSTONE_BYTES,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if !has_length || self.remote.is_some() {
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
        match &self.remote {
            Some(remote) => remote.length(name),
            None => fs::symlink_metadata(self.dir.join(name)).map(|found| found.len()),
        }
    }

    /// Reads a file of at most `limit` bytes.
    pub(super) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, StorageFault> {
        if let Some(remote) = &self.remote {
            return match remote.whole(name, limit) {
                Ok(bytes) => Ok(bytes.into()),
                Err(ReadFault::Io(error)) => Err(StorageFault::Io(error)),
                Err(ReadFault::Length(found)) => Err(StorageFault::TooLong(found)),
            };
        }
        let file = open_plain(self.dir, name).map_err(|error| match error {
            NotOpened::Io(error) => StorageFault::Io(error),
            NotOpened::NotPlain(found) => StorageFault::NotPlain(found),
            NotOpened::Outside => StorageFault::Io(io::ErrorKind::InvalidFilename.into()),
        })?;
        let length = file.metadata()?.len();
        if length > limit {
            return Err(StorageFault::TooLong(length));
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Creates a file, unless there is one of its name. Returns whether there was none. In a folder, the bytes are
    /// durable, and [`sync`](Self::sync) makes the name durable.
    pub(super) fn create(&self, name: &str, bytes: &[u8]) -> Result<bool, ManifestError> {
        if let Some(remote) = &self.remote {
            let created = remote.create(name, bytes.to_owned(), &Interrupt::default());
            return created.map_err(|error| self.failed("create", name, error));
        }
        match self.files.create(&self.dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            created => {
                let written = created.and_then(|mut file| {
                    file.write_all(bytes)?;
                    file.sync()
                });
                written.map(|()| true).map_err(|error| self.failed("write", name, error))
            }
        }
    }

    /// Replaces a manifest by its tombstone, unless that has happened, or nothing has its name. `staged` is the name of
    /// a file of the caller in a folder, until it gets the name of the manifest. A store replaces the manifest only if
    /// it is still the one that was read.
    pub(super) fn bury(&self, name: &str, staged: &str) -> Result<(), ManifestError> {
        if let Some(remote) = &self.remote {
            return remote.replace(name, replacement).map_err(|error| self.failed("write", name, error));
        }
        let found = match self.read(name, u64::MAX) {
            Err(StorageFault::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.map_err(|fault| self.failed("read", name, fault.into()))?,
        };
        let replacement = replacement(&found).map_err(|error| self.failed("replace", name, error))?;
        let Some(bytes) = replacement else { return Ok(()) };
        if !self.create(staged, &bytes)? {
            // A process that was killed has left it.
            self.remove(staged)?;
            self.create(staged, &bytes)?;
        }
        let renamed = self.files.rename(&self.dir.join(staged), &self.dir.join(name));
        renamed.map_err(|error| self.failed("write", name, error))
    }

    /// Removes a file or an object, if it exists.
    pub(super) fn remove(&self, name: &str) -> Result<(), ManifestError> {
        let removed = match &self.remote {
            Some(remote) => remote.remove(name),
            None => match self.files.remove(&self.dir.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        };
        removed.map_err(|error| self.failed("remove", name, error))
    }

    /// Makes the names in the folder durable; those of a store are once it has answered.
    pub(super) fn sync(&self) -> Result<(), ManifestError> {
        self.sync_below("")
    }

    /// Makes the names in a folder below the dataset's durable, if there is one: a copy of a dataset may lack the
    /// folders that were empty.
    pub(super) fn sync_below(&self, folder: &str) -> Result<(), ManifestError> {
        if self.remote.is_some() {
            return Ok(());
        }
        match self.files.sync_folder(&self.dir.join(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.is_empty() => Ok(()),
            synced => synced.map_err(|error| self.failed("sync", folder, error)),
        }
    }
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(super) enum StorageFault {
    Io(io::Error),
    /// The file has this many bytes, more than the caller takes.
    TooLong(u64),
    /// The name leads to something else.
    NotPlain(&'static str),
}

impl From<io::Error> for StorageFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StorageFault> for io::Error {
    fn from(fault: StorageFault) -> Self {
        match fault {
            StorageFault::Io(error) => error,
            StorageFault::TooLong(found) => {
                let text = format!("the file has {found} bytes, more than trueup writes");
                Self::new(io::ErrorKind::FileTooLarge, text)
            }
            StorageFault::NotPlain(found) => Self::other(format!("expected a plain file, but found {found}")),
        }
    }
}

/// Lists the names in a folder, except for names that are not UTF-8; none if there is no such folder.
fn names(dir: &Path) -> io::Result<Vec<Entry>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok().map(|name| Entry { name, listed: None }));
    }
    Ok(names)
}
