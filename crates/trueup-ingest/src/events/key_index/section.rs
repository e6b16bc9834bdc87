//! The section of a row group: the keys of its customers and event ids, each with a *page*. A key is stored as a number
//! that says where among all keys it lies: 12 bits of this number as they are, and about two bits for the rest of it.
//! The rows of a row group are counted in pages, whose size the contents say. A section never lacks a page that has a
//! key; of the keys that it does not have, it seems to have one in 4,096.
//!
//! The columns of a row group are stored in pages of the same rows, except that long texts end a page earlier. A reader
//! decompresses only the pages that it needs.

use super::{AccountKeys, PrefixBounds};
use std::ops::RangeInclusive;

/// How many low bits of the number that [`place`] gives a key are stored as they are.
const LOW_BITS: u32 = 12;

/// The bits of the number of a page. The highest number stands for all pages from there on.
const PAGE_BITS: u32 = 4;

/// The number of the page that stands for all pages from there on.
pub(super) const LAST_PAGE: usize = (1 << PAGE_BITS) - 1;

/// The bits of a key that count.
const KEY_MASK: u64 = u64::MAX << PAGE_BITS;

/// About this many entries are sorted at a time.
const ENTRIES_SORTED_TOGETHER: usize = 16;

/// The low bits of the number that [`place`] gives a key, and above them the number of its page.
type StoredEntry = [u8; ((LOW_BITS + PAGE_BITS) / 8) as usize];

/// The section of a new row group, and what the contents say of it.
#[derive(Debug)]
pub(in crate::events) struct Section {
    /// The number of entries.
    pub(super) count: u64,
    pub(super) customers: PrefixBounds,
    pub(super) event_ids: PrefixBounds,
    pub(super) bytes: Vec<u8>,
}

/// Collects the section of a row group.
#[derive(Debug)]
pub(in crate::events) struct SectionBuilder {
    /// The keys, with the number of the page in the bits that do not count.
    entries: Vec<u64>,
    customers: PrefixBounds,
    event_ids: PrefixBounds,
}

impl SectionBuilder {
    /// Begins without keys, with room for as many as are expected.
    pub(in crate::events) fn new(expected: usize) -> Self {
        let entries = Vec::with_capacity(expected);
        Self { entries, customers: PrefixBounds::OF_NONE, event_ids: PrefixBounds::OF_NONE }
    }

    /// Adds a customer that has rows in some pages.
    pub(in crate::events) fn add_customer(&mut self, keys: AccountKeys, id: &[u8], pages: RangeInclusive<usize>) {
        self.customers.add(id);
        self.add(keys.customer(id), pages);
    }

    /// Adds an event id of a customer that has rows in some pages.
    pub(in crate::events) fn add_event_id(&mut self, keys: AccountKeys, id: &[u8], pages: RangeInclusive<usize>) {
        self.event_ids.add(id);
        self.add(keys.event(id), pages);
    }

    fn add(&mut self, key: u64, pages: RangeInclusive<usize>) {
        self.entries.extend(pages.map(|page| key & KEY_MASK | page.min(LAST_PAGE) as u64));
    }

    /// Returns the section.
    ///
    /// Of *n* entries, each key becomes a number below *n* x 2^12 that has the place of the key among all keys. Of each
    /// number, the low 12 bits are stored as they are, with the page. The rest, which is below *n*, is stored as bits:
    /// for each value, a 1 for each entry that has it, then a 0.
    pub(in crate::events) fn finish(self) -> Section {
        let mut entries = sorted(&self.entries);
        entries.dedup();
        let count = entries.len() as u64;
        let mut words = vec![0_u64; words_of(count)];
        let mut stored: Vec<StoredEntry> = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let (high, low) = place(*entry, count);
            // Before the bit of this entry, there is one for each entry before it, and one for each value below its
            // own.
            let bit = usize::try_from(high).unwrap_or(usize::MAX) + at;
            words[bit / 64] |= 1 << (bit % 64);
            let [first, second, ..] = (low | (entry & !KEY_MASK) << LOW_BITS).to_le_bytes();
            stored.push([first, second]);
        }
        let words: Vec<[u8; 8]> = words.into_iter().map(u64::to_le_bytes).collect();
        let bytes = [words.as_flattened(), stored.as_flattened()].concat();
        Section { count, customers: self.customers, event_ids: self.event_ids, bytes }
    }
}

/// Returns entries in ascending order. Keys are hashes, which spread evenly. Therefore the entries are first
/// distributed by their high bits, so that few are left to be sorted at a time, which is faster than sorting all at
/// once.
fn sorted(entries: &[u64]) -> Vec<u64> {
    let bits = (entries.len() / ENTRIES_SORTED_TOGETHER).checked_ilog2().unwrap_or(0);
    let bucket = |entry: u64| usize::try_from(entry.unbounded_shr(u64::BITS - bits)).unwrap_or(usize::MAX);
    let mut ends = vec![0_usize; 1 << bits];
    entries.iter().for_each(|entry| ends[bucket(*entry)] += 1);
    let mut start = 0;
    for end in &mut ends {
        // Here, the end is still the number of entries. It grows to the end as the entries are placed.
        (start, *end) = (start + *end, start);
    }
    let mut sorted = vec![0; entries.len()];
    for entry in entries {
        let end = &mut ends[bucket(*entry)];
        sorted[*end] = *entry;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        sorted[start..end].sort_unstable();
        start = end;
    }
    sorted
}

/// The section of a stored row group.
pub(super) struct StoredSection<'a> {
    count: u64,
    words: &'a [[u8; 8]],
    /// How many zeros are in the words before each word.
    zeros_before: Vec<u64>,
    entries: &'a [StoredEntry],
}

impl<'a> StoredSection<'a> {
    /// Reads a section of `count` entries; `None` if the bytes are not such a section.
    pub(super) fn new(bytes: &'a [u8], count: u64) -> Option<Self> {
        // More entries than bytes are no section; what follows cannot overflow then.
        let entries = usize::try_from(count).ok().filter(|entries| *entries <= bytes.len())?;
        let (words, rest) = bytes.split_at_checked(words_of(count) * 8)?;
        let words = words.as_chunks().0;
        let (mut ones, mut zeros_before) = (0, Vec::with_capacity(words.len()));
        for (before, word) in (0_u64..).step_by(64).zip(words) {
            zeros_before.push(before - ones);
            ones += u64::from(u64::from_le_bytes(*word).count_ones());
        }
        let (stored, more) = rest.as_chunks();
        let is_whole = stored.len() == entries && more.is_empty() && ones == count;
        is_whole.then_some(Self { count, words, zeros_before, entries: stored })
    }

    /// Returns the pages that may have a key.
    pub(super) fn pages_of(&self, key: u64) -> impl Iterator<Item = usize> {
        let (high, low) = place(key, self.count);
        let (start, first_bit) = if self.count == 0 { (0, usize::MAX) } else { self.start_of(high) };
        let entries = self.entries.get(start..).unwrap_or_default().iter().zip(first_bit..);
        let with_high = entries.take_while(|(_, bit)| self.bit(*bit)).map(|(entry, _)| u16::from_le_bytes(*entry));
        with_high
            .filter(move |entry| u64::from(entry & ((1 << LOW_BITS) - 1)) == low)
            .map(|entry| (entry >> LOW_BITS).into())
    }

    /// Returns how many entries have a high part below `high`, and the bit of the first entry that has `high`, if there
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

/// Returns the number of a key among `count` entries: its high part, which is below `count`, and its low bits.
fn place(key: u64, count: u64) -> (u64, u64) {
    let number = ((u128::from(key & KEY_MASK) * (u128::from(count) << LOW_BITS)) >> 64) as u64;
    (number >> LOW_BITS, number & ((1 << LOW_BITS) - 1))
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
    use twox_hash::XxHash64;

    /// Returns the section that has keys, each with its page.
    fn section(keys: impl IntoIterator<Item = (u64, usize)>) -> Section {
        let mut section = SectionBuilder::new(0);
        keys.into_iter().for_each(|(key, page)| section.add(key, page..=page));
        section.finish()
    }

    fn stored(section: &Section) -> StoredSection<'_> {
        StoredSection::new(&section.bytes, section.count).unwrap()
    }

    fn pages(section: &StoredSection<'_>, key: u64) -> Vec<usize> {
        section.pages_of(key).collect()
    }

    #[test]
    fn sections_are_those_of_the_format() {
        // What docs/format.md says, for readers that are not in Rust.
        assert_eq!(AccountKeys::of("acme").customer(b"17"), XxHash64::oneshot(XxHash64::oneshot(0, b"acme"), b"17"));
        assert_eq!(AccountKeys::of("acme").event(b"17"), XxHash64::oneshot(XxHash64::oneshot(1, b"acme"), b"17"));
        // Two keys in the upper half of all keys: one at its start, in the second page, and one that lies 2^-13 of all
        // keys after it, in the third page.
        let half = 1 << 63;
        let section = section([(half, 1), (half, 1), (half + (1 << 51), 2)]);
        assert_eq!(section.count, 2);
        assert_eq!(section.bytes, [&0b110_u64.to_le_bytes()[..], &[0, 0x10, 1, 0x20]].concat());
    }

    #[test]
    fn few_keys_are_there_by_chance() {
        let keys = |kind: u64| (0..50_000_u64).map(move |id| XxHash64::oneshot(kind, &id.to_le_bytes()));
        let section = section(keys(0).zip(0..).map(|(key, row)| (key, row / 5_000)));
        assert!(section.bytes.len() <= 50_000 * 9 / 4 + 8, "{}", section.bytes.len());
        let stored = stored(&section);
        assert!(keys(0).zip(0..).all(|(key, row)| pages(&stored, key).contains(&(row / 5_000))));
        let found: usize = (1..20).flat_map(keys).map(|key| pages(&stored, key).len()).sum();
        assert!((150..330).contains(&found), "{found} of 950,000");
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
        fn entries_are_sorted_whether_they_spread_evenly_or_not(
            entries in prop::collection::vec(prop_oneof![any::<u64>(), 0..9_u64, u64::MAX - 9..], 0..300)
        ) {
            let mut expected = entries.clone();
            expected.sort_unstable();
            prop_assert_eq!(sorted(&entries), expected);
        }

        #[test]
        fn a_section_has_its_keys(
            keys in prop::collection::vec((prop_oneof![any::<u64>(), 0..9_u64, u64::MAX - 9..], 0..20_usize), 0..200)
        ) {
            let section = section(keys.clone());
            let stored = stored(&section);
            for (key, page) in keys {
                prop_assert!(pages(&stored, key).contains(&page.min(LAST_PAGE)));
            }
        }

        #[test]
        fn bytes_that_are_no_section_do_no_harm(
            keys in prop::collection::vec((any::<u64>(), 0..9_usize), 0..50),
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4),
            cut in any::<usize>(),
            more in prop_oneof![Just(0), any::<u64>()],
        ) {
            let Section { mut bytes, count, .. } = section(keys);
            for (at, byte) in changes {
                if let Some(len) = bytes.len().checked_sub(1) {
                    bytes[at % (len + 1)] = byte;
                }
            }
            bytes.truncate(cut % (bytes.len() + 1));
            if let Some(section) = StoredSection::new(&bytes, count.wrapping_add(more)) {
                let found: usize = (0..64).map(|bit| section.pages_of(1 << bit).count()).sum();
                prop_assert!(section.count > 0 || found == 0);
            }
        }
    }
}
