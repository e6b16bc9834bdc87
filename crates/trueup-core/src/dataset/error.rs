//! Why a dataset, or its manifest, cannot be read or published.

use super::as_of::{AsOf, version_ranges};
use super::commit::CommitTime;
use super::manifest::{MAX_BYTES, ManifestFault, SCHEMA_VERSION};
use crate::definitions::DefinitionError;
use crate::error::Error;
use crate::model::TableFault;
use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};
use trueup_store::{Interruption, is_url};

/// Why a dataset cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The operating system or the object store reported an error.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system, or of the store.
        source: io::Error,
    },
    /// The folder holds no manifest.
    #[error("`{}` holds no dataset", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
    },
    /// The dataset does not have the version that is asked for.
    #[error(
        "`{}` holds no dataset of version {version}{}", path.display(),
        if versions.is_empty() { String::new() } else { format!(", but of {}", version_ranges(versions)) }
    )]
    NoVersion {
        /// The folder.
        path: PathBuf,
        /// The version that is asked for.
        version: u64,
        /// The versions that exist; empty if a web server does not list them.
        versions: Vec<u64>,
    },
    /// The version that is asked for has expired.
    #[error(
        "version {version} of `{}` has expired{}", path.display(),
        if versions.is_empty() { String::new() } else { format!("; the dataset has {}", version_ranges(versions)) }
    )]
    ExpiredVersion {
        /// The folder.
        path: PathBuf,
        /// The version that is asked for.
        version: u64,
        /// The versions that exist; empty if a web server does not list them.
        versions: Vec<u64>,
    },
    /// The dataset has no version that is as old as the time that is asked for.
    #[error(
        "`{}` holds no dataset as of {time}; its first version, {first}, was committed at {committed}", path.display()
    )]
    NoneAsOf {
        /// The folder.
        path: PathBuf,
        /// The time that is asked for.
        time: AsOf,
        /// The first version that exists.
        first: u64,
        /// When it was committed.
        committed: CommitTime,
    },
    /// The version of the time that is asked for may be among the removed ones.
    #[error(
        "`{}` may not have the version of {time} any more, because those between {before} and {after} were removed; ask for a version \
         by its number", path.display()
    )]
    RemovedAsOf {
        /// The folder.
        path: PathBuf,
        /// The time that is asked for.
        time: AsOf,
        /// The last version that was committed at this time or before.
        before: u64,
        /// The first version after it.
        after: u64,
    },
    /// The path of the dataset is that of a file.
    #[error("`{}` is a file, not the folder of a dataset; `trueup ingest FILE --into FOLDER` makes one", .0.display())]
    NotFolder(PathBuf),
    /// A manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The definitions of metrics and dimensions break a rule.
    #[error("`{}`: {source}; `trueup define` replaces the definitions", path.display())]
    Definitions {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: DefinitionError,
    },
    /// A file that the manifest names is missing.
    #[error("`{}` is missing, but the manifest names it", path.display())]
    MissingFile {
        /// The file.
        path: PathBuf,
    },
    /// A name in the manifest does not lead to a plain file in its folder.
    #[error("`{}` is {found}, but a dataset's file is a plain file in its folder, and no symbolic link leads to it", path.display())]
    NotPlain {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        found: &'static str,
    },
    /// The length of a file is not that of the manifest, so that it is not the file that was written.
    #[error("`{}` has {found} {unit}, but the manifest says {promised}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// What is counted: `bytes`, `rows`, `lines`, `batches` or `checksums of blocks`.
        unit: &'static str,
        /// The number found.
        found: u64,
        /// The number in the manifest.
        promised: u64,
    },
    /// The columns or a row of a file break a rule of its table.
    #[error("`{}`: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The rule and what breaks it.
        source: TableFault,
    },
    /// The bytes of a file differ from what was written.
    #[error("`{}`: the bytes from {from} on differ from what was written; `trueup verify` checks the whole dataset", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The position in bytes of the first block that has changed.
        from: u64,
    },
    /// A line of an insights file is not a document, or is out of order.
    #[error("`{}`, line {line}: {fault}", path.display())]
    Insight {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        fault: String,
    },
    /// A line of a list of batches is no batch, or is out of order.
    #[error("`{}`, line {line}: {fault}", path.display())]
    Batch {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        fault: String,
    },
    /// A Parquet file cannot be decoded.
    #[error("`{}`{}: {source}", path.display(), row_group.map(|rg| format!(", row group {rg}")).unwrap_or_default())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The row group, from 0, if it is known.
        row_group: Option<usize>,
        /// The error of the reader.
        source: ParquetError,
    },
    /// A column of a file does not hold what the layout promises.
    #[error("`{}`{}, column `{column}`: {fault}", path.display(), row_group.map(|rg| format!(", row group {rg}")).unwrap_or_default())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The row group, from 0, if it is known.
        row_group: Option<usize>,
        /// The column.
        column: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The footer of a file says something other than the manifest, so that one of them is not what was written.
    #[error(
        "`{}`{}: the {what} in the manifest are not those of the file",
        path.display(), row_group.map(|rg| format!(", row group {rg}")).unwrap_or_default()
    )]
    Disagreement {
        /// The file.
        path: PathBuf,
        /// The row group, from 0, that differs; `None` if the difference is in the file as a whole.
        row_group: Option<usize>,
        /// What differs: `columns`, `row groups`, `rows`, `accounts`, `days` or `days that are left`.
        what: &'static str,
    },
    /// The folder of the block cache cannot be used.
    #[cfg(feature = "object-store")]
    #[error(transparent)]
    BlockCache(#[from] trueup_store::BlockCacheError),
    /// The reading was interrupted: a wait for bytes of an object store, or the reading of several footers.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
}

impl DatasetError {
    /// Returns what makes an error of Parquet's reader one of a file or of one of its row groups.
    pub(super) fn parquet(path: &Path, row_group: Option<usize>) -> impl FnOnce(ParquetError) -> Self {
        move |source| Self::Parquet { path: path.to_owned(), row_group, source }
    }
}

impl From<DatasetError> for Error {
    fn from(error: DatasetError) -> Self {
        match error {
            DatasetError::Interrupted(interruption) => Self::Interrupted(interruption),
            error => Self::Dataset(error),
        }
    }
}

impl From<DatasetError> for ManifestError {
    fn from(error: DatasetError) -> Self {
        match error {
            DatasetError::Manifest(error) => error,
            error => Self::File(Box::new(error)),
        }
    }
}

/// Why a manifest cannot be found, read or published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The file system or the object store reported an error.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried: `list`, `read`, `write`, `create`, `sync` or `remove`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the file system, or of the store.
        source: io::Error,
    },
    /// The file is not a manifest.
    #[error("`{}` is no manifest of a dataset: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with its JSON.
        source: serde_json::Error,
    },
    /// A list of files or a file of deletion vectors cannot be read.
    #[error(transparent)]
    File(Box<DatasetError>),
    /// The bytes of the manifest differ from what was written.
    #[error("`{}` is damaged: its bytes do not have the checksum at its end; restore it from a copy", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
    },
    /// The bytes of a record of expired files differ from what was written.
    #[error(
        "`{}` is damaged: its bytes do not have the checksum at its end; restore it from a copy, or remove it: what it lists, files \
         of expired versions, may then stay for ever",
        path.display()
    )]
    DamagedRecord {
        /// The file.
        path: PathBuf,
    },
    /// The manifest says something that no version of trueup writes.
    #[error("`{}` is no manifest of a dataset: {fault}", path.display())]
    Fault {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: ManifestFault,
    },
    /// The file is not a plain file, but for example a symbolic link or a folder.
    #[error("`{}` is {found}, and a manifest is a plain file", path.display())]
    NotPlain {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The file is too large to be a manifest.
    #[error("`{}` is no manifest of a dataset: it has {found} bytes, and a manifest has at most {MAX_BYTES}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
    },
    /// The manifest of a new version would be too large for any reader, so that it is not published.
    #[error(
        "`{}` would have {size} bytes, and a manifest has at most {limit}; nothing was published. `trueup compact --all` makes \
         fewer files, and fewer files make a smaller manifest",
        path.display()
    )]
    Oversized {
        /// The file.
        path: PathBuf,
        /// The size that it would have, in bytes.
        size: u64,
        /// The most bytes.
        limit: u64,
    },
    /// The manifest has another layout than the one that this program reads.
    #[error(
        "`{}` has layout {found}, and this program reads layout {SCHEMA_VERSION}; {}",
        path.display(),
        if *found > SCHEMA_VERSION { "use a later version of trueup" } else { "ingest the original files into a new dataset" }
    )]
    UnknownLayout {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: u32,
    },
    /// The number in the manifest differs from the number in its file name.
    #[error("`{}` says that it is version {found}", path.display())]
    WrongNumber {
        /// The file.
        path: PathBuf,
        /// The number inside.
        found: u64,
    },
    /// The version has expired. A tombstone has the name of its manifest.
    #[error("version {version} has expired: `{}` is its tombstone", path.display())]
    Expired {
        /// The file.
        path: PathBuf,
        /// The number.
        version: u64,
    },
    /// Another writer has taken the number.
    #[error(
        "another writer published version {version} of `{}` first; \
         try again, or pass `--wait 5m`, with which the command begins again by itself",
        dir.display()
    )]
    Conflict {
        /// The dataset's folder.
        dir: PathBuf,
        /// The number.
        version: u64,
    },
    /// The version is published, and readers see it, but it may not survive a power failure.
    #[error(
        "version {version} is published, durability unknown: cannot sync `{}`: {source}; \
         check the disk, then run `trueup verify`",
        dir.display()
    )]
    Unsynced {
        /// The dataset's folder.
        dir: PathBuf,
        /// The number.
        version: u64,
        /// The error of the file system.
        source: io::Error,
    },
    /// The file system or the store reported an error, and whether the version was published cannot be found out.
    #[error(
        "it is unknown whether version {version} is published: cannot create `{}`: {source}; \
         check the {}, then run `trueup verify`",
        path.display(), if is_url(path) { "store" } else { "disk" }
    )]
    Indeterminate {
        /// The manifest.
        path: PathBuf,
        /// The number.
        version: u64,
        /// The error of the file system or of the store.
        source: io::Error,
    },
}

impl ManifestError {
    /// Returns whether readers may see the version, so that its files must not be removed.
    #[must_use]
    pub const fn may_be_published(&self) -> bool {
        matches!(self, Self::Unsynced { .. } | Self::Indeterminate { .. })
    }
}
