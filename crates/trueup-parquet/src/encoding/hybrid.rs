//! Parquet's hybrid of runs and bit-packed numbers: a run of one number is stored once, and other numbers are packed
//! bit by bit.

use super::bits::{ENDS_EARLY, LANE, push_varint, take, take_varint, unpack};

/// The width of the widest code or level, in bits.
const MAX_WIDTH: u8 = 32;

/// Numbers in a packed group.
const GROUP: usize = 8;

/// Bits that are written together.
const WORD: u8 = 32;

pub(crate) const NOT_IN_DICTIONARY: &str = "a code is not in the dictionary";
const TOO_WIDE: &str = "the codes are wider than the layout allows";
const EMPTY_RUN: &str = "a run of the codes is empty";

/// Consecutive numbers in the encoding.
pub(crate) enum HybridRun<'a> {
    /// The same number, this many times.
    Repeated { number: usize, count: usize },
    /// Bit-packed numbers.
    Packed { bytes: &'a [u8], count: usize },
}

/// The runs of a sequence of numbers.
pub(crate) struct HybridRuns<'a> {
    bytes: &'a [u8],
    width: u8,
    /// How many numbers are left.
    left: usize,
}

impl<'a> HybridRuns<'a> {
    /// Begins with the first of `count` numbers of `width` bits.
    ///
    /// # Errors
    /// The numbers are wider than [`MAX_WIDTH`].
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], width: u8, count: usize) -> Result<Self, &'static str> {
        if width > MAX_WIDTH { Err(TOO_WIDE) } else { Ok(Self { bytes, width, left: count }) }
    }

    /// Returns the next run; `None` after the last number.
    ///
    /// # Errors
    /// The bytes end early, or begin an empty run.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<HybridRun<'a>>, &'static str> {
        if self.left == 0 {
            return Ok(None);
        }
        let header = take_varint(&mut self.bytes).ok_or(ENDS_EARLY)?;
        let length = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        // An empty run decodes nothing, and damaged bytes may have millions of them.
        if length == 0 {
            return Err(EMPTY_RUN);
        }
        let (run, count) = if header & 1 == 0 {
            let (number, count) = (take_number(&mut self.bytes, self.width), length.min(self.left));
            (HybridRun::Repeated { number: number.ok_or(ENDS_EARLY)?, count }, count)
        } else {
            // Groups of eight numbers; the last group may hold fewer.
            let packed = take(&mut self.bytes, length.saturating_mul(usize::from(self.width)));
            let count = length.saturating_mul(8).min(self.left);
            (HybridRun::Packed { bytes: packed.ok_or(ENDS_EARLY)?, count }, count)
        };
        self.left -= count;
        Ok(Some(run))
    }

    /// Skips runs that end before the number at position `wanted`, counted from the next number. Returns how many
    /// numbers they have. A run may be left that could have been skipped.
    pub(crate) fn skip_before(&mut self, wanted: usize) -> usize {
        let (packed_bytes, repeated_bytes) = (usize::from(self.width), usize::from(self.width.div_ceil(8)));
        let wanted = wanted.min(self.left);
        let (mut skipped, mut at) = (0, 0);
        // A longer header is left to `next`, and so are all faults.
        while let Some(header @ 2..0x80) = self.bytes.get(at) {
            let length = usize::from(header >> 1);
            let (count, bytes) =
                if header & 1 == 0 { (length, repeated_bytes) } else { (length * 8, length * packed_bytes) };
            if skipped + count > wanted || at + 1 + bytes > self.bytes.len() {
                break;
            }
            (skipped, at) = (skipped + count, at + 1 + bytes);
        }
        self.bytes = &self.bytes[at..];
        self.left -= skipped;
        skipped
    }
}

/// Decodes `count` numbers of `width` bits, and appends for each number the entry of `table` at that index.
///
/// # Errors
/// Those of [`HybridRuns`], or a number is not an index of the table.
pub(crate) fn decode_hybrid<T: Copy>(
    bytes: &[u8],
    width: u8,
    count: usize,
    table: &[T],
    into: &mut Vec<T>,
) -> Result<(), &'static str> {
    let mut runs = HybridRuns::new(bytes, width, count)?;
    into.reserve(count);
    while let Some(run) = runs.next()? {
        match run {
            HybridRun::Repeated { number, count } => {
                let value = *table.get(number).ok_or(NOT_IN_DICTIONARY)?;
                into.resize(into.len() + count, value);
            }
            HybridRun::Packed { bytes, count } => decode_packed(bytes, width, count, table, into)?,
        }
    }
    Ok(())
}

/// Decodes `count` numbers of one bit.
///
/// # Errors
/// Those of [`HybridRuns`], or a number is neither 0 nor 1.
pub(crate) fn decode_bits(bytes: &[u8], count: usize) -> Result<Vec<bool>, &'static str> {
    let mut runs = HybridRuns::new(bytes, 1, count)?;
    let mut bits = Vec::with_capacity(count.next_multiple_of(8));
    while let Some(run) = runs.next()? {
        match run {
            HybridRun::Repeated { number: number @ 0..=1, count } => bits.resize(bits.len() + count, number == 1),
            HybridRun::Repeated { .. } => return Err(NOT_IN_DICTIONARY),
            HybridRun::Packed { bytes, count } => {
                let end = bits.len() + count;
                bytes[..count.div_ceil(8)].iter().for_each(|byte| bits.extend_from_slice(&BITS[usize::from(*byte)]));
                bits.truncate(end);
            }
        }
    }
    Ok(bits)
}

/// For each byte, its bits, the lowest first.
static BITS: [[bool; 8]; 256] = {
    let mut bits = [[false; 8]; 256];
    let mut at = 0;
    while at < 256 * 8 {
        bits[at / 8][at % 8] = ((at / 8) >> (at % 8)) & 1 == 1;
        at += 1;
    }
    bits
};

fn decode_packed<T: Copy>(
    mut packed: &[u8],
    width: u8,
    count: usize,
    table: &[T],
    into: &mut Vec<T>,
) -> Result<(), &'static str> {
    let first = *table.first().ok_or(NOT_IN_DICTIONARY)?;
    let lane_bytes = LANE / 8 * usize::from(width);
    for from in (0..count).step_by(LANE) {
        let mut numbers = unpack(packed, width);
        packed = packed.get(lane_bytes..).unwrap_or_default();
        let length = LANE.min(count - from);
        // The last group may have any bits after the last number.
        numbers[length..].fill(0);
        // An array is filled and appended faster than one value after the other.
        let mut are_in_table = true;
        #[expect(clippy::cast_possible_truncation, reason = "no number is wider than 32 bits")]
        let values = numbers.map(|number| {
            let value = table.get(number as usize);
            are_in_table &= value.is_some();
            *value.unwrap_or(&first)
        });
        if !are_in_table {
            return Err(NOT_IN_DICTIONARY);
        }
        into.extend_from_slice(&values[..length]);
    }
    Ok(())
}

/// Takes the number that a run repeats. It is stored in as few bytes as its width needs.
#[inline]
fn take_number(bytes: &mut &[u8], width: u8) -> Option<usize> {
    let mut number = [0; 8];
    let given = take(bytes, usize::from(width.div_ceil(8)))?;
    number[..given.len()].copy_from_slice(given);
    usize::try_from(u64::from_le_bytes(number)).ok()
}

/// Appends numbers of at most `width` bits each.
pub(crate) fn encode_hybrid(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
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
        encode_run(number, run, width, out);
        at += run;
        packed = at;
    }
    // The last group may be short. It is filled up with zeros, which no reader looks at.
    pack(&numbers[packed..], width, out);
}

/// Appends a run of one number.
pub(crate) fn encode_run(number: u32, times: usize, width: u8, out: &mut Vec<u8>) {
    push_varint(times << 1, out);
    out.extend_from_slice(&number.to_le_bytes()[..usize::from(width.div_ceil(8))]);
}

/// Appends numbers in packed groups.
fn pack(numbers: &[u32], width: u8, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(GROUP);
    push_varint((groups << 1) | 1, out);
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

/// Returns the lowest [`WORD`] bits.
fn low_word(bits: u64) -> u32 {
    let [a, b, c, d, ..] = bits.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Returns the number of bits that numbers up to `largest` need.
pub(crate) fn bit_width(largest: usize) -> u8 {
    u8::try_from(usize::BITS - largest.leading_zeros()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;
