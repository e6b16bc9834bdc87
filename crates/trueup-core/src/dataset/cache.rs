//! Decoded columns, held for the next query under a budget.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Decoded parts of tables. When they take more than the budget, those that were read longest ago are dropped; a query that is
/// reading one keeps it as long as it needs it.
#[derive(Debug)]
pub(super) struct ColumnCache(Mutex<Held>);

#[derive(Debug)]
struct Held {
    parts: HashMap<usize, Entry>,
    /// Bytes of all parts.
    bytes: usize,
    budget: usize,
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
        Self(Mutex::new(Held { parts: HashMap::new(), bytes: 0, budget, reads: 0 }))
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

    /// The bytes of the columns that are held.
    pub(super) fn bytes(&self) -> usize {
        self.held().bytes
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing that may panic happens while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn shrink(&mut self) {
        while self.bytes > self.budget {
            let oldest = self.parts.iter().min_by_key(|(_, entry)| entry.last_read).map(|(part, _)| *part);
            let Some(entry) = oldest.and_then(|part| self.parts.remove(&part)) else { return };
            self.bytes -= entry.bytes;
        }
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
}
