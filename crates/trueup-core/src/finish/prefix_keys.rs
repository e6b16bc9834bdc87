//! A fast path of sorting: the first bytes of texts as numbers, because two numbers are compared faster than two texts.
//! Numbers that differ compare as their texts do.

use crate::StringList;

/// The number of bytes of a text in its key.
const KEY_BYTES: usize = 12;

/// The number of bytes that are searched together for a common prefix.
const SEARCHED_BYTES: usize = 16;

/// For each text of a list, a key that consists of its first bytes after the prefix that all texts share.
pub(super) struct PrefixKeys<'t> {
    texts: &'t StringList,
    /// The length of the shared prefix.
    start: usize,
    /// The bits that are not the same in all keys. The first byte of a key is the highest byte.
    differing: u128,
}

impl<'t> PrefixKeys<'t> {
    pub(super) fn new(texts: &'t StringList) -> Self {
        let (mut start, first) = (0, texts.get(0).unwrap_or_default());
        loop {
            let searched = |text| number(bytes_from(text, start));
            let first = searched(first);
            let differing = texts.iter().fold(0, |differing, text| differing | (searched(text) ^ first));
            let shared_bits = differing.leading_zeros() / u8::BITS * u8::BITS;
            let next = start + (shared_bits / u8::BITS) as usize;
            // If many bytes are shared, the rest is less than a key, and the search goes on.
            if next <= start + SEARCHED_BYTES - KEY_BYTES || texts.iter().all(|text| text.len() <= next) {
                return Self { texts, start: next, differing: differing.checked_shl(shared_bits).unwrap_or(0) };
            }
            start = next;
        }
    }

    /// Returns for each text its key, as the highest bits of a number whose lowest bits are the text's code.
    pub(super) fn iter(&self) -> impl Iterator<Item = u128> {
        let key = |text| {
            let text = bytes_from(text, self.start);
            number(&text[..text.len().min(KEY_BYTES)])
        };
        self.texts.iter().enumerate().map(move |(code, text)| key(text) | code as u128)
    }

    /// Removes bits that all keys share: for consecutive ids, most of the bits. Returns `None` if the rest does not fit
    /// into 64 bits with the codes.
    pub(super) fn packed(&self) -> Option<PackedKeys> {
        let differing = self.differing.to_be_bytes();
        let code_bits = usize::BITS - self.texts.len().saturating_sub(1).leading_zeros();
        let mut below = code_bits;
        // For each byte in which keys differ: what each of its values contributes to the number.
        let mut bytes: Vec<(usize, [u64; 256])> = Vec::new();
        for at in (0..KEY_BYTES).rev().filter(|at| differing[*at] > 0) {
            let bits = u8::BITS - differing[at].leading_zeros();
            if below + bits > u64::BITS {
                return None;
            }
            bytes.push((at, std::array::from_fn(|byte| (byte as u64 & ((1 << bits) - 1)) << below)));
            below += bits;
        }
        let pack = |key: u128| {
            let key_bytes = key.to_be_bytes();
            let contributions = bytes.iter().map(|(at, by_value)| by_value[usize::from(key_bytes[*at])]);
            contributions.fold(u64::from(code(key)), |number, contribution| number | contribution)
        };
        Some(PackedKeys { keys: self.iter().map(pack).collect(), bits: below - code_bits, code_bits })
    }
}

/// Keys of `bits` bits, each above a code of `code_bits` bits.
pub(super) struct PackedKeys {
    pub(super) keys: Vec<u64>,
    pub(super) bits: u32,
    pub(super) code_bits: u32,
}

/// Returns at most [`SEARCHED_BYTES`] bytes of a text.
fn bytes_from(text: &str, start: usize) -> &[u8] {
    let bytes = text.as_bytes().get(start..).unwrap_or_default();
    &bytes[..bytes.len().min(SEARCHED_BYTES)]
}

/// Returns at most sixteen bytes as the highest bytes of a number. Two overlapping reads take less time than one read
/// of a copy, which would wait for the copy.
fn number(bytes: &[u8]) -> u128 {
    // The number of bits that both reads contain. The second read is shifted so that they drop out.
    let overlap = |width: usize| u32::try_from((2 * width - bytes.len()) * 8).unwrap_or(u32::MAX);
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from_be_bytes(*last).checked_shl(overlap(8)).unwrap_or(0);
        u128::from(u64::from_be_bytes(*first)) << 64 | u128::from(last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u32::from_be_bytes(*last).checked_shl(overlap(4)).unwrap_or(0);
        u128::from(u32::from_be_bytes(*first)) << 96 | u128::from(last) << 64
    } else {
        (1..).zip(bytes).fold(0, |number, (place, byte)| number | u128::from(*byte) << (u128::BITS - 8 * place))
    }
}

/// Returns the code in the lowest bits of a key.
#[expect(clippy::cast_possible_truncation, reason = "the bytes of the text are cut off")]
pub(super) const fn code(key: u128) -> u32 {
    key as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_highest_bytes_of_a_number() {
        let bytes: Vec<u8> = (1..=16).collect();
        for length in 0..=bytes.len() {
            let mut padded = [0; 16];
            padded[..length].copy_from_slice(&bytes[..length]);
            assert_eq!(number(&bytes[..length]), u128::from_be_bytes(padded), "{length}");
        }
    }

    /// Returns the keys of `count` texts that `text` makes, and the packed keys, if they fit.
    fn packed(count: u32, text: impl Fn(u32) -> String) -> Option<(Vec<u128>, PackedKeys)> {
        let texts = (0..count).map(text).collect();
        let keys = PrefixKeys::new(&texts);
        Some((keys.iter().collect(), keys.packed()?))
    }

    #[test]
    fn bits_that_all_keys_share_are_removed() {
        // Ids of six digits after a shared prefix: four bits of each digit differ.
        let (keys, packed) = packed(1_000, |number| format!("opp_2604-{:06}", number * 999)).unwrap();
        assert_eq!((packed.bits, packed.code_bits), (24, 10));
        let mut by_key: Vec<u32> = (0..1_000).collect();
        by_key.sort_by_key(|at| keys[*at as usize] >> u32::BITS);
        let mut by_packed = packed.keys;
        by_packed.sort_unstable();
        assert_eq!(by_packed.iter().map(|key| u32::try_from(key % 1_024).unwrap()).collect::<Vec<_>>(), by_key);
    }

    #[test]
    fn keys_with_many_differing_bits_are_not_packed() {
        let bits = |count: u32, places: usize, bits: u32| {
            let byte = move |number: u32| if number.is_multiple_of(2) { '\0' } else { char::from((1_u8 << bits) - 1) };
            packed(count, move |number| byte(number).to_string().repeat(places)).map(|(_, packed)| packed.bits)
        };
        assert_eq!([bits(256, 8, 7), bits(256, 9, 6), bits(256, 14, 4)], [Some(56), Some(54), Some(48)]);
        // One more bit does not fit, whether of a code or of a text.
        assert_eq!([bits(512, 8, 7), bits(128, 9, 7)], [None, None]);
    }
}
