//! The texts of a dimension, sorted.

use super::order::{INTERRUPT_CHECK_ITEMS, sort, sort_by_bits};
use super::prefix_keys::{PackedKeys, PrefixKeys, code};
use crate::{Interrupt, Interruption, StringList};
use std::cmp::Ordering;
use std::sync::Arc;

/// The texts of a dimension, sorted by their bytes.
pub(super) struct SortedDictionary {
    pub(super) sorted: Arc<StringList>,
    /// The rank of each code: the index of its text in `sorted`.
    pub(super) ranks: Vec<u32>,
}

/// The largest number of texts for which comparing keys takes less time than [`sort_by_bits`].
const MAX_COMPARED_TEXTS: usize = 1 << 9;

impl SortedDictionary {
    /// Sorts texts, which must all be different.
    pub(super) fn new(texts: &StringList, interrupt: &Interrupt) -> Result<Self, Interruption> {
        let keys = PrefixKeys::new(texts);
        if texts.len() > MAX_COMPARED_TEXTS
            && let Some(PackedKeys { keys, bits, code_bits }) = keys.packed()
        {
            let keys = sort_by_bits(keys, code_bits..code_bits + bits, interrupt)?;
            #[expect(clippy::cast_possible_truncation, reason = "codes have at most 32 bits")]
            let code = |key: u64| (key & ((1 << code_bits) - 1)) as usize;
            return Self::from_keys(texts, keys, code, |a, b| a >> code_bits == b >> code_bits, interrupt);
        }
        let keys = sort(keys.iter().collect(), interrupt, |a, b| a.cmp(&b))?;
        Self::from_keys(texts, keys, |key| code(key) as usize, |a, b| a >> u32::BITS == b >> u32::BITS, interrupt)
    }

    /// Sorts texts, given their sorted keys. `code` returns the code of a key. `is_same` returns whether two keys are
    /// equal apart from their codes; the texts of such keys are compared.
    fn from_keys<N: Copy + Default + Send + Sync>(
        texts: &StringList,
        mut keys: Vec<N>,
        code: impl Fn(N) -> usize + Sync,
        is_same: impl Fn(N, N) -> bool,
        interrupt: &Interrupt,
    ) -> Result<Self, Interruption> {
        let text = |key: N| &texts[code(key)];
        for same in keys.chunk_by_mut(|a, b| is_same(*a, *b)).filter(|same| same.len() > 1) {
            same.copy_from_slice(&sort(same.to_vec(), interrupt, |a, b| compare(text(a), text(b)))?);
        }
        let mut ranks = vec![0; texts.len()];
        let mut sorted = StringList::with_capacity(texts.len(), texts.text_bytes());
        for (first, step) in (0_u32..).step_by(INTERRUPT_CHECK_ITEMS).zip(keys.chunks(INTERRUPT_CHECK_ITEMS)) {
            interrupt.check()?;
            for (rank, key) in (first..).zip(step) {
                ranks[code(*key)] = rank;
                sorted.push(text(*key));
            }
        }
        Ok(Self { sorted: Arc::new(sorted), ranks })
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    a.as_bytes().cmp(b.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_a_common_prefix_are_sorted_by_their_bytes() {
        let wide = 0x1234_5678_9abc;
        for (count, step) in [(300_u64, 1), (3_000, 1), (70_000, 1), (300, wide), (3_000, wide), (300, u64::MAX / 300)]
        {
            // With the longer of these, all texts are the same after the first number, for more bytes than a key has.
            for between in ["-", "-many bytes that are the same-"] {
                let number = |at: u64| format!("C-{:02}{between}{:x}/é", at % 7, (at * 7_919 % count) * step);
                let mut texts: Vec<String> = (0..count).map(number).collect();
                let dictionary = SortedDictionary::new(&texts.iter().collect(), &Interrupt::default());
                texts.sort_unstable_by(|a, b| compare(a, b));
                assert_eq!(dictionary.as_ref().map(|dictionary| &*dictionary.sorted), Ok(&texts.iter().collect()));
            }
        }
    }

    #[test]
    fn texts_are_sorted_by_their_bytes() {
        let long = "a text that is longer than a key  ";
        for start in ["", "é", long] {
            let ends = ["b", "", "a", "\0", "aa", "a\0", "ab", "\u{7f}", "ü", "0123456789ab", "0123456789abc", long];
            let texts: Vec<String> = ends.iter().map(|end| format!("{start}{end}")).collect();
            let dictionary = SortedDictionary::new(&texts.iter().collect(), &Interrupt::default());
            let mut expected = texts.clone();
            expected.sort_unstable_by(|a, b| compare(a, b));
            assert_eq!(dictionary.as_ref().map(|dictionary| &*dictionary.sorted), Ok(&expected.iter().collect()));
            let ranks = dictionary.map(|dictionary| dictionary.ranks).unwrap_or_default();
            assert_eq!(ranks.len(), texts.len());
            for (rank, text) in ranks.iter().zip(&texts) {
                assert_eq!(&expected[*rank as usize], text);
            }
        }
        assert!(
            SortedDictionary::new(&StringList::default(), &Interrupt::default())
                .is_ok_and(|dictionary| dictionary.sorted.is_empty())
        );
    }
}
