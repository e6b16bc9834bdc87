//! Row groups of a table, read column by column, and the cache that holds their decoded columns for later queries.

use super::checked_file::ReadingAhead;
use super::condition::ColumnCacheCounts;
use super::error::DatasetError;
use super::manifest::RowGroupEntry;
use super::read_ahead::ReadAhead;
use super::table_file::TableFile;
use crate::memory::Evict;
use crate::scan::{ColumnFault, EventColumns, TableColumns};
use crate::{Interrupt, MemoryBudget};
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::Duration;

/// The time between two checks whether another thread has decoded columns of a store.
const PAUSE: Duration = Duration::from_millis(1);

/// Rows of a table that are read and aggregated together. A row group of events holds whole customers.
#[derive(Debug)]
pub(crate) struct RowGroup<T> {
    pub(crate) entry: RowGroupEntry,
    columns: Columns<T>,
}

/// Where the columns of a row group come from.
#[derive(Debug)]
enum Columns<T> {
    Memory(Arc<T>),
    Stored(StoredRowGroup),
}

/// A row group of a file, and the cache that holds its decoded columns.
#[derive(Debug)]
struct StoredRowGroup {
    file: Arc<TableFile>,
    /// The number of the row group in the file.
    number: usize,
    cache: Arc<ColumnCache>,
    /// The key of the row group in the cache.
    cache_key: usize,
    /// Locked while columns are decoded, so that queries that need the same columns decode them once.
    decoding: Mutex<()>,
}

impl<T: TableColumns> RowGroup<T> {
    /// Makes a row group in memory.
    pub(super) fn in_memory(entry: RowGroupEntry, columns: T) -> Self {
        Self { entry, columns: Columns::Memory(Arc::new(columns)) }
    }

    /// Returns the row groups of a file. Their keys in the cache begin with `first_key`.
    pub(super) fn of_file(file: &Arc<TableFile>, cache: &Arc<ColumnCache>, first_key: usize) -> Vec<Self> {
        let row_group = |number| Self {
            entry: file.row_group(number),
            columns: Columns::Stored(StoredRowGroup {
                file: file.clone(),
                number,
                cache: cache.clone(),
                cache_key: first_key + number,
                decoding: Mutex::new(()),
            }),
        };
        (0..file.row_groups()).map(row_group).collect()
    }

    /// Returns the columns of `projection`, and any others that are held. Decodes the columns that are not held, from
    /// what was read ahead if it was. `interrupt` ends the wait for a store.
    pub(crate) fn read_until(
        &self,
        projection: &T::Projection,
        ahead: ReadingAhead,
        interrupt: &Interrupt,
    ) -> Result<Arc<T>, DatasetError> {
        match &self.columns {
            Columns::Memory(columns) => Ok(columns.clone()),
            Columns::Stored(row_group) => row_group.read(projection, ahead, interrupt),
        }
    }

    /// Starts to read the columns of `projection` that are not held, if they are in an object store.
    pub(crate) fn read_ahead(&self, projection: &T::Projection) -> ReadingAhead {
        match &self.columns {
            Columns::Memory(_) => ReadingAhead::default(),
            Columns::Stored(row_group) => row_group.read_ahead::<T>(projection),
        }
    }

    /// Returns whether the row group is in an object store.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(&self.columns, Columns::Stored(row_group) if row_group.file.is_remote())
    }

    /// Returns the bytes of the columns of `projection` in the file; 0 in memory.
    pub(crate) fn stored_bytes(&self, projection: &T::Projection) -> Result<u64, DatasetError> {
        match &self.columns {
            Columns::Memory(_) => Ok(0),
            Columns::Stored(row_group) => row_group.file.column_bytes(row_group.number, &T::names(projection, true)),
        }
    }
}

impl<T> RowGroup<T> {
    /// Returns the number of rows.
    pub(crate) const fn rows(&self) -> u64 {
        self.entry.rows
    }

    /// Returns whether the file has further rows of the row group, which are superseded.
    pub(crate) fn has_superseded(&self) -> bool {
        matches!(&self.columns, Columns::Stored(row_group) if row_group.file.has_superseded(row_group.number))
    }

    /// Returns the file of the row group; `None` in memory.
    pub(crate) fn file(&self) -> Option<&TableFile> {
        match &self.columns {
            Columns::Memory(_) => None,
            Columns::Stored(row_group) => Some(&row_group.file),
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
            Columns::Stored(row_group) if columns.customers.blocks().iter().any(|block| block.last_day > last) => {
                let fault = ColumnFault::new("date", "a date is not within the statistics");
                Err(row_group.file.damaged(row_group.number, fault))
            }
            _ => Ok(()),
        }
    }
}

impl StoredRowGroup {
    /// Returns the held columns, if they include `projection`.
    fn held<T: TableColumns>(&self, projection: &T::Projection) -> Option<Arc<T>> {
        self.cache.get(self.cache_key).filter(|columns: &Arc<T>| includes(&**columns, projection))
    }

    /// Returns the held columns with those of `projection`, decoded if they are not held.
    fn read<T: TableColumns>(
        &self,
        projection: &T::Projection,
        ahead: ReadingAhead,
        interrupt: &Interrupt,
    ) -> Result<Arc<T>, DatasetError> {
        if let Some(held) = self.held(projection) {
            self.cache.count_hit();
            return Ok(held);
        }
        let _decoding = self.lock(interrupt)?;
        let held: Option<Arc<T>> = self.cache.get(self.cache_key);
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
        self.cache.put(self.cache_key, columns.clone(), columns.bytes());
        Ok(columns)
    }

    /// Starts to read what [`read`](Self::read) would decode now. An error is left to it.
    fn read_ahead<T: TableColumns>(&self, projection: &T::Projection) -> ReadingAhead {
        let held: Option<Arc<T>> = self.cache.get(self.cache_key);
        let missing = held.as_ref().map(|held| held.missing(projection));
        let names = T::names(missing.as_ref().unwrap_or(projection), held.is_none());
        self.file.read_ahead(self.number, &names).unwrap_or_default()
    }

    /// Waits until no other thread decodes columns. A thread that panics while it holds the lock leaves nothing half
    /// done, because it puts only complete columns.
    fn lock(&self, interrupt: &Interrupt) -> Result<MutexGuard<'_, ()>, DatasetError> {
        // Another thread holds the lock for as long as the store takes to answer.
        while self.file.is_remote() {
            match self.decoding.try_lock() {
                Ok(lock) => return Ok(lock),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    interrupt.check()?;
                    thread::sleep(PAUSE);
                }
            }
        }
        Ok(self.decoding.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decodes the columns of `projection`, and adds them to the `held` ones.
    fn decode<T: TableColumns>(
        &self,
        projection: &T::Projection,
        held: Option<T>,
        ahead: ReadingAhead,
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
            self.file.check_left_days(self.number, columns.days())?;
        }
        Ok(columns)
    }
}

/// Returns whether the columns include `projection`.
fn includes<T: TableColumns>(columns: &T, projection: &T::Projection) -> bool {
    columns.missing(projection) == T::Projection::default()
}

/// The decoded columns of row groups. If they take more than the budget, the columns that have not been read for the
/// longest time are dropped. A query that still uses dropped columns keeps them until it ends.
#[derive(Debug)]
pub(super) struct ColumnCache {
    cached: Mutex<CachedColumns>,
    /// How often all columns that a query needs of a row group were held.
    hits: AtomicU64,
    /// How often some had to be decoded.
    misses: AtomicU64,
}

/// What a cache holds.
#[derive(Debug)]
struct CachedColumns {
    /// The columns of each row group, by its key.
    row_groups: HashMap<usize, CachedRowGroup>,
    /// The bytes of all columns.
    bytes: usize,
    /// The most bytes of all columns.
    budget: usize,
    /// The shared budget, if the columns count against one.
    memory: Option<MemoryBudget>,
    /// The bytes that count against the shared budget.
    counted: usize,
    /// The number of reads and writes so far, which orders the entries by age.
    accesses: u64,
}

/// The columns of a row group.
#[derive(Debug)]
struct CachedRowGroup {
    columns: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    /// The value of [`CachedColumns::accesses`] at the last access.
    last_access: u64,
}

impl ColumnCache {
    pub(super) fn new(budget: usize) -> Self {
        let cached =
            CachedColumns { row_groups: HashMap::new(), bytes: 0, budget, memory: None, counted: 0, accesses: 0 };
        Self { cached: Mutex::new(cached), hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// Returns the columns that are held under a row group's key; `None` if there are none.
    pub(super) fn get<T: Any + Send + Sync>(&self, key: usize) -> Option<Arc<T>> {
        let mut cached = self.locked();
        cached.accesses += 1;
        let accesses = cached.accesses;
        let entry = cached.row_groups.get_mut(&key)?;
        entry.last_access = accesses;
        // A row group belongs to one table, so its columns always have the same type.
        entry.columns.clone().downcast().ok()
    }

    /// Holds columns under a row group's key, in place of earlier ones. Drops columns if they exceed the budget.
    pub(super) fn put<T: Any + Send + Sync>(&self, key: usize, columns: Arc<T>, bytes: usize) {
        let mut cached = self.locked();
        cached.accesses += 1;
        let entry = CachedRowGroup { columns, bytes, last_access: cached.accesses };
        let before = cached.row_groups.insert(key, entry).map_or(0, |entry| entry.bytes);
        cached.bytes = cached.bytes - before + bytes;
        cached.shrink();
    }

    /// Changes the budget, and drops columns that do not fit.
    pub(super) fn set_budget(&self, budget: usize) {
        let mut cached = self.locked();
        cached.budget = budget;
        cached.shrink();
    }

    /// Counts the columns against a shared budget, which drops some when a query needs their memory.
    pub(super) fn count_against(self: &Arc<Self>, memory: &MemoryBudget) {
        let mut cached = self.locked();
        cached.stop_counting();
        cached.memory = Some(memory.clone());
        cached.shrink();
        drop(cached);
        let cache: Weak<Self> = Arc::downgrade(self);
        memory.watch(cache);
    }

    /// Returns the bytes of the held columns.
    pub(super) fn bytes(&self) -> usize {
        self.locked().bytes
    }

    fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often the columns of a row group were held, and how often some were not.
    pub(super) fn counts(&self) -> ColumnCacheCounts {
        ColumnCacheCounts { hits: self.hits.load(Ordering::Relaxed), misses: self.misses.load(Ordering::Relaxed) }
    }

    fn locked(&self) -> MutexGuard<'_, CachedColumns> {
        // The code that holds the lock cannot panic.
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Evict for ColumnCache {
    fn evict(&self, bytes: usize) {
        let mut cached = self.locked();
        let most = cached.bytes.saturating_sub(bytes);
        while cached.bytes > most && cached.drop_oldest() {}
        cached.shrink();
    }
}

impl CachedColumns {
    /// Drops columns until the rest fits into both budgets.
    fn shrink(&mut self) {
        while (self.bytes > self.budget || !self.count()) && self.drop_oldest() {}
    }

    /// Drops the columns that have not been read for the longest time. Returns whether there were any.
    fn drop_oldest(&mut self) -> bool {
        let oldest = self.row_groups.iter().min_by_key(|(_, entry)| entry.last_access).map(|(row_group, _)| *row_group);
        let Some(entry) = oldest.and_then(|row_group| self.row_groups.remove(&row_group)) else { return false };
        self.bytes -= entry.bytes;
        true
    }

    /// Counts the held bytes against the shared budget. Returns whether they fit.
    fn count(&mut self) -> bool {
        let is_counted = self.memory.as_ref().is_none_or(|memory| memory.count_columns(self.counted, self.bytes));
        if is_counted {
            self.counted = self.bytes;
        }
        is_counted
    }

    /// Stops counting against the shared budget.
    fn stop_counting(&mut self) {
        if let Some(memory) = self.memory.take() {
            memory.count_columns(self.counted, 0);
        }
        self.counted = 0;
    }
}

impl Drop for CachedColumns {
    fn drop(&mut self) {
        self.stop_counting();
    }
}
