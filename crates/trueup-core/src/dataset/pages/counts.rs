//! The counts that the values of a page begin with, because Parquet's reader allocates memory by them.

use crate::scan::{delta_count, delta_decode, take_counted};
use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

const LEVELS: &str = "a page has no sound levels";
const COUNT: &str = "a page counts more values than it has";
const MEMORY: &str = "a page counts more values than there is memory for";

/// Checks the counts of a page. `limit` is the most bytes that may be allocated.
pub(super) fn check(page: &Page, column: &ColumnDescriptor, limit: usize) -> Result<(), &'static str> {
    let values = usize::try_from(page.num_values()).map_err(|_| COUNT)?;
    if let Page::DictionaryPage { buf, .. } = page {
        let fitting = buf.len().checked_div(min_width(column)).unwrap_or(0);
        return if values <= fitting { Ok(()) } else { Err(COUNT) };
    }
    match page.encoding() {
        Encoding::DELTA_BINARY_PACKED => delta_header(encoded(page, column)?, values).map(drop),
        // Parquet's reader holds the length of each value.
        Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY if values.saturating_mul(8) > limit => {
            Err(MEMORY)
        }
        Encoding::DELTA_LENGTH_BYTE_ARRAY => delta_header(encoded(page, column)?, values).map(drop),
        Encoding::DELTA_BYTE_ARRAY => longest_of_delta(page, column).map(drop),
        _ => Ok(()),
    }
}

/// Returns the length of the longest value of a page of texts: a dictionary, or a page in `DELTA_BYTE_ARRAY`.
pub(super) fn longest(page: &Page, column: &ColumnDescriptor) -> Result<usize, &'static str> {
    let Page::DictionaryPage { buf, .. } = page else { return longest_of_delta(page, column) };
    let (mut bytes, mut longest) = (&**buf, 0);
    while !bytes.is_empty() {
        longest = longest.max(take_counted(&mut bytes).ok_or(COUNT)?.len());
    }
    Ok(longest)
}

/// Returns the fewest bytes of a value in a dictionary; 0 if the type has no dictionary.
fn min_width(column: &ColumnDescriptor) -> usize {
    match column.physical_type() {
        Type::BOOLEAN => 0,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or(0),
    }
}

/// Returns the values of a page, which come after its levels.
fn encoded<'a>(page: &'a Page, column: &ColumnDescriptor) -> Result<&'a [u8], &'static str> {
    match page {
        Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let mut bytes: &[u8] = buf;
            let levels = [(column.max_rep_level(), rep_level_encoding), (column.max_def_level(), def_level_encoding)];
            for (highest, encoding) in levels {
                if highest == 0 {
                    continue;
                }
                if *encoding == Encoding::RLE {
                    take_counted(&mut bytes).ok_or(LEVELS)?;
                } else {
                    let bits = u64::from(i16::BITS - highest.leading_zeros());
                    let length = (u64::from(*num_values) * bits).div_ceil(8);
                    bytes = usize::try_from(length).ok().and_then(|length| bytes.get(length..)).ok_or(LEVELS)?;
                }
            }
            Ok(bytes)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
            usize::try_from(levels).ok().and_then(|levels| buf.get(levels..)).ok_or(LEVELS)
        }
        Page::DictionaryPage { buf, .. } => Ok(buf),
    }
}

/// Returns the length of the sequence in `DELTA_BINARY_PACKED` at the front of `bytes`, at most `values`.
fn delta_header(bytes: &[u8], values: usize) -> Result<usize, &'static str> {
    // A page in which every value is null may have no bytes.
    if bytes.is_empty() {
        return Ok(0);
    }
    delta_count(bytes).filter(|count| *count <= values).ok_or(COUNT)
}

/// Returns the length of the longest value of a page in `DELTA_BYTE_ARRAY`.
fn longest_of_delta(page: &Page, column: &ColumnDescriptor) -> Result<usize, &'static str> {
    let values = usize::try_from(page.num_values()).map_err(|_| COUNT)?;
    let mut bytes = encoded(page, column)?;
    let size = bytes.len();
    let mut lengths = || {
        let count = delta_header(bytes, values)?;
        let mut lengths = Vec::new();
        if count > 0 {
            let length = |length| u32::try_from(length).map_err(|_| "a text has a negative length");
            delta_decode(&mut bytes, count, length, &mut lengths)?;
        }
        Ok::<_, &'static str>(lengths)
    };
    // Each value shares a prefix with the one before it, and adds a suffix.
    let (prefixes, suffixes) = (lengths()?, lengths()?);
    if prefixes.len() != suffixes.len() {
        return Err(COUNT);
    }
    let longest =
        prefixes.into_iter().zip(suffixes).map(|(prefix, suffix)| u64::from(prefix) + u64::from(suffix)).max();
    usize::try_from(longest.unwrap_or(0)).ok().filter(|longest| *longest <= size).ok_or(COUNT)
}
