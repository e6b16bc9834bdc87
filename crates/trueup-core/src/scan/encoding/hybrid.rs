//! Parquet's hybrid of runs and bit-packed numbers.

use super::bits::{ENDS_EARLY, LANE, take, take_varint, unpack};

/// The width of the widest number, in bits.
const MAX_WIDTH: u8 = 32;

pub(in crate::scan) const NOT_IN_DICTIONARY: &str = "a code is not in the dictionary";
const TOO_WIDE: &str = "the codes are wider than the layout allows";

/// Decodes `count` numbers of `width` bits, and appends for each number the entry of `table` at that index.
///
/// # Errors
/// The numbers are wider than [`MAX_WIDTH`], the bytes end early or begin an empty run, or a number is not an index of
/// the table.
pub(in crate::scan) fn decode_hybrid<T: Copy>(
    mut bytes: &[u8],
    width: u8,
    count: usize,
    table: &[T],
    into: &mut Vec<T>,
) -> Result<(), &'static str> {
    if width > MAX_WIDTH {
        return Err(TOO_WIDE);
    }
    into.reserve(count);
    let mut left = count;
    while left > 0 {
        let header = take_varint(&mut bytes).ok_or(ENDS_EARLY)?;
        let length = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        if header & 1 == 0 {
            let number = take_number(&mut bytes, width).ok_or(ENDS_EARLY)?;
            let value = *table.get(number).ok_or(NOT_IN_DICTIONARY)?;
            let run = length.min(left);
            into.resize(into.len() + run, value);
            left -= run;
        } else {
            // Groups of eight numbers; the last group may hold fewer.
            let packed = take(&mut bytes, length.saturating_mul(usize::from(width))).ok_or(ENDS_EARLY)?;
            let numbers = length.saturating_mul(8).min(left);
            decode_packed(packed, width, numbers, table, into)?;
            left -= numbers;
        }
        // An empty run decodes nothing, and damaged bytes may have millions of them.
        if length == 0 {
            return Err(ENDS_EARLY);
        }
    }
    Ok(())
}

/// Returns the number that a single run repeats at least `count` times, if the bytes begin with such a run.
pub(in crate::scan) fn repeated(mut bytes: &[u8], width: u8, count: usize) -> Option<usize> {
    let header = take_varint(&mut bytes)?;
    let covers = usize::try_from(header >> 1).is_ok_and(|length| length >= count);
    if header & 1 == 0 && covers { take_number(&mut bytes, width) } else { None }
}

fn decode_packed<T: Copy>(
    packed: &[u8],
    width: u8,
    count: usize,
    table: &[T],
    into: &mut Vec<T>,
) -> Result<(), &'static str> {
    let lane_bytes = LANE / 8 * usize::from(width);
    let mut rest = packed;
    for from in (0..count).step_by(LANE) {
        let numbers = unpack(rest, width);
        rest = rest.get(lane_bytes..).unwrap_or_default();
        let numbers = &numbers[..LANE.min(count - from)];
        for number in numbers {
            #[expect(clippy::cast_possible_truncation, reason = "no number is wider than 32 bits")]
            into.push(*table.get(*number as usize).ok_or(NOT_IN_DICTIONARY)?);
        }
    }
    Ok(())
}

/// Takes the number that a run repeats. It is stored in as few bytes as its width needs.
fn take_number(bytes: &mut &[u8], width: u8) -> Option<usize> {
    let mut number = [0; 8];
    let given = take(bytes, usize::from(width.div_ceil(8)))?;
    number[..given.len()].copy_from_slice(given);
    usize::try_from(u64::from_le_bytes(number)).ok()
}
