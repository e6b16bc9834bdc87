//! The identity of a version of a dataset.

use super::manifest::{DEFINITIONS_FOLDER, Manifest, checksum, hex};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The identity of a version of a dataset. Two open datasets with the same identity have the same rows in the same row
/// groups, and the same definitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DatasetId {
    /// The number of the version; 0 in memory.
    pub(crate) version: u64,
    /// A checksum of the tables, paths and checksums of the version's files, except for its lists. In memory, a random
    /// number.
    files: String,
}

impl DatasetId {
    /// Returns the identity of the version that a manifest describes.
    pub(super) fn of_manifest(manifest: &Manifest) -> Self {
        let mut digest = blake3::Hasher::new();
        for (table, files) in manifest.tables() {
            for file in files {
                digest.update(format!("{table} {} {}\n", file.path, file.blake3).as_bytes());
            }
        }
        for file in &manifest.deletion_vectors {
            digest.update(format!("vectors {} {}\n", file.path, file.blake3).as_bytes());
        }
        if let Some(file) = manifest.named(DEFINITIONS_FOLDER) {
            digest.update(format!("definitions {} {}\n", file.path, file.blake3).as_bytes());
        }
        Self { version: manifest.version, files: hex(digest.finalize().as_bytes()) }
    }

    /// Returns the identity of the same version with other definitions, given as text.
    pub(super) fn with_definitions(self, text: &str) -> Self {
        Self { files: checksum(format!("{} {text}", self.files)), ..self }
    }

    /// Returns an identity that no other dataset has.
    pub(super) fn in_memory() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        Self { version: 0, files: format!("{:016x}{:016x}", random(), random()) }
    }
}

impl fmt::Display for DatasetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            0 => write!(f, "tables in memory ({})", self.short()),
            version => write!(f, "version {version} of a dataset ({})", self.short()),
        }
    }
}

impl DatasetId {
    /// Returns the first digits of the checksum, which distinguish datasets with the same version number.
    fn short(&self) -> &str {
        self.files.get(..8).unwrap_or(&self.files)
    }
}
