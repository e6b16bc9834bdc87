//! The files that no version names any more.

use super::super::error::ManifestError;
use super::super::storage::Storage;
use super::super::version_numbers::{Settled, VersionNumbers};
use super::records::read_records;
use super::{OrphanFile, named_by_all};
use crate::Interrupt;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};
use trueup_store::files::Files;

/// The most time that an expiry takes from its plan until its versions have expired.
const EXPIRY_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The files of expired versions: the ones whose grace period is over, and the ones that wait for its end.
#[derive(Clone, Debug, Default)]
pub struct Orphans {
    /// Files that no reader needs any more.
    pub due: Vec<OrphanFile>,
    /// Files that a reader may still need.
    pub waiting: Vec<OrphanFile>,
    /// The names of the records that are not needed any more.
    records: Vec<String>,
    /// Tombstones that may be removed behind the floor.
    settled: Settled,
}

impl Orphans {
    /// Finds the files of expired versions, and tombstones that are not needed any more. `grace` takes the place of the
    /// grace periods in the records.
    ///
    /// # Errors
    /// A record cannot be read, or a manifest or a list of files is unreadable or damaged.
    pub fn find(dir: &Path, grace: Option<Duration>, now: SystemTime) -> Result<Self, ManifestError> {
        let storage = Storage::open(dir)?;
        if !storage.is_writable() {
            // Versions of a web server do not expire, and some list nothing.
            return Ok(Self::default());
        }
        let entries = storage.list()?;
        let records = read_records(&storage, &entries)?;
        let settled = VersionNumbers::of(entries).settled(&storage, now);
        let settled = settled.map_err(|error| storage.failed("list", "", error))?;
        let mut found = Self { settled, ..Self::default() };
        if records.is_empty() {
            return Ok(found);
        }
        // Read after the records: no version that is published later names a file of theirs.
        let named = named_by_all(dir)?;
        let mut taken = HashSet::new();
        let (due, waiting): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.is_due(now, grace));
        for record in waiting {
            let files = record.files.into_iter().filter(|file| !named.contains_key(&file.path));
            found.waiting.extend(files.filter(|file| taken.insert(file.path.clone())));
        }
        for record in due {
            let (named, unnamed): (Vec<_>, Vec<_>) =
                record.files.into_iter().partition(|file| named.contains_key(&file.path));
            found.due.extend(unnamed.into_iter().filter(|file| taken.insert(file.path.clone())));
            // In a store, their versions may be about to expire, and no other record may list these files.
            let age = now.duration_since(record.written).unwrap_or_default();
            if named.is_empty() || storage.has_lock() || age >= EXPIRY_TIME {
                found.records.push(record.name);
            }
        }
        Ok(found)
    }

    /// Returns the bytes of the files whose grace period is over.
    #[must_use]
    pub fn due_bytes(&self) -> u64 {
        self.due.iter().map(|file| file.size).sum()
    }

    /// Removes the files whose grace period is over, and records that are not needed any more. Passes each file to
    /// `removed`. Also removes some of the tombstones that are not needed any more.
    ///
    /// # Errors
    /// The file system or the store refuses, or the interrupt ends the removal. What stays is removed the next time.
    pub fn remove(
        &self,
        files: &Files,
        dir: &Path,
        interrupt: &Interrupt,
        mut removed: impl FnMut(&OrphanFile),
    ) -> Result<(), ManifestError> {
        let storage = Storage::with_files(dir, files)?;
        self.settled.remove(&storage, false)?;
        if self.records.is_empty() {
            return Ok(());
        }
        // Whoever replaced the manifests may have been killed before this was durable. Otherwise a loss of power could
        // bring back a manifest whose files are gone.
        storage.sync()?;
        let mut folders = HashSet::new();
        for file in &self.due {
            let path = &file.path;
            let go_on = interrupt.check().map_err(|error| io::Error::new(io::ErrorKind::Interrupted, error));
            go_on.map_err(|error| storage.failed("remove", path, error))?;
            storage.remove(path)?;
            removed(file);
            folders.extend(path.split('/').next());
        }
        folders.into_iter().try_for_each(|folder| storage.sync_below(folder))?;
        self.records.iter().try_for_each(|record| storage.remove(record))
    }
}

/// Returns the paths of all files that must stay at `now`: named by a version, or of an expired version and still
/// needed by a reader.
///
/// # Errors
/// A record cannot be read, or a manifest or a list of files is unreadable or damaged.
pub fn needed_files(dir: &Path, now: SystemTime) -> Result<HashSet<String>, ManifestError> {
    let storage = Storage::open(dir)?;
    // Read before the records: the files of a version that expires meanwhile are in one of them.
    let mut needed: HashSet<String> = named_by_all(dir)?.into_keys().collect();
    let records = if storage.is_writable() { read_records(&storage, &storage.list()?)? } else { Vec::new() };
    let waiting = records.into_iter().filter(|record| !record.is_due(now, None));
    needed.extend(waiting.flat_map(|record| record.files).map(|file| file.path));
    Ok(needed)
}

/// Returns about what time it is by the clock of the store or of the file system, for a command that writes nothing
/// there: the time of this machine, or of the latest file if that is later.
///
/// # Errors
/// The folder or the store cannot be listed.
pub fn estimate_now(dir: &Path) -> Result<SystemTime, ManifestError> {
    let storage = Storage::open(dir)?;
    let latest = storage.list()?.iter().filter_map(|entry| storage.modified(entry).ok()).max();
    Ok(latest.map_or_else(SystemTime::now, |latest| latest.max(SystemTime::now())))
}

#[cfg(test)]
mod tests {
    use super::super::RECORD_PREFIX;
    use super::super::records::write_records;
    use super::*;
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex};
    use trueup_store::files::{FaultInjector, InjectedFault, Operation};

    /// Notes the operations.
    #[derive(Debug, Default)]
    struct Noted(Mutex<Vec<(Operation, PathBuf)>>);

    impl FaultInjector for Noted {
        fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
            self.0.lock().unwrap().push((operation, path.to_owned()));
            None
        }
    }

    #[test]
    fn what_made_versions_expire_is_durable_before_their_files_go() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("events")).unwrap();
        std::fs::write(dir.path().join("events/a.parquet"), "a").unwrap();
        let files = [OrphanFile { path: "events/a.parquet".to_owned(), size: 1 }];
        write_records(&Storage::open(dir.path()).unwrap(), "x", Duration::ZERO, &files).unwrap();
        // The process that let the versions expire was killed before it synced the folder.
        let noted = Arc::new(Noted::default());
        let unnamed = Orphans::find(dir.path(), None, SystemTime::now()).unwrap();
        unnamed.remove(&Files::failing(noted.clone()), dir.path(), &Interrupt::default(), |_| {}).unwrap();
        let expected = [
            (Operation::Sync, dir.path().join("")),
            (Operation::Remove, dir.path().join("events/a.parquet")),
            (Operation::Sync, dir.path().join("events")),
            (Operation::Remove, dir.path().join(format!("{RECORD_PREFIX}x"))),
        ];
        assert_eq!(*noted.0.lock().unwrap(), expected);
    }

    #[test]
    fn a_record_of_a_folder_that_a_copy_lacks_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("events")).unwrap();
        std::fs::write(dir.path().join("events/a.parquet"), "a").unwrap();
        let files = ["events/a.parquet", "vectors/b"].map(|path| OrphanFile { path: path.to_owned(), size: 1 });
        write_records(&Storage::open(dir.path()).unwrap(), "x", Duration::ZERO, &files).unwrap();
        let unnamed = Orphans::find(dir.path(), None, SystemTime::now()).unwrap();
        assert_eq!(unnamed.due.len(), 2);
        unnamed.remove(&Files::default(), dir.path(), &Interrupt::default(), |_| {}).unwrap();
        let record = dir.path().join(format!("{RECORD_PREFIX}x"));
        assert!(!record.exists() && !dir.path().join("events/a.parquet").exists());
    }
}
