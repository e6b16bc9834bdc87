//! A dataset from its folder.

use super::file::{TableFile, open_file};
use super::manifest::{CUSTOMER_COLUMN, DataFile, Manifest};
use super::{Dataset, Part, Source, store};
use crate::error::{DatasetError, Error};
use crate::model::{self, Accounts};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

impl Dataset {
    /// Opens the newest state of the dataset in a folder.
    ///
    /// # Errors
    /// The folder holds no dataset, or a file of it does not read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let manifest = store::read_latest(folder)?
            .ok_or_else(|| DatasetError::Missing { path: folder.to_owned(), version: None })?;
        Self::from_manifest(folder, manifest)
    }

    /// Opens an earlier state of the dataset in a folder, by the number of its manifest.
    ///
    /// # Errors
    /// The folder holds no such state, or a file of it does not read.
    pub fn open_version(folder: impl AsRef<Path>, version: u64) -> Result<Self, Error> {
        let manifest = store::read(folder.as_ref(), version)?;
        Self::from_manifest(folder.as_ref(), manifest)
    }

    fn from_manifest(folder: &Path, manifest: Manifest) -> Result<Self, Error> {
        let events = open_files(folder, &manifest.events)?;
        let spend = open_files(folder, &manifest.spend)?;
        let mut batches = Vec::new();
        for file in &manifest.accounts {
            batches.extend(read_plain(&folder.join(&file.path))?);
        }
        let schemas = events.iter().flat_map(|file| file.columns());
        let required = [CUSTOMER_COLUMN, "account", "type", "date", "dateTime", "total"];
        let columns: BTreeSet<String> = schemas.filter(|name| !required.contains(name)).map(str::to_owned).collect();
        Ok(Self {
            accounts: Accounts::from_batches(&batches)?,
            columns,
            events: events.iter().flat_map(parts).collect(),
            spend: spend.iter().flat_map(parts).collect(),
            manifest: Some(manifest),
        })
    }
}

fn open_files(folder: &Path, files: &[DataFile]) -> Result<Vec<Arc<TableFile>>, DatasetError> {
    files.par_iter().map(|file| TableFile::open(&folder.join(&file.path)).map(Arc::new)).collect()
}

fn parts<T>(file: &Arc<TableFile>) -> Vec<Part<T>> {
    let part = |row_group| Part {
        rows: file.rows(row_group),
        bounds: file.bounds(row_group),
        source: Source::RowGroup(file.clone(), row_group),
    };
    (0..file.row_groups()).map(part).collect()
}

/// All rows of a Parquet file, as its own schema says.
pub(super) fn read_plain(path: &Path) -> Result<Vec<arrow_array::RecordBatch>, DatasetError> {
    let failed = |source| DatasetError::Parquet { path: path.to_owned(), row_group: None, source };
    let reader = ParquetRecordBatchReaderBuilder::try_new(open_file(path)?).and_then(|builder| builder.build());
    reader.map_err(failed)?.collect::<Result<_, _>>().map_err(|error| failed(ParquetError::from(error)))
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Table(model::TableFault::from(error))
    }
}
