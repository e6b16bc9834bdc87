//! The header of a page, and the counts that the values of a page begin with, because Parquet's reader allocates memory
//! by them.

use crate::encoding::{delta_count, delta_decode, take_counted};
use crate::thrift::{FieldValue, Thrift};
use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

/// What the header says of a page. The numbers of fields, and the numbers that name page types and encodings, are those
/// of the format's `PageHeader`.
#[derive(Clone, Debug)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// The bytes of the page in the file.
    pub(super) compressed: usize,
    /// The bytes of the decompressed page.
    pub(super) decompressed: usize,
}

/// What a page holds.
#[derive(Clone, Debug)]
pub(super) enum PageKind {
    Dictionary {
        values: u32,
        encoding: Encoding,
        is_sorted: bool,
    },
    Data {
        values: u32,
        encoding: Encoding,
        /// The encoding of the definition levels.
        definition: Encoding,
        /// The encoding of the repetition levels.
        repetition: Encoding,
    },
    DataV2(DataV2),
    /// An index, which is not read.
    Index,
}

/// A data page of version 2, whose levels are not compressed.
#[derive(Clone, Debug)]
pub(super) struct DataV2 {
    pub(super) values: u32,
    pub(super) nulls: u32,
    pub(super) rows: u32,
    pub(super) encoding: Encoding,
    /// The bytes of the definition levels.
    pub(super) definition: u32,
    /// The bytes of the repetition levels.
    pub(super) repetition: u32,
    pub(super) is_compressed: bool,
}

/// The fields of a structure that are numbers or booleans, by field number.
#[derive(Default)]
struct NumberFields([Option<i64>; 8]);

impl PageHeader {
    /// Reads a header from the front of `bytes`. Returns it with its length, or `None` if the bytes end early or are
    /// not a header.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut thrift = Thrift::new(bytes);
        let mut page = NumberFields::default();
        let [mut data, mut dictionary, mut data_v2] = [const { None }; 3];
        thrift.fields(|thrift, id, value| {
            match (id, &value) {
                (5, FieldValue::Struct) => data = Some(NumberFields::read(thrift)?),
                (7, FieldValue::Struct) => dictionary = Some(NumberFields::read(thrift)?),
                (8, FieldValue::Struct) => data_v2 = Some(NumberFields::read(thrift)?),
                _ => {
                    page.set(id, &value);
                    thrift.skip_value(&value)?;
                }
            }
            Some(())
        })?;
        let kind = match page.get(1)? {
            0 => data?.data()?,
            1 => PageKind::Index,
            2 => dictionary?.dictionary()?,
            3 => data_v2?.data_v2()?,
            _ => return None,
        };
        let size =
            |id| page.get(id).and_then(|size| i32::try_from(size).ok()).and_then(|size| usize::try_from(size).ok());
        let header = Self { kind, decompressed: size(2)?, compressed: size(3)? };
        Some((header, bytes.len() - thrift.left()))
    }
}

impl NumberFields {
    /// Reads a structure; its other fields are skipped.
    fn read(thrift: &mut Thrift<'_>) -> Option<Self> {
        let mut numbers = Self::default();
        thrift.fields(|thrift, id, value| {
            numbers.set(id, &value);
            thrift.skip_value(&value)
        })?;
        Some(numbers)
    }

    fn set(&mut self, id: i64, value: &FieldValue) {
        let number = match value {
            FieldValue::Number(number) => *number,
            FieldValue::Truth(truth) => i64::from(*truth),
            _ => return,
        };
        if let Some(place) = usize::try_from(id).ok().and_then(|id| self.0.get_mut(id)) {
            *place = Some(number);
        }
    }

    fn get(&self, id: usize) -> Option<i64> {
        self.0[id]
    }

    /// Returns a count, which has 31 bits.
    fn count(&self, id: usize) -> Option<u32> {
        i32::try_from(self.get(id)?).ok().and_then(|count| u32::try_from(count).ok())
    }

    fn encoding(&self, id: usize) -> Option<Encoding> {
        Some(match self.get(id)? {
            0 => Encoding::PLAIN,
            2 => Encoding::PLAIN_DICTIONARY,
            3 => Encoding::RLE,
            #[expect(deprecated, reason = "old files have levels in this encoding")]
            4 => Encoding::BIT_PACKED,
            5 => Encoding::DELTA_BINARY_PACKED,
            6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            7 => Encoding::DELTA_BYTE_ARRAY,
            8 => Encoding::RLE_DICTIONARY,
            9 => Encoding::BYTE_STREAM_SPLIT,
            _ => return None,
        })
    }

    fn dictionary(&self) -> Option<PageKind> {
        let is_sorted = self.get(3) == Some(1);
        Some(PageKind::Dictionary { values: self.count(1)?, encoding: self.encoding(2)?, is_sorted })
    }

    fn data(&self) -> Option<PageKind> {
        let [encoding, definition, repetition] = [self.encoding(2)?, self.encoding(3)?, self.encoding(4)?];
        Some(PageKind::Data { values: self.count(1)?, encoding, definition, repetition })
    }

    fn data_v2(&self) -> Option<PageKind> {
        Some(PageKind::DataV2(DataV2 {
            values: self.count(1)?,
            nulls: self.count(2)?,
            rows: self.count(3)?,
            encoding: self.encoding(4)?,
            definition: self.count(5)?,
            repetition: self.count(6)?,
            is_compressed: self.get(7) != Some(0),
        }))
    }
}

const LEVELS: &str = "the levels of a page are damaged";
const COUNT: &str = "a page counts more values than it has";
const MEMORY: &str = "a page counts more values than there is memory for";

/// Checks the counts of a page. `limit` is the most bytes that may be allocated.
pub(super) fn check_counts(page: &Page, column: &ColumnDescriptor, limit: usize) -> Result<(), &'static str> {
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
pub(super) fn longest_text(page: &Page, column: &ColumnDescriptor) -> Result<usize, &'static str> {
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
