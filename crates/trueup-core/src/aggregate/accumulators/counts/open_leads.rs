//! Counts the leads of a cohort whose window is not over.

use super::Counts;
use crate::aggregate::accumulators::{ExplainedRow, SlotRuns};
use crate::aggregate::context::QueryContext;
use crate::aggregate::facts::{IncrementTable, open_lead_facts};
use crate::aggregate::types::GroupSlot;
use crate::dictionary::Measure;
use crate::scan::EventColumns;

/// The leads of a cohort, bound to the columns of a row group.
#[derive(Debug)]
pub(super) struct OpenLeads<'a> {
    columns: &'a EventColumns,
    /// What an open lead adds to the counters.
    increments: IncrementTable,
    /// The last day whose leads have a window that is over.
    open_after_day: i64,
}

impl<'a> OpenLeads<'a> {
    /// Returns `None` if the query does not need open leads.
    pub(super) fn bind(context: &QueryContext<'_>, columns: &'a EventColumns) -> Option<Self> {
        let layout = &context.plan.layout;
        layout.has(Measure::OpenLeads).then(|| Self {
            columns,
            increments: IncrementTable::from_facts(layout, std::iter::once(open_lead_facts())),
            open_after_day: context.open_after_day,
        })
    }

    /// Counts the open leads among events, given with the slot of each.
    pub(super) fn count(&self, events: &[u32], slots: &[GroupSlot], slot_runs: SlotRuns, state: &mut Counts) {
        let open = slots.iter().zip(events).filter(|(_, event)| self.is_open(**event as usize));
        state.count(&self.increments, slot_runs, open.map(|(slot, _)| (*slot, 0)));
    }

    /// Returns what a row adds, as an open lead, to the count at `place` of the layout.
    pub(super) fn explain(&self, row: &ExplainedRow<'_>, place: usize) -> u32 {
        if self.is_open(row.event) { self.increments.at(place, 0) } else { 0 }
    }

    /// Returns whether an event is a lead whose window is not over. In a cohort every first event is a lead.
    #[inline]
    fn is_open(&self, event: usize) -> bool {
        let is_first = self.columns.histories.events().get(event).is_first();
        is_first && i64::from(self.columns.days[event]) > self.open_after_day
    }
}
