//! The index of a file of events: which row group may have events of a customer, or an event with some id. An ingest
//! thus finds the stored customers that it concerns without reading the columns of all row groups.
//!
//! The index stands between the last row group and the footer, where readers of Parquet do not look. For each row group
//! it has a [`KeySet`]: the hashes of its customers and event ids, cut to 16 bits per key, and two bits that tell where
//! each begins. A set may seem to have a key that it does not have, one in 65,536, and never lacks a key that it has.

use twox_hash::XxHash64;

/// The bits of a key that are stored as they are.
const LOW_BITS: u32 = 16;

/// The end of an index.
const MAGIC: [u8; 8] = *b"TRUEUPK1";

/// The bytes after the sets: their length, and [`MAGIC`].
pub(super) const TRAILER_BYTES: u64 = 16;

/// The keys of one account. A key stands for a customer of the account, or for an event id in the account.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountKeys {
    customers: u64,
    event_ids: u64,
}

impl AccountKeys {
    pub(super) fn of(account: &str) -> Self {
        let seed = |kind| XxHash64::oneshot(kind, account.as_bytes());
        Self { customers: seed(0), event_ids: seed(1) }
    }

    /// Returns the key of a customer.
    pub(super) fn customer(self, opportunity_id: &str) -> u64 {
        XxHash64::oneshot(self.customers, opportunity_id.as_bytes())
    }

    /// Returns the key of an event id.
    pub(super) fn event(self, event_id: &str) -> u64 {
        XxHash64::oneshot(self.event_ids, event_id.as_bytes())
    }
}

/// Returns the set of some keys, the keys of a row group.
///
/// Of *n* keys, each becomes a number below *n* x 2^16 that has the place of the key among all keys. The numbers are
/// sorted. Of each, the low 16 bits are stored as they are. The rest, which is below *n*, is stored as bits: for each
/// value, a 1 for each number that has it, then a 0.
pub(super) fn encode(mut keys: Vec<u64>) -> Vec<u8> {
    keys.sort_unstable();
    keys.dedup();
    let count = keys.len() as u64;
    let mut words = vec![0_u64; words_of(count)];
    let mut low = Vec::with_capacity(keys.len() * 2);
    for (at, key) in keys.iter().enumerate() {
        let (high, low_bits) = place(*key, count);
        // Before the bit of this number, there is one for each number before it, and one for each value below its own.
        let bit = usize::try_from(high).unwrap_or(usize::MAX) + at;
        words[bit / 64] |= 1 << (bit % 64);
        low.extend_from_slice(&low_bits.to_le_bytes());
    }
    let words: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    [&count.to_le_bytes()[..], &words, &low].concat()
}

/// Returns an index, given the sets of all row groups of a file in their order.
pub(super) fn end(sets: Vec<u8>) -> Vec<u8> {
    let length = (sets.len() as u64).to_le_bytes();
    [&sets[..], &length, &MAGIC].concat()
}

/// Returns the length of the sets before a trailer; `None` if the bytes are no trailer, because the file has no index.
pub(super) fn sets_before(trailer: &[u8]) -> Option<u64> {
    let (length, magic) = trailer.split_first_chunk::<8>()?;
    (magic == MAGIC).then(|| u64::from_le_bytes(*length))
}

/// Divides the sets of an index; `None` if the bytes are not those of sets.
pub(super) fn sets(mut bytes: &[u8]) -> Option<Vec<KeySet<'_>>> {
    let mut sets = Vec::new();
    while !bytes.is_empty() {
        let (count, rest) = bytes.split_first_chunk::<8>()?;
        let count = u64::from_le_bytes(*count);
        // More keys than bytes are no set; what follows cannot overflow then.
        let keys = usize::try_from(count).ok().filter(|keys| *keys <= rest.len())?;
        let (words, rest) = rest.split_at_checked(words_of(count) * 8)?;
        let (low, rest) = rest.split_at_checked(keys * 2)?;
        sets.push(KeySet::new(count, words.as_chunks::<8>().0, low.as_chunks::<2>().0)?);
        bytes = rest;
    }
    Some(sets)
}

/// The keys of a row group.
pub(super) struct KeySet<'a> {
    count: u64,
    words: &'a [[u8; 8]],
    /// How many zeros are in the words before each word.
    zeros_before: Vec<u64>,
    low: &'a [[u8; 2]],
}

impl<'a> KeySet<'a> {
    fn new(count: u64, words: &'a [[u8; 8]], low: &'a [[u8; 2]]) -> Option<Self> {
        let (mut ones, mut zeros_before) = (0, Vec::with_capacity(words.len()));
        for (before, word) in (0_u64..).step_by(64).zip(words) {
            zeros_before.push(before - ones);
            ones += u64::from(u64::from_le_bytes(*word).count_ones());
        }
        (ones == count).then_some(Self { count, words, zeros_before, low })
    }

    /// Returns whether the row group may have this key.
    pub(super) fn may_have(&self, key: u64) -> bool {
        if self.count == 0 {
            return false;
        }
        let (high, low) = place(key, self.count);
        let (start, first_bit) = self.start_of(high);
        let numbers = self.low.get(start..).unwrap_or_default().iter().zip(first_bit..);
        let mut with_high = numbers.take_while(|(_, bit)| self.bit(*bit)).map(|(low, _)| u16::from_le_bytes(*low));
        with_high.any(|found| found == low)
    }

    /// Returns how many numbers are below those whose high part is `high`, and the bit of the first of these, if there
    /// is one.
    fn start_of(&self, high: u64) -> (usize, usize) {
        if high == 0 {
            return (0, 0);
        }
        // The zero that ends the value before: the `high`th, counted from 1. Keys are spread evenly, so that about half
        // of the bits before it are zeros.
        let is_before = |word: usize| self.zeros_before.get(word).is_some_and(|before| *before < high);
        let mut word = usize::try_from(high / 32).unwrap_or(usize::MAX).min(self.words.len().saturating_sub(1));
        while word > 0 && !is_before(word) {
            word -= 1;
        }
        while is_before(word + 1) {
            word += 1;
        }
        let left = high - self.zeros_before.get(word).copied().unwrap_or(0);
        let zeros = !self.words.get(word).map_or(0, |word| u64::from_le_bytes(*word));
        let end = word * 64 + nth_one(zeros, left) as usize;
        ((end + 1).saturating_sub(usize::try_from(high).unwrap_or(usize::MAX)), end + 1)
    }

    fn bit(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| u64::from_le_bytes(*word) >> (at % 64) & 1 == 1)
    }
}

/// Returns the number of a key among `count` keys: its high part, which is below `count`, and its low bits.
fn place(key: u64, count: u64) -> (u64, u16) {
    let number = ((u128::from(key) * (u128::from(count) << LOW_BITS)) >> 64) as u64;
    (number >> LOW_BITS, (number & u64::from(u16::MAX)) as u16)
}

/// Returns the position of the `nth` bit of a word that is 1, counted from 1; 64 if it has fewer.
fn nth_one(word: u64, nth: u64) -> u32 {
    let (mut at, mut left) = (0, nth);
    for width in [32, 16, 8, 4, 2, 1] {
        let ones = u64::from((word >> at & ((1 << width) - 1)).count_ones());
        if ones < left {
            left -= ones;
            at += width;
        }
    }
    if word >> at & 1 == 1 && left == 1 { at } else { u64::BITS }
}

/// Returns the words that the bits of `count` keys take.
fn words_of(count: u64) -> usize {
    usize::try_from(count.div_ceil(32)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(row_groups: &[Vec<u64>]) -> Vec<u8> {
        row_groups.iter().flat_map(|keys| encode(keys.clone())).collect()
    }

    #[test]
    fn keys_are_those_of_the_format() {
        // What docs/format.md says, for readers that are not in Rust.
        assert_eq!(AccountKeys::of("acme").customer("17"), XxHash64::oneshot(XxHash64::oneshot(0, b"acme"), b"17"));
        assert_eq!(AccountKeys::of("acme").event("17"), XxHash64::oneshot(XxHash64::oneshot(1, b"acme"), b"17"));
        let half = 1 << 63;
        let words = 0b0110_u64.to_le_bytes();
        let expected = [&2_u64.to_le_bytes()[..], &words, &[0, 0, 1, 0]].concat();
        assert_eq!(index(&[vec![half + (1 << 47), half, half]]), expected);
    }

    #[test]
    fn few_keys_are_there_by_chance() {
        let keys = |kind: u64| (0..50_000_u64).map(move |id| XxHash64::oneshot(kind, &id.to_le_bytes()));
        let index = index(&[keys(0).collect()]);
        assert!(index.len() <= 50_000 * 9 / 4 + 16, "{}", index.len());
        let set = &sets(&index).unwrap()[0];
        assert!(keys(0).all(|key| set.may_have(key)));
        let found = (1..20).flat_map(keys).filter(|key| set.may_have(*key)).count();
        assert!(found < 60, "{found} of 950,000");
    }

    proptest! {
        #[test]
        fn the_nth_one_of_a_word_is_found(word in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)]) {
            let ones: Vec<u32> = (0..64).filter(|bit| word >> bit & 1 == 1).collect();
            for nth in 1..=64 {
                let expected = ones.get(nth - 1).copied().unwrap_or(64);
                prop_assert_eq!(nth_one(word, nth as u64), expected);
            }
        }

        #[test]
        fn a_set_has_its_keys(row_groups in prop::collection::vec(
            prop::collection::vec(prop_oneof![any::<u64>(), 0..9_u64, u64::MAX - 9..], 0..200), 0..4)
        ) {
            let index = index(&row_groups);
            let sets = sets(&index).unwrap();
            prop_assert_eq!(sets.len(), row_groups.len());
            for (set, keys) in sets.iter().zip(&row_groups) {
                prop_assert!(keys.iter().all(|key| set.may_have(*key)));
            }
        }

        #[test]
        fn bytes_that_are_no_index_do_no_harm(
            keys in prop::collection::vec(any::<u64>(), 0..50),
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4),
            cut in any::<usize>(),
        ) {
            let mut index = index(&[keys]);
            for (at, byte) in changes {
                let at = at % index.len();
                index[at] = byte;
            }
            index.truncate(cut % (index.len() + 1));
            for set in sets(&index).into_iter().flatten() {
                let found = (0..64).filter(|bit| set.may_have(1 << bit)).count();
                prop_assert!(set.count > 0 || found == 0);
            }
        }
    }
}
