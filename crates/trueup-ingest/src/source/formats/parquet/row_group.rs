//! One row group of a Parquet file: the bytes of its file, the memory that its rows take, which is measured before they
//! are read, and the rows.

use crate::buffered_chunks::BufferedChunks;
use crate::error::FileFault;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Fields, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use trueup_core::dataset::{CheckedFile, DatasetError, PositionedReader};
use trueup_parquet::{Pages, catch_panics, measure_chunk};

/// The bytes of an open Parquet file, which many threads read at the same time.
#[derive(Clone)]
pub(crate) enum ParquetBytes {
    /// A file that is being ingested.
    Input { file: Arc<File>, length: u64 },
    /// A file of the dataset, whose checksums are verified as it is read.
    Stored(CheckedFile),
    /// Column chunks of such a file, which were read together.
    Held(BufferedChunks),
}

impl ParquetBytes {
    pub(crate) fn input(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self::Input { file: Arc::new(file), length })
    }

    /// Reads column chunks of a stored file, each given by its position and length, if they take at most `limit` bytes.
    /// Returns the same file; its other bytes are read when they are needed.
    pub(super) fn hold(&self, chunks: &[(u64, u64)], limit: u64) -> std::result::Result<Self, DatasetError> {
        match self {
            Self::Stored(file)
                if chunks.iter().fold(0_u64, |sum, (_, length)| sum.saturating_add(*length)) <= limit =>
            {
                Ok(Self::Held(BufferedChunks::read(file.clone(), chunks.iter().copied())?))
            }
            bytes => Ok(bytes.clone()),
        }
    }
}

impl Length for ParquetBytes {
    fn len(&self) -> u64 {
        match self {
            Self::Input { length, .. } => *length,
            Self::Stored(file) => file.len(),
            Self::Held(chunks) => chunks.len(),
        }
    }
}

impl ChunkReader for ParquetBytes {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match self {
            Self::Input { file, .. } => Box::new(BufReader::new(PositionedReader { file: file.clone(), at: start })),
            Self::Stored(file) => Box::new(file.get_read(start)?),
            Self::Held(chunks) => Box::new(chunks.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match self {
            Self::Input { file, length: all } => {
                if start.checked_add(length as u64).is_none_or(|end| end > *all) {
                    return Err(ParquetError::EOF(format!(
                        "{length} bytes from {start} on are more than the file has"
                    )));
                }
                let mut bytes = vec![0; length];
                PositionedReader { file: file.clone(), at: start }.read_exact(&mut bytes)?;
                Ok(bytes.into())
            }
            Self::Stored(file) => file.get_bytes(start, length),
            Self::Held(chunks) => chunks.get_bytes(start, length),
        }
    }
}

/// A row group that is not read yet.
#[derive(Clone)]
pub(super) struct InputRowGroup {
    pub(super) bytes: ParquetBytes,
    pub(super) metadata: Arc<ParquetMetaData>,
    /// The types that columns are read as.
    pub(super) fields: Fields,
    /// The columns that are read, and their positions in the file.
    pub(super) schema: SchemaRef,
    pub(super) columns: Arc<[usize]>,
    /// The row group's number, counted from 0.
    pub(super) number: usize,
    /// The most bytes of memory that its pages and a row may take; beyond it, nothing is read.
    pub(super) max_bytes: usize,
}

/// The memory that reading a row group takes, in bytes.
#[derive(Clone, Copy)]
pub(super) struct RowGroupMemory {
    /// Memory that is held while rows are read.
    pub(super) held: usize,
    /// The most memory of a row.
    pub(super) row: usize,
}

impl InputRowGroup {
    pub(super) fn metadata(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.number)
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.metadata().num_rows()).unwrap_or(0)
    }

    /// Returns the columns that are read.
    pub(super) fn mask(&self) -> ProjectionMask {
        ProjectionMask::roots(self.metadata.file_metadata().schema_descr(), self.columns.iter().copied())
    }

    /// Returns whether a leaf belongs to a column that is read.
    fn reads(&self, leaf: usize) -> bool {
        self.columns.contains(&self.metadata.file_metadata().schema_descr().get_column_root_idx(leaf))
    }

    /// Returns rows with the fields of [`InputRowGroup::schema`].
    pub(super) fn with_schema(&self, batch: &RecordBatch) -> Result<RecordBatch, FileFault> {
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), batch.columns().to_vec(), &rows)
            .map_err(|error| self.fault(error.into()))
    }

    /// Returns the number of rows in the row groups before this one.
    pub(super) fn rows_before(&self) -> u64 {
        let before = &self.metadata.row_groups()[..self.number];
        before.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    /// Reads the columns of a stored file together, if they take at most `limit` bytes, so that no block of the file is
    /// read and verified more than once.
    pub(super) fn hold(&mut self, limit: u64) -> Result<(), FileFault> {
        let chunks = self.metadata().columns().iter().enumerate().filter(|(leaf, _)| self.reads(*leaf));
        let chunks: Vec<(u64, u64)> = chunks.map(|(_, chunk)| chunk.byte_range()).collect();
        let held = self.bytes.hold(&chunks, limit);
        self.bytes = held.map_err(|error| self.fault(ParquetError::External(Box::new(error))))?;
        Ok(())
    }

    /// Measures the memory that the rows take, and checks that there are as many rows as the footer says.
    pub(super) fn measure(&self) -> Result<RowGroupMemory, FileFault> {
        let measured = catch_panics(|| {
            let chunks = self.metadata().columns().par_iter().enumerate().filter(|(leaf, _)| self.reads(*leaf));
            let columns = chunks.map(|(_, chunk)| {
                let size = measure_chunk(self.bytes.clone(), chunk, self.max_bytes)?;
                let column = chunk.column_descr();
                if column.max_rep_level() == 0 && size.values != self.rows() {
                    let (values, rows, column) = (size.values, self.rows(), column.path().string());
                    let fault = format!("column `{column}`: {values} rows, but the footer says {rows}");
                    return Err(ParquetError::General(fault));
                }
                Ok(size)
            });
            columns.collect::<Result<Vec<_>>>()
        });
        let columns = measured.map_err(|error| self.fault(error))?;
        let held = columns.iter().fold(0_usize, |sum, column| sum.saturating_add(column.held));
        let row = columns.iter().fold(0_usize, |sum, column| sum.saturating_add(column.row));
        if held.saturating_add(row) > self.max_bytes {
            let (row_group, most) = (self.number, self.max_bytes);
            return Err(FileFault::TooLarge { row_group, held, row, most });
        }
        Ok(RowGroupMemory { held, row })
    }

    /// Begins to read some columns, at most `rows` rows per batch.
    pub(super) fn reader(&self, columns: ProjectionMask, rows: usize) -> Result<ParquetRecordBatchReader, FileFault> {
        let open = || {
            let schema = self.metadata.file_metadata().schema_descr();
            let levels = parquet_to_arrow_field_levels(schema, columns, Some(&self.fields))?;
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, self, rows, None)
        };
        catch_panics(open).map_err(|error| self.fault(error))
    }

    /// Returns the fault of a row group that cannot be read. The fault names the damaged column, if one is found.
    pub(super) fn fault(&self, error: ParquetError) -> FileFault {
        let message = error.to_string();
        let source: Box<dyn std::error::Error + Send + Sync> = match self.damaged_column() {
            Some(column) if !message.contains("column `") => format!("column `{column}`: {message}").into(),
            _ => Box::new(error),
        };
        FileFault::DamagedGroup { row_group: self.number, source }
    }

    /// Returns the first column that cannot be read even alone.
    fn damaged_column(&self) -> Option<String> {
        /// Rows per batch. Small, because the memory of a damaged column is unknown.
        const ROWS: usize = 64;

        let schema = self.metadata.file_metadata().schema_descr();
        let damaged = schema.columns().iter().enumerate().filter(|(leaf, _)| self.reads(*leaf)).find(|(leaf, _)| {
            let read = || {
                let mask = ProjectionMask::leaves(schema, [*leaf]);
                let levels = parquet_to_arrow_field_levels(schema, mask, Some(&self.fields))?;
                ParquetRecordBatchReader::try_new_with_row_groups(&levels, self, ROWS, None)?
                    .try_for_each(|batch| batch.map(drop))?;
                Ok(())
            };
            catch_panics(read).is_err()
        });
        damaged.map(|(_, column)| column.path().string())
    }
}

impl RowGroups for InputRowGroup {
    fn num_rows(&self) -> usize {
        usize::try_from(self.rows()).unwrap_or(usize::MAX)
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>> {
        let pages = Pages::new(self.bytes.clone(), self.metadata().column(leaf), self.max_bytes);
        Ok(Box::new(ChunkPages(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of a column chunk; `None` once they are taken.
struct ChunkPages(Option<Pages<ParquetBytes>>);

impl Iterator for ChunkPages {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for ChunkPages {}

/// A row group too large to be decoded as a whole. Threads read its columns in parallel, batch by batch.
pub(super) struct LargeRowGroup {
    schema: SchemaRef,
    column_sets: Vec<ColumnSet>,
    /// Rows read so far.
    pub(super) rows: usize,
}

/// The columns that one thread reads.
struct ColumnSet {
    columns: Vec<usize>,
    reader: ParquetRecordBatchReader,
}

impl LargeRowGroup {
    /// Divides the columns into one set per thread. `open` begins to read the columns of a set.
    pub(super) fn open(
        row_group: &InputRowGroup,
        open: impl Fn(ProjectionMask) -> Result<ParquetRecordBatchReader, FileFault>,
    ) -> Result<Self, FileFault> {
        let sets = divide_columns(row_group, rayon::current_num_threads());
        let sets = sets.into_iter().map(|columns| {
            let schema = row_group.metadata.file_metadata().schema_descr();
            let mask = ProjectionMask::roots(schema, columns.iter().copied());
            Ok(ColumnSet { reader: open(mask)?, columns })
        });
        let column_sets = sets.collect::<Result<_, FileFault>>()?;
        Ok(Self { schema: row_group.schema.clone(), column_sets, rows: 0 })
    }

    /// Returns the next rows, or `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let read = self.column_sets.par_iter_mut().map(|set| set.reader.next().transpose());
        let read: Vec<Option<RecordBatch>> = read.collect::<Result<_, _>>()?;
        if read.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut columns: Vec<(usize, ArrayRef)> = Vec::with_capacity(self.schema.fields().len());
        for (set, batch) in self.column_sets.iter().zip(&read) {
            // If a set ends before the others, its columns are missing, and `try_new` below refuses the batch.
            let arrays = batch.iter().flat_map(RecordBatch::columns).cloned();
            columns.extend(set.columns.iter().copied().zip(arrays));
        }
        columns.sort_by_key(|(column, _)| *column);
        let columns = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns)?;
        self.rows += batch.num_rows();
        Ok(Some(batch))
    }
}

/// Divides the columns into at most `count` sets of similar size. Each set is in file order.
fn divide_columns(row_group: &InputRowGroup, count: usize) -> Vec<Vec<usize>> {
    let mut sizes = vec![0_i64; row_group.fields.len()];
    let schema = row_group.metadata.file_metadata().schema_descr();
    for (leaf, chunk) in row_group.metadata().columns().iter().enumerate() {
        sizes[schema.get_column_root_idx(leaf)] += chunk.uncompressed_size().max(1);
    }
    let read = row_group.columns.iter().map(|column| (*column, sizes[*column]));
    let mut largest_first: Vec<(usize, i64)> = read.collect();
    largest_first.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let mut sets: Vec<(i64, Vec<usize>)> = vec![(0, Vec::new()); count.clamp(1, largest_first.len().max(1))];
    for (column, size) in largest_first {
        if let Some((bytes, columns)) = sets.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            *bytes += size;
            columns.push(column);
        }
    }
    let in_order = |(_, mut columns): (i64, Vec<usize>)| {
        columns.sort_unstable();
        columns
    };
    sets.into_iter().map(in_order).collect()
}
