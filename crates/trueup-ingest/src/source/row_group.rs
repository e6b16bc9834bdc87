//! A row group of a Parquet file: the memory that it takes, found before it is read, and its rows.

use super::parquet_bytes::ParquetBytes;
use crate::error::InputFault;
use arrow_schema::Fields;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use rayon::prelude::*;
use std::sync::Arc;
use trueup_core::dataset::{Pages, catch_panics, measure_chunk};

/// What a row group is read from. Nothing of it is read that takes more memory than `most`.
#[derive(Clone)]
pub(super) struct InputRowGroup {
    pub(super) bytes: ParquetBytes,
    pub(super) metadata: Arc<ParquetMetaData>,
    /// The types that columns are read as.
    pub(super) fields: Fields,
    pub(super) number: usize,
    /// Bytes of memory.
    pub(super) most: usize,
}

/// The memory that a row group takes, in bytes.
#[derive(Clone, Copy)]
pub(super) struct RowGroupMemory {
    /// What is held while rows are read.
    pub(super) held: usize,
    /// A row, at most.
    pub(super) row: usize,
}

impl InputRowGroup {
    pub(super) fn metadata(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.number)
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.metadata().num_rows()).unwrap_or(0)
    }

    /// The memory that the rows take, which are as many as the footer says.
    pub(super) fn memory(&self) -> std::result::Result<RowGroupMemory, InputFault> {
        let measured = catch_panics(|| {
            let columns = self.metadata().columns().par_iter();
            let rooms = columns.map(|chunk| {
                let room = measure_chunk(self.bytes.clone(), chunk, self.most)?;
                let column = chunk.column_descr();
                if column.max_rep_level() == 0 && room.values != self.rows() {
                    let (values, rows, column) = (room.values, self.rows(), column.path().string());
                    let fault = format!("column `{column}`: {values} rows, but the footer says {rows}");
                    return Err(ParquetError::General(fault));
                }
                Ok(room)
            });
            rooms.collect::<Result<Vec<_>>>()
        });
        let rooms = measured.map_err(|error| self.fault(error))?;
        let add = |bytes: usize, more: usize| bytes.saturating_add(more);
        let held = rooms.iter().map(|room| room.held).fold(0, add);
        let row = rooms.iter().map(|room| room.row).fold(0, add);
        if add(held, row) > self.most {
            let (row_group, most) = (self.number, self.most);
            return Err(InputFault::TooLarge { row_group, held, row, most });
        }
        Ok(RowGroupMemory { held, row })
    }

    /// Reads some columns, `rows` rows at a time.
    pub(super) fn reader(
        &self,
        columns: ProjectionMask,
        rows: usize,
    ) -> std::result::Result<ParquetRecordBatchReader, InputFault> {
        let open = || {
            let schema = self.metadata.file_metadata().schema_descr();
            let levels = parquet_to_arrow_field_levels(schema, columns, Some(&self.fields))?;
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, self, rows, None)
        };
        catch_panics(open).map_err(|error| self.fault(error))
    }

    /// The error that the row group does not read, with the column that is at fault.
    pub(super) fn fault(&self, error: ParquetError) -> InputFault {
        let message = error.to_string();
        let source: Box<dyn std::error::Error + Send + Sync> = match self.damaged_column() {
            Some(column) if !message.contains("column `") => format!("column `{column}`: {message}").into(),
            _ => Box::new(error),
        };
        InputFault::DamagedGroup { row_group: self.number, source }
    }

    /// The first column that does not read by itself.
    fn damaged_column(&self) -> Option<String> {
        /// Rows that are read at once.
        const ROWS: usize = 64;

        let schema = self.metadata.file_metadata().schema_descr();
        let damaged = schema.columns().iter().enumerate().find(|(leaf, _)| {
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
        let pages = Pages::new(self.bytes.clone(), self.metadata().column(leaf), self.most);
        Ok(Box::new(ChunkPages(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// A column chunk, until its pages are read.
struct ChunkPages(Option<Pages<ParquetBytes>>);

impl Iterator for ChunkPages {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for ChunkPages {}
