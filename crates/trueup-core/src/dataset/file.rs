//! One Parquet file of a dataset.

use super::Bounds;
use super::blocks::BLOCK;
use super::checked::CheckedFile;
use super::file_slice::FileSlice;
use super::manifest::DataFile;
use super::pages::{Pages, check_footer};
use super::reader::{check_ranges, reading};
use crate::error::DatasetError;
use crate::model::CUSTOMER_COLUMN;
use crate::scan::{ColumnChunk, ColumnFault, ColumnSource};
use arrow_schema::Schema;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::column::page::Page;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FooterTail, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file and its footer.
#[derive(Debug)]
pub(super) struct TableFile {
    folder: PathBuf,
    promised: DataFile,
    path: PathBuf,
    metadata: ParquetMetaData,
    schema: Schema,
    /// Of each row group.
    rows: Vec<u64>,
}

impl TableFile {
    /// Reads the footer of a file, which must be as long, and count as many rows, as the manifest says.
    pub(super) fn open(folder: &Path, promised: &DataFile) -> Result<Self, DatasetError> {
        let file = CheckedFile::open(folder, promised)?;
        let path = file.path().to_owned();
        let footer = file.read_footer()?;
        let damaged = |source| DatasetError::Parquet { path: path.clone(), row_group: None, source };
        let (metadata, schema) = reading(|| decode_footer(&footer)).map_err(damaged)?;
        let rows = row_counts(&metadata).map_err(damaged)?;
        let found = rows.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
        if found != promised.rows {
            return Err(DatasetError::Length { path, unit: "rows", found, promised: promised.rows });
        }
        let (folder, promised) = (folder.to_owned(), promised.clone());
        Ok(Self { folder, promised, path, metadata, schema, rows })
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
        let names = self.schema.fields().iter().map(|field| field.name().as_str());
        names.filter(move |name| !others.contains(name))
    }

    /// What the statistics of a row group say.
    pub(super) fn bounds(&self, row_group: usize) -> Bounds {
        let mut bounds = Bounds::default();
        for column in self.metadata.row_group(row_group).columns() {
            match (column.column_descr().name(), column.statistics()) {
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
        self.chunks(row_group, columns).map(|(_, chunk)| range(chunk)).map(|bytes| bytes.end - bytes.start).sum()
    }

    /// The named columns of a row group; names that the file does not have are left out.
    pub(super) fn read(&self, row_group: usize, columns: &[&str]) -> Result<ColumnSource<'_>, DatasetError> {
        let file = CheckedFile::open(&self.folder, &self.promised)?;
        let mut chunks: Vec<_> = self.chunks(row_group, columns).collect();
        chunks.sort_unstable_by_key(|(_, chunk)| range(chunk).start);
        let mut stored = Vec::with_capacity(chunks.len());
        // Chunks that share a block, or whose blocks follow each other, are read together.
        for near in chunks.chunk_by(|(_, one), (_, next)| range(next).start / BLOCK <= range(one).end.div_ceil(BLOCK)) {
            let (Some((_, first)), Some(end)) = (near.first(), near.iter().map(|(_, chunk)| range(chunk).end).max())
            else {
                continue;
            };
            let window = Arc::new(file.read(&(range(first).start..end))?);
            for (leaf, chunk) in near {
                let pages = reading(|| self.pages(row_group, chunk, &window)).map_err(|source| {
                    DatasetError::Parquet { path: self.path.clone(), row_group: Some(row_group), source }
                })?;
                stored.push(ColumnChunk {
                    column: chunk.column_descr(),
                    data_type: self.schema.field(*leaf).data_type(),
                    pages,
                });
            }
        }
        Ok(ColumnSource::Chunks(stored))
    }

    /// The column chunks of that name in a row group, with their places.
    fn chunks(&self, row_group: usize, columns: &[&str]) -> impl Iterator<Item = (usize, &ColumnChunkMetaData)> {
        let chunks = self.metadata.row_group(row_group).columns().iter().enumerate();
        chunks.filter(|(_, chunk)| columns.contains(&chunk.column_descr().name()))
    }

    /// The pages of a column chunk.
    fn pages(
        &self,
        row_group: usize,
        chunk: &ColumnChunkMetaData,
        window: &Arc<FileSlice>,
    ) -> Result<Vec<Page>, ParquetError> {
        // The pages are held together, and the footer says how large they are.
        let limit = usize::try_from(chunk.uncompressed_size()).unwrap_or(0);
        let pages = Pages::new((**window).clone(), chunk, limit).collect::<Result<Vec<_>, _>>()?;
        let data = pages.iter().filter(|page| page.is_data_page());
        let found: u64 = data.map(|page| u64::from(page.num_values())).sum();
        if found != self.rows(row_group) {
            let column = chunk.column_descr().name();
            let rows = self.rows(row_group);
            return Err(general(format!("{found} rows in column `{column}`, but the footer says {rows}")));
        }
        Ok(pages)
    }

    /// The error that a column of a row group is not what the layout promises.
    pub(super) fn damaged(&self, row_group: usize, fault: ColumnFault) -> DatasetError {
        let ColumnFault { column, fault } = fault;
        DatasetError::Damaged { path: self.path.clone(), row_group: Some(row_group), column, fault }
    }
}

/// What a footer says, and the types of the columns, all of which are flat. Of the statistics only those that become [`Bounds`] are read:
/// they are most of a footer.
fn decode_footer(file: &FileSlice) -> Result<(ParquetMetaData, Schema), ParquetError> {
    let tail = file.len().saturating_sub(8);
    let length = FooterTail::try_from(&*file.get_bytes(tail, 8)?)?.metadata_length();
    let footer = file.get_bytes(tail.saturating_sub(length as u64), length)?;
    check_footer(&footer)?;
    let columns = ParquetMetaDataReader::decode_schema(&footer)?;
    let bounded: Vec<usize> =
        (0..columns.num_columns()).filter(|leaf| BOUNDED.contains(&columns.column(*leaf).name())).collect();
    let options = ParquetMetaDataOptions::new()
        .with_schema(columns.clone())
        .with_column_stats_policy(ParquetStatisticsPolicy::skip_except(&bounded))
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let metadata = ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options))?;
    let schema = parquet_to_arrow_schema(&columns, metadata.file_metadata().key_value_metadata())?;
    if schema.fields().len() != columns.num_columns() {
        return Err(general("a column is not flat".to_owned()));
    }
    check_ranges(&metadata, file.len())?;
    Ok((metadata, schema))
}

/// The columns whose statistics are read.
const BOUNDED: [&str; 2] = ["account", "date"];

/// The rows of each row group, as the footer counts them.
fn row_counts(metadata: &ParquetMetaData) -> Result<Vec<u64>, ParquetError> {
    let count = |rows: i64| u64::try_from(rows).map_err(|_| general(format!("a row group has {rows} rows")));
    metadata.row_groups().iter().map(|row_group| count(row_group.num_rows())).collect()
}

/// Where a column chunk is, which [`check_ranges`] has found in the file.
fn range(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let (start, length) = chunk.byte_range();
    start..start.saturating_add(length)
}

fn general(message: String) -> ParquetError {
    ParquetError::General(message)
}
