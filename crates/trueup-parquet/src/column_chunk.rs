//! The pages of a stored column.

use crate::encoding::{ENDS_EARLY, decode_bits, delta_decode, plain_numbers, plain_texts, take_counted};
use crate::file_slice::FileSlice;
use crate::footer::catch_panics;
use crate::pages::{Pages, has_any};
use crate::stored_column::{RowSpan, StoredColumn, Validity, ValueIndexes, ValueOfRow};
use arrow_schema::DataType;
use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::ColumnDescriptor;
use std::ops::Range;

/// A column of a row group: its pages, decompressed, in their order.
#[derive(Debug)]
pub struct ColumnChunk<'a> {
    pub(crate) column: &'a ColumnDescriptor,
    pub(crate) data_type: &'a DataType,
    pub(crate) pages: Vec<Page>,
}

pub(crate) const OTHER_ENCODING: &str = "a page is not encoded as the layout says";

/// A data page, whose levels say which rows have a value.
pub(crate) struct DataPage<'a> {
    /// `None` if each row has a value.
    pub(crate) levels: Option<&'a [u8]>,
    pub(crate) rows: usize,
    pub(crate) encoding: Encoding,
    /// The encoded values.
    pub(crate) values: &'a [u8],
}

impl<'a> ColumnChunk<'a> {
    /// Decompresses the pages of a column chunk, which must be inside the file and have `rows` rows. If only some rows
    /// are wanted, data pages of version 1 without any are left empty.
    ///
    /// # Errors
    /// A page is damaged, or the pages have another number of rows.
    pub fn read(
        slice: &FileSlice,
        chunk: &'a ColumnChunkMetaData,
        data_type: &'a DataType,
        rows: u64,
        wanted: Option<&[Range<usize>]>,
    ) -> Result<Self, ParquetError> {
        // All pages are held at the same time, and the footer says how large they are.
        let limit = usize::try_from(chunk.uncompressed_size()).unwrap_or(0);
        catch_panics(|| {
            let pages = Pages::new(slice.clone(), chunk, limit);
            let pages = match wanted {
                None => pages.collect::<Result<Vec<_>, _>>()?,
                Some(rows) => pages.with_rows(rows)?,
            };
            let data = pages.iter().filter(|page| page.is_data_page());
            let found: u64 = data.map(|page| u64::from(page.num_values())).sum();
            if found != rows {
                let column = chunk.column_descr().name();
                let message = format!("{found} rows in column `{column}`, but the footer says {rows}");
                return Err(ParquetError::General(message));
            }
            Ok(Self { column: chunk.column_descr(), data_type, pages })
        })
    }
}

impl ColumnChunk<'_> {
    /// Returns the name of the column.
    #[must_use]
    pub fn name(&self) -> &str {
        self.column.name()
    }

    /// Returns the type of the column.
    #[must_use]
    pub const fn data_type(&self) -> &DataType {
        self.data_type
    }

    /// Returns whether the column holds texts.
    #[must_use]
    pub fn has_texts(&self) -> bool {
        self.data_type == &DataType::Utf8 && self.column.physical_type() == Type::BYTE_ARRAY
    }

    /// Decodes numbers, each through `convert`.
    ///
    /// # Errors
    /// The column has no numbers, or does not decode, or a number does not convert.
    pub fn numbers<T>(
        &self,
        convert: impl Fn(i64) -> Result<T, &'static str>,
    ) -> Result<StoredColumn<'_, T>, &'static str> {
        self.decode(None, |encoding, bytes, count, into| self.decode_numbers(encoding, bytes, count, &convert, into))
    }

    /// Decodes `count` numbers, and appends each through `convert`.
    pub(crate) fn decode_numbers<T>(
        &self,
        encoding: Encoding,
        bytes: &[u8],
        count: usize,
        convert: impl Fn(i64) -> Result<T, &'static str>,
        into: &mut Vec<T>,
    ) -> Result<(), &'static str> {
        let physical = self.column.physical_type();
        // Numbers of 32 bits wrap around at 32 bits, whatever width they are decoded with.
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the number")]
        let convert = |number: i64| convert(if physical == Type::INT32 { i64::from(number as i32) } else { number });
        // Only a type of fixed length has one.
        let length = usize::try_from(self.column.type_length()).unwrap_or(0);
        match encoding {
            Encoding::PLAIN => plain_numbers(bytes, physical, length, count, convert, into),
            Encoding::DELTA_BINARY_PACKED if matches!(physical, Type::INT32 | Type::INT64) => {
                delta_decode(&mut { bytes }, count, convert, into)
            }
            _ => Err(OTHER_ENCODING),
        }
    }

    /// Decodes texts.
    ///
    /// # Errors
    /// The column does not decode.
    pub fn texts(&self) -> Result<StoredColumn<'_, &str>, &'static str> {
        self.decode(None, |encoding, bytes, count, into| match encoding {
            Encoding::PLAIN => plain_texts(bytes, count, into),
            _ => Err(OTHER_ENCODING),
        })
    }

    /// Decodes the values of all pages; the values of the dictionary come first. `decode` appends the values of a page
    /// that holds no dictionary codes: of the dictionary itself, or of a data page. If some rows are wanted, data pages
    /// without any of them are skipped: their rows have no values.
    pub(crate) fn decode<'p, V>(
        &'p self,
        wanted: Option<&[Range<usize>]>,
        decode: impl Fn(Encoding, &'p [u8], usize, &mut Vec<V>) -> Result<(), &'static str>,
    ) -> Result<StoredColumn<'p, V>, &'static str> {
        // Room for the values of all pages at once. Otherwise, a page would often move those of the pages before it.
        let mut values = Vec::with_capacity(if wanted.is_none() { self.rows_without_codes() } else { 0 });
        let mut rows = ValueOfRow::default();
        let mut first = 0;
        for page in &self.pages {
            if let Page::DictionaryPage { buf, num_values, .. } = page {
                decode(Encoding::PLAIN, buf, count(*num_values), &mut values)?;
                continue;
            }
            let of_page = first..first + count(page.num_values());
            first = of_page.end;
            if wanted.is_some_and(|rows| !has_any(rows, &of_page)) {
                let validity = Validity::Some(vec![false; of_page.len()]);
                rows.push(RowSpan { validity, indexes: ValueIndexes::From(0) });
                continue;
            }
            let data = DataPage::new(page, self.column.max_def_level())?;
            let validity = data.validity()?;
            let indexes = match data.codes() {
                Some((width, bytes)) => ValueIndexes::Encoded { bytes, width },
                None => {
                    let first = values.len();
                    decode(data.encoding, data.values, validity.values(), &mut values)?;
                    ValueIndexes::From(first)
                }
            };
            rows.push(RowSpan { validity, indexes });
        }
        Ok(StoredColumn { values, rows })
    }

    /// Returns the number of rows of the pages whose values are no dictionary codes.
    fn rows_without_codes(&self) -> usize {
        let rows = |page: &Page| match page {
            Page::DataPage { num_values, encoding, .. } if *encoding != Encoding::RLE_DICTIONARY => count(*num_values),
            _ => 0,
        };
        self.pages.iter().map(rows).sum()
    }
}

impl<'a> DataPage<'a> {
    /// Splits a page of a flat column, whose highest definition level is 0 if each row has a value, else 1.
    pub(crate) fn new(page: &'a Page, highest_level: i16) -> Result<Self, &'static str> {
        let Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } = page else {
            return Err(OTHER_ENCODING);
        };
        let mut values: &[u8] = buf;
        let levels = match highest_level {
            0 => None,
            1 if *def_level_encoding == Encoding::RLE => Some(take_counted(&mut values).ok_or(ENDS_EARLY)?),
            _ => return Err(OTHER_ENCODING),
        };
        Ok(Self { levels, rows: count(*num_values), encoding: *encoding, values })
    }

    /// Decodes which rows have a value.
    fn validity(&self) -> Result<Validity, &'static str> {
        // A level is 1 for a row that has a value, else 0.
        let decoded = self.levels.map(|levels| decode_bits(levels, self.rows)).transpose()?;
        Ok(decoded.map_or(Validity::All(self.rows), Validity::new))
    }

    /// Returns the width of the values, and their bytes, if they are codes: indexes into the dictionary.
    pub(crate) fn codes(&self) -> Option<(u8, &'a [u8])> {
        // A page without values may lack the width of its codes.
        let codes = || self.values.split_first().map_or((0, self.values), |(width, bytes)| (*width, bytes));
        (self.encoding == Encoding::RLE_DICTIONARY).then(codes)
    }
}

pub(crate) fn count(values: u32) -> usize {
    usize::try_from(values).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
