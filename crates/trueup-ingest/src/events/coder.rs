//! Codes of a row group's own.

use super::chunk::{CodedTexts, Packing};
use crate::parquet_file::ColumnData;
use arrow_array::StringArray;
use arrow_array::builder::StringBuilder;
use hashbrown::HashMap;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;
use std::sync::Arc;

/// A text column with more distinct values than one in so many rows gains nothing from a dictionary.
const MOSTLY_DISTINCT: usize = 2;
/// One with more than one in so many is large enough to be worth compressing well.
const MANY_DISTINCT: usize = 20;

/// Rows that are coded at once: few enough for their codes to stay in the nearest cache.
const AT_ONCE: usize = 1 << 10;

/// Gives the texts of a row group codes of its own, in the order of their first rows.
pub(super) struct Coder<'a> {
    own: OwnCodes<'a>,
    codes: Vec<u32>,
    /// As [`CodedTexts`] has it.
    filled: Vec<u32>,
    rows: usize,
}

/// The own codes so far.
struct OwnCodes<'a> {
    given: &'a [Box<str>],
    /// The own code of each code of the ingest.
    of_given: Vec<u32>,
    /// The own codes by text: rows may have codes of the ingest or bare texts, and the same text then has the same own code.
    of_text: HashMap<&'a str, u32>,
    texts: Vec<&'a str>,
}

/// No own code yet.
const NEW: u32 = u32::MAX;

impl<'a> Coder<'a> {
    /// For so many rows with codes of `texts`.
    pub(super) fn new(texts: &'a [Box<str>], rows: usize) -> Self {
        let mut of_given = vec![NEW; texts.len().max(1)];
        // Null has no text, and must not be given a code of its own.
        of_given[0] = 0;
        let own = OwnCodes { given: texts, of_given, of_text: HashMap::new(), texts: Vec::new() };
        Self { own, codes: Vec::with_capacity(rows), filled: Vec::new(), rows }
    }

    /// Adds rows with codes of the ingest; 0 is null.
    pub(super) fn extend(&mut self, order: &[u32], given: impl Fn(u32) -> u32) {
        let mut codes = [0; AT_ONCE];
        for order in order.chunks(AT_ONCE) {
            let codes = &mut codes[..order.len()];
            codes.iter_mut().zip(order).for_each(|(code, row)| *code = given(*row));
            self.extend_from(codes);
        }
    }

    fn extend_from(&mut self, given: &[u32]) {
        let Self { own, codes, filled, rows } = self;
        if filled.is_empty() && !given.contains(&0) {
            codes.extend(given.iter().map(|code| own.of(*code)));
            return;
        }
        if filled.is_empty() {
            filled.reserve(*rows);
            filled.extend(std::iter::repeat_n(1, codes.len()));
        }
        filled.extend(given.iter().map(|code| u32::from(*code != 0)));
        // Nulls are written too and then written over: whether a row is null cannot be foretold, and a branch would cost more.
        let mut end = codes.len();
        codes.resize(end + given.len(), 0);
        for code in given {
            codes[end] = own.of(*code);
            end += usize::from(*code != 0);
        }
        codes.truncate(end);
    }

    /// Adds a row with a text, which is not empty.
    pub(super) fn push_text(&mut self, text: &'a str) {
        self.codes.push(self.own.of_text(text));
        if !self.filled.is_empty() {
            self.filled.push(1);
        }
    }

    pub(super) fn finish(self) -> CodedTexts<'a> {
        CodedTexts { texts: self.own.texts, codes: self.codes, filled: self.filled }
    }
}

impl<'a> OwnCodes<'a> {
    #[inline]
    fn of(&mut self, given: u32) -> u32 {
        match self.of_given[given as usize] {
            NEW => self.begin(given),
            own => own,
        }
    }

    #[cold]
    fn begin(&mut self, given: u32) -> u32 {
        let own = self.of_text(self.given[given as usize].as_ref());
        self.of_given[given as usize] = own;
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

impl CodedTexts<'_> {
    /// The column, with a dictionary if that makes it smaller.
    pub(super) fn column(&self, column: &ColumnDescPtr) -> Result<ColumnData, ParquetError> {
        if self.texts.len() > (self.codes.len() / MOSTLY_DISTINCT).max(1) {
            return Ok(ColumnData::Values(Arc::new(self.values())));
        }
        // Decompression is most of what a scan of small columns would do.
        let packing = if self.texts.len() > self.codes.len() / MANY_DISTINCT { Packing::Well } else { Packing::Fast };
        Ok(ColumnData::Encoded(Box::new(self.encode(column, packing)?)))
    }

    fn values(&self) -> StringArray {
        let mut values = StringBuilder::with_capacity(self.codes.len(), self.codes.len() * 16);
        let mut texts = self.codes.iter().map(|code| self.texts[*code as usize]);
        if self.filled.is_empty() {
            texts.for_each(|text| values.append_value(text));
        } else {
            self.filled.iter().for_each(|filled| values.append_option(if *filled == 1 { texts.next() } else { None }));
        }
        values.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_codes_in_the_order_of_their_first_rows_and_nulls_have_none() {
        let texts = ["", "a", "b"].map(Box::from);
        let mut coder = Coder::new(&texts, 6);
        coder.extend_from(&[2, 1]);
        coder.extend_from(&[0, 1, 0]);
        coder.push_text("c");
        let CodedTexts { texts, codes, filled } = coder.finish();
        assert_eq!((texts, codes, filled), (vec!["b", "a", "c"], vec![0, 1, 1, 2], vec![1, 1, 0, 1, 0, 1]));
    }
}
