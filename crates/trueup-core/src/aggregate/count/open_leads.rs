//! Counts the leads of a cohort whose window is not over.

use super::GroupState;
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

    /// Counts the open leads among events, given with the slot of each. In a cohort every first event is a lead.
    pub(super) fn count(&self, events: &[u32], slots: &[GroupSlot], state: &mut GroupState) {
        let (flags, days) = (self.columns.histories.events(), &self.columns.days);
        let is_open = |event: usize| flags.get(event).is_first() && i64::from(days[event]) > self.open_after_day;
        let open = slots.iter().zip(events).filter(|(_, event)| is_open(**event as usize));
        state.count(&self.increments, open.map(|(slot, _)| (*slot, 0)));
    }
}
