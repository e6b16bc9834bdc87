//! The first bytes of texts as numbers that compare as the texts do.

use super::order::each;
use crate::{Interrupt, Interruption, TextList};

/// Bytes of a text that are compared as a number.
const HEAD: usize = 12;

/// For each of texts, which begin with as many bytes that they share, a number that compares as its next bytes do, with its code below them.
pub(super) fn heads(texts: &TextList) -> Vec<u128> {
    let shared = shared_bytes(texts);
    (0_u32..).zip(texts.iter()).map(|(code, text)| head(&text.as_bytes()[shared..], code)).collect()
}

/// The bytes with which all texts begin.
fn shared_bytes(texts: &TextList) -> usize {
    let mut texts = texts.iter().map(str::as_bytes);
    let Some(first) = texts.next() else { return 0 };
    texts.fold(first.len(), |shared, text| match text.get(..shared) {
        Some(start) if *start == first[..shared] => shared,
        _ => first[..shared].iter().zip(text).take_while(|(a, b)| a == b).count(),
    })
}

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

/// The code in a number.
#[expect(clippy::cast_possible_truncation, reason = "what is cut off are the bytes of the text")]
pub(super) const fn code(head: u128) -> u32 {
    head as u32
}

/// Numbers that compare as heads do, each of `bits` bits above a code of `code_bits`.
pub(super) struct Packed {
    pub(super) heads: Vec<u64>,
    pub(super) bits: u32,
    pub(super) code_bits: u32,
}

impl Packed {
    /// Leaves out the bits that all heads share, as ids that were counted share most of them; `None` if what is left does not fit.
    pub(super) fn new(heads: &[u128], interrupt: &Interrupt) -> Result<Option<Self>, Interruption> {
        let Some(first) = heads.first() else { return Ok(None) };
        let differ = heads.iter().fold(0, |differ, head| differ | (head ^ first)).to_be_bytes();
        let code_bits = usize::BITS - (heads.len() - 1).leading_zeros();
        let mut below = code_bits;
        // For each place where bytes differ, what each byte adds to the number.
        let mut places: Vec<(usize, [u64; 256])> = Vec::new();
        for at in (0..HEAD).rev().filter(|at| differ[*at] > 0) {
            let bits = u8::BITS - differ[at].leading_zeros();
            if below + bits > u64::BITS {
                return Ok(None);
            }
            places.push((at, std::array::from_fn(|byte| (byte as u64 & ((1 << bits) - 1)) << below)));
            below += bits;
        }
        let pack = |head: u128| {
            let bytes = head.to_be_bytes();
            let adds = places.iter().map(|(at, of_bytes)| of_bytes[usize::from(bytes[*at])]);
            adds.fold(u64::from(code(head)), |number, add| number | add)
        };
        Ok(Some(Self { heads: each(heads, interrupt, pack)?, bits: below - code_bits, code_bits }))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

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

    /// The packed heads of texts that `text` makes, if they fit.
    fn packed(count: u32, text: impl Fn(u32) -> String) -> Option<(Vec<u128>, Packed)> {
        let heads = heads(&(0..count).map(text).collect());
        Some((heads.clone(), Packed::new(&heads, &Interrupt::default()).ok()??))
    }

    #[test]
    fn what_heads_share_is_left_out() {
        // Ids that a service counts: six digits after what all have, which have four bits each.
        let (heads, packed) = packed(1_000, |number| format!("opp_2604-{:06}", number * 999)).unwrap();
        assert_eq!((packed.bits, packed.code_bits), (24, 10));
        let mut by_head: Vec<u32> = (0..1_000).collect();
        by_head.sort_by_key(|at| heads[*at as usize] >> u32::BITS);
        let mut by_packed = packed.heads;
        by_packed.sort_unstable();
        assert_eq!(by_packed.iter().map(|head| u32::try_from(head % 1_024).unwrap()).collect::<Vec<_>>(), by_head);
    }

    #[test]
    fn heads_that_differ_in_much_are_not_packed() {
        let bits = |count: u32, places: usize, bits: u32| {
            let byte = move |number: u32| if number.is_multiple_of(2) { '\0' } else { char::from((1_u8 << bits) - 1) };
            packed(count, move |number| byte(number).to_string().repeat(places)).map(|(_, packed)| packed.bits)
        };
        assert_eq!([bits(256, 8, 7), bits(256, 9, 6), bits(256, 14, 4)], [Some(56), Some(54), Some(48)]);
        // There is no room for one more bit, whether of a code or of a text.
        assert_eq!([bits(512, 8, 7), bits(128, 9, 7)], [None, None]);
    }
}
