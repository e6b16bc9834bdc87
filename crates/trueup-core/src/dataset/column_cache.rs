//! Decoded columns, held for later queries within a budget.

use crate::MemoryBudget;
use crate::memory::Evict;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The decoded columns of row groups. If they take more than the budget, the columns that have not been read for the
/// longest time are dropped. A query that still uses dropped columns keeps them until it ends.
#[derive(Debug)]
pub(super) struct ColumnCache(Mutex<Held>);

/// What a cache holds.
#[derive(Debug)]
struct Held {
    /// The columns of each row group, by its key.
    row_groups: HashMap<usize, Entry>,
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
struct Entry {
    columns: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    /// The value of [`Held::accesses`] at the last access.
    last_access: u64,
}

impl ColumnCache {
    pub(super) fn new(budget: usize) -> Self {
        Self(Mutex::new(Held { row_groups: HashMap::new(), bytes: 0, budget, memory: None, counted: 0, accesses: 0 }))
    }

    /// Returns the held columns of a row group.
    pub(super) fn get<T: Any + Send + Sync>(&self, row_group: usize) -> Option<Arc<T>> {
        let mut held = self.held();
        held.accesses += 1;
        let accesses = held.accesses;
        let entry = held.row_groups.get_mut(&row_group)?;
        entry.last_access = accesses;
        // A row group belongs to one table, so its columns always have the same type.
        entry.columns.clone().downcast().ok()
    }

    /// Holds the columns of a row group, in place of earlier ones. Drops columns if they exceed the budget.
    pub(super) fn put<T: Any + Send + Sync>(&self, row_group: usize, columns: Arc<T>, bytes: usize) {
        let mut held = self.held();
        held.accesses += 1;
        let entry = Entry { columns, bytes, last_access: held.accesses };
        let before = held.row_groups.insert(row_group, entry).map_or(0, |entry| entry.bytes);
        held.bytes = held.bytes - before + bytes;
        held.shrink();
    }

    /// Changes the budget, and drops columns that do not fit.
    pub(super) fn set_budget(&self, budget: usize) {
        let mut held = self.held();
        held.budget = budget;
        held.shrink();
    }

    /// Counts the columns against a shared budget, which drops some when a query needs their memory.
    pub(super) fn count_against(self: &Arc<Self>, memory: &MemoryBudget) {
        let mut held = self.held();
        held.stop_counting();
        held.memory = Some(memory.clone());
        held.shrink();
        drop(held);
        let cache: Weak<Self> = Arc::downgrade(self);
        memory.watch(cache);
    }

    /// Returns the bytes of the held columns.
    pub(super) fn bytes(&self) -> usize {
        self.held().bytes
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // The code that holds the lock cannot panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Evict for ColumnCache {
    fn evict(&self, bytes: usize) {
        let mut held = self.held();
        let most = held.bytes.saturating_sub(bytes);
        while held.bytes > most && held.drop_oldest() {}
        held.shrink();
    }
}

impl Held {
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

impl Drop for Held {
    fn drop(&mut self) {
        self.stop_counting();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_not_read_for_the_longest_time_are_dropped_first() {
        let cache = ColumnCache::new(10);
        let held = |row_group| cache.get::<u8>(row_group).is_some();
        for row_group in 0..3 {
            cache.put(row_group, Arc::new(0_u8), 4);
        }
        assert_eq!((held(0), held(1), held(2), cache.bytes()), (false, true, true, 8));
        cache.get::<u8>(1);
        cache.put(3, Arc::new(0_u8), 4);
        assert_eq!((held(1), held(2), held(3)), (true, false, true));
        cache.put(3, Arc::new(0_u8), 6);
        assert_eq!((held(1), held(3), cache.bytes()), (true, true, 10));
        cache.put(4, Arc::new(0_u8), 11);
        assert_eq!((held(1), held(4), cache.bytes()), (false, false, 0));
        cache.put(5, Arc::new(0_u8), 3);
        cache.set_budget(2);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn columns_give_way_to_queries_and_never_displace_them() {
        let memory = MemoryBudget::new(100);
        let [first, second] = [80, 80].map(|budget| Arc::new(ColumnCache::new(budget)));
        // Columns that are already held count.
        (0..4).for_each(|row_group| first.put(row_group, Arc::new(0_u8), 20));
        first.count_against(&memory);
        assert_eq!((first.bytes(), memory.held()), (80, 80));
        second.count_against(&memory);
        (0..2).for_each(|row_group| second.put(row_group, Arc::new(0_u8), 20));
        // The second cache drops its own columns, never those of the first.
        assert_eq!((first.bytes(), second.bytes(), memory.held()), (80, 20, 100));
        let query = memory.reserve(50);
        assert!(query.is_ok());
        assert_eq!((first.bytes(), second.bytes(), memory.held()), (20, 20, 90));
        second.put(2, Arc::new(0_u8), 20);
        assert_eq!((second.get::<u8>(2).is_some(), second.bytes(), memory.held()), (true, 20, 90));
        drop(query);
        assert_eq!(memory.held(), 40);
        drop(first);
        assert_eq!(memory.held(), 20);
    }
}
