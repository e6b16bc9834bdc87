//! Encodes columns of texts that recur: the codes of the ingest's dictionaries (global codes) become codes of the row
//! group (own codes), and these become a Parquet column chunk.
//!
//! [`TextColumnBuilder`] collects a column of a row group, and [`TextColumn::column`] encodes it or leaves its texts to
//! parquet's `ArrowWriter`. Nothing outside this folder knows how a chunk is encoded: `chunk` writes its pages, and
//! `hybrid` its codes. The decoder is `scan/encoding` in `trueup-core`.

mod chunk;
mod hybrid;

use crate::parquet_file::ColumnData;
use arrow_array::StringArray;
use arrow_array::builder::StringBuilder;
use chunk::PageCompression;
pub(super) use chunk::TextColumn;
use hashbrown::HashMap;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;
use std::sync::Arc;

/// A column with fewer rows per distinct text than this gains nothing from a dictionary.
const MIN_ROWS_PER_TEXT: usize = 2;

/// A column with fewer rows per distinct text than this is large enough to be worth strong compression.
const STRONG_ROWS_PER_TEXT: usize = 20;

/// Rows that are coded together: few enough for their codes to stay in the first-level cache.
const CODED_TOGETHER: usize = 1 << 10;

/// In `of_global`: the global code has no own code yet.
const NEW: u32 = u32::MAX;

/// Builds a text column from rows with global codes or texts.
pub(super) struct TextColumnBuilder<'a> {
    own: OwnCodes<'a>,
    codes: Vec<u32>,
    /// As in [`TextColumn`].
    validity: Vec<u32>,
    rows: usize,
}

/// The row group's own codes so far.
struct OwnCodes<'a> {
    /// The texts of the global codes.
    global: &'a [Box<str>],
    /// The own code of each global code.
    of_global: Vec<u32>,
    /// The own code of each text. A text has one own code, whether its rows have a global code or the text itself.
    of_text: HashMap<&'a str, u32>,
    texts: Vec<&'a str>,
}

impl<'a> TextColumnBuilder<'a> {
    /// Begins a column of `rows` rows whose global codes have these texts.
    pub(super) fn new(texts: &'a [Box<str>], rows: usize) -> Self {
        let mut of_global = vec![NEW; texts.len().max(1)];
        // Null must not get a code, because it has no text.
        of_global[0] = 0;
        let own = OwnCodes { global: texts, of_global, of_text: HashMap::new(), texts: Vec::new() };
        Self { own, codes: Vec::with_capacity(rows), validity: Vec::new(), rows }
    }

    /// Adds the rows `order`, whose global codes `global` returns; 0 is null.
    pub(super) fn extend(&mut self, order: &[u32], global: impl Fn(u32) -> u32) {
        let mut codes = [0; CODED_TOGETHER];
        for order in order.chunks(CODED_TOGETHER) {
            let codes = &mut codes[..order.len()];
            codes.iter_mut().zip(order).for_each(|(code, row)| *code = global(*row));
            self.extend_from(codes);
        }
    }

    fn extend_from(&mut self, global: &[u32]) {
        let Self { own, codes, validity, rows } = self;
        if validity.is_empty() && !global.contains(&0) {
            codes.extend(global.iter().map(|code| own.of(*code)));
            return;
        }
        if validity.is_empty() {
            validity.reserve(*rows);
            validity.extend(std::iter::repeat_n(1, codes.len()));
        }
        validity.extend(global.iter().map(|code| u32::from(*code != 0)));
        // A null is written too, and then overwritten, because a branch that the processor cannot predict would cost
        // more.
        let mut end = codes.len();
        codes.resize(end + global.len(), 0);
        for code in global {
            codes[end] = own.of(*code);
            end += usize::from(*code != 0);
        }
        codes.truncate(end);
    }

    /// Adds a row with a text, which must not be empty.
    pub(super) fn push_text(&mut self, text: &'a str) {
        self.codes.push(self.own.of_text(text));
        if !self.validity.is_empty() {
            self.validity.push(1);
        }
    }

    pub(super) fn finish(self) -> TextColumn<'a> {
        TextColumn { texts: self.own.texts, codes: self.codes, validity: self.validity }
    }
}

impl<'a> OwnCodes<'a> {
    #[inline]
    fn of(&mut self, global: u32) -> u32 {
        match self.of_global[global as usize] {
            NEW => self.assign(global),
            own => own,
        }
    }

    #[cold]
    fn assign(&mut self, global: u32) -> u32 {
        let own = self.of_text(self.global[global as usize].as_ref());
        self.of_global[global as usize] = own;
        own
    }

    fn of_text(&mut self, text: &'a str) -> u32 {
        let next = u32::try_from(self.texts.len()).unwrap_or(NEW);
        let own = *self.of_text.entry(text).or_insert(next);
        if own == next {
            self.texts.push(text);
        }
        own
    }
}

impl TextColumn<'_> {
    /// Returns the column, encoded with a dictionary if that makes it smaller.
    pub(super) fn column(&self, column: &ColumnDescPtr) -> Result<ColumnData, ParquetError> {
        if self.texts.len() > (self.codes.len() / MIN_ROWS_PER_TEXT).max(1) {
            return Ok(ColumnData::Values(Arc::new(self.values())));
        }
        // Small columns are compressed fast, because most of the time of scanning them would be decompression.
        let compression = match self.texts.len() > self.codes.len() / STRONG_ROWS_PER_TEXT {
            true => PageCompression::Strong,
            false => PageCompression::Fast,
        };
        Ok(ColumnData::Encoded(Box::new(self.encode(column, compression)?)))
    }

    /// Returns the texts of all rows.
    fn values(&self) -> StringArray {
        let mut values = StringBuilder::with_capacity(self.codes.len(), self.codes.len() * 16);
        let mut texts = self.codes.iter().map(|code| self.texts[*code as usize]);
        if self.validity.is_empty() {
            texts.for_each(|text| values.append_value(text));
        } else {
            self.validity.iter().for_each(|valid| values.append_option(if *valid == 1 { texts.next() } else { None }));
        }
        values.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_the_first_rows_of_their_texts_and_nulls_have_none() {
        let texts = ["", "a", "b"].map(Box::from);
        let mut builder = TextColumnBuilder::new(&texts, 6);
        builder.extend_from(&[2, 1]);
        builder.extend_from(&[0, 1, 0]);
        builder.push_text("c");
        let TextColumn { texts, codes, validity } = builder.finish();
        assert_eq!((texts, codes, validity), (vec!["b", "a", "c"], vec![0, 1, 1, 2], vec![1, 1, 0, 1, 0, 1]));
    }
}
