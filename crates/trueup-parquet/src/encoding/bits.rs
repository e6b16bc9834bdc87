//! Bit-packed numbers, and integers of variable length.

use std::ops::Range;

/// The fault of bytes that end before the values do.
pub(crate) const ENDS_EARLY: &str = "the encoded values end early";

/// The number of values that are unpacked together.
pub(super) const LANE: usize = 32;

/// The width of the widest number, in bits.
pub(super) const WIDEST: u8 = 64;

/// Unpacks the first [`LANE`] numbers of `bytes`. Each has `width` bits, at most [`WIDEST`]. Numbers after the end of
/// the bytes are 0.
#[inline]
pub(super) fn unpack(bytes: &[u8], width: u8) -> [u64; LANE] {
    match width {
        0 => [0; LANE],
        1 => narrow::<1>(bytes),
        2 => narrow::<2>(bytes),
        3 => narrow::<3>(bytes),
        4 => narrow::<4>(bytes),
        5 => narrow::<5>(bytes),
        6 => narrow::<6>(bytes),
        7 => narrow::<7>(bytes),
        8 => narrow::<8>(bytes),
        9 => narrow::<9>(bytes),
        10 => narrow::<10>(bytes),
        11 => narrow::<11>(bytes),
        12 => narrow::<12>(bytes),
        13 => narrow::<13>(bytes),
        14 => narrow::<14>(bytes),
        15 => narrow::<15>(bytes),
        16 => narrow::<16>(bytes),
        _ => wide(bytes, usize::from(width)),
    }
}

/// Unpacks as [`wide`] does, but for a width that the compiler knows, which is faster.
#[inline]
fn narrow<const WIDTH: usize>(bytes: &[u8]) -> [u64; LANE] {
    let mut padded = [0; LANE * 2 + 8];
    let bytes = bytes.get(..padded_length(WIDTH)).unwrap_or_else(|| pad(bytes, WIDTH, &mut padded));
    std::array::from_fn(|at| (window(bytes, at * WIDTH / 8) >> (at * WIDTH % 8)) & ((1 << WIDTH) - 1))
}

#[inline]
fn wide(bytes: &[u8], width: usize) -> [u64; LANE] {
    let mut padded = [0; LANE * 8 + 8];
    let bytes = bytes.get(..padded_length(width)).unwrap_or_else(|| pad(bytes, width, &mut padded));
    let mask = u64::MAX >> (64 - width);
    std::array::from_fn(|at| {
        let (byte, shift) = (at * width / 8, at * width % 8);
        let low = window(bytes, byte) >> shift;
        // A number that begins inside a byte may end in the ninth byte.
        let high = if shift + width > 64 { u64::from(bytes[byte + 8]) << (64 - shift) } else { 0 };
        (low | high) & mask
    })
}

/// Returns the length of a lane in bytes and eight more, so that one load reads a number wherever it begins.
const fn padded_length(width: usize) -> usize {
    LANE / 8 * width + 8
}

/// Copies the bytes of a lane to `padded`, whose remaining bytes are 0, and returns them with eight more.
#[inline]
fn pad<'a>(bytes: &[u8], width: usize, padded: &'a mut [u8]) -> &'a [u8] {
    let given = bytes.len().min(LANE / 8 * width);
    padded[..given].copy_from_slice(&bytes[..given]);
    &padded[..padded_length(width)]
}

/// Returns the eight bytes from `from` on as a number, the lowest byte first.
#[inline]
fn window(bytes: &[u8], from: usize) -> u64 {
    let mut window = [0; 8];
    window.copy_from_slice(&bytes[from..from + 8]);
    u64::from_le_bytes(window)
}

/// Returns the number of `width` bits, at most 32, that has the position `at` in bit-packed numbers. What is after the
/// end of the bytes is 0.
#[inline]
pub(crate) fn number_at(bytes: &[u8], width: u8, at: usize) -> usize {
    let (byte, shift) = (at * usize::from(width) / 8, at * usize::from(width) % 8);
    let window = if byte + 8 <= bytes.len() {
        window(bytes, byte)
    } else {
        let mut padded = [0; 8];
        let rest = bytes.get(byte..).unwrap_or_default();
        padded[..rest.len()].copy_from_slice(rest);
        u64::from_le_bytes(padded)
    };
    usize::try_from(window >> shift & ((1 << width) - 1)).unwrap_or(usize::MAX)
}

/// Returns how many of the bits of a range are 1.
pub(crate) fn ones(bytes: &[u8], bits: Range<usize>) -> usize {
    let below = |end: usize| {
        let (whole, rest) = (bytes.get(..end / 8).unwrap_or(bytes), bytes.get(end / 8).copied().unwrap_or(0));
        let (words, more) = whole.as_chunks::<8>();
        let words: u32 = words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum();
        let more: u32 = more.iter().map(|byte| byte.count_ones()).sum();
        (words + more + (rest & ((1 << (end % 8)) - 1)).count_ones()) as usize
    };
    below(bits.end) - below(bits.start)
}

/// Takes an integer of seven bits per byte (ULEB128) from the front. Returns `None` if the bytes end early or the
/// integer is too large.
#[inline]
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    // Most integers have one byte.
    if let Some((byte @ 0..0x80, rest)) = bytes.split_first() {
        *bytes = rest;
        return Some(u64::from(*byte));
    }
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        let bits = u64::from(byte & 0x7f);
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return (bits << shift >> shift == bits).then_some(number);
        }
    }
    None
}

/// Appends an integer of seven bits per byte, which [`take_varint`] takes.
pub(crate) fn push_varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Takes an integer whose lowest bit is its sign (zigzag).
#[inline]
pub(crate) fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    take_varint(bytes).map(|number| (number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// Takes `count` bytes from the front.
#[inline]
pub(super) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}
