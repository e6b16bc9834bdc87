//! The index of a file of events: which rows may be of a customer, or have some event id. An ingest thus finds the
//! stored customers that it concerns without reading the columns of all row groups.
//!
//! The index stands between the last row group and the footer, where readers of Parquet do not look. It has the hashes
//! of the customers and event ids, cut to 12 bits and two bits that tell where each begins, each with a *page*: the
//! rows of a row group are counted in pages, whose size the index says. The index never lacks a page that has a key,
//! and seems to have a key that it does not have one time in 4,096. Such a key rarely leads to rows, because its page
//! is mostly one of other accounts.
//!
//! The columns of a row group are stored in pages of as many rows, so that a reader decompresses only these.

use rayon::prelude::*;
use std::ops::Range;
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};
use twox_hash::XxHash64;

/// The bits of a key that are stored as they are.
const LOW_BITS: u32 = 12;

/// The bits of the number of a page. The highest number stands for all pages from there on.
const PAGE_BITS: u32 = 12;

/// The bytes of the low bits of a key and the number of its page.
const ENTRY_BYTES: usize = ((LOW_BITS + PAGE_BITS) / 8) as usize;

/// The bits of a key that count.
const KEY_MASK: u64 = u64::MAX << PAGE_BITS;

/// The end of an index.
const MAGIC: [u8; 8] = *b"TRUEUPK2";

/// The bytes after the entries: the length of the index, and [`MAGIC`].
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
    pub(super) fn customer(self, opportunity_id: &[u8]) -> u64 {
        XxHash64::oneshot(self.customers, opportunity_id)
    }

    /// Returns the key of an event id.
    pub(super) fn event(self, event_id: &[u8]) -> u64 {
        XxHash64::oneshot(self.event_ids, event_id)
    }
}

/// Collects the index of a file, row group by row group.
#[derive(Debug)]
pub(super) struct KeyIndexBuilder {
    /// The rows of a page, from the first row of a row group on; the last page of a row group may have fewer.
    page_rows: usize,
    /// The keys, with the number of the page in the bits that do not count.
    entries: Vec<u64>,
    pages: usize,
}

impl KeyIndexBuilder {
    /// Begins without row groups. `page_rows` are the rows of a page, at least 1.
    pub(super) const fn new(page_rows: usize) -> Self {
        Self { page_rows, entries: Vec::new(), pages: 0 }
    }

    /// Adds the keys of a row group of `rows` rows, each with its page in the row group.
    pub(super) fn add(&mut self, rows: usize, keys: &[(u64, usize)]) {
        let first = self.pages;
        self.entries.extend(keys.iter().map(|(key, page)| key & KEY_MASK | last_at_most(first + page) as u64));
        self.pages += rows.div_ceil(self.page_rows);
    }

    /// Returns the index.
    ///
    /// Of *n* entries, each key becomes a number below *n* x 2^12 that has the place of the key among all keys. Of each
    /// number, the low 12 bits are stored as they are, with the page. The rest, which is below *n*, is stored as bits:
    /// for each value, a 1 for each entry that has it, then a 0.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entries.par_sort_unstable();
        self.entries.dedup();
        let count = self.entries.len() as u64;
        let mut words = vec![0_u64; words_of(count)];
        let mut low = Vec::with_capacity(self.entries.len() * ENTRY_BYTES);
        for (at, entry) in self.entries.iter().enumerate() {
            let (high, low_bits) = place(*entry, count);
            // Before the bit of this entry, there is one for each entry before it, and one for each value below its
            // own.
            let bit = usize::try_from(high).unwrap_or(usize::MAX) + at;
            words[bit / 64] |= 1 << (bit % 64);
            let page = entry & !KEY_MASK;
            low.extend_from_slice(&(low_bits | page << LOW_BITS).to_le_bytes()[..ENTRY_BYTES]);
        }
        let words: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        let length = (16 + words.len() + low.len()) as u64;
        let page_rows = (self.page_rows as u64).to_le_bytes();
        [&page_rows[..], &count.to_le_bytes(), &words, &low, &length.to_le_bytes(), &MAGIC].concat()
    }
}

/// Returns the length of the index before a trailer; `None` if the bytes are no trailer, because the file has no index.
pub(super) fn index_before(trailer: &[u8]) -> Option<u64> {
    let (length, magic) = trailer.split_first_chunk::<8>()?;
    (magic == MAGIC).then(|| u64::from_le_bytes(*length))
}

/// The index of a file.
pub(super) struct KeyIndex<'a> {
    page_rows: usize,
    count: u64,
    words: &'a [[u8; 8]],
    /// How many zeros are in the words before each word.
    zeros_before: Vec<u64>,
    /// The low bits and the page of each entry.
    entries: &'a [[u8; ENTRY_BYTES]],
}

impl<'a> KeyIndex<'a> {
    /// Reads an index; `None` if the bytes are none.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let (page_rows, rest) = bytes.split_first_chunk::<8>()?;
        let page_rows = usize::try_from(u64::from_le_bytes(*page_rows)).ok().filter(|rows| *rows > 0)?;
        let (count, rest) = rest.split_first_chunk::<8>()?;
        let count = u64::from_le_bytes(*count);
        // More entries than bytes are no index; what follows cannot overflow then.
        let entries = usize::try_from(count).ok().filter(|entries| *entries <= rest.len())?;
        let (words, rest) = rest.split_at_checked(words_of(count) * 8)?;
        let words = words.as_chunks::<8>().0;
        if rest.len() != entries * ENTRY_BYTES {
            return None;
        }
        let (mut ones, mut zeros_before) = (0, Vec::with_capacity(words.len()));
        for (before, word) in (0_u64..).step_by(64).zip(words) {
            zeros_before.push(before - ones);
            ones += u64::from(u64::from_le_bytes(*word).count_ones());
        }
        let entries = rest.as_chunks::<ENTRY_BYTES>().0;
        (ones == count).then_some(Self { page_rows, count, words, zeros_before, entries })
    }

    /// Returns the pages that may have a key, counted over all row groups of the file.
    fn pages_of(&self, key: u64) -> impl Iterator<Item = usize> {
        let (high, low) = place(key & KEY_MASK, self.count);
        let (start, first_bit) = if self.count == 0 { (0, usize::MAX) } else { self.start_of(high) };
        let entries = self.entries.get(start..).unwrap_or_default().iter().zip(first_bit..);
        let with_high = entries.take_while(|(_, bit)| self.bit(*bit)).map(|(entry, _)| {
            let [one, two, three] = *entry;
            u64::from(u32::from_le_bytes([one, two, three, 0]))
        });
        with_high.filter(move |entry| entry & ((1 << LOW_BITS) - 1) == low).map(|entry| (entry >> LOW_BITS) as usize)
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

/// Rows of a row group that may have some keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundRows {
    pub(super) row_group: usize,
    /// Whole pages, as ascending ranges.
    pub(super) rows: Vec<Range<usize>>,
    /// Whether they may have event ids that were looked for.
    pub(super) has_event_ids: bool,
}

/// Collects the pages of a file that may have some keys.
pub(super) struct FoundPages<'f> {
    page_rows: usize,
    row_groups: &'f [RowGroupEntry],
    /// The number of each page's row group.
    row_group_of: Vec<usize>,
    /// What each page may have.
    found: Vec<Found>,
}

/// What a page may have of what is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    #[default]
    Nothing,
    /// Customers, and no event id.
    Customers,
    EventIds,
}

impl<'f> FoundPages<'f> {
    /// Begins without pages, to look for them in an index.
    pub(super) fn within(file: &'f DataFile, index: &KeyIndex<'_>) -> Self {
        Self::new(file, index.page_rows)
    }

    /// Begins without pages of a file that has no index: each row group is a page.
    pub(super) fn without_index(file: &'f DataFile) -> Self {
        Self::new(file, usize::MAX)
    }

    fn new(file: &'f DataFile, page_rows: usize) -> Self {
        let pages = |entry: &RowGroupEntry| usize::try_from(entry.rows).unwrap_or(0).div_ceil(page_rows);
        let row_groups = file.row_groups.iter().enumerate();
        let row_group_of: Vec<usize> =
            row_groups.flat_map(|(number, entry)| std::iter::repeat_n(number, pages(entry))).collect();
        let found = vec![Found::Nothing; row_group_of.len()];
        Self { page_rows, row_groups: &file.row_groups, row_group_of, found }
    }

    /// Adds the pages that may have a customer of an account.
    pub(super) fn add_customer(&mut self, account: &str, key: u64, index: &KeyIndex<'_>) {
        index.pages_of(key).for_each(|page| self.add(account, page, Found::Customers));
    }

    /// Adds the pages that may have an event id of an account.
    pub(super) fn add_event_id(&mut self, account: &str, key: u64, index: &KeyIndex<'_>) {
        index.pages_of(key).for_each(|page| self.add(account, page, Found::EventIds));
    }

    /// Adds all pages that may have an account.
    pub(super) fn add_account(&mut self, account: &str) {
        (0..self.found.len()).for_each(|page| self.add_page(account, page, Found::Customers));
    }

    fn add(&mut self, account: &str, page: usize, found: Found) {
        let last = if page == LAST_PAGE { self.found.len() } else { page + 1 };
        (page..last).for_each(|page| self.add_page(account, page, found));
    }

    fn add_page(&mut self, account: &str, page: usize, new: Found) {
        let (Some(found), Some(row_group)) = (self.found.get_mut(page), self.row_group_of.get(page)) else { return };
        if self.row_groups.get(*row_group).is_some_and(|entry| may_have_account(entry, account)) {
            *found = new.max(*found);
        }
    }

    /// Returns the rows of the pages that were added, by row group.
    pub(super) fn rows(self) -> Vec<FoundRows> {
        let mut rows: Vec<FoundRows> = Vec::new();
        let mut page = 0;
        for (row_group, entry) in self.row_groups.iter().enumerate() {
            let len = usize::try_from(entry.rows).unwrap_or(0);
            let starts = (0..len).step_by(self.page_rows);
            let of_rows = |start: usize| start..start.saturating_add(self.page_rows).min(len);
            let pages = starts.map(of_rows).zip(&self.found[page..]);
            page += len.div_ceil(self.page_rows);
            for (of_page, found) in pages.filter(|(_, found)| **found != Found::Nothing) {
                let has_event_ids = *found == Found::EventIds;
                match rows.last_mut() {
                    Some(last) if last.row_group == row_group => {
                        last.has_event_ids |= has_event_ids;
                        match last.rows.last_mut() {
                            Some(rows) if rows.end == of_page.start => rows.end = of_page.end,
                            _ => last.rows.push(of_page),
                        }
                    }
                    _ => rows.push(FoundRows { row_group, rows: vec![of_page], has_event_ids }),
                }
            }
        }
        rows
    }
}

/// Returns whether a row group may have rows of an account.
pub(super) fn may_have_account(entry: &RowGroupEntry, account: &str) -> bool {
    entry.accounts.as_ref().is_none_or(|(first, last)| (&**first..=&**last).contains(&account))
}

/// The number of the page that stands for all pages from there on.
const LAST_PAGE: usize = (1 << PAGE_BITS) - 1;

fn last_at_most(page: usize) -> usize {
    page.min(LAST_PAGE)
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

    const PAGE_ROWS: usize = 10;

    /// Returns the index of row groups, each with its rows and its keys, without the trailer.
    fn index(row_groups: &[(usize, Vec<(u64, usize)>)]) -> Vec<u8> {
        let mut builder = KeyIndexBuilder::new(PAGE_ROWS);
        row_groups.iter().for_each(|(rows, keys)| builder.add(*rows, keys));
        let mut index = builder.finish();
        let (rest, trailer) = index.split_at(index.len() - usize::try_from(TRAILER_BYTES).unwrap());
        assert_eq!(index_before(trailer), Some(rest.len() as u64));
        index.truncate(rest.len());
        index
    }

    fn pages(index: &KeyIndex<'_>, key: u64) -> Vec<usize> {
        index.pages_of(key).collect()
    }

    /// Returns a file with row groups of these rows, each of one account.
    fn file(row_groups: &[(usize, &str)]) -> DataFile {
        let entry = |(rows, account): &(usize, &str)| RowGroupEntry {
            rows: *rows as u64,
            accounts: Some(((*account).to_owned(), (*account).to_owned())),
            days: None,
        };
        DataFile { row_groups: row_groups.iter().map(entry).collect(), ..DataFile::default() }
    }

    #[test]
    fn keys_are_those_of_the_format() {
        // What docs/format.md says, for readers that are not in Rust.
        assert_eq!(AccountKeys::of("acme").customer(b"17"), XxHash64::oneshot(XxHash64::oneshot(0, b"acme"), b"17"));
        assert_eq!(AccountKeys::of("acme").event(b"17"), XxHash64::oneshot(XxHash64::oneshot(1, b"acme"), b"17"));
        // Of two entries, both in the upper half: one at its start, in the second page, and one after 2^-13 of it all,
        // in the first page of the second row group, which is the third of the file.
        let half = 1 << 63;
        let index = index(&[(PAGE_ROWS + 1, vec![(half, 1), (half, 1)]), (1, vec![(half + (1 << 51), 0)])]);
        assert_eq!(
            index,
            [&10_u64.to_le_bytes()[..], &2_u64.to_le_bytes(), &0b110_u64.to_le_bytes(), &[0, 0x10, 0, 1, 0x20, 0]]
                .concat()
        );
    }

    #[test]
    fn few_keys_are_there_by_chance() {
        let keys = |kind: u64| (0..50_000_u64).map(move |id| XxHash64::oneshot(kind, &id.to_le_bytes()));
        let bytes = index(&[(50_000, keys(0).zip(0..).map(|(key, row)| (key, row / 100)).collect())]);
        assert!(bytes.len() <= 50_000 * 13 / 4 + 24, "{}", bytes.len());
        let index = KeyIndex::new(&bytes).unwrap();
        assert!(keys(0).zip(0..).all(|(key, row)| pages(&index, key).contains(&(row / 100))));
        let found: usize = (1..20).flat_map(keys).map(|key| pages(&index, key).len()).sum();
        assert!((150..330).contains(&found), "{found} of 950,000");
    }

    #[test]
    fn pages_of_other_accounts_are_not_found() {
        let rows = [(2 * PAGE_ROWS + 7, "acme"), (PAGE_ROWS, "beta"), (9, "acme")];
        let keys = |pages: &[usize]| pages.iter().map(|page| (1 << 62, *page)).collect::<Vec<_>>();
        let bytes = index(&[(rows[0].0, keys(&[1, 2])), (rows[1].0, keys(&[0])), (rows[2].0, keys(&[0]))]);
        let (file, index) = (file(&rows), KeyIndex::new(&bytes).unwrap());
        let found = |add: &dyn Fn(&mut FoundPages<'_>)| {
            let mut pages = FoundPages::within(&file, &index);
            add(&mut pages);
            pages.rows()
        };
        let rows =
            |row_group, rows: Range<usize>, has_event_ids| FoundRows { row_group, rows: vec![rows], has_event_ids };
        let acme = [rows(0, PAGE_ROWS..2 * PAGE_ROWS + 7, false), rows(2, 0..9, false)];
        assert_eq!(found(&|pages| pages.add_customer("acme", 1 << 62, &index)), acme);
        assert_eq!(found(&|pages| pages.add_event_id("beta", 1 << 62, &index)), [rows(1, 0..PAGE_ROWS, true)]);
        assert_eq!(found(&|pages| pages.add_customer("acme", 1 << 63, &index)), []);
        let all = [rows(0, 0..2 * PAGE_ROWS + 7, false), rows(2, 0..9, false)];
        assert_eq!(found(&|pages| pages.add_account("acme")), all);
    }

    #[test]
    fn the_last_page_stands_for_all_after_it() {
        let rows = (LAST_PAGE + 3) * PAGE_ROWS;
        let bytes = index(&[(rows, vec![(1 << 60, LAST_PAGE + 1), (1 << 61, LAST_PAGE - 1)])]);
        let (file, index) = (file(&[(rows, "acme")]), KeyIndex::new(&bytes).unwrap());
        for (key, expected) in
            [(1 << 60, LAST_PAGE * PAGE_ROWS..rows), (1 << 61, (LAST_PAGE - 1) * PAGE_ROWS..LAST_PAGE * PAGE_ROWS)]
        {
            let mut pages = FoundPages::within(&file, &index);
            pages.add_customer("acme", key, &index);
            assert_eq!(pages.rows(), [FoundRows { row_group: 0, rows: vec![expected], has_event_ids: false }]);
        }
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
        fn an_index_has_its_keys(row_groups in prop::collection::vec(
            prop::collection::vec((prop_oneof![any::<u64>(), 0..9_u64, u64::MAX - 9..], 0..5_usize), 0..200), 0..4)
        ) {
            let row_groups: Vec<_> = row_groups.into_iter().map(|keys| (5 * PAGE_ROWS, keys)).collect();
            let bytes = index(&row_groups);
            let index = KeyIndex::new(&bytes).unwrap();
            for (number, (_, keys)) in row_groups.iter().enumerate() {
                for (key, page) in keys {
                    prop_assert!(pages(&index, *key).contains(&(5 * number + page)));
                }
            }
        }

        #[test]
        fn bytes_that_are_no_index_do_no_harm(
            keys in prop::collection::vec((any::<u64>(), 0..9_usize), 0..50),
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4),
            cut in any::<usize>(),
        ) {
            let mut index = index(&[(9 * PAGE_ROWS, keys)]);
            for (at, byte) in changes {
                let at = at % index.len();
                index[at] = byte;
            }
            index.truncate(cut % (index.len() + 1));
            let file = file(&[(9 * PAGE_ROWS, "acme")]);
            if let Some(index) = KeyIndex::new(&index) {
                let mut pages = FoundPages::within(&file, &index);
                (0..64).for_each(|bit| pages.add_customer("acme", 1 << bit, &index));
                prop_assert!(index.count > 0 || pages.rows().is_empty());
            }
        }
    }
}
