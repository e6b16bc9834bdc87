//! Sums of money: the totals of rows, and the revenues of customers by state.

use super::{ContiguousRows, GroupState};
use crate::aggregate::context::QueryContext;
use crate::aggregate::segment::{SegmentBatch, SegmentCache, Segments};
use crate::aggregate::types::GroupSlot;
use crate::dictionary::Measure;
use crate::money;
use crate::plan::MeasureLayout;
use crate::scan::{Amounts, EventColumns, FlagsSlice, stage};
use std::ops::Range;

/// The amounts of events, bound to the columns of a row group.
#[derive(Debug)]
pub(super) struct AmountColumn<'a> {
    amounts: &'a Amounts,
    flags: FlagsSlice<'a>,
    layout: &'a MeasureLayout,
    /// The place of the sum of `total`; `None` if the query does not need it.
    total_place: Option<usize>,
}

impl<'a> AmountColumn<'a> {
    /// Returns `None` if the amounts of the row group are not decoded: then the query needs none.
    pub(super) fn bind(context: &'a QueryContext<'a>, columns: &'a EventColumns) -> Option<Self> {
        let layout = &context.plan.layout;
        Some(Self {
            amounts: columns.totals.as_deref()?,
            flags: columns.histories.events(),
            layout,
            total_place: layout.money_place(Measure::Total),
        })
    }

    /// Returns whether the query needs the sum of `total`.
    pub(super) const fn needs_totals(&self) -> bool {
        self.total_place.is_some()
    }

    /// Adds the totals of contiguous rows, if the query needs them.
    pub(super) fn add_totals_of_runs(&self, runs: &[ContiguousRows], state: &mut GroupState) {
        if let Some(place) = self.total_place {
            state.add_amounts(place, runs.iter().map(|run| (run.slot, self.amounts.sum(run.events.clone()))));
        }
    }

    /// Adds the totals of single rows, if the query needs them.
    pub(super) fn add_totals_of_rows(&self, batch: &SegmentBatch, slots: &[GroupSlot], state: &mut GroupState) {
        if let Some(place) = self.total_place {
            let amount = |event: &u32| self.amounts.get(*event as usize).map_or(0, i128::from);
            state.add_amounts(place, slots.iter().copied().zip(batch.rows.events.iter().map(amount)));
        }
    }

    /// Adds the revenue of a segment to a slot, if the query needs revenues of its state.
    #[expect(clippy::inline_always, reason = "the call takes as long as the sum of a customer's few amounts")]
    #[inline(always)]
    pub(super) fn add_revenue(
        &self,
        segments: &Segments,
        segment: usize,
        cache: &SegmentCache,
        slot: GroupSlot,
        state: &mut GroupState,
    ) {
        let (first, outcome) = (segments.events[segment] as usize, cache.outcome(segments.classes[segment]));
        if let Some(place) = self.layout.revenues[usize::from(outcome.state)] {
            let rows = first + outcome.first_live_row as usize..first + outcome.state_row as usize + 1;
            state.add_money(slot, place, state_revenue(self.amounts, self.flags, outcome.state, rows));
        }
    }
}

/// Returns the revenue of a customer in a state, in millionths. `rows` begin with the first live row of the state and
/// end with the state row; only rows of the state's stage count. Estimates are averaged; other amounts are summed.
#[inline]
pub(crate) fn state_revenue(amounts: &Amounts, flags: FlagsSlice<'_>, state: u8, rows: Range<usize>) -> i128 {
    if rows.len() == 1 {
        // The state row is most often the only live row, and is of the state.
        return amounts.get(rows.start).map_or(0, i128::from);
    }
    let of_state = rows.filter(|event| flags.get(*event).stage() == state);
    let amounts = of_state.filter_map(|event| amounts.get(event));
    let (sum, count) = amounts.fold((0, 0), |(sum, count), amount| (sum + i128::from(amount), count + 1));
    if state == stage::ESTIMATED && count > 1 { money::average(sum, count) } else { sum }
}
