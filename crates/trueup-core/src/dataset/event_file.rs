//! What an ingest reads of a stored file of events, to write some of its customers again; and of a file of events or
//! spend, to compare the values of its columns.

use super::checked_file::StartedReads;
use super::deletion_vector::Days;
use super::error::DatasetError;
use super::manifest::DataFile;
use super::table_file::TableFile;
use crate::Interrupt;
use crate::model::{ACCOUNT, CUSTOMER_COLUMN, DATE};
use crate::scan::ColumnFault;
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::file::metadata::ColumnChunkMetaData;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use trueup_parquet::{ColumnChunk, FileSlice, TextRows};

/// A stored file of events or spend, and what its footer says of some row groups. Superseded rows are rows like all
/// others.
#[derive(Debug)]
pub struct EventFile {
    file: TableFile,
    interrupt: Interrupt,
}

/// A row group of an [`EventFile`], with the bytes that were read and the rows that are of interest.
#[derive(Debug)]
pub struct EventRowGroup<'f> {
    file: &'f EventFile,
    number: usize,
    rows: Vec<Range<usize>>,
    columns: Vec<ReadColumn<'f>>,
}

#[derive(Debug)]
struct ReadColumn<'f> {
    name: &'f str,
    data_type: &'f DataType,
    metadata: &'f ColumnChunkMetaData,
    bytes: FileSlice,
    /// The decompressed column, once its texts have been read.
    decompressed: OnceLock<ColumnChunk<'f>>,
}

impl EventFile {
    /// Opens a file that the manifest of a dataset's folder names, to read some row groups, whose numbers ascend.
    /// `interrupt` ends the wait for a store.
    ///
    /// # Errors
    /// The file cannot be read, or is not what the manifest says.
    pub fn open(
        folder: &Path,
        promised: &DataFile,
        row_groups: Vec<usize>,
        interrupt: &Interrupt,
    ) -> Result<Self, DatasetError> {
        let file = TableFile::of_row_groups(folder, promised, row_groups)?;
        TableFile::read_footers([&file].into_iter(), interrupt)?;
        Ok(Self { file, interrupt: interrupt.clone() })
    }

    /// Returns the bytes of memory that the columns of a row group take when they are decompressed, as the footer says.
    ///
    /// # Errors
    /// Never, because the footer was read when the file was opened.
    pub fn row_group_bytes(&self, row_group: usize) -> Result<usize, DatasetError> {
        let columns = self.file.column_locations(row_group, None, &self.interrupt)?;
        let bytes = columns.iter().map(|(_, chunk)| usize::try_from(chunk.uncompressed_size()).unwrap_or(0));
        Ok(bytes.fold(0, usize::saturating_add))
    }

    /// Returns the names of the columns, each with the bytes that it takes in a row group when decompressed, as the
    /// footer says.
    ///
    /// # Errors
    /// Never, because the footer was read when the file was opened.
    pub fn column_bytes(&self, row_group: usize) -> Result<Vec<(&str, u64)>, DatasetError> {
        let columns = self.file.column_locations(row_group, None, &self.interrupt)?.into_iter();
        let bytes = |chunk: &ColumnChunkMetaData| u64::try_from(chunk.uncompressed_size()).unwrap_or(u64::MAX);
        Ok(columns.map(|(field, chunk)| (field.name().as_str(), bytes(chunk))).collect())
    }

    /// Reads the bytes of a row group: of the named columns, or of all but `trueup.customer`. `rows` are the rows that
    /// are of interest, as ascending ranges.
    ///
    /// # Errors
    /// The bytes cannot be read, or differ from what was written; or the interrupt fires before they come from a store.
    pub fn row_group(
        &self,
        number: usize,
        names: Option<&[&str]>,
        rows: Vec<Range<usize>>,
    ) -> Result<EventRowGroup<'_>, DatasetError> {
        let Self { file, interrupt } = self;
        let others = || file.columns().filter(|name| *name != CUSTOMER_COLUMN).collect::<Vec<_>>();
        let names = names.map_or_else(others, <[&str]>::to_vec);
        let columns =
            file.read_chunks(number, Some(&names), StartedReads::default(), interrupt, |(field, metadata), bytes| {
                let (name, data_type) = (field.name(), field.data_type());
                Ok(ReadColumn { name, data_type, metadata, bytes, decompressed: OnceLock::new() })
            })?;
        Ok(EventRowGroup { file: self, number, rows, columns })
    }
}

impl<'f> EventRowGroup<'f> {
    /// Returns the rows that are of interest, as ascending ranges.
    #[must_use]
    pub fn rows(&self) -> &[Range<usize>] {
        &self.rows
    }

    /// Returns the texts of a column in the rows that are of interest. Other rows may have none.
    ///
    /// # Errors
    /// The column is missing, or does not hold what the format promises. The error names it.
    pub fn texts(&self, name: &str) -> Result<TextRows<'_>, DatasetError> {
        let column = self.column(name)?;
        let chunk = match column.decompressed.get() {
            Some(chunk) => chunk,
            None => {
                let chunk = self.decompress(column, Some(&self.rows))?;
                column.decompressed.get_or_init(|| chunk)
            }
        };
        chunk.text_rows(&self.rows).map_err(|fault| self.damaged(name, fault))
    }

    /// Returns the first and the last day of some rows, given by ascending ranges; `None` without rows. No row has a
    /// day outside of `bounds`: once these are found, no further day is decoded.
    ///
    /// # Errors
    /// As [`texts`](Self::texts).
    pub fn days(&self, rows: &[Range<usize>], bounds: Days) -> Result<Days, DatasetError> {
        let dates = self.decompress(self.column(DATE)?, Some(rows))?;
        dates.extremes(rows, bounds).map_err(|fault| self.damaged(DATE, fault))
    }

    /// Returns some of the rows that are of interest, given by ascending ranges. Texts become Arrow dictionaries of the
    /// texts that the rows have.
    ///
    /// # Errors
    /// As [`texts`](Self::texts).
    pub fn pick(&self, ranges: &[Range<usize>]) -> Result<RecordBatch, DatasetError> {
        let rows: Vec<usize> = ranges.iter().cloned().flatten().collect();
        let pick = |column: &ReadColumn<'f>| {
            let picked = match column.decompressed.get() {
                Some(chunk) => chunk.pick(&rows),
                None => self.decompress(column, Some(ranges))?.pick(&rows),
            };
            Ok((column.name, picked.map_err(|fault| self.damaged(column.name, fault))?, true))
        };
        let picked = self.columns.par_iter().map(pick).collect::<Result<Vec<_>, DatasetError>>()?;
        RecordBatch::try_from_iter_with_nullable(picked).map_err(|_| self.damaged(ACCOUNT, "it has fewer rows"))
    }

    fn column(&self, name: &str) -> Result<&ReadColumn<'f>, DatasetError> {
        let column = self.columns.iter().find(|column| column.name == name);
        column.ok_or_else(|| self.damaged(name, "the column is missing"))
    }

    /// Decompresses a column, or those of its pages that have some rows.
    fn decompress<'c>(
        &self,
        column: &ReadColumn<'c>,
        rows: Option<&[Range<usize>]>,
    ) -> Result<ColumnChunk<'c>, DatasetError> {
        self.file.file.column_chunk(self.number, column.metadata, column.data_type, &column.bytes, rows)
    }

    fn damaged(&self, column: &str, fault: &'static str) -> DatasetError {
        self.file.file.damaged(self.number, ColumnFault::new(column, fault))
    }
}
