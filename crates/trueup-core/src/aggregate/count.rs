//! Step 4: counts and sums, added to the state of groups.
//!
//! | file | what it does |
//! |---|---|
//! | `histogram` | fast path: counts per dense key of the row group, and adds to groups at its end |
//! | `text_counts` | counts conversions by grade, customers by status |
//! | `open_leads` | counts the leads of a cohort whose window is not over |
//! | `durations` | counts and sums days between stages |
//! | `money` | sums totals and revenues |
//! | `agents` | collects distinct agents |
//! | `group_state` | holds the counters and sums of each group |

mod agents;
mod durations;
mod group_state;
mod histogram;
mod money;
mod open_leads;
mod text_counts;

pub(crate) use durations::{DayCount, DurationSums, PairDurations, next_of_pair};
pub(crate) use group_state::GroupState;
pub(crate) use histogram::Histogram;
pub(crate) use money::state_revenue;

use super::context::QueryContext;
use super::facts::state_fact;
use super::group::{Grouping, NewTexts, SharedGroups};
use super::segment::{SegmentBatch, SegmentCache};
use super::shape::ResultShape;
use super::types::{Granularity, GroupSlot, select_indexes};
use crate::dictionary::Measure;
use crate::memory::column_bytes_while_adding;
use crate::scan::EventColumns;
use crate::{Interrupt, Interruption};
use agents::AgentColumn;
use durations::DurationColumns;
use money::AmountColumn;
use open_leads::OpenLeads;
use std::ops::Range;
use text_counts::{GradeColumn, StatusColumn};

/// Groups and their state.
#[derive(Debug)]
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
    grades: Option<GradeColumn<'a>>,
    statuses: Option<StatusColumn<'a>>,
    open_leads: Option<OpenLeads<'a>>,
    durations: Option<DurationColumns<'a>>,
    agents: Option<AgentColumn<'a>>,
    amounts: Option<AmountColumn<'a>>,
    /// The slot of each unit.
    slots: Vec<GroupSlot>,
    /// For each segment, the slot of its state row.
    state_slots: Vec<GroupSlot>,
    /// For each segment, the event of its state row.
    state_events: Vec<u32>,
    /// The indexes of the segments that may have a revenue.
    with_revenue: Vec<u32>,
    runs: Vec<ContiguousRows>,
}

/// Consecutive rows of one slot and one account.
#[derive(Debug)]
struct ContiguousRows {
    slot: GroupSlot,
    /// The customer of the first row.
    customer: u32,
    events: Range<usize>,
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
            grades: GradeColumn::bind(context, columns),
            statuses: StatusColumn::bind(context, columns),
            open_leads: OpenLeads::bind(context, columns),
            durations: DurationColumns::bind(context, columns),
            agents: AgentColumn::bind(context, columns),
            amounts: AmountColumn::bind(context, columns),
            slots: Vec::new(),
            state_slots: Vec::new(),
            state_events: Vec::new(),
            with_revenue: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Returns whether the flags of events are read one by one.
    pub(crate) fn reads_events(&self) -> bool {
        self.granularity == Granularity::Row || self.grades.is_some() || self.durations.is_some()
    }

    /// Returns the agents that may be new among `units` units.
    pub(crate) fn new_agents(&self, units: usize) -> NewTexts {
        self.agents.as_ref().map_or_else(NewTexts::default, |agents| agents.new_names(units))
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
        state.expect_rows(rows);
        state.expect_slots(&self.slots);
        state.grow(groups.table.len());
        match self.granularity {
            Granularity::Row => self.add_rows(batch, groups.table.len(), state, last_segments),
            Granularity::Segment | Granularity::Customer => self.add_segments(batch, cache, state),
        }
        if !self.context.plan.needs_states {
            return Ok(());
        }
        if self.granularity == Granularity::Row {
            batch.state_row_values(cache, self.are_rows_filtered, &self.slots, &mut self.state_slots);
            count_segments(batch, cache, &self.state_slots, state);
        } else {
            // The state row of a segment is in the group of the segment.
            std::mem::swap(&mut self.slots, &mut self.state_slots);
        }
        self.add_state_rows(batch, cache, state);
        Ok(())
    }

    /// Adds segments. All rows of a segment are in one group.
    fn add_segments(&mut self, batch: &SegmentBatch, cache: &SegmentCache, state: &mut GroupState) {
        count_segments(batch, cache, &self.slots, state);
        if let Some(open_leads) = &self.open_leads {
            open_leads.count(&batch.segments.events, &self.slots, state);
        }
        if let Some(durations) = &mut self.durations {
            durations.add_segments(&batch.segments, &self.slots, &mut state.durations);
        }
        let totals = self.amounts.as_ref().filter(|amounts| amounts.needs_totals());
        if self.grades.is_none() && totals.is_none() {
            return;
        }
        let is_per_customer = self.grades.as_ref().is_some_and(GradeColumn::is_per_customer);
        ContiguousRows::find(self.columns, batch, &self.slots, is_per_customer, &mut self.runs);
        if let Some(grades) = &mut self.grades {
            grades.count_runs(&self.runs, state);
        }
        if let Some(amounts) = totals {
            amounts.add_totals_of_runs(&self.runs, state);
        }
    }

    /// Adds rows one by one to `groups` groups.
    fn add_rows(
        &mut self,
        batch: &SegmentBatch,
        groups: usize,
        state: &mut GroupState,
        last_segments: &mut LastSegments,
    ) {
        let (context, slots) = (self.context, &self.slots);
        let flags = self.columns.histories.events();
        let kinds = batch.rows.events.iter().map(|event| u32::from(flags.get(*event as usize).bits()));
        state.count(&context.increments.of_rows, slots.iter().copied().zip(kinds));
        if let Some(grades) = &mut self.grades {
            grades.count_rows(batch, slots, state);
        }
        if let Some(open_leads) = &self.open_leads {
            open_leads.count(&batch.rows.events, slots, state);
        }
        if let Some(durations) = &mut self.durations {
            durations.add_rows(batch, slots, &mut state.durations);
        }
        if let Some(amounts) = &self.amounts {
            amounts.add_totals_of_rows(batch, slots, state);
        }
        if context.plan.layout.has(Measure::Opportunities) {
            last_segments.grow(groups);
            let new = last_segments.slots_of_new(slots, &batch.rows.segments);
            let counts_once = u32::from(state_fact(Measure::Opportunities, true));
            state.count(&context.increments.of_states, new.iter().map(|slot| (*slot, counts_once)));
        }
    }

    /// Adds what only state rows have, to their slots.
    fn add_state_rows(&mut self, batch: &SegmentBatch, cache: &SegmentCache, state: &mut GroupState) {
        let (segments, slots) = (&batch.segments, &self.state_slots);
        if self.statuses.is_some() || self.agents.is_some() {
            let state_row = |(first, class): (&u32, &_)| first + cache.outcome(*class).state_row;
            self.state_events.clear();
            self.state_events.extend(segments.events.iter().zip(&segments.classes).map(state_row));
        }
        if let Some(statuses) = &mut self.statuses {
            statuses.count(&segments.customers, &self.state_events, slots, state);
        }
        if let Some(amounts) = &self.amounts {
            // Few segments may have a revenue, so they are selected first.
            let has_revenue = cache.has_revenue();
            select_indexes(&mut self.with_revenue, segments.classes.iter().map(|class| has_revenue[class.index()]));
            for segment in self.with_revenue.iter().map(|segment| *segment as usize) {
                amounts.add_revenue(segments, segment, cache, slots[segment], state);
            }
        }
        if let Some(agents) = &mut self.agents {
            agents.add(&segments.customers, &self.state_events, slots, &mut state.agents);
        }
    }
}

/// Counts segments with their rows or, if rows are grouped, for their state rows alone.
fn count_segments(batch: &SegmentBatch, cache: &SegmentCache, slots: &[GroupSlot], state: &mut GroupState) {
    state.count(
        cache.increments(),
        slots.iter().copied().zip(batch.segments.classes.iter().map(|class| class.number())),
    );
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
