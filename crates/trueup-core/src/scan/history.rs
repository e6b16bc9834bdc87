//! The stages that events and customers reach.

#[cfg(test)]
mod tests;

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
    /// The number of stages; every code is smaller.
    pub(crate) const COUNT: usize = Stage::ALL.len();
    /// No stage: the event is beyond the end at which its history is cut.
    pub(crate) const BEYOND: u8 = 7;
}

/// The stage of an event and its role in the history of its customer, whatever range a query asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct EventFlags(u8);

impl EventFlags {
    /// The number of values, valid or not; every [index](Self::index) is smaller.
    pub(crate) const COUNT: usize = 1 << u8::BITS;
    /// The bits that hold the stage.
    const STAGE: u8 = 0b0111;
    /// Set if the customer has no earlier event of the stage.
    const FIRST_OF_STAGE: u8 = 0b0_1000;
    /// Set if the customer has no earlier event.
    const FIRST: u8 = 0b1_0000;
    /// The first of the bits that say which stages the customer [reaches](Self::reaches).
    const REACHED: usize = 5;

    /// Returns the flags with these bits.
    pub(crate) const fn new(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns the bits.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the place in a table of [`COUNT`](Self::COUNT) entries.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the code of the event's stage.
    pub(crate) const fn stage(self) -> u8 {
        self.0 & Self::STAGE
    }

    /// Returns whether the event is its customer's first event of its stage.
    pub(crate) const fn is_first_of_stage(self) -> bool {
        self.0 & Self::FIRST_OF_STAGE != 0
    }

    /// Returns whether the event is its customer's first event.
    pub(crate) const fn is_first(self) -> bool {
        self.0 & Self::FIRST != 0
    }

    /// Returns whether the customer has an event of `stage`, earlier or later. Which stages are known depends on the
    /// event, because metrics need only some; for a stage that is not known the result is `false`.
    pub(crate) const fn reaches(self, stage: u8) -> bool {
        let (stages, mut at) = (self.tracked_stages(), 0);
        while at < stages.len() {
            if stages[at] == stage {
                return self.0 >> (Self::REACHED + at) & 1 == 1;
            }
            at += 1;
        }
        false
    }

    /// Returns whether the customer may have an event of `stage`, earlier or later: false only if it is known that it
    /// has none.
    pub(crate) fn may_reach(self, stage: u8) -> bool {
        self.reaches(stage) || !self.tracked_stages().contains(&stage)
    }

    /// Returns the stages that [`reaches`](Self::reaches) knows of the event, by its own stage and by whether it is the
    /// customer's first event. Three bits are enough for all that metrics need.
    const fn tracked_stages(self) -> &'static [u8] {
        match self.stage() {
            stage::LEAD_ORIGINATED if self.is_first() => &[stage::BOOKED, stage::SOLD, stage::CLOSED],
            stage::BOOKED => &[stage::ESTIMATED],
            stage::ESTIMATED => &[stage::SOLD],
            stage::SOLD => &[stage::CLOSED],
            _ => &[],
        }
    }

    /// Writes the bits of the flags of one customer's events, whose `stages` are given in order.
    fn write(stages: &[u8], bits: &mut [u8]) {
        let mut seen = 0_u8;
        for (at, (stage, bits)) in stages.iter().zip(&mut *bits).enumerate() {
            let bit = 1 << *stage;
            let first_of_stage = if seen & bit == 0 { Self::FIRST_OF_STAGE } else { 0 };
            let first = if at == 0 { Self::FIRST } else { 0 };
            *bits = stage | first_of_stage | first;
            seen |= bit;
        }
        for bits in bits {
            for (at, stage) in Self(*bits).tracked_stages().iter().enumerate() {
                *bits |= (seen >> stage & 1) << (Self::REACHED + at);
            }
        }
    }
}

/// The flags of consecutive events. They are held as bytes, because compiled code compares and hashes bytes faster than
/// values of our own type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlagsSlice<'a>(&'a [u8]);

/// The flags of at most [`MAX_EVENTS`](Self::MAX_EVENTS) consecutive events in one number, from the lowest byte on. The
/// highest byte holds the number of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PackedFlags(u128);

impl PackedFlags {
    /// The largest number of events that fit.
    const MAX_EVENTS: usize = size_of::<u128>() - 1;
}

impl<'a> FlagsSlice<'a> {
    #[inline]
    pub(crate) const fn len(self) -> usize {
        self.0.len()
    }

    /// Returns the flags of one of the events.
    #[inline]
    pub(crate) fn get(self, event: usize) -> EventFlags {
        EventFlags(self.0[event])
    }

    /// Returns the flags of some of the events.
    #[inline]
    pub(crate) fn slice(self, events: Range<usize>) -> Self {
        Self(&self.0[events])
    }

    #[inline]
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = EventFlags> + Clone + 'a {
        self.0.iter().map(|bits| EventFlags(*bits))
    }

    /// Returns whether one of the events has a stage.
    #[inline]
    pub(crate) fn has_stage(self, stage: u8) -> bool {
        self.iter().any(|event| event.stage() == stage)
    }

    /// Returns the bits of the flags.
    #[inline]
    pub(crate) const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// The stages of a short history in order, as the digits (1 to 6) of a base-6 number, the first stage most significant.
/// A history of more than [`MAX_EVENTS`](Self::MAX_EVENTS) events has no pattern, because its number would not fit into
/// 16 bits; such histories are rare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StagePattern(u16);

/// The number of a [`StagePattern`] within a row group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct PatternId(u8);

impl PatternId {
    /// The number of values; every [index](Self::index) is smaller.
    pub(crate) const COUNT: usize = 1 << u8::BITS;
    /// The id of a history without a pattern, and of patterns that were found after all other ids were in use.
    pub(crate) const NONE: Self = Self(0);

    /// Returns the place in a table of [`COUNT`](Self::COUNT) entries.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The base of a pattern's number.
const BASE: u64 = stage::COUNT as u64;

/// The number of events that one 64-bit word packs.
const PACKED: usize = size_of::<u64>();

/// The number of events after the last one that may be read together with it.
const PADDING: usize = size_of::<u128>();

/// A 1 in each byte.
const ONE_EACH: u64 = u64::from_le_bytes([1; PACKED]);

impl StagePattern {
    /// The longest history that has a pattern.
    pub(crate) const MAX_EVENTS: usize = 6;
    /// No pattern.
    const NONE: Self = Self(0);
    /// The number of patterns, [`NONE`](Self::NONE) included.
    const COUNT: usize = {
        let (mut count, mut of_length, mut length) = (1, 1, 0);
        while length < Self::MAX_EVENTS {
            of_length *= stage::COUNT;
            count += of_length;
            length += 1;
        }
        count
    };

    /// Returns the pattern of a history of `events` events, at most [`MAX_EVENTS`](Self::MAX_EVENTS). `stages` holds
    /// one stage per byte, from the lowest byte on.
    #[expect(clippy::cast_possible_truncation, reason = "a number of at most `MAX_EVENTS` digits fits into 16 bits")]
    const fn new(stages: u64, events: usize) -> Self {
        // A digit is a byte. The digits of the history become the last ones, and the shift drops the bytes after the
        // history.
        let digits = stages.wrapping_add(ONE_EACH) << (8 * (PACKED - events)) >> (8 * (PACKED - Self::MAX_EVENTS));
        // The first, third and fifth byte now hold two digits each.
        let pairs = digits * BASE + (digits >> 8);
        Self(((pairs & 0xff) * BASE.pow(4) + (pairs >> 16 & 0xff) * BASE.pow(2) + (pairs >> 32 & 0xff)) as u16)
    }

    fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// Returns the place in a table of [`COUNT`](Self::COUNT) entries.
    #[inline]
    fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the number of stages.
    pub(crate) fn len(self) -> usize {
        self.stages_from_last().count()
    }

    /// Returns the stages.
    fn stages(self) -> Vec<u8> {
        let mut stages: Vec<u8> = self.stages_from_last().collect();
        stages.reverse();
        stages
    }

    /// Returns the stages, the last one first.
    fn stages_from_last(self) -> impl Iterator<Item = u8> {
        let mut number = u64::from(self.0);
        std::iter::from_fn(move || {
            let rest = number.checked_sub(1)?;
            number = rest / BASE;
            Some((rest % BASE) as u8)
        })
    }

    /// Returns the bits of the flags of the events of a history with this pattern; the entries after the last event are
    /// 0.
    #[inline]
    fn flags(self) -> [u8; PACKED] {
        /// For each pattern, the bits of its flags, or 0 before they are computed: a first event's flags are never 0.
        static KNOWN: [AtomicU64; StagePattern::COUNT] = [const { AtomicU64::new(0) }; StagePattern::COUNT];
        let known = &KNOWN[self.index()];
        let bits = known.load(Ordering::Relaxed).to_le_bytes();
        if bits[0] != 0 {
            return bits;
        }
        let bits = self.write_flags();
        known.store(u64::from_le_bytes(bits), Ordering::Relaxed);
        bits
    }

    #[cold]
    fn write_flags(self) -> [u8; PACKED] {
        let mut bits = [0; PACKED];
        EventFlags::write(&self.stages(), &mut bits);
        bits
    }
}

/// Gives each pattern of a row group an id.
#[derive(Debug)]
struct PatternIds {
    /// By [index](StagePattern::index), the ids of the patterns that have one.
    known: Vec<PatternId>,
    /// For each id, the pattern; [`StagePattern::NONE`] comes first.
    patterns: Vec<StagePattern>,
}

impl PatternIds {
    /// Continues with the ids of `patterns`.
    fn new(patterns: Vec<StagePattern>) -> Self {
        let mut known = vec![PatternId::NONE; StagePattern::COUNT];
        for (id, pattern) in (0..=u8::MAX).zip(&patterns) {
            known[pattern.index()] = PatternId(id);
        }
        Self { known, patterns }
    }

    /// Returns the id of a pattern; `NONE` if all ids are in use.
    #[inline]
    fn id(&mut self, pattern: StagePattern) -> PatternId {
        let id = &mut self.known[pattern.index()];
        if *id == PatternId::NONE
            && pattern.is_some()
            && let Ok(next) = u8::try_from(self.patterns.len())
        {
            *id = PatternId(next);
            self.patterns.push(pattern);
        }
        *id
    }
}

/// The histories of the customers of a row group.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageHistories {
    /// For each event, the bits of its flags, and then [`PADDING`] zeros.
    events: Vec<u8>,
    /// For each customer, the id of its history's pattern.
    pattern_ids: Vec<PatternId>,
    /// For each id, the pattern; [`StagePattern::NONE`] comes first.
    patterns: Vec<StagePattern>,
}

impl StageHistories {
    /// Finds the histories of customers. `stages` holds the code of each event's stage; customer `i` has the events
    /// from `offsets[i]` to `offsets[i + 1]`, at least one.
    pub(super) fn new(mut stages: Vec<u8>, offsets: &[u32]) -> Self {
        let len = stages.len();
        // A short history reads and writes `PACKED` events at a time. The next customer overwrites the events beyond
        // its end.
        stages.resize(len + PADDING, 0);
        let mut events = vec![0; len + PADDING];
        let mut pattern_ids = Vec::with_capacity(offsets.len());
        let mut ids = PatternIds::new(vec![StagePattern::NONE]);
        for ends in offsets.windows(2) {
            let (first, end) = (ends[0] as usize, ends[1] as usize);
            let (from, to) = (&stages[first..], &mut events[first..]);
            let pattern = match from.first_chunk() {
                Some(packed) if end - first <= StagePattern::MAX_EVENTS => {
                    let pattern = StagePattern::new(u64::from_le_bytes(*packed), end - first);
                    to[..PACKED].copy_from_slice(&pattern.flags());
                    pattern
                }
                _ => {
                    EventFlags::write(&from[..end - first], &mut to[..end - first]);
                    StagePattern::NONE
                }
            };
            pattern_ids.push(ids.id(pattern));
        }
        Self { events, pattern_ids, patterns: ids.patterns }
    }

    /// Returns the flags of each event.
    #[inline]
    pub(crate) fn events(&self) -> FlagsSlice<'_> {
        FlagsSlice(&self.events[..self.events.len().saturating_sub(PADDING)])
    }

    /// Returns the flags of some events in one number; `None` if there are too many.
    #[inline]
    pub(crate) fn packed(&self, events: Range<usize>) -> Option<PackedFlags> {
        let len = events.len();
        let bytes = self.events[events.start..].first_chunk().filter(|_| len <= PackedFlags::MAX_EVENTS)?;
        let flags = u128::from_le_bytes(*bytes) & ((1 << (8 * len)) - 1);
        Some(PackedFlags(flags | (len as u128) << (u128::BITS - u8::BITS)))
    }

    /// Returns for each customer the id of its history's pattern.
    pub(crate) fn pattern_ids(&self) -> &[PatternId] {
        &self.pattern_ids
    }

    /// Returns the pattern of an id of this row group.
    #[inline]
    pub(crate) fn pattern(&self, id: PatternId) -> StagePattern {
        self.patterns[id.index()]
    }

    /// Returns the index in the row group of the first event of a stage among the events of a customer, given as their
    /// range; `None` if there is none.
    pub(crate) fn first(&self, customer: Range<usize>, stage: u8) -> Option<usize> {
        let start = customer.start;
        self.events().slice(customer).iter().position(|event| event.stage() == stage).map(|at| start + at)
    }

    /// Returns the bytes held.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.events) + size_of_val(&*self.pattern_ids) + size_of_val(&*self.patterns)
    }
}

/// Cuts histories: drops the events after a day, as if they had not happened.
#[derive(Debug)]
pub(crate) struct HistoryCutter {
    histories: StageHistories,
    ids: PatternIds,
}

impl HistoryCutter {
    /// Begins with histories that are whole.
    pub(crate) fn new(histories: &StageHistories) -> Self {
        let mut histories = histories.clone();
        let ids = PatternIds::new(std::mem::take(&mut histories.patterns));
        Self { histories, ids }
    }

    /// Cuts the history of a customer, whose events are `history`, to its first `kept` events: at least one, and fewer
    /// than it has. The others get no stage.
    pub(crate) fn cut(&mut self, customer: usize, history: Range<usize>, kept: usize) {
        /// The bits that hold the stage, in each byte.
        const STAGES: u64 = ONE_EACH * EventFlags::STAGE as u64;
        let events = &mut self.histories.events[history.start..];
        let (pattern, written) = match events.first_chunk_mut() {
            // Nearly all histories are short, and are cut in registers.
            Some(packed) if kept <= StagePattern::MAX_EVENTS => {
                let bytes = |events: usize| u64::MAX >> (8 * (PACKED - events));
                let (kept_bytes, all_bytes) = (bytes(kept), bytes(history.len().min(PACKED)));
                let bits = u64::from_le_bytes(*packed);
                let pattern = StagePattern::new(bits & STAGES & kept_bytes, kept);
                let dropped = (ONE_EACH * u64::from(stage::BEYOND)) & all_bytes & !kept_bytes;
                *packed = (u64::from_le_bytes(pattern.flags()) | dropped | bits & !all_bytes).to_le_bytes();
                (pattern, PACKED)
            }
            _ => {
                let stages: Vec<u8> = events[..kept].iter().map(|bits| bits & EventFlags::STAGE).collect();
                EventFlags::write(&stages, &mut events[..kept]);
                (StagePattern::NONE, kept)
            }
        };
        if let Some(rest) = events.get_mut(written..history.len()) {
            rest.fill(stage::BEYOND);
        }
        self.histories.pattern_ids[customer] = self.ids.id(pattern);
    }

    /// Returns the histories.
    pub(crate) fn finish(self) -> StageHistories {
        StageHistories { patterns: self.ids.patterns, ..self.histories }
    }
}
