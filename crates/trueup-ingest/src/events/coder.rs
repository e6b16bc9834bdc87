//! Codes of a row group's own.

use super::chunk::{CodedTexts, Packing};
use crate::parquet_file::Column;
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

/// Gives the texts of a row group codes of its own, in the order of their first rows.
pub(super) struct Coder<'a> {
    texts: &'a [Box<str>],
    /// The own code of each code of the ingest.
    codes: Vec<u32>,
    /// The own codes by text: rows may have codes of the ingest or bare texts, and the same text then has the same own code.
    known: HashMap<&'a str, u32>,
    coded: CodedTexts<'a>,
    rows: usize,
}

/// No own code yet.
const NEW: u32 = u32::MAX;

impl<'a> Coder<'a> {
    /// For so many rows with codes of `texts`.
    pub(super) fn new(texts: &'a [Box<str>], rows: usize) -> Self {
        let coded = CodedTexts { codes: Vec::with_capacity(rows), ..CodedTexts::default() };
        Self { texts, codes: vec![NEW; texts.len()], known: HashMap::new(), coded, rows }
    }

    /// Adds a row with a code of the ingest; 0 is null.
    pub(super) fn push(&mut self, code: u32) {
        if code == 0 {
            self.push_null();
            return;
        }
        let mut own = self.codes[code as usize];
        if own == NEW {
            own = self.own(self.texts[code as usize].as_ref());
            self.codes[code as usize] = own;
        }
        self.push_own(own);
    }

    /// Adds a row with a text, which is not empty.
    pub(super) fn push_text(&mut self, text: &'a str) {
        let own = self.own(text);
        self.push_own(own);
    }

    fn own(&mut self, text: &'a str) -> u32 {
        let next = u32::try_from(self.coded.texts.len()).unwrap_or(NEW);
        let own = *self.known.entry(text).or_insert(next);
        if own == next {
            self.coded.texts.push(text);
        }
        own
    }

    fn push_own(&mut self, own: u32) {
        self.coded.codes.push(own);
        if !self.coded.filled.is_empty() {
            self.coded.filled.push(1);
        }
    }

    fn push_null(&mut self) {
        let CodedTexts { codes, filled, .. } = &mut self.coded;
        if filled.is_empty() {
            filled.reserve(self.rows);
            filled.extend(std::iter::repeat_n(1, codes.len()));
        }
        filled.push(0);
    }

    pub(super) fn finish(self) -> CodedTexts<'a> {
        self.coded
    }
}

impl CodedTexts<'_> {
    /// The column, with a dictionary if that makes it smaller.
    pub(super) fn column(&self, column: &ColumnDescPtr) -> Result<Column, ParquetError> {
        if self.texts.len() > (self.codes.len() / MOSTLY_DISTINCT).max(1) {
            return Ok(Column::Values(Arc::new(self.values())));
        }
        // Decompression is most of what a scan of small columns would do.
        let packing = if self.texts.len() > self.codes.len() / MANY_DISTINCT { Packing::Well } else { Packing::Fast };
        Ok(Column::Encoded(Box::new(self.encode(column, packing)?)))
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
