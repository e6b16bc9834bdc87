//! Row groups of a table, read column by column, and what versions that have the same row group share of it.

use super::checked_file::StartedReads;
use super::counted_cache::CountedCache;
use super::error::DatasetError;
use super::manifest::RowGroupEntry;
use super::read_ahead::ReadAhead;
use super::table_file::{TableFile, new_id};
use crate::Interrupt;
use crate::scan::{ColumnFault, EventColumns, EventProjection, TableColumns};
use std::sync::{Arc, Mutex, OnceLock};
use trueup_parquet::LiveRows;

/// A version shares decoded columns if at most one in this many of their rows was superseded after they were decoded.
/// Others are decoded again, so that no superseded row takes memory and time for long.
const ROWS_PER_SUPERSEDED: usize = 8;

/// Rows of a table that are read and aggregated together. A row group of events holds whole customers.
#[derive(Debug)]
pub(crate) struct RowGroup<T> {
    pub(crate) entry: RowGroupEntry,
    columns: Columns<T>,
}

/// Where the columns of a row group come from.
#[derive(Debug)]
enum Columns<T> {
    /// In memory, with a number that no other row group in memory and no file has.
    Memory(u64, Arc<T>),
    Stored(StoredRowGroup),
}

/// A row group of a file as a version has it.
#[derive(Debug)]
struct StoredRowGroup {
    file: Arc<TableFile>,
    decoded: Arc<DecodedRowGroup>,
    /// What the version leaves out of the decoded columns; `None` if nothing.
    view: Option<LeftRowsView>,
    /// The rows that the version has left; `None` if all are. Empty before they are needed.
    left: OnceLock<Option<Arc<LiveRows>>>,
}

/// The rows of a row group that a version has left. Equal ones are the same rows, in any version.
#[derive(Clone, Debug)]
pub(crate) struct RowGroupRows {
    /// The number of the file in this process, and that of the row group in the file.
    row_group: (u64, usize),
    /// The number of all rows, superseded ones included.
    all: usize,
    /// `None` if all are left.
    left: Option<Arc<LiveRows>>,
    /// The row group, if it can be read although the version is closed.
    decoded: Option<Arc<DecodedRowGroup>>,
}

impl PartialEq for RowGroupRows {
    fn eq(&self, other: &Self) -> bool {
        (self.row_group, &self.left) == (other.row_group, &other.left)
    }
}

/// Rows of events that a version had left and a later one does not have.
#[derive(Debug)]
pub(crate) struct SupersededRows {
    decoded: Arc<DecodedRowGroup>,
    rows: LiveRows,
}

/// The decoded rows that a version has left.
#[derive(Debug)]
struct LeftRowsView {
    left: LiveRows,
    /// In the cache, the key of the columns without the other rows.
    key: usize,
}

/// A row group of a file, decoded without the rows that one version had superseded. Later versions share it.
#[derive(Debug)]
struct DecodedRowGroup {
    /// The file as that version had it.
    file: Arc<TableFile>,
    /// The number of the row group in the file.
    number: usize,
    cache: Arc<CountedCache>,
    /// The key of the row group in the cache.
    key: usize,
    /// Locked while columns are decoded, so that queries that need the same columns decode them once.
    decoding: Mutex<()>,
}

impl<T: TableColumns> RowGroup<T> {
    /// Makes a row group in memory.
    pub(super) fn in_memory(entry: RowGroupEntry, columns: T) -> Self {
        Self { entry, columns: Columns::Memory(new_id(), Arc::new(columns)) }
    }

    /// Returns the row groups of a file. They share decoded columns with `former`, the row groups that another version
    /// has of the file, if any.
    pub(super) fn of_file(file: &Arc<TableFile>, cache: &Arc<CountedCache>, former: &[Self]) -> Vec<Self> {
        let row_group = |number| {
            let stored = former.get(number).and_then(Self::stored).and_then(|former| former.share(file, number));
            let stored = stored.unwrap_or_else(|| StoredRowGroup::new(file, number, cache));
            Self { entry: file.row_group(number), columns: Columns::Stored(stored) }
        };
        (0..file.row_groups()).map(row_group).collect()
    }

    /// Returns the columns of `projection`, and any others that are held. Decodes the columns that are not held, from
    /// what was read ahead, if anything. `interrupt` ends the wait for a store.
    pub(crate) fn read_until(
        &self,
        projection: &T::Projection,
        ahead: StartedReads,
        interrupt: &Interrupt,
    ) -> Result<Arc<T>, DatasetError> {
        match &self.columns {
            Columns::Memory(_, columns) => Ok(columns.clone()),
            Columns::Stored(row_group) => row_group.read(projection, ahead, interrupt),
        }
    }

    /// Starts to read the columns of `projection` that are not held, if they are in an object store.
    pub(crate) fn read_ahead(&self, projection: &T::Projection) -> StartedReads {
        match &self.columns {
            Columns::Memory(..) => StartedReads::default(),
            Columns::Stored(row_group) => row_group.decoded.read_ahead::<T>(projection),
        }
    }

    /// Returns the columns that are in memory; `None` if none are, or if the whole table is in memory.
    pub(super) fn held(&self) -> Option<Arc<T>> {
        let decoded = &self.stored()?.decoded;
        decoded.cache.peek(decoded.key)
    }

    /// Decodes columns of a row group of which none is decoded, before a query needs them. A fault is left to the
    /// query.
    pub(super) fn decode_ahead(&self, projection: &T::Projection) {
        let Some(StoredRowGroup { decoded, .. }) = self.stored() else { return };
        let columns = decoded.decode::<T>(projection, None, StartedReads::default(), &Interrupt::default());
        if let Ok(columns) = columns.map(Arc::new) {
            decoded.cache.put(decoded.key, columns.clone(), columns.bytes());
        }
    }

    /// Returns whether the row group is in an object store.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(&self.columns, Columns::Stored(row_group) if row_group.file.is_remote())
    }

    /// Returns the bytes of the columns of `projection` in the file; 0 in memory.
    pub(crate) fn stored_bytes(&self, projection: &T::Projection) -> Result<u64, DatasetError> {
        match &self.columns {
            Columns::Memory(..) => Ok(0),
            Columns::Stored(StoredRowGroup { file, decoded, .. }) => {
                file.column_bytes(decoded.number, &T::names(projection, true))
            }
        }
    }
}

impl<T> RowGroup<T> {
    /// Returns the number of rows.
    pub(crate) const fn rows(&self) -> u64 {
        self.entry.rows
    }

    /// Returns the key of the decoded columns in the cache, which versions share; `None` in memory.
    pub(super) fn key(&self) -> Option<usize> {
        self.stored().map(|row_group| row_group.decoded.key)
    }

    /// Returns the number of the file in this process, and that of the row group in the file: what every version knows
    /// the row group by.
    pub(crate) fn id(&self) -> (u64, usize) {
        match &self.columns {
            Columns::Memory(id, _) => (*id, 0),
            Columns::Stored(StoredRowGroup { file, decoded, .. }) => (file.id(), decoded.number),
        }
    }

    /// Returns the rows that the version has left. They can be [read](RowGroupRows::vanished) although no version has
    /// the row group any more, if its file has at most `most_file_rows` rows. The memory of such files is not counted.
    pub(crate) fn left_rows(&self, most_file_rows: u64) -> RowGroupRows {
        match &self.columns {
            Columns::Memory(..) => RowGroupRows {
                row_group: self.id(),
                all: usize::try_from(self.entry.rows).unwrap_or(usize::MAX),
                left: None,
                decoded: None,
            },
            Columns::Stored(StoredRowGroup { file, decoded, left, .. }) => RowGroupRows {
                row_group: self.id(),
                all: file.rows(decoded.number),
                left: left.get_or_init(|| file.live_rows(decoded.number).map(Arc::new)).clone(),
                decoded: (file.all_rows() <= most_file_rows).then(|| decoded.clone()),
            },
        }
    }

    /// Returns the rows that this version does not have and an earlier one had left. `None` if the earlier one did not
    /// have all rows of this version.
    pub(crate) fn superseded_since(&self, earlier: &RowGroupRows) -> Option<Option<SupersededRows>> {
        let now = self.left_rows(0);
        debug_assert_eq!(now.row_group, earlier.row_group, "versions of one row group");
        let rows = match (&earlier.left, &now.left) {
            (None, None) => return Some(None),
            (Some(earlier), Some(now)) if Arc::ptr_eq(earlier, now) => return Some(None),
            _ => earlier.live_rows().without(&now.live_rows())?,
        };
        let decoded = self.stored().filter(|_| rows.count() > 0).map(|row_group| row_group.decoded.clone());
        Some(decoded.map(|decoded| SupersededRows { decoded, rows }))
    }

    /// Returns whether the file has further rows of the row group, which are superseded.
    pub(crate) fn has_superseded(&self) -> bool {
        self.stored().is_some_and(|row_group| row_group.file.has_superseded(row_group.decoded.number))
    }

    /// Returns the file of the row group; `None` in memory.
    pub(crate) fn file(&self) -> Option<&TableFile> {
        self.stored().map(|row_group| &*row_group.file)
    }

    /// Returns the row group of a file; `None` in memory.
    const fn stored(&self) -> Option<&StoredRowGroup> {
        match &self.columns {
            Columns::Memory(..) => None,
            Columns::Stored(row_group) => Some(row_group),
        }
    }
}

/// Returns the columns of row groups, one after another.
pub(super) fn read_each<'a, T: TableColumns>(
    row_groups: impl IntoIterator<Item = &'a RowGroup<T>>,
    projection: &'a T::Projection,
) -> impl Iterator<Item = Result<Arc<T>, DatasetError>> {
    let row_groups: Vec<&RowGroup<T>> = row_groups.into_iter().collect();
    let footers =
        TableFile::read_footers(row_groups.iter().filter_map(|row_group| row_group.file()), &Interrupt::default());
    let is_remote = row_groups.first().is_some_and(|row_group| row_group.is_remote());
    let read_ahead = row_groups.clone();
    let ahead = ReadAhead::new(is_remote, move |at| Some(read_ahead.get(at)?.read_ahead(projection)));
    let read = move |(at, row_group): (usize, &RowGroup<T>)| {
        row_group.read_until(projection, ahead.take(at), &Interrupt::default())
    };
    footers.err().map(Err).into_iter().chain(row_groups.into_iter().enumerate().map(read))
}

impl RowGroup<EventColumns> {
    /// Checks that no event is after the last day of the statistics, on which a cohort relies for its tables of days.
    pub(crate) fn check_last_day(&self, columns: &EventColumns) -> Result<(), DatasetError> {
        let last = self.entry.last_day().number();
        match &self.columns {
            Columns::Stored(row_group) if columns.blocks.iter().any(|block| block.last_day > last) => {
                let fault = ColumnFault::new("date", "a date is not within the statistics");
                Err(row_group.file.damaged(row_group.decoded.number, fault))
            }
            _ => Ok(()),
        }
    }
}

impl StoredRowGroup {
    fn new(file: &Arc<TableFile>, number: usize, cache: &Arc<CountedCache>) -> Self {
        let decoded = DecodedRowGroup {
            file: file.clone(),
            number,
            cache: cache.clone(),
            key: cache.new_key(),
            decoding: Mutex::new(()),
        };
        Self { file: file.clone(), decoded: Arc::new(decoded), view: None, left: OnceLock::new() }
    }

    /// Returns the row group as another version of the dataset has it in `file`; `None` if it is to be decoded again.
    fn share(&self, file: &Arc<TableFile>, number: usize) -> Option<Self> {
        let decoded = &self.decoded;
        let (former, left) = (decoded.file.live_rows(number), file.live_rows(number));
        let mut view = None;
        if former != left {
            if !decoded.cache.holds(decoded.key) {
                return None;
            }
            let left = left?;
            let left = former.as_ref().map_or_else(|| Some(left.clone()), |former| left.among(former))?;
            let rows = former.map_or_else(|| decoded.file.rows(number), |former| former.count());
            if (rows - left.count()).saturating_mul(ROWS_PER_SUPERSEDED) > rows {
                return None;
            }
            view = Some(LeftRowsView { left, key: decoded.cache.new_key() });
        }
        Some(Self { file: file.clone(), decoded: decoded.clone(), view, left: OnceLock::new() })
    }

    /// Returns columns with those of `projection`, decoded if they are not held.
    fn read<T: TableColumns>(
        &self,
        projection: &T::Projection,
        ahead: StartedReads,
        interrupt: &Interrupt,
    ) -> Result<Arc<T>, DatasetError> {
        let Self { file, decoded, view, .. } = self;
        let Some(view) = view else { return decoded.read(projection, ahead, interrupt) };
        let held: Option<Arc<T>> = decoded.cache.get_view(decoded.key, view.key);
        if let Some(held) = held.filter(|held| includes(&**held, projection)) {
            decoded.cache.count_hit();
            return Ok(held);
        }
        let all: Arc<T> = decoded.read(projection, ahead, interrupt)?;
        let left = all.leave_out(&view.left).map_err(|fault| file.damaged(decoded.number, fault))?;
        file.check_left_days(decoded.number, left.left_days())?;
        let left = Arc::new(left);
        decoded.cache.put_view(decoded.key, &all, view.key, left.clone(), left.left_bytes());
        Ok(left)
    }
}

impl Drop for StoredRowGroup {
    fn drop(&mut self) {
        if let Some(view) = &self.view {
            self.decoded.cache.remove_view(self.decoded.key, view.key);
        }
    }
}

impl Drop for DecodedRowGroup {
    fn drop(&mut self) {
        self.cache.remove(self.key);
    }
}

impl DecodedRowGroup {
    /// Returns the held columns, if they include `projection`.
    fn held<T: TableColumns>(&self, projection: &T::Projection) -> Option<Arc<T>> {
        self.cache.get(self.key).filter(|columns: &Arc<T>| includes(&**columns, projection))
    }

    /// Returns the held columns with those of `projection`, decoded if they are not held.
    fn read<T: TableColumns>(
        &self,
        projection: &T::Projection,
        ahead: StartedReads,
        interrupt: &Interrupt,
    ) -> Result<Arc<T>, DatasetError> {
        if let Some(held) = self.held(projection) {
            self.cache.count_hit();
            return Ok(held);
        }
        // A panic leaves nothing half done, because only complete columns enter the cache.
        let _decoding = self.file.lock(&self.decoding, interrupt)?;
        let held: Option<Arc<T>> = self.cache.get(self.key);
        let columns = match held {
            Some(held) if includes(&*held, projection) => {
                self.cache.count_hit();
                return Ok(held);
            }
            Some(held) => self.decode(&held.missing(projection), Some(T::clone(&held)), ahead, interrupt),
            None => self.decode(projection, None, ahead, interrupt),
        };
        self.cache.count_miss();
        let columns = Arc::new(columns?);
        self.cache.put(self.key, columns.clone(), columns.bytes());
        Ok(columns)
    }

    /// Returns the columns of `projection` for some stored rows alone, those of whole customers.
    fn read_rows<T: TableColumns>(
        &self,
        projection: &T::Projection,
        rows: &LiveRows,
        interrupt: &Interrupt,
    ) -> Result<T, DatasetError> {
        let damaged = |fault| self.file.damaged(self.number, fault);
        let decoded = self.file.live_rows(self.number);
        let among = decoded.map_or_else(|| Some(rows.clone()), |decoded| rows.among(&decoded));
        let columns = match self.held::<T>(projection).zip(among) {
            Some((held, among)) => held.leave_out(&among).map_err(damaged)?,
            None => {
                let names = T::names(projection, true);
                let source = self.file.read_rows(self.number, &names, rows.clone(), interrupt)?;
                T::decode(&source, projection).map_err(damaged)?
            }
        };
        self.file.check_days(self.number, columns.left_days())?;
        Ok(columns)
    }

    /// Starts to read what [`read`](Self::read) would decode now. Errors are left to `read`.
    fn read_ahead<T: TableColumns>(&self, projection: &T::Projection) -> StartedReads {
        let held: Option<Arc<T>> = self.cache.get(self.key);
        let missing = held.as_ref().map(|held| held.missing(projection));
        let names = T::names(missing.as_ref().unwrap_or(projection), held.is_none());
        self.file.read_ahead(self.number, &names).unwrap_or_default()
    }

    /// Decodes the columns of `projection`, and adds them to the `held` ones.
    fn decode<T: TableColumns>(
        &self,
        projection: &T::Projection,
        held: Option<T>,
        ahead: StartedReads,
        interrupt: &Interrupt,
    ) -> Result<T, DatasetError> {
        let rows = self.file.read(self.number, &T::names(projection, held.is_none()), ahead, interrupt)?;
        let is_first = held.is_none();
        let columns = match held {
            Some(held) => held.with(&rows, projection),
            None => T::decode(&rows, projection),
        };
        let columns = columns.map_err(|fault| self.file.damaged(self.number, fault))?;
        if is_first {
            self.file.check_left_days(self.number, columns.left_days())?;
        }
        Ok(columns)
    }
}

impl RowGroupRows {
    /// Returns the number of the file in this process, and that of the row group in the file.
    pub(crate) const fn row_group(&self) -> (u64, usize) {
        self.row_group
    }

    /// Returns all rows, after no version has the row group any more; `None` if they cannot be read.
    pub(crate) fn vanished(&self) -> Option<SupersededRows> {
        Some(SupersededRows { decoded: self.decoded.clone()?, rows: self.live_rows() })
    }

    fn live_rows(&self) -> LiveRows {
        let all = || LiveRows::new(std::iter::once(0..self.all).filter(|rows| !rows.is_empty()).collect());
        self.left.as_ref().map_or_else(all, |left| LiveRows::clone(left))
    }

    /// Returns the number of bytes held, shared ones included.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.left.as_ref().map_or(0, |left| size_of_val(left.ranges()))
    }
}

impl SupersededRows {
    /// Returns the number of rows.
    pub(crate) fn count(&self) -> u64 {
        self.rows.count() as u64
    }

    /// Returns the columns of `projection` of these rows alone. What is decoded for them is not held.
    pub(crate) fn read(
        &self,
        projection: &EventProjection,
        interrupt: &Interrupt,
    ) -> Result<EventColumns, DatasetError> {
        self.decoded.read_rows(projection, &self.rows, interrupt)
    }
}

/// Returns whether the columns include `projection`.
fn includes<T: TableColumns>(columns: &T, projection: &T::Projection) -> bool {
    columns.missing(projection) == T::Projection::default()
}
