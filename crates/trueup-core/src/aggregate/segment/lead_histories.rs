//! The leads that a cohort selects in a row group, and the part of each history that counts.
//!
//! The events of a history are in the order of their days, so that the events up to the end of a window are the first
//! ones. They become one segment. The histories are cut there, so that every later step sees them as whole histories:
//! the state of a customer, the dates of its first events, and what it ever reaches.

use super::Segments;
use crate::Day;
use crate::aggregate::types::select_indexes;
use crate::plan::{DayTables, Plan};
use crate::scan::{CustomerBlock, EventColumns, HistoryCutter, PatternId, stage};
use std::sync::Arc;

/// The leads of a row group that a cohort selects.
#[derive(Debug)]
pub(crate) struct LeadHistories {
    /// The columns of the row group, with the histories of the selected leads cut.
    columns: EventColumns,
    /// For each customer, the number of its events that count; 0 if it is not selected.
    lengths: Vec<u32>,
}

impl LeadHistories {
    /// Selects the leads of some blocks whose first event is in the range; `None` if the plan is not one of a cohort.
    pub(crate) fn select<'b>(
        plan: &Plan,
        columns: &EventColumns,
        blocks: impl Iterator<Item = &'b CustomerBlock>,
    ) -> Option<Self> {
        let within = plan.cohort?;
        let (days, flags, offsets) = (&*columns.days, columns.histories.events(), columns.customers.offsets());
        let mut lengths = vec![0; columns.customers.len()];
        let mut cutter = None;
        for customer in blocks.flat_map(|block| block.customers.clone()) {
            let history = offsets[customer] as usize..offsets[customer + 1] as usize;
            let first_day = days[history.start];
            let is_lead = flags.get(history.start).stage() == stage::LEAD_ORIGINATED;
            if !is_lead || plan.days.sub_range(first_day).0 == DayTables::OUTSIDE {
                continue;
            }
            let last_day = within.last_day(Day::from_number(first_day)).number();
            let mut kept = history.len();
            if days[history.end - 1] > last_day {
                kept = days[history.clone()].iter().take_while(|day| **day <= last_day).count();
                let cutter = cutter.get_or_insert_with(|| HistoryCutter::new(&columns.histories));
                cutter.cut(customer, history, kept);
            }
            // A row group has fewer than 2^32 rows.
            lengths[customer] = u32::try_from(kept).unwrap_or(u32::MAX);
        }
        let mut columns = columns.clone();
        if let Some(cutter) = cutter {
            columns.histories = Arc::new(cutter.finish());
        }
        Some(Self { columns, lengths })
    }

    /// Returns the columns of the row group, with the histories of the selected leads cut.
    pub(crate) const fn columns(&self) -> &EventColumns {
        &self.columns
    }

    /// Appends the segments of a block to `segments`, without their classes: one for each selected lead. If `passing`
    /// is given, customers for which it is false are skipped. Writes the patterns of the segments to `patterns`.
    pub(super) fn split(
        &self,
        block: &CustomerBlock,
        days: &DayTables,
        passing: Option<&[bool]>,
        segments: &mut Segments,
        patterns: &mut Vec<PatternId>,
    ) {
        let Self { columns, lengths } = self;
        let first = segments.customers.len();
        let is_selected = |customer: usize| lengths[customer] > 0 && passing.is_none_or(|passing| passing[customer]);
        let mut selected = Vec::new();
        select_indexes(&mut selected, block.customers.clone().map(is_selected));
        #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer than 2^32 rows")]
        let first_customer = block.customers.start as u32;
        segments.customers.extend(selected.iter().map(|index| first_customer + index));
        let customers = segments.customers[first..].iter().map(|customer| *customer as usize);
        let offsets = columns.customers.offsets();
        segments.events.extend(customers.clone().map(|customer| offsets[customer]));
        segments.lengths.extend(customers.clone().map(|customer| lengths[customer]));
        let first_days = segments.events[first..].iter().map(|event| columns.days[*event as usize]);
        segments.sub_ranges.extend(first_days.map(|day| days.sub_range(day).0));
        patterns.clear();
        patterns.extend(customers.map(|customer| columns.histories.pattern_ids()[customer]));
    }
}
