//! How often each thing that is counted comes at each position of a split: few are different, and are added to their slots in the end.

use super::kinds::Kinds;
use super::state::Lanes;
use hashbrown::HashTable;

/// Times by class, which is all that adds the same to the counts, and by position.
#[derive(Debug)]
pub(crate) struct Tally {
    /// A position has so many bits.
    bits: u32,
    times: Vec<u32>,
    /// Per bank, by class, what it adds.
    lanes: Vec<Vec<Lanes>>,
    /// Classes by what they add.
    classes: HashTable<u32>,
    /// By what an event is in its customer's history, where the times of its class begin.
    events: [u32; EVENTS],
    /// By kind of segments, likewise.
    kinds: Vec<u32>,
    /// Rows that have been counted.
    rows: usize,
}

/// Positions have at most so many bits, for there to be more to count than times.
const MOST_BITS: u32 = 9;

/// What an event can be in its customer's history.
const EVENTS: usize = 1 << u8::BITS;

/// There are so many classes at most.
const MOST_CLASSES: usize = 32;

impl Tally {
    /// Times at positions of so many bits; `None` if these are too many, or nothing is counted.
    pub(crate) fn new(bits: u32, banks: usize) -> Option<Self> {
        let lanes = vec![Vec::new(); banks];
        let tally = Self {
            bits,
            times: Vec::new(),
            lanes,
            classes: HashTable::new(),
            events: [0; EVENTS],
            kinds: Vec::new(),
            rows: 0,
        };
        (bits <= MOST_BITS && banks > 0).then_some(tally)
    }

    /// Makes sure that events can be counted, each by what it is in its customer's history, where per bank stands what it adds.
    pub(crate) fn expect_events(&mut self, lanes: &[Vec<Lanes>]) {
        for number in 0..EVENTS {
            self.events[number] = self.class(lanes, number);
        }
    }

    /// Makes sure that so many rows can be counted, and those of kinds that were met since. Returns whether there are not too many classes.
    pub(crate) fn expect(&mut self, rows: usize, kinds: &Kinds<'_>) -> bool {
        self.rows += rows;
        for number in self.kinds.len()..numbers(kinds.lanes()) {
            let class = self.class(kinds.lanes(), number);
            self.kinds.push(class);
        }
        self.classes.len() <= MOST_CLASSES
    }

    /// Where the times of the class begin that the number has in `lanes`.
    fn class(&mut self, lanes: &[Vec<Lanes>], number: usize) -> u32 {
        let Self { bits, times, lanes: known, classes, .. } = self;
        let is_it = |class: &u32| known.iter().zip(lanes).all(|(known, lanes)| known[*class as usize] == lanes[number]);
        let hash = hash(lanes, number);
        if let Some(class) = classes.find(hash, is_it) {
            return class << *bits;
        }
        // There are not more classes than events of a split.
        let class = u32::try_from(classes.len()).unwrap_or(u32::MAX);
        known.iter_mut().zip(lanes).for_each(|(known, lanes)| known.push(lanes[number]));
        classes.insert_unique(hash, class, |class| self::hash(known, *class as usize));
        times.resize(classes.len() << *bits, 0);
        class << *bits
    }

    /// Counts events at positions.
    pub(crate) fn add_events(&mut self, at: impl Iterator<Item = (u32, u8)>) {
        for (position, event) in at {
            self.times[(self.events[usize::from(event)] | position) as usize] += 1;
        }
    }

    /// Counts segments of kinds at positions.
    pub(crate) fn add_kinds(&mut self, positions: &[u32], kinds: &[u32]) {
        for (position, kind) in positions.iter().zip(kinds) {
            self.times[(self.kinds[*kind as usize] | position) as usize] += 1;
        }
    }

    /// How many rows have been counted.
    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    /// Tells, per position and bank, what all that came adds.
    pub(crate) fn each(&self, mut add: impl FnMut(u32, usize, &Lanes)) {
        for (class, times) in self.times.chunks_exact(1 << self.bits).enumerate() {
            for (position, times) in (0..).zip(times).filter(|(_, times)| **times > 0) {
                for (bank, lanes) in self.lanes.iter().enumerate() {
                    add(position, bank, &lanes[class].map(|lane| lane * times));
                }
            }
        }
    }
}

/// How many numbers there are for which all banks have what is added.
fn numbers(lanes: &[Vec<Lanes>]) -> usize {
    lanes.first().map_or(0, Vec::len)
}

/// Spreads what is added for a number over 64 bits, the highest of which matter too.
fn hash(lanes: &[Vec<Lanes>], number: usize) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let counts = lanes.iter().flat_map(|lanes| lanes[number]);
    counts.fold(0, |hash: u64, count| (hash.rotate_left(5) ^ u64::from(count)).wrapping_mul(FACTOR))
}
