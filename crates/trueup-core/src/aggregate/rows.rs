//! The events of consecutive customers that lie in the range, and the segments that they make: a customer in a sub-range.
//!
//! Whether an event lies in the range, begins a segment or undoes what was before it is as good as random to a processor, so the loops
//! here have no branches that depend on it.

use super::Calendar;
use crate::money;
use crate::scan::{Amounts, Block, Histories, NO_MULTIPLE, NO_VALUE, Split, stage};

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
    /// The first row that no cancellation undid.
    live_from: u32,
    /// The state row: the last row in the state.
    pub(crate) state_row: u32,
    /// Bit by stage: the stages that occur.
    pub(crate) met: u8,
    /// The furthest stage that no cancellation undid, or canceled.
    pub(crate) state: u8,
}

/// The segments of some rows, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    pub(crate) all: Vec<Segment>,
    /// Per segment, the customer's revenue in its state, in millionths; empty if not asked for.
    pub(crate) revenues: Vec<i128>,
}

/// By stage: the stages that are still live after an event of it.
const KEEPS: [u8; 8] = {
    let mut keeps = [u8::MAX; 8];
    keeps[stage::CANCELED as usize] = 0;
    keeps
};

/// By the bits of live stages: the state.
const STATES: [u8; 64] = {
    let mut states = [stage::CANCELED; 64];
    let mut live = 1_usize;
    while live < states.len() {
        states[live] = live.ilog2() as u8;
        live += 1;
    }
    states
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

    /// Finds the segments, with the revenue of each if `totals` are given.
    pub(crate) fn find_segments(&mut self, calendar: &Calendar, totals: Option<&Amounts>) {
        self.cut(calendar);
        self.place_states();
        let (rows, found) = ((&*self.events, &*self.histories, &*self.segments), &mut self.found);
        found.revenues.clear();
        match totals {
            None => {}
            Some(Amounts::Narrow { unit, multiples }) => {
                let value = |event: u32| Some(multiples[event as usize]).filter(|multiple| *multiple != NO_MULTIPLE);
                found.add_revenues(rows, i128::from(*unit), |event| value(event).map(i128::from));
            }
            Some(Amounts::Wide(micros)) => {
                let value = |event: u32| Some(micros[event as usize]).filter(|micros| *micros != NO_VALUE);
                found.add_revenues(rows, 1, |event| value(event).map(i128::from));
            }
        }
    }

    /// Cuts the rows into segments: consecutive rows of one customer and sub-range.
    fn cut(&mut self, calendar: &Calendar) {
        let all = &mut self.found.all;
        self.segments.resize(self.events.len(), 0);
        all.clear();
        all.resize(self.events.len(), Segment::default());
        let (mut segment, mut customer, mut sub_range) = (u32::MAX, u32::MAX, u32::MAX);
        let (mut met, mut live, mut first, mut live_from) = (0_u8, 0_u8, 0_u32, 0_u32);
        let rows = self.customers.iter().zip(&self.days).zip(&self.histories).zip(&mut self.segments);
        for (row, (((of, day), history), number)) in (0_u32..).zip(rows) {
            let part = calendar.sub_range_at(*day);
            let is_new = (*of != customer) | (part != sub_range);
            (customer, sub_range) = (*of, part);
            segment = segment.wrapping_add(u32::from(is_new));
            let code = usize::from(Histories::stage(*history));
            // All ones where the segment goes on.
            let old = u8::from(is_new).wrapping_sub(1);
            met = (met & old) | 1 << code;
            live = ((live & old) | 1 << code) & KEEPS[code];
            first = if is_new { row } else { first };
            live_from = if is_new { row } else { live_from };
            live_from = if code == usize::from(stage::CANCELED) { row + 1 } else { live_from };
            *number = segment;
            // The last row of a segment leaves what is true of all of it. The live stages stand where the state will.
            all[segment as usize] = Segment { sub_range, first, live_from, state_row: 0, met, state: live };
        }
        all.truncate(segment.wrapping_add(1) as usize);
    }

    /// Finds the state and the state row of each segment.
    fn place_states(&mut self) {
        for segment in &mut self.found.all {
            // Closed work is never undone: then every row is live.
            let closed = segment.met & (1 << stage::CLOSED) != 0;
            let live = if closed { segment.met & !(1 << stage::CANCELED) } else { segment.state };
            segment.live_from = if closed { segment.first } else { segment.live_from };
            // Nothing live: the last row is a cancellation.
            segment.state = STATES[usize::from(live)];
        }
        let mut state_row = 0;
        for (row, (history, segment)) in (0_u32..).zip(self.histories.iter().zip(&self.segments)) {
            let segment = &mut self.found.all[*segment as usize];
            state_row = if Histories::stage(*history) == segment.state { row } else { state_row };
            // A segment has a row in its state, which sets this right.
            segment.state_row = state_row;
        }
    }
}

impl Segments {
    /// Adds up the live amounts in each segment's state. `value` is an event's amount in `unit` millionths.
    fn add_revenues(
        &mut self,
        (events, histories, segments): (&[u32], &[u8], &[u32]),
        unit: i128,
        value: impl Fn(u32) -> Option<i128>,
    ) {
        self.revenues.resize(self.all.len(), 0);
        let mut current = u32::MAX;
        let (mut sum, mut count) = (0_i128, 0_u64);
        for (row, ((event, history), number)) in (0_u32..).zip(events.iter().zip(histories).zip(segments)) {
            let segment = &self.all[*number as usize];
            let is_new = *number != current;
            current = *number;
            let amount = value(*event);
            let counts = (Histories::stage(*history) == segment.state) & (row >= segment.live_from) & amount.is_some();
            sum = if is_new { 0 } else { sum } + if counts { amount.unwrap_or(0) } else { 0 };
            count = if is_new { 0 } else { count } + u64::from(counts);
            let is_average = (segment.state == stage::ESTIMATED) & (count > 1);
            self.revenues[*number as usize] = if is_average { money::average(sum * unit, count) } else { sum * unit };
        }
        // Leads, bookings and cancellations earn nothing.
        for (revenue, segment) in self.revenues.iter_mut().zip(&self.all) {
            let earns = matches!(segment.state, stage::ESTIMATED | stage::SOLD | stage::CLOSED);
            *revenue = if earns { *revenue } else { 0 };
        }
    }
}
