//! The next version of a dataset in an object store. Its files are written to a local folder, uploaded, and published
//! with the manifest.
//!
//! There is no lock between machines. Two ingests of the same version both upload their files, under different names,
//! and only one of them can create the manifest. The record of an ingest is an object here. A later ingest removes the
//! files of a record only if nobody can publish them any more: their names have a number that is taken, and no manifest
//! names them. Because an ingest that still runs must be able to remove its own files, the record must also be older
//! than [`KILLED_AFTER`], by the clock of the store.
//!
//! A version of which [other processes](super::part) write parts keeps its record, because an attempt may upload a file
//! at any time.

use super::clock::StorageClock;
use super::file_names::{RECORD_PREFIX, has_id, is_id};
use super::{Outcome, at_location, leftovers};
use crate::IngestError;
use crate::error::{ErrorKind, StageFault};
use crate::monitor::{Monitor, Phase};
use crate::parts::Staged;
use crate::table::Table;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use trueup_core::Interrupt;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::{Entry, Store, expiry, location_of, manifest_file};
use trueup_core::files::Files;

/// The age from which the record of an ingest is that of a killed one.
const KILLED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Files that are uploaded at the same time.
const UPLOADS: usize = 4;

/// What the record of an ingest says to somebody who looks at the bucket.
const RECORD: &str = "An ingest of trueup is running, was killed, or was distributed and has ended. A later ingest removes \
                      this object, and the files of the ingest that no version names, a day or more after it began.\n";

/// The next version of a dataset in a store. Unless it is published, dropping it removes every object that it made.
pub(super) struct StoreVersion {
    store: Arc<dyn Store>,
    /// The URL of the dataset.
    location: PathBuf,
    /// The id of the ingest, in hex.
    id: String,
    number: u64,
    interrupt: Interrupt,
    /// The clock of the store; `None` for a part, which removes nothing of others.
    clock: Option<StorageClock>,
    /// The ids of ingests that were killed.
    killed: Vec<String>,
    /// The objects that are uploaded, by their names in the manifest.
    uploaded: Vec<String>,
    /// Whether the record stays for a later ingest to find, because an object may still appear, or must not be removed.
    pub(super) keeps_record: bool,
    /// Whether other processes write parts of the version.
    has_parts: bool,
    /// What became of the version. That of a part is published once its objects are handed over.
    outcome: Outcome,
}

impl StoreVersion {
    /// Begins the version with the number after all that are taken. Makes the record of the ingest and, if the dataset
    /// has a version, removes the leftovers of killed ingests. Also returns the clock of the store.
    ///
    /// # Errors
    /// The store cannot be listed or written, or lets writers replace the objects of others.
    pub(super) fn begin(
        store: Arc<dyn Store>,
        location: &Path,
        id: &str,
        number: u64,
        has_version: bool,
        monitor: &Monitor,
    ) -> Result<(Self, StorageClock), IngestError> {
        let mut version = Self::new(store, location, id, number, monitor);
        let record = version.record();
        let create = |version: &Self| {
            let created = version.store.put_new(&record, RECORD.into(), &version.interrupt);
            at_location("create", &version.location, &record, created)
        };
        // Nobody else uses this name, so that a second attempt must find the object of the first. A store that does not
        // look would also let two ingests publish the same version.
        create(&version)?;
        if create(&version)? {
            return Err(ErrorKind::UnconditionalStore(location.to_owned()).into());
        }
        let objects = version.list("")?;
        let own = objects.iter().find(|object| object.name == record);
        let written =
            own.and_then(|object| Some(object.listed?.modified)).ok_or_else(|| io::ErrorKind::NotFound.into());
        let clock = StorageClock::new(at_location("read", &version.location, &record, written)?);
        version.clock = Some(clock);
        for object in &objects {
            let is_old = object.listed.is_some_and(|listed| clock.age(listed.modified) > KILLED_AFTER);
            if let Some(id) = object.name.strip_prefix(RECORD_PREFIX).filter(|id| is_old && is_id(id)) {
                version.killed.push(id.to_owned());
            }
        }
        if has_version {
            version.remove_killed(number.saturating_sub(1));
        }
        Ok((version, clock))
    }

    /// Returns a version with a number, of which nothing is in the store yet.
    pub(super) fn new(store: Arc<dyn Store>, location: &Path, id: &str, number: u64, monitor: &Monitor) -> Self {
        Self {
            store,
            location: location.to_owned(),
            id: id.to_owned(),
            number,
            interrupt: monitor.interrupt().clone(),
            clock: None,
            killed: Vec::new(),
            uploaded: Vec::new(),
            keeps_record: false,
            has_parts: false,
            outcome: Outcome::Unpublished,
        }
    }

    /// Returns the URL of the dataset.
    pub(super) fn location(&self) -> &Path {
        &self.location
    }

    pub(super) fn record(&self) -> String {
        format!("{RECORD_PREFIX}{}", self.id)
    }

    /// Lists the objects in a folder of the dataset; `""` is the folder of the dataset itself.
    pub(super) fn list(&self, below: &str) -> Result<Vec<Entry>, IngestError> {
        at_location("list", &self.location, below, self.store.list(below, &[]))
    }

    /// Uploads the files, which are below a local folder, and makes the version visible.
    ///
    /// # Errors
    /// Another ingest has published a version with this number or a later one, the ingest is interrupted, or the store
    /// refuses. The error says whether the version may be published nevertheless.
    pub(super) fn publish(
        &mut self,
        files: Vec<String>,
        folder: &Path,
        manifest: &Manifest,
        monitor: &Monitor,
    ) -> Result<(), IngestError> {
        self.upload(files, folder, monitor)?;
        monitor.check()?;
        self.outcome.settle(|| manifest_file::publish(&Files::default(), &self.location, folder, manifest))?;
        if self.has_parts {
            // A later ingest removes what stays.
            drop(self.remove_files_of_parts(&manifest.events));
        }
        self.remove_killed(self.number);
        Ok(())
    }

    /// Lets other processes upload files for this version.
    pub(super) fn allow_parts(&mut self) {
        (self.has_parts, self.keeps_record) = (true, true);
    }

    /// Uploads the files of an attempt at a part, and leaves them to the process that commits.
    pub(super) fn release(&mut self, files: Vec<String>, folder: &Path, monitor: &Monitor) -> Result<(), IngestError> {
        self.upload(files, folder, monitor)?;
        self.outcome = Outcome::Published;
        Ok(())
    }

    /// Takes over the files that the parts have uploaded. Returns them as the manifest names them.
    pub(super) fn adopt(&mut self, staged: &[Staged]) -> Result<Vec<DataFile>, IngestError> {
        let table = Table::Events.name();
        let objects = self.list(table)?.into_iter();
        let sizes: HashMap<String, u64> =
            objects.filter_map(|object| Some((format!("{table}/{}", object.name), object.listed?.size))).collect();
        for part in staged {
            for file in &part.files {
                let found = sizes.get(&file.path).copied();
                if found != Some(file.size) {
                    let path = location_of(&self.location, &file.path);
                    return Err(StageFault::File { part: part.part, path, expected: file.size, found }.into());
                }
            }
        }
        Ok(staged.iter().flat_map(|part| part.files.iter().cloned()).collect())
    }

    /// Removes what parts have uploaded, except for the files that the version names.
    fn remove_files_of_parts(&self, named: &[DataFile]) -> Result<(), IngestError> {
        let named: HashSet<&str> = named.iter().map(|file| file.path.as_str()).collect();
        for object in self.list(Table::Events.name())? {
            let name = format!("{}/{}", Table::Events.name(), object.name);
            if has_id(&object.name, &self.id) && !named.contains(name.as_str()) {
                at_location("remove", &self.location, &name, self.store.remove(&name))?;
            }
        }
        Ok(())
    }

    /// Uploads files, several at the same time.
    fn upload(&mut self, files: Vec<String>, folder: &Path, monitor: &Monitor) -> Result<(), IngestError> {
        let size = |name: &String| folder.join(name).metadata().map_or(0, |metadata| metadata.len());
        monitor.begin(Phase::Uploading, Some(files.iter().map(size).sum()));
        // Noted first, because an object may exist even if uploading it reports an error.
        self.uploaded = files;
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        thread::scope(|scope| {
            for _ in 0..UPLOADS.min(self.uploaded.len()) {
                scope.spawn(|| {
                    while let Some(name) = self.uploaded.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let sent = self.store.upload(name, &folder.join(name), &self.interrupt);
                        match at_location("upload", &self.location, name, sent) {
                            Ok(()) => monitor.add(0, size(name)),
                            Err(error) => {
                                next.store(self.uploaded.len(), Ordering::Relaxed);
                                if let Ok(mut failed) = failed.lock() {
                                    failed.get_or_insert(error);
                                }
                            }
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        // A request that was given up may still arrive after the object was removed.
        self.keeps_record |= failed.is_some();
        failed.map_or(Ok(()), Err)
    }

    /// Removes the files and the records of killed ingests, if they can no longer be published because all numbers up
    /// to `taken` are taken. What the store refuses to remove stays, and a later ingest tries again.
    fn remove_killed(&mut self, taken: u64) {
        if !self.killed.is_empty() && self.try_remove_killed(taken).is_err() {
            self.killed.clear();
        }
    }

    fn try_remove_killed(&mut self, taken: u64) -> Result<(), IngestError> {
        let Some(clock) = self.clock else { return Ok(()) };
        // A manifest that cannot be read may name any file, and the error keeps everything.
        let needed = expiry::needed_files(&self.location, clock.now())?;
        let pending = leftovers::remove_files(&*self.store, &self.location, &self.killed, &needed, taken)?;
        for id in self.killed.iter().filter(|id| !pending.contains(*id)) {
            let record = format!("{RECORD_PREFIX}{id}");
            at_location("remove", &self.location, &record, self.store.remove(&record))?;
        }
        self.killed.retain(|id| pending.contains(id));
        Ok(())
    }
}

impl Drop for StoreVersion {
    /// Objects that cannot be removed here are removed by a later ingest, because the record of this one stays with
    /// them.
    fn drop(&mut self) {
        if self.has_parts && self.outcome == Outcome::Unpublished {
            drop(self.remove_files_of_parts(&[]));
        }
        let is_clean = match self.outcome {
            Outcome::Unpublished => self.uploaded.iter().try_for_each(|name| self.store.remove(name)).is_ok(),
            Outcome::Published => true,
            Outcome::Indeterminate => false,
        };
        if is_clean && !self.keeps_record {
            drop(self.store.remove(&self.record()));
        }
    }
}
