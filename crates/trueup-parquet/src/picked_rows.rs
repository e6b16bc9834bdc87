//! Some rows of a stored column: for an ingest, which reads the rows among which it finds what it touches, and then
//! what it touches, as an Arrow array. Decoding all rows of all columns takes several times as long.

use crate::column_chunk::{ColumnChunk, DataPage, OTHER_ENCODING, count};
use crate::encoding::{HybridRun, HybridRuns, NOT_IN_DICTIONARY, delta_count, number_at, ones, plain_bytes, text};
use crate::pages::has_any;
use crate::stored_column::StoredColumn;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, PrimitiveArray, StringArray};
use arrow_schema::{DataType, TimeUnit};
use parquet::basic::Encoding;
use parquet::column::page::Page;
use std::ops::Range;
use std::sync::Arc;

/// Represents null among indexes of values.
const NONE: usize = usize::MAX;

const MISSING_ROWS: &str = "the column has fewer rows than the layout says";

/// The values of a dictionary, those of rows that have no code, and which of them each picked row has: an index, or
/// [`NONE`].
struct PickedValues<V> {
    values: Vec<V>,
    of_rows: Vec<usize>,
}

/// The texts of a column, as bytes that were not checked to be UTF-8, and for each row the index of its text. A text
/// may be there more than once.
#[derive(Debug)]
pub struct TextRows<'a> {
    texts: Vec<&'a [u8]>,
    indexes: Vec<u32>,
}

impl<'a> TextRows<'a> {
    /// Returns the text of a row; `None` if it has none.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        self.texts.get(self.indexes[row] as usize).copied()
    }

    /// Returns the texts that rows may have. A text may be there more than once.
    pub fn texts(&self) -> impl Iterator<Item = &'a [u8]> {
        self.texts.iter().copied()
    }

    /// Returns which rows have a text that is wanted.
    #[must_use]
    pub fn rows_with(&self, is_wanted: impl FnMut(&'a [u8]) -> bool) -> RowsWith<'_> {
        RowsWith { is_wanted: self.texts().map(is_wanted).collect(), indexes: &self.indexes }
    }

    /// Returns whether two rows have the same text.
    #[must_use]
    pub fn is_same(&self, one: usize, other: usize) -> bool {
        self.indexes[one] == self.indexes[other] || self.get(one) == self.get(other)
    }
}

/// Which rows have one of some texts.
#[derive(Debug)]
pub struct RowsWith<'a> {
    /// For each text, whether it is one of them.
    is_wanted: Vec<bool>,
    indexes: &'a [u32],
}

impl RowsWith<'_> {
    /// Returns the first of consecutive rows that has one of the texts.
    #[must_use]
    pub fn first(&self, mut among: Range<usize>) -> Option<usize> {
        among.find(|row| self.is_wanted.get(self.indexes[*row] as usize).is_some_and(|is_wanted| *is_wanted))
    }
}

impl ColumnChunk<'_> {
    /// Returns the texts of some rows. Other rows may have no text, and pages without such rows may be empty.
    ///
    /// # Errors
    /// The column has no texts, or does not decode.
    pub fn text_rows(&self, rows: &[Range<usize>]) -> Result<TextRows<'_>, &'static str> {
        if !self.has_texts() {
            return Err(OTHER_ENCODING);
        }
        let StoredColumn { values: texts, rows } = self.decode(Some(rows), decode_texts)?;
        let indexes = rows.expand((0..u32::MAX).take(texts.len()).collect(), u32::MAX)?;
        Ok(TextRows { texts, indexes })
    }

    /// Returns the least and the greatest number of some rows, in a column of 32 bits in which each row has a number.
    /// The ranges of rows ascend. No row has a number outside of `bounds`: once these are found, no further page is
    /// decoded.
    ///
    /// # Errors
    /// The column is another one, or does not decode.
    pub fn extremes(
        &self,
        rows: &[Range<usize>],
        bounds: Option<(i32, i32)>,
    ) -> Result<Option<(i32, i32)>, &'static str> {
        let (data, dictionary): (Vec<&Page>, Vec<&Page>) = self.pages.iter().partition(|page| page.is_data_page());
        let mut pages = Vec::with_capacity(data.len());
        let mut first = 0;
        for page in data {
            let of_page = first..first + count(page.num_values());
            first = of_page.end;
            if has_any(rows, &of_page) {
                pages.push((of_page, page));
            }
        }
        if rows.last().is_some_and(|rows| rows.end > first) {
            return Err(MISSING_ROWS);
        }
        // From both ends alternately: the first and the last page mostly have the first and the last day, because
        // the customers of an account are in the order of their first days.
        let mut extremes = None;
        while let Some((of_page, page)) = pages.pop() {
            let pages_with_dictionary = dictionary.iter().copied().chain([page]).cloned().collect();
            let numbers = ColumnChunk { pages: pages_with_dictionary, ..*self }.number_rows()?;
            let before = rows.partition_point(|rows| rows.end <= of_page.start);
            for rows in rows[before..].iter().take_while(|rows| rows.start < of_page.end) {
                let (start, end) = (rows.start.max(of_page.start), rows.end.min(of_page.end));
                let numbers = numbers.get(start - of_page.start..end - of_page.start).ok_or(MISSING_ROWS)?;
                for number in numbers {
                    let (least, greatest) = extremes.unwrap_or((*number, *number));
                    extremes = Some((least.min(*number), greatest.max(*number)));
                }
            }
            if extremes == bounds {
                break;
            }
            pages.reverse();
        }
        Ok(extremes)
    }

    /// Returns the numbers of all rows, in a column of 32 bits in which each row has one.
    fn number_rows(&self) -> Result<Vec<i32>, &'static str> {
        let StoredColumn { values, rows } = self.numbers(|number| i32::try_from(number).map_err(|_| OTHER_ENCODING))?;
        if rows.have_gaps() { Err(OTHER_ENCODING) } else { rows.expand(values, 0) }
    }

    /// Returns some rows, given by their numbers in ascending order: texts as an Arrow dictionary of the texts that
    /// these rows have, all others in the type of the column. Pages without such rows may be empty.
    ///
    /// # Errors
    /// The rows do not decode, or there are fewer.
    pub fn pick(&self, rows: &[usize]) -> Result<ArrayRef, &'static str> {
        if self.has_texts() {
            return self.pick_values(rows, decode_texts)?.into_texts();
        }
        let decode = |encoding, bytes, count, into: &mut Vec<_>| self.decode_numbers(encoding, bytes, count, Ok, into);
        let numbers = self.pick_values(rows, decode)?;
        Ok(match self.data_type {
            DataType::Int32 => Arc::new(numbers.into_array::<Int32Type>()?),
            DataType::Int64 => Arc::new(numbers.into_array::<Int64Type>()?),
            DataType::Date32 => Arc::new(numbers.into_array::<Date32Type>()?),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                Arc::new(numbers.into_array::<TimestampMicrosecondType>()?.with_timezone_opt(zone.clone()))
            }
            DataType::Decimal128(..) => {
                Arc::new(numbers.into_array::<Decimal128Type>()?.with_data_type(self.data_type.clone()))
            }
            _ => return Err(OTHER_ENCODING),
        })
    }

    /// Finds the values of some rows. `decode` appends values that are not codes.
    fn pick_values<'p, V: Copy>(
        &'p self,
        rows: &[usize],
        decode: impl Fn(Encoding, &'p [u8], usize, &mut Vec<V>) -> Result<(), &'static str>,
    ) -> Result<PickedValues<V>, &'static str> {
        let (mut values, mut of_rows) = (Vec::new(), Vec::with_capacity(rows.len()));
        let (mut first, mut left) = (0, rows);
        let mut values_of_page = Vec::new();
        for page in &self.pages {
            if let Page::DictionaryPage { buf, num_values, .. } = page {
                decode(Encoding::PLAIN, buf, count(*num_values), &mut values)?;
                continue;
            }
            let end = first + count(page.num_values());
            let (of_page, after) = left.split_at(left.partition_point(|row| *row < end));
            if !of_page.is_empty() {
                let data = DataPage::new(page, self.column.max_def_level())?;
                let picked = of_rows.len();
                data.push_indexes(of_page.iter().map(|row| row - first), &mut of_rows)?;
                let picked = &mut of_rows[picked..];
                let needed = needed(picked);
                match data.codes() {
                    // A page of nulls may have no values at all.
                    _ if needed == 0 => {}
                    Some((width, bytes)) => replace_by_codes(picked, needed, (bytes, width), values.len())?,
                    None => {
                        let count = match data.encoding {
                            // A damaged page may say that it has more values than rows.
                            Encoding::DELTA_BINARY_PACKED => {
                                let count = delta_count(data.values).filter(|count| *count <= data.rows);
                                count.ok_or(OTHER_ENCODING)?
                            }
                            _ => needed,
                        };
                        values_of_page.clear();
                        decode(data.encoding, data.values, count, &mut values_of_page)?;
                        for index in picked.iter_mut().filter(|index| **index != NONE) {
                            values.push(*values_of_page.get(*index).ok_or(MISSING_ROWS)?);
                            *index = values.len() - 1;
                        }
                    }
                }
            }
            (first, left) = (end, after);
        }
        if left.is_empty() { Ok(PickedValues { values, of_rows }) } else { Err(MISSING_ROWS) }
    }
}

/// Decodes texts that are no codes, as bytes.
fn decode_texts<'p>(
    encoding: Encoding,
    bytes: &'p [u8],
    count: usize,
    into: &mut Vec<&'p [u8]>,
) -> Result<(), &'static str> {
    match encoding {
        Encoding::PLAIN => plain_bytes(bytes, count, Ok, into),
        _ => Err(OTHER_ENCODING),
    }
}

/// Returns how many values of a page some rows need, given their ascending indexes.
fn needed(indexes: &[usize]) -> usize {
    indexes.iter().rev().find(|index| **index != NONE).map_or(0, |last| last + 1)
}

impl DataPage<'_> {
    /// Appends for each of some rows, in ascending order, which of the page's values it has: an index, or [`NONE`].
    fn push_indexes(&self, rows: impl Iterator<Item = usize>, into: &mut Vec<usize>) -> Result<(), &'static str> {
        let Some(levels) = self.levels else {
            into.extend(rows);
            return Ok(());
        };
        let mut rows = rows.peekable();
        let mut runs = HybridRuns::new(levels, 1, self.rows)?;
        // The row that the run begins with, and the values of the rows before.
        let (mut start, mut before) = (0, 0);
        while rows.peek().is_some() {
            match runs.next()?.ok_or(MISSING_ROWS)? {
                HybridRun::Repeated { number, count } => {
                    let has_value = number == 1;
                    while let Some(row) = rows.next_if(|row| *row < start + count) {
                        into.push(if has_value { before + (row - start) } else { NONE });
                    }
                    before += if has_value { count } else { 0 };
                    start += count;
                }
                HybridRun::Packed { bytes, count } => {
                    let mut counted = 0;
                    while let Some(row) = rows.next_if(|row| *row < start + count) {
                        let at = row - start;
                        before += ones(bytes, counted..at);
                        counted = at;
                        into.push(if number_at(bytes, 1, at) == 1 { before } else { NONE });
                    }
                    before += ones(bytes, counted..count);
                    start += count;
                }
            }
        }
        Ok(())
    }
}

/// Replaces ascending indexes of codes, all below `needed`, by the codes, which are below `limit`.
fn replace_by_codes(
    indexes: &mut [usize],
    needed: usize,
    (bytes, width): (&[u8], u8),
    limit: usize,
) -> Result<(), &'static str> {
    let mut runs = HybridRuns::new(bytes, width, needed)?;
    let mut wanted = indexes.iter_mut().filter(|index| **index != NONE).peekable();
    let mut start = 0;
    while let Some(next) = wanted.peek() {
        start += runs.skip_before(**next - start);
        match runs.next()?.ok_or(MISSING_ROWS)? {
            HybridRun::Repeated { number, count } => {
                if number >= limit {
                    return Err(NOT_IN_DICTIONARY);
                }
                while let Some(index) = wanted.next_if(|index| **index < start + count) {
                    *index = number;
                }
                start += count;
            }
            HybridRun::Packed { bytes, count } => {
                while let Some(index) = wanted.next_if(|index| **index < start + count) {
                    *index = number_at(bytes, width, *index - start);
                    if *index >= limit {
                        return Err(NOT_IN_DICTIONARY);
                    }
                }
                start += count;
            }
        }
    }
    Ok(())
}

impl PickedValues<i64> {
    fn into_array<A: ArrowPrimitiveType>(self) -> Result<PrimitiveArray<A>, &'static str>
    where
        A::Native: TryFrom<i64>,
    {
        let values = self.values.into_iter().map(|value| A::Native::try_from(value).map_err(|_| OTHER_ENCODING));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        Ok(self.of_rows.into_iter().map(|index| values.get(index).copied()).collect())
    }
}

impl PickedValues<&[u8]> {
    /// Returns an Arrow dictionary of the texts that the rows have.
    fn into_texts(self) -> Result<ArrayRef, &'static str> {
        const UNUSED: i32 = -1;

        let mut key_of = vec![UNUSED; self.values.len()];
        let mut used = Vec::new();
        let mut keys = Vec::with_capacity(self.of_rows.len());
        for index in self.of_rows {
            let Some(key) = key_of.get_mut(index) else {
                keys.push(None);
                continue;
            };
            if *key == UNUSED {
                *key = i32::try_from(used.len()).map_err(|_| OTHER_ENCODING)?;
                used.push(text(self.values[index])?);
            }
            keys.push(Some(*key));
        }
        let (keys, texts) = (Int32Array::from(keys), StringArray::from_iter_values(used));
        let texts = DictionaryArray::try_new(keys, Arc::new(texts)).map_err(|_| OTHER_ENCODING)?;
        Ok(Arc::new(texts) as Arc<dyn Array>)
    }
}
