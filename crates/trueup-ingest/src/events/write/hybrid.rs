//! Parquet's hybrid encoding of small numbers: a run of one number is stored once, and other numbers are packed bit by
//! bit.

/// Numbers in a packed group.
const GROUP: usize = 8;

/// Bits that are written together.
const WORD: u8 = 32;

/// Appends numbers of at most `width` bits each.
pub(super) fn encode(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    let (mut packed, mut at) = (0, 0);
    while let Some(group) = numbers[at..].first_chunk::<GROUP>() {
        let number = group[0];
        // Compare all eight without a branch, because the processor cannot predict where a run ends.
        if group.iter().fold(0, |differing, other| differing | (number ^ other)) != 0 {
            at += GROUP;
            continue;
        }
        let run = GROUP + numbers[at + GROUP..].iter().take_while(|other| **other == number).count();
        pack(&numbers[packed..at], width, out);
        repeat(number, run, width, out);
        at += run;
        packed = at;
    }
    // The last group may be short. It is filled up with zeros, which no reader looks at.
    pack(&numbers[packed..], width, out);
}

/// Appends a run of one number.
pub(super) fn repeat(number: u32, times: usize, width: u8, out: &mut Vec<u8>) {
    varint(times << 1, out);
    out.extend_from_slice(&number.to_le_bytes()[..usize::from(width.div_ceil(8))]);
}

/// Appends numbers in packed groups.
fn pack(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(GROUP);
    varint((groups << 1) | 1, out);
    let end = out.len() + groups * usize::from(width);
    out.reserve(end - out.len());
    let (mut bits, mut filled) = (0_u64, 0);
    for number in numbers {
        bits |= u64::from(*number) << filled;
        filled += width;
        if filled >= WORD {
            out.extend_from_slice(&low_word(bits).to_le_bytes());
            bits >>= WORD;
            filled -= WORD;
        }
    }
    out.extend_from_slice(&low_word(bits).to_le_bytes()[..usize::from(filled.div_ceil(8))]);
    out.resize(end, 0);
}

/// Appends a number as a variable-length integer.
fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    out.push(low_byte(number));
}

fn low_byte(bits: usize) -> u8 {
    bits.to_le_bytes()[0]
}

/// Returns the lowest [`WORD`] bits.
fn low_word(bits: u64) -> u32 {
    let [a, b, c, d, ..] = bits.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Returns the number of bits that numbers up to `largest` need.
pub(super) fn width(largest: usize) -> u8 {
    u8::try_from(usize::BITS - largest.leading_zeros()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads bit by bit, as the specification of Parquet says.
    fn decode(mut bytes: &[u8], width: u8, count: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let mut header = 0;
            for shift in (0..).step_by(7) {
                header |= usize::from(bytes[0] & 0x7F) << shift;
                let last = bytes[0] < 0x80;
                bytes = &bytes[1..];
                if last {
                    break;
                }
            }
            let bit = |at: usize| u32::from((bytes[at / 8] >> (at % 8)) & 1);
            let number = |first: usize| (0..width).map(|at| bit(first + usize::from(at)) << at).sum();
            let (values, length) = if header & 1 == 1 {
                let values: Vec<u32> = (0..(header >> 1) * 8).map(|at| number(at * usize::from(width))).collect();
                (values, (header >> 1) * usize::from(width))
            } else {
                (vec![number(0); header >> 1], usize::from(width.div_ceil(8)))
            };
            numbers.extend(values);
            bytes = &bytes[length..];
        }
        assert!(bytes.is_empty());
        numbers.truncate(count);
        numbers
    }

    proptest! {
        #[test]
        fn encoded_numbers_decode_to_the_same_numbers(
            width in 0..=32_u8,
            runs in prop::collection::vec((any::<u32>(), prop_oneof![1..4_usize, 6..40_usize]), 0..60),
        ) {
            let low = |number: u32| u32::try_from(u64::from(number) & ((1_u64 << width) - 1)).unwrap_or(0);
            let numbers: Vec<u32> =
                runs.iter().flat_map(|(number, times)| std::iter::repeat_n(low(*number), *times)).collect();
            let mut bytes = Vec::new();
            encode(&numbers, width, &mut bytes);
            prop_assert_eq!(decode(&bytes, width, numbers.len()), numbers);
        }
    }
}
