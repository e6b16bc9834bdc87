//! The manifest: what a version of a dataset consists of.

use super::block_checksums::BlockSums;
use super::commit::Commit;
use super::deletion_vector::DeletionVector;
use crate::model::{Accounts, Zone, tzdata_release};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use trueup_store::BLOCK_BYTES;

pub use super::seal::checksum;
pub use crate::text::hex;

/// The version of the layout that this crate writes and reads.
pub const SCHEMA_VERSION: u32 = 8;

/// The table of accounts, and the folder of its file.
pub const ACCOUNTS: &str = "accounts";

/// The table of insight documents, one JSON object per line, sorted by account and date; and the folder of its file.
pub const INSIGHTS: &str = "insights";

/// The table of targets, and the folder of its file.
pub const TARGETS: &str = "targets";

/// The folder of the [`FileLists`].
pub const LISTS_FOLDER: &str = "lists";

/// The folder of the metrics and dimensions that users define, in TOML.
pub const DEFINITIONS_FOLDER: &str = "definitions";

/// The folder of the mapping of the last ingest that was given one, which later ingests use, in TOML.
pub const MAPPING_FOLDER: &str = "mapping";

/// The folder of the lists of [forgotten customers](super::ForgottenCustomers), whose events later ingests leave out.
/// Every later version has the same list or a longer one.
pub const FORGOTTEN_FOLDER: &str = "forgotten";

/// The folder of the lists of [batches](super::Batch).
pub const BATCHES_FOLDER: &str = "batches";

/// The folder of the files of deletion vectors.
pub const VECTORS_FOLDER: &str = "vectors";

/// The folders of a dataset.
pub const FOLDERS: [&str; 11] = [
    "events",
    "spend",
    ACCOUNTS,
    INSIGHTS,
    TARGETS,
    DEFINITIONS_FOLDER,
    MAPPING_FOLDER,
    FORGOTTEN_FOLDER,
    LISTS_FOLDER,
    VECTORS_FOLDER,
    BATCHES_FOLDER,
];

/// The folders of which a version has at most one file each, among [`FOLDERS`].
const NAMED: Range<usize> = 2..8;

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
    /// The files of which there is at most one each, by the name of their folder: those of [`ACCOUNTS`], [`INSIGHTS`]
    /// and [`TARGETS`], and those of definitions, of a mapping and of forgotten customers.
    pub named: BTreeMap<String, DataFile>,
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
    /// A later program has named a file that this program does not know.
    #[error("this program does not know the file of `{}`", name.escape_default())]
    UnknownFile {
        /// Its name.
        name: String,
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
            named: BTreeMap::new(),
            deletion_vectors: Vec::new(),
            superseded: BTreeMap::new(),
            batches: Vec::new(),
        }
    }

    /// Returns whether the files of two manifests say the same. Then so do the lists and deletion vectors, whose
    /// checksums they hold.
    pub(super) fn has_same_contents(&self, other: &Self) -> bool {
        let json = |manifest: &Self| serde_json::to_vec(manifest).ok();
        json(self).is_some_and(|own| Some(own) == json(other))
    }

    /// Checks what the rest of the program relies on: each path leads to a file of the dataset and occurs once,
    /// the names of named files are known, checksums are well formed, lists and row groups add up, deletion vectors fit
    /// their files, and another version can follow.
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
        for (name, file) in &self.named {
            let Some(folder) = FOLDERS[NAMED].iter().copied().find(|known| *known == name) else {
                return Err(ManifestFault::UnknownFile { name: name.clone() });
            };
            file.check(folder)?;
        }
        let several = [
            ("events", &self.events),
            ("spend", &self.spend),
            (VECTORS_FOLDER, &self.deletion_vectors),
            (BATCHES_FOLDER, &self.batches),
        ];
        for (folder, files) in several {
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

    /// Returns all files of the version: those of events and spend, the named ones, the lists of files, the deletion
    /// vectors, and the lists of batches.
    pub fn files(&self) -> impl Iterator<Item = &DataFile> {
        let lists = self.lists.events.iter().chain(&self.lists.spend).map(|list| &list.file);
        let others = lists.chain(&self.deletion_vectors).chain(&self.batches);
        self.events.iter().chain(&self.spend).chain(self.named.values()).chain(others)
    }

    /// Returns the file of a name, such as [`ACCOUNTS`] or [`DEFINITIONS_FOLDER`]; `None` if there is none.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&DataFile> {
        self.named.get(name)
    }

    /// Names a file by its folder, in place of the file that had this name.
    pub fn set_named(&mut self, file: DataFile) {
        let folder = file.path.split('/').next().unwrap_or_default();
        self.named.insert(folder.to_owned(), file);
    }

    /// Returns the files of each table, with the name of its folder.
    #[must_use]
    pub fn tables(&self) -> [(&'static str, &[DataFile]); 5] {
        let named = |table: &'static str| (table, self.named(table).map_or(&[][..], std::slice::from_ref));
        [("events", &self.events), ("spend", &self.spend), named(ACCOUNTS), named(INSIGHTS), named(TARGETS)]
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
