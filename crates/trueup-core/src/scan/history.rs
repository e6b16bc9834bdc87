//! The stages that events and customers reach.

use super::Runs;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Codes of the funnel's stages.
pub(crate) mod stage {
    use crate::model::Stage;

    pub(crate) const LEAD_ORIGINATED: u8 = Stage::LeadOriginated.code();
    pub(crate) const BOOKED: u8 = Stage::Booked.code();
    pub(crate) const ESTIMATED: u8 = Stage::Estimated.code();
    pub(crate) const SOLD: u8 = Stage::Sold.code();
    pub(crate) const CLOSED: u8 = Stage::Closed.code();
    pub(crate) const CANCELED: u8 = Stage::Canceled.code();
    /// How many stages there are; codes are below.
    pub(crate) const COUNT: usize = Stage::ALL.len();
}

/// What each event is in its customer's history, whatever range is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histories {
    /// Per event, the code of its stage and the flags below.
    events: Vec<u8>,
    /// Per customer, where its shape stands in `shapes`.
    numbers: Vec<u8>,
    /// The shapes that customers have, none first. What is met when as many as have a number are known counts as none.
    shapes: Vec<Shape>,
}

/// The stages of a whole history in order, as a number: that which has them as its digits, of base six and counted from one, the first
/// stage before the others. Histories of more events than have a number in 16 bits, which are few, have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape(u16);

/// The base of a shape's number.
const BASE: u64 = stage::COUNT as u64;

/// Events are packed into a number of so many bytes.
const PACKED: usize = size_of::<u64>();

/// One in each byte.
const ONE_EACH: u64 = u64::from_le_bytes([1; PACKED]);

impl Shape {
    /// How many events a history with a shape has at most.
    pub(crate) const EVENTS: usize = 6;
    /// No shape.
    const NONE: Self = Self(0);
    /// How many shapes there are, none included.
    const COUNT: usize = {
        let (mut count, mut of_length, mut length) = (1, 1, 0);
        while length < Self::EVENTS {
            of_length *= stage::COUNT;
            count += of_length;
            length += 1;
        }
        count
    };

    /// The shape of a history with so many events, not more than have one; `stages` has the stages from its lowest byte on.
    #[expect(clippy::cast_possible_truncation, reason = "the numbers of so many events fit")]
    const fn of(stages: u64, events: usize) -> Self {
        // A digit is a byte; those that the history has stand last, and the bytes behind it are shifted out.
        let digits = stages.wrapping_add(ONE_EACH) << (8 * (PACKED - events)) >> (8 * (PACKED - Self::EVENTS));
        // Two digits each in the first, the third and the fifth byte.
        let pairs = digits * BASE + (digits >> 8);
        Self(((pairs & 0xff) * BASE.pow(4) + (pairs >> 16 & 0xff) * BASE.pow(2) + (pairs >> 32 & 0xff)) as u16)
    }

    /// Whether it is one.
    fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// Where it stands among all.
    #[inline]
    fn number(self) -> usize {
        usize::from(self.0)
    }

    /// The stages.
    fn stages(self) -> Vec<u8> {
        let mut stages = Vec::new();
        let mut number = u64::from(self.0);
        while let Some(rest) = number.checked_sub(1) {
            stages.extend(u8::try_from(rest % BASE));
            number = rest / BASE;
        }
        stages.reverse();
        stages
    }

    /// Events of such a history, as [`Histories::events`] has them.
    fn history(self) -> Vec<u8> {
        let mut events = self.stages();
        Histories::mark(&mut events);
        events
    }

    /// The same, packed.
    fn packed(self) -> [u8; PACKED] {
        /// What was asked for before, by shape: no history is 0.
        static KNOWN: [AtomicU64; Shape::COUNT] = [const { AtomicU64::new(0) }; Shape::COUNT];
        let known = &KNOWN[self.number()];
        let mut packed = known.load(Ordering::Relaxed).to_le_bytes();
        if packed[0] == 0 {
            packed.iter_mut().zip(self.history()).for_each(|(byte, event)| *byte = event);
            known.store(u64::from_le_bytes(packed), Ordering::Relaxed);
        }
        packed
    }
}

impl Histories {
    /// The bits of an event that are its stage.
    const STAGE: u8 = 0b0111;
    /// The customer has no earlier event of the stage.
    const FIRST_OF_STAGE: u8 = 0b0_1000;
    /// The customer has no earlier event.
    const FIRST: u8 = 0b1_0000;
    /// Where the flags of stages begin that the customer [reaches](Self::reaches).
    const REACHED: usize = 5;

    /// `stages` are the codes of the events' stages.
    pub(crate) fn new(stages: Vec<u8>, runs: &Runs) -> Self {
        Self::of(stages, runs.offsets())
    }

    /// Customer `i` has the events from `offsets[i]` to `offsets[i + 1]`, one at least.
    fn of(mut stages: Vec<u8>, offsets: &[u32]) -> Self {
        let len = stages.len();
        // As many are read and written at once as are packed: what is too much is overwritten by what comes next.
        stages.resize(len + PACKED, 0);
        let mut events = vec![0; len + PACKED];
        let mut numbers = Vec::with_capacity(offsets.len());
        let mut shapes = vec![Shape::NONE];
        // By shape, its number; 0 is none.
        let mut known = vec![0; Shape::COUNT];
        for ends in offsets.windows(2) {
            let (first, end) = (ends[0] as usize, ends[1] as usize);
            let (from, to) = (&stages[first..], &mut events[first..]);
            let shape = match from.first_chunk() {
                Some(packed) if end - first <= Shape::EVENTS => {
                    let shape = Shape::of(u64::from_le_bytes(*packed), end - first);
                    to[..PACKED].copy_from_slice(&shape.packed());
                    shape
                }
                _ => {
                    let history = &mut to[..end - first];
                    history.copy_from_slice(&from[..end - first]);
                    Self::mark(history);
                    Shape::NONE
                }
            };
            let number = &mut known[shape.number()];
            if *number == 0
                && shape.is_some()
                && let Ok(next) = u8::try_from(shapes.len())
            {
                *number = next;
                shapes.push(shape);
            }
            numbers.push(*number);
        }
        events.truncate(len);
        Self { events, numbers, shapes }
    }

    /// Sets the flags of one customer's events, which are its stages.
    fn mark(history: &mut [u8]) {
        let mut met = 0_u8;
        for (at, event) in history.iter_mut().enumerate() {
            let bit = 1 << *event;
            *event |= if met & bit == 0 { Self::FIRST_OF_STAGE } else { 0 };
            *event |= if at == 0 { Self::FIRST } else { 0 };
            met |= bit;
        }
        for event in history {
            for (at, stage) in asked(*event).iter().enumerate() {
                *event |= (met >> stage & 1) << (Self::REACHED + at);
            }
        }
    }

    /// Per event, a value of which the functions below tell more.
    pub(crate) fn events(&self) -> &[u8] {
        &self.events
    }

    /// Per customer, where the shape of its history stands in [`shapes`](Self::shapes); 0 if it has none.
    pub(crate) fn numbers(&self) -> &[u8] {
        &self.numbers
    }

    /// The shapes that histories have, none first.
    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// The code of an event's stage.
    pub(crate) const fn stage(event: u8) -> u8 {
        event & Self::STAGE
    }

    /// Whether an event is its customer's first of its stage.
    pub(crate) const fn is_first_of_stage(event: u8) -> bool {
        event & Self::FIRST_OF_STAGE != 0
    }

    /// Whether an event is its customer's first.
    pub(crate) const fn is_first(event: u8) -> bool {
        event & Self::FIRST != 0
    }

    /// Whether the event's customer ever has one of the stage; known of those stages alone that are asked of the event.
    pub(crate) const fn reaches(event: u8, stage: u8) -> bool {
        let (asked, mut at) = (asked(event), 0);
        while at < asked.len() {
            if asked[at] == stage {
                return event >> (Self::REACHED + at) & 1 == 1;
            }
            at += 1;
        }
        false
    }

    /// The first of a customer's events that has the stage.
    pub(crate) fn first(&self, customer: Range<usize>, stage: u8) -> Option<usize> {
        let start = customer.start;
        self.events[customer].iter().position(|event| Self::stage(*event) == stage).map(|at| start + at)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.events.len() + self.numbers.len() + size_of_val(&*self.shapes)
    }
}

/// Of which stages an event tells whether its customer ever has them, by its own stage and whether it is the first: as much as metrics
/// hang on.
const fn asked(event: u8) -> &'static [u8] {
    match Histories::stage(event) {
        stage::LEAD_ORIGINATED if Histories::is_first(event) => &[stage::BOOKED, stage::SOLD, stage::CLOSED],
        stage::BOOKED => &[stage::ESTIMATED],
        stage::ESTIMATED => &[stage::SOLD],
        stage::SOLD => &[stage::CLOSED],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::collections::BTreeSet;

    /// The histories of customers with these stages.
    fn histories(customers: &[Vec<u8>]) -> Histories {
        let mut offsets = vec![0];
        for stages in customers {
            offsets.push(offsets.last().unwrap() + u32::try_from(stages.len()).unwrap());
        }
        Histories::of(customers.concat(), &offsets)
    }

    #[test]
    fn a_shape_is_its_stages() {
        let (mut all, mut last) = (BTreeSet::new(), vec![Vec::new()]);
        for _ in 0..Shape::EVENTS {
            last = last.iter().flat_map(|stages| (0..6).map(|stage| [&**stages, &[stage]].concat())).collect();
            for stages in &last {
                let mut packed = [0; PACKED];
                packed[..stages.len()].copy_from_slice(stages);
                let shape = Shape::of(u64::from_le_bytes(packed), stages.len());
                assert_eq!(shape.stages(), *stages);
                all.insert(shape.number());
            }
        }
        assert_eq!((all.len(), all.last()), (Shape::COUNT - 1, Some(&(Shape::COUNT - 1))));
    }

    /// The shape of each customer.
    fn shapes(histories: &Histories) -> Vec<Shape> {
        histories.numbers().iter().map(|number| histories.shapes()[usize::from(*number)]).collect()
    }

    #[test]
    fn customers_of_one_shape_share_its_number() {
        let customers: Vec<Vec<u8>> = vec![vec![0, 1], vec![5], vec![0, 1], vec![0; 7], vec![5; 6], vec![5]];
        let histories = histories(&customers);
        assert_eq!(histories.numbers(), [1, 2, 1, 0, 3, 2]);
        for (shape, stages) in shapes(&histories).iter().zip(customers).filter(|(_, stages)| stages.len() < 7) {
            assert_eq!(shape.stages(), stages);
        }
    }

    #[test]
    fn what_is_met_when_all_numbers_are_taken_has_none() {
        let of_length = |stages: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
            stages.iter().flat_map(|stages| (0..6).map(|stage| [&**stages, &[stage]].concat())).collect()
        };
        // 216, and then 1,296.
        let three = (0..3).fold(vec![Vec::new()], |stages, _| of_length(stages));
        let customers = [three.clone(), of_length(three.clone()), three].concat();
        let histories = histories(&customers);
        assert_eq!(histories.shapes().len(), 256);
        for (place, (shape, stages)) in shapes(&histories).iter().zip(&customers).enumerate() {
            let has_number = !(255..216 + 1_296).contains(&place);
            assert_eq!(shape.stages(), if has_number { stages.clone() } else { Vec::new() }, "{place}");
        }
    }

    #[test]
    fn long_histories_have_no_shape() {
        let shapes = shapes(&histories(&[vec![0; 7], vec![1], vec![5; 40], vec![5; 6]]));
        let known: Vec<_> = shapes.iter().map(|shape| shape.is_some()).collect();
        assert_eq!(known, [false, true, false, true]);
    }

    #[test]
    fn first_events_are_marked() {
        let events = histories(&[vec![0, 1, 0, 5]]).shapes()[1].history();
        assert_eq!(events.iter().map(|event| Histories::stage(*event)).collect::<Vec<_>>(), [0, 1, 0, 5]);
        assert_eq!(
            events.iter().map(|event| Histories::is_first(*event)).collect::<Vec<_>>(),
            [true, false, false, false]
        );
        let first_of_stage: Vec<_> = events.iter().map(|event| Histories::is_first_of_stage(*event)).collect();
        assert_eq!(first_of_stage, [true, true, false, true]);
    }

    #[test]
    fn events_tell_what_their_customer_reaches() {
        // The stage before the one asked may come later.
        let events = histories(&[vec![0, 1, 0, 3, 2], vec![3, 4], vec![0, 4]]).events;
        let reaches = |event: usize, stage| Histories::reaches(events[event], stage);
        let lead = [stage::BOOKED, stage::ESTIMATED, stage::SOLD, stage::CLOSED].map(|stage| reaches(0, stage));
        assert_eq!(lead, [true, false, true, false]);
        assert_eq!([stage::BOOKED, stage::SOLD].map(|stage| reaches(2, stage)), [false, false], "a second conversion");
        assert!(reaches(1, stage::ESTIMATED) && reaches(4, stage::SOLD) && !reaches(3, stage::CLOSED));
        assert!(reaches(5, stage::CLOSED) && !reaches(5, stage::SOLD));
        assert!(reaches(7, stage::CLOSED) && !reaches(7, stage::BOOKED));
    }
}
