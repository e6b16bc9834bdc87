//! Days between two stages, counted on the event with which they begin.

use crate::aggregate::context::QueryContext;
use crate::aggregate::segment::{SegmentBatch, Segments};
use crate::aggregate::types::{GroupSlot, INTERRUPT_CHECK_GROUPS};
use crate::dictionary::StagePair;
use crate::memory::{column_bytes_while_adding, table_bytes_while_adding};
use crate::plan::{DurationLayout, MeasureLayout};
use crate::scan::{EventColumns, EventFlags, stage};
use crate::{Interrupt, Interruption};
use hashbrown::HashMap;

/// The durations of each group between some pairs of stages.
#[derive(Debug)]
pub(crate) struct Durations {
    /// By place in the layout.
    pairs: Vec<PairDurations>,
}

/// The durations of each group between two stages.
#[derive(Debug)]
pub(crate) struct PairDurations {
    pub(crate) pair: StagePair,
    /// By slot.
    by_slot: Vec<DurationSums>,
    /// By slot and number of days, the number of durations; `None` if the query needs no percentile of them.
    by_day: Option<HashMap<(GroupSlot, u16), u64>>,
}

/// The durations of one group between two stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DurationSums {
    /// The number of durations.
    pub(crate) reached: u64,
    /// The sum of the durations.
    pub(crate) days: u64,
}

/// The number of durations of one group and one number of days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DayCount {
    pub(crate) group: u32,
    pub(crate) days: u16,
    pub(crate) count: u64,
}

/// The pairs of stages of a query, bound to the columns of a row group.
#[derive(Debug)]
pub(super) struct DurationColumns<'a> {
    columns: &'a EventColumns,
    /// The second stage of each pair.
    second_stages: Vec<u8>,
    /// By the flags of an event, the pairs whose durations may begin with it: a bit for each place in the layout.
    beginning: [u16; EventFlags::COUNT],
    /// Whether every duration begins with the first event of a customer.
    only_first_events: bool,
    /// The events with which a duration may begin.
    found: Vec<Beginning>,
}

/// An event with which a duration may begin.
#[derive(Clone, Copy, Debug, Default)]
struct Beginning {
    slot: GroupSlot,
    customer: u32,
    event: u32,
}

// Each pair has one bit.
const _: () = assert!(StagePair::ALL.len() <= u16::BITS as usize);

impl Durations {
    pub(super) fn new(layout: &MeasureLayout) -> Self {
        let pair = |layout: &DurationLayout| PairDurations {
            pair: layout.pair,
            by_slot: Vec::new(),
            by_day: layout.by_day.then(HashMap::new),
        };
        Self { pairs: layout.durations().iter().map(pair).collect() }
    }

    /// Returns the number of bytes held.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |pair: &PairDurations| {
            let by_day = pair.by_day.as_ref().map_or(0, HashMap::allocation_size);
            pair.by_slot.capacity() * size_of::<DurationSums>() + by_day
        };
        self.pairs.iter().map(bytes).sum()
    }

    /// Returns the number of bytes that may be held while `units` units are added, and at most `groups` groups.
    pub(super) fn bytes_while_adding(&self, units: usize, groups: usize) -> usize {
        let entry = size_of::<((GroupSlot, u16), u64)>();
        let counts = |by_day: &HashMap<(GroupSlot, u16), u64>| {
            table_bytes_while_adding(by_day.len(), by_day.capacity(), by_day.allocation_size(), units, entry)
        };
        let bytes = |pair: &PairDurations| {
            column_bytes_while_adding(&pair.by_slot, groups) + pair.by_day.as_ref().map_or(0, counts)
        };
        self.pairs.iter().map(bytes).sum()
    }

    /// Adds entries so that there are `slots` slots.
    pub(super) fn grow(&mut self, slots: usize) {
        self.pairs.iter_mut().for_each(|pair| pair.by_slot.resize(slots, DurationSums::default()));
    }

    /// Adds the durations of another state. `slots` has for each of its groups the slot here.
    pub(super) fn merge(
        &mut self,
        other: Self,
        slots: &[GroupSlot],
        interrupt: &Interrupt,
    ) -> Result<(), Interruption> {
        for (pair, other) in self.pairs.iter_mut().zip(other.pairs) {
            let check = |at: usize| if at.is_multiple_of(INTERRUPT_CHECK_GROUPS) { interrupt.check() } else { Ok(()) };
            // The entry of `GroupSlot::NONE` is skipped.
            for (at, (slot, more)) in slots.iter().zip(&other.by_slot[1..]).enumerate() {
                check(at)?;
                pair.by_slot[slot.index()].add(*more);
            }
            for (at, ((slot, days), count)) in other.by_day.into_iter().flatten().enumerate() {
                check(at)?;
                pair.count_day(slots[slot.group()], days, count);
            }
        }
        Ok(())
    }

    /// Returns the sums over all groups of each column: numbers of durations, sums of durations and, where durations
    /// are counted by day, the same two of these counts.
    pub(super) fn sums(&self) -> impl Iterator<Item = i128> {
        self.pairs.iter().flat_map(|pair| {
            let of_slots = pair.by_slot.iter().map(|sums| [sums.reached.into(), sums.days.into()]);
            let by_day = pair.by_day.iter().map(|by_day| {
                let counts = by_day.iter().map(|((_, days), count)| (i128::from(*count), i128::from(*days)));
                add_up(counts.map(|(count, days)| [count, count * days]))
            });
            std::iter::once(add_up(of_slots)).chain(by_day).flatten()
        })
    }

    /// Returns the durations of each pair, by place in the layout.
    pub(crate) fn pairs(&self) -> &[PairDurations] {
        &self.pairs
    }

    /// Returns the durations of each pair to add to, by place in the layout.
    pub(crate) fn pairs_mut(&mut self) -> &mut [PairDurations] {
        &mut self.pairs
    }
}

impl PairDurations {
    /// Returns the number and the sum of the durations of a group.
    pub(crate) fn sums_of(&self, group: usize) -> DurationSums {
        self.by_slot[group + 1]
    }

    /// Returns the number of durations of each group and each number of days, in any order; `None` if the query needs
    /// no percentile of them.
    pub(crate) fn by_day(&self) -> Option<impl ExactSizeIterator<Item = DayCount>> {
        let count = |((slot, days), count): (&(GroupSlot, u16), &u64)| DayCount {
            // There are fewer than 2^32 groups.
            group: u32::try_from(slot.group()).unwrap_or(u32::MAX),
            days: *days,
            count: *count,
        };
        Some(self.by_day.as_ref()?.iter().map(count))
    }

    /// Adds durations to the number and the sum of a slot.
    pub(crate) fn add(&mut self, slot: GroupSlot, more: DurationSums) {
        self.by_slot[slot.index()].add(more);
    }

    /// Adds durations of a number of days to the counts by day of a slot, if durations are counted by day.
    pub(crate) fn count_day(&mut self, slot: GroupSlot, days: u16, count: u64) {
        if let Some(by_day) = &mut self.by_day {
            *by_day.entry((slot, days)).or_default() += count;
        }
    }
}

impl DurationSums {
    fn add(&mut self, more: Self) {
        self.reached += more.reached;
        self.days += more.days;
    }
}

impl<'a> DurationColumns<'a> {
    /// Returns `None` if the query needs no durations.
    pub(super) fn bind(context: &QueryContext<'_>, columns: &'a EventColumns) -> Option<Self> {
        let layouts = context.plan.layout.durations();
        if layouts.is_empty() {
            return None;
        }
        let mut beginning = [0; EventFlags::COUNT];
        for (flags, places) in (0..=u8::MAX).map(EventFlags::new).zip(&mut beginning) {
            for (place, layout) in layouts.iter().enumerate() {
                *places |= u16::from(may_begin(flags, layout.pair)) << place;
            }
        }
        Some(Self {
            columns,
            second_stages: layouts.iter().map(|layout| layout.pair.stages().1.code()).collect(),
            beginning,
            only_first_events: layouts.iter().all(|layout| is_from_lead(layout.pair)),
            found: Vec::new(),
        })
    }

    /// Adds the durations that begin with events of segments, given the slot of each segment.
    pub(super) fn add_segments(&mut self, segments: &Segments, slots: &[GroupSlot], durations: &mut Durations) {
        let Segments { events, lengths, customers, .. } = segments;
        let only_first_events = self.only_first_events;
        let length = |length: &u32| if only_first_events { 1 } else { *length };
        let most = lengths.iter().map(|events| length(events) as usize).sum();
        let segments = slots.iter().zip(customers).zip(events.iter().zip(lengths));
        let events = segments.flat_map(|((slot, customer), (first, events))| {
            let events = *first..*first + length(events);
            events.map(|event| Beginning { slot: *slot, customer: *customer, event })
        });
        self.find(most, events);
        self.add_found(durations);
    }

    /// Adds the durations that begin with rows, given the slot of each row.
    pub(super) fn add_rows(&mut self, batch: &SegmentBatch, slots: &[GroupSlot], durations: &mut Durations) {
        let SegmentBatch { segments, rows } = batch;
        let events = slots.iter().zip(&rows.segments).zip(&rows.events);
        let events = events.map(|((slot, segment), event)| Beginning {
            slot: *slot,
            customer: segments.customers[*segment as usize],
            event: *event,
        });
        self.find(slots.len(), events);
        self.add_found(durations);
    }

    /// Finds the events with which a duration may begin among `events`. There are at most `most` of them.
    #[inline]
    fn find(&mut self, most: usize, events: impl Iterator<Item = Beginning>) {
        let Self { columns, beginning, found, .. } = self;
        let flags = columns.histories.events();
        found.resize(most, Beginning::default());
        let mut next = 0;
        for event in events {
            // The next event overwrites one with which no duration begins. There is no branch, because it is
            // unpredictable with which events a duration begins.
            found[next] = event;
            next += usize::from(beginning[flags.get(event.event as usize).index()] != 0);
        }
        found.truncate(next);
    }

    /// Adds the durations that begin with the events found.
    fn add_found(&self, durations: &mut Durations) {
        let flags = self.columns.histories.events();
        for Beginning { slot, customer, event } in &self.found {
            let (customer, event) = (*customer as usize, *event as usize);
            let places = self.beginning[flags.get(event).index()];
            let pairs = durations.pairs.iter_mut().zip(&self.second_stages).enumerate();
            for (_, (pair, stage)) in pairs.filter(|(place, _)| places >> place & 1 == 1) {
                if let Some(next) = next_of_stage(self.columns, customer, event, *stage) {
                    let days = self.columns.days[next] - self.columns.days[event];
                    pair.add(*slot, DurationSums { reached: 1, days: days.into() });
                    pair.count_day(*slot, days, 1);
                }
            }
        }
    }
}

/// Returns the event that ends the duration of a pair, given the event of a customer that begins it; `None` if no
/// duration begins with that event.
pub(crate) fn next_of_pair(columns: &EventColumns, customer: usize, event: usize, pair: StagePair) -> Option<usize> {
    let begins = may_begin(columns.histories.events().get(event), pair);
    begins.then(|| next_of_stage(columns, customer, event, pair.stages().1.code()))?
}

/// Returns a customer's first event of `stage` on the day of one of its events or later.
fn next_of_stage(columns: &EventColumns, customer: usize, event: usize, stage: u8) -> Option<usize> {
    let (days, history) = (&columns.days, columns.customers.events(customer));
    let day = days[event];
    // The events of a customer are in the order of their days, and one of the same day may come before `event`.
    let same_day = days[history.start..event].iter().rev().take_while(|before| **before == day).count();
    columns.histories.first(event - same_day..history.end, stage)
}

/// Adds up pairs of numbers.
fn add_up(numbers: impl Iterator<Item = [i128; 2]>) -> [i128; 2] {
    numbers.fold([0; 2], |sums, more| [sums[0] + more[0], sums[1] + more[1]])
}

/// Returns whether the durations of a pair begin with the first event of a customer, which must be a conversion.
fn is_from_lead(pair: StagePair) -> bool {
    pair.stages().0.code() == stage::LEAD_ORIGINATED
}

/// Returns whether a duration of a pair may begin with an event.
fn may_begin(event: EventFlags, pair: StagePair) -> bool {
    let (first, second) = pair.stages();
    let is_first = if is_from_lead(pair) { event.is_first() } else { event.is_first_of_stage() };
    is_first && event.stage() == first.code() && event.may_reach(second.code())
}
