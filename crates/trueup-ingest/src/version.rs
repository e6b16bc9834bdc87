//! The next version of a dataset while an ingest writes it. Either all of it becomes visible, or nothing of it stays.
//! Definitions, compactions and forgetting make versions in the same way: what is said of ingests holds for them, too.
//!
//! ```text
//! BegunVersion     the writer has the lock, and adds files and what the version says      version.rs
//! WrittenVersion   the lists that the manifest names are written                         written.rs
//! Manifest         the version is published: readers see it                              written.rs
//!
//! PartVersion      what each of several processes writes for a begun version             part.rs
//! ```
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
//! [`VersionFiles`] are the files of a version on this machine. Those of a dataset in an object store are written to a
//! `local_folder` in the same way, and `store_version` uploads and publishes them. `clock` says what time it is.
//! `file_names` says which ingest wrote a file, `leftovers` removes those of killed ones, and `purge` those of versions
//! that have expired. At the end, `file_lists` writes the lists of files, `vectors` the deletion vectors, and
//! `batch_lists` the lists of batches. `metadata` writes each of these files, and reads it back.

mod batch_lists;
mod clock;
mod file_lists;
mod file_names;
mod leftovers;
mod local_folder;
mod lock;
mod metadata;
mod part;
mod purge;
mod scratch;
mod store_version;
mod vectors;
mod version_files;
mod written;

pub(crate) use file_names::{RECORD_PREFIX, writer_of};
pub(crate) use part::PartVersion;
pub(crate) use scratch::Scratch;
pub(crate) use trueup_core::dataset::manifest::FOLDERS;
pub(crate) use version_files::VersionFiles;

use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, OPEN_DATASET};
use crate::monitor::Monitor;
use clock::StorageClock;
use file_lists::StoredLists;
use file_names::random_id;
use lock::DatasetLock;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use store_version::StoreVersion;
use trueup_core::dataset::manifest::{Manifest, Purge};
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_core::dataset::{
    Batch, CommitTime, DeletionVector, Store, location_of, manifest_file, open_store, without_credentials,
};
use trueup_core::definitions::Definitions;
use trueup_core::files::Files;
use version_files::{Made, remove_folders};

/// The next version of a dataset. Unless it is published, dropping it removes every file and folder that it made.
pub(crate) struct BegunVersion {
    pub(crate) files: VersionFiles,
    /// Uploads and publishes the files; `None` in a folder.
    store: Option<StoreVersion>,
    /// The clock of the store or of the file system.
    clock: StorageClock,
    /// When the writer got its lock.
    begun: Instant,
    /// When the version before was committed; `None` if there is none.
    before: Option<CommitTime>,
    /// The lists of the version before.
    lists: StoredLists,
    /// The rows of files of the version before that this version supersedes, by the paths of the files.
    superseded: BTreeMap<String, DeletionVector>,
    /// The files of expired versions that were removed when the version was begun.
    removed: FileCount,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
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

impl BegunVersion {
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
        let (mut version, latest) = if store.is_folder() {
            Self::begin_in_folder(files, &*store, dir, monitor)?
        } else {
            Self::begin_in_store(files, store, dir, monitor)?
        };
        if latest.is_some() {
            version.complete_purge(dir, latest.as_ref());
            version.remove_expired(dir, monitor);
        }
        Ok((version, latest))
    }

    /// Begins the version after the newest of a dataset in a folder.
    fn begin_in_folder(
        files: &Files,
        store: &dyn Store,
        dir: &Path,
        monitor: &Monitor,
    ) -> Result<(Self, Option<Manifest>), IngestError> {
        let mut made = Vec::new();
        let lock = DatasetLock::take(files, dir, &mut made, monitor).inspect_err(|_| remove_folders(files, &made))?;
        // From here on, dropping the files cleans up.
        let mut own = VersionFiles::new(files, dir.to_owned(), (0, random_id()?), lock, made);
        let begun = Instant::now();
        let (latest, next) = manifest_file::read_latest_and_next(dir)?;
        own.number = next;
        let clock = StorageClock::new(own.time_of_record()?);
        if latest.is_some() {
            leftovers::remove_from_folder(store, &own, clock.now())?;
        }
        Ok((Self::after(latest.as_ref(), own, None, clock, begun), latest))
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
        let mut own = VersionFiles::new(files, dir, (0, id), DatasetLock::of(folder), made);
        let begun = Instant::now();
        let (latest, next) = manifest_file::read_latest_and_next(location)?;
        own.number = next;
        let (store, clock) = StoreVersion::begin(store, location, &own.id, next, latest.is_some(), monitor)?;
        Ok((Self::after(latest.as_ref(), own, Some(store), clock, begun), latest))
    }

    /// Returns the version after the newest one, with nothing in it yet but what that one has.
    fn after(
        newest: Option<&Manifest>,
        files: VersionFiles,
        store: Option<StoreVersion>,
        clock: StorageClock,
        begun: Instant,
    ) -> Self {
        Self {
            files,
            store,
            clock,
            begun,
            before: newest.map(|manifest| manifest.commit.time),
            lists: StoredLists::of(newest),
            superseded: BTreeMap::new(),
            removed: FileCount::default(),
            expired: Vec::new(),
            purge: None,
            batch: None,
            definitions: None,
        }
    }

    /// Returns the number of the version.
    pub(crate) const fn number(&self) -> u64 {
        self.files.number
    }

    /// Returns the id of the ingest.
    pub(crate) fn id(&self) -> &str {
        &self.files.id
    }

    /// Returns what time it is by the clock of the store or of the file system.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    /// Lets this version consist of what an earlier one has, instead of the newest one.
    pub(crate) fn restore(&mut self, earlier: &Manifest) {
        self.lists = StoredLists::of(Some(earlier));
    }

    /// Records what was ingested.
    pub(crate) fn add_batch(&mut self, batch: Batch) {
        self.batch = Some(batch);
    }

    /// Leaves rows out that earlier versions have, by the paths of their files.
    pub(crate) fn supersede(&mut self, rows: BTreeMap<String, DeletionVector>) {
        self.superseded.extend(rows);
    }
}

/// Names an action on a dataset, and what it is on: a name from the folder or the URL of the dataset, or `""`.
fn at_location<T>(action: &'static str, dataset: &Path, name: &str, result: io::Result<T>) -> Result<T, IngestError> {
    let path = if name.is_empty() { dataset.to_owned() } else { location_of(dataset, name) };
    result.at(action, &path)
}
