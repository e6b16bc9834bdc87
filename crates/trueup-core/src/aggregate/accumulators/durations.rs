//! Days between two stages, counted on the event with which they begin.

use super::arrow_columns::{count_name, sum_name};
use super::{
    Accumulator, ArrowColumns, BoundAccumulator, CountedEvent, EventAccumulator, ExplainedRow, RowUnits, SegmentUnits,
    column, invalid, values,
};
use crate::aggregate::context::QueryContext;
use crate::aggregate::segment::Segments;
use crate::aggregate::types::{GroupSlot, INTERRUPT_CHECK_GROUPS};
use crate::dictionary::{Measure, StagePair};
use crate::memory::{column_bytes_while_adding, table_bytes_while_adding};
use crate::model::Stage;
use crate::plan::MeasureLayout;
use crate::scan::{EventColumns, EventFlags, stage};
use crate::{Interrupt, Interruption};
use arrow_array::builder::{MapBuilder, UInt16Builder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt64Type};
use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_schema::ArrowError;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// The durations of each group between some pairs of stages.
#[derive(Clone, Debug)]
pub(crate) struct Durations {
    /// In the order of the measures.
    pairs: Vec<PairDurations>,
}

/// The durations of each group between two stages.
#[derive(Clone, Debug)]
pub(crate) struct PairDurations {
    pub(crate) pair: StagePair,
    /// By slot.
    by_slot: Vec<DurationSums>,
    /// By slot and number of days, the number of durations; `None` if the query needs no percentile of them.
    by_day: Option<HashMap<(GroupSlot, u16), u64>>,
}

/// The durations of one group between two stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DurationSums {
    /// The number of durations.
    reached: u64,
    /// The sum of the durations.
    days: u64,
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
pub(crate) struct DurationColumns<'a> {
    columns: &'a EventColumns,
    /// The pairs, by place in the state.
    pairs: Vec<StagePair>,
    /// By the flags of an event, the pairs whose durations may begin with it: a bit for each place.
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
    /// Returns the durations of a pair, if the query aggregates them.
    pub(crate) fn pair(&self, pair: StagePair) -> Option<&PairDurations> {
        self.pairs.iter().find(|durations| durations.pair == pair)
    }

    /// Returns the durations of each pair.
    pub(crate) fn pairs(&self) -> &[PairDurations] {
        &self.pairs
    }
}

impl Accumulator for Durations {
    fn holds(measure: Measure) -> bool {
        pair_of(measure).is_some()
    }

    fn new(layout: &MeasureLayout) -> Self {
        let pair = |pair: StagePair| PairDurations {
            pair,
            by_slot: Vec::new(),
            by_day: layout.has(Measure::DayCounts(pair)).then(HashMap::new),
        };
        Self { pairs: pairs_of(layout).into_iter().map(pair).collect() }
    }

    fn bytes(&self) -> usize {
        let bytes = |pair: &PairDurations| {
            let by_day = pair.by_day.as_ref().map_or(0, HashMap::allocation_size);
            pair.by_slot.capacity() * size_of::<DurationSums>() + by_day
        };
        self.pairs.iter().map(bytes).sum()
    }

    fn grow(&mut self, slots: usize) {
        self.pairs.iter_mut().for_each(|pair| pair.by_slot.resize(slots, DurationSums::default()));
    }

    fn merge(&mut self, other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption> {
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

    /// Returns for each pair the sums of its two columns and, where durations are counted by day, the same two of these
    /// counts.
    fn sums(&self) -> Vec<i128> {
        let sums = self.pairs.iter().flat_map(|pair| {
            let of_slots = pair.by_slot.iter().map(|sums| [sums.reached.into(), sums.days.into()]);
            let by_day = pair.by_day.iter().map(|by_day| {
                let counts = by_day.iter().map(|((_, days), count)| (i128::from(*count), i128::from(*days)));
                add_up(counts.map(|(count, days)| [count, count * days]))
            });
            std::iter::once(add_up(of_slots)).chain(by_day).flatten()
        });
        sums.collect()
    }

    fn to_arrow(&self, groups: usize, columns: &mut ArrowColumns) -> Result<(), ArrowError> {
        for durations in &self.pairs {
            let sums = || GroupSlot::first(groups).map(|slot| durations.by_slot[slot.index()]);
            columns.push_counts(Measure::Reached(durations.pair), sums().map(|sums| sums.reached));
            let days = UInt64Array::from_iter_values(sums().map(|sums| sums.days));
            columns.push(sum_name(Measure::Days(durations.pair)), days);
            let Some(by_day) = durations.by_day() else { continue };
            let mut by_day: Vec<DayCount> = by_day.collect();
            by_day.sort_unstable();
            let mut by_day = by_day.into_iter().peekable();
            let mut maps = MapBuilder::new(None, UInt16Builder::new(), UInt64Builder::new());
            for group in 0..groups {
                while let Some(DayCount { days, count, .. }) = by_day.next_if(|of| of.group as usize == group) {
                    maps.keys().append_value(days);
                    maps.values().append_value(count);
                }
                maps.append(true)?;
            }
            columns.push(Measure::DayCounts(durations.pair).name().to_owned(), maps.finish());
        }
        Ok(())
    }

    fn add_arrow(&mut self, batch: &RecordBatch, slots: &[GroupSlot]) -> Result<(), ArrowError> {
        for durations in &mut self.pairs {
            let reached = values::<UInt64Type>(batch, &count_name(Measure::Reached(durations.pair)))?;
            let days = values::<UInt64Type>(batch, &sum_name(Measure::Days(durations.pair)))?;
            for (slot, (reached, days)) in slots.iter().zip(reached.iter().zip(days)) {
                durations.add(*slot, DurationSums { reached: *reached, days: *days });
            }
            if durations.by_day.is_none() {
                continue;
            }
            let name = Measure::DayCounts(durations.pair).name();
            let maps = column(batch, name)?.as_map_opt().filter(|maps| maps.null_count() == 0);
            let maps = maps.ok_or_else(|| invalid(name))?;
            let days = maps.keys().as_primitive_opt::<UInt16Type>().filter(|days| days.null_count() == 0);
            let days = days.ok_or_else(|| invalid(name))?;
            let counts = maps.values().as_primitive_opt::<UInt64Type>().filter(|counts| counts.null_count() == 0);
            let counts = counts.ok_or_else(|| invalid(name))?;
            for (slot, ends) in slots.iter().zip(maps.value_offsets().windows(2)) {
                for entry in (ends[0]..ends[1]).filter_map(|entry| usize::try_from(entry).ok()) {
                    durations.count_day(*slot, days.value(entry), counts.value(entry));
                }
            }
        }
        Ok(())
    }

    fn value(&self, measure: Measure) -> Option<impl Fn(GroupSlot) -> i128> {
        let is_sum_of_days = match measure {
            Measure::Reached(_) => false,
            Measure::Days(_) => true,
            _ => return None,
        };
        let by_slot = &self.pair(pair_of(measure)?)?.by_slot;
        Some(move |slot: GroupSlot| {
            let sums = by_slot[slot.index()];
            i128::from(if is_sum_of_days { sums.days } else { sums.reached })
        })
    }
}

impl EventAccumulator for Durations {
    type Bound<'a> = DurationColumns<'a>;

    /// Returns `None` if the query needs no durations.
    fn bind<'a>(context: &'a QueryContext<'a>, columns: &'a EventColumns) -> Option<DurationColumns<'a>> {
        let pairs = pairs_of(&context.plan.layout);
        if pairs.is_empty() {
            return None;
        }
        let mut beginning = [0; EventFlags::COUNT];
        for (flags, places) in (0..=u8::MAX).map(EventFlags::new).zip(&mut beginning) {
            for (place, pair) in pairs.iter().enumerate() {
                *places |= u16::from(may_begin(flags, *pair)) << place;
            }
        }
        let only_first_events = pairs.iter().all(|pair| is_from_lead(*pair));
        Some(DurationColumns { columns, pairs, beginning, only_first_events, found: Vec::new() })
    }

    fn bytes_while_adding(&self, units: usize, groups: usize, _bound: Option<&DurationColumns<'_>>) -> usize {
        let entry = size_of::<((GroupSlot, u16), u64)>();
        let counts = |by_day: &HashMap<(GroupSlot, u16), u64>| {
            table_bytes_while_adding(by_day.len(), by_day.capacity(), by_day.allocation_size(), units, entry)
        };
        let bytes = |pair: &PairDurations| {
            column_bytes_while_adding(&pair.by_slot, groups) + pair.by_day.as_ref().map_or(0, counts)
        };
        self.pairs.iter().map(bytes).sum()
    }

    fn subtract(&mut self, other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption> {
        for (pair, other) in self.pairs.iter_mut().zip(other.pairs) {
            let check = |at: usize| if at.is_multiple_of(INTERRUPT_CHECK_GROUPS) { interrupt.check() } else { Ok(()) };
            // The entry of `GroupSlot::NONE` is skipped.
            for (at, (slot, less)) in slots.iter().zip(&other.by_slot[1..]).enumerate() {
                check(at)?;
                let sums = &mut pair.by_slot[slot.index()];
                sums.reached -= less.reached;
                sums.days -= less.days;
            }
            let Some(by_day) = &mut pair.by_day else { continue };
            for (at, ((slot, days), less)) in other.by_day.into_iter().flatten().enumerate() {
                check(at)?;
                if let Entry::Occupied(mut count) = by_day.entry((slots[slot.group()], days)) {
                    *count.get_mut() -= less;
                    // A percentile is found among the numbers of days that occur.
                    if *count.get() == 0 {
                        count.remove();
                    }
                }
            }
        }
        Ok(())
    }

    /// A percentile is no sum.
    fn is_sum(measure: Measure) -> bool {
        !matches!(measure, Measure::DayCounts(_))
    }

    /// Returns with which events a duration begins and ends, or that there is none.
    fn rule(measure: Measure, event: &CountedEvent<'_>) -> String {
        let Some(pair) = pair_of(measure) else { return String::new() };
        let (first, second) = pair.stages();
        let what = match first {
            Stage::LeadOriginated => "first touch".to_owned(),
            stage => format!("the customer's first {} event of all", stage.name()),
        };
        let day = event.columns.days[event.event];
        let same_day = event.history.clone().find(|row| event.columns.days[*row] == day).unwrap_or(event.event);
        match event.first(same_day..event.history.end, second) {
            Some(next) => {
                let days = event.columns.days[next] - day;
                let days = format!("{days} day{}", if days == 1 { "" } else { "s" });
                format!("{what}; {days} later, the customer is {} by {}", second.name(), event.reference(next))
            }
            None => {
                let until = if event.cohort.is_some() { ", up to the end of its window" } else { "" };
                format!("{what}; no {} event on that day or later{until}", second.name())
            }
        }
    }
}

/// Returns the pair of stages of a measure of durations.
const fn pair_of(measure: Measure) -> Option<StagePair> {
    match measure {
        Measure::Reached(pair) | Measure::NotReached(pair) | Measure::Days(pair) | Measure::DayCounts(pair) => {
            Some(pair)
        }
        _ => None,
    }
}

/// Returns the pairs of the measures of a layout, each once.
fn pairs_of(layout: &MeasureLayout) -> Vec<StagePair> {
    let mut pairs = Vec::new();
    for pair in layout.measures().iter().filter_map(|measure| pair_of(*measure)) {
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}

impl PairDurations {
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
    fn add(&mut self, slot: GroupSlot, more: DurationSums) {
        self.by_slot[slot.index()].add(more);
    }

    /// Adds durations of a number of days to the counts by day of a slot, if durations are counted by day.
    fn count_day(&mut self, slot: GroupSlot, days: u16, count: u64) {
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

impl DurationColumns<'_> {
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
            for (place, durations) in
                durations.pairs.iter_mut().enumerate().filter(|(place, _)| places >> place & 1 == 1)
            {
                if let Some(days) = self.days(place, customer, event) {
                    durations.add(*slot, DurationSums { reached: 1, days: days.into() });
                    durations.count_day(*slot, days, 1);
                }
            }
        }
    }

    /// Returns the duration of the pair at `place` that may begin with an event of a customer.
    fn days(&self, place: usize, customer: usize, event: usize) -> Option<u16> {
        let next = next_of_stage(self.columns, customer, event, self.pairs[place].stages().1.code())?;
        Some(self.columns.days[next] - self.columns.days[event])
    }
}

impl BoundAccumulator for DurationColumns<'_> {
    type State = Durations;

    fn reads_events(&self) -> bool {
        true
    }

    fn add_segments(&mut self, SegmentUnits { segments, slots, .. }: &SegmentUnits<'_>, durations: &mut Durations) {
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

    fn add_rows(&mut self, RowUnits { batch, slots, .. }: &RowUnits<'_>, durations: &mut Durations) {
        let events = slots.iter().zip(&batch.rows.segments).zip(&batch.rows.events);
        let events = events.map(|((slot, segment), event)| Beginning {
            slot: *slot,
            customer: batch.segments.customers[*segment as usize],
            event: *event,
        });
        self.find(slots.len(), events);
        self.add_found(durations);
    }

    fn explain(&self, row: &ExplainedRow<'_>, measure: Measure) -> Option<i128> {
        let place = self.pairs.iter().position(|pair| Some(*pair) == pair_of(measure))?;
        let begins = self.beginning[self.columns.histories.events().get(row.event).index()] >> place & 1 == 1;
        let days = begins.then(|| self.days(place, row.customer, row.event))??;
        Some(if matches!(measure, Measure::Days(_)) { days.into() } else { 1 })
    }
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
