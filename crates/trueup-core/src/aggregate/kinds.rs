//! The kinds of segments that a split has: what all segments that are the same cut count for, found once.

use super::Context;
use super::cuts::{Cut, Known};
use super::facts::state_fact;
use super::segments::Segments;
use super::state::{Lanes, add};
use super::units::Grain;
use crate::dictionary::Measure;
use crate::scan::{Histories, Shape, Split, stage};

/// Kinds by number. Those of whole histories have the numbers of their shapes; 0 is none.
#[derive(Debug)]
pub(crate) struct Kinds<'a> {
    context: &'a Context<'a>,
    /// Whether anything that a query gathers hangs on them.
    are_needed: bool,
    /// Whether segments are counted with all of their rows, or for their state rows alone.
    grain: Grain,
    /// Per bank of counts, by kind, what a segment adds.
    lanes: Vec<Vec<Lanes>>,
    cuts: Vec<Cut>,
    /// Whether segments of a kind may have a revenue that is asked for.
    earns: Vec<bool>,
    /// By [event](alone), the kinds of cuts that are single events of histories without a shape, and behind them by [place](place) those
    /// of cuts out of the others; 0 if it was not met yet.
    parts: Vec<u32>,
}

/// Where a cut stands that is a single event of a history of no shape. What it counts for hangs on the event, and on whether a cancellation
/// follows.
fn alone(event: u8, is_canceled: bool) -> usize {
    usize::from(event) + (usize::from(is_canceled) << u8::BITS)
}

/// Cuts out of a history that has a shape, by how many events are before them and how many they have.
const PARTS: usize = Shape::EVENTS * Shape::EVENTS;

/// Where cuts out of histories that have a shape begin.
const SHAPED: usize = 2 << u8::BITS;

/// Where a cut out of a history stands that has the shape of a number; without one, behind those of all that can be.
#[inline]
fn place(number: u8, before: u32, rows: u32) -> usize {
    let first = SHAPED + usize::from(number.wrapping_sub(1)) * PARTS;
    first + before as usize * Shape::EVENTS + rows as usize - 1
}

impl<'a> Kinds<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        let lanes = vec![Vec::new(); context.layout.banks()];
        Self {
            context,
            are_needed: false,
            grain: Grain::Row,
            lanes,
            cuts: Vec::new(),
            earns: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Begins anew for a split of which segments, or their rows one by one, are grouped.
    pub(crate) fn begin(&mut self, split: &Split, grain: Grain) {
        self.lanes.iter_mut().for_each(Vec::clear);
        self.cuts.clear();
        self.earns.clear();
        self.parts.clear();
        self.grain = grain;
        self.are_needed = grain == Grain::Segment || self.context.needs_states;
        if self.are_needed {
            self.push(Cut::default(), &[]);
            for shape in split.histories.shapes().iter().filter(|shape| shape.is_some()) {
                let known = Known::of(*shape);
                self.push(*known.whole(), &known.history);
            }
        }
    }

    /// Adds a kind, that of a cut with these events.
    fn push(&mut self, cut: Cut, events: &[u8]) -> u32 {
        let Self { context, grain, lanes, cuts, earns, .. } = self;
        let (events, facts) = match grain {
            // A segment is in one group as a whole, and one customer's.
            Grain::Segment => (events, cut.facts | state_fact(Measure::Opportunities, true)),
            Grain::Row => (&[][..], cut.facts),
        };
        for (bank, kinds) in lanes.iter_mut().enumerate() {
            let mut lanes = context.state_lanes[bank][usize::from(facts)];
            let rows = &context.row_lanes[bank];
            events.iter().for_each(|event| add(&mut lanes, &rows[usize::from(*event)]));
            kinds.push(lanes);
        }
        cuts.push(cut);
        earns.push(context.layout.revenues[usize::from(cut.state)].is_some());
        // There are no more than events in a split.
        u32::try_from(cuts.len() - 1).unwrap_or(u32::MAX)
    }

    /// Finds the kinds of the next segments, which are whole histories, by the numbers of their shapes.
    pub(crate) fn find_whole(&mut self, split: &Split, segments: &mut Segments, numbers: &[u8]) {
        let first = segments.kinds.len();
        segments.kinds.extend(numbers.iter().map(|number| u32::from(*number)));
        if !self.are_needed {
            return;
        }
        for (segment, _) in (first..).zip(numbers).filter(|(_, number)| **number == 0) {
            let customer = segments.customers[segment] as usize;
            segments.kinds[segment] = self.meet(split, customer, 0, segments.lengths[segment]);
        }
    }

    /// Finds the kinds of the segments that have none yet.
    pub(crate) fn find(&mut self, split: &Split, segments: &mut Segments) {
        let Segments { events, lengths, customers, kinds, .. } = segments;
        if !self.are_needed {
            kinds.resize(events.len(), 0);
            return;
        }
        let (numbers, offsets) = (split.histories.numbers(), split.runs.offsets());
        let last = kinds.len()..events.len();
        let last = customers[last.clone()].iter().zip(&events[last.clone()]).zip(&lengths[last]);
        kinds.extend(last.map(|((customer, first), rows)| {
            let customer = *customer as usize;
            let (number, before) = (numbers[customer], first - offsets[customer]);
            match self.parts.get(place(number, before, *rows)) {
                Some(kind) if *kind != 0 => *kind,
                _ => self.meet(split, customer, before, *rows),
            }
        }));
    }

    /// The kind of a cut that was not met yet.
    #[cold]
    fn meet(&mut self, split: &Split, customer: usize, before: u32, rows: u32) -> u32 {
        let number = split.histories.numbers()[customer];
        let events = before as usize..(before + rows) as usize;
        self.parts.resize(SHAPED + (split.histories.shapes().len() - 1) * PARTS, 0);
        if number != 0 {
            let known = Known::of(split.histories.shapes()[usize::from(number)]);
            let kind = self.push(*known.part(events.start, events.len()), &known.history[events]);
            self.parts[place(number, before, rows)] = kind;
            return kind;
        }
        let history = &split.histories.events()[split.runs.events(customer)];
        if rows > 1 {
            return self.push(Cut::new(history, events.clone()), &history[events]);
        }
        let event = history[events.start];
        let stage = |event: u8| Histories::stage(event);
        let is_canceled = stage(event) == stage::BOOKED
            && history[events.start..].iter().any(|later| stage(*later) == stage::CANCELED);
        let at = alone(event, is_canceled);
        if self.parts[at] == 0 {
            self.parts[at] = self.push(Cut::new(history, events), &[event]);
        }
        self.parts[at]
    }

    /// Whether segments of a kind may have a revenue that is asked for.
    #[inline]
    pub(crate) fn earns(&self, kind: u32) -> bool {
        self.earns[kind as usize]
    }

    /// Per bank of counts, by kind, what a segment adds.
    pub(crate) fn lanes(&self) -> &[Vec<Lanes>] {
        &self.lanes
    }

    /// The cut that segments of a kind are.
    #[inline]
    pub(crate) fn cut(&self, kind: u32) -> &Cut {
        &self.cuts[kind as usize]
    }
}
