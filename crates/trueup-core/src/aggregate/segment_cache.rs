//! The kinds of segments that a query meets: what all segments that are the same cut count for, found once.

use super::QueryContext;
use super::facts::state_fact;
use super::group_state::{CounterQuad, add};
use super::grouping_units::Granularity;
use super::histogram::IncrementClasses;
use super::outcome::SegmentOutcome;
use super::segments::Segments;
use crate::dictionary::Measure;
use crate::scan::{EventColumns, EventFlags, PatternId, StagePattern, stage};
use hashbrown::HashMap;
use std::ops::Range;

/// SegmentCache by number; 0 is none.
#[derive(Debug)]
pub(crate) struct SegmentCache<'a> {
    context: &'a QueryContext<'a>,
    /// Whether segments are counted with all of their rows, or for their state rows alone; `None` before the first split.
    granularity: Option<Granularity>,
    /// Per bank of counts, by kind, what a segment adds.
    lanes: Vec<Vec<CounterQuad>>,
    cuts: Vec<SegmentOutcome>,
    /// Whether segments of a kind may have a revenue that is asked for.
    earns: Vec<bool>,
    /// What adds the same; `None` where more than counts and revenues is gathered.
    classes: Option<IncrementClasses>,
    shapes: HashMap<StagePattern, PatternEntry>,
    /// Of the split, by the number of a shape, none if it was not met in it yet.
    met: Box<[PatternEntry; NUMBERS]>,
    /// By [place](PatternEntry::place), the kinds of cuts out of histories that have a shape; 0 if it was not met yet.
    parts: Vec<u32>,
    /// By their event, the kinds of cuts of one event out of the other histories, and of those with a booking that a cancellation follows; 0 if
    /// it was not met yet.
    single: Box<[[u32; EventFlags::COUNT]; 2]>,
    /// By their events, those of longer cuts, likewise.
    others: [HashMap<Box<[EventFlags]>, u32>; 2],
}

/// Where the kinds are of a history that has a shape.
#[derive(Clone, Copy, Debug)]
struct PatternEntry {
    /// That of the whole history.
    whole: u32,
    /// Where those of its cuts begin, beyond all others if none was met yet.
    place: u32,
}

/// Where more kinds than that are known when a split begins, they are found anew.
const MOST: usize = 1 << 14;

/// So many numbers shapes have in a split.
const NUMBERS: usize = PatternId::COUNT;

/// No history, or none that has a shape.
const NONE: PatternEntry = PatternEntry { whole: 0, place: u32::MAX };

impl PatternEntry {
    /// Cuts out of a history, by how many events are before them and how many they have.
    const PARTS: usize = StagePattern::MAX_EVENTS * StagePattern::MAX_EVENTS;

    /// Where a cut stands.
    #[inline]
    fn place(self, before: u32, rows: u32) -> usize {
        self.place as usize + before as usize * StagePattern::MAX_EVENTS + rows as usize - 1
    }
}

impl<'a> SegmentCache<'a> {
    pub(crate) fn new(context: &'a QueryContext<'a>) -> Self {
        Self {
            context,
            granularity: None,
            lanes: vec![Vec::new(); context.layout.banks()],
            cuts: Vec::new(),
            earns: Vec::new(),
            classes: None,
            shapes: HashMap::new(),
            met: Box::new([NONE; NUMBERS]),
            parts: Vec::new(),
            single: Box::new([[0; EventFlags::COUNT]; 2]),
            others: [HashMap::new(), HashMap::new()],
        }
    }

    /// Begins a split of which segments, or their rows one by one, are grouped.
    pub(crate) fn begin(&mut self, granularity: Granularity) {
        if self.granularity != Some(granularity) || self.cuts.len() > MOST {
            if self.granularity.is_some() {
                *self = Self::new(self.context);
            }
            self.granularity = Some(granularity);
            self.classes = IncrementClasses::new(self.context, granularity);
            self.add(SegmentOutcome::default(), &[]);
        }
        self.met.fill(NONE);
    }

    /// Whether anything that a query gathers hangs on kinds.
    fn are_needed(&self) -> bool {
        self.granularity == Some(Granularity::Segment) || self.context.needs_states
    }

    /// Adds the kind of a cut with some events of a history.
    fn push(&mut self, history: &[EventFlags], events: Range<usize>) -> u32 {
        self.add(SegmentOutcome::new(history, events.clone()), &history[events])
    }

    /// Adds the kind of a cut with these events.
    fn add(&mut self, cut: SegmentOutcome, events: &[EventFlags]) -> u32 {
        let Self { context, granularity, lanes, cuts, earns, classes, .. } = self;
        let (events, facts) = match granularity {
            // A segment is in one group as a whole, and one customer's.
            Some(Granularity::Segment) => (events, cut.facts | state_fact(Measure::Opportunities, true)),
            _ => (&[][..], cut.facts),
        };
        for (bank, kinds) in lanes.iter_mut().enumerate() {
            let mut lanes = context.state_lanes[bank][usize::from(facts)];
            let rows = &context.row_lanes[bank];
            events.iter().for_each(|event| add(&mut lanes, &rows[event.index()]));
            kinds.push(lanes);
        }
        cuts.push(cut);
        let may_earn = context.layout.revenues[usize::from(cut.state)].is_some();
        earns.push(may_earn);
        if let Some(classes) = classes {
            classes.push(lanes, may_earn);
        }
        // There are fewer than events in a split, and what was known before it.
        u32::try_from(cuts.len() - 1).unwrap_or(u32::MAX)
    }

    /// Finds the kinds of the next segments, which are whole histories, by the numbers of their shapes.
    pub(crate) fn find_whole(&mut self, split: &EventColumns, segments: &mut Segments, numbers: &[PatternId]) {
        let first = segments.kinds.len();
        segments.kinds.extend(numbers.iter().map(|number| self.met[number.index()].whole));
        if !self.are_needed() {
            return;
        }
        for segment in first..segments.kinds.len() {
            if segments.kinds[segment] == 0 {
                let customer = segments.customers[segment] as usize;
                segments.kinds[segment] = self.meet_whole(split, customer, segments.lengths[segment]);
            }
        }
    }

    /// Finds the kinds of the segments that have none yet.
    pub(crate) fn find(&mut self, split: &EventColumns, segments: &mut Segments) {
        let Segments { events, lengths, customers, kinds, .. } = segments;
        if !self.are_needed() {
            kinds.resize(events.len(), 0);
            return;
        }
        let (numbers, offsets) = (split.histories.pattern_ids(), split.customers.offsets());
        let last = kinds.len()..events.len();
        let last = customers[last.clone()].iter().zip(&events[last.clone()]).zip(&lengths[last]);
        kinds.extend(last.map(|((customer, first), rows)| {
            let customer = *customer as usize;
            let (number, before) = (numbers[customer], first - offsets[customer]);
            match self.parts.get(self.met[number.index()].place(before, *rows)) {
                Some(kind) if *kind != 0 => *kind,
                _ => self.meet(split, customer, before, *rows),
            }
        }));
    }

    /// The kind of a whole history that was not met yet in the split.
    #[cold]
    fn meet_whole(&mut self, split: &EventColumns, customer: usize, rows: u32) -> u32 {
        match split.histories.pattern_ids()[customer] {
            PatternId::NONE => self.meet_without_shape(split, customer, 0, rows),
            number => self.meet_shape(split, number, customer).whole,
        }
    }

    /// The kind of a cut that was not met yet in the split.
    #[cold]
    fn meet(&mut self, split: &EventColumns, customer: usize, before: u32, rows: u32) -> u32 {
        let number = split.histories.pattern_ids()[customer];
        if number == PatternId::NONE {
            return self.meet_without_shape(split, customer, before, rows);
        }
        let mut met = self.meet_shape(split, number, customer);
        if met.place == NONE.place {
            // There are fewer shapes than 2^16.
            met.place = u32::try_from(self.parts.len()).unwrap_or(NONE.place);
            self.parts.resize(self.parts.len() + PatternEntry::PARTS, 0);
            self.met[number.index()] = met;
            self.shapes.insert(split.histories.pattern(number), met);
        }
        let at = met.place(before, rows);
        if self.parts[at] == 0 {
            let (history, events) = (split.history(customer), before as usize..(before + rows) as usize);
            self.parts[at] = if rows as usize == history.len() { met.whole } else { self.push(history, events) };
        }
        self.parts[at]
    }

    /// Where the kinds are of a customer's history, which has the shape of a number.
    fn meet_shape(&mut self, split: &EventColumns, number: PatternId, customer: usize) -> PatternEntry {
        let shape = split.histories.pattern(number);
        let met = match self.shapes.get(&shape) {
            Some(met) => *met,
            None => {
                let history = split.history(customer);
                let met = PatternEntry { whole: self.push(history, 0..history.len()), ..NONE };
                self.shapes.insert(shape, met);
                met
            }
        };
        self.met[number.index()] = met;
        met
    }

    /// The kind of a cut out of a history that has no shape.
    fn meet_without_shape(&mut self, split: &EventColumns, customer: usize, before: u32, rows: u32) -> u32 {
        let history = split.history(customer);
        let (events, rest) = history[before as usize..].split_at(rows as usize);
        let has = |events: &[EventFlags], stage| events.iter().any(|event| event.stage() == stage);
        let is_canceled = has(events, stage::BOOKED) && has(rest, stage::CANCELED);
        let (place, history_events) = (usize::from(is_canceled), before as usize..(before + rows) as usize);
        if let [event] = events {
            let at = event.index();
            if self.single[place][at] == 0 {
                self.single[place][at] = self.push(history, history_events);
            }
            return self.single[place][at];
        }
        if let Some(kind) = self.others[place].get(events) {
            return *kind;
        }
        let kind = self.push(history, history_events);
        self.others[place].insert(events.into(), kind);
        kind
    }

    /// Whether segments of a kind may have a revenue that is asked for.
    #[inline]
    pub(crate) fn earns(&self, kind: u32) -> bool {
        self.earns[kind as usize]
    }

    /// What adds the same, unless more than counts and revenues is gathered, or too much is different.
    pub(crate) fn classes(&self) -> Option<&IncrementClasses> {
        self.classes.as_ref()
    }

    /// Per bank of counts, by kind, what a segment adds.
    pub(crate) fn lanes(&self) -> &[Vec<CounterQuad>] {
        &self.lanes
    }

    /// The cut that segments of a kind are.
    #[inline]
    pub(crate) fn cut(&self, kind: u32) -> &SegmentOutcome {
        &self.cuts[kind as usize]
    }
}
