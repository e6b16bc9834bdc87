//! What can go wrong, by whose fault.

use crate::dataset::store::StoreError;
use crate::execution::Interruption;
use crate::query::FilterFault;
use crate::{Day, NoRoom, Shown, model};
use std::path::PathBuf;

/// Why a query was not answered or a dataset not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The query is at fault.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A file of the dataset is at fault.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Rows handed in break a rule of the tables.
    #[error(transparent)]
    Table(#[from] model::TableFault),
    /// Tables that were found sound do not decode: trueup is at fault.
    #[error("tables that were found sound do not decode: column `{column}`: {fault}")]
    Unexpected {
        /// The column.
        column: String,
        /// What was found.
        fault: &'static str,
    },
    /// The query was ended before it was answered.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
    /// The budget of memory has no room for the query.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// No threads to work with.
    #[error("threads could not be started: {0}")]
    Threads(String),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Dataset(error.into())
    }
}

impl Error {
    /// Whether asking differently could help.
    #[must_use]
    pub const fn is_query(&self) -> bool {
        matches!(self, Self::Query(_))
    }
}

/// Why a query cannot be answered.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// No field was named.
    #[error("expected at least one field")]
    MissingFields,
    /// No field is a metric.
    #[error("expected at least one metric among the fields")]
    MissingMetric,
    /// A field has the name of a key that every answer keeps for itself.
    #[error("a field cannot be named `{name}`: answers carry the sub-range under that name")]
    ReservedField {
        /// `start` or `end`.
        name: String,
    },
    /// The range ends before it starts.
    #[error("the range ends on {end}, before it starts on {start}")]
    ReversedRange {
        /// The first day asked for.
        start: Day,
        /// The last day asked for.
        end: Day,
    },
    /// A single interval spans more than the attribution window.
    #[error(
        "requested range spans {days} days, exceeding the {limit}-day attribution window; \
         use the interval month, week or day, or shorten the range"
    )]
    SpanTooLong {
        /// Days in the range.
        days: u32,
        /// Days allowed.
        limit: u32,
    },
    /// A sum is larger than a whole number can hold.
    #[error("the sum of `{name}` is beyond the largest whole number that can be held")]
    Overflow {
        /// What was summed.
        name: &'static str,
    },
    /// The answer would have more rows than allowed, before conditions on metrics.
    #[error(
        "the answer would have more than {limit} rows; ask for fewer dimensions, a shorter range or longer intervals"
    )]
    TooManyRows {
        /// Rows allowed.
        limit: usize,
    },
    /// The filter is at fault.
    #[error("filter on `{}`: {fault}", Shown(.field))]
    Filter {
        /// The field of the condition.
        field: String,
        /// What is wrong with it.
        fault: FilterFault,
    },
}

/// Why files cannot be read as a dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The operating system refused.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// The folder holds no manifest, or not the one asked for.
    #[error("`{}` holds no dataset{}", path.display(), version.map(|v| format!(" of version {v}")).unwrap_or_default())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// The version asked for, if one was.
        version: Option<u64>,
    },
    /// A manifest is not to be read.
    #[error(transparent)]
    Manifest(#[from] StoreError),
    /// A file that the manifest names is not there.
    #[error("`{}` is missing, but the manifest names it", path.display())]
    MissingFile {
        /// The file.
        path: PathBuf,
    },
    /// What the manifest names is something other than a plain file in its folder.
    #[error("`{}` is {found}, but a dataset's file is a plain file in its folder, and no symbolic link leads to it", path.display())]
    NotPlain {
        /// The file.
        path: PathBuf,
        /// What was found in its place.
        found: &'static str,
    },
    /// A file is not as long as its manifest says, so it is not the one that was written.
    #[error("`{}` has {found} {unit}, but the manifest says {promised}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// What is counted: `bytes`, `rows` or `lines`.
        unit: &'static str,
        /// How many there are.
        found: u64,
        /// How many there should be.
        promised: u64,
    },
    /// A row of a file breaks a rule of its table.
    #[error("`{}`: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The rule, and what breaks it.
        source: model::TableFault,
    },
    /// Bytes of a file are not those that were written.
    #[error("`{}`: the bytes from {from} on are not those that were written; `verify` checks the whole dataset", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// Where the block begins that has changed.
        from: u64,
    },
    /// A line of an insights file is no document, or is out of place.
    #[error("`{}`, line {line}: {fault}", path.display())]
    Insight {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        fault: String,
    },
    /// A Parquet file does not decode.
    #[error("`{}`{}: {source}", path.display(), row_group.map(|rg| format!(", row group {rg}")).unwrap_or_default())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The row group, from 0, where it is known.
        row_group: Option<usize>,
        /// What the reader said.
        source: parquet::errors::ParquetError,
    },
    /// A file does not hold what its manifest and layout promise.
    #[error("`{}`{}, column `{column}`: {fault}", path.display(), row_group.map(|rg| format!(", row group {rg}")).unwrap_or_default())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The row group, from 0, where it is known.
        row_group: Option<usize>,
        /// The column.
        column: String,
        /// What was found instead.
        fault: &'static str,
    },
}
