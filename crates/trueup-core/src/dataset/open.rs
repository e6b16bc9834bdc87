//! Opening a dataset from its folder.

use super::checked_file::CheckedFile;
use super::column_cache::ColumnCache;
use super::error::DatasetError;
use super::footer::{catch_panics, check_chunk_ranges};
use super::insights::InsightFile;
use super::manifest::{DataFile, Manifest};
use super::store::{self, StoreError};
use super::table_file::TableFile;
use super::{Dataset, RowGroup};
use crate::error::Error;
use crate::model::Accounts;
use crate::scan::TableColumns;
use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::ChunkReader;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The most bytes of decoded columns that are held, unless [`Dataset::with_column_budget`] says otherwise.
const COLUMN_BUDGET: usize = 1 << 30;

impl Dataset {
    /// Opens the newest version of the dataset in a folder.
    ///
    /// The length of every file, and the number of rows in its footer, must be those of the manifest. Footers and
    /// columns are compared with the manifest's checksums each time that they are read, so that no answer comes from
    /// bytes that have changed, before the dataset was opened or later. Only [`Verification`](super::Verification)
    /// reads everything.
    ///
    /// # Errors
    /// The folder holds no dataset, or one of its files cannot be read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        Self::from_manifest(folder, manifest(folder, None)?)
    }

    /// Opens a version of the dataset in a folder by its number.
    ///
    /// # Errors
    /// The folder does not hold the version, or one of its files cannot be read.
    pub fn open_version(folder: impl AsRef<Path>, version: u64) -> Result<Self, Error> {
        let folder = folder.as_ref();
        Self::from_manifest(folder, manifest(folder, Some(version))?)
    }

    fn from_manifest(folder: &Path, manifest: Manifest) -> Result<Self, Error> {
        let events = open_files(folder, &manifest.events)?;
        let spend = open_files(folder, &manifest.spend)?;
        let mut accounts = Accounts::default();
        for file in &manifest.accounts {
            accounts.merge(read_accounts(folder, file)?);
        }
        let insights =
            manifest.insights.iter().map(|file| InsightFile::open(folder, file)).collect::<Result<_, _>>()?;
        let cache = Arc::new(ColumnCache::new(COLUMN_BUDGET));
        let event_row_groups = row_groups(&events, &cache, 0);
        let spend_row_groups = row_groups(&spend, &cache, event_row_groups.len());
        let columns: BTreeSet<String> = events.iter().flat_map(|file| file.texts()).map(str::to_owned).collect();
        Ok(Self {
            accounts,
            columns,
            events: event_row_groups,
            spend: spend_row_groups,
            insights,
            cache,
            manifest: Some(manifest),
        })
    }
}

/// Reads the newest manifest of a folder, or the manifest of a version.
pub(super) fn manifest(folder: &Path, version: Option<u64>) -> Result<Manifest, DatasetError> {
    let missing = || DatasetError::Missing { path: folder.to_owned(), version };
    let Some(version) = version else { return store::read_latest(folder)?.ok_or_else(missing) };
    store::read(folder, version).map_err(|error| match error {
        StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => missing(),
        error => error.into(),
    })
}

fn open_files(folder: &Path, files: &[DataFile]) -> Result<Vec<Arc<TableFile>>, DatasetError> {
    files.par_iter().map(|file| TableFile::open(folder, file).map(Arc::new)).collect()
}

/// Returns the row groups of a table's files. Their keys in the cache begin with `first_key`.
fn row_groups<T: TableColumns>(
    files: &[Arc<TableFile>],
    cache: &Arc<ColumnCache>,
    first_key: usize,
) -> Vec<RowGroup<T>> {
    let mut row_groups = Vec::new();
    for file in files {
        row_groups.extend(RowGroup::of_file(file, cache, first_key + row_groups.len()));
    }
    row_groups
}

/// Reads the accounts file of a dataset, whose number of rows must be that of the manifest.
///
/// # Errors
/// The file cannot be read, or a row breaks a rule.
pub fn read_accounts(folder: &Path, file: &DataFile) -> Result<Accounts, DatasetError> {
    let checked = CheckedFile::open(folder, file)?;
    let path = checked.path().to_owned();
    let batches = read_plain(&path, checked.whole()?)?;
    let found = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    if found != file.rows {
        return Err(DatasetError::Length { path, unit: "rows", found, promised: file.rows });
    }
    Accounts::from_batches(&batches).map_err(|source| DatasetError::Table { path, source })
}

/// Reads all rows of a Parquet file, whatever its schema.
pub(super) fn read_plain(path: &Path, file: impl ChunkReader + 'static) -> Result<Vec<RecordBatch>, DatasetError> {
    let failed = |source| DatasetError::Parquet { path: path.to_owned(), row_group: None, source };
    let length = file.len();
    let read = || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
        check_chunk_ranges(builder.metadata(), length)?;
        Ok(builder.build()?.collect::<Result<_, _>>()?)
    };
    catch_panics(read).map_err(failed)
}
