//! The first bytes of texts as numbers that compare as the texts do.

use crate::TextList;

/// Bytes of a text that are compared as a number.
const HEAD: usize = 12;

/// Bytes that are looked at for what all texts have.
const NUMBER: usize = 16;

/// The first bytes of texts from where not all texts have the same, as numbers.
pub(super) struct PrefixKeys<'t> {
    texts: &'t TextList,
    /// Where they begin.
    start: usize,
    /// The bits in which any two differ, as the highest of a number.
    differ: u128,
}

impl<'t> PrefixKeys<'t> {
    pub(super) fn new(texts: &'t TextList) -> Self {
        let (mut start, first) = (0, texts.get(0).unwrap_or_default());
        loop {
            let of = |text| number(from(text, start));
            let first = of(first);
            let differ = texts.iter().fold(0, |differ, text| differ | (of(text) ^ first));
            let bits = differ.leading_zeros() / u8::BITS * u8::BITS;
            let next = start + (bits / u8::BITS) as usize;
            // What follows is no longer all of a head where many bytes are the same.
            if next <= start + NUMBER - HEAD || texts.iter().all(|text| text.len() <= next) {
                return Self { texts, start: next, differ: differ.checked_shl(bits).unwrap_or(0) };
            }
            start = next;
        }
    }

    /// For each text, a number that compares as its head does, with its code below.
    pub(super) fn iter(&self) -> impl Iterator<Item = u128> {
        let head = |text| {
            let text = from(text, self.start);
            number(&text[..text.len().min(HEAD)])
        };
        self.texts.iter().enumerate().map(move |(code, text)| head(text) | code as u128)
    }

    /// Leaves out the bits that all heads share, as ids that were counted share most of them; `None` if what is left does not fit.
    pub(super) fn packed(&self) -> Option<PackedKeys> {
        let differ = self.differ.to_be_bytes();
        let code_bits = usize::BITS - self.texts.len().saturating_sub(1).leading_zeros();
        let mut below = code_bits;
        // For each place where bytes differ, what each byte adds to the number.
        let mut places: Vec<(usize, [u64; 256])> = Vec::new();
        for at in (0..HEAD).rev().filter(|at| differ[*at] > 0) {
            let bits = u8::BITS - differ[at].leading_zeros();
            if below + bits > u64::BITS {
                return None;
            }
            places.push((at, std::array::from_fn(|byte| (byte as u64 & ((1 << bits) - 1)) << below)));
            below += bits;
        }
        let pack = |head: u128| {
            let bytes = head.to_be_bytes();
            let adds = places.iter().map(|(at, of_bytes)| of_bytes[usize::from(bytes[*at])]);
            adds.fold(u64::from(code(head)), |number, add| number | add)
        };
        Some(PackedKeys { heads: self.iter().map(pack).collect(), bits: below - code_bits, code_bits })
    }
}

/// Numbers that compare as heads do, each of `bits` bits above a code of `code_bits`.
pub(super) struct PackedKeys {
    pub(super) heads: Vec<u64>,
    pub(super) bits: u32,
    pub(super) code_bits: u32,
}

/// Up to [`NUMBER`] bytes of a text from a place on.
fn from(text: &str, start: usize) -> &[u8] {
    let bytes = text.as_bytes().get(start..).unwrap_or_default();
    &bytes[..bytes.len().min(NUMBER)]
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
    fn packed(count: u32, text: impl Fn(u32) -> String) -> Option<(Vec<u128>, PackedKeys)> {
        let texts = (0..count).map(text).collect();
        let heads = PrefixKeys::new(&texts);
        Some((heads.iter().collect(), heads.packed()?))
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
