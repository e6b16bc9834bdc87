//! A Parquet file of a dataset: its footer, the column chunks of its row groups, and the bounds by which a query skips
//! a row group.

use super::checked_file::{PromisedFile, ReadingAhead};
use super::error::DatasetError;
use super::file_slice::FileSlice;
use super::footer::{catch_panics, decode_footer, row_counts};
use super::manifest::DataFile;
use super::pages::Pages;
use crate::model::{CUSTOMER_COLUMN, DATE_SOURCE_COLUMN};
use crate::query::{AccountFilter, DateRange};
use crate::scan::{ColumnChunk, ColumnFault, ColumnSource};
use crate::{Day, Interrupt};
use arrow_schema::Schema;
use parquet::column::page::Page;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A file and its footer.
#[derive(Debug)]
pub(super) struct TableFile {
    file: Arc<PromisedFile>,
    metadata: ParquetMetaData,
    schema: Schema,
    /// The number of rows of each row group.
    rows: Vec<u64>,
}

impl TableFile {
    /// Reads the footer of a file, whose length and number of rows must be those of the manifest.
    pub(super) fn open(folder: &Path, promised: &DataFile) -> Result<Self, DatasetError> {
        let file = PromisedFile::new(folder, promised)?;
        let footer = file.open()?.read_footer()?;
        let path = || file.path().to_owned();
        let damaged = |source| DatasetError::Parquet { path: path(), row_group: None, source };
        let (metadata, schema) = catch_panics(|| decode_footer(&footer)).map_err(damaged)?;
        let rows = row_counts(&metadata).map_err(damaged)?;
        let found = rows.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
        if found != promised.rows {
            return Err(DatasetError::Length { path: path(), unit: "rows", found, promised: promised.rows });
        }
        Ok(Self { file, metadata, schema, rows })
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns whether the file is an object of a store.
    pub(super) fn is_remote(&self) -> bool {
        self.file.is_remote()
    }

    /// Returns the number of row groups.
    pub(super) fn row_groups(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of rows of a row group.
    pub(super) fn rows(&self, row_group: usize) -> u64 {
        self.rows[row_group]
    }

    /// Returns the names of the text columns of an event file, except for the account and the stage.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let others = [CUSTOMER_COLUMN, DATE_SOURCE_COLUMN, "account", "type", "date", "dateTime", "total"];
        let names = self.schema.fields().iter().map(|field| field.name().as_str());
        names.filter(move |name| !others.contains(name))
    }

    /// Returns the bounds of a row group, from the statistics of its columns `account` and `date`.
    pub(super) fn bounds(&self, row_group: usize) -> RowGroupBounds {
        let mut bounds = RowGroupBounds::default();
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

    /// Returns the bytes of the named columns of a row group in the file.
    pub(super) fn column_bytes(&self, row_group: usize, columns: &[&str]) -> u64 {
        self.chunks(row_group, columns).map(|(_, chunk)| range(chunk)).map(|bytes| bytes.end - bytes.start).sum()
    }

    /// Reads the named columns of a row group. A column that the file does not have is left out.
    /// `interrupt` ends the wait for a store.
    pub(super) fn read(
        &self,
        row_group: usize,
        columns: &[&str],
        ahead: ReadingAhead,
        interrupt: &Interrupt,
    ) -> Result<ColumnSource<'_>, DatasetError> {
        let file = self.file.open()?.until(interrupt);
        let chunks = self.sorted_chunks(row_group, columns);
        let ranges: Vec<_> = chunks.iter().map(|(_, chunk)| range(chunk)).collect();
        let mut stored = Vec::with_capacity(chunks.len());
        for ((leaf, chunk), slice) in chunks.into_iter().zip(file.read_ranges(&ranges, ahead)) {
            let slice = slice?;
            let pages = catch_panics(|| self.pages(row_group, chunk, &slice)).map_err(|source| {
                DatasetError::Parquet { path: self.path().to_owned(), row_group: Some(row_group), source }
            })?;
            stored.push(ColumnChunk {
                column: chunk.column_descr(),
                data_type: self.schema.field(leaf).data_type(),
                pages,
            });
        }
        Ok(ColumnSource::Chunks(stored))
    }

    /// Starts to read the named columns of a row group, if the file is an object of a store.
    pub(super) fn read_ahead(&self, row_group: usize, columns: &[&str]) -> Result<ReadingAhead, DatasetError> {
        let chunks = self.sorted_chunks(row_group, columns);
        let ranges: Vec<_> = chunks.iter().map(|(_, chunk)| range(chunk)).collect();
        Ok(self.file.open()?.read_ahead(&ranges))
    }

    /// Returns the named column chunks of a row group, each with its index, in the order of the file.
    fn sorted_chunks(&self, row_group: usize, columns: &[&str]) -> Vec<(usize, &ColumnChunkMetaData)> {
        let mut chunks: Vec<_> = self.chunks(row_group, columns).collect();
        chunks.sort_unstable_by_key(|(_, chunk)| range(chunk).start);
        chunks
    }

    /// Returns the named column chunks of a row group, each with its index.
    fn chunks(&self, row_group: usize, columns: &[&str]) -> impl Iterator<Item = (usize, &ColumnChunkMetaData)> {
        let chunks = self.metadata.row_group(row_group).columns().iter().enumerate();
        chunks.filter(|(_, chunk)| columns.contains(&chunk.column_descr().name()))
    }

    /// Reads the pages of a column chunk.
    fn pages(
        &self,
        row_group: usize,
        chunk: &ColumnChunkMetaData,
        slice: &FileSlice,
    ) -> Result<Vec<Page>, ParquetError> {
        // All pages are held at the same time, and the footer says how large they are.
        let limit = usize::try_from(chunk.uncompressed_size()).unwrap_or(0);
        let pages = Pages::new(slice.clone(), chunk, limit).collect::<Result<Vec<_>, _>>()?;
        let data = pages.iter().filter(|page| page.is_data_page());
        let found: u64 = data.map(|page| u64::from(page.num_values())).sum();
        if found != self.rows(row_group) {
            let column = chunk.column_descr().name();
            let rows = self.rows(row_group);
            let message = format!("{found} rows in column `{column}`, but the footer says {rows}");
            return Err(ParquetError::General(message));
        }
        Ok(pages)
    }

    /// Returns the error of a column that does not hold what the layout promises.
    pub(super) fn damaged(&self, row_group: usize, fault: ColumnFault) -> DatasetError {
        let ColumnFault { column, fault } = fault;
        DatasetError::Damaged { path: self.path().to_owned(), row_group: Some(row_group), column, fault }
    }
}

/// Returns the range of a column chunk, which [`decode_footer`] has found to be inside the file.
fn range(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let (start, length) = chunk.byte_range();
    start..start.saturating_add(length)
}

/// What statistics say of the rows of a row group; `None` if they say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowGroupBounds {
    /// A lower and an upper bound of the account keys, in the order of bytes. Long keys may be cut in statistics, so
    /// that a bound need not be the key of an account.
    pub(crate) accounts: Option<(Vec<u8>, Vec<u8>)>,
    /// A lower and an upper bound of the days, counted from 1970-01-01.
    pub(crate) days: Option<(i32, i32)>,
}

/// Whether a query reads a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pruning {
    /// Some row may matter.
    Keep,
    /// No row matters.
    Skip,
}

impl RowGroupBounds {
    /// Decides whether a row may have a day in `range` and one of `accounts`. A customer's events outside the range
    /// matter only if another event is inside, and a row group holds whole customers.
    pub(crate) fn prune(&self, range: DateRange, accounts: &AccountFilter) -> Pruning {
        let (start, end) = (i32::from(range.start.number()), i32::from(range.end.number()));
        let is_outside = |(first, last): (i32, i32)| last < start || first > end;
        if self.days.is_some_and(is_outside) || self.excludes(accounts) { Pruning::Skip } else { Pruning::Keep }
    }

    /// Returns a day that no row is after.
    pub(crate) fn last_day(&self) -> Day {
        self.days.map_or(Day::MAX, |(_, last)| Day::from_number(u16::try_from(last.max(0)).unwrap_or(u16::MAX)))
    }

    /// Returns whether all rows are certainly of the accounts.
    pub(crate) fn is_within(&self, accounts: &AccountFilter) -> bool {
        match (accounts, &self.accounts) {
            (AccountFilter::All, _) => true,
            (AccountFilter::Only(keys), Some((first, last))) => {
                first == last && keys.iter().any(|key| key.as_bytes() == first)
            }
            (AccountFilter::Only(_), None) => false,
        }
    }

    /// Returns whether no row is of the accounts.
    pub(crate) fn excludes(&self, accounts: &AccountFilter) -> bool {
        let (AccountFilter::Only(keys), Some((first, last))) = (accounts, &self.accounts) else { return false };
        !keys.iter().any(|key| first.as_slice() <= key.as_bytes() && key.as_bytes() <= last.as_slice())
    }
}
