//! Parquet's `PLAIN`: one value after the other.

use super::bits::{ENDS_EARLY, take};
use parquet::basic::Type;

const OTHER_TYPE: &str = "the numbers are not stored as the layout says";
const NOT_TEXT: &str = "a text is not UTF-8";
/// The fault of a number that does not fit into 64 bits, which only amounts of money can be.
pub const OUT_OF_RANGE: &str = "an amount is out of range";

/// Decodes `count` numbers of a physical type, and appends each through `convert`. `length` is the number of bytes of a
/// number of type `FIXED_LEN_BYTE_ARRAY`.
///
/// # Errors
/// The type has no whole numbers, there are fewer numbers, a number does not fit into 64 bits, or it does not convert.
pub(crate) fn plain_numbers<T>(
    bytes: &[u8],
    physical: Type,
    length: usize,
    count: usize,
    convert: impl Fn(i64) -> Result<T, &'static str>,
    into: &mut Vec<T>,
) -> Result<(), &'static str> {
    let width = match physical {
        Type::INT32 => 4,
        Type::INT64 => 8,
        Type::FIXED_LEN_BYTE_ARRAY => length,
        _ => return Err(OTHER_TYPE),
    };
    let bytes = bytes.get(..count.saturating_mul(width)).ok_or(ENDS_EARLY)?;
    into.reserve(count);
    for bytes in bytes.chunks_exact(width.max(1)) {
        into.push(convert(if physical == Type::FIXED_LEN_BYTE_ARRAY {
            big_endian(bytes)?
        } else {
            little_endian(bytes)
        })?);
    }
    Ok(())
}

/// Appends `count` texts.
///
/// # Errors
/// There are fewer texts, or one is not UTF-8.
pub(crate) fn plain_texts<'a>(bytes: &'a [u8], count: usize, into: &mut Vec<&'a str>) -> Result<(), &'static str> {
    plain_bytes(bytes, count, text, into)
}

/// Appends `count` texts as bytes, each through `convert`.
///
/// # Errors
/// There are fewer texts, or one does not convert.
pub(crate) fn plain_bytes<'a, T>(
    mut bytes: &'a [u8],
    count: usize,
    convert: impl Fn(&'a [u8]) -> Result<T, &'static str>,
    into: &mut Vec<T>,
) -> Result<(), &'static str> {
    // The length of a text is in front of it, in four bytes.
    into.reserve(count.min(bytes.len() / 4));
    for _ in 0..count {
        into.push(convert(take_counted(&mut bytes).ok_or(ENDS_EARLY)?)?);
    }
    Ok(())
}

/// Returns bytes as a text.
///
/// # Errors
/// They are not UTF-8.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str, &'static str> {
    std::str::from_utf8(bytes).map_err(|_| NOT_TEXT)
}

/// Takes a length of four bytes, and that many bytes after it, from the front.
#[inline]
pub(crate) fn take_counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = little_endian(take(bytes, 4)?);
    take(bytes, usize::try_from(length).ok()?)
}

/// Appends the length of some bytes, and the bytes, as [`take_counted`] takes them.
pub(crate) fn push_counted(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Reads a number of up to eight bytes. One of fewer bytes is read as unsigned.
#[inline]
fn little_endian(bytes: &[u8]) -> i64 {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    i64::from_le_bytes(number)
}

/// Reads a signed decimal of any length.
#[inline]
fn big_endian(bytes: &[u8]) -> Result<i64, &'static str> {
    let (high, low) = bytes.split_at(bytes.len().saturating_sub(8));
    let is_negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let sign: u8 = if is_negative { 0xff } else { 0 };
    let mut number = [sign; 8];
    number[8 - low.len()..].copy_from_slice(low);
    let number = i64::from_be_bytes(number);
    if high.iter().all(|byte| *byte == sign) && (number < 0) == is_negative { Ok(number) } else { Err(OUT_OF_RANGE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_any_type_and_length_is_read_or_refused() {
        let bytes = [0x11; 64];
        let types = [
            Type::BOOLEAN,
            Type::INT32,
            Type::INT64,
            Type::INT96,
            Type::FLOAT,
            Type::DOUBLE,
            Type::BYTE_ARRAY,
            Type::FIXED_LEN_BYTE_ARRAY,
        ];
        for (physical, length) in types.into_iter().flat_map(|physical| (0..40).map(move |length| (physical, length))) {
            let mut read = Vec::new();
            let is_read = plain_numbers(&bytes, physical, length, 1, Ok, &mut read).is_ok();
            let has_numbers = match physical {
                Type::INT32 | Type::INT64 => true,
                // A number of nine such bytes is too large.
                Type::FIXED_LEN_BYTE_ARRAY => length <= 8,
                _ => false,
            };
            assert_eq!(is_read, has_numbers, "{physical} {length}");
        }
    }
}
