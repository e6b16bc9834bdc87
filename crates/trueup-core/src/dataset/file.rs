//! One Parquet file of a dataset.

use super::Bounds;
use super::blocks::Blocks;
use super::manifest::{CUSTOMER_COLUMN, DataFile};
use super::reader::reading;
use crate::error::DatasetError;
use crate::scan::ColumnFault;
use arrow_array::RecordBatch;
use arrow_array::RecordBatchReader;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file and its footer; texts are read as dictionaries.
#[derive(Debug)]
pub(super) struct TableFile {
    path: PathBuf,
    blocks: Blocks,
    metadata: ArrowReaderMetadata,
    /// Of each row group.
    rows: Vec<u64>,
}

impl TableFile {
    /// Reads the footer of a file, which must be as long, and count as many rows, as the manifest says.
    pub(super) fn open(folder: &Path, promised: &DataFile) -> Result<Self, DatasetError> {
        let path = folder.join(&promised.path);
        let file = open_sized(folder, promised)?;
        let blocks = Blocks::new(&path, promised)?;
        blocks.check_footer(&file)?;
        let damaged = |source| DatasetError::Parquet { path: path.clone(), row_group: None, source };
        let metadata = reading(|| footer(&file)).map_err(damaged)?;
        let rows = row_counts(&metadata).map_err(damaged)?;
        let found = rows.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
        if found != promised.rows {
            return Err(DatasetError::Length { path, unit: "rows", found, promised: promised.rows });
        }
        Ok(Self { path, blocks, metadata, rows })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn row_groups(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn rows(&self, row_group: usize) -> u64 {
        self.rows[row_group]
    }

    /// The names of an event file's text columns beyond the account and the stage.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let others = [CUSTOMER_COLUMN, "account", "type", "date", "dateTime", "total"];
        let names = self.metadata.schema().fields().iter().map(|field| field.name().as_str());
        names.filter(move |name| !others.contains(name))
    }

    /// What the statistics of a row group say.
    pub(super) fn bounds(&self, row_group: usize) -> Bounds {
        let mut bounds = Bounds::default();
        for column in self.metadata.metadata().row_group(row_group).columns() {
            match (column.column_path().string().as_str(), column.statistics()) {
                ("account", Some(Statistics::ByteArray(texts))) => {
                    let ends = texts.min_opt().zip(texts.max_opt());
                    bounds.accounts = ends.map(|(first, last)| (first.data().to_vec(), last.data().to_vec()));
                }
                ("date", Some(Statistics::Int32(days))) => {
                    bounds.days = days.min_opt().copied().zip(days.max_opt().copied());
                }
                _ => {}
            }
        }
        bounds
    }

    /// The bytes that the named columns of a row group take.
    pub(super) fn column_bytes(&self, row_group: usize, columns: &[&str]) -> u64 {
        let chunks = self.metadata.metadata().row_group(row_group).columns().iter();
        let named = chunks.filter(|chunk| columns.contains(&chunk.column_path().string().as_str()));
        named.map(|chunk| chunk.byte_range().1).sum()
    }

    /// The named columns of a row group; names that the file does not have are left out.
    pub(super) fn read(&self, row_group: usize, columns: &[&str]) -> Result<RecordBatch, DatasetError> {
        let file = open_file(&self.path)?;
        for chunk in self.metadata.metadata().row_group(row_group).columns() {
            if columns.contains(&chunk.column_path().string().as_str()) {
                let (start, length) = chunk.byte_range();
                self.blocks.check(&file, start..start.saturating_add(length))?;
            }
        }
        reading(|| self.decode(file, row_group, columns)).map_err(|source| DatasetError::Parquet {
            path: self.path.clone(),
            row_group: Some(row_group),
            source,
        })
    }

    fn decode(&self, file: File, row_group: usize, columns: &[&str]) -> Result<RecordBatch, ParquetError> {
        let rows = usize::try_from(self.rows(row_group)).map_err(|_| general("too many rows".to_owned()))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let schema = builder.parquet_schema();
        let wanted = (0..schema.num_columns()).filter(|leaf| columns.contains(&schema.column(*leaf).name()));
        let mask = ProjectionMask::leaves(schema, wanted.collect::<Vec<_>>());
        let reader =
            builder.with_row_groups(vec![row_group]).with_projection(mask).with_batch_size(rows.max(1)).build()?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        let batch = match <[RecordBatch; 1]>::try_from(batches) {
            Ok([batch]) => batch,
            Err(batches) => concat_batches(&schema, &batches)?,
        };
        if batch.num_rows() != rows {
            return Err(general(format!("{} rows, but the footer says {rows}", batch.num_rows())));
        }
        Ok(batch)
    }

    /// The error that a column of a row group is not what the layout promises.
    pub(super) fn damaged(&self, row_group: usize, fault: ColumnFault) -> DatasetError {
        let ColumnFault { column, fault } = fault;
        DatasetError::Damaged { path: self.path.clone(), row_group: Some(row_group), column, fault }
    }
}

/// Opens a file of a dataset all of which is about to be read: every byte must be as it was written.
pub(super) fn open_whole(folder: &Path, promised: &DataFile) -> Result<File, DatasetError> {
    let file = open_sized(folder, promised)?;
    Blocks::new(&folder.join(&promised.path), promised)?.check(&file, 0..promised.size)?;
    Ok(file)
}

/// Opens a file of a dataset, which must be as long as the manifest says.
pub(super) fn open_sized(folder: &Path, promised: &DataFile) -> Result<File, DatasetError> {
    let path = folder.join(&promised.path);
    let file = open_file(&path).map_err(|error| match error {
        DatasetError::Io { path, source } if source.kind() == io::ErrorKind::NotFound => {
            DatasetError::MissingFile { path }
        }
        error => error,
    })?;
    match file.metadata().map(|metadata| metadata.len()) {
        Ok(found) if found == promised.size => Ok(file),
        Ok(found) => Err(DatasetError::Length { path, unit: "bytes", found, promised: promised.size }),
        Err(source) => Err(DatasetError::Io { path, source }),
    }
}

pub(super) fn open_file(path: &Path) -> Result<File, DatasetError> {
    File::open(path).map_err(|source| DatasetError::Io { path: path.to_owned(), source })
}

/// The footer of a file, which has texts read as dictionaries.
fn footer(file: &File) -> Result<ArrowReaderMetadata, ParquetError> {
    let plain = ArrowReaderMetadata::load(file, ArrowReaderOptions::new())?;
    let fields: Vec<_> = plain.schema().fields().iter().map(|field| as_dictionary(field)).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(plain.metadata().clone(), options)
}

/// The rows of each row group, as the footer counts them.
fn row_counts(metadata: &ArrowReaderMetadata) -> Result<Vec<u64>, ParquetError> {
    let count = |rows: i64| u64::try_from(rows).map_err(|_| general(format!("a row group has {rows} rows")));
    metadata.metadata().row_groups().iter().map(|row_group| count(row_group.num_rows())).collect()
}

fn general(message: String) -> ParquetError {
    ParquetError::General(message)
}

fn as_dictionary(field: &Field) -> Field {
    match field.data_type() {
        DataType::Utf8 => {
            let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            field.clone().with_data_type(dictionary)
        }
        _ => field.clone(),
    }
}
