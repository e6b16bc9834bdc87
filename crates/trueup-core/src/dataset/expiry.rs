//! Versions that expire, and the removal of files that no version names any more.
//!
//! A version expires in three steps. A *record*, `.trueup-expired-<id>`, lists the files of the expired versions which
//! no kept version names; then their manifests are removed, so that nobody can open them; and once the grace period of
//! the record is over, the files are removed, and then the record. A process that is killed at any moment leaves each
//! version whole or not there:
//!
//! - Before the last line of the record is written, the record does not count, and every manifest exists.
//! - A file is removed only if it is in a record whose grace period is over, and no manifest names it. So a version
//!   whose manifest was not removed loses no file, and expires again later.
//! - A file that no manifest names is never named again, because a new version names only new files and files of the
//!   newest version, which never expires. This holds without a lock, too: of several writers that begin with the same
//!   version, only one can publish the next, and a writer that finds a later version does not publish.
//!
//! A reader that has opened a version before it expired can read its files until the grace period is over.

use super::commit::CommitTime;
use super::error::ManifestError;
use super::manifest::{Manifest, is_plain_name};
use super::manifest_file::{commit, file_name, names, read, versions};
use super::plain_file::{NotOpened, open_plain};
use super::remote::{ReadFault, RemoteFolder, location_of, without_credentials};
use crate::Interrupt;
use crate::files::Files;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The beginning of the name of a record; an id follows.
pub const RECORD_PREFIX: &str = ".trueup-expired-";

/// How long the files of expired versions stay for readers that have opened them, unless a user says otherwise.
pub const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// The first line of a record, which says to somebody who looks into the folder what the file is.
const HEADER: &str = "Files of expired versions, which trueup removes when the grace period is over.";

/// The last line of a record. A record without it was not written to its end, and does not count.
const END: &str = "end";

/// The most bytes of a record.
const MAX_RECORD_BYTES: u64 = 1 << 29;

/// Which versions are kept. One expires if no condition keeps it; the newest one never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The number of newest versions that are kept.
    pub keep_last: NonZeroUsize,
    /// How far back an answer as of any time can be repeated: the versions that were the newest one at some time since
    /// then are kept.
    pub older_than: Duration,
}

/// A file of a version that expires, with its size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnnamedFile {
    /// The path below the folder of the dataset.
    pub path: String,
    /// The length in bytes.
    pub size: u64,
}

/// What expires of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// The versions that expire, ascending.
    pub expired: Vec<u64>,
    /// The versions that stay, ascending.
    pub kept: Vec<u64>,
    /// The files of the expired versions that no kept version names, sorted.
    pub files: Vec<UnnamedFile>,
}

impl Expiry {
    /// Decides which versions of a dataset expire now.
    ///
    /// # Errors
    /// A manifest or a list of files is missing, unreadable or damaged: it could name any file.
    pub fn plan(dir: &Path, retention: &Retention) -> Result<Self, ManifestError> {
        let all = versions(dir)?;
        let now = CommitTime::from(SystemTime::now());
        let candidates = all.len().saturating_sub(retention.keep_last.get());
        let mut plan = Self::default();
        // When the version after the current one was committed.
        let mut replaced = None;
        for (at, version) in all.iter().enumerate().rev() {
            let is_expired = at < candidates
                && replaced.is_some_and(|replaced: CommitTime| {
                    let age = now.micros().0.saturating_sub(replaced.micros().0);
                    u128::try_from(age).is_ok_and(|age| age >= retention.older_than.as_micros())
                });
            if is_expired {
                plan.expired.push(*version);
            } else {
                plan.kept.push(*version);
            }
            if at <= candidates {
                replaced = Some(commit(dir, *version)?.time);
            }
        }
        plan.expired.reverse();
        plan.kept.reverse();
        plan.with_files(dir)
    }

    /// Returns the expiry of the versions `expired` of a dataset, and of no others; the newest version never expires.
    /// [`commit`](Self::commit) carries the expiry out.
    ///
    /// # Errors
    /// A manifest or a list of files is missing, unreadable or damaged: it could name any file.
    pub fn of(dir: &Path, expired: &BTreeSet<u64>) -> Result<Self, ManifestError> {
        let all = versions(dir)?;
        let newest = all.last().copied();
        let is_expired = |version: &u64| expired.contains(version) && Some(*version) != newest;
        let (expired, kept) = all.into_iter().partition(is_expired);
        Self { expired, kept, files: Vec::new() }.with_files(dir)
    }

    /// Finds the files that only the expired versions name.
    fn with_files(mut self, dir: &Path) -> Result<Self, ManifestError> {
        if self.expired.is_empty() {
            return Ok(self);
        }
        let kept = named(dir, &self.kept)?;
        let mut files = HashSet::new();
        for version in &self.expired {
            let manifest = read(dir, *version)?;
            files.extend(files_of(&manifest).filter(|file| !kept.contains(&file.path)));
        }
        self.files = files.into_iter().collect();
        self.files.sort_unstable();
        Ok(self)
    }

    /// Lets the versions expire: nobody can open them any more. The files stay for `grace`. The name of the record of
    /// this expiry ends with `id`.
    ///
    /// # Errors
    /// The file system or the store refuses. Some of the versions may have expired.
    pub fn commit(&self, files: &Files, dir: &Path, id: &str, grace: Duration) -> Result<(), ManifestError> {
        if self.expired.is_empty() {
            return Ok(());
        }
        let mut text = format!("{HEADER}\ngrace {}\n", grace.as_secs());
        for UnnamedFile { path, size } in &self.files {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{size} {path}");
        }
        text.push_str(END);
        text.push('\n');
        let name = format!("{RECORD_PREFIX}{id}");
        let failed = |action, name: &str, source| failed(action, dir, name, source);
        let remote = RemoteFolder::of(dir).map_err(|error| failed("list", "", error))?;
        match &remote {
            Some(remote) => match remote.create(&name, text, &Interrupt::default()) {
                Ok(true) => {}
                Ok(false) => return Err(failed("create", &name, io::ErrorKind::AlreadyExists.into())),
                Err(error) => return Err(failed("create", &name, error)),
            },
            None => {
                let written = files.create(&dir.join(&name)).and_then(|mut file| {
                    file.write_all(text.as_bytes())?;
                    file.sync()
                });
                written.map_err(|error| failed("write", &name, error))?;
                files.sync_folder(dir).map_err(|error| failed("sync", "", error))?;
            }
        }
        for version in &self.expired {
            remove(files, remote.as_ref(), dir, &file_name(*version))?;
        }
        if remote.is_none() {
            files.sync_folder(dir).map_err(|error| failed("sync", "", error))?;
        }
        Ok(())
    }
}

/// The files of expired versions: the ones whose grace period is over, and the ones that wait for its end.
#[derive(Clone, Debug, Default)]
pub struct Unnamed {
    /// Files that no reader needs any more.
    pub due: Vec<UnnamedFile>,
    /// Files that a reader may still need.
    pub waiting: Vec<UnnamedFile>,
    /// The names of the records whose grace period is over.
    records: Vec<String>,
}

impl Unnamed {
    /// Finds the files of expired versions. `grace` takes the place of the grace periods in the records.
    ///
    /// # Errors
    /// A record cannot be read, or a manifest or a list of files is unreadable or damaged.
    pub fn find(dir: &Path, grace: Option<Duration>) -> Result<Self, ManifestError> {
        let records = records(dir)?;
        if records.is_empty() {
            return Ok(Self::default());
        }
        let named = named(dir, &versions(dir)?)?;
        let (mut found, now) = (Self::default(), SystemTime::now());
        let mut taken = HashSet::new();
        let (due, waiting): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| {
            now.duration_since(record.written).unwrap_or_default() >= grace.unwrap_or(record.grace)
        });
        for record in waiting {
            let files = record.files.into_iter().filter(|file| !named.contains(&file.path));
            found.waiting.extend(files.filter(|file| taken.insert(file.path.clone())));
        }
        for record in due {
            let files = record.files.into_iter().filter(|file| !named.contains(&file.path));
            found.due.extend(files.filter(|file| taken.insert(file.path.clone())));
            found.records.push(record.name);
        }
        Ok(found)
    }

    /// Returns the bytes of the files whose grace period is over.
    #[must_use]
    pub fn due_bytes(&self) -> u64 {
        self.due.iter().map(|file| file.size).sum()
    }

    /// Removes the files whose grace period is over, and their records. Passes each file to `removed`.
    ///
    /// # Errors
    /// The file system or the store refuses, or the interrupt ends the removal. What stays is removed the next time.
    pub fn remove(
        &self,
        files: &Files,
        dir: &Path,
        interrupt: &Interrupt,
        mut removed: impl FnMut(&UnnamedFile),
    ) -> Result<(), ManifestError> {
        let remote = RemoteFolder::of(dir).map_err(|error| failed("list", dir, "", error))?;
        let mut folders = HashSet::new();
        for file in &self.due {
            let path = &file.path;
            let go_on = interrupt.check().map_err(|error| io::Error::new(io::ErrorKind::Interrupted, error));
            go_on.map_err(|error| failed("remove", dir, path, error))?;
            remove(files, remote.as_ref(), dir, path)?;
            removed(file);
            folders.extend(path.split('/').next());
        }
        if remote.is_none() {
            for folder in folders {
                match files.sync_folder(&dir.join(folder)) {
                    // A copy of a dataset may lack the folders that were empty.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    synced => synced.map_err(|error| failed("sync", dir, folder, error))?,
                }
            }
        }
        self.records.iter().try_for_each(|record| remove(files, remote.as_ref(), dir, record))
    }
}

/// Returns the paths of all files that must stay: named by a version, or of an expired version and still needed by a
/// reader.
///
/// # Errors
/// A record cannot be read, or a manifest or a list of files is unreadable or damaged.
pub fn needed_files(dir: &Path) -> Result<HashSet<String>, ManifestError> {
    let mut needed = named(dir, &versions(dir)?)?;
    let now = SystemTime::now();
    for record in records(dir)? {
        if now.duration_since(record.written).unwrap_or_default() < record.grace {
            needed.extend(record.files.into_iter().map(|file| file.path));
        }
    }
    Ok(needed)
}

/// Returns the paths of the files that versions name. A version that has expired meanwhile names none.
fn named(dir: &Path, versions: &[u64]) -> Result<HashSet<String>, ManifestError> {
    let mut named = HashSet::new();
    for version in versions {
        match read(dir, *version) {
            Ok(manifest) => named.extend(files_of(&manifest).map(|file| file.path)),
            Err(ManifestError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(named)
}

fn files_of(manifest: &Manifest) -> impl Iterator<Item = UnnamedFile> {
    manifest.files().map(|file| UnnamedFile { path: file.path.clone(), size: file.size })
}

/// What an expiry has left for later.
struct Record {
    name: String,
    written: SystemTime,
    grace: Duration,
    files: Vec<UnnamedFile>,
}

/// Reads the records of a dataset. One that was not written to its end lists no file.
fn records(dir: &Path) -> Result<Vec<Record>, ManifestError> {
    let remote = RemoteFolder::of(dir).map_err(|error| failed("list", dir, "", error))?;
    let listed: Vec<(String, Option<SystemTime>)> = match &remote {
        // Versions of a web server do not expire, and some list nothing.
        Some(remote) if !remote.is_writable() => Vec::new(),
        Some(remote) => {
            let objects = remote.objects("").map_err(|error| failed("list", dir, "", error))?;
            objects.into_iter().map(|object| (object.name, Some(object.modified))).collect()
        }
        None => {
            names(dir).map_err(|error| failed("list", dir, "", error))?.into_iter().map(|name| (name, None)).collect()
        }
    };
    let mut records = Vec::new();
    for (name, modified) in listed {
        if !name.starts_with(RECORD_PREFIX) {
            continue;
        }
        let opened = match (&remote, modified) {
            (Some(remote), Some(modified)) => read_object(remote, &name).map(|text| (text, modified)),
            _ => read_file(dir, &name),
        };
        let (text, written) = match opened {
            Ok(read) => read,
            // Somebody else removes the same record.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed("read", dir, &name, error)),
        };
        let (grace, files) = parse(&text);
        records.push(Record { name, written, grace, files });
    }
    Ok(records)
}

fn read_object(remote: &RemoteFolder, name: &str) -> io::Result<String> {
    match remote.whole(name, MAX_RECORD_BYTES) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(ReadFault::Io(error)) => Err(error),
        Err(ReadFault::Length(_)) => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

fn read_file(dir: &Path, name: &str) -> io::Result<(String, SystemTime)> {
    let file = open_plain(dir, name).map_err(|error| match error {
        NotOpened::Io(error) => error,
        NotOpened::NotPlain(found) => io::Error::other(format!("expected a plain file, but found {found}")),
        NotOpened::Outside => io::ErrorKind::InvalidFilename.into(),
    })?;
    let written = file.metadata()?.modified()?;
    let mut bytes = Vec::new();
    file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), written))
}

/// Returns the grace period and the files of a record. One that was not written to its end lists none, and may be
/// removed at once: no version has expired by it.
fn parse(text: &str) -> (Duration, Vec<UnnamedFile>) {
    let unfinished = (Duration::ZERO, Vec::new());
    let Some(lines) = text.strip_prefix(HEADER).and_then(|text| text.strip_suffix('\n')) else { return unfinished };
    let lines: Vec<&str> = lines.lines().collect();
    let ["", grace, files @ .., END] = lines.as_slice() else { return unfinished };
    let Some(grace) = grace.strip_prefix("grace ").and_then(|grace| grace.parse().ok()) else { return unfinished };
    let file = |line: &str| {
        let (size, path) = line.split_once(' ')?;
        let (folder, name) = path.split_once('/')?;
        let file = UnnamedFile { path: path.to_owned(), size: size.parse().ok()? };
        (is_plain_name(folder) && is_plain_name(name)).then_some(file)
    };
    (Duration::from_secs(grace), files.iter().copied().filter_map(file).collect())
}

/// Removes a file or an object, if it exists.
fn remove(files: &Files, remote: Option<&RemoteFolder>, dir: &Path, name: &str) -> Result<(), ManifestError> {
    let removed = match remote {
        Some(remote) => remote.remove(name),
        None => match files.remove(&dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        },
    };
    removed.map_err(|error| failed("remove", dir, name, error))
}

fn failed(action: &'static str, dir: &Path, name: &str, source: io::Error) -> ManifestError {
    ManifestError::Io { action, path: without_credentials(&location_of(dir, name)), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_once_it_is_written_to_its_end() {
        let whole = format!("{HEADER}\ngrace 60\n12 events/a.parquet\n3 lists/../b\n4 ../c\n7 lists/b\n{END}\n");
        let (grace, files) = parse(&whole);
        assert_eq!(grace, Duration::from_secs(60));
        let paths: Vec<(&str, u64)> = files.iter().map(|file| (file.path.as_str(), file.size)).collect();
        assert_eq!(paths, [("events/a.parquet", 12), ("lists/b", 7)]);
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), (Duration::ZERO, Vec::new()), "{length}");
        }
        // A file in a hidden folder, such as the record of an ingest, is left out.
        assert_eq!(parse(&format!("{HEADER}\ngrace 60\n1 .trueup-pending-x/a\n{END}\n")).1, Vec::new());
    }

    #[test]
    fn a_record_of_a_folder_that_a_copy_lacks_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join(format!("{RECORD_PREFIX}x"));
        std::fs::create_dir(dir.path().join("events")).unwrap();
        std::fs::write(dir.path().join("events/a.parquet"), "a").unwrap();
        std::fs::write(&record, format!("{HEADER}\ngrace 0\n1 events/a.parquet\n1 vectors/b\n{END}\n")).unwrap();
        let unnamed = Unnamed::find(dir.path(), None).unwrap();
        assert_eq!(unnamed.due.len(), 2);
        unnamed.remove(&Files::default(), dir.path(), &Interrupt::default(), |_| {}).unwrap();
        assert!(!record.exists() && !dir.path().join("events/a.parquet").exists());
    }
}
