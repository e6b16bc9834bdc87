//! The errors of queries and datasets, by what is at fault.

use crate::dataset::store::StoreError;
use crate::interrupt::Interruption;
use crate::query::FilterFault;
use crate::{Day, NoRoom, Shown, model};
use std::path::PathBuf;

/// Why a query was not answered or a dataset was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The query is at fault.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A file of the dataset is at fault.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Rows of tables in memory break a rule.
    #[error(transparent)]
    Table(#[from] model::TableFault),
    /// Valid tables do not decode, which is a bug in trueup.
    #[error("tables that were found sound do not decode: column `{column}`: {fault}")]
    Unexpected {
        /// The column.
        column: String,
        /// What the column holds instead.
        fault: &'static str,
    },
    /// The query was interrupted before it was answered.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
    /// The memory budget has no room for the query.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// Threads could not be started.
    #[error("threads could not be started: {0}")]
    Threads(String),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Dataset(error.into())
    }
}

impl Error {
    /// Returns whether the query is at fault, so that another query could succeed.
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
    /// A field has the name of a key that every answer uses itself.
    #[error("a field cannot be named `{name}`: answers carry the sub-range under that name")]
    ReservedField {
        /// `start` or `end`.
        name: String,
    },
    /// The range ends before it starts.
    #[error("the range ends on {end}, before it starts on {start}")]
    ReversedRange {
        /// The first day of the range.
        start: Day,
        /// The last day of the range.
        end: Day,
    },
    /// A single interval spans more than the attribution window.
    #[error(
        "requested range spans {days} days, exceeding the {limit}-day attribution window; \
         use the interval month, week or day, or shorten the range"
    )]
    SpanTooLong {
        /// The days of the range.
        days: u32,
        /// The most days allowed.
        limit: u32,
    },
    /// A sum does not fit into the largest whole number.
    #[error("the sum of `{name}` is beyond the largest whole number that can be held")]
    Overflow {
        /// The name of the sum.
        name: &'static str,
    },
    /// The answer would have more rows than allowed, before conditions on metrics.
    #[error(
        "the answer would have more than {limit} rows; ask for fewer dimensions, a shorter range or longer intervals"
    )]
    TooManyRows {
        /// The most rows allowed.
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

/// Why a dataset cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The operating system reported an error.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The folder holds no manifest, or not the manifest of the requested version.
    #[error("`{}` holds no dataset{}", path.display(), version.map(|v| format!(" of version {v}")).unwrap_or_default())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// The requested version, if any.
        version: Option<u64>,
    },
    /// A manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] StoreError),
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
        /// What is counted: `bytes`, `rows` or `lines`.
        unit: &'static str,
        /// The number found.
        found: u64,
        /// The number in the manifest.
        promised: u64,
    },
    /// A row of a file breaks a rule of its table.
    #[error("`{}`: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The rule and what breaks it.
        source: model::TableFault,
    },
    /// The bytes of a file are not those that were written.
    #[error("`{}`: the bytes from {from} on are not those that were written; `verify` checks the whole dataset", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The position of the changed checksum block.
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
    /// A Parquet file cannot be decoded.
    #[error("`{}`{}: {source}", path.display(), row_group.map(|rg| format!(", row group {rg}")).unwrap_or_default())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The row group, from 0, if it is known.
        row_group: Option<usize>,
        /// The error of the reader.
        source: parquet::errors::ParquetError,
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
        /// What was found instead.
        fault: &'static str,
    },
}
