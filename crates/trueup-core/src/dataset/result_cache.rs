//! Results of earlier queries, kept for later ones. Versions that were reopened from each other share them.

use super::counted_cache::CountedCache;
use crate::model::Accounts;
use crate::query::AggregatedQuery;
use crate::{Day, MemoryBudget};
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A result takes at most this part of the budget, so that one question does not drop the results of all others.
const RESULTS_AT_LEAST: usize = 4;

/// The results of earlier queries, each at most once per key.
#[derive(Debug)]
pub(crate) struct ResultCache {
    /// The keys of the results, each with the number under which its result is held, unless that was dropped.
    keys: Mutex<Vec<(ResultKey, usize)>>,
    held: Arc<CountedCache>,
    reused: AtomicU64,
    updated: AtomicU64,
    computed: AtomicU64,
}

/// All that a result depends on, except for the rows of events and spend that it covers: whatever is equal here has the
/// same result over the same rows.
#[derive(Debug)]
pub(crate) struct ResultKey {
    pub(crate) query: Arc<AggregatedQuery>,
    /// The columns of events, which decide what a name means.
    pub(crate) columns: Arc<BTreeSet<String>>,
    /// The accounts. Versions with the same accounts share them, and the address of others is another one for as long
    /// as this is there. They are not kept, because their memory is not counted.
    pub(crate) accounts: Weak<Accounts>,
    /// The last day of the events, if the query depends on it.
    pub(crate) last_event: Option<Day>,
}

/// How often what a query needs of a range was found among the results of earlier queries, since the dataset was
/// opened. Versions that were reopened from each other share the counts, which begin with the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResultCacheCounts {
    /// The result was there, over the same rows.
    pub reused: u64,
    /// The result was there, and only the rows that differ were read.
    pub updated: u64,
    /// All rows were read.
    pub computed: u64,
}

/// How a result came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultOrigin {
    Reused,
    Updated,
    Computed,
}

impl PartialEq for ResultKey {
    fn eq(&self, other: &Self) -> bool {
        // Each field is named, so that a new one is compared.
        let Self { query, columns, accounts, last_event } = self;
        *last_event == other.last_event
            && accounts.ptr_eq(&other.accounts)
            && *query == other.query
            && *columns == other.columns
    }
}

impl ResultKey {
    /// Returns about the number of bytes held, and not fewer.
    fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(|name| name.len() + 2 * size_of::<String>());
        size_of::<(Self, usize)>() + self.query.bytes().saturating_add(columns.sum())
    }
}

impl ResultCache {
    /// Returns a cache that keeps nothing.
    pub(super) fn new() -> Self {
        Self {
            keys: Mutex::default(),
            held: Arc::new(CountedCache::new(0)),
            reused: AtomicU64::new(0),
            updated: AtomicU64::new(0),
            computed: AtomicU64::new(0),
        }
    }

    /// Changes the budget, and drops results that do not fit.
    pub(super) fn set_budget(&self, bytes: usize) {
        self.held.set_budget(bytes);
    }

    /// Counts the results against a shared budget.
    pub(super) fn count_against(&self, memory: &MemoryBudget) {
        self.held.count_against(memory);
    }

    /// Returns the bytes of the results that are held.
    pub(super) fn bytes(&self) -> usize {
        self.held.bytes()
    }

    /// Returns whether results are kept.
    pub(crate) fn is_on(&self) -> bool {
        self.held.budget() > 0
    }

    /// Returns the result of a key, if it is held.
    pub(crate) fn get<T: Any + Send + Sync>(&self, key: &ResultKey) -> Option<Arc<T>> {
        let number = {
            let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            keys.iter().find(|(known, _)| known == key).map(|(_, number)| *number)
        };
        self.held.get(number?)
    }

    /// Returns whether a result of this many bytes would be kept.
    pub(crate) fn keeps(&self, bytes: usize) -> bool {
        bytes <= self.held.budget() / RESULTS_AT_LEAST
    }

    /// Holds the result of a key, in place of an earlier one; `bytes` are those of the result alone.
    pub(crate) fn put<T: Any + Send + Sync>(&self, key: ResultKey, result: Arc<T>, bytes: usize) {
        let bytes = bytes.saturating_add(key.bytes());
        if !self.keeps(bytes) {
            return;
        }
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|(_, number)| self.held.holds(*number));
        let number = keys.iter().find(|(known, _)| *known == key).map(|(_, number)| *number);
        let number = number.unwrap_or_else(|| {
            let number = self.held.new_key();
            keys.push((key, number));
            number
        });
        // The keys stay locked until the result is held, so that no other thread drops the key meanwhile.
        self.held.put(number, result, bytes);
    }

    /// Counts a result.
    pub(crate) fn count(&self, origin: ResultOrigin) {
        let counter = match origin {
            ResultOrigin::Reused => &self.reused,
            ResultOrigin::Updated => &self.updated,
            ResultOrigin::Computed => &self.computed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often results were found.
    pub(super) fn counts(&self) -> ResultCacheCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ResultCacheCounts {
            reused: count(&self.reused),
            updated: count(&self.updated),
            computed: count(&self.computed),
        }
    }
}
