//! The texts of a dimension, in order.

use super::order::{each, sort};
use crate::{Interrupt, Interruption};
use std::cmp::Ordering;
use std::sync::Arc;

/// The texts of a dimension in order.
pub(super) struct Dictionary {
    pub(super) sorted: Arc<[Arc<str>]>,
    /// Where the text of a code stands among them.
    pub(super) ranks: Vec<u32>,
}

/// Bytes of a text that are compared as a number.
const HEAD: usize = 12;

impl Dictionary {
    /// Puts texts, which are all different, in order of their bytes.
    pub(super) fn new(texts: Vec<Arc<str>>, interrupt: &Interrupt) -> Result<Self, Interruption> {
        let shared = shared_bytes(&texts);
        let heads = (0_u32..).zip(&texts).map(|(code, text)| head(&text.as_bytes()[shared..], code)).collect();
        let text = |head: u128| &texts[code(head) as usize];
        let mut order = sort(heads, interrupt, |a, b| a.cmp(&b))?;
        let same = order.chunk_by_mut(|a, b| a >> u32::BITS == b >> u32::BITS);
        for heads in same.filter(|heads| heads.len() > 1) {
            heads.copy_from_slice(&sort(heads.to_vec(), interrupt, |a, b| compare(text(a), text(b)))?);
        }
        let mut ranks = vec![0; texts.len()];
        (0_u32..).zip(&order).for_each(|(rank, head)| ranks[code(*head) as usize] = rank);
        // Each is moved: a clone would have to count on a place of memory that nobody has at hand.
        let mut texts: Vec<Option<Arc<str>>> = texts.into_iter().map(Some).collect();
        let sorted = each(&order, interrupt, |head| texts[code(head) as usize].take())?;
        // None is left out: each comes once.
        Ok(Self { sorted: sorted.into_iter().map(Option::unwrap_or_default).collect(), ranks })
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    a.as_bytes().cmp(b.as_bytes())
}

/// The bytes with which all texts begin.
fn shared_bytes(texts: &[Arc<str>]) -> usize {
    let Some((first, others)) = texts.split_first() else { return 0 };
    let first = first.as_bytes();
    others.iter().map(|text| text.as_bytes()).fold(first.len(), |shared, text| match text.get(..shared) {
        Some(start) if *start == first[..shared] => shared,
        _ => first[..shared].iter().zip(text).take_while(|(a, b)| a == b).count(),
    })
}

/// A number that compares as the first bytes of a text do, with its code below them.
fn head(text: &[u8], code: u32) -> u128 {
    number(&text[..text.len().min(HEAD)]) | u128::from(code)
}

/// Up to sixteen bytes as the highest ones of a number. Two reads that overlap take less time than one of a copy, which has to wait for it.
fn number(bytes: &[u8]) -> u128 {
    // By how much the second is shifted up for what the first has to fall out of it.
    let spare = |width: usize| u32::try_from((2 * width - bytes.len()) * 8).unwrap_or(u32::MAX);
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from_be_bytes(*last).checked_shl(spare(8)).unwrap_or(0);
        u128::from(u64::from_be_bytes(*first)) << 64 | u128::from(last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u32::from_be_bytes(*last).checked_shl(spare(4)).unwrap_or(0);
        u128::from(u32::from_be_bytes(*first)) << 96 | u128::from(last) << 64
    } else {
        (1..).zip(bytes).fold(0, |number, (place, byte)| number | u128::from(*byte) << (u128::BITS - 8 * place))
    }
}

/// The code in a number that [`head`] made.
#[expect(clippy::cast_possible_truncation, reason = "what is cut off are the bytes of the text")]
const fn code(head: u128) -> u32 {
    head as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_highest_of_a_number() {
        let bytes: Vec<u8> = (1..=16).collect();
        for length in 0..=bytes.len() {
            let mut padded = [0; 16];
            padded[..length].copy_from_slice(&bytes[..length]);
            assert_eq!(number(&bytes[..length]), u128::from_be_bytes(padded), "{length}");
        }
    }

    #[test]
    fn numbers_of_any_length_come_in_order_of_their_bytes() {
        for (count, step) in [(3_000_u64, 1), (70_000, 1), (300, 0x1234_5678_9abc), (300, u64::MAX / 300)] {
            let number = |at: u64| Arc::from(format!("C-{:02}-{:x}/é", at % 7, (at * 7_919 % count) * step));
            let texts: Vec<Arc<str>> = (0..count).map(number).collect();
            let mut expected = texts.clone();
            expected.sort_unstable_by(|a, b| compare(a, b));
            let sorted = Dictionary::new(texts, &Interrupt::default()).map(|dictionary| dictionary.sorted);
            assert_eq!(sorted.as_deref(), Ok(&*expected));
        }
    }

    #[test]
    fn texts_come_in_order_of_their_bytes() {
        let long = "a text that is longer than a head ";
        for start in ["", "é", long] {
            let ends = ["b", "", "a", "\0", "aa", "a\0", "ab", "\u{7f}", "ü", "0123456789ab", "0123456789abc", long];
            let texts: Vec<Arc<str>> = ends.iter().map(|end| Arc::from(format!("{start}{end}"))).collect();
            let dictionary = Dictionary::new(texts.clone(), &Interrupt::default());
            let mut expected = texts.clone();
            expected.sort_unstable_by(|a, b| compare(a, b));
            assert_eq!(dictionary.as_ref().map(|dictionary| &*dictionary.sorted), Ok(&*expected));
            let ranks = dictionary.map(|dictionary| dictionary.ranks).unwrap_or_default();
            assert_eq!(ranks.len(), texts.len());
            for (rank, text) in ranks.iter().zip(&texts) {
                assert_eq!(&expected[*rank as usize], text);
            }
        }
        assert!(
            Dictionary::new(Vec::new(), &Interrupt::default()).is_ok_and(|dictionary| dictionary.sorted.is_empty())
        );
    }
}
