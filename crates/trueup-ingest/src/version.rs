//! The next version of a dataset while an ingest writes it. Either all of it becomes visible, or nothing of it stays.
//! Definitions, compactions and forgetting make versions in the same way: what is said of ingests holds for them, too.
//!
//! Every ingest has a random id. While it runs, the dataset's folder holds the folder `.trueup-pending-<id>`, the
//! record of the ingest: it contains its scratch folders, and every data file of the ingest has the id in its name. The
//! record is removed when the ingest ends. If a record is left, its ingest was killed, could not remove its files, or
//! could not make its version durable, and the next ingest removes the record and the data files with that id that no
//! version names. It also completes a purge that was stopped, and removes the files of expired versions whose grace
//! period is over. It removes nothing else.
//!
//! Only the ingest that has the `lock` of the dataset's folder writes to it.
//!
//! The files of a dataset in an object store are written to a `local_folder` in the same way, and `store_version`
//! uploads and publishes them. `clock` says what time it is. If several processes write a version, `part` is what each
//! of them does. `file_names` says which ingest wrote a file. At the end, `file_lists` writes the lists of files,
//! `vectors` the deletion vectors, and `batch_lists` the lists of batches. `metadata` writes each of these files, and
//! reads it back.

mod batch_lists;
mod clock;
mod file_lists;
mod file_names;
mod local_folder;
mod lock;
mod metadata;
mod part;
mod scratch;
mod store_version;
mod vectors;

pub(crate) use file_names::{RECORD_PREFIX, writer_of};
pub(crate) use scratch::Scratch;

use crate::error::{ErrorContext, ErrorKind, OPEN_DATASET};
use crate::monitor::{Monitor, Phase};
use crate::pending_file::PendingFile;
use crate::table::Table;
use crate::{CREATED_BY, IngestError};
use clock::StorageClock;
use file_lists::StoredLists;
use file_names::{has_id, is_id, random_id};
use lock::DatasetLock;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store_version::StoreVersion;
use trueup_core::dataset::expiry::{self, Expiry, Unnamed};
use trueup_core::dataset::manifest::{
    BATCHES_FOLDER, DEFINITIONS_FOLDER, FORGOTTEN_FOLDER, LISTS_FOLDER, Manifest, Purge, VECTORS_FOLDER,
};
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_core::dataset::{
    Batch, Commit, CommitOperation, CommitTime, DeletionVector, Store, manifest_file, open_store, without_credentials,
};
use trueup_core::definitions::Definitions;
use trueup_core::files::Files;

/// The folders of a dataset that hold files with the id of an ingest in their names.
pub(crate) const FOLDERS: [&str; 9] = [
    Table::Events.name(),
    Table::Spend.name(),
    Table::Accounts.name(),
    Table::Insights.name(),
    DEFINITIONS_FOLDER,
    FORGOTTEN_FOLDER,
    LISTS_FOLDER,
    VECTORS_FOLDER,
    BATCHES_FOLDER,
];

/// The most attempts to remove a record that other processes write into.
const REMOVALS: usize = 8;

/// The next version of a dataset. Unless it is published, dropping it removes every file and folder that it made.
pub(crate) struct VersionBuilder {
    files: Files,
    /// The folder of the dataset, or the local folder of a version in a store.
    dir: PathBuf,
    number: u64,
    /// The id of the ingest, in hex.
    id: String,
    /// What the names of data files have before their number: the part and the attempt, if this is a part of a version.
    label: String,
    /// Held until the version is published or dropped.
    _lock: DatasetLock,
    /// Folders and data files, in the order in which the ingest made them.
    made: Vec<Made>,
    has_record: bool,
    /// The number of scratch folders so far.
    scratches: usize,
    /// What became of the files in the folder. Those of a version in a store are only uploaded from there.
    outcome: Outcome,
    store: Option<StoreVersion>,
    /// The lists of the version before.
    lists: StoredLists,
    /// The rows of files of the version before that this version supersedes, by the paths of the files.
    superseded: BTreeMap<String, DeletionVector>,
    /// The files of expired versions that were removed when the version was begun.
    removed: FileCount,
    /// When the writer got its lock.
    begun: Instant,
    /// The clock of the store or of the file system; `None` until the record of this ingest is written.
    clock: Option<StorageClock>,
    /// When the version before was committed; `None` if there is none.
    before: Option<CommitTime>,
    /// The versions that expired when the version was begun, because the newest version purges them.
    expired: Vec<u64>,
    /// The earlier versions that this one lets expire.
    purge: Option<Purge>,
    /// What this version ingests; `None` if it ingests nothing.
    batch: Option<Batch>,
    /// The definitions that this version brings; `None` if it keeps those of the version before.
    definitions: Option<Definitions>,
}

/// A number of files, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCount {
    /// The number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl FileCount {
    pub(crate) fn of(sizes: impl Iterator<Item = u64>) -> Self {
        sizes.fold(Self::default(), |Self { files, bytes }, size| Self { files: files + 1, bytes: bytes + size })
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

enum Made {
    Folder(PathBuf),
    File(PathBuf),
}

/// What became of the version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Unpublished,
    Published,
    /// Readers may see it, now or after a loss of power.
    Indeterminate,
}

impl Outcome {
    /// Publishes, and keeps what became of the version. If `publish` panics, readers may see the version, so that its
    /// files must stay.
    fn settle(&mut self, publish: impl FnOnce() -> Result<(), ManifestError>) -> Result<(), ManifestError> {
        *self = Self::Indeterminate;
        let published = publish();
        *self = match &published {
            Ok(()) => Self::Published,
            Err(error) if error.may_be_published() => Self::Indeterminate,
            Err(_) => Self::Unpublished,
        };
        published
    }
}

impl VersionBuilder {
    /// Begins the version after the newest of the dataset, and returns the newest version's manifest; `None` if the
    /// dataset has no version yet. Makes the dataset's folder if it does not exist. If there is a version, removes the
    /// files of ingests that were killed, completes a purge that was stopped, and removes files whose grace period is
    /// over.
    ///
    /// # Errors
    /// Another ingest is writing to the dataset for as long as this one may wait, the newest manifest is damaged, the
    /// URL is of no store or of a web server, the store lets writers replace the objects of others, or the file system
    /// or the store refuses.
    pub(crate) fn begin(files: &Files, dir: &Path, monitor: &Monitor) -> Result<(Self, Option<Manifest>), IngestError> {
        let store = open_store(dir, files).at(OPEN_DATASET, &without_credentials(dir))?;
        if !store.is_folder() {
            return Self::begin_in_store(files, store, dir, monitor);
        }
        let mut made = Vec::new();
        let lock = DatasetLock::take(files, dir, &mut made, monitor).inspect_err(|_| remove_folders(files, &made))?;
        // From here on, dropping the builder cleans up.
        let mut version = Self::without_number(files, dir.to_owned(), random_id()?, lock, made);
        let latest = version.follow_newest(dir)?;
        let record = version.make_record()?;
        let written = fs::metadata(&record).and_then(|metadata| metadata.modified()).at("read", &record)?;
        version.clock = Some(StorageClock::new(written));
        if latest.is_some() {
            version.remove_leftovers()?;
            version.complete_purge(dir, latest.as_ref());
            version.remove_expired(dir, monitor);
        }
        Ok((version, latest))
    }

    /// Begins the version after the newest of a dataset in a store.
    fn begin_in_store(
        files: &Files,
        store: Arc<dyn Store>,
        location: &Path,
        monitor: &Monitor,
    ) -> Result<(Self, Option<Manifest>), IngestError> {
        if !store.is_writable() {
            return Err(ErrorKind::UrlOfDataset(without_credentials(location)).into());
        }
        let id = random_id()?;
        let (dir, folder) = local_folder::make(files, &id)?;
        let made = vec![Made::Folder(dir.clone())];
        let mut version = Self::without_number(files, dir, id, DatasetLock::of(folder), made);
        let latest = version.follow_newest(location)?;
        let number = version.number;
        let (store, clock) = StoreVersion::begin(store, location, &version.id, number, latest.is_some(), monitor)?;
        (version.store, version.clock) = (Some(store), Some(clock));
        version.complete_purge(location, latest.as_ref());
        version.remove_expired(location, monitor);
        Ok((version, latest))
    }

    /// Returns a version that has no number and no file yet. Its files will be in `dir`.
    fn without_number(files: &Files, dir: PathBuf, id: String, lock: DatasetLock, made: Vec<Made>) -> Self {
        Self {
            files: files.clone(),
            dir,
            number: 0,
            id,
            label: String::new(),
            _lock: lock,
            made,
            has_record: false,
            scratches: 0,
            outcome: Outcome::Unpublished,
            store: None,
            lists: StoredLists::default(),
            superseded: BTreeMap::new(),
            removed: FileCount::default(),
            begun: Instant::now(),
            clock: None,
            before: None,
            expired: Vec::new(),
            purge: None,
            batch: None,
            definitions: None,
        }
    }

    /// Takes the number after all that are taken of the dataset at `location`, and returns the newest version's
    /// manifest.
    fn follow_newest(&mut self, location: &Path) -> Result<Option<Manifest>, IngestError> {
        let (latest, next) = manifest_file::read_latest_and_next(location)?;
        self.number = next;
        self.lists = StoredLists::of(latest.as_ref());
        self.before = latest.as_ref().map(|manifest| manifest.commit.time);
        Ok(latest)
    }

    /// Lets this version consist of what an earlier one has, instead of the newest one.
    pub(crate) fn restore(&mut self, earlier: &Manifest) {
        self.lists = StoredLists::of(Some(earlier));
    }

    /// Returns what time it is by the clock of the store or of the file system. A part of an ingest does not ask: it
    /// gets the beginning of time, at which nothing is due.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.map_or(UNIX_EPOCH, StorageClock::now)
    }

    /// Returns the files of expired versions that were removed when the version was begun.
    pub(crate) const fn removed_at_begin(&self) -> FileCount {
        self.removed
    }

    /// Returns the versions that expired when the version was begun.
    pub(crate) fn expired_at_begin(&self) -> &[u64] {
        &self.expired
    }

    /// Lets earlier versions expire once this one is published: whoever begins the version after it does so.
    pub(crate) fn expire_once_published(&mut self, versions: BTreeSet<u64>, grace: Duration) {
        let purge = self.purge.get_or_insert_with(|| Purge { grace_seconds: u64::MAX, ..Purge::default() });
        purge.versions.extend(versions);
        purge.grace_seconds = purge.grace_seconds.min(grace.as_secs());
    }

    /// Returns whether this version purges all of these.
    pub(crate) fn purges(&self, versions: &BTreeSet<u64>) -> bool {
        versions.iter().all(|version| self.purge.as_ref().is_some_and(|purge| purge.versions.contains(version)))
    }

    /// Lets the versions expire that the newest one purges, unless they have. If that fails, this version purges them.
    fn complete_purge(&mut self, dataset: &Path, latest: Option<&Manifest>) {
        let Some(purge) = latest.and_then(|manifest| manifest.purge.as_ref()) else { return };
        match self.expire(dataset, purge) {
            Ok(expired) => self.expired = expired,
            Err(_) => self.purge = Some(purge.clone()),
        }
    }

    fn expire(&self, dataset: &Path, purge: &Purge) -> Result<Vec<u64>, IngestError> {
        let plan = Expiry::of(dataset, &purge.versions)?;
        // Not the id of this version, which the record of another expiry may get.
        plan.commit(&self.files, dataset, &random_id()?, Duration::from_secs(purge.grace_seconds), self.now())?;
        Ok(plan.expired)
    }

    /// Removes the files of expired versions whose grace period is over. What cannot be read or removed now is removed
    /// another time.
    fn remove_expired(&mut self, dataset: &Path, monitor: &Monitor) {
        let Ok(unnamed) = Unnamed::find(dataset, None, self.now()) else { return };
        if !unnamed.due.is_empty() {
            monitor.begin(Phase::RemovingFiles, Some(unnamed.due_bytes()));
        }
        let removed = &mut self.removed;
        drop(unnamed.remove(&self.files, dataset, monitor.interrupt(), |file| {
            removed.add(FileCount::of(std::iter::once(file.size)));
            monitor.add(0, file.size);
        }));
    }

    /// Returns the number of the version.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Removes the records of earlier ingests, and the data files with the id of such an ingest, unless a manifest
    /// names them. Because this ingest holds the lock, no other one is running.
    fn remove_leftovers(&self) -> Result<(), IngestError> {
        let mut records = Vec::new();
        for (path, name) in entries(&self.files, &self.dir)? {
            let id = name.strip_prefix(RECORD_PREFIX).filter(|id| is_id(id)).map(str::to_owned);
            if let Some(id) = id.filter(|id| *id != self.id && path.is_dir() && !path.is_symlink()) {
                records.push((path, id));
            }
        }
        if records.is_empty() {
            return Ok(());
        }
        // A manifest that cannot be read may name any file, so nothing may be removed.
        let Ok(needed) = expiry::needed_files(&self.dir, self.now()) else { return Ok(()) };
        let needed: HashSet<PathBuf> = needed.into_iter().map(|path| self.dir.join(path)).collect();
        for folder in FOLDERS {
            for (path, name) in entries(&self.files, &self.dir.join(folder))? {
                let is_left = records.iter().any(|(_, id)| has_id(&name, id)) && !needed.contains(&path);
                if is_left && path.is_file() && !path.is_symlink() {
                    self.files.remove(&path).at("remove", &path)?;
                }
            }
        }
        for (path, _) in records {
            remove_record(&self.files, &path).at("remove", &path)?;
        }
        Ok(())
    }

    /// Makes a folder for files that are needed only during the ingest. It lies next to the new data files, whose disk
    /// must have room for as much anyway.
    pub(crate) fn scratch(&mut self) -> Result<Scratch, IngestError> {
        let path = self.make_record()?.join(format!("scratch-{}", self.scratches));
        self.scratches += 1;
        self.files.create_private_folder(&path).at("make the folder", &path)?;
        Ok(Scratch::new(self.files.clone(), path))
    }

    /// Makes the record of this ingest, unless it exists, and returns its path. It is durable before any file has the
    /// id in its name.
    fn make_record(&mut self) -> Result<PathBuf, IngestError> {
        let path = self.record();
        if !self.has_record {
            // Not private: new files take the permissions of their folder, and the manifest, which is staged here, is
            // for all readers.
            self.files.create_folder(&path).at("make the folder", &path)?;
            self.has_record = true;
            self.files.sync_folder(&self.dir).at("sync", &self.dir)?;
        }
        Ok(path)
    }

    fn record(&self) -> PathBuf {
        self.dir.join(format!("{RECORD_PREFIX}{}", self.id))
    }

    /// Begins a data file of a table. Files of a table are numbered from 0.
    pub(crate) fn create(&mut self, table: Table, number: usize) -> Result<PendingFile, IngestError> {
        self.make_record()?;
        let name = self.name(table, &self.label, number);
        self.make_folder(table.name())?;
        self.create_named(name)
    }

    /// Begins a file with a name from the folder of the dataset. Its folder and the record of the ingest exist.
    fn create_named(&mut self, name: String) -> Result<PendingFile, IngestError> {
        debug_assert_eq!(writer_of(&name), self.id, "an ingest knows its own files by their names");
        let path = self.dir.join(&name);
        // Noted first, because the file may exist even if creating it reports an error.
        self.made.push(Made::File(path.clone()));
        let file = self.files.create(&path).at("create", &path)?;
        PendingFile::begin(file, path, name)
    }

    /// Returns the name of a data file.
    fn name(&self, table: Table, label: &str, number: usize) -> String {
        let extension = if table == Table::Insights { "ndjson" } else { "parquet" };
        format!("{}/{:08}-{label}{number:04}-{}.{extension}", table.name(), self.number, self.id)
    }

    /// Makes a folder in that of the dataset, unless it exists.
    fn make_folder(&mut self, name: &str) -> Result<(), IngestError> {
        let folder = self.dir.join(name);
        if !folder.exists() {
            self.files.create_folder(&folder).at("make the folder", &folder)?;
            self.made.push(Made::Folder(folder));
        }
        Ok(())
    }

    /// Records what was ingested.
    pub(crate) fn add_batch(&mut self, batch: Batch) {
        self.batch = Some(batch);
    }

    /// Leaves rows out that earlier versions have, by the paths of their files.
    pub(crate) fn supersede(&mut self, rows: BTreeMap<String, DeletionVector>) {
        self.superseded.extend(rows);
    }

    /// Checks that no column of events has the name of a definition that this version brings, and that the columns
    /// which these definitions are derived from exist. The columns of inputs were checked when they were read.
    fn check_definitions(&self, manifest: &Manifest) -> Result<(), IngestError> {
        let Some(new) = &self.definitions else { return Ok(()) };
        let columns: BTreeSet<String> = manifest.events.iter().flat_map(|file| &*file.columns).cloned().collect();
        new.check_columns(&columns).map_err(|error| ErrorKind::Definitions(error).into())
    }

    /// Gives the manifest its number, writes the lists of the files of events and spend that it names, and deletion
    /// vectors, and makes the version visible. From the publication on, nothing is undone.
    ///
    /// # Errors
    /// Another ingest has published a version with this number or a later one, the ingest is interrupted, or the file
    /// system or the store refuses. The error says whether the version may be published nevertheless.
    pub(crate) fn publish(
        mut self,
        manifest: &mut Manifest,
        operation: CommitOperation,
        monitor: &Monitor,
    ) -> Result<(), IngestError> {
        self.check_definitions(manifest)?;
        manifest.version = self.number;
        CREATED_BY.clone_into(&mut manifest.created_by);
        let lists = std::mem::take(&mut self.lists);
        lists.write(manifest, &mut self).map_err(|error| monitor.explain(error))?;
        let superseded = std::mem::take(&mut self.superseded);
        vectors::write(superseded, manifest, &mut self).map_err(|error| monitor.explain(error))?;
        let dataset = self.store.as_ref().map_or(self.dir.as_path(), StoreVersion::location).to_owned();
        match self.batch.take() {
            Some(batch) => batch_lists::write(batch, &dataset, manifest, &mut self),
            None if operation == CommitOperation::Compact => batch_lists::merge(&dataset, manifest, &mut self),
            None => Ok(()),
        }
        .map_err(|error| monitor.explain(error))?;
        manifest.commit = Commit::after(self.before, self.now(), operation, self.begun.elapsed());
        manifest.purge = self.purge.take();
        if let Some(mut store) = self.store.take() {
            return store.publish(self.file_names(), &self.dir, manifest, monitor);
        }
        let staging = self.make_record()?;
        for folder in FOLDERS {
            let folder = self.dir.join(folder);
            if folder.is_dir() {
                self.files.sync_folder(&folder).at("sync", &folder)?;
            }
        }
        sync_parents(&self.files, &self.made)?;
        self.outcome.settle(|| manifest_file::publish(&self.files, &self.dir, &staging, manifest))?;
        if self.before.is_none() {
            // Before the first manifest it was unknown which files are left over. If this fails, the next ingest tries
            // again.
            drop(self.remove_leftovers());
        }
        Ok(())
    }

    /// Returns the names of the data files of this ingest, as the manifest has them.
    fn file_names(&self) -> Vec<String> {
        let files = self.made.iter().filter_map(|made| match made {
            Made::File(path) => path.strip_prefix(&self.dir).ok()?.to_str(),
            Made::Folder(_) => None,
        });
        // Below the folder of a dataset, names are ASCII, and Windows separates them in its own way.
        files.map(|name| name.replace('\\', "/")).collect()
    }

    /// Removes the data files of this ingest. Returns false if a file may still exist.
    fn remove_files(&self) -> bool {
        let mut is_clean = true;
        for made in &self.made {
            if let Made::File(path) = made {
                let removed = self.files.remove(path);
                is_clean &= removed.is_ok() || !path.exists();
            }
        }
        is_clean
    }
}

impl Drop for VersionBuilder {
    /// Files that cannot be removed here are removed by the next ingest, because the record of this one stays with
    /// them.
    fn drop(&mut self) {
        let is_clean = match self.outcome {
            Outcome::Unpublished => self.remove_files(),
            Outcome::Published => true,
            Outcome::Indeterminate => false,
        };
        let is_clean = is_clean && (!self.has_record || remove_record(&self.files, &self.record()).is_ok());
        if is_clean && self.outcome == Outcome::Unpublished {
            remove_folders(&self.files, &self.made);
        }
    }
}

/// Lists the entries of a folder whose names are UTF-8; none if the folder does not exist.
fn entries(files: &Files, dir: &Path) -> Result<Vec<(PathBuf, String)>, IngestError> {
    let entries = match files.list(dir) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>().at("list", dir)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).at("list", dir),
    };
    Ok(entries.into_iter().filter_map(|entry| Some((entry.path(), entry.file_name().into_string().ok()?))).collect())
}

/// Removes the record of an ingest. Parts of the ingest that still run may write into it meanwhile.
fn remove_record(files: &Files, record: &Path) -> io::Result<()> {
    for _ in 1..REMOVALS {
        match files.remove_folder_and_contents(record) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            removed => return removed,
        }
    }
    files.remove_folder_and_contents(record)
}

/// Makes the dataset's folder, readable for its owner alone, and the folders above it. Adds the new folders to `made`.
fn make_dataset_folder(files: &Files, dir: &Path, made: &mut Vec<Made>) -> Result<(), IngestError> {
    let missing: Vec<&Path> =
        dir.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        let created = if folder == dir { files.create_private_folder(folder) } else { files.create_folder(folder) };
        match created {
            Ok(()) => made.push(Made::Folder(folder.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error).at("make the folder", folder),
        }
    }
    Ok(())
}

/// Makes new folders durable, in the dataset and above it: a folder is durable once its parent is synced.
fn sync_parents(files: &Files, made: &[Made]) -> Result<(), IngestError> {
    let parents: BTreeSet<&Path> = made
        .iter()
        .filter_map(|made| match made {
            Made::Folder(folder) => folder.parent(),
            Made::File(_) => None,
        })
        .collect();
    for parent in parents {
        // The parent of a relative path of one name is empty.
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        files.sync_folder(parent).at("sync", parent)?;
    }
    Ok(())
}

/// Removes empty folders, the latest first.
fn remove_folders(files: &Files, made: &[Made]) {
    for made in made.iter().rev() {
        if let Made::Folder(path) = made {
            drop(files.remove_folder(path));
        }
    }
}
