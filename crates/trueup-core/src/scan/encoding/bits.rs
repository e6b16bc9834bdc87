//! Numbers packed bit by bit.

/// Numbers that are unpacked together.
pub(super) const LANE: usize = 32;

/// The widest number, in bits.
pub(super) const WIDEST: u8 = 64;

/// A lane's bytes at the widest, and eight more, so that a number is read in one piece wherever it begins.
const PADDED: usize = LANE * 8 + 8;

/// Unpacks the first [`LANE`] numbers of `bytes`, each of `width` bits, which are no more than [`WIDEST`]; where bytes end early the numbers
/// are 0.
pub(super) fn unpack(bytes: &[u8], width: u8) -> [u64; LANE] {
    let needed = LANE / 8 * usize::from(width);
    let mut padded = [0; PADDED];
    let given = needed.min(bytes.len());
    padded[..given].copy_from_slice(&bytes[..given]);
    match width {
        0 => [0; LANE],
        1 => narrow::<1>(&padded),
        2 => narrow::<2>(&padded),
        3 => narrow::<3>(&padded),
        4 => narrow::<4>(&padded),
        5 => narrow::<5>(&padded),
        6 => narrow::<6>(&padded),
        7 => narrow::<7>(&padded),
        8 => narrow::<8>(&padded),
        9 => narrow::<9>(&padded),
        10 => narrow::<10>(&padded),
        11 => narrow::<11>(&padded),
        12 => narrow::<12>(&padded),
        _ => wide(&padded, u32::from(width)),
    }
}

/// As [`wide`], for a width that is known to the compiler.
fn narrow<const WIDTH: usize>(padded: &[u8; PADDED]) -> [u64; LANE] {
    std::array::from_fn(|at| (window(padded, at * WIDTH / 8) >> (at * WIDTH % 8)) & ((1 << WIDTH) - 1))
}

fn wide(padded: &[u8; PADDED], width: u32) -> [u64; LANE] {
    let mask = u64::MAX >> (64 - width);
    std::array::from_fn(|at| {
        let (byte, shift) = (at * width as usize / 8, at * width as usize % 8);
        let low = window(padded, byte) >> shift;
        // A number that begins inside a byte may end in the ninth.
        let high = if shift > 0 { u64::from(padded[byte + 8]) << (64 - shift) } else { 0 };
        (low | high) & mask
    })
}

fn window(padded: &[u8; PADDED], from: usize) -> u64 {
    let mut window = [0; 8];
    window.copy_from_slice(&padded[from..from + 8]);
    u64::from_le_bytes(window)
}

/// Takes a number of seven bits a byte from the front of `bytes`; `None` where they end early or it is too large.
pub(super) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
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

/// Takes a number whose sign is its lowest bit.
pub(super) fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    take_varint(bytes).map(|number| (number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// Takes so many bytes from the front.
pub(super) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}
