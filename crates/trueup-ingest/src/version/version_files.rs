//! The local files of the next version: in the dataset's folder, or in one from which they are uploaded.

use super::file_names::{RECORD_PREFIX, writer_of};
use super::lock::DatasetLock;
use super::scratch::Scratch;
use super::{FOLDERS, Outcome};
use crate::IngestError;
use crate::error::ErrorContext;
use crate::pending_file::PendingFile;
use crate::table::Table;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::files::Files;

/// The most attempts to remove a record that other processes write into.
const REMOVALS: usize = 8;

/// The files of the next version of a dataset. Unless they are published, dropping it removes every file and folder
/// that it made.
pub(crate) struct VersionFiles {
    pub(super) files: Files,
    /// The folder of the dataset, or the local folder of a version in a store.
    pub(super) dir: PathBuf,
    pub(super) number: u64,
    /// The id of the ingest, in hex.
    pub(super) id: String,
    /// What the names of data files have before their number: the part and the attempt, if this is a part of a version.
    pub(super) label: String,
    /// Held until the version is published or dropped.
    _lock: DatasetLock,
    /// Folders and data files, in the order in which the ingest made them.
    pub(super) made: Vec<Made>,
    has_record: bool,
    /// The number of scratch folders so far.
    scratches: usize,
    /// What became of the files in the folder. Those of a version in a store are only uploaded from there.
    pub(super) outcome: Outcome,
}

/// What an ingest made.
pub(super) enum Made {
    Folder(PathBuf),
    File(PathBuf),
}

impl VersionFiles {
    /// Returns the files of a version that has none yet. They will be in `dir`, which `lock` is of.
    pub(super) fn new(
        files: &Files,
        dir: PathBuf,
        (number, id): (u64, String),
        lock: DatasetLock,
        made: Vec<Made>,
    ) -> Self {
        Self {
            files: files.clone(),
            dir,
            number,
            id,
            label: String::new(),
            _lock: lock,
            made,
            has_record: false,
            scratches: 0,
            outcome: Outcome::Unpublished,
        }
    }

    /// Returns the folder in which the files are written.
    pub(crate) fn folder(&self) -> &Path {
        &self.dir
    }

    /// Returns whether a data file is one of this version, and not one that an earlier version has.
    pub(crate) fn has_written(&self, file: &DataFile) -> bool {
        writer_of(&file.path) == self.id
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
    pub(super) fn make_record(&mut self) -> Result<PathBuf, IngestError> {
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

    /// Makes the record, and returns when the file system says that this was.
    pub(super) fn time_of_record(&mut self) -> Result<SystemTime, IngestError> {
        let record = self.make_record()?;
        fs::metadata(&record).and_then(|metadata| metadata.modified()).at("read", &record)
    }

    pub(super) fn record(&self) -> PathBuf {
        self.dir.join(format!("{RECORD_PREFIX}{}", self.id))
    }

    /// Begins a data file of a table. Files of a table are numbered from 0.
    pub(crate) fn create(&mut self, table: Table, number: usize) -> Result<PendingFile, IngestError> {
        let name = self.name(table, &self.label, number);
        self.create_named(table.name(), name)
    }

    /// Begins a file with a name from the folder of the dataset, in one of its folders.
    pub(super) fn create_named(&mut self, folder: &str, name: String) -> Result<PendingFile, IngestError> {
        debug_assert_eq!(writer_of(&name), self.id, "an ingest knows its own files by their names");
        self.make_record()?;
        self.make_folder(folder)?;
        let path = self.dir.join(&name);
        // Noted first, because the file may exist even if creating it reports an error.
        self.made.push(Made::File(path.clone()));
        let file = self.files.create(&path).at("create", &path)?;
        PendingFile::begin(file, path, name)
    }

    /// Returns the name of a data file.
    pub(super) fn name(&self, table: Table, label: &str, number: usize) -> String {
        let extension = if table == Table::Insights { "ndjson" } else { "parquet" };
        format!("{}/{:08}-{label}{number:04}-{}.{extension}", table.name(), self.number, self.id)
    }

    /// Makes a folder in that of the dataset, unless it exists.
    pub(super) fn make_folder(&mut self, name: &str) -> Result<(), IngestError> {
        let folder = self.dir.join(name);
        if !folder.exists() {
            self.files.create_folder(&folder).at("make the folder", &folder)?;
            self.made.push(Made::Folder(folder));
        }
        Ok(())
    }

    /// Returns the names of the data files, as the manifest has them.
    pub(super) fn names(&self) -> Vec<String> {
        let files = self.made.iter().filter_map(|made| match made {
            Made::File(path) => path.strip_prefix(&self.dir).ok()?.to_str(),
            Made::Folder(_) => None,
        });
        // Below the folder of a dataset, names are ASCII, and Windows separates them in its own way.
        files.map(|name| name.replace('\\', "/")).collect()
    }

    /// Makes the names of all files durable.
    pub(super) fn sync(&self) -> Result<(), IngestError> {
        for folder in FOLDERS {
            let folder = self.dir.join(folder);
            if folder.is_dir() {
                self.files.sync_folder(&folder).at("sync", &folder)?;
            }
        }
        sync_parents(&self.files, &self.made)
    }

    /// Removes the data files. Returns false if a file may still exist.
    fn remove(&self) -> bool {
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

impl Drop for VersionFiles {
    /// Files that cannot be removed here are removed by the next ingest, because the record of this one stays with
    /// them.
    fn drop(&mut self) {
        let is_clean = match self.outcome {
            Outcome::Unpublished => self.remove(),
            Outcome::Published => true,
            Outcome::Indeterminate => false,
        };
        let is_clean = is_clean && (!self.has_record || remove_record(&self.files, &self.record()).is_ok());
        if is_clean && self.outcome == Outcome::Unpublished {
            remove_folders(&self.files, &self.made);
        }
    }
}

/// Removes the record of an ingest. Parts of the ingest that still run may write into it meanwhile.
pub(super) fn remove_record(files: &Files, record: &Path) -> io::Result<()> {
    for _ in 1..REMOVALS {
        match files.remove_folder_and_contents(record) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            removed => return removed,
        }
    }
    files.remove_folder_and_contents(record)
}

/// Makes the dataset's folder, readable for its owner alone, and the folders above it. Adds the new folders to `made`.
pub(super) fn make_dataset_folder(files: &Files, dir: &Path, made: &mut Vec<Made>) -> Result<(), IngestError> {
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
pub(super) fn sync_parents(files: &Files, made: &[Made]) -> Result<(), IngestError> {
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
pub(super) fn remove_folders(files: &Files, made: &[Made]) {
    for made in made.iter().rev() {
        if let Made::Folder(path) = made {
            drop(files.remove_folder(path));
        }
    }
}
