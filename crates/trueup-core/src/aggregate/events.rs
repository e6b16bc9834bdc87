//! Events to state per group, split after split.

use super::Context;
use super::coder::Coder;
use super::facts::{LANES, Lanes, STATE_BANK, grade, lanes, row_facts, state_bit, state_facts};
use super::mask::{BoundTest, Truth};
use super::merge::{Merged, Translation};
use super::rows::{Rows, Segment};
use super::state::State;
use super::units::{Grain, Heads, Units};
use crate::dictionary::Measure;
use crate::execution::{Interrupt, Interruption};
use crate::plan::{AGENT_COLUMN, Condition, LABEL_COLUMN, STATUS_COLUMN};
use crate::scan::{Histories, Split, TextColumn, stage};

/// Customers are read until so many rows have gathered.
const CHUNK_ROWS: usize = 1_024;

/// Aggregates splits; what has been gathered is in [`Aggregation::merged`].
#[derive(Debug)]
pub(crate) struct Aggregation<'a> {
    context: &'a Context<'a>,
    pub(crate) merged: Merged,
    total_place: Option<usize>,
    /// By the code of a state, where its revenue is held; `None` if no revenue is asked for.
    revenue_places: Option<[usize; stage::COUNT]>,
    /// Per slot, the segment that was counted last; segments are counted from 1 over all splits.
    counted: Vec<u64>,
    segments: u64,
    rows: Rows,
    heads: Heads,
    buffers: Buffers,
}

/// What is filled anew for each chunk.
#[derive(Debug, Default)]
struct Buffers {
    /// Codes per dimension, of units.
    codes: Vec<Vec<u32>>,
    sub_ranges: Vec<u32>,
    /// Units that pass the filter.
    kept: Vec<u32>,
    /// The slots of kept units.
    kept_slots: Vec<u32>,
    unit_slots: Vec<u32>,
    facts: Vec<u16>,
    /// Per row, the sums of a bank's facts over the rows before it.
    sums: Vec<Lanes>,
}

/// What a query is in one split.
struct Bound<'a> {
    split: &'a Split,
    grain: Grain,
    coders: Vec<Coder<'a>>,
    translations: Vec<Translation>,
    condition: Option<Condition<BoundTest<'a>>>,
    /// The column of grades, the facts of a conversion by the code of its grade, and which accounts are graded, by their code.
    grades: Option<(&'a TextColumn, Vec<u16>, Vec<bool>)>,
    /// The column of customer statuses, and by code whether it is matched.
    statuses: Option<(&'a TextColumn, Vec<bool>)>,
    agents: Option<(&'a TextColumn, Translation)>,
}

impl<'a> Bound<'a> {
    fn new(context: &'a Context<'a>, split: &'a Split) -> Self {
        let layout = &context.layout;
        let keys = split.runs.account_keys();
        let dimensions = context.plan.dimensions.iter();
        let coders: Vec<_> = dimensions.map(|dimension| Coder::new(context, split, dimension)).collect();
        let condition = context.condition.as_ref();
        let condition = condition.map(|condition| condition.map(&mut |test| BoundTest::new(context, split, test)));
        let is_per_segment = coders.iter().all(Coder::is_per_segment)
            && condition.iter().flat_map(Condition::leaves).all(BoundTest::is_per_segment);
        let graded = [
            Measure::GradedConversions,
            Measure::BookedConversions,
            Measure::BookableUnbookedConversions,
            Measure::UnbookableConversions,
        ];
        let grades = split.text(LABEL_COLUMN).filter(|_| graded.into_iter().any(|measure| layout.has(measure)));
        let matched = [Measure::MatchedCustomers, Measure::UnmatchedCustomers];
        let statuses = split.text(STATUS_COLUMN).filter(|_| matched.into_iter().any(|measure| layout.has(measure)));
        let is_matched = |status: &str| !matches!(status, "" | "Unmatched");
        Self {
            split,
            grain: if is_per_segment { Grain::Segment } else { Grain::Row },
            translations: coders.iter().map(|_| Translation::default()).collect(),
            coders,
            condition,
            grades: grades.map(|column| {
                (column, column.dictionary().iter().map(|label| grade(label)).collect(), context.graded(keys))
            }),
            statuses: statuses
                .map(|column| (column, column.dictionary().iter().map(|status| is_matched(status)).collect())),
            agents: split.text(AGENT_COLUMN).filter(|_| layout.agents).map(|column| (column, Translation::default())),
        }
    }
}

impl<'a> Aggregation<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        let layout = &context.layout;
        let merged = Merged::new(context.plan, layout);
        let place = |measure| layout.money_place(measure);
        let revenues = [Measure::EstimatedRevenue, Measure::SoldRevenue, Measure::ClosedRevenue].map(place);
        let revenue_places = revenues.iter().any(Option::is_some).then(|| {
            let mut places = [merged.state.no_money_place(); stage::COUNT];
            for (state, place) in [stage::ESTIMATED, stage::SOLD, stage::CLOSED].into_iter().zip(revenues) {
                places[usize::from(state)] = place.unwrap_or(places[usize::from(state)]);
            }
            places
        });
        Self {
            context,
            total_place: place(Measure::Total),
            revenue_places,
            counted: Vec::new(),
            segments: 0,
            rows: Rows::default(),
            heads: Heads::default(),
            buffers: Buffers { codes: vec![Vec::new(); context.plan.dimensions.len()], ..Buffers::default() },
            merged,
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
            self.rows.push(split, block, &context.calendar);
            if self.rows.len() >= CHUNK_ROWS {
                interrupt.check()?;
                self.add_rows(&mut bound);
            }
        }
        self.add_rows(&mut bound);
        Ok(())
    }

    /// Adds the rows that have gathered, and clears them.
    fn add_rows(&mut self, bound: &mut Bound<'_>) {
        if self.rows.len() == 0 {
            return;
        }
        let totals = bound.split.totals.as_deref().filter(|_| self.revenue_places.is_some());
        self.rows.find_segments(&self.context.calendar, self.context.needs_states, totals);
        self.group(bound);
        self.count_rows(bound);
        self.count_states(bound);
        self.segments += self.rows.found.all.len() as u64;
        self.rows.clear();
    }

    /// Finds the slot of each unit; 0 if it does not pass the filter.
    fn group(&mut self, bound: &mut Bound<'_>) {
        let Self { rows, heads, buffers, merged, .. } = self;
        let units = Units::new(bound.grain, rows, heads);
        let Buffers { codes, sub_ranges, kept, kept_slots, unit_slots, .. } = buffers;
        let is_filtered = bound.condition.is_some();
        if let Some(condition) = &mut bound.condition {
            let mut of_test = Vec::new();
            let split = bound.split;
            let truths = condition.evaluate(units.len(), &mut |test, truths: &mut Vec<Truth>| {
                test.fill(split, &units, &mut of_test, truths)
            });
            kept.clear();
            kept.extend((0_u32..).zip(&truths).filter(|(_, truth)| **truth == Truth::True).map(|(unit, _)| unit));
        }
        let keep = |values: &mut Vec<u32>| {
            if is_filtered {
                for (to, unit) in kept.iter().enumerate() {
                    values[to] = values[*unit as usize];
                }
                values.truncate(kept.len());
            }
        };
        sub_ranges.clear();
        sub_ranges.extend(units.segments().map(|segment| segment.sub_range));
        keep(sub_ranges);
        for (place, coder) in bound.coders.iter_mut().enumerate() {
            let codes = &mut codes[place];
            coder.fill(&units, codes);
            keep(codes);
            let texts = &mut merged.texts[place];
            bound.translations[place].apply(codes, coder.texts(), texts);
            merged.groups.expect(place + 1, texts.texts().len());
        }
        let columns: Vec<&[u32]> = std::iter::once(&*sub_ranges).chain(&*codes).map(Vec::as_slice).collect();
        let slots = if is_filtered { &mut *kept_slots } else { &mut *unit_slots };
        merged.groups.slots(&columns, columns[0].len(), slots);
        merged.state.grow(merged.groups.len());
        if is_filtered {
            unit_slots.clear();
            unit_slots.resize(units.len(), 0);
            kept.iter().zip(&*kept_slots).for_each(|(unit, slot)| unit_slots[*unit as usize] = *slot);
        }
        let is_dropped = |unit: usize| unit_slots[unit] == 0;
        let dropped = match bound.grain {
            _ if !is_filtered => 0,
            Grain::Row => (0..rows.len()).filter(|row| is_dropped(*row)).count(),
            Grain::Segment => rows.segments.iter().filter(|segment| is_dropped(**segment as usize)).count(),
        };
        merged.rows += (rows.len() - dropped) as u64;
    }

    fn count_rows(&mut self, bound: &Bound<'_>) {
        let Self { rows, buffers, merged, .. } = self;
        let Buffers { unit_slots, facts, sums, .. } = buffers;
        let state = &mut merged.state;
        state.expect_rows(rows.len());
        if state.has_bank(0) || state.has_bank(1) {
            let met = bound.split.histories.met();
            facts.clear();
            let events = rows.histories.iter().zip(&rows.customers);
            facts.extend(events.map(|(history, customer)| row_facts(*history, met[*customer as usize])));
            if let Some((column, of_grade, graded)) = &bound.grades {
                let accounts = bound.split.runs.accounts();
                for (row, facts) in facts.iter_mut().enumerate() {
                    let customer = rows.customers[row] as usize;
                    if Histories::stage(rows.histories[row]) == stage::LEAD_ORIGINATED
                        && graded[accounts.get(customer) as usize]
                    {
                        *facts |= of_grade[column.code(customer, rows.events[row] as usize) as usize];
                    }
                }
            }
            for bank in 0..STATE_BANK {
                if state.has_bank(bank) {
                    let of_row = |row: usize| lanes(facts[row].to_le_bytes()[bank]);
                    match bound.grain {
                        Grain::Row => {
                            state.count(bank, unit_slots.iter().zip(0..).map(|(slot, row)| (*slot, *of_row(row))))
                        }
                        Grain::Segment => count_segments(state, bank, unit_slots, rows, facts, sums),
                    }
                }
            }
        }
        if let (Some(place), Some(totals)) = (self.total_place, &bound.split.totals) {
            for (row, event) in rows.events.iter().enumerate() {
                let slot = slot_of_row(bound.grain, unit_slots, rows, row);
                state.add_money(slot, place, totals.get(*event as usize).map_or(0, i128::from));
            }
        }
    }

    /// Counts what only state rows carry, and distinct customers.
    fn count_states(&mut self, bound: &mut Bound<'_>) {
        let Self { rows, buffers, merged, counted, .. } = self;
        let (segments, unit_slots) = (&rows.found.all, &buffers.unit_slots);
        let (layout, state) = (&self.context.layout, &mut merged.state);
        let grain = bound.grain;
        let state_slot = |row: u32| slot_of_row(grain, unit_slots, rows, row as usize);
        if state.has_bank(STATE_BANK) {
            let per_segment = bound.grain == Grain::Segment;
            let opportunity = state_bit(Measure::Opportunities, true);
            let canceled_after = layout.has(Measure::CanceledAfterBooking);
            let facts = segments.iter().map(|segment| {
                let mut facts = state_facts(segment.state, segment.met) | if per_segment { opportunity } else { 0 };
                if let Some((column, matched)) = &bound.statuses {
                    let row = segment.state_row as usize;
                    let is_matched =
                        matched[column.code(rows.customers[row] as usize, rows.events[row] as usize) as usize];
                    facts |= state_bit(Measure::MatchedCustomers, is_matched)
                        | state_bit(Measure::UnmatchedCustomers, !is_matched);
                } else {
                    facts |= state_bit(Measure::UnmatchedCustomers, true);
                }
                if canceled_after {
                    let canceled = is_canceled_after_booking(bound.split, rows, segment);
                    facts |= state_bit(Measure::CanceledAfterBooking, canceled);
                }
                (state_slot(segment.state_row), *lanes(facts))
            });
            state.count(STATE_BANK, facts);
            if !per_segment && layout.has(Measure::Opportunities) {
                counted.resize(merged.groups.len() + 1, 0);
                let first = self.segments + 1;
                let is_new = unit_slots.iter().zip(&rows.segments).map(|(slot, segment)| {
                    // A customer's rows of a sub-range come one after the other: it is new in the group if it was not counted last.
                    let segment = first + u64::from(*segment);
                    let is_new = std::mem::replace(&mut counted[*slot as usize], segment) != segment;
                    (*slot, *lanes(if is_new { opportunity } else { 0 }))
                });
                state.count(STATE_BANK, is_new);
            }
        }
        if let Some(places) = &self.revenue_places {
            for (segment, revenue) in segments.iter().zip(&rows.found.revenues) {
                state.add_money(state_slot(segment.state_row), places[usize::from(segment.state)], *revenue);
            }
        }
        if let Some((column, translation)) = &mut bound.agents {
            for segment in segments {
                let (row, slot) = (segment.state_row as usize, state_slot(segment.state_row));
                let code = column.code(rows.customers[row] as usize, rows.events[row] as usize);
                if slot != 0 && code != 0 {
                    let agent = translation.code(code, column.dictionary(), &mut merged.agents);
                    state.agents.insert((slot - 1, agent));
                }
            }
        }
    }
}

/// The slot of a row.
fn slot_of_row(grain: Grain, unit_slots: &[u32], rows: &Rows, row: usize) -> u32 {
    unit_slots[match grain {
        Grain::Row => row,
        Grain::Segment => rows.segments[row] as usize,
    }]
}

/// Counts a bank's facts where all rows of a segment are of one group: each segment adds the difference of two running sums, so that
/// its rows do not wait for each other at the group's counts.
fn count_segments(state: &mut State, bank: usize, slots: &[u32], rows: &Rows, facts: &[u16], sums: &mut Vec<Lanes>) {
    let segments = &rows.found.all;
    sums.clear();
    let mut sum: Lanes = [0; LANES];
    for facts in facts {
        sums.push(sum);
        let lanes = lanes(facts.to_le_bytes()[bank]);
        for lane in 0..LANES {
            sum[lane] = sum[lane].wrapping_add(lanes[lane]);
        }
    }
    sums.push(sum);
    let difference = |(segment, slot): (&Segment, &u32)| {
        let (before, after) = (&sums[segment.first as usize], &sums[segment.end as usize]);
        (*slot, std::array::from_fn(|lane| after[lane].wrapping_sub(before[lane])))
    };
    // More rows than this in one chunk are one customer's.
    if rows.len() <= usize::from(u16::MAX) {
        return state.count(bank, segments.iter().zip(slots).map(difference));
    }
    for (segment, slot) in segments.iter().zip(slots) {
        let of_rows = facts[segment.rows()].iter();
        state.count(bank, of_rows.map(|facts| (*slot, *lanes(facts.to_le_bytes()[bank]))));
    }
}

/// Whether the customer of a segment has a canceled event, in its whole history, after its first booked one of the segment's rows.
fn is_canceled_after_booking(split: &Split, rows: &Rows, segment: &Segment) -> bool {
    let Some(booked) = segment.rows().find(|row| Histories::stage(rows.histories[*row]) == stage::BOOKED) else {
        return false;
    };
    let customer = rows.customers[booked] as usize;
    if split.histories.met()[customer] >> stage::CANCELED & 1 == 0 {
        return false;
    }
    let later = rows.events[booked] as usize..split.runs.events(customer).end;
    split.histories.first(later, stage::CANCELED).is_some()
}
