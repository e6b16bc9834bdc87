//! The files of a distributed ingest: each attempt at a part writes its own, and the process that commits takes over
//! the files of one attempt of each part.
//!
//! In a folder, an attempt writes below a folder of its own in the record of the ingest, and the commit renames the
//! files. Whatever else attempts have written goes with the record. In a store, an attempt uploads its files under
//! names that say part and attempt. Because an attempt may still be running when the ingest ends, the record stays, and
//! a later ingest removes the files of that id that no version names.

use super::file_names::{RECORD_PREFIX, is_id, random_id};
use super::version_files::Made;
use super::{BegunVersion, DatasetLock, Outcome, StoreVersion, VersionFiles, local_folder, without_credentials};
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, OPEN_DATASET, StageFault};
use crate::monitor::Monitor;
use crate::parts::{StagePlan, Staged};
use crate::table::Table;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{Store, manifest_file, open_store};
use trueup_core::files::Files;

/// What one of several processes writes for a version that another process has begun. Unless it is handed over,
/// dropping it removes what it made.
pub(crate) struct PartVersion {
    pub(crate) files: VersionFiles,
    /// Uploads the files; `None` in a folder.
    store: Option<StoreVersion>,
}

impl BegunVersion {
    /// Lets other processes write files for this version.
    pub(crate) fn allow_parts(&mut self) -> Result<(), IngestError> {
        match &mut self.store {
            Some(store) => store.allow_parts(),
            None => drop(self.files.make_record()?),
        }
        Ok(())
    }

    /// Takes over the files of the parts. Returns them as the manifest names them.
    ///
    /// # Errors
    /// A file is missing, has another length, or has a name that its part does not give to files; or the file system or
    /// the store refuses.
    pub(crate) fn adopt(&mut self, staged: &[Staged]) -> Result<Vec<DataFile>, IngestError> {
        for part in staged {
            for (at, file) in part.files.iter().enumerate() {
                if !is_id(&part.attempt)
                    || file.path != self.files.name(Table::Events, &label_of(part.part, &part.attempt), at)
                {
                    return Err(StageFault::Altered.into());
                }
            }
        }
        if let Some(store) = &mut self.store {
            return store.adopt(staged);
        }
        let mut files = Vec::new();
        if staged.iter().any(|part| !part.files.is_empty()) {
            self.files.make_folder(Table::Events.name())?;
        }
        for part in staged {
            let folder = self.files.record().join(folder_of(part.part, &part.attempt));
            for file in &part.files {
                let from = folder.join(&file.path);
                let found = match fs::symlink_metadata(&from) {
                    Ok(found) if found.is_file() => Some(found.len()),
                    Ok(_) => None,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                    Err(error) => return Err(error).at("read", &from),
                };
                if found != Some(file.size) {
                    return Err(StageFault::File { part: part.part, path: from, expected: file.size, found }.into());
                }
                let name = self.files.name(Table::Events, "", files.len());
                let path = self.files.dir.join(&name);
                // Noted first, because the rename may take effect even if it reports an error.
                self.files.made.push(Made::File(path.clone()));
                self.files.files.rename(&from, &path).at("rename", &path)?;
                files.push(DataFile { path: name, ..file.clone() });
            }
        }
        Ok(files)
    }
}

impl PartVersion {
    /// Begins an attempt at a part of a distributed ingest, in any process. Returns the id of the attempt, too.
    ///
    /// # Errors
    /// The ingest has ended, the plan has no id of an ingest or no version, the URL is of no store or of a web server,
    /// or the file system or the store refuses.
    pub(crate) fn begin(
        files: &Files,
        dir: &Path,
        plan: &StagePlan,
        part: u32,
        monitor: &Monitor,
    ) -> Result<(Self, String), IngestError> {
        let ended = || IngestError::from(StageFault::Ended(plan.ingest.clone()));
        if !is_id(&plan.ingest) {
            return Err(StageFault::NotPlan("it has no id of an ingest".to_owned()).into());
        }
        if plan.version == 0 {
            return Err(StageFault::NotPlan("it makes no version".to_owned()).into());
        }
        if manifest_file::highest_number(dir)? >= plan.version {
            return Err(ended());
        }
        let attempt = random_id()?;
        let store = open_store(dir, files).at(OPEN_DATASET, &without_credentials(dir))?;
        let (folder, open, store) = match store.is_folder() {
            false => {
                let store = StoreVersion::of_part(store, dir, plan, monitor)?.ok_or_else(ended)?;
                let (folder, open) = local_folder::make(files, &attempt)?;
                (folder, open, Some(store))
            }
            true => {
                let record = dir.join(format!("{RECORD_PREFIX}{}", plan.ingest));
                let folder = record.join(folder_of(part, &attempt));
                match files.create_folder(&folder) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ended()),
                    created => created.at("make the folder", &folder)?,
                }
                let open = files.open(&folder).at("open", &folder)?;
                (folder, open, None)
            }
        };
        let made = vec![Made::Folder(folder.clone())];
        let lock = DatasetLock::of(open);
        let mut files = VersionFiles::new(files, folder, (plan.version, plan.ingest.clone()), lock, made);
        files.label = label_of(part, &attempt);
        Ok((Self { files, store }, attempt))
    }

    /// Ends an attempt: leaves its files to the process that commits.
    pub(crate) fn release(mut self, monitor: &Monitor) -> Result<(), IngestError> {
        match &mut self.store {
            // The local files are removed.
            Some(store) => store.release(self.files.names(), &self.files.dir, monitor),
            // The files are durable. The commit renames them, and makes their new names durable.
            None => {
                self.files.outcome = Outcome::Published;
                Ok(())
            }
        }
    }
}

/// Returns the name of the folder of an attempt, in the record of its ingest.
fn folder_of(part: u32, attempt: &str) -> String {
    format!("part-{part:04}-{attempt}")
}

/// Returns what the names of the files of an attempt have before their number.
fn label_of(part: u32, attempt: &str) -> String {
    format!("{part:04}_{attempt}_")
}

impl StoreVersion {
    /// Returns the next version for an attempt at a part, which uploads its files; `None` if the ingest has ended.
    fn of_part(
        store: Arc<dyn Store>,
        location: &Path,
        plan: &StagePlan,
        monitor: &Monitor,
    ) -> Result<Option<Self>, IngestError> {
        if !store.is_writable() {
            return Err(ErrorKind::UrlOfDataset(without_credentials(location)).into());
        }
        let mut version = Self::new(store, location, &plan.ingest, plan.version, monitor);
        // The record is that of the process that commits.
        version.keeps_record = true;
        let record = version.record();
        let mut objects = version.list("")?.into_iter();
        Ok(objects.any(|object| object.name == record).then_some(version))
    }
}
