//! The manifest: what a version of a dataset consists of.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// The version of the layout that this crate writes and reads.
pub const SCHEMA_VERSION: u32 = 2;

/// The bytes of a checksum block; the last block of a file may be shorter.
pub(super) const BLOCK_BYTES: u64 = 1 << 16;

/// The most bytes of a manifest: enough for a dataset of four terabytes. Most of the bytes are block checksums.
pub(super) const MAX_BYTES: u64 = 1 << 29;

/// Returns bytes in lower-case hex, as manifests hold checksums.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A version of a dataset. Its files never change; a later version has a later manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// The version of the layout; see [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The number of the version, from 1.
    pub version: u64,
    /// The program that wrote the manifest, with its version.
    pub created_by: String,
    /// Event files. A row group holds whole customers, all of one [period](crate::model::QuarterSpan), sorted by
    /// account, start date of the customer, customer, and the customer's own order; a customer lies in one row group of
    /// one file.
    pub events: Vec<DataFile>,
    /// Spend files, sorted by calendar quarter, account and date.
    pub spend: Vec<DataFile>,
    /// Account files; at most one.
    pub accounts: Vec<DataFile>,
    /// Files of insight documents, one JSON object per line, sorted by account and date; at most one.
    pub insights: Vec<DataFile>,
    /// The batches that the version was made from, oldest first.
    pub batches: Vec<Batch>,
}

/// A file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataFile {
    /// The path below the dataset's folder: the table's folder, `/`, and a plain name.
    pub path: String,
    /// The length in bytes.
    pub size: u64,
    /// The number of rows, or of lines.
    pub rows: u64,
    /// The SHA-256 of the bytes, in lower-case hex.
    pub sha256: String,
    /// The checksums of the blocks; see [`BlockHasher`](super::BlockHasher).
    pub blocks: String,
}

/// The inputs of one ingest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Batch {
    /// The version that the ingest made.
    pub version: u64,
    /// For each table with new rows (`events`, `spend`, `accounts`, `insights`), where the rows came from.
    pub tables: BTreeMap<String, BatchTable>,
}

/// The rows that an ingest added to a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BatchTable {
    /// A checksum of all inputs, which does not depend on their order.
    pub checksum: String,
    /// The names of the inputs, without folders.
    pub inputs: Vec<String>,
    /// The number of rows ingested.
    pub rows: u64,
    /// The number of rows rejected.
    pub rejected: u64,
}

/// Why a manifest is rejected although it has the right checksum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestFault {
    /// A path does not lead to a file in its table's folder.
    #[error("expected the path of a file in `{table}/`, but found `{}`", path.escape_default())]
    Path {
        /// The table.
        table: &'static str,
        /// The path.
        path: String,
    },
    /// A file is named twice.
    #[error("the file `{path}` is named twice")]
    RepeatedFile {
        /// The path.
        path: String,
    },
    /// A table that has one file has several.
    #[error("expected at most one file of {table}, but found {found}")]
    TooManyFiles {
        /// The table.
        table: &'static str,
        /// The number of its files.
        found: usize,
    },
    /// A checksum has the wrong length, or is not in lower-case hex.
    #[error("a checksum of the file `{path}` is not one")]
    Checksum {
        /// The path.
        path: String,
    },
    /// The number of the version is 0, or so large that no other can follow.
    #[error("expected a version from 1 to {}, but found {found}", u64::MAX - 1)]
    Version {
        /// The number.
        found: u64,
    },
}

impl Manifest {
    /// Checks what the rest of the program relies on: each path leads to a file of the dataset and occurs once,
    /// accounts and insights have at most one file each, checksums are well formed, and another version can follow.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), ManifestFault> {
        if !(1..u64::MAX).contains(&self.version) {
            return Err(ManifestFault::Version { found: self.version });
        }
        let mut paths = HashSet::new();
        for (table, files) in self.tables() {
            if matches!(table, "accounts" | "insights") && files.len() > 1 {
                return Err(ManifestFault::TooManyFiles { table, found: files.len() });
            }
            for file in files {
                let name = file.path.strip_prefix(table).and_then(|rest| rest.strip_prefix('/'));
                if !name.is_some_and(is_plain_name) {
                    return Err(ManifestFault::Path { table, path: file.path.clone() });
                }
                if !paths.insert(&file.path) {
                    return Err(ManifestFault::RepeatedFile { path: file.path.clone() });
                }
                let blocks = file.size.div_ceil(BLOCK_BYTES).checked_mul(8);
                let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                if file.sha256.len() != 64
                    || blocks != Some(file.blocks.len() as u64)
                    || !is_hex(&file.sha256)
                    || !is_hex(&file.blocks)
                {
                    return Err(ManifestFault::Checksum { path: file.path.clone() });
                }
            }
        }
        Ok(())
    }

    /// Returns the files of each table, with the name of its folder.
    #[must_use]
    pub fn tables(&self) -> [(&'static str, &[DataFile]); 4] {
        [("events", &self.events), ("spend", &self.spend), ("accounts", &self.accounts), ("insights", &self.insights)]
    }
}

/// Returns whether a name means a file in its own folder on every file system: no separator, no `..`, not hidden.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.bytes().all(is_plain)
}
