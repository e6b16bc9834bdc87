//! A query, planned once for all of its splits in this process.

use super::{PartialError, PartialKey, Split};
use crate::aggregate::AggregationMemo;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::execute::row_groups::{RowGroupSet, SelectedRowGroups};
use crate::plan::Plan;
use crate::query::EventsQuery;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of queries that are kept: more than a process runs splits of at the same time.
const KEPT: usize = 8;

/// The queries that this process has planned for their splits, the one planned last at the end. They are kept per
/// process and not per dataset, because a task that runs one split may open the dataset for itself.
static PLANNED: Mutex<VecDeque<Arc<PlannedQuery>>> = Mutex::new(VecDeque::new());

/// A query, planned for a version of a dataset, and what its splits share.
#[derive(Debug)]
pub(in crate::execute) struct PlannedQuery {
    query: EventsQuery,
    pub(super) key: PartialKey,
    pub(in crate::execute) plan: Plan,
    /// The memos of the [ranges](Plan::ranges) of the plan.
    pub(in crate::execute) memos: Vec<AggregationMemo>,
    /// The row groups that the query reads, for any of its ranges.
    row_groups: RowGroupSet,
}

impl PlannedQuery {
    /// Returns a query planned for a dataset, and keeps it for the next splits.
    pub(super) fn of(dataset: &Dataset, query: &EventsQuery) -> Result<Arc<Self>, Error> {
        let find = |kept: &VecDeque<Arc<Self>>| kept.iter().find(|planned| planned.is_of(dataset, query)).cloned();
        if let Some(planned) = find(&kept()) {
            return Ok(planned);
        }
        let planned = Arc::new(Self::new(dataset, query)?);
        let mut kept = kept();
        // Another thread may have planned the query in the meantime.
        if let Some(other) = find(&kept) {
            return Ok(other);
        }
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(planned.clone());
        Ok(planned)
    }

    /// Returns a query planned for a dataset, and does not keep it any longer, because all of its splits have been run.
    pub(super) fn take(dataset: &Dataset, query: &EventsQuery) -> Result<Arc<Self>, Error> {
        let mut kept = kept();
        let at = kept.iter().position(|planned| planned.is_of(dataset, query));
        let planned = at.and_then(|at| kept.remove(at));
        drop(kept);
        planned.map_or_else(|| Self::new(dataset, query).map(Arc::new), Ok)
    }

    fn new(dataset: &Dataset, query: &EventsQuery) -> Result<Self, Error> {
        let plan = dataset.plan_with_effects(query)?;
        let of_range = |plan| SelectedRowGroups::new(dataset, plan, true).set();
        let of_ranges: BTreeSet<u32> =
            plan.ranges().flat_map(|plan| of_range(plan).iter().collect::<Vec<_>>()).collect();
        Ok(Self {
            query: query.clone(),
            key: PartialKey::new(dataset, query),
            memos: plan.ranges().map(AggregationMemo::new).collect(),
            row_groups: of_ranges.into_iter().collect(),
            plan,
        })
    }

    fn is_of(&self, dataset: &Dataset, query: &EventsQuery) -> bool {
        self.key.dataset == *dataset.id() && self.query == *query
    }

    /// Checks that a split is one of the query and of the dataset.
    pub(super) fn check(&self, split: &Split) -> Result<(), PartialError> {
        self.key.check(split.key())?;
        match split.row_groups().difference(&self.row_groups).iter().next() {
            Some(row_group) => Err(PartialError::Unplanned { row_group }),
            None => Ok(()),
        }
    }

    /// Returns the row groups that the query reads.
    pub(super) fn selected<'a>(&self, dataset: &'a Dataset) -> SelectedRowGroups<'a> {
        SelectedRowGroups::of_set(dataset, &self.row_groups)
    }
}

fn kept() -> MutexGuard<'static, VecDeque<Arc<PlannedQuery>>> {
    PLANNED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Tables;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn threads_that_begin_at_the_same_time_share_one_plan() {
        let dataset = Dataset::from_tables(&Tables::default()).unwrap();
        let query = EventsQuery::new(["leads"], "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
        let barrier = Barrier::new(8);
        let of = || {
            barrier.wait();
            PlannedQuery::of(&dataset, &query).unwrap()
        };
        let planned: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(of)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(planned.iter().all(|other| Arc::ptr_eq(other, &planned[0])));
    }
}
