//! A cache whose bytes are counted: of the decoded columns of row groups, or of the results of earlier queries.
//! Versions that were reopened from each other share one of each.

use crate::MemoryBudget;
use crate::memory::Evict;
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The decoded columns of row groups, or results. If they take more than the budget, the ones that have not been read
/// for the longest time are dropped. A query that still uses dropped columns keeps them until it ends.
#[derive(Debug)]
pub(super) struct CountedCache {
    cached: Mutex<CachedColumns>,
    /// How often all columns that a query needs of a row group were held.
    hits: AtomicU64,
    /// How often some had to be decoded.
    misses: AtomicU64,
    /// The first key that is not in use yet.
    next_key: AtomicUsize,
}

/// How often a query found the columns that it needs of a row group in memory, since the dataset was opened. Versions
/// that were reopened from each other share the counts, which begin with the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnCacheCounts {
    /// All columns were in memory.
    pub hits: u64,
    /// Some had to be decoded.
    pub misses: u64,
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
    /// The same columns without rows that a later version has superseded, by keys of their own.
    views: HashMap<usize, View>,
    /// The bytes of the columns and of what the views do not share with them.
    bytes: usize,
    /// The value of [`CachedColumns::accesses`] at the last access.
    last_access: u64,
}

/// Columns that leave out some rows of others.
#[derive(Debug)]
struct View {
    columns: Arc<dyn Any + Send + Sync>,
    /// The bytes that are not shared.
    bytes: usize,
}

impl CountedCache {
    pub(super) fn new(budget: usize) -> Self {
        let cached =
            CachedColumns { row_groups: HashMap::new(), bytes: 0, budget, memory: None, counted: 0, accesses: 0 };
        let next_key = AtomicUsize::new(0);
        Self { cached: Mutex::new(cached), hits: AtomicU64::new(0), misses: AtomicU64::new(0), next_key }
    }

    /// Returns a key that nothing else has.
    pub(super) fn new_key(&self) -> usize {
        self.next_key.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the columns that are held under a row group's key; `None` if there are none.
    pub(super) fn get<T: Any + Send + Sync>(&self, key: usize) -> Option<Arc<T>> {
        self.access(key, |entry| Some(entry.columns.clone()))
    }

    /// Returns the columns that are held under a row group's key, without counting as an access.
    pub(super) fn peek<T: Any + Send + Sync>(&self, key: usize) -> Option<Arc<T>> {
        self.locked().row_groups.get(&key)?.columns.clone().downcast().ok()
    }

    /// Returns the columns of a view, which is held under a key of its own next to those of a row group.
    pub(super) fn get_view<T: Any + Send + Sync>(&self, key: usize, view: usize) -> Option<Arc<T>> {
        self.access(key, |entry| entry.views.get(&view).map(|view| view.columns.clone()))
    }

    fn access<T: Any + Send + Sync>(
        &self,
        key: usize,
        columns: impl FnOnce(&CachedRowGroup) -> Option<Arc<dyn Any + Send + Sync>>,
    ) -> Option<Arc<T>> {
        let mut cached = self.locked();
        cached.accesses += 1;
        let accesses = cached.accesses;
        let entry = cached.row_groups.get_mut(&key)?;
        entry.last_access = accesses;
        // A row group belongs to one table, so its columns always have the same type.
        columns(entry)?.downcast().ok()
    }

    /// Returns whether columns are held under a row group's key.
    pub(super) fn holds(&self, key: usize) -> bool {
        self.locked().row_groups.contains_key(&key)
    }

    /// Holds columns under a row group's key, in place of earlier ones and their views. Drops columns if they exceed
    /// the budget.
    pub(super) fn put<T: Any + Send + Sync>(&self, key: usize, columns: Arc<T>, bytes: usize) {
        let mut cached = self.locked();
        cached.accesses += 1;
        let entry = CachedRowGroup { columns, views: HashMap::new(), bytes, last_access: cached.accesses };
        let before = cached.row_groups.insert(key, entry).map_or(0, |entry| entry.bytes);
        cached.bytes = cached.bytes - before + bytes;
        cached.shrink();
    }

    /// Holds a view of columns that are held under a row group's key. The view is not held if the columns no longer
    /// are.
    pub(super) fn put_view<T: Any + Send + Sync>(
        &self,
        key: usize,
        of: &Arc<T>,
        view: usize,
        columns: Arc<T>,
        bytes: usize,
    ) {
        let mut cached = self.locked();
        let Some(entry) = cached.row_groups.get_mut(&key) else { return };
        // Otherwise, the view would keep columns in memory that are not counted.
        if Arc::as_ptr(of).addr() != Arc::as_ptr(&entry.columns).addr() {
            return;
        }
        let before = entry.views.insert(view, View { columns, bytes }).map_or(0, |view| view.bytes);
        entry.bytes = entry.bytes - before + bytes;
        cached.bytes = cached.bytes - before + bytes;
        cached.shrink();
    }

    /// Drops what is held under a row group's key.
    pub(super) fn remove(&self, key: usize) {
        let mut cached = self.locked();
        let removed = cached.row_groups.remove(&key);
        cached.bytes -= removed.as_ref().map_or(0, |entry| entry.bytes);
        cached.shrink();
        drop(cached);
        // Dropped after the lock is released, because freeing columns takes a while.
        drop(removed);
    }

    /// Drops a view.
    pub(super) fn remove_view(&self, key: usize, view: usize) {
        let mut cached = self.locked();
        let Some(entry) = cached.row_groups.get_mut(&key) else { return };
        let bytes = entry.views.remove(&view).map_or(0, |view| view.bytes);
        entry.bytes -= bytes;
        cached.bytes -= bytes;
        cached.shrink();
    }

    /// Changes the budget, and drops columns that do not fit.
    pub(super) fn set_budget(&self, budget: usize) {
        let mut cached = self.locked();
        cached.budget = budget;
        cached.shrink();
    }

    /// Returns the budget.
    pub(super) fn budget(&self) -> usize {
        self.locked().budget
    }

    /// Counts the columns against a shared budget, which drops some when a query needs their memory.
    pub(super) fn count_against(self: &Arc<Self>, memory: &MemoryBudget) {
        let mut cached = self.locked();
        if cached.memory.as_ref().is_some_and(|counted| counted.is_same(memory)) {
            return;
        }
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

    pub(super) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_miss(&self) {
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

impl Evict for CountedCache {
    fn evict(&self, bytes: usize) -> usize {
        let mut cached = self.locked();
        let before = cached.bytes;
        let most = before.saturating_sub(bytes);
        while cached.bytes > most && cached.drop_oldest() {}
        cached.shrink();
        before - cached.bytes
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
