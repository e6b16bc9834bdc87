//! The dataset that a request sees, and what is cached about it.

use super::benchmark_cache::BenchmarkCache;
use super::error::ServiceError;
use super::memory::internal_execution;
use crate::access::Scope;
use crate::query::DateRange;
use crate::{Dataset, Interrupt, MemoryBudget, dictionary};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The dataset that one request sees from its start to its end. The caches are freed together with it.
pub(super) struct Snapshot {
    pub(super) dataset: Arc<Dataset>,
    /// The days from the first to the last row of the dataset; `None` if it has no rows.
    days: Option<DateRange>,
    pub(super) benchmarks: Arc<BenchmarkCache>,
    non_empty_fields: NonEmptyFields,
    memory: Option<MemoryBudget>,
}

impl Snapshot {
    pub(super) fn new(dataset: Arc<Dataset>, memory: Option<&MemoryBudget>) -> Arc<Self> {
        if let Some(memory) = memory {
            dataset.count_columns_against(memory);
        }
        Arc::new(Self {
            days: dataset.date_range(),
            benchmarks: BenchmarkCache::new(Arc::clone(&dataset), memory),
            non_empty_fields: NonEmptyFields::default(),
            memory: memory.cloned(),
            dataset,
        })
    }

    /// Returns whether the dataset may have rows of these days.
    pub(super) fn overlaps(&self, range: DateRange) -> bool {
        self.days.is_some_and(|days| days.start <= range.end && range.start <= days.end)
    }

    /// Returns the names that are unknown to a caller, in order and each once: neither the dictionary nor the
    /// definitions have them, and no event in scope, of any day, has a value in a column of that name.
    ///
    /// Columns that only accounts out of scope have make no difference, because a caller must not learn of them. So
    /// this method queries the dataset, and remembers the result for each column and account.
    pub(super) fn unknown_fields(
        &self,
        scope: &Scope,
        names: &[&str],
        interrupt: &Interrupt,
    ) -> Result<Vec<String>, ServiceError> {
        let mut unknown: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for name in names {
            let is_built_in_or_defined = dictionary::field(name).is_some() || self.dataset.definitions().has(name);
            let is_new = !is_built_in_or_defined && seen.insert(*name);
            if is_new && !self.has_values(name, scope, interrupt)? {
                unknown.push((*name).to_owned());
            }
        }
        Ok(unknown)
    }

    /// Returns whether an event in scope, of any day, has a value in the column.
    fn has_values(&self, column: &str, scope: &Scope, interrupt: &Interrupt) -> Result<bool, ServiceError> {
        if !self.dataset.columns().contains(column) {
            return Ok(false);
        }
        let Some(unchecked) = self.non_empty_fields.unchecked(column, scope) else { return Ok(true) };
        if unchecked.is_empty() {
            return Ok(false);
        }
        let execution = internal_execution(self.memory.as_ref(), interrupt).map_err(ServiceError::no_room)?;
        let non_empty = self.dataset.accounts_with(column, &unchecked, &execution).map_err(ServiceError::query)?;
        let is_non_empty = !non_empty.is_empty();
        self.non_empty_fields.add(column, unchecked, &non_empty);
        Ok(is_non_empty)
    }
}

/// For a column, whether an account has an event with a value in it, for example `{"crew": {"north": true, "south":
/// false}}`.
///
/// An entry stays valid because a dataset never changes. There are at most as many entries as columns times accounts,
/// whatever callers request.
#[derive(Default)]
struct NonEmptyFields(Mutex<HashMap<String, BTreeMap<String, bool>>>);

impl NonEmptyFields {
    /// Returns the accounts of a scope that were not checked yet; `None` if another one has a value.
    fn unchecked(&self, column: &str, scope: &Scope) -> Option<BTreeSet<String>> {
        let entries = self.lock();
        let accounts = entries.get(column);
        let mut unchecked = BTreeSet::new();
        for account in scope.accounts() {
            match accounts.and_then(|accounts| accounts.get(account)) {
                Some(true) => return None,
                Some(false) => (),
                None => _ = unchecked.insert(account.to_owned()),
            }
        }
        Some(unchecked)
    }

    /// Adds accounts that were checked, of which `non_empty` have a value.
    fn add(&self, column: &str, checked: BTreeSet<String>, non_empty: &BTreeSet<String>) {
        let checked = checked.into_iter().map(|account| {
            let is_non_empty = non_empty.contains(&account);
            (account, is_non_empty)
        });
        self.lock().entry(column.to_owned()).or_default().extend(checked);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<String, bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
