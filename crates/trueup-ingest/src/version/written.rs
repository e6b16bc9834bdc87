//! The end of a version: what its manifest names is written, and then the manifest is published.

use super::leftovers;
use super::store_version::StoreVersion;
use super::version_files::VersionFiles;
use super::{BegunVersion, batch_lists, vectors};
use crate::error::{ErrorContext, ErrorKind, OPEN_DATASET};
use crate::monitor::Monitor;
use crate::{CREATED_BY, IngestError};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::{Commit, CommitOperation, manifest_file, open_store};

/// The next version of a dataset, all files of which are written. Unless it is published, dropping it removes every
/// file and folder that it made.
#[must_use = "nobody sees the version until it is published"]
pub(super) struct WrittenVersion {
    files: VersionFiles,
    store: Option<StoreVersion>,
    manifest: Manifest,
    /// Whether the dataset had no version.
    is_first: bool,
    now: SystemTime,
}

impl BegunVersion {
    /// Writes what the manifest names, and makes the version visible. Returns the manifest as it is published.
    ///
    /// # Errors
    /// Another ingest has published a version with this number or a later one, the ingest is interrupted, or the file
    /// system or the store refuses. The error says whether the version may be published nevertheless.
    pub(crate) fn publish(
        self,
        manifest: Manifest,
        operation: CommitOperation,
        monitor: &Monitor,
    ) -> Result<Manifest, IngestError> {
        let written = self.write(manifest, operation).map_err(|error| monitor.explain(error))?;
        written.publish(monitor)
    }

    /// Gives the manifest its number, and writes the lists of files and of batches that it names, and deletion vectors.
    fn write(self, mut manifest: Manifest, operation: CommitOperation) -> Result<WrittenVersion, IngestError> {
        self.check_definitions(&manifest)?;
        let now = self.now();
        let Self { mut files, store, begun, before, lists, superseded, purge, batch, .. } = self;
        manifest.version = files.number;
        CREATED_BY.clone_into(&mut manifest.created_by);
        lists.write(&mut manifest, &mut files)?;
        vectors::write(superseded, &mut manifest, &mut files)?;
        let dataset = store.as_ref().map_or(files.dir.as_path(), StoreVersion::location).to_owned();
        match batch {
            Some(batch) => batch_lists::write(batch, &dataset, &mut manifest, &mut files)?,
            None if operation == CommitOperation::Compact => {
                batch_lists::merge(&dataset, &mut manifest, &mut files)?;
            }
            None => {}
        }
        manifest.commit = Commit::after(before, now, operation, begun.elapsed());
        manifest.purge = purge;
        Ok(WrittenVersion { files, store, manifest, is_first: before.is_none(), now })
    }

    /// Checks that no column of events has the name of a definition that this version brings, and that the columns
    /// which these definitions are derived from exist. The columns of inputs were checked when they were read.
    fn check_definitions(&self, manifest: &Manifest) -> Result<(), IngestError> {
        let Some(new) = &self.definitions else { return Ok(()) };
        let columns: BTreeSet<String> = manifest.events.iter().flat_map(|file| &*file.columns).cloned().collect();
        new.check_columns(&columns).map_err(|error| ErrorKind::Definitions(error).into())
    }
}

impl WrittenVersion {
    /// Makes the version visible. From here on, nothing is undone.
    fn publish(self, monitor: &Monitor) -> Result<Manifest, IngestError> {
        let Self { mut files, store, manifest, is_first, now } = self;
        if let Some(mut store) = store {
            store.publish(files.names(), &files.dir, &manifest, monitor)?;
            return Ok(manifest);
        }
        let staging = files.make_record()?;
        files.sync()?;
        let (operations, dir) = (files.files.clone(), files.dir.clone());
        files.outcome.settle(|| manifest_file::publish(&operations, &dir, &staging, &manifest))?;
        if is_first {
            // Before the first manifest it was unknown which files are left over. If this fails, the next ingest tries
            // again.
            drop(remove_leftovers(&files, &dir, now));
        }
        Ok(manifest)
    }
}

fn remove_leftovers(files: &VersionFiles, dir: &Path, now: SystemTime) -> Result<(), IngestError> {
    let store = open_store(dir, &files.files).at(OPEN_DATASET, dir)?;
    leftovers::remove_from_folder(&*store, files, now)
}
