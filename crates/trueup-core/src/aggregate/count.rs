//! Step 4: counts and sums, added to the state of groups by the [accumulators](super::accumulators).
//!
//! `histogram` is a fast path: it counts per dense key of the row group, and adds to groups at its end.

mod histogram;

pub(crate) use histogram::Histogram;

use super::accumulators::{BoundState, ContiguousRows, GroupState, RowUnits, Runs, SegmentUnits, SlotRuns, StateRows};
use super::context::QueryContext;
use super::group::{Grouping, SharedGroups};
use super::segment::{SegmentBatch, SegmentCache};
use super::shape::ResultShape;
use super::types::{Granularity, GroupSlot};
use crate::dictionary::Measure;
use crate::memory::column_bytes_while_adding;
use crate::scan::EventColumns;
use crate::{Interrupt, Interruption};

/// Groups and their state.
#[derive(Clone, Debug)]
pub(crate) struct GroupedState {
    pub(crate) groups: SharedGroups,
    pub(crate) state: GroupState,
}

/// A query's measures, bound to the columns of a row group.
#[derive(Debug)]
pub(crate) struct Counting<'a> {
    context: &'a QueryContext<'a>,
    columns: &'a EventColumns,
    /// The units that are grouped: rows or segments.
    granularity: Granularity,
    /// Whether rows are filtered one by one, so that a segment may have lost its state row.
    are_rows_filtered: bool,
    /// The measures.
    bound: BoundState<'a>,
    /// The slot of each unit.
    slots: Vec<GroupSlot>,
    /// For each segment, the slot of its state row.
    state_slots: Vec<GroupSlot>,
    /// For each segment, the event of its state row.
    state_events: Vec<u32>,
    runs: Vec<ContiguousRows>,
}

/// For each slot, the segment whose row was counted last. If rows are grouped, it shows whether a row's customer is new
/// in the group: the rows of a segment are consecutive, so the customer is new unless its segment was counted last.
#[derive(Debug, Default)]
pub(crate) struct LastSegments {
    /// By slot, the number of the segment. Segments are numbered from 1 over all row groups.
    by_slot: Vec<u64>,
    /// The number of segments in previous batches.
    before: u64,
    /// The slots of the rows of the batch whose customer is new in the group.
    new: Vec<GroupSlot>,
}

impl<'a> Counting<'a> {
    pub(crate) fn bind(
        context: &'a QueryContext<'a>,
        columns: &'a EventColumns,
        granularity: Granularity,
        are_rows_filtered: bool,
    ) -> Self {
        Self {
            context,
            columns,
            granularity,
            are_rows_filtered,
            bound: BoundState::bind(context, columns),
            slots: Vec::new(),
            state_slots: Vec::new(),
            state_events: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Returns whether the flags of events are read one by one.
    pub(crate) fn reads_events(&self) -> bool {
        self.granularity == Granularity::Row || self.bound.reads_events()
    }

    /// Returns the number of bytes of state that may be held while `units` units are added, and at most `groups`
    /// groups.
    pub(crate) fn bytes_while_adding(&self, units: usize, groups: usize, state: &GroupState) -> usize {
        state.bytes_while_adding(units, groups, &self.bound)
    }

    /// Adds a batch of `rows` rows to the state of its groups.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn add_batch(
        &mut self,
        rows: usize,
        batch: &mut SegmentBatch,
        cache: &SegmentCache,
        grouping: &mut Grouping<'_>,
        grouped: &mut GroupedState,
        last_segments: &mut LastSegments,
    ) -> Result<(), Interruption> {
        let GroupedState { groups, state } = grouped;
        grouping.slots(&batch.units(self.granularity, cache), groups, &mut self.slots)?;
        state.counts.expect_rows(rows);
        state.grow(groups.table.len());
        let slot_runs = SlotRuns::new(&self.slots);
        match self.granularity {
            Granularity::Row => {
                let counts_customers = self.context.plan.layout.has(Measure::Opportunities);
                let new_customers = if counts_customers {
                    last_segments.grow(groups.table.len());
                    last_segments.slots_of_new(&self.slots, &batch.rows.segments)
                } else {
                    &[]
                };
                self.bound.add_rows(&RowUnits { batch, slots: &self.slots, slot_runs, new_customers }, state);
            }
            Granularity::Segment | Granularity::Customer => self.add_segments(batch, cache, slot_runs, state),
        }
        if self.context.plan.needs_states {
            self.add_state_rows(batch, cache, slot_runs, state);
        }
        Ok(())
    }

    /// Adds segments. All rows of a segment are in one group.
    fn add_segments(
        &mut self,
        batch: &SegmentBatch,
        cache: &SegmentCache,
        slot_runs: SlotRuns,
        state: &mut GroupState,
    ) {
        let Self { columns, bound, slots, runs, .. } = self;
        let limit = bound.runs();
        if limit != Runs::None {
            ContiguousRows::find(columns, batch, slots, limit == Runs::Segment, runs);
        }
        debug_assert_eq!(slots.len(), batch.segments.len(), "each segment has a slot");
        bound.add_segments(&SegmentUnits { segments: &batch.segments, cache, slots, slot_runs, runs }, state);
    }

    /// Adds what only state rows have, to their slots.
    fn add_state_rows(
        &mut self,
        batch: &mut SegmentBatch,
        cache: &SegmentCache,
        slot_runs: SlotRuns,
        state: &mut GroupState,
    ) {
        let are_rows_grouped = self.granularity == Granularity::Row;
        if are_rows_grouped {
            batch.state_row_values(cache, self.are_rows_filtered, &self.slots, &mut self.state_slots);
        } else {
            // The state row of a segment is in the group of the segment.
            std::mem::swap(&mut self.slots, &mut self.state_slots);
        }
        let segments = &batch.segments;
        if self.bound.reads_state_events() {
            let state_row = |(first, class): (&u32, &_)| first + cache.outcome(*class).state_row;
            self.state_events.clear();
            self.state_events.extend(segments.events.iter().zip(&segments.classes).map(state_row));
        }
        debug_assert_eq!(self.state_slots.len(), segments.len(), "each segment has a state row");
        let Self { bound, state_slots: slots, state_events: events, .. } = self;
        bound.add_state_rows(&StateRows { segments, cache, slots, slot_runs, are_rows_grouped, events }, state);
    }
}

impl ContiguousRows {
    /// Writes the runs of consecutive rows to `runs`. They are found because one long run takes less time to sum up
    /// than many short ones. If `is_per_customer` is set, each run is one segment.
    fn find(
        columns: &EventColumns,
        batch: &SegmentBatch,
        slots: &[GroupSlot],
        is_per_customer: bool,
        runs: &mut Vec<Self>,
    ) {
        let (segments, accounts) = (&batch.segments, columns.customers.accounts());
        runs.clear();
        for (segment, (slot, customer)) in slots.iter().zip(&segments.customers).enumerate() {
            let events = segments.events_of(segment);
            let continues = |last: &&mut Self| {
                !is_per_customer
                    && last.slot == *slot
                    && last.events.end == events.start
                    && accounts.get(last.customer as usize) == accounts.get(*customer as usize)
            };
            match runs.last_mut().filter(continues) {
                Some(last) => last.events.end = events.end,
                None => runs.push(Self { slot: *slot, customer: *customer, events }),
            }
        }
    }
}

impl LastSegments {
    /// Returns the number of bytes held.
    pub(crate) const fn bytes(&self) -> usize {
        self.by_slot.capacity() * size_of::<u64>()
    }

    /// Returns the number of bytes that may be held while `groups` groups are added.
    pub(crate) fn bytes_while_adding(&self, groups: usize) -> usize {
        column_bytes_while_adding(&self.by_slot, groups)
    }

    fn grow(&mut self, groups: usize) {
        self.by_slot.resize(groups + 1, 0);
    }

    /// Returns the slots of the rows whose customer is new in the group, given the slot and the segment of each row.
    fn slots_of_new(&mut self, slots: &[GroupSlot], segments: &[u32]) -> &[GroupSlot] {
        let Self { by_slot, before, new } = self;
        let first = *before + 1;
        let is_new = |(slot, segment): (&GroupSlot, &u32)| {
            let segment = first + u64::from(*segment);
            (std::mem::replace(&mut by_slot[slot.index()], segment) != segment).then_some(*slot)
        };
        new.clear();
        new.extend(slots.iter().zip(segments).filter_map(is_new));
        new
    }

    /// Ends a batch of `segments` segments.
    pub(crate) const fn end_batch(&mut self, segments: usize) {
        self.before += segments as u64;
    }
}

impl GroupedState {
    pub(crate) fn new(shape: &ResultShape) -> Self {
        Self { groups: SharedGroups::new(shape), state: GroupState::new(&shape.layout) }
    }

    /// Returns the number of groups.
    pub(crate) const fn len(&self) -> usize {
        self.groups.table.len()
    }

    /// Returns the number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.groups.bytes() + self.state.bytes()
    }

    /// Returns the slot of the group with a key, which becomes a group without rows if it is new.
    pub(crate) fn slot(&mut self, key: &[u32]) -> GroupSlot {
        let slot = self.groups.table.slot(key);
        self.state.grow(self.len());
        slot
    }

    /// Returns the slot of a dense key of a row group.
    #[inline]
    fn slot_of_dense_key(&mut self, dense_key: u32, grouping: &mut Grouping<'_>) -> GroupSlot {
        let slot = grouping.slot(dense_key, &mut self.groups);
        self.state.grow(self.len());
        slot
    }

    /// Adds the groups of another partial result and their state. Returns for each dimension, by the shared code in the
    /// other result, the shared code here.
    pub(crate) fn merge(&mut self, other: Self, interrupt: &Interrupt) -> Result<Vec<Vec<u32>>, Interruption> {
        let (slots, shared) = self.groups.merge(other.groups, interrupt)?;
        self.state.grow(self.len());
        self.state.merge(other.state, &slots, interrupt)?;
        Ok(shared)
    }
}
