//! Events to state per group, split after split.

use super::Context;
use super::bound::Bound;
use super::cuts::{self, Cut, MOST_ROWS};
use super::facts::{BANKS, STATE_BANK, lanes, state_bit};
use super::mask::Truth;
use super::merge::Merged;
use super::segments::{Chunk, Rows, retain, select};
use super::state::State;
use super::units::{Grain, Units};
use crate::dictionary::Measure;
use crate::execution::{Interrupt, Interruption};
use crate::money;
use crate::scan::{Amounts, Histories, Split, TextColumn, stage};
use std::ops::Range;

/// Customers are read until so many segments have gathered.
const CHUNK: usize = 2_048;

/// Aggregates splits; what has been gathered is in [`Aggregation::merged`].
#[derive(Debug)]
pub(crate) struct Aggregation<'a> {
    context: &'a Context<'a>,
    pub(crate) merged: Merged,
    total_place: Option<usize>,
    /// By the code of a state, where its revenue is held; `None` if that is not asked for.
    revenue_places: [Option<usize>; stage::COUNT],
    /// Per slot, the segment that was counted last; segments are counted from 1 over all splits.
    counted: Vec<u64>,
    segments: u64,
    chunk: Chunk,
    /// Those of the chunk, where they are grouped or filtered one by one.
    rows: Rows,
    /// Room for cuts of no shape.
    own_cuts: Vec<(usize, Cut)>,
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
    /// The slots and segments of state rows.
    states: Vec<(u32, usize)>,
}

impl<'a> Aggregation<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        let place = |measure| context.layout.money_place(measure);
        let mut revenue_places = [None; stage::COUNT];
        for (state, measure) in [
            (stage::ESTIMATED, Measure::EstimatedRevenue),
            (stage::SOLD, Measure::SoldRevenue),
            (stage::CLOSED, Measure::ClosedRevenue),
        ] {
            revenue_places[usize::from(state)] = place(measure);
        }
        Self {
            context,
            total_place: place(Measure::Total),
            revenue_places,
            counted: Vec::new(),
            segments: 0,
            chunk: Chunk::new(),
            rows: Rows::default(),
            own_cuts: Vec::new(),
            buffers: Buffers { codes: vec![Vec::new(); context.plan.dimensions.len()], ..Buffers::default() },
            merged: Merged::new(context),
        }
    }

    /// Adds a split's events, unless it is interrupted.
    pub(crate) fn add(&mut self, split: &Split, interrupt: &Interrupt) -> Result<(), Interruption> {
        let context = self.context;
        let mut bound = Bound::new(context, split);
        let selected = context.selected(split.runs.account_keys());
        let (start, end) = (context.plan.range.start.number(), context.plan.range.end.number());
        for block in split.runs.blocks() {
            if !selected[block.account as usize] || block.last_day < start || block.first_day > end {
                continue;
            }
            self.chunk.push(split, block, &context.calendar);
            if self.chunk.segments.len() >= CHUNK {
                interrupt.check()?;
                self.add_chunk(&mut bound);
            }
        }
        self.add_chunk(&mut bound);
        Ok(())
    }

    /// Adds the rows that have gathered, and clears them.
    fn add_chunk(&mut self, bound: &mut Bound<'_>) {
        if self.chunk.segments.len() == 0 {
            return;
        }
        let rows = self.chunk.segments.lengths.iter().map(|length| *length as usize).sum();
        self.merged.state.expect_rows(rows);
        let found = self.chunk.segments.len() as u64;
        let mut own_cuts = std::mem::take(&mut self.own_cuts);
        let mut cuts = if bound.grain == Grain::Segment || self.context.needs_states {
            cuts::find(bound.split, &self.chunk, &mut own_cuts)
        } else {
            Vec::new()
        };
        if bound.filter_grain == Grain::Segment {
            self.filter(bound, &mut cuts);
        }
        if bound.grain == Grain::Row {
            self.rows.expand(&self.chunk.segments);
        }
        if bound.filter_grain == Grain::Row {
            self.filter(bound, &mut cuts);
        }
        self.group(bound, &cuts);
        match bound.grain {
            Grain::Segment => {
                self.count_segments(bound, &cuts);
                self.count_states(bound, &cuts, cuts.len(), |buffers, segment| (buffers.slots[segment], segment));
            }
            Grain::Row => {
                self.count_rows(bound, &cuts);
                let states = self.buffers.states.len();
                self.count_states(bound, &cuts, states, |buffers, at| buffers.states[at]);
            }
        }
        self.segments += found;
        self.own_cuts = own_cuts;
        self.chunk.clear();
    }

    /// Drops the units that do not pass the filter.
    fn filter(&mut self, bound: &mut Bound<'_>, cuts: &mut Vec<&Cut>) {
        let Some(condition) = &mut bound.condition else { return };
        let Self { chunk, rows, buffers, .. } = self;
        let units = Units::new(bound.filter_grain, &chunk.segments, rows, cuts);
        let (split, mut codes) = (bound.split, Vec::new());
        let truths = condition
            .evaluate(units.len(), &mut |test, truths: &mut Vec<Truth>| test.fill(split, &units, &mut codes, truths));
        let kept = &mut buffers.kept;
        select(units.len(), kept, |unit| truths[unit] == Truth::True);
        match bound.filter_grain {
            Grain::Row => rows.retain(kept),
            Grain::Segment => {
                chunk.segments.retain(kept);
                // There are none where nothing hangs on them.
                if !cuts.is_empty() {
                    retain(cuts, kept);
                }
            }
        }
    }

    /// Finds the slot of each unit.
    fn group(&mut self, bound: &mut Bound<'_>, cuts: &[&Cut]) {
        let Self { chunk, rows, buffers, merged, .. } = self;
        let units = Units::new(bound.grain, &chunk.segments, rows, cuts);
        let Buffers { codes, sub_ranges, slots, .. } = buffers;
        units.sub_ranges(sub_ranges);
        for (place, coder) in bound.coders.iter_mut().enumerate() {
            let codes = &mut codes[place];
            coder.fill(&units, codes);
            let texts = &mut merged.texts[place];
            bound.translations[place].apply(codes, coder.texts(), texts);
            merged.groups.expect(place + 1, texts.texts().len());
        }
        let columns: Vec<&[u32]> = std::iter::once(&*sub_ranges).chain(&*codes).map(Vec::as_slice).collect();
        merged.groups.slots(&columns, units.len(), slots);
        merged.state.expect_slots(slots);
        merged.state.grow(merged.groups.len());
    }

    /// Counts what segments count for that are of one group each.
    fn count_segments(&mut self, bound: &Bound<'_>, cuts: &[&Cut]) {
        let Self { chunk, rows, buffers, merged, .. } = self;
        let Buffers { slots, kept, .. } = buffers;
        let (segments, slots) = (&chunk.segments, &*slots);
        let state = &mut merged.state;
        merged.rows += segments.lengths.iter().map(|length| u64::from(*length)).sum::<u64>();
        for bank in 0..BANKS {
            state.count(bank, slots.iter().copied().zip(cuts.iter().map(|cut| &cut.counts[bank])));
        }
        if segments.lengths.iter().copied().max() > Some(MOST_ROWS) {
            let long = slots.iter().enumerate().filter(|(segment, _)| segments.lengths[*segment] > MOST_ROWS);
            for (segment, slot) in long {
                count_each(state, segments.rows(segment).map(|event| (*slot, bound.row_facts(event))));
            }
        }
        if self.context.layout.has(Measure::Opportunities) {
            let one = lanes(state_bit(Measure::Opportunities, true));
            state.count(STATE_BANK, slots.iter().map(|slot| (*slot, one)));
        }
        if bound.grades.is_some() {
            rows.expand(segments);
            let of = |row: usize| (rows.segments[row] as usize, rows.events[row] as usize);
            let customer = |segment: usize| segments.customers[segment] as usize;
            select(rows.events.len(), kept, |row| {
                let (segment, event) = of(row);
                bound.is_graded(customer(segment), event)
            });
            let graded = kept.iter().map(|row| {
                let (segment, event) = of(*row as usize);
                (slots[segment], bound.grade(customer(segment), event))
            });
            count_each(state, graded);
        }
        if let (Some(place), Some(totals)) = (self.total_place, &bound.split.totals) {
            let sums = (0..slots.len()).map(|segment| totals.sum(segments.rows(segment)));
            state.add_each(place, slots.iter().copied().zip(sums));
        }
    }

    /// Counts rows, and finds the state rows among them.
    fn count_rows(&mut self, bound: &Bound<'_>, cuts: &[&Cut]) {
        let Self { chunk, rows, buffers, merged, counted, .. } = self;
        let slots = &buffers.slots;
        let state = &mut merged.state;
        let events = || rows.events.iter().map(|event| *event as usize);
        merged.rows += rows.events.len() as u64;
        count_each(state, slots.iter().copied().zip(events().map(|event| bound.row_facts(event))));
        if bound.grades.is_some() {
            let customers = rows.segments.iter().map(|segment| chunk.segments.customers[*segment as usize] as usize);
            let grades = customers.zip(events()).map(|(customer, event)| bound.grade(customer, event));
            count_each(state, slots.iter().copied().zip(grades));
        }
        if let (Some(place), Some(totals)) = (self.total_place, &bound.split.totals) {
            let amounts = events().map(|event| totals.get(event).map_or(0, i128::from));
            state.add_each(place, slots.iter().copied().zip(amounts));
        }
        if self.context.layout.has(Measure::Opportunities) {
            counted.resize(merged.groups.len() + 1, 0);
            let first = self.segments + 1;
            let is_new = slots.iter().zip(&rows.segments).map(|(slot, segment)| {
                // A customer's rows of a sub-range come one after the other: it is new in the group if it was not counted last.
                let segment = first + u64::from(*segment);
                let is_new = std::mem::replace(&mut counted[*slot as usize], segment) != segment;
                (*slot, lanes(state_bit(Measure::Opportunities, is_new)))
            });
            state.count(STATE_BANK, is_new);
        }
        let Buffers { kept, states, slots, .. } = buffers;
        states.clear();
        if self.context.needs_states {
            if bound.filter_grain == Grain::Row {
                let state_row = |segment: usize| chunk.segments.events[segment] + cuts[segment].state_row;
                select(slots.len(), kept, |row| rows.events[row] == state_row(rows.segments[row] as usize));
                states.extend(kept.iter().map(|row| (slots[*row as usize], rows.segments[*row as usize] as usize)));
            } else {
                // Every segment has all of its rows.
                let mut first = 0;
                states.extend(cuts.iter().zip(&chunk.segments.lengths).enumerate().map(|(segment, (cut, length))| {
                    let slot = slots[first + cut.state_row as usize];
                    first += *length as usize;
                    (slot, segment)
                }));
            }
            let counts = states.iter().map(|(slot, segment)| (*slot, &cuts[*segment].counts[STATE_BANK]));
            state.count(STATE_BANK, counts);
        }
    }

    /// Adds what only state rows carry: there are so many, and `state` gives the slot and the segment of each.
    fn count_states(
        &mut self,
        bound: &mut Bound<'_>,
        cuts: &[&Cut],
        count: usize,
        state: impl Fn(&Buffers, usize) -> (u32, usize),
    ) {
        let Self { context, chunk, buffers, merged, revenue_places, .. } = self;
        let segments = &chunk.segments;
        // The code of a state row in a column.
        let code = |column: &TextColumn, segment: usize| {
            let event = segments.events[segment] + cuts[segment].state_row;
            column.code(segments.customers[segment] as usize, event as usize)
        };
        let matches = [Measure::MatchedCustomers, Measure::UnmatchedCustomers];
        if matches.into_iter().any(|measure| context.layout.has(measure)) {
            let facts = (0..count).map(|at| {
                let (slot, segment) = state(buffers, at);
                let statuses = bound.statuses.as_ref();
                let is_matched = statuses.is_some_and(|(column, matched)| matched[code(column, segment) as usize]);
                let measure = if is_matched { Measure::MatchedCustomers } else { Measure::UnmatchedCustomers };
                (slot, lanes(state_bit(measure, true)))
            });
            merged.state.count(STATE_BANK, facts);
        }
        if let Some(totals) = bound.split.totals.as_deref().filter(|_| revenue_places.iter().any(Option::is_some)) {
            // Few earn: they are found first.
            let mut earning = std::mem::take(&mut buffers.kept);
            let earns = |at| revenue_places[usize::from(cuts[state(buffers, at).1].state)].is_some();
            select(count, &mut earning, earns);
            let histories = bound.split.histories.events();
            for at in &earning {
                let (slot, segment) = state(buffers, *at as usize);
                let (first, cut) = (segments.events[segment] as usize, cuts[segment]);
                let live = first + cut.live_from as usize..first + cut.state_row as usize + 1;
                if let Some(place) = revenue_places[usize::from(cut.state)] {
                    merged.state.add_money(slot, place, revenue(cut.state, totals, histories, live));
                }
            }
            buffers.kept = earning;
        }
        if let Some((column, translation)) = &mut bound.agents {
            for (slot, segment) in (0..count).map(|at| state(buffers, at)) {
                let code = code(column, segment);
                if code != 0 {
                    let agent = translation.code(code, column.dictionary(), &mut merged.agents);
                    merged.state.agents.insert((slot - 1, agent));
                }
            }
        }
    }
}

/// Counts rows, each with its slot, by their facts.
fn count_each(state: &mut State, rows: impl Iterator<Item = (u32, u16)> + Clone) {
    for bank in 0..STATE_BANK {
        state.count(bank, rows.clone().map(|(slot, facts)| (slot, lanes(facts.to_le_bytes()[bank]))));
    }
}

/// The revenue of a customer in a state, in millionths, where the state's events among `live` count: estimates are averaged, the rest adds
/// up.
fn revenue(state: u8, totals: &Amounts, histories: &[u8], live: Range<usize>) -> i128 {
    let of_state = live.filter(|event| Histories::stage(histories[*event]) == state);
    let amounts = of_state.filter_map(|event| totals.get(event));
    let (sum, count) = amounts.fold((0, 0), |(sum, count), amount| (sum + i128::from(amount), count + 1));
    if state == stage::ESTIMATED && count > 1 { money::average(sum, count) } else { sum }
}
