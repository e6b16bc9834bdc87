//! Counts of rows and of state rows: what event flags, grades, statuses and states count for.

mod open_leads;
mod rules;
mod text_counts;

use super::arrow_columns::count_name;
use super::{
    Accumulator, ArrowColumns, BoundAccumulator, CountedEvent, EventAccumulator, ExplainedRow, RowUnits, Runs,
    SegmentUnits, SlotRuns, StateRows, values,
};
use crate::aggregate::context::QueryContext;
use crate::aggregate::facts::{IncrementTable, Increments, StateFacts, state_fact};
use crate::aggregate::segment::{SegmentCache, Segments};
use crate::aggregate::types::{CounterQuad, Granularity, GroupSlot, INTERRUPT_CHECK_GROUPS, QUAD, add_quad};
use crate::dictionary::{Measure, MeasureKind};
use crate::memory::column_bytes_while_adding;
use crate::plan::MeasureLayout;
use crate::scan::EventColumns;
use crate::{Interrupt, Interruption};
use arrow_array::RecordBatch;
use arrow_array::types::UInt64Type;
use arrow_schema::ArrowError;
use open_leads::OpenLeads;
use text_counts::{GradeColumn, StatusColumn};

/// The most kinds whose rows are counted kind by kind if all rows of a batch have the same slot: far fewer than rows.
const MAX_COUNTED_KINDS: usize = 1 << 10;

/// The counts of each group.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// The counts, by place.
    measures: Vec<Measure>,
    /// The counters, by quad and slot.
    counters: Vec<Vec<CounterQuad>>,
    /// What has been moved out of the counters before they could overflow, and what [`add_count`](Self::add_count) has
    /// added, by quad and slot. Empty until then.
    wide_counters: Vec<Vec<[u64; QUAD]>>,
    /// The number of rows counted since the counters were last moved to `wide_counters`.
    rows_since_widening: u32,
}

/// The counts, bound to the columns of a row group.
#[derive(Debug)]
pub(crate) struct BoundCounts<'a> {
    columns: &'a EventColumns,
    increments: &'a Increments,
    grades: Option<GradeColumn<'a>>,
    statuses: Option<StatusColumn<'a>>,
    open_leads: Option<OpenLeads<'a>>,
}

impl Counts {
    /// Prepares the counters for `rows` more rows, so that none overflows.
    pub(crate) fn expect_rows(&mut self, rows: usize) {
        let expected = u32::try_from(rows).ok().and_then(|rows| self.rows_since_widening.checked_add(rows));
        self.rows_since_widening = expected.unwrap_or_else(|| {
            self.widen_counters();
            u32::try_from(rows).unwrap_or(u32::MAX)
        });
    }

    /// Moves the counters to `wide_counters`.
    fn widen_counters(&mut self) {
        for (quad, wide) in self.counters.iter_mut().zip(&mut self.wide_counters) {
            wide.resize(quad.len(), [0; QUAD]);
            for (counter, wide) in quad.iter_mut().flatten().zip(wide.iter_mut().flatten()) {
                *wide += u64::from(std::mem::take(counter));
            }
        }
    }

    /// Counts rows, each given as its slot and its kind in `increments`.
    pub(super) fn count(
        &mut self,
        increments: &IncrementTable,
        SlotRuns { in_runs, is_one_slot }: SlotRuns,
        rows: impl Iterator<Item = (GroupSlot, u32)> + Clone,
    ) {
        let Some(kinds) = increments.quads.first().map(Vec::len) else { return };
        let is_zero = |by_kind: &[CounterQuad]| by_kind.iter().all(|increment| *increment == [0; QUAD]);
        let quads = increments.quads.iter().zip(&mut self.counters).filter(|(by_kind, _)| !is_zero(by_kind));
        if is_one_slot && kinds <= MAX_COUNTED_KINDS {
            // One pass over the rows instead of one per quad.
            let (mut slot, mut times) = (GroupSlot::NONE, vec![0; kinds]);
            for (row_slot, kind) in rows {
                slot = row_slot;
                times[kind as usize] += 1;
            }
            for (by_kind, counters) in quads {
                for (increment, times) in by_kind.iter().zip(&times).filter(|(_, times)| **times > 0) {
                    add_quad(&mut counters[slot.index()], &increment.map(|count| count * times));
                }
            }
            return;
        }
        for (by_kind, counters) in quads {
            let rows = rows.clone().map(|(slot, kind)| (slot, &by_kind[kind as usize]));
            if !in_runs {
                rows.for_each(|(slot, increment)| add_quad(&mut counters[slot.index()], increment));
                continue;
            }
            let (mut open, mut sum) = (GroupSlot::NONE, [0; QUAD]);
            for (slot, increment) in rows {
                if slot != open {
                    add_quad(&mut counters[open.index()], &sum);
                    (open, sum) = (slot, [0; QUAD]);
                }
                add_quad(&mut sum, increment);
            }
            add_quad(&mut counters[open.index()], &sum);
        }
    }

    /// Counts segments with their rows or, if rows are grouped, for their state rows alone.
    fn count_segments(&mut self, segments: &Segments, cache: &SegmentCache, slots: &[GroupSlot], slot_runs: SlotRuns) {
        let kinds = segments.classes.iter().map(|class| class.number());
        self.count(cache.increments(), slot_runs, slots.iter().copied().zip(kinds));
    }

    /// Adds to a quad of counters of a slot.
    #[inline]
    pub(crate) fn add_increment(&mut self, slot: GroupSlot, quad: usize, increment: &CounterQuad) {
        add_quad(&mut self.counters[quad][slot.index()], increment);
    }

    /// Adds to the count of a slot at `place` of the layout.
    fn add_count(&mut self, slot: GroupSlot, place: usize, count: u64) {
        let wide = &mut self.wide_counters[place / QUAD];
        wide.resize(self.counters[place / QUAD].len(), [0; QUAD]);
        wide[slot.index()][place % QUAD] += count;
    }

    /// Returns the count of a slot at `place` of the layout.
    fn count_at(&self, slot: GroupSlot, place: usize) -> u64 {
        let (quad, counter) = (place / QUAD, place % QUAD);
        let wide = self.wide_counters[quad].get(slot.index()).map_or(0, |counters| counters[counter]);
        u64::from(self.counters[quad][slot.index()][counter]) + wide
    }
}

impl Accumulator for Counts {
    fn holds(measure: Measure) -> bool {
        matches!(measure.kind(), MeasureKind::Rows | MeasureKind::StateRows)
    }

    fn new(layout: &MeasureLayout) -> Self {
        let quads = layout.counts().len().div_ceil(QUAD);
        Self {
            measures: layout.counts().to_vec(),
            counters: vec![Vec::new(); quads],
            wide_counters: vec![Vec::new(); quads],
            rows_since_widening: 0,
        }
    }

    fn bytes(&self) -> usize {
        let counters = self.counters.iter().map(Vec::capacity).sum::<usize>() * size_of::<CounterQuad>();
        counters + self.wide_counters.iter().map(Vec::capacity).sum::<usize>() * size_of::<[u64; QUAD]>()
    }

    fn grow(&mut self, slots: usize) {
        self.counters.iter_mut().for_each(|quad| quad.resize(slots, [0; QUAD]));
    }

    fn merge(&mut self, other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption> {
        self.expect_rows(other.rows_since_widening as usize);
        for start in (0..slots.len()).step_by(INTERRUPT_CHECK_GROUPS) {
            interrupt.check()?;
            // The index of each group in the other state, and in this one.
            let pairs = (start + 1..).zip(slots[start..].iter().take(INTERRUPT_CHECK_GROUPS).map(|slot| slot.index()));
            for (quad, counters) in self.counters.iter_mut().enumerate() {
                let more = &other.counters[quad];
                pairs.clone().for_each(|(from, to)| add_quad(&mut counters[to], &more[from]));
                let (wide, more) = (&mut self.wide_counters[quad], &other.wide_counters[quad]);
                if !more.is_empty() {
                    wide.resize(counters.len(), [0; QUAD]);
                }
                let widened = pairs.clone().take_while(|(from, _)| *from < more.len());
                widened.for_each(|(from, to)| add_quad(&mut wide[to], &more[from]));
            }
        }
        Ok(())
    }

    fn sums(&self) -> Vec<i128> {
        let sums = self.counters.iter().zip(&self.wide_counters).flat_map(|(counters, wide)| {
            let mut sums = [0_u64; QUAD];
            counters.iter().for_each(|quad| add_quad(&mut sums, &quad.map(u64::from)));
            wide.iter().for_each(|quad| add_quad(&mut sums, quad));
            sums.map(i128::from)
        });
        sums.collect()
    }

    fn to_arrow(&self, groups: usize, columns: &mut ArrowColumns) -> Result<(), ArrowError> {
        for (place, measure) in self.measures.iter().enumerate() {
            columns.push_counts(*measure, GroupSlot::first(groups).map(|slot| self.count_at(slot, place)));
        }
        Ok(())
    }

    fn add_arrow(&mut self, batch: &RecordBatch, slots: &[GroupSlot]) -> Result<(), ArrowError> {
        for place in 0..self.measures.len() {
            let counts = values::<UInt64Type>(batch, &count_name(self.measures[place]))?;
            slots.iter().zip(counts).for_each(|(slot, count)| self.add_count(*slot, place, *count));
        }
        Ok(())
    }

    fn value(&self, measure: Measure) -> Option<impl Fn(GroupSlot) -> i128> {
        let place = self.measures.iter().position(|count| *count == measure)?;
        Some(move |slot| i128::from(self.count_at(slot, place)))
    }
}

impl EventAccumulator for Counts {
    type Bound<'a> = BoundCounts<'a>;

    fn bind<'a>(context: &'a QueryContext<'a>, columns: &'a EventColumns) -> Option<BoundCounts<'a>> {
        if context.plan.layout.counts().is_empty() {
            return None;
        }
        Some(BoundCounts {
            columns,
            increments: context.increments,
            grades: GradeColumn::bind(context, columns),
            statuses: StatusColumn::bind(context, columns),
            open_leads: OpenLeads::bind(context, columns),
        })
    }

    fn bytes_while_adding(&self, _units: usize, groups: usize, _bound: Option<&BoundCounts<'_>>) -> usize {
        let counters = self.counters.iter().map(|quad| column_bytes_while_adding(quad, groups));
        counters.chain(self.wide_counters.iter().map(|quad| column_bytes_while_adding(quad, 0))).sum()
    }

    fn subtract(&mut self, mut other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption> {
        // A count may have been moved to the wide counters on one side, and not on the other.
        self.widen_counters();
        other.widen_counters();
        for start in (0..slots.len()).step_by(INTERRUPT_CHECK_GROUPS) {
            interrupt.check()?;
            let pairs = (start + 1..).zip(slots[start..].iter().take(INTERRUPT_CHECK_GROUPS).map(|slot| slot.index()));
            for (wide, less) in self.wide_counters.iter_mut().zip(&other.wide_counters) {
                for (from, to) in pairs.clone() {
                    wide[to].iter_mut().zip(&less[from]).for_each(|(count, less)| *count -= less);
                }
            }
        }
        Ok(())
    }

    fn is_of_classes(layout: &MeasureLayout, granularity: Granularity) -> bool {
        !text_counts::needs_grades(layout)
            && !text_counts::needs_statuses(layout)
            && !layout.has(Measure::OpenLeads)
            // A class does not say whether an earlier row of the customer is in the group.
            && (granularity != Granularity::Row || !layout.has(Measure::Opportunities))
    }

    fn rule(measure: Measure, event: &CountedEvent<'_>) -> String {
        rules::rule(measure, event)
    }
}

impl BoundAccumulator for BoundCounts<'_> {
    type State = Counts;

    fn reads_events(&self) -> bool {
        self.grades.is_some()
    }

    fn runs(&self) -> Runs {
        match &self.grades {
            None => Runs::None,
            Some(grades) if grades.is_per_customer() => Runs::Segment,
            Some(_) => Runs::Account,
        }
    }

    fn reads_state_events(&self) -> bool {
        self.statuses.is_some()
    }

    fn add_segments(&mut self, units: &SegmentUnits<'_>, state: &mut Counts) {
        state.count_segments(units.segments, units.cache, units.slots, units.slot_runs);
        if let Some(open_leads) = &self.open_leads {
            open_leads.count(&units.segments.events, units.slots, units.slot_runs, state);
        }
        if let Some(grades) = &mut self.grades {
            grades.count_runs(units.runs, units.slot_runs, state);
        }
    }

    fn add_rows(&mut self, rows: &RowUnits<'_>, state: &mut Counts) {
        let RowUnits { batch, slots, slot_runs, new_customers } = *rows;
        let flags = self.columns.histories.events();
        let kinds = batch.rows.events.iter().map(|event| u32::from(flags.get(*event as usize).bits()));
        state.count(&self.increments.of_rows, slot_runs, slots.iter().copied().zip(kinds));
        if let Some(grades) = &mut self.grades {
            grades.count_rows(batch, slots, slot_runs, state);
        }
        if let Some(open_leads) = &self.open_leads {
            open_leads.count(&batch.rows.events, slots, slot_runs, state);
        }
        if !new_customers.is_empty() {
            let new_customers = new_customers.iter().map(|slot| (*slot, u32::from(FACTS_OF_NEW_CUSTOMER)));
            state.count(&self.increments.of_states, slot_runs, new_customers);
        }
    }

    fn add_state_rows(&mut self, rows: &StateRows<'_>, state: &mut Counts) {
        let StateRows { segments, cache, slots, slot_runs, are_rows_grouped, events } = *rows;
        if are_rows_grouped {
            state.count_segments(segments, cache, slots, slot_runs);
        }
        if let Some(statuses) = &mut self.statuses {
            statuses.count(&segments.customers, events, slots, slot_runs, state);
        }
    }

    /// Adds up the increments of the row, each of which is 0 or 1.
    fn explain(&self, row: &ExplainedRow<'_>, measure: Measure) -> Option<i128> {
        let place = self.increments.layout.counts().iter().position(|count| *count == measure)?;
        let flags = self.columns.histories.events().get(row.event);
        let mut count = self.increments.of_rows.at(place, flags.index());
        if let Some(grades) = &self.grades {
            count += grades.explain(row, place);
        }
        if let Some(open_leads) = &self.open_leads {
            count += open_leads.explain(row, place);
        }
        if row.is_first_of_customer {
            count += self.increments.of_states.at(place, FACTS_OF_NEW_CUSTOMER.into());
        }
        if let Some(outcome) = row.state {
            count += self.increments.of_states.at(place, outcome.facts.into());
            count += self.statuses.as_ref().map_or(0, |statuses| statuses.explain(row, place));
        }
        (count > 0).then_some(count.into())
    }
}

/// What a row counts for in addition if its customer is new in the group.
const FACTS_OF_NEW_CUSTOMER: StateFacts = state_fact(Measure::Opportunities, true);

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_SLOT: SlotRuns = SlotRuns { in_runs: true, is_one_slot: true };

    fn increments() -> IncrementTable {
        IncrementTable { quads: vec![vec![[0, 1, 0, 0]]] }
    }

    /// Returns the counts of one group with one quad of counters.
    fn state() -> Counts {
        let mut state = Counts::new(&MeasureLayout::new(&[Measure::Rows, Measure::Leads]));
        state.grow(2);
        state
    }

    #[test]
    fn a_count_may_exceed_its_counter() {
        let (slot, mut sum) = (GroupSlot::last_of(1), state());
        for _ in 0..2 {
            let mut other = state();
            other.expect_rows(u32::MAX as usize);
            other.counters[0][1][1] = u32::MAX;
            other.expect_rows(1);
            other.count(&increments(), ONE_SLOT, std::iter::once((slot, 0)));
            assert_eq!((other.count_at(slot, 0), other.count_at(slot, 1)), (0, 1 << 32));
            assert_eq!(sum.merge(other, &[slot], &Interrupt::default()), Ok(()));
        }
        assert_eq!((sum.count_at(slot, 0), sum.count_at(slot, 1)), (0, 2 << 32));
    }
}
