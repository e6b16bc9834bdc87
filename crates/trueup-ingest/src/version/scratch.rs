//! Folders for files that are needed only during an ingest.

use crate::IngestError;
use crate::error::ErrorContext;
use std::path::{Path, PathBuf};
use trueup_core::files::Files;

/// A folder for files that are needed only during the ingest: rows that do not fit in memory, inputs that are no files,
/// copies of stored files of an object store, and the texts of insights that are compressed or in another encoding.
/// Dropping it removes the folder.
pub(crate) struct Scratch {
    files: Files,
    path: PathBuf,
}

impl Scratch {
    /// Takes over a folder that exists.
    pub(super) fn new(files: Files, path: PathBuf) -> Self {
        Self { files, path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file operations of the ingest.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// Makes a folder in this one.
    pub(crate) fn below(&self, name: &str) -> Result<Self, IngestError> {
        let path = self.path.join(name);
        self.files.create_private_folder(&path).at("make the folder", &path)?;
        Ok(Self { files: self.files.clone(), path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Files that stay are removed with the record of the ingest.
        drop(self.files.remove_folder_and_contents(&self.path));
    }
}
