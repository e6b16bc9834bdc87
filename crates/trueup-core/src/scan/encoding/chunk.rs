//! The pages of column chunks as the source of a row group's columns.

use super::super::source::{ColumnSource, Kind, MISSING, NO_TEXTS};
use super::super::values::{RowSpan, RowValues, Validity, ValueIndexes};
use super::super::{ColumnFault, StoredColumn};
use super::plain::take_counted;
use super::{delta, hybrid, plain};
use arrow_schema::DataType;
use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

/// A column chunk: its pages, unpacked, in their order.
#[derive(Debug)]
pub(crate) struct ColumnChunk<'a> {
    pub(crate) column: &'a ColumnDescriptor,
    pub(crate) data_type: &'a DataType,
    pub(crate) pages: Vec<Page>,
}

/// Column chunks of a row group.
#[derive(Debug)]
pub(crate) struct StoredRows<'a>(pub(crate) Vec<ColumnChunk<'a>>);

const OTHER_ENCODING: &str = "a page is not encoded as the layout says";

/// A page of data: which rows have a value, and the encoded values.
struct DataPage<'a> {
    filled: Validity,
    encoding: Encoding,
    values: &'a [u8],
}

impl ColumnSource for StoredRows<'_> {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|chunk| chunk.column.name() == name)
    }

    fn numbers<T>(
        &self,
        name: &str,
        kind: Kind,
        convert: impl Fn(i64) -> Result<T, &'static str>,
    ) -> Result<StoredColumn<'_, T>, ColumnFault> {
        let chunk = self.chunk(name)?;
        let numbers = kind.check(chunk.data_type).and_then(|()| chunk.numbers(convert));
        numbers.map_err(|fault| ColumnFault::new(name, fault))
    }

    fn texts(&self, name: &str) -> Result<StoredColumn<'_, &str>, ColumnFault> {
        let chunk = self.chunk(name)?;
        let is_text = chunk.data_type == &DataType::Utf8 && chunk.column.physical_type() == Type::BYTE_ARRAY;
        let texts = if is_text { chunk.texts() } else { Err(NO_TEXTS) };
        texts.map_err(|fault| ColumnFault::new(name, fault))
    }
}

impl<'a> StoredRows<'a> {
    fn chunk(&self, name: &str) -> Result<&ColumnChunk<'a>, ColumnFault> {
        self.0.iter().find(|chunk| chunk.column.name() == name).ok_or_else(|| ColumnFault::new(name, MISSING))
    }
}

impl ColumnChunk<'_> {
    fn numbers<T>(
        &self,
        convert: impl Fn(i64) -> Result<T, &'static str>,
    ) -> Result<StoredColumn<'_, T>, &'static str> {
        let physical = self.column.physical_type();
        // Numbers of 32 bits wrap around there, whatever width they are decoded with.
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the number")]
        let convert = |number: i64| convert(if physical == Type::INT32 { i64::from(number as i32) } else { number });
        // Only numbers of fixed length tell theirs.
        let length = usize::try_from(self.column.type_length()).unwrap_or(0);
        self.values(|page, count, into| match page {
            (Encoding::PLAIN, bytes) => plain::numbers(bytes, physical, length, count, convert, into),
            (Encoding::DELTA_BINARY_PACKED, bytes) if matches!(physical, Type::INT32 | Type::INT64) => {
                delta::decode(&mut { bytes }, count, convert, into)
            }
            _ => Err(OTHER_ENCODING),
        })
    }

    fn texts(&self) -> Result<StoredColumn<'_, &str>, &'static str> {
        self.values(|page, count, into| match page {
            (Encoding::PLAIN, bytes) => plain::texts(bytes, count, into),
            _ => Err(OTHER_ENCODING),
        })
    }

    /// The values of all pages, those of the dictionary first. `decode` appends the values of a page that has no codes.
    fn values<'p, V>(
        &'p self,
        decode: impl Fn((Encoding, &'p [u8]), usize, &mut Vec<V>) -> Result<(), &'static str>,
    ) -> Result<StoredColumn<'p, V>, &'static str> {
        let mut values = Vec::new();
        let mut rows = RowValues::default();
        for page in &self.pages {
            if let Page::DictionaryPage { buf, num_values, .. } = page {
                decode((Encoding::PLAIN, buf), count(*num_values), &mut values)?;
                continue;
            }
            let DataPage { filled, encoding, values: bytes } = DataPage::of(page, self.column.max_def_level())?;
            let places = match encoding {
                Encoding::RLE_DICTIONARY => match bytes.split_first() {
                    Some((width, bytes)) => ValueIndexes::Encoded { bytes, width: *width },
                    // A page without values may lack the width of their codes.
                    None => ValueIndexes::Encoded { bytes, width: 0 },
                },
                encoding => {
                    let first = values.len();
                    decode((encoding, bytes), filled.values(), &mut values)?;
                    ValueIndexes::InTurn(first)
                }
            };
            rows.push(RowSpan { filled, places });
        }
        Ok(StoredColumn { values, rows })
    }
}

impl<'a> DataPage<'a> {
    /// Columns are flat: the highest level is 0 where a value cannot be missing, else 1.
    fn of(page: &'a Page, highest_level: i16) -> Result<Self, &'static str> {
        let Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } = page else {
            return Err(OTHER_ENCODING);
        };
        let mut values: &[u8] = buf;
        let rows = count(*num_values);
        let filled = match highest_level {
            0 => Validity::All(rows),
            1 if *def_level_encoding == Encoding::RLE => {
                Validity::decode(take_counted(&mut values).ok_or(hybrid::ENDS_EARLY)?, rows)?
            }
            _ => return Err(OTHER_ENCODING),
        };
        Ok(Self { filled, encoding: *encoding, values })
    }
}

impl Validity {
    fn decode(levels: &[u8], rows: usize) -> Result<Self, &'static str> {
        if hybrid::repeated(levels, 1, rows) == Some(1) {
            return Ok(Self::All(rows));
        }
        let mut filled = Vec::new();
        hybrid::decode(levels, 1, rows, &[false, true], &mut filled)?;
        Ok(if filled.contains(&false) { Self::Some(filled) } else { Self::All(rows) })
    }
}

fn count(values: u32) -> usize {
    usize::try_from(values).unwrap_or(usize::MAX)
}
