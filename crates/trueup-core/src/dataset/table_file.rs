//! A Parquet file of a dataset: what the manifest says of its row groups, by which a query skips them, its footer, and
//! the column chunks of its row groups.

use super::checked_file::{CheckedFile, ExpectedFile, StartedReads};
use super::deletion_vector::DeletionVector;
use super::error::DatasetError;
use super::manifest::{DataFile, RowGroupEntry};
use crate::model::{ACCOUNT, CUSTOMER_COLUMN, DATE, DATE_SOURCE_COLUMN, RECORD_COLUMN};
use crate::query::{AccountFilter, DateRange};
use crate::scan::{ColumnFault, ColumnSource};
use crate::{Day, Interrupt};
use arrow_schema::{DataType, Field, Schema};
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use trueup_parquet::{ColumnChunk, DecodedFooter, FileSlice, LiveRows, catch_panics, decode_footer};

/// The columns whose statistics [`describe_row_group`] needs.
const DESCRIBING: [&str; 2] = [ACCOUNT, DATE];

/// The most footers that a query requests from a store at the same time.
const FOOTERS_AT_ONCE: usize = 64;

/// A file that the manifest describes, and its footer once it has been needed.
#[derive(Debug)]
pub(crate) struct TableFile {
    stored: Arc<StoredFile>,
    /// The rows that are superseded; `None` if there are none.
    superseded: Option<Arc<DeletionVector>>,
}

/// What all versions that have a file share of it.
#[derive(Debug)]
struct StoredFile {
    /// A number that no other file of this process has.
    id: u64,
    file: Arc<ExpectedFile>,
    columns: Arc<[String]>,
    /// The row groups as they are stored.
    row_groups: Arc<[RowGroupEntry]>,
    /// The numbers of the row groups that are decoded with the footer, in ascending order; `None` for all.
    used: Option<Vec<usize>>,
    /// Read when it is first needed. A footer that cannot be read is not kept, because the file may be repaired.
    footer: OnceLock<Footer>,
    /// Locked by the thread that reads the footer.
    reading: Mutex<()>,
}

/// A column of a row group: its name and type, and where its bytes are.
pub(super) type ColumnLocation<'f> = (&'f Field, &'f ColumnChunkMetaData);

/// A footer that says what the manifest says.
#[derive(Debug)]
struct Footer {
    schema: Schema,
    /// The number of all row groups.
    row_groups: usize,
    /// The row groups that were decoded, with their numbers in the file, in ascending order.
    decoded: Vec<(usize, RowGroupMetaData)>,
}

impl TableFile {
    /// Takes a file as a manifest describes it, without reading it. `superseded` are the rows that are superseded.
    pub(super) fn new(
        folder: &Path,
        promised: &DataFile,
        superseded: Option<Arc<DeletionVector>>,
    ) -> Result<Self, DatasetError> {
        Ok(Self { stored: StoredFile::new(folder, promised, None)?, superseded })
    }

    /// Takes a file of which only some row groups are used, whose numbers ascend, with superseded rows like all others.
    pub(super) fn of_row_groups(folder: &Path, promised: &DataFile, used: Vec<usize>) -> Result<Self, DatasetError> {
        Ok(Self { stored: StoredFile::new(folder, promised, Some(used))?, superseded: None })
    }

    /// Takes the file as another version has it: with other superseded rows, and with the same footer, once it has been
    /// read.
    pub(super) fn with_superseded(&self, superseded: Option<Arc<DeletionVector>>) -> Self {
        Self { stored: self.stored.clone(), superseded }
    }

    /// Returns the number of the file in this process. All versions that have the file know it by this number.
    pub(super) fn id(&self) -> u64 {
        self.stored.id
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        self.stored.file.path()
    }

    /// Returns whether the file is an object of a store.
    pub(super) fn is_remote(&self) -> bool {
        self.stored.file.is_remote()
    }

    /// Returns the number of row groups.
    pub(super) fn row_groups(&self) -> usize {
        self.stored.row_groups.len()
    }

    /// Returns the number of rows of a row group, superseded ones included.
    pub(super) fn rows(&self, row_group: usize) -> usize {
        usize::try_from(self.stored.row_groups[row_group].rows).unwrap_or(usize::MAX)
    }

    /// Returns the number of rows of all row groups, superseded ones included.
    pub(super) fn all_rows(&self) -> u64 {
        self.stored.row_groups.iter().fold(0, |rows, entry| rows.saturating_add(entry.rows))
    }

    /// Returns what the manifest says of the rows of a row group that are left.
    pub(super) fn row_group(&self, row_group: usize) -> RowGroupEntry {
        match &self.superseded {
            None => self.stored.row_groups[row_group].clone(),
            Some(superseded) => superseded.left_entry(&self.stored.row_groups, row_group),
        }
    }

    /// Returns the rows of a row group that are left; `None` if all are.
    pub(super) fn live_rows(&self, row_group: usize) -> Option<LiveRows> {
        self.superseded.as_ref()?.live_rows(&self.stored.row_groups, row_group)
    }

    /// Returns whether rows of a row group are superseded.
    pub(super) fn has_superseded(&self, row_group: usize) -> bool {
        self.superseded.as_ref().is_some_and(|superseded| superseded.concerns(row_group))
    }

    /// Returns the names of the columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.stored.columns.iter().map(String::as_str)
    }

    /// Returns the names of the text columns of an event file, except for the account and the stage.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let others =
            [CUSTOMER_COLUMN, DATE_SOURCE_COLUMN, RECORD_COLUMN, "account", "type", "date", "dateTime", "total"];
        self.columns().filter(move |name| !others.contains(name))
    }

    /// Reads the footers of files, several at the same time, except for footers that have been read already. A file may
    /// occur several times, one after the other.
    pub(crate) fn read_footers<'a>(
        files: impl Iterator<Item = &'a Self>,
        interrupt: &Interrupt,
    ) -> Result<(), DatasetError> {
        let mut unread: Vec<&Self> = files.filter(|file| file.stored.footer.get().is_none()).collect();
        unread.dedup_by(|one, next| std::ptr::eq(*one, *next));
        for files in unread.chunks(FOOTERS_AT_ONCE) {
            let started = files.iter().map(|file| Ok((*file, file.read_footer_ahead()?)));
            let started = started.collect::<Result<Vec<_>, DatasetError>>()?;
            let read = |(file, ahead): (&Self, StartedReads)| {
                interrupt.check()?;
                file.footer(ahead, interrupt).map(drop)
            };
            started.into_par_iter().with_max_len(1).try_for_each(read)?;
        }
        Ok(())
    }

    /// Reads the footer again, and checks that it says what the manifest says.
    pub(super) fn check_again(&self) -> Result<(), DatasetError> {
        self.check(&Footer::read(&self.stored.file.open()?, StartedReads::default(), None)?)
    }

    /// Starts to read the footer, if the file is an object of a store.
    fn read_footer_ahead(&self) -> Result<StartedReads, DatasetError> {
        if self.is_remote() { Ok(self.stored.file.open()?.read_footer_ahead()) } else { Ok(StartedReads::default()) }
    }

    /// Returns the footer. Reads it if it has not been read: once, whatever the number of threads that need it.
    /// `interrupt` ends the wait for a store.
    fn footer(&self, ahead: StartedReads, interrupt: &Interrupt) -> Result<&Footer, DatasetError> {
        let stored = &*self.stored;
        if let Some(footer) = stored.footer.get() {
            return Ok(footer);
        }
        let _reading = self.lock(&stored.reading, interrupt)?;
        if let Some(footer) = stored.footer.get() {
            return Ok(footer);
        }
        let footer = Footer::read(&stored.file.open()?.until(interrupt), ahead, stored.used.as_deref())?;
        self.check(&footer)?;
        Ok(stored.footer.get_or_init(|| footer))
    }

    /// Locks a mutex whose holders read this file. A store may take long to answer the holder, so that `interrupt` ends
    /// the wait for the lock of an object. A thread that panics while it holds the lock must leave nothing half done.
    pub(super) fn lock<'m>(
        &self,
        mutex: &'m Mutex<()>,
        interrupt: &Interrupt,
    ) -> Result<MutexGuard<'m, ()>, DatasetError> {
        if self.is_remote() {
            return Ok(interrupt.lock(mutex)?);
        }
        Ok(mutex.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checks that the footer says what the manifest says. A query has already relied on the manifest: it left row
    /// groups unread.
    fn check(&self, footer: &Footer) -> Result<(), DatasetError> {
        if column_names(&footer.schema) != self.stored.columns {
            return self.differs(None, "columns");
        }
        let found = footer.decoded.iter().map(|(number, row_group)| (*number, describe_row_group(row_group)));
        let sum = |rows: u64, entry: &RowGroupEntry| rows.saturating_add(entry.rows);
        let promised = self.stored.row_groups.iter().fold(0, sum);
        let stored = found.clone().fold(0, |rows, (_, entry)| sum(rows, &entry));
        if footer.decoded.len() == footer.row_groups && stored != promised {
            let path = self.path().to_owned();
            return Err(DatasetError::Length { path, unit: "rows", found: stored, promised });
        }
        if footer.row_groups != self.stored.row_groups.len() {
            return self.differs(None, "row groups");
        }
        for (number, found) in found {
            let promised = &self.stored.row_groups[number];
            let parts = [
                ("rows", found.rows == promised.rows),
                ("accounts", found.accounts == promised.accounts),
                ("days", found.days == promised.days),
            ];
            if let Some((what, _)) = parts.into_iter().find(|(_, is_same)| !is_same) {
                return self.differs(Some(number), what);
            }
        }
        Ok(())
    }

    /// Checks that the rows that a row group has left have the days that the manifest says, if others are superseded. A
    /// query has already relied on these days, and the footer says only which days all stored rows have. `found` has
    /// the first and the last day of the rows.
    pub(super) fn check_left_days(&self, row_group: usize, found: Option<(u16, u16)>) -> Result<(), DatasetError> {
        let found = found.map(|(first, last)| (i32::from(first), i32::from(last)));
        if !self.has_superseded(row_group) || found == self.row_group(row_group).days {
            return Ok(());
        }
        self.differs(Some(row_group), "days that are left")
    }

    /// Checks that rows of a row group, superseded or not, have days that the manifest says. `found` has the first and
    /// the last day of the rows.
    pub(super) fn check_days(&self, row_group: usize, found: Option<(u16, u16)>) -> Result<(), DatasetError> {
        let found = found.map(|(first, last)| (i32::from(first), i32::from(last)));
        match (found, self.stored.row_groups[row_group].days) {
            (Some(found), Some(days)) if found.0 < days.0 || found.1 > days.1 => self.differs(Some(row_group), "days"),
            _ => Ok(()),
        }
    }

    fn differs(&self, row_group: Option<usize>, what: &'static str) -> Result<(), DatasetError> {
        Err(DatasetError::Disagreement { path: self.path().to_owned(), row_group, what })
    }

    /// Returns the bytes of the named columns of a row group in the file.
    pub(super) fn column_bytes(&self, row_group: usize, columns: &[&str]) -> Result<u64, DatasetError> {
        let footer = self.footer(StartedReads::default(), &Interrupt::default())?;
        let ranges = footer.chunks(row_group, Some(columns)).map(|(_, chunk)| range(chunk));
        Ok(ranges.map(|bytes| bytes.end - bytes.start).sum())
    }

    /// Reads the named columns of a row group, of the rows that are left. A column that the file does not have is
    /// omitted. `interrupt` ends the wait for a store.
    pub(super) fn read(
        &self,
        row_group: usize,
        columns: &[&str],
        ahead: StartedReads,
        interrupt: &Interrupt,
    ) -> Result<ColumnSource<'_>, DatasetError> {
        let chunks = self.read_columns(row_group, columns, ahead, interrupt)?;
        Ok(ColumnSource::Chunks { chunks, left: self.live_rows(row_group) })
    }

    /// Reads the named columns of a row group, of some rows, which may be superseded; see [`read`](Self::read).
    pub(super) fn read_rows(
        &self,
        row_group: usize,
        columns: &[&str],
        rows: LiveRows,
        interrupt: &Interrupt,
    ) -> Result<ColumnSource<'_>, DatasetError> {
        let chunks = self.read_columns(row_group, columns, StartedReads::default(), interrupt)?;
        Ok(ColumnSource::Chunks { chunks, left: Some(rows) })
    }

    /// Reads the named columns of all rows of a row group.
    fn read_columns(
        &self,
        row_group: usize,
        columns: &[&str],
        ahead: StartedReads,
        interrupt: &Interrupt,
    ) -> Result<Vec<ColumnChunk<'_>>, DatasetError> {
        self.read_chunks(row_group, Some(columns), ahead, interrupt, |(field, chunk), slice| {
            self.column_chunk(row_group, chunk, field.data_type(), &slice, None)
        })
    }

    /// Returns the locations of the named columns of a row group, or of all, in the order of the file.
    pub(super) fn column_locations(
        &self,
        row_group: usize,
        names: Option<&[&str]>,
        interrupt: &Interrupt,
    ) -> Result<Vec<ColumnLocation<'_>>, DatasetError> {
        let footer = self.footer(StartedReads::default(), interrupt)?;
        let chunks = footer.sorted_chunks(row_group, names).into_iter();
        Ok(chunks.map(|(leaf, chunk)| (footer.schema.field(leaf), chunk)).collect())
    }

    /// Reads the bytes of the named columns of a row group, or of all, and calls `take` for each as soon as they are
    /// read. `interrupt` ends the wait for a store.
    pub(super) fn read_chunks<'f, T>(
        &'f self,
        row_group: usize,
        names: Option<&[&str]>,
        ahead: StartedReads,
        interrupt: &Interrupt,
        mut take: impl FnMut(ColumnLocation<'f>, FileSlice) -> Result<T, DatasetError>,
    ) -> Result<Vec<T>, DatasetError> {
        let columns = self.column_locations(row_group, names, interrupt)?;
        let file = self.stored.file.open()?.until(interrupt);
        let ranges: Vec<_> = columns.iter().map(|(_, chunk)| range(chunk)).collect();
        let slices = file.read_ranges(&ranges, ahead);
        columns.into_iter().zip(slices).map(|(column, slice)| take(column, slice?)).collect()
    }

    /// Starts to read the named columns of a row group, if the file is an object of a store and its footer has been
    /// read.
    pub(super) fn read_ahead(&self, row_group: usize, columns: &[&str]) -> Result<StartedReads, DatasetError> {
        let Some(footer) = self.stored.footer.get() else { return Ok(StartedReads::default()) };
        let chunks = footer.sorted_chunks(row_group, Some(columns));
        let ranges: Vec<_> = chunks.iter().map(|(_, chunk)| range(chunk)).collect();
        Ok(self.stored.file.open()?.read_ahead(&ranges))
    }

    /// Decompresses the pages of a column chunk. If only some rows are wanted, data pages of version 1 without any are
    /// left empty.
    pub(super) fn column_chunk<'c>(
        &self,
        row_group: usize,
        chunk: &'c ColumnChunkMetaData,
        data_type: &'c DataType,
        slice: &FileSlice,
        wanted: Option<&[Range<usize>]>,
    ) -> Result<ColumnChunk<'c>, DatasetError> {
        let rows = self.stored.row_groups[row_group].rows;
        ColumnChunk::read(slice, chunk, data_type, rows, wanted)
            .map_err(DatasetError::parquet(self.path(), Some(row_group)))
    }

    /// Returns the error of a column that does not hold what the layout promises.
    pub(super) fn damaged(&self, row_group: usize, fault: ColumnFault) -> DatasetError {
        let ColumnFault { column, fault } = fault;
        DatasetError::Damaged { path: self.path().to_owned(), row_group: Some(row_group), column, fault }
    }
}

impl StoredFile {
    fn new(folder: &Path, promised: &DataFile, used: Option<Vec<usize>>) -> Result<Arc<Self>, DatasetError> {
        Ok(Arc::new(Self {
            id: new_id(),
            file: ExpectedFile::new(folder, promised)?,
            columns: promised.columns.clone(),
            row_groups: promised.row_groups.clone(),
            used,
            footer: OnceLock::new(),
            reading: Mutex::new(()),
        }))
    }
}

impl Footer {
    /// Reads and decodes the footer of a file, with all row groups or only some.
    fn read(file: &CheckedFile, ahead: StartedReads, used: Option<&[usize]>) -> Result<Self, DatasetError> {
        let bytes = file.read_footer(ahead)?;
        let decode = || {
            let DecodedFooter { metadata, schema, row_groups } = decode_footer(&bytes, used, &DESCRIBING)?;
            let metadata = metadata.into_builder().take_row_groups().into_iter();
            let decoded = match used {
                None => metadata.enumerate().collect(),
                Some(used) => used.iter().copied().zip(metadata).collect(),
            };
            Ok(Self { schema, row_groups, decoded })
        };
        catch_panics(decode).map_err(DatasetError::parquet(file.path(), None))
    }

    /// Returns the named column chunks of a row group, or all, each with its index, in the order of the file.
    fn sorted_chunks(&self, row_group: usize, names: Option<&[&str]>) -> Vec<(usize, &ColumnChunkMetaData)> {
        let mut chunks: Vec<_> = self.chunks(row_group, names).collect();
        chunks.sort_unstable_by_key(|(_, chunk)| range(chunk).start);
        chunks
    }

    /// Returns the named column chunks of a row group, or all, each with its index.
    fn chunks(&self, row_group: usize, names: Option<&[&str]>) -> impl Iterator<Item = (usize, &ColumnChunkMetaData)> {
        let decoded = self.decoded.binary_search_by_key(&row_group, |(number, _)| *number);
        let chunks = decoded.ok().into_iter().flat_map(|at| self.decoded[at].1.columns().iter().enumerate());
        chunks.filter(move |(_, chunk)| names.is_none_or(|names| names.contains(&chunk.column_descr().name())))
    }
}

fn column_names(schema: &Schema) -> Arc<[String]> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// Describes a row group by the statistics of its columns `account` and `date`.
#[must_use]
pub fn describe_row_group(metadata: &RowGroupMetaData) -> RowGroupEntry {
    let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
    let mut entry = RowGroupEntry { rows, accounts: None, days: None };
    for column in metadata.columns() {
        match (column.column_descr().name(), column.statistics()) {
            (ACCOUNT, Some(Statistics::ByteArray(texts))) => {
                let text = |bytes: &ByteArray| bytes.as_utf8().ok().map(Arc::from);
                entry.accounts = texts.min_opt().and_then(text).zip(texts.max_opt().and_then(text));
            }
            (DATE, Some(Statistics::Int32(days))) => {
                entry.days = days.min_opt().copied().zip(days.max_opt().copied());
            }
            _ => {}
        }
    }
    entry
}

/// Returns the range of a column chunk, which [`decode_footer`] has found to be inside the file.
fn range(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let (start, length) = chunk.byte_range();
    start..start.saturating_add(length)
}

/// Returns a number that nothing else has, for a file or a row group in memory.
pub(super) fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Whether a query reads a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pruning {
    /// Some row may matter.
    Keep,
    /// No row matters.
    Skip,
}

impl RowGroupEntry {
    /// Decides whether there is a row that may have a day in `range` and one of `accounts`. A customer's events outside
    /// the range matter only if another event is inside, and a row group holds whole customers.
    pub(crate) fn prune(&self, range: DateRange, accounts: &AccountFilter) -> Pruning {
        let (start, end) = (i32::from(range.start.number()), i32::from(range.end.number()));
        let is_outside = |(first, last): (i32, i32)| last < start || first > end;
        if self.rows == 0 || self.days.is_some_and(is_outside) || self.excludes(accounts) {
            Pruning::Skip
        } else {
            Pruning::Keep
        }
    }

    /// Returns whether a row of this row group and one of another may have the same account and the same day.
    pub(crate) fn may_overlap(&self, other: &Self) -> bool {
        let days = self.days.zip(other.days);
        let accounts = self.accounts.as_ref().zip(other.accounts.as_ref());
        days.is_none_or(|(one, other)| one.0 <= other.1 && other.0 <= one.1)
            && accounts.is_none_or(|(one, other)| one.0 <= other.1 && other.0 <= one.1)
    }

    /// Returns a day that no row is after.
    pub(crate) fn last_day(&self) -> Day {
        self.days.map_or(Day::MAX, |(_, last)| Day::from_number(u16::try_from(last.max(0)).unwrap_or(u16::MAX)))
    }

    /// Returns whether all rows are certainly of the accounts.
    pub(crate) fn is_within(&self, accounts: &AccountFilter) -> bool {
        match (accounts, &self.accounts) {
            (AccountFilter::All, _) => true,
            (AccountFilter::Only(keys), Some((first, last))) => first == last && keys.contains(&**first),
            (AccountFilter::Only(_), None) => false,
        }
    }

    /// Returns whether certainly no row is of the accounts.
    pub(crate) fn excludes(&self, accounts: &AccountFilter) -> bool {
        let (AccountFilter::Only(keys), Some((first, last))) = (accounts, &self.accounts) else { return false };
        !keys.iter().any(|key| **first <= **key && **key <= **last)
    }
}
