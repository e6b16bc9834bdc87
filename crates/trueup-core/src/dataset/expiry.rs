//! Versions that expire, and the removal of files that no version names any more.
//!
//! A version expires in three steps. A *record*, `.trueup-expired-<id>`, lists the files of the expired versions which
//! no kept version names; then tombstones replace their manifests, so that nobody can open them and nobody gets their
//! numbers; and once the grace period of the record is over, the files are removed, and then the record. A process that
//! is killed at any moment leaves each version whole or not there:
//!
//! - Before the last line of the record is written, the record does not count, and every manifest exists.
//! - A file is removed only if it is in a record whose grace period is over, and no manifest names it. So a version
//!   whose manifest was not replaced loses no file, and expires again later.
//! - A file that no manifest names is never named again, because a new version names only new files and files of the
//!   newest version, which never expires. This holds without a lock, too: of several writers that begin with the same
//!   version, only one can publish the next, and no number is free again. A restored version names files of an earlier
//!   one. If that expires meanwhile, which only a store allows, they are there until the grace period is over.
//! - No file is forgotten: the last version that names a file lists it when it expires, even if earlier versions stay,
//!   and in a store a record stays for as long as an expiry may take if a version still names one of its files. So it
//!   does not matter which of several expiries replaces its manifests first, or who finds a record before that.
//!
//! A reader that has opened a version before it expired can read its files until the grace period is over. Times are
//! those of the store or of the file system: `now` is the time that it has just given to a file of the writer.
//!
//! `records` reads and writes records, and `unnamed` finds and removes files.

mod orphans;
mod records;

pub use orphans::{Orphans, estimate_now, needed_files};

use super::commit::CommitTime;
use super::error::ManifestError;
use super::manifest::Manifest;
use super::manifest_file::{commit, file_name, read, versions};
use super::storage::Storage;
use super::version_numbers::{LISTS, VersionNumbers};
use records::write_records;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, SystemTime};
use trueup_store::files::Files;

/// The beginning of the name of a record; an id follows.
pub const RECORD_PREFIX: &str = ".trueup-expired-";

/// How long the files of expired versions stay for readers that have opened them, unless a user says otherwise.
pub const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

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
pub struct OrphanFile {
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
    /// The files of the expired versions that no later kept version names, sorted.
    pub files: Vec<OrphanFile>,
}

impl Expiry {
    /// Decides which versions of a dataset expire at `now`.
    ///
    /// # Errors
    /// A manifest or a list of files is missing, unreadable or damaged: it could name any file.
    pub fn plan(dir: &Path, retention: &Retention, now: SystemTime) -> Result<Self, ManifestError> {
        let all = versions(dir)?;
        let now = CommitTime::from(now);
        let candidates = all.len().saturating_sub(retention.keep_last.get());
        let mut plan = Self::default();
        // When the version after the current one was committed.
        let mut replaced = None;
        for (at, version) in all.iter().enumerate().rev() {
            let is_expired = at < candidates
                && replaced.is_some_and(|replaced: CommitTime| {
                    // The times of a store may have whole seconds, so that a commit can seem to be later than now.
                    let age = now.micros().0.saturating_sub(replaced.micros().0).max(0);
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
        Self { expired, kept, ..Self::default() }.with_files(dir)
    }

    /// Finds the files of the expired versions that no later kept version names.
    fn with_files(mut self, dir: &Path) -> Result<Self, ManifestError> {
        if self.expired.is_empty() {
            return Ok(self);
        }
        // If one of them expires meanwhile, the record has more files than it needs. A file that a version names stays.
        let (kept, _) = named(dir, &self.kept)?;
        let mut expired = HashMap::new();
        for version in &self.expired {
            let manifest = read(dir, *version)?;
            expired.extend(files_of(&manifest).map(|file| (file, *version)));
        }
        let is_last = |(file, version): &(OrphanFile, u64)| kept.get(&file.path).is_none_or(|later| later < version);
        self.files = expired.into_iter().filter(is_last).map(|(file, _)| file).collect();
        self.files.sort_unstable();
        Ok(self)
    }

    /// Lets the versions expire: nobody can open them any more. The files stay for `grace`. The name of the record of
    /// this expiry ends with `id`.
    ///
    /// # Errors
    /// The file system or the store refuses. Some of the versions may have expired.
    pub fn commit(
        &self,
        files: &Files,
        dir: &Path,
        id: &str,
        grace: Duration,
        now: SystemTime,
    ) -> Result<(), ManifestError> {
        if self.expired.is_empty() {
            return Ok(());
        }
        let storage = Storage::with_files(dir, files)?;
        write_records(&storage, id, grace, &self.files)?;
        let mut floor = 0;
        if let Some(kept) = self.kept.first() {
            let settled = VersionNumbers::list(&storage)?.settled_below(*kept, &storage, now);
            let settled = settled.map_err(|error| storage.failed("list", "", error))?;
            settled.remove(&storage, true)?;
            floor = settled.floor();
        }
        for version in self.expired.iter().filter(|version| **version > floor) {
            let name = file_name(*version);
            storage.bury(&name, &format!("{RECORD_PREFIX}{name}"))?;
        }
        storage.sync()
    }
}

/// Returns the paths of the files that the versions of a dataset name.
///
/// A version may expire while they are read. Then they are listed again: a later version, which the list did not have,
/// may name the same files.
fn named_by_all(dir: &Path) -> Result<HashMap<String, u64>, ManifestError> {
    for _ in 1..LISTS {
        if let (named, None) = named(dir, &versions(dir)?)? {
            return Ok(named);
        }
    }
    match named(dir, &versions(dir)?)? {
        (named, None) => Ok(named),
        (_, Some(gone)) => Err(gone),
    }
}

/// Returns the paths of the files that versions name, each with the last of these versions, which are in order; and why
/// one of them could not be read, if one has expired meanwhile. It names none.
fn named(dir: &Path, versions: &[u64]) -> Result<(HashMap<String, u64>, Option<ManifestError>), ManifestError> {
    let (mut named, mut gone) = (HashMap::new(), None);
    for version in versions {
        match read(dir, *version) {
            Ok(manifest) => named.extend(files_of(&manifest).map(|file| (file.path, *version))),
            Err(error @ ManifestError::Expired { .. }) => gone = Some(error),
            Err(ManifestError::Io { action, path, source }) if source.kind() == io::ErrorKind::NotFound => {
                gone = Some(ManifestError::Io { action, path, source });
            }
            Err(error) => return Err(error),
        }
    }
    Ok((named, gone))
}

fn files_of(manifest: &Manifest) -> impl Iterator<Item = OrphanFile> {
    manifest.files().map(|file| OrphanFile { path: file.path.clone(), size: file.size })
}
