//! Parquet's hybrid of runs and packed numbers.

/// Values in a packed group.
const GROUP: usize = 8;

/// Appends numbers of at most `width` bits each.
pub(super) fn encode(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    let (mut packed, mut at) = (0, 0);
    while at < numbers.len() {
        let number = numbers[at];
        let run = numbers[at..].iter().take_while(|other| **other == number).count();
        if run >= GROUP {
            pack(&numbers[packed..at], width, out);
            repeat(number, run, width, out);
            at += run;
            packed = at;
        } else {
            // The last group may be short; what is missing is filled with zeros that nobody reads.
            at = (at + GROUP).min(numbers.len());
        }
    }
    pack(&numbers[packed..], width, out);
}

/// Appends one number so many times.
pub(super) fn repeat(number: u32, times: usize, width: u8, out: &mut Vec<u8>) {
    varint(times << 1, out);
    out.extend_from_slice(&number.to_le_bytes()[..usize::from(width.div_ceil(8))]);
}

fn pack(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(GROUP);
    varint((groups << 1) | 1, out);
    out.reserve(groups * usize::from(width));
    for group in numbers.chunks(GROUP) {
        let (mut bits, mut filled) = (0_u64, 0);
        for at in 0..GROUP {
            bits |= u64::from(group.get(at).copied().unwrap_or(0)) << filled;
            filled += width;
            while filled >= 8 {
                out.push(low_byte(bits));
                bits >>= 8;
                filled -= 8;
            }
        }
    }
}

fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(low_byte(number as u64) | 0x80);
        number >>= 7;
    }
    out.push(low_byte(number as u64));
}

fn low_byte(bits: u64) -> u8 {
    bits.to_le_bytes()[0]
}

/// The bits that numbers up to this one need.
pub(super) fn width(largest: usize) -> u8 {
    u8::try_from(usize::BITS - largest.leading_zeros()).unwrap_or(u8::MAX)
}
