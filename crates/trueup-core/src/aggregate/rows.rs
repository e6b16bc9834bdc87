//! The events of consecutive customers that lie in the range, and the segments that they make: a customer in a sub-range.
//!
//! Whether an event lies in the range, begins a segment or undoes what was before it is as good as random to a processor, so the loops
//! here have no branches that depend on it.

use super::Calendar;
use crate::money;
use crate::scan::{Amounts, Block, Histories, NO_MULTIPLE, NO_VALUE, Split, stage};
use std::hint::select_unpredictable;
use std::ops::{Add, Range};

/// Rows, column by column, and their segments.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The event in the split.
    pub(crate) events: Vec<u32>,
    /// The customer in the split.
    pub(crate) customers: Vec<u32>,
    /// What the event is in its customer's history, as [`Histories`] has it.
    pub(crate) histories: Vec<u8>,
    /// Days after the first of the range.
    days: Vec<u16>,
    /// The segment, counted from 0.
    pub(crate) segments: Vec<u32>,
    pub(crate) found: Segments,
}

/// A customer in a sub-range, and what one look at the stages of its rows tells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    pub(crate) sub_range: u32,
    /// The first row.
    pub(crate) first: u32,
    /// One after the last row.
    pub(crate) end: u32,
    /// The state row: the last row in the state.
    pub(crate) state_row: u32,
    /// Bit by stage: the stages that occur.
    pub(crate) met: u8,
    /// The furthest stage that no cancellation undid, or canceled.
    pub(crate) state: u8,
}

impl Segment {
    /// Its rows.
    pub(crate) const fn rows(&self) -> Range<usize> {
        self.first as usize..self.end as usize
    }
}

/// The segments of some rows, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    pub(crate) all: Vec<Segment>,
    /// Per segment, the customer's revenue in its state, in millionths; empty if not asked for, and of no meaning in states that earn
    /// nothing.
    pub(crate) revenues: Vec<i128>,
    narrow: Vec<Open<i64>>,
    wide: Vec<Open<i128>>,
}

/// A segment as far as rows have been read; amounts add up to `S`.
#[derive(Clone, Copy, Debug, Default)]
struct Open<S> {
    /// The sum of the amounts that are live in the state.
    sum: S,
    /// How many they are.
    count: u32,
    sub_range: u32,
    state_row: u32,
    /// One after the last row.
    end: u32,
    met: u8,
    /// How far the state is.
    rank: u8,
}

/// By stage: how far it is, cancellations being no way at all.
#[expect(clippy::cast_possible_truncation, reason = "there are six stages")]
const RANKS: [u8; 8] = {
    let mut ranks = [0; 8];
    let mut code = 0;
    while code < stage::COUNT {
        ranks[code] = if code == stage::CANCELED as usize { 0 } else { code as u8 + 1 };
        code += 1;
    }
    ranks
};

/// By how far it is: the stage.
#[expect(clippy::cast_possible_truncation, reason = "there are six stages")]
const STAGES: [u8; stage::COUNT] = {
    let mut stages = [stage::CANCELED; stage::COUNT];
    let mut code = 0;
    while code < stage::COUNT {
        stages[RANKS[code] as usize] = code as u8;
        code += 1;
    }
    stages
};

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.customers.clear();
        self.histories.clear();
        self.days.clear();
    }

    /// Appends the rows of a block.
    pub(crate) fn push(&mut self, split: &Split, block: &Block, calendar: &Calendar) {
        let events = split.runs.events_of(&block.customers);
        let histories = &split.histories.events()[events.clone()];
        let days = &split.days[events.clone()];
        let from = self.len();
        let room = from + events.len();
        self.events.resize(room, 0);
        self.customers.resize(room, 0);
        self.histories.resize(room, 0);
        self.days.resize(room, 0);
        let (into_events, into_customers) = (&mut self.events[from..], &mut self.customers[from..]);
        let (into_histories, into_days) = (&mut self.histories[from..], &mut self.days[from..]);
        #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
        let (mut event, mut next_customer) = (events.start as u32, block.customers.start as u32);
        let mut at = 0;
        for (history, day) in histories.iter().zip(days) {
            next_customer += u32::from(Histories::is_first(*history));
            let offset = day.wrapping_sub(calendar.start());
            into_events[at] = event;
            into_customers[at] = next_customer - 1;
            into_histories[at] = *history;
            into_days[at] = offset;
            // What lies outside is overwritten by what comes next.
            at += usize::from(usize::from(offset) < calendar.days());
            event += 1;
        }
        let kept = from + at;
        self.events.truncate(kept);
        self.customers.truncate(kept);
        self.histories.truncate(kept);
        self.days.truncate(kept);
    }

    /// Finds the segments; with the state of each if that is asked for, and then with its revenue too if `totals` are given.
    pub(crate) fn find_segments(&mut self, calendar: &Calendar, states: bool, totals: Option<&Amounts>) {
        let (mut narrow, mut wide) = (std::mem::take(&mut self.found.narrow), std::mem::take(&mut self.found.wide));
        self.found.revenues.clear();
        match totals {
            None => {
                if states {
                    self.cut::<_, true>(calendar, |_| (0, false), &mut narrow);
                } else {
                    self.cut::<_, false>(calendar, |_| (0, false), &mut narrow);
                }
                self.found.close(&narrow);
            }
            Some(Amounts::Narrow { unit, multiples }) => {
                let amount =
                    |event: u32| (i64::from(multiples[event as usize]), multiples[event as usize] != NO_MULTIPLE);
                self.cut::<_, true>(calendar, amount, &mut narrow);
                self.found.close(&narrow);
                self.found.average(&narrow, i128::from(*unit));
            }
            Some(Amounts::Wide(micros)) => {
                let amount = |event: u32| (i128::from(micros[event as usize]), micros[event as usize] != NO_VALUE);
                self.cut::<_, true>(calendar, amount, &mut wide);
                self.found.close(&wide);
                self.found.average(&wide, 1);
            }
        }
        (self.found.narrow, self.found.wide) = (narrow, wide);
    }

    /// Cuts the rows into segments, consecutive rows of one customer and sub-range, and with `STATES` finds the state of each, with the
    /// sum and the number of the amounts that are live in it. `amount` is the amount of an event, and whether it has one.
    ///
    /// A segment's state is the furthest stage so far: a further one takes its place, and so does a cancellation, unless it follows
    /// closed work, which is never undone. What was added up before no longer counts then.
    fn cut<S: Copy + Default + Add<Output = S>, const STATES: bool>(
        &mut self,
        calendar: &Calendar,
        amount: impl Fn(u32) -> (S, bool),
        open: &mut Vec<Open<S>>,
    ) {
        const CLOSED: u8 = RANKS[stage::CLOSED as usize];
        self.segments.resize(self.events.len(), 0);
        open.resize(self.events.len(), Open::default());
        let (mut segment, mut customer, mut sub_range) = (u32::MAX, u32::MAX, u32::MAX);
        let (mut met, mut furthest, mut state_row, mut sum, mut count) = (0_u8, 0_u8, 0_u32, S::default(), 0_u32);
        let rows = self.customers.iter().zip(&self.days).zip(&self.histories).zip(&self.events).zip(&mut self.segments);
        for (row, ((((of, day), history), event), number)) in (0_u32..).zip(rows) {
            let part = calendar.sub_range_at(*day);
            let is_new = (*of != customer) | (part != sub_range);
            (customer, sub_range) = (*of, part);
            segment = segment.wrapping_add(u32::from(is_new));
            *number = segment;
            if !STATES {
                open[segment as usize] = Open { sub_range, state_row: row, end: row + 1, ..Open::default() };
                continue;
            }
            let code = usize::from(Histories::stage(*history));
            let rank = RANKS[code];
            let cancels = (code == usize::from(stage::CANCELED)) & (furthest != CLOSED);
            let replaces = is_new | (rank > furthest) | cancels;
            let belongs = replaces | (rank == furthest);
            furthest = select_unpredictable(replaces, rank, furthest);
            state_row = select_unpredictable(belongs, row, state_row);
            // All ones where the segment goes on.
            met = (met & u8::from(is_new).wrapping_sub(1)) | 1 << code;
            let (found, is_found) = amount(*event);
            let counts = belongs & is_found;
            sum = select_unpredictable(replaces, S::default(), sum) + select_unpredictable(counts, found, S::default());
            count = select_unpredictable(replaces, 0, count) + u32::from(counts);
            // The last row of a segment leaves what is true of all of it.
            open[segment as usize] = Open { sum, count, sub_range, state_row, end: row + 1, met, rank: furthest };
        }
        open.truncate(segment.wrapping_add(1) as usize);
    }
}

impl Segments {
    /// Takes the segments once all rows have been read.
    fn close<S>(&mut self, open: &[Open<S>]) {
        self.all.clear();
        let mut first = 0;
        self.all.extend(open.iter().map(|Open { sub_range, state_row, end, met, rank, .. }| {
            let state = STAGES[usize::from(*rank)];
            let segment = Segment { sub_range: *sub_range, first, end: *end, state_row: *state_row, met: *met, state };
            first = *end;
            segment
        }));
    }

    /// Takes the sums of live amounts, in `unit` millionths, as revenues: estimates are averaged, the rest adds up.
    fn average<S: Copy + Into<i128>>(&mut self, open: &[Open<S>], unit: i128) {
        self.revenues.extend(open.iter().map(|open| {
            let sum = open.sum.into() * unit;
            let is_average = (open.rank == RANKS[stage::ESTIMATED as usize]) & (open.count > 1);
            if is_average { money::average(sum, u64::from(open.count)) } else { sum }
        }));
    }
}
