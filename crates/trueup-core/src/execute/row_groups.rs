//! The row groups that a query reads.

use crate::dataset::{Dataset, Pruning, RowGroup};
use crate::plan::Plan;
use crate::scan::{EventColumns, SpendColumns};

/// The row groups that a query reads, in order: all that pruning keeps.
pub(super) struct UnprunedRowGroups<'a> {
    pub(super) events: Vec<&'a RowGroup<EventColumns>>,
    /// Empty if the query does not need spend.
    pub(super) spend: Vec<&'a RowGroup<SpendColumns>>,
}

impl<'a> UnprunedRowGroups<'a> {
    /// Selects the row groups of a dataset; all that the plan needs if `pruning` is false.
    pub(super) fn new(dataset: &'a Dataset, plan: &Plan, pruning: bool) -> Self {
        let spend = if plan.needs_spend() { dataset.spend() } else { &[] };
        Self { events: unpruned(dataset.events(), plan, pruning), spend: unpruned(spend, plan, pruning) }
    }

    /// Returns the number of row groups.
    pub(super) fn len(&self) -> usize {
        self.events.len() + self.spend.len()
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        let events = self.events.iter().map(|row_group| row_group.rows);
        events.chain(self.spend.iter().map(|row_group| row_group.rows)).sum()
    }

    /// Returns the number of bytes in files of the columns that the plan reads; 0 for a dataset in memory.
    pub(super) fn stored_bytes(&self, plan: &Plan) -> u64 {
        let events = self.events.iter().map(|row_group| row_group.stored_bytes(&plan.projection));
        events.chain(self.spend.iter().map(|row_group| row_group.stored_bytes(&plan.spend_projection))).sum()
    }
}

fn unpruned<'a, T>(row_groups: &'a [RowGroup<T>], plan: &Plan, pruning: bool) -> Vec<&'a RowGroup<T>> {
    let is_kept =
        |row_group: &&RowGroup<T>| !pruning || row_group.bounds.prune(plan.range, &plan.accounts) == Pruning::Keep;
    row_groups.iter().filter(is_kept).collect()
}
