//! The manifest: what a version of a dataset consists of.

use super::block_checksums::BlockSums;
use super::commit::Commit;
use super::deletion_vector::DeletionVector;
use crate::model::{Accounts, Zone, tzdata_release};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;
use trueup_store::BLOCK_BYTES;

pub use super::seal::checksum;
pub use crate::text::hex;

/// The version of the layout that this crate writes and reads.
pub const SCHEMA_VERSION: u32 = 7;

/// The folder of the [`FileLists`].
pub const LISTS_FOLDER: &str = "lists";

/// The folder of the definitions of metrics and dimensions.
pub const DEFINITIONS_FOLDER: &str = "definitions";

/// The folder of the mapping that later ingests use.
pub const MAPPING_FOLDER: &str = "mapping";

/// The folder of the lists of [forgotten customers](super::ForgottenCustomers).
pub const FORGOTTEN_FOLDER: &str = "forgotten";

/// The folder of the lists of [batches](super::Batch).
pub const BATCHES_FOLDER: &str = "batches";

/// The folder of the files of deletion vectors.
pub const VECTORS_FOLDER: &str = "vectors";

/// The most bytes of a manifest.
pub(crate) const MAX_BYTES: u64 = 1 << 29;

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
    /// When and by what the version was made.
    pub commit: Commit,
    /// The earlier versions that expire once this one is published; `None` unless a purge made this version, or its
    /// writer could not complete the purge of the version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<Purge>,
    /// The release of the IANA time zone database, such as `2026f`, by which the days of events were computed that came
    /// with a `dateTime` alone.
    pub tzdata: String,
    /// Where the entries of the files of events and spend are written.
    pub lists: FileLists,
    /// Event files, in the order of their lists. A row group holds whole customers, all of one
    /// [period](crate::model::QuarterSpan), sorted by account, start date of the customer, customer, and the customer's
    /// own order; a customer lies in one row group of one file.
    #[serde(skip)]
    pub events: Vec<DataFile>,
    /// Spend files, in the order of their lists; each is sorted by calendar quarter, account and date.
    #[serde(skip)]
    pub spend: Vec<DataFile>,
    /// Account files; at most one.
    pub accounts: Vec<DataFile>,
    /// Files of insight documents, one JSON object per line, sorted by account and date; at most one.
    pub insights: Vec<DataFile>,
    /// Files of targets; at most one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<DataFile>,
    /// The metrics and dimensions that users define, in TOML; `None` if nothing is defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions: Option<DataFile>,
    /// The mapping of the last ingest that was given one, in TOML; `None` if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping: Option<DataFile>,
    /// The customers whose events later ingests leave out; `None` if nobody was forgotten. Every later version has this
    /// list or a longer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<DataFile>,
    /// Files of deletion vectors, the oldest first: which rows of events and spend were superseded after their files
    /// were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deletion_vectors: Vec<DataFile>,
    /// The superseded rows of each file that has some, by its path, as all [`deletion_vectors`](Self::deletion_vectors)
    /// together name them.
    #[serde(skip)]
    pub superseded: BTreeMap<String, Arc<DeletionVector>>,
    /// The lists of the batches that the version was made from, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<DataFile>,
}

/// A release of the time zone database that is not the one of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherTzdata {
    /// An older one.
    Older(String),
    /// A newer one.
    Newer(String),
}

impl fmt::Display for OtherTzdata {
    /// Writes what this means for the days of a dataset.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = tzdata_release();
        match self {
            Self::Older(stored) => write!(
                f,
                "days of events were computed by tzdata {stored}, and this trueup has {own}; the next ingest that changes the \
                 dataset computes them again"
            ),
            Self::Newer(stored) => {
                write!(f, "days of events were computed by tzdata {stored}, and this trueup has {own}, which is older")
            }
        }
    }
}

/// The earlier versions that a purge lets expire once its own version is published. Whoever writes to the dataset next
/// completes the purge if it was stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Purge {
    /// The versions that expire. Some of them, or all, may have expired before.
    pub versions: BTreeSet<u64>,
    /// How long the files of these versions stay after they have expired.
    pub grace_seconds: u64,
}

/// The files that hold the entries of the files of events and spend, so that a manifest stays small, and an ingest
/// writes only the entries that change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileLists {
    /// The lists of event files.
    pub events: Vec<FileList>,
    /// The lists of spend files.
    pub spend: Vec<FileList>,
}

/// A list of files, which several versions may share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileList {
    /// The file of the list. It has a row for each file that it lists.
    pub file: DataFile,
    /// The numbers, from 0 and ascending, of listed files that the version does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<u64>,
}

/// A file of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataFile {
    /// The path below the dataset's folder: the table's folder, [`LISTS_FOLDER`] for a list of files,
    /// [`BATCHES_FOLDER`] for one of batches, [`VECTORS_FOLDER`] for deletion vectors, [`DEFINITIONS_FOLDER`] for
    /// definitions, [`MAPPING_FOLDER`] for a mapping, or [`FORGOTTEN_FOLDER`] for forgotten customers, then `/` and a
    /// plain name.
    pub path: String,
    /// The length in bytes.
    pub size: u64,
    /// The number of rows, of lines, or of what is listed or defined.
    pub rows: u64,
    /// The BLAKE3 of the bytes, in lower-case hex.
    pub blake3: String,
    /// The checksums of the blocks; see [`BlockHasher`](super::BlockHasher).
    pub blocks: BlockSums,
    /// The names of the columns, of a file of events or spend. Consecutive files of a list that have the same columns
    /// share the memory of the names.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub columns: Arc<[String]>,
    /// The row groups of a file of events or spend.
    #[serde(default, skip_serializing_if = "<[RowGroupEntry]>::is_empty")]
    pub row_groups: Arc<[RowGroupEntry]>,
}

/// What a query needs to know of a row group before it reads the file. The file's footer must say the same when it is
/// read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RowGroupEntry {
    /// The number of rows.
    pub rows: u64,
    /// A lower and an upper bound of the account keys, in the order of bytes; `None` if unknown. Long keys may be cut
    /// in statistics, so that a bound need not be the key of an account.
    pub accounts: Option<(Arc<str>, Arc<str>)>,
    /// A lower and an upper bound of the days, counted from 1970-01-01; `None` if unknown.
    pub days: Option<(i32, i32)>,
}

/// Why a manifest is rejected although it has the right checksum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestFault {
    /// A path does not lead to a file in the folder of its table or, for a file of no table, of its kind.
    #[error("expected the path of a file in `{table}/`, but found `{}`", path.escape_default())]
    Path {
        /// The folder: the name of a table, or of another folder of a dataset.
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
    /// A table that has at most one file has several.
    #[error("expected at most one file of {table}, but found {found}")]
    TooManyFiles {
        /// The table.
        table: &'static str,
        /// The number of its files.
        found: usize,
    },
    /// A checksum has the wrong length, or is not in lower-case hex.
    #[error("a checksum of the file `{path}` has the wrong length, or is not in lower-case hex")]
    Checksum {
        /// The path.
        path: String,
    },
    /// The lists of a table's files have another number of files than the version.
    #[error("the lists name {listed} files of {table}, but the version has {found}")]
    Listed {
        /// The table.
        table: &'static str,
        /// The number of files that are listed and not removed.
        listed: u64,
        /// The number of files that the version has.
        found: usize,
    },
    /// What is removed from a list is not in it, or not in ascending order.
    #[error("what is removed from the list `{path}` is not in it, or not in ascending order")]
    Removed {
        /// The path of the list.
        path: String,
    },
    /// The row groups of a file have another number of rows than the file.
    #[error("the row groups of the file `{path}` do not have as many rows as the file")]
    RowGroups {
        /// The path.
        path: String,
    },
    /// The superseded rows of a file are not rows of the file, or what is said of the rows left is impossible.
    #[error("the deletion vector of the file `{path}` does not fit the file")]
    DeletionVector {
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
    /// Returns the manifest of a version without files.
    #[must_use]
    pub fn new(version: u64, created_by: &str, commit: Commit) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            version,
            created_by: created_by.to_owned(),
            commit,
            purge: None,
            tzdata: tzdata_release().to_owned(),
            lists: FileLists::default(),
            events: Vec::new(),
            spend: Vec::new(),
            accounts: Vec::new(),
            insights: Vec::new(),
            targets: Vec::new(),
            definitions: None,
            mapping: None,
            forgotten: None,
            deletion_vectors: Vec::new(),
            superseded: BTreeMap::new(),
            batches: Vec::new(),
        }
    }

    /// Returns whether the files of two manifests say the same. Then so do the lists and deletion vectors, whose
    /// checksums they hold.
    pub(super) fn has_same_contents(&self, other: &Self) -> bool {
        let Self {
            schema_version,
            version,
            created_by,
            commit,
            purge,
            tzdata,
            lists,
            events: _,
            spend: _,
            accounts,
            insights,
            targets,
            definitions,
            mapping,
            forgotten,
            deletion_vectors,
            superseded: _,
            batches,
        } = self;
        (schema_version, version, created_by, commit, purge)
            == (&other.schema_version, &other.version, &other.created_by, &other.commit, &other.purge)
            && (tzdata, lists, accounts, insights) == (&other.tzdata, &other.lists, &other.accounts, &other.insights)
            && (targets, definitions) == (&other.targets, &other.definitions)
            && (mapping, forgotten) == (&other.mapping, &other.forgotten)
            && (deletion_vectors, batches) == (&other.deletion_vectors, &other.batches)
    }

    /// Checks what the rest of the program relies on: each path leads to a file of the dataset and occurs once,
    /// accounts, insights and targets have at most one file each, checksums are well formed, lists and row groups add
    /// up, deletion vectors fit their files, and another version can follow.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), ManifestFault> {
        self.check_files()?;
        for (table, lists, files) in self.listed_tables() {
            let listed = lists.iter().fold(0, |sum: u64, list| sum.saturating_add(list.files()));
            if listed != files.len() as u64 {
                return Err(ManifestFault::Listed { table, listed, found: files.len() });
            }
            for file in files {
                let rows = file.row_groups.iter().fold(0, |sum: u64, row_group| sum.saturating_add(row_group.rows));
                if rows != file.rows {
                    return Err(ManifestFault::RowGroups { path: file.path.clone() });
                }
                if self.superseded.get(&file.path).is_some_and(|vector| !vector.fits(file)) {
                    return Err(ManifestFault::DeletionVector { path: file.path.clone() });
                }
            }
        }
        Ok(())
    }

    /// Returns the other release of the time zone database by which days of events were computed. `None` if they were
    /// computed by the release of this program, or if there are no events or no accounts outside of UTC.
    #[must_use]
    pub fn other_tzdata(&self, accounts: &Accounts) -> Option<OtherTzdata> {
        let depends = !self.events.is_empty() && accounts.iter().any(|account| account.time_zone != Zone::UTC);
        match self.tzdata.as_str().cmp(tzdata_release()) {
            _ if !depends => None,
            Ordering::Equal => None,
            Ordering::Less => Some(OtherTzdata::Older(self.tzdata.clone())),
            Ordering::Greater => Some(OtherTzdata::Newer(self.tzdata.clone())),
        }
    }

    /// Checks the number of the version, and the paths and checksums of all files, before any of them is read.
    pub(super) fn check_files(&self) -> Result<(), ManifestFault> {
        if !(1..u64::MAX).contains(&self.version) {
            return Err(ManifestFault::Version { found: self.version });
        }
        let mut paths = HashSet::new();
        for (table, files) in self.tables() {
            if matches!(table, "accounts" | "insights" | "targets") && files.len() > 1 {
                return Err(ManifestFault::TooManyFiles { table, found: files.len() });
            }
            for file in files {
                file.check(table)?;
                if !paths.insert(&file.path) {
                    return Err(ManifestFault::RepeatedFile { path: file.path.clone() });
                }
            }
        }
        if let Some(file) = &self.definitions {
            file.check(DEFINITIONS_FOLDER)?;
        }
        if let Some(file) = &self.mapping {
            file.check(MAPPING_FOLDER)?;
        }
        if let Some(file) = &self.forgotten {
            file.check(FORGOTTEN_FOLDER)?;
        }
        for (folder, files) in [(VECTORS_FOLDER, &self.deletion_vectors), (BATCHES_FOLDER, &self.batches)] {
            for file in files {
                file.check(folder)?;
                if !paths.insert(&file.path) {
                    return Err(ManifestFault::RepeatedFile { path: file.path.clone() });
                }
            }
        }
        for list in self.lists.events.iter().chain(&self.lists.spend) {
            list.file.check(LISTS_FOLDER)?;
            if !paths.insert(&list.file.path) {
                return Err(ManifestFault::RepeatedFile { path: list.file.path.clone() });
            }
            let is_ascending = list.removed.is_sorted_by(|one, next| one < next);
            if !is_ascending || list.removed.last().is_some_and(|last| *last >= list.file.rows) {
                return Err(ManifestFault::Removed { path: list.file.path.clone() });
            }
        }
        Ok(())
    }

    /// Returns the tables whose files are listed, each with its lists and its files.
    fn listed_tables(&self) -> [(&'static str, &[FileList], &[DataFile]); 2] {
        [("events", &self.lists.events, &self.events), ("spend", &self.lists.spend, &self.spend)]
    }

    /// Returns all files of the version: those of the tables, the definitions, the mapping, the forgotten customers,
    /// the lists of files, the deletion vectors, and the lists of batches.
    pub fn files(&self) -> impl Iterator<Item = &DataFile> {
        let lists = self.lists.events.iter().chain(&self.lists.spend).map(|list| &list.file);
        let others = self.definitions.iter().chain(&self.mapping).chain(&self.forgotten).chain(lists);
        let others = others.chain(&self.deletion_vectors).chain(&self.batches);
        self.tables().into_iter().flat_map(|(_, files)| files).chain(others)
    }

    /// Returns the files of each table, with the name of its folder.
    #[must_use]
    pub fn tables(&self) -> [(&'static str, &[DataFile]); 5] {
        [
            ("events", &self.events),
            ("spend", &self.spend),
            ("accounts", &self.accounts),
            ("insights", &self.insights),
            ("targets", &self.targets),
        ]
    }
}

impl FileList {
    /// Returns the number of listed files that the version has.
    #[must_use]
    pub const fn files(&self) -> u64 {
        self.file.rows.saturating_sub(self.removed.len() as u64)
    }

    /// Returns `listed`, which has one item for each listed file, without the items of removed files.
    pub(super) fn without_removed<T>(&self, listed: Vec<T>) -> impl Iterator<Item = T> {
        let mut removed = self.removed.iter().copied().peekable();
        let numbered = (0_u64..).zip(listed);
        numbered.filter(move |(number, _)| removed.next_if_eq(number).is_none()).map(|(_, item)| item)
    }
}

impl DataFile {
    /// Checks that the path leads to a file in `folder`, and that the checksums are well formed.
    fn check(&self, folder: &'static str) -> Result<(), ManifestFault> {
        let name = self.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        if !name.is_some_and(is_plain_name) {
            return Err(ManifestFault::Path { table: folder, path: self.path.clone() });
        }
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let has_each_block = self.blocks.len() == self.size.div_ceil(BLOCK_BYTES);
        if self.blake3.len() == 64 && is_hex(&self.blake3) && has_each_block {
            return Ok(());
        }
        Err(ManifestFault::Checksum { path: self.path.clone() })
    }
}

/// Returns whether a name means a file in its own folder on every file system: it is short, is not hidden, and consists
/// of ASCII letters, digits, `-`, `_` and `.`.
pub(super) fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.bytes().all(is_plain)
}
