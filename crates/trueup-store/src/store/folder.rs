//! A folder of a file system as a [`Store`].

use crate::files::Files;
use crate::interrupt::Interrupt;
use crate::pending::Pending;
use crate::plain_file::{open_plain, read_at};
use crate::store::{Entry, Holder, Publication, PublishError, ReadFault, Replacement, Store};
use bytes::Bytes;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder of a file system, which is written by [`Files`].
#[derive(Debug)]
pub(crate) struct FolderStore {
    dir: PathBuf,
    files: Files,
}

impl FolderStore {
    pub(crate) fn new(dir: &Path, files: &Files) -> Self {
        Self { dir: dir.to_owned(), files: files.clone() }
    }

    /// Creates a file with these bytes, which are durable, but not its name.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.files.create(path)?;
        file.write_all(bytes)?;
        file.sync()
    }

    /// Gives a staged file, which is to be published, its name.
    fn link(&self, staged: &Path, path: &Path, publication: &Publication) -> Result<(), PublishError> {
        let Err(error) = self.files.link(staged, path) else { return Ok(()) };
        match holder(path, publication) {
            // A network file system may link, lose the reply, and report that the name is taken.
            Ok(Some(Holder::Own)) => return Ok(()),
            Ok(Some(Holder::Fence | Holder::Other)) => return Err(PublishError::Conflict),
            Ok(None) => {}
            Err(_) => return Err(PublishError::Indeterminate(error)),
        }
        // Some file systems have no hard links. On these, the check and the rename are two steps, and the writer's lock
        // excludes other writers.
        let Err(error) = self.files.rename(staged, path) else { return Ok(()) };
        match holder(path, publication) {
            Ok(Some(Holder::Own)) => Ok(()),
            Ok(Some(Holder::Fence | Holder::Other)) => Err(PublishError::Conflict),
            Ok(None) => Err(PublishError::Failed(error)),
            Err(_) => Err(PublishError::Indeterminate(error)),
        }
    }
}

impl Store for FolderStore {
    fn is_writable(&self) -> bool {
        true
    }

    fn is_folder(&self) -> bool {
        true
    }

    fn server(&self) -> &str {
        ""
    }

    fn list(&self, below: &str, _: &'static [(&'static str, &'static str)]) -> io::Result<Vec<Entry>> {
        let entries = match fs::read_dir(self.dir.join(below)) {
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

    fn modified(&self, name: &str) -> io::Result<SystemTime> {
        fs::symlink_metadata(self.dir.join(name))?.modified()
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        fs::symlink_metadata(self.dir.join(name)).map(|found| found.len())
    }

    fn open(&self, name: &str) -> Result<Option<File>, ReadFault> {
        open_plain(&self.dir, name).map(Some)
    }

    fn fetch(&self, name: &str, bytes: &Range<u64>, promised: u64) -> Pending {
        Pending::ready(read_range(&self.dir, name, bytes, promised))
    }

    fn read(&self, name: &str, limit: u64) -> Result<Bytes, ReadFault> {
        let file = open_plain(&self.dir, name)?;
        let length = file.metadata()?.len();
        if length > limit {
            return Err(ReadFault::Length(length));
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    fn put_new(&self, name: &str, bytes: Bytes, _: &Interrupt) -> io::Result<bool> {
        match self.create(&self.dir.join(name), &bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            created => created.map(|()| true),
        }
    }

    fn upload(&self, name: &str, file: &Path, _: &Interrupt) -> io::Result<()> {
        self.files.rename(file, &self.dir.join(name))
    }

    fn replace_if(&self, name: &str, staged: &str, replacement: Replacement<'_>) -> io::Result<()> {
        let found = match self.read(name, u64::MAX) {
            Err(ReadFault::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        let Some(bytes) = replacement(&found)? else { return Ok(()) };
        let staged = self.dir.join(staged);
        match self.create(&staged, &bytes) {
            // A process that was killed has left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.files.remove(&staged)?;
                self.create(&staged, &bytes)?;
            }
            created => created?,
        }
        self.files.rename(&staged, &self.dir.join(name))
    }

    /// The names in the folder of `staged` are the caller's to make durable, and to remove. The file system applies
    /// nothing after it has returned.
    fn publish(&self, name: &str, staged: &Path, publication: Publication) -> (Result<(), PublishError>, bool) {
        let written = self.create(staged, &publication.bytes).map_err(PublishError::Failed);
        (written.and_then(|()| self.link(staged, &self.dir.join(name), &publication)), true)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match self.files.remove(&self.dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn sync(&self, below: &str) -> io::Result<()> {
        match self.files.sync_folder(&self.dir.join(below)) {
            // A copy of a dataset may lack the folders that were empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !below.is_empty() => Ok(()),
            synced => synced,
        }
    }
}

/// Reads a range of a file that must be `promised` bytes long.
fn read_range(dir: &Path, name: &str, bytes: &Range<u64>, promised: u64) -> Result<Bytes, ReadFault> {
    let file = open_plain(dir, name)?;
    let found = file.metadata()?.len();
    if found != promised {
        return Err(ReadFault::Length(found));
    }
    let length = usize::try_from(bytes.end - bytes.start).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    #[cfg(not(unix))]
    let file = std::sync::Arc::new(file);
    Ok(read_at(&file, bytes.start, length)?.into())
}

/// Returns what has the name of a file that is to be published; `None` if nothing has. What is damaged is an error.
fn holder(path: &Path, publication: &Publication) -> io::Result<Option<Holder>> {
    match fs::read(path) {
        Ok(found) => (publication.holder)(&found, &publication.bytes).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
