//! The texts of a dimension, in order.

use super::order::{STEP, sort, sort_by_bits};
use super::prefix_keys::{PackedKeys, PrefixKeys, code};
use crate::{Interrupt, Interruption, TextList};
use std::cmp::Ordering;
use std::sync::Arc;

/// The texts of a dimension in order.
pub(super) struct SortedDictionary {
    pub(super) sorted: Arc<TextList>,
    /// Where the text of a code stands among them.
    pub(super) ranks: Vec<u32>,
}

/// Texts that are put in order by comparing them take less time than by counting how many have each digit.
const FEW: usize = 1 << 9;

impl SortedDictionary {
    /// Puts texts, which are all different, in order of their bytes.
    pub(super) fn new(texts: &TextList, interrupt: &Interrupt) -> Result<Self, Interruption> {
        let heads = PrefixKeys::new(texts);
        if texts.len() > FEW
            && let Some(PackedKeys { heads, bits, code_bits }) = heads.packed()
        {
            let heads = sort_by_bits(heads, code_bits..code_bits + bits, interrupt)?;
            #[expect(clippy::cast_possible_truncation, reason = "codes have at most 32 bits")]
            let code = |head: u64| (head & ((1 << code_bits) - 1)) as usize;
            return Self::of(texts, heads, code, |a, b| a >> code_bits == b >> code_bits, interrupt);
        }
        let heads = sort(heads.iter().collect(), interrupt, |a, b| a.cmp(&b))?;
        Self::of(texts, heads, |head| code(head) as usize, |a, b| a >> u32::BITS == b >> u32::BITS, interrupt)
    }

    /// Puts texts in order whose heads are in order; `code` is the code of a head, `same` says whether those of two texts are.
    fn of<N: Copy + Default + Send + Sync>(
        texts: &TextList,
        mut order: Vec<N>,
        code: impl Fn(N) -> usize + Sync,
        same: impl Fn(N, N) -> bool,
        interrupt: &Interrupt,
    ) -> Result<Self, Interruption> {
        let text = |head: N| &texts[code(head)];
        for heads in order.chunk_by_mut(|a, b| same(*a, *b)).filter(|heads| heads.len() > 1) {
            heads.copy_from_slice(&sort(heads.to_vec(), interrupt, |a, b| compare(text(a), text(b)))?);
        }
        let mut ranks = vec![0; texts.len()];
        let mut sorted = TextList::with_capacity(texts.len(), texts.text_bytes());
        for (first, heads) in (0_u32..).step_by(STEP).zip(order.chunks(STEP)) {
            interrupt.check()?;
            for (rank, head) in (first..).zip(heads) {
                ranks[code(*head)] = rank;
                sorted.push(text(*head));
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
    fn numbers_of_any_length_come_in_order_of_their_bytes() {
        let wide = 0x1234_5678_9abc;
        for (count, step) in [(300_u64, 1), (3_000, 1), (70_000, 1), (300, wide), (3_000, wide), (300, u64::MAX / 300)]
        {
            // What follows the first number begins alike, and is more than a head.
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
    fn texts_come_in_order_of_their_bytes() {
        let long = "a text that is longer than a head ";
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
            SortedDictionary::new(&TextList::default(), &Interrupt::default())
                .is_ok_and(|dictionary| dictionary.sorted.is_empty())
        );
    }
}
