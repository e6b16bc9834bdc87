//! Parquet's `DELTA_BINARY_PACKED`.

use super::bits::{LANE, WIDEST, take, take_signed, take_varint, unpack};
use super::hybrid::ENDS_EARLY;

const UNSOUND: &str = "the differences are not encoded as the format says";

/// The widest block of differences that is read.
const WIDEST_BLOCK: usize = 1 << 20;

/// How many numbers follow; `None` where they are not encoded as the format says.
pub(crate) fn count(mut bytes: &[u8]) -> Option<usize> {
    let mut header = || take_varint(&mut bytes).and_then(|number| usize::try_from(number).ok());
    let (block, parts, total) = (header()?, header()?, header()?);
    take_signed(&mut bytes)?;
    part(block, parts).map(|_| total)
}

/// The numbers of each of a block's parts.
fn part(block: usize, parts: usize) -> Option<usize> {
    let part = block.checked_div(parts).filter(|part| *part > 0 && part % LANE == 0 && block <= WIDEST_BLOCK)?;
    (part * parts == block).then_some(part)
}

/// Appends what `convert` makes of each number, of which there are `count`, and takes their bytes from the front.
///
/// # Errors
/// The numbers are fewer, or one does not convert.
pub(crate) fn decode<T>(
    bytes: &mut &[u8],
    count: usize,
    mut convert: impl FnMut(i64) -> Result<T, &'static str>,
    into: &mut Vec<T>,
) -> Result<(), &'static str> {
    let mut header = || take_varint(bytes).and_then(|number| usize::try_from(number).ok()).ok_or(UNSOUND);
    let (block, parts, total) = (header()?, header()?, header()?);
    let mut number = take_signed(bytes).ok_or(UNSOUND)?;
    if total != count {
        return Err(ENDS_EARLY);
    }
    if count == 0 {
        return Ok(());
    }
    let part = part(block, parts).ok_or(UNSOUND)?;
    into.reserve(count);
    into.push(convert(number)?);
    let mut left = count - 1;
    while left > 0 {
        let least = take_signed(bytes).ok_or(ENDS_EARLY)?;
        let widths = take(bytes, parts).ok_or(ENDS_EARLY)?;
        for width in widths.iter().copied() {
            if left == 0 {
                break;
            }
            if width > WIDEST {
                return Err(UNSOUND);
            }
            // The last part may be cut where its numbers end.
            let (mut packed, rest) = bytes.split_at((part / 8).saturating_mul(usize::from(width)).min(bytes.len()));
            *bytes = rest;
            if packed.len() < left.min(part).saturating_mul(usize::from(width)) / 8 {
                return Err(ENDS_EARLY);
            }
            for _ in 0..(part / LANE).min(left.div_ceil(LANE)) {
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
