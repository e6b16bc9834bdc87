//! How often each thing that is counted comes at each position of a split: few are different, and are added to their slots in the end.

use super::QueryContext;
use super::group_state::CounterQuad;
use super::grouping_units::Granularity;
use super::segments::select;
use crate::dictionary::Measure;
use crate::scan::EventFlags;
use hashbrown::HashTable;

/// IncrementClasses of what is counted; what is of one class adds the same to the counts.
#[derive(Debug)]
pub(crate) struct IncrementClasses {
    /// Per bank, by class, what it adds.
    lanes: Vec<Vec<CounterQuad>>,
    /// IncrementClasses by what they add.
    known: HashTable<u8>,
    /// By what an event is in its customer's history, its class, where events are counted one by one.
    events: [u8; EventFlags::COUNT],
    /// By kind of segments, likewise, and whether they [earn](EARNS).
    kinds: Vec<u8>,
    /// Whether any kind does.
    earns: bool,
    /// Whether more than [`MOST_CLASSES`] were met: what was met since is of none.
    is_full: bool,
}

/// There are so many classes at most.
const MOST_CLASSES: usize = 32;

/// Beside a class, that segments of a kind may have a revenue that is asked for.
const EARNS: u8 = 1 << 7;

impl IncrementClasses {
    /// IncrementClasses for what a query counts, if it gathers nothing but counts and revenues, where such units are grouped.
    pub(crate) fn new(context: &QueryContext<'_>, granularity: Granularity) -> Option<Self> {
        let layout = &context.layout;
        let is_more = layout.agents
            || layout.needs_grades()
            || layout.needs_statuses()
            || layout.has(Measure::Total)
            || granularity == Granularity::Row && layout.has(Measure::Opportunities);
        if is_more || layout.banks() == 0 {
            return None;
        }
        let mut classes = Self {
            lanes: vec![Vec::new(); layout.banks()],
            known: HashTable::new(),
            events: [0; EventFlags::COUNT],
            kinds: Vec::new(),
            earns: false,
            is_full: false,
        };
        if granularity == Granularity::Row {
            for number in 0..EventFlags::COUNT {
                classes.events[number] = classes.class(&context.row_lanes, number);
            }
        }
        Some(classes)
    }

    /// Finds the class of the next kind; `lanes` has per bank, by kind, what it adds.
    pub(crate) fn push(&mut self, lanes: &[Vec<CounterQuad>], earns: bool) {
        let class = self.class(lanes, self.kinds.len());
        self.kinds.push(class | if earns { EARNS } else { 0 });
        self.earns |= earns;
    }

    /// Whether too much is different.
    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }

    fn class(&mut self, lanes: &[Vec<CounterQuad>], number: usize) -> u8 {
        let Self { lanes: classes, known, is_full, .. } = self;
        let is_it =
            |class: &u8| classes.iter().zip(lanes).all(|(known, lanes)| known[usize::from(*class)] == lanes[number]);
        let hash = hash(lanes, number);
        if let Some(class) = known.find(hash, is_it) {
            return *class;
        }
        *is_full |= known.len() == MOST_CLASSES;
        let Some(class) = u8::try_from(known.len()).ok().filter(|_| !*is_full) else { return 0 };
        classes.iter_mut().zip(lanes).for_each(|(known, lanes)| known.push(lanes[number]));
        known.insert_unique(hash, class, |class| self::hash(classes, usize::from(*class)));
        class
    }
}

/// Times by class and by position.
#[derive(Debug)]
pub(crate) struct Histogram {
    /// A position has so many bits.
    bits: u32,
    times: Vec<u32>,
    /// Rows that have been counted.
    rows: usize,
}

/// Positions have at most so many bits, for there to be more to count than times.
const MOST_BITS: u32 = 9;

impl Histogram {
    /// Times at positions of so many bits; `None` if these are too many.
    pub(crate) fn new(bits: u32) -> Option<Self> {
        (bits <= MOST_BITS).then(|| Self { bits, times: Vec::new(), rows: 0 })
    }

    /// Makes sure that so many rows can be counted.
    pub(crate) fn expect(&mut self, rows: usize, classes: &IncrementClasses) {
        self.rows += rows;
        self.times.resize(classes.known.len() << self.bits, 0);
    }

    /// Counts events at positions.
    pub(crate) fn add_events(&mut self, classes: &IncrementClasses, at: impl Iterator<Item = (u32, EventFlags)>) {
        for (position, event) in at {
            self.count(position, classes.events[event.index()]);
        }
    }

    /// Counts segments of kinds at positions, and writes the places of those that may have a revenue to `earning`.
    pub(crate) fn add_kinds(
        &mut self,
        classes: &IncrementClasses,
        positions: &[u32],
        kinds: &[u32],
        earning: &mut Vec<u32>,
    ) {
        let counted = positions.iter().zip(kinds).map(|(position, kind)| {
            let class = classes.kinds[*kind as usize];
            self.count(*position, class & !EARNS);
            class & EARNS != 0
        });
        if classes.earns {
            select(earning, counted);
        } else {
            earning.clear();
            counted.for_each(drop);
        }
    }

    #[inline]
    fn count(&mut self, position: u32, class: u8) {
        self.times[(u32::from(class) << self.bits | position) as usize] += 1;
    }

    /// How many rows have been counted.
    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    /// Tells, per position and bank, what all that came adds.
    pub(crate) fn each(&self, classes: &IncrementClasses, mut add: impl FnMut(u32, usize, &CounterQuad)) {
        for (class, times) in self.times.chunks_exact(1 << self.bits).enumerate() {
            for (position, times) in (0..).zip(times).filter(|(_, times)| **times > 0) {
                for (bank, lanes) in classes.lanes.iter().enumerate() {
                    add(position, bank, &lanes[class].map(|lane| lane * times));
                }
            }
        }
    }
}

/// Spreads what is added for a number over 64 bits, the highest of which matter too.
fn hash(lanes: &[Vec<CounterQuad>], number: usize) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let counts = lanes.iter().flat_map(|lanes| lanes[number]);
    counts.fold(0, |hash: u64, count| (hash.rotate_left(5) ^ u64::from(count)).wrapping_mul(FACTOR))
}
