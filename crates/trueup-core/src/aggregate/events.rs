//! Events to state per group, split after split.

use super::QueryContext;
use super::bound_query::{BoundQuery, Grades};
use super::contiguous_rows::{self, ContiguousRows};
use super::facts::state_fact;
use super::grouping_units::{Granularity, GroupingUnits};
use super::histogram::{Histogram, IncrementClasses};
use super::partial_result::PartialResult;
use super::predicate::Ternary;
use super::segment_cache::SegmentCache;
use super::segments::{SegmentBatch, SegmentRows, Segments, select};
use crate::dictionary::Measure;
use crate::execution::{Interrupt, Interruption};
use crate::money;
use crate::scan::{Amounts, CustomerBlock, EventColumns, EventFlags, MAX_BLOCK_EVENTS, Prefetch, stage};
use std::ops::Range;

/// Customers are read until so many segments have gathered.
const CHUNK: usize = 2_048;

/// So many customers are worth a histogram.
const TALLIED: usize = 512;

/// Blocks whose columns are asked of the memory before they are read.
const AHEAD: usize = 4;

/// Aggregates splits; what has been gathered is in [`EventAggregator::merged`].
#[derive(Debug)]
pub(crate) struct EventAggregator<'a> {
    context: &'a QueryContext<'a>,
    pub(crate) merged: PartialResult,
    total_place: Option<usize>,
    /// Per slot, the segment that was counted last; segments are counted from 1 over all splits.
    counted: Vec<u64>,
    segments: u64,
    chunk: SegmentBatch,
    /// Those of the chunk, where they are grouped or filtered one by one.
    rows: SegmentRows,
    kinds: SegmentCache<'a>,
    buffers: Buffers,
}

/// What is filled anew for each chunk.
#[derive(Debug, Default)]
struct Buffers {
    /// Codes per dimension, of units.
    codes: Vec<Vec<u32>>,
    sub_ranges: Vec<u32>,
    /// Places that are kept: units that pass the filter, rows that are state rows, or state rows that have a revenue.
    kept: Vec<u32>,
    /// The slots of units.
    slots: Vec<u32>,
    /// LocalGroupCache, and numbers of what is added there.
    graded: Vec<(u32, u32)>,
    stretches: Vec<ContiguousRows>,
    /// Per segment, where rows are grouped one by one, the slot of its state row.
    states: Vec<u32>,
    /// Per segment, the event in the split that is its state row, and the code of that in a column.
    state_rows: Vec<u32>,
    state_codes: Vec<u32>,
}

impl<'a> EventAggregator<'a> {
    pub(crate) fn new(context: &'a QueryContext<'a>) -> Self {
        let place = |measure| context.layout.money_place(measure);
        Self {
            context,
            total_place: place(Measure::Total),
            counted: Vec::new(),
            segments: 0,
            chunk: SegmentBatch::new(),
            rows: SegmentRows::default(),
            kinds: SegmentCache::new(context),
            buffers: Buffers { codes: vec![Vec::new(); context.plan.dimensions.len()], ..Buffers::default() },
            merged: PartialResult::new(context),
        }
    }

    /// Returns the bytes that may be held after `groups` more groups. The buffers of a chunk do not grow with groups.
    pub(crate) fn bytes_with(&self, groups: usize) -> usize {
        self.merged.bytes_with(groups) + self.counted.capacity() * size_of::<u64>()
    }

    /// Adds a split's events, unless it is interrupted.
    pub(crate) fn add(&mut self, split: &EventColumns, interrupt: &Interrupt) -> Result<(), Interruption> {
        let context = self.context;
        let selected = context.selected(split.customers.account_keys());
        let (start, end) = (context.plan.range.start.number(), context.plan.range.end.number());
        let is_read = |block: &&CustomerBlock| {
            selected[block.account as usize] && block.last_day >= start && block.first_day <= end
        };
        let blocks = split.customers.blocks().iter().filter(is_read);
        let customers = blocks.clone().map(|block| block.customers.len()).sum();
        if customers == 0 {
            return Ok(());
        }
        let mut bound = BoundQuery::new(context, split, customers);
        if bound.slots.is_none() {
            self.merged.reserve(customers, &bound.coders);
        }
        let passing = self.passing(&mut bound, blocks.clone());
        let are_read =
            bound.granularity == Granularity::Row || bound.grades.is_some() || context.plan.sub_ranges.len() > 1;
        let ahead = Prefetch::new(split, &context.plan.projection, are_read);
        let mut coming = blocks.clone();
        coming.by_ref().take(AHEAD).for_each(|block| ahead.fetch(&block.customers));
        self.kinds.begin(bound.granularity);
        let is_tallied = customers >= TALLIED && self.kinds.classes().is_some_and(|classes| !classes.is_full());
        bound.histogram = bound.slots.as_ref().filter(|_| is_tallied).and_then(|slots| Histogram::new(slots.bits()));
        self.chunk.segments.reserve(customers.min(CHUNK + MAX_BLOCK_EVENTS));
        for block in blocks {
            coming.by_ref().take(1).for_each(|block| ahead.fetch(&block.customers));
            self.chunk.push(split, block, &context.calendar, passing.as_deref(), &mut self.kinds);
            if self.chunk.segments.len() >= CHUNK {
                interrupt.check()?;
                self.add_chunk(&mut bound);
            }
        }
        self.add_chunk(&mut bound);
        self.add_tally(&mut bound);
        Ok(())
    }

    /// Adds what has been tallied of a split. What counts for nothing that is asked for makes a group too.
    fn add_tally(&mut self, bound: &mut BoundQuery<'_>) {
        let (Some(histogram), Some(classes)) = (bound.histogram.take(), self.kinds.classes()) else { return };
        self.merged.state.expect_rows(histogram.rows());
        histogram.each(classes, |position, bank, lanes| {
            let slot = bound.slot(position, &mut self.merged);
            self.merged.state.add_lanes(slot, bank, lanes);
        });
    }

    /// Adds the rows that have gathered, and clears them.
    fn add_chunk(&mut self, bound: &mut BoundQuery<'_>) {
        if self.chunk.segments.len() == 0 {
            return;
        }
        let found = self.chunk.segments.len() as u64;
        if bound.filter_granularity == Granularity::Segment {
            self.filter(bound);
        }
        if bound.granularity == Granularity::Row {
            self.rows.expand(&self.chunk.segments);
        }
        if bound.filter_granularity == Granularity::Row {
            self.filter(bound);
        }
        let rows = match bound.granularity {
            Granularity::Row => self.rows.events.len(),
            _ => self.chunk.segments.lengths.iter().map(|length| *length as usize).sum(),
        };
        self.merged.rows += rows as u64;
        if self.kinds.classes().is_some_and(IncrementClasses::is_full) {
            self.add_tally(bound);
        }
        match (&mut bound.histogram, self.kinds.classes()) {
            (Some(histogram), Some(classes)) => histogram.expect(rows, classes),
            _ => self.merged.state.expect_rows(rows),
        }
        self.group(bound);
        match bound.granularity {
            Granularity::Row => self.count_rows(bound),
            _ => self.count_segments(bound),
        }
        if self.context.needs_states {
            self.count_states(bound);
        }
        self.segments += found;
        self.chunk.clear();
    }

    /// Drops the units that do not pass the filter.
    fn filter(&mut self, bound: &mut BoundQuery<'_>) {
        let Self { chunk, rows, kinds, buffers, .. } = self;
        let units = GroupingUnits::new(bound.filter_granularity, &chunk.segments, rows, kinds);
        let Some(truths) = bound.truths(&units) else { return };
        let kept = &mut buffers.kept;
        select(kept, truths.iter().map(|truth| *truth == Ternary::True));
        match bound.filter_granularity {
            Granularity::Row => rows.retain(kept),
            _ => chunk.segments.retain(kept),
        }
    }

    /// By customer of the split, whether it is in one of the blocks and passes the filter; `None` if that is not known of whole customers.
    fn passing<'b>(
        &self,
        bound: &mut BoundQuery<'_>,
        blocks: impl Iterator<Item = &'b CustomerBlock>,
    ) -> Option<Vec<bool>> {
        if bound.condition.is_none() || bound.filter_granularity != Granularity::Customer {
            return None;
        }
        let customers = Segments::of_customers(bound.split, blocks);
        let truths =
            bound.truths(&GroupingUnits::new(bound.filter_granularity, &customers, &self.rows, &self.kinds))?;
        let mut passing = vec![false; bound.split.customers.len()];
        for (customer, truth) in customers.customers.iter().zip(truths) {
            passing[*customer as usize] = truth == Ternary::True;
        }
        Some(passing)
    }

    /// Finds the slot of each unit.
    fn group(&mut self, bound: &mut BoundQuery<'_>) {
        let Self { chunk, rows, kinds, buffers, merged, .. } = self;
        let units = GroupingUnits::new(bound.granularity, &chunk.segments, rows, kinds);
        let Buffers { codes, sub_ranges, slots, .. } = buffers;
        match &*self.context.plan.sub_ranges {
            [_] => {
                sub_ranges.clear();
                sub_ranges.resize(units.len(), 0);
            }
            _ => units.sub_ranges(sub_ranges),
        }
        for (coder, codes) in bound.coders.iter_mut().zip(&mut *codes) {
            coder.fill(&units, codes);
        }
        if let Some(of_split) = &bound.slots {
            of_split.positions(sub_ranges, codes, slots);
            if bound.histogram.is_none() {
                slots.iter_mut().for_each(|slot| *slot = bound.slot(*slot, merged));
            }
        } else {
            for (place, (coder, translation)) in bound.coders.iter().zip(&mut bound.translations).enumerate() {
                let texts = &mut merged.texts[place];
                translation.apply(&mut codes[place], coder.texts(), texts);
                merged.groups.expect(place + 1, texts.texts().len());
            }
            let columns: Vec<&[u32]> = std::iter::once(&*sub_ranges).chain(&*codes).map(Vec::as_slice).collect();
            merged.groups.slots(&columns, units.len(), slots);
        }
        if bound.histogram.is_none() {
            merged.state.expect_slots(slots);
            merged.state.grow(merged.groups.len());
        }
    }

    /// Counts what segments count for that are of one group each.
    fn count_segments(&mut self, bound: &mut BoundQuery<'_>) {
        let Self { chunk, kinds, buffers, merged, .. } = self;
        let Buffers { slots, graded, kept, stretches, .. } = buffers;
        let (segments, slots) = (&chunk.segments, &*slots);
        if let (Some(histogram), Some(classes)) = (&mut bound.histogram, kinds.classes()) {
            return histogram.add_kinds(classes, slots, &segments.kinds, kept);
        }
        let state = &mut merged.state;
        state.count(kinds.lanes(), slots.iter().copied().zip(segments.kinds.iter().copied()));
        if bound.grades.is_none() && self.total_place.is_none() {
            return;
        }
        let are_apart = bound.grades.as_ref().is_some_and(Grades::are_per_customer);
        contiguous_rows::find(segments, slots, bound.split.customers.accounts(), are_apart, stretches);
        if let Some(grades) = &bound.grades {
            graded.clear();
            for ContiguousRows { slot, customer, events } in &*stretches {
                grades.gather(bound.split, *slot, *customer as usize, events.clone(), graded);
            }
            state.count(&grades.lanes, graded.iter().copied());
        }
        if let (Some(place), Some(totals)) = (self.total_place, &bound.split.totals) {
            state.add_each(place, stretches.iter().map(|stretch| (stretch.slot, totals.sum(stretch.events.clone()))));
        }
    }

    /// Counts rows, and finds the state rows among them.
    fn count_rows(&mut self, bound: &mut BoundQuery<'_>) {
        let Self { context, chunk, rows, kinds, buffers, merged, counted, .. } = self;
        let Buffers { kept, states, slots, graded, .. } = buffers;
        let segments = &mut chunk.segments;
        let state = &mut merged.state;
        let events = || rows.events.iter().map(|event| *event as usize);
        let histories = bound.split.histories.events();
        let counted_rows = slots.iter().copied().zip(events().map(|event| histories[event]));
        match (&mut bound.histogram, kinds.classes()) {
            (Some(histogram), Some(classes)) => histogram.add_events(classes, counted_rows),
            _ => state.count(&context.row_lanes, counted_rows.map(|(slot, event)| (slot, u32::from(event.bits())))),
        }
        if let Some(grades) = &bound.grades {
            graded.clear();
            for ((slot, segment), event) in slots.iter().zip(&rows.segments).zip(events()) {
                let customer = segments.customers[*segment as usize] as usize;
                grades.gather(bound.split, *slot, customer, event..event + 1, graded);
            }
            state.count(&grades.lanes, graded.iter().copied());
        }
        if let (Some(place), Some(totals)) = (self.total_place, &bound.split.totals) {
            let amounts = events().map(|event| totals.get(event).map_or(0, i128::from));
            state.add_each(place, slots.iter().copied().zip(amounts));
        }
        if context.layout.has(Measure::Opportunities) {
            counted.resize(merged.groups.len() + 1, 0);
            let first = self.segments + 1;
            // A customer's rows of a sub-range come one after the other: it is new in the group if it was not counted last.
            let is_new = |(slot, segment): (&u32, &u32)| {
                let segment = first + u64::from(*segment);
                (std::mem::replace(&mut counted[*slot as usize], segment) != segment).then_some(*slot)
            };
            graded.clear();
            let counts_once = u32::from(state_fact(Measure::Opportunities, true));
            graded.extend(slots.iter().zip(&rows.segments).filter_map(is_new).map(|slot| (slot, counts_once)));
            state.count(&context.state_lanes, graded.iter().copied());
        }
        states.clear();
        if !context.needs_states {
            return;
        }
        if bound.filter_granularity == Granularity::Row {
            // Only segments whose state row has passed are left.
            let is_state_row = |(event, segment): (&u32, &u32)| {
                let segment = *segment as usize;
                *event == segments.events[segment] + kinds.cut(segments.kinds[segment]).state_row
            };
            select(kept, rows.events.iter().zip(&rows.segments).map(is_state_row));
            states.extend(kept.iter().map(|row| slots[*row as usize]));
            kept.iter_mut().for_each(|row| *row = rows.segments[*row as usize]);
            segments.retain(kept);
        } else {
            let mut first = 0;
            states.extend(segments.lengths.iter().zip(&segments.kinds).map(|(length, kind)| {
                let slot = slots[first + kinds.cut(*kind).state_row as usize];
                first += *length as usize;
                slot
            }));
        }
        match (&mut bound.histogram, kinds.classes()) {
            (Some(histogram), Some(classes)) => histogram.add_kinds(classes, states, &segments.kinds, kept),
            _ => state.count(kinds.lanes(), states.iter().copied().zip(segments.kinds.iter().copied())),
        }
    }

    /// Adds what only state rows carry.
    fn count_states(&mut self, bound: &mut BoundQuery<'_>) {
        let Self { context, chunk, kinds, buffers, merged, .. } = self;
        let (split, segments) = (bound.split, &chunk.segments);
        let Buffers { slots, states, kept, state_rows, state_codes, .. } = buffers;
        let slots = if bound.granularity == Granularity::Segment { &*slots } else { &*states };
        if bound.statuses.is_some() || bound.agents.is_some() {
            let state_row = |(first, kind): (&u32, &u32)| first + kinds.cut(*kind).state_row;
            state_rows.clear();
            state_rows.extend(segments.events.iter().zip(&segments.kinds).map(state_row));
        }
        if let Some(statuses) = &bound.statuses {
            state_codes.clear();
            match statuses.column {
                Some(column) => column.gather(&segments.customers, state_rows, state_codes),
                None => state_codes.resize(slots.len(), 0),
            }
            merged.state.count(&statuses.lanes, slots.iter().copied().zip(state_codes.iter().copied()));
        }
        if let Some(totals) = split.totals.as_deref() {
            // Few earn: they are found first, by a histogram as it counts.
            if bound.histogram.is_none() {
                select(kept, segments.kinds.iter().map(|kind| kinds.earns(*kind)));
            }
            let histories = split.histories.events();
            for segment in kept.iter().map(|segment| *segment as usize) {
                let (first, cut) = (segments.events[segment] as usize, kinds.cut(segments.kinds[segment]));
                let live = first + cut.first_live_row as usize..first + cut.state_row as usize + 1;
                if let Some(place) = context.layout.revenues[usize::from(cut.state)] {
                    let slot =
                        if bound.histogram.is_some() { bound.slot(slots[segment], merged) } else { slots[segment] };
                    merged.state.add_money(slot, place, revenue(cut.state, totals, histories, live));
                }
            }
        }
        if let Some(agents) = &mut bound.agents {
            state_codes.clear();
            agents.column.gather(&segments.customers, state_rows, state_codes);
            for (slot, code) in slots.iter().zip(&*state_codes) {
                agents.add(*slot, *code, merged);
            }
        }
    }
}

/// The revenue of a customer in a state, in millionths, where the state's events among `live` count, of which the last is one: estimates are
/// averaged, the rest adds up.
fn revenue(state: u8, totals: &Amounts, histories: &[EventFlags], live: Range<usize>) -> i128 {
    if live.len() == 1 {
        return totals.get(live.start).map_or(0, i128::from);
    }
    let of_state = live.filter(|event| histories[*event].stage() == state);
    let amounts = of_state.filter_map(|event| totals.get(event));
    let (sum, count) = amounts.fold((0, 0), |(sum, count), amount| (sum + i128::from(amount), count + 1));
    if state == stage::ESTIMATED && count > 1 { money::average(sum, count) } else { sum }
}
