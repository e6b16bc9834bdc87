//! Decoded columns, held for the next query under a budget.

use crate::MemoryBudget;
use crate::memory::Evict;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Decoded parts of tables. When they take more than the budget, those that were read longest ago are dropped; a query that is
/// reading one keeps it as long as it needs it.
#[derive(Debug)]
pub(super) struct ColumnCache(Mutex<Held>);

#[derive(Debug)]
struct Held {
    parts: HashMap<usize, Entry>,
    /// Bytes of all parts.
    bytes: usize,
    /// The most bytes of all parts.
    budget: usize,
    /// What counts these bytes besides, if anything does, and how many it has counted.
    memory: Option<MemoryBudget>,
    counted: usize,
    /// Counts what is read, to tell what was read before what.
    reads: u64,
}

#[derive(Debug)]
struct Entry {
    columns: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    last_read: u64,
}

impl ColumnCache {
    pub(super) fn new(budget: usize) -> Self {
        Self(Mutex::new(Held { parts: HashMap::new(), bytes: 0, budget, memory: None, counted: 0, reads: 0 }))
    }

    /// The columns held of a part.
    pub(super) fn get<T: Any + Send + Sync>(&self, part: usize) -> Option<Arc<T>> {
        let mut held = self.held();
        held.reads += 1;
        let reads = held.reads;
        let entry = held.parts.get_mut(&part)?;
        entry.last_read = reads;
        // A part is always of one table.
        entry.columns.clone().downcast().ok()
    }

    /// Holds the columns of a part in place of those that were held of it.
    pub(super) fn put<T: Any + Send + Sync>(&self, part: usize, columns: Arc<T>, bytes: usize) {
        let mut held = self.held();
        held.reads += 1;
        let entry = Entry { columns, bytes, last_read: held.reads };
        let before = held.parts.insert(part, entry).map_or(0, |entry| entry.bytes);
        held.bytes = held.bytes - before + bytes;
        held.shrink();
    }

    /// Changes the budget, at once.
    pub(super) fn set_budget(&self, budget: usize) {
        let mut held = self.held();
        held.budget = budget;
        held.shrink();
    }

    /// Counts the columns against a budget, which drops some when others need their place.
    pub(super) fn count_against(self: &Arc<Self>, memory: &MemoryBudget) {
        let mut held = self.held();
        held.count_nowhere();
        held.memory = Some(memory.clone());
        held.shrink();
        drop(held);
        let cache: Weak<Self> = Arc::downgrade(self);
        memory.watch(cache);
    }

    /// The bytes of the columns that are held.
    pub(super) fn bytes(&self) -> usize {
        self.held().bytes
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing that may panic happens while it is locked.
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
    /// Drops columns until the others are as few as they may be, and counted.
    fn shrink(&mut self) {
        while (self.bytes > self.budget || !self.count()) && self.drop_oldest() {}
    }

    fn drop_oldest(&mut self) -> bool {
        let oldest = self.parts.iter().min_by_key(|(_, entry)| entry.last_read).map(|(part, _)| *part);
        let Some(entry) = oldest.and_then(|part| self.parts.remove(&part)) else { return false };
        self.bytes -= entry.bytes;
        true
    }

    /// Counts the bytes that are held; whether there is room for them.
    fn count(&mut self) -> bool {
        let is_counted = self.memory.as_ref().is_none_or(|memory| memory.count_columns(self.counted, self.bytes));
        if is_counted {
            self.counted = self.bytes;
        }
        is_counted
    }

    fn count_nowhere(&mut self) {
        if let Some(memory) = self.memory.take() {
            memory.count_columns(self.counted, 0);
        }
        self.counted = 0;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.count_nowhere();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_longest_ago_is_dropped_first() {
        let cache = ColumnCache::new(10);
        let held = |part| cache.get::<u8>(part).is_some();
        for part in 0..3 {
            cache.put(part, Arc::new(0_u8), 4);
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
    fn columns_make_room_for_queries_and_never_take_theirs() {
        let memory = MemoryBudget::new(100);
        let [first, second] = [80, 80].map(|budget| Arc::new(ColumnCache::new(budget)));
        // What is held already counts.
        (0..4).for_each(|part| first.put(part, Arc::new(0_u8), 20));
        first.count_against(&memory);
        assert_eq!((first.bytes(), memory.held()), (80, 80));
        second.count_against(&memory);
        (0..2).for_each(|part| second.put(part, Arc::new(0_u8), 20));
        // The second drops its own, never those of the first.
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
