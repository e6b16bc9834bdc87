//! Parquet's `DELTA_BINARY_PACKED`: the first number, then bit-packed differences in blocks, each divided into
//! miniblocks.

use super::bits::{ENDS_EARLY, LANE, WIDEST, take, take_signed, take_varint, unpack};

const UNSOUND: &str = "the differences are not encoded as the format says";

/// The largest block of differences that is read, in numbers.
const MAX_BLOCK: usize = 1 << 20;

/// Returns the length of the sequence, as its header says, or `None` if the header is not valid.
pub(crate) fn delta_count(mut bytes: &[u8]) -> Option<usize> {
    let mut header = || take_varint(&mut bytes).and_then(|number| usize::try_from(number).ok());
    let (block, miniblocks, total) = (header()?, header()?, header()?);
    take_signed(&mut bytes)?;
    miniblock(block, miniblocks).map(|_| total)
}

/// Returns how many numbers each miniblock of a block has.
fn miniblock(block: usize, miniblocks: usize) -> Option<usize> {
    let numbers = block.checked_div(miniblocks).filter(|numbers| *numbers > 0 && numbers % LANE == 0)?;
    (block <= MAX_BLOCK && numbers * miniblocks == block).then_some(numbers)
}

/// Takes `count` numbers from the front of `bytes`, and appends each through `convert`.
///
/// # Errors
/// The header says another count, the bytes end early or are not in the encoding, or a number does not convert.
pub(crate) fn delta_decode<T>(
    bytes: &mut &[u8],
    count: usize,
    mut convert: impl FnMut(i64) -> Result<T, &'static str>,
    into: &mut Vec<T>,
) -> Result<(), &'static str> {
    let mut header = || take_varint(bytes).and_then(|number| usize::try_from(number).ok()).ok_or(UNSOUND);
    let (block, miniblocks, total) = (header()?, header()?, header()?);
    let mut number = take_signed(bytes).ok_or(UNSOUND)?;
    if total != count {
        return Err(UNSOUND);
    }
    if count == 0 {
        return Ok(());
    }
    let miniblock = miniblock(block, miniblocks).ok_or(UNSOUND)?;
    into.reserve(count);
    into.push(convert(number)?);
    let mut left = count - 1;
    while left > 0 {
        let least = take_signed(bytes).ok_or(ENDS_EARLY)?;
        let widths = take(bytes, miniblocks).ok_or(ENDS_EARLY)?;
        for width in widths.iter().copied() {
            if left == 0 {
                break;
            }
            if width > WIDEST {
                return Err(UNSOUND);
            }
            // The last miniblock may end with its last number instead of its full length.
            let (mut packed, rest) =
                bytes.split_at((miniblock / 8).saturating_mul(usize::from(width)).min(bytes.len()));
            *bytes = rest;
            if packed.len() < left.min(miniblock).saturating_mul(usize::from(width)) / 8 {
                return Err(ENDS_EARLY);
            }
            for _ in 0..(miniblock / LANE).min(left.div_ceil(LANE)) {
                let differences = unpack(packed, width);
                packed = packed.get(LANE / 8 * usize::from(width)..).unwrap_or_default();
                for difference in differences.into_iter().take(left) {
                    number = number.wrapping_add(least).wrapping_add(difference.cast_signed());
                    into.push(convert(number)?);
                }
                left = left.saturating_sub(LANE);
            }
        }
    }
    Ok(())
}
