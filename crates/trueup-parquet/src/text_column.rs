//! Columns of texts that recur. The codes of the caller's dictionaries (global codes) become codes of the row group
//! (own codes), and these become a Parquet column chunk: a page of the distinct texts, then the pages of their codes.
//!
//! [`TextColumnBuilder`] collects a column of a row group, and [`TextColumn::column`] encodes it or leaves its texts to
//! parquet's `ArrowWriter`. `column_chunk` decodes it.

use crate::encoding::{bit_width, encode_hybrid, encode_run, push_counted};
use crate::row_group_writer::{ColumnData, EncodedChunk};
use arrow_array::StringArray;
use arrow_array::builder::StringBuilder;
use hashbrown::HashMap;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::cell::RefCell;
use std::sync::Arc;
use zstd::bulk::Compressor;

/// A column with fewer rows per distinct text than this gains nothing from a dictionary.
const MIN_ROWS_PER_TEXT: usize = 2;

/// A column with fewer rows per distinct text than this is large enough to be worth strong compression.
const STRONG_ROWS_PER_TEXT: usize = 20;

/// Rows that are coded together: few enough for their codes to stay in the first-level cache.
const CODED_TOGETHER: usize = 1 << 10;

/// What `OwnCodes::of_global` holds for a global code that has no code of the row group.
const NEW: u32 = u32::MAX;

/// The statistics of a column have no bounds if any of its texts is longer than this.
const MAX_BOUND_BYTES: usize = 64;

/// The level of [`PageCompression::Strong`].
const STRONG_LEVEL: i32 = 1;

/// Builds a text column from rows with global codes or texts.
#[derive(Debug)]
pub struct TextColumnBuilder<'a> {
    own: OwnCodes<'a>,
    codes: Vec<u32>,
    /// As in [`TextColumn`].
    validity: Vec<u32>,
}

/// The row group's own codes so far.
#[derive(Debug)]
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
    /// Begins a column of `rows` rows, whose global codes have these texts.
    #[must_use]
    pub fn new(texts: &'a [Box<str>], rows: usize) -> Self {
        let mut of_global = vec![NEW; texts.len().max(1)];
        // Anything but `NEW`, so that null never gets a code of the row group: it has no text.
        of_global[0] = 0;
        let own = OwnCodes { global: texts, of_global, of_text: HashMap::new(), texts: Vec::new() };
        Self { own, codes: Vec::with_capacity(rows), validity: Vec::new() }
    }

    /// Adds the rows `order`, whose global codes `global` returns; 0 is null.
    pub fn extend(&mut self, order: &[u32], global: impl Fn(u32) -> u32) {
        let mut codes = [0; CODED_TOGETHER];
        for order in order.chunks(CODED_TOGETHER) {
            let codes = &mut codes[..order.len()];
            codes.iter_mut().zip(order).for_each(|(code, row)| *code = global(*row));
            self.extend_from(codes);
        }
    }

    fn extend_from(&mut self, global: &[u32]) {
        let Self { own, codes, validity } = self;
        if validity.is_empty() && !global.contains(&0) {
            codes.extend(global.iter().map(|code| own.of(*code)));
            return;
        }
        if validity.is_empty() {
            validity.reserve(codes.capacity());
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

    /// Adds `rows` rows with a text, which must not be empty.
    pub fn push_text(&mut self, text: &'a str, rows: usize) {
        self.codes.extend(std::iter::repeat_n(self.own.of_text(text), rows));
        if !self.validity.is_empty() {
            self.validity.extend(std::iter::repeat_n(1, rows));
        }
    }

    /// Returns the column.
    #[must_use]
    pub fn finish(self) -> TextColumn<'a> {
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

/// How the pages of a column chunk are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageCompression {
    /// LZ4, which is fast to decompress.
    Fast,
    /// Zstandard, which makes pages smaller.
    Strong,
}

/// The texts of a row group's column, as codes into its distinct texts.
///
/// For example, the rows `b`, `a`, null, `a` have the texts `[b, a]`, the codes `[0, 1, 1]`, and the validity
/// `[1, 1, 0, 1]`.
#[derive(Debug)]
pub struct TextColumn<'a> {
    /// The distinct texts, in the order of their first rows.
    texts: Vec<&'a str>,
    /// The code of each row that is not null.
    codes: Vec<u32>,
    /// For each row, 0 if it is null and 1 if not; empty if no row is null.
    validity: Vec<u32>,
}

impl TextColumn<'_> {
    /// Returns the column, encoded with a dictionary if that makes it smaller. `page_rows` are the rows of a page.
    ///
    /// # Errors
    /// There are too many rows, or a page cannot be compressed.
    pub fn column(&self, column: &ColumnDescPtr, page_rows: usize) -> Result<ColumnData, ParquetError> {
        if self.texts.len() > (self.codes.len() / MIN_ROWS_PER_TEXT).max(1) {
            return Ok(ColumnData::Values(Arc::new(self.values())));
        }
        // Small columns are compressed fast, because most of the time of scanning them would be decompression.
        let compression = match self.texts.len() > self.codes.len() / STRONG_ROWS_PER_TEXT {
            true => PageCompression::Strong,
            false => PageCompression::Fast,
        };
        Ok(ColumnData::Encoded(Box::new(self.encode(column, page_rows, compression)?)))
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

    fn rows(&self) -> usize {
        if self.validity.is_empty() { self.codes.len() } else { self.validity.len() }
    }

    /// Encodes the column chunk.
    fn encode(
        &self,
        column: &ColumnDescPtr,
        page_rows: usize,
        compression: PageCompression,
    ) -> Result<EncodedChunk, ParquetError> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let (dictionary, length) = compression.compress(self.dictionary_page())?;
        let num_values = count(self.texts.len())?;
        let page =
            Page::DictionaryPage { buf: dictionary.into(), num_values, encoding: Encoding::PLAIN, is_sorted: false };
        let dictionary = pages.write_page(CompressedPage::new(page, length))?;
        let (mut compressed, mut uncompressed) = (dictionary.compressed_size, dictionary.uncompressed_size);
        let mut codes = self.codes.as_slice();
        for start in (0..self.rows()).step_by(page_rows) {
            let rows = start..self.rows().min(start + page_rows);
            let validity = self.validity.get(rows.clone()).unwrap_or_default();
            let values =
                if validity.is_empty() { rows.len() } else { validity.iter().map(|valid| *valid as usize).sum() };
            let of_page = codes.split_off(..values).unwrap_or_default();
            let (data, length) = compression.compress(self.data_page(column.max_def_level() > 0, validity, of_page))?;
            let page = Page::DataPage {
                buf: data.into(),
                num_values: count(rows.len())?,
                encoding: Encoding::RLE_DICTIONARY,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let data = pages.write_page(CompressedPage::new(page, length))?;
            (compressed, uncompressed) = (compressed + data.compressed_size, uncompressed + data.uncompressed_size);
        }
        pages.close()?;
        let stats = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
        let data_pages = i32::try_from(self.rows().div_ceil(page_rows)).unwrap_or(i32::MAX);
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(compression.codec())
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
                stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, data_pages),
            ])
            .set_total_compressed_size(signed(compressed))
            .set_total_uncompressed_size(signed(uncompressed))
            .set_num_values(signed(self.rows()))
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(signed(dictionary.compressed_size))
            .set_statistics(self.statistics())
            .build()?;
        let bytes = sink.into_inner()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows() as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(EncodedChunk { bytes, close })
    }

    fn dictionary_page(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(self.texts.iter().map(|text| text.len() + 4).sum());
        self.texts.iter().for_each(|text| push_counted(text.as_bytes(), &mut page));
        page
    }

    /// Returns the page of some rows. `validity` is empty if none of them is null.
    fn data_page(&self, nullable: bool, validity: &[u32], codes: &[u32]) -> Vec<u8> {
        let mut page = Vec::with_capacity(codes.len() / 2);
        if nullable {
            let mut levels = Vec::new();
            if validity.is_empty() {
                encode_run(1, codes.len(), 1, &mut levels);
            } else {
                encode_hybrid(validity, 1, &mut levels);
            }
            push_counted(&levels, &mut page);
        }
        let width = bit_width(self.texts.len().saturating_sub(1));
        page.push(width);
        encode_hybrid(codes, width, &mut page);
        page
    }

    fn statistics(&self) -> Statistics {
        let bound = |text: &&str| ByteArray::from(text.as_bytes().to_vec());
        let short = self.texts.iter().all(|text| text.len() <= MAX_BOUND_BYTES);
        let (min, max) = if short { (self.texts.iter().min(), self.texts.iter().max()) } else { (None, None) };
        let nulls = (self.rows() - self.codes.len()) as u64;
        Statistics::ByteArray(
            ValueStatistics::new(min.map(bound), max.map(bound), None, Some(nulls), false)
                .with_min_is_exact(min.is_some())
                .with_max_is_exact(max.is_some()),
        )
    }
}

impl PageCompression {
    fn codec(self) -> Compression {
        match self {
            Self::Fast => Compression::LZ4_RAW,
            Self::Strong => Compression::ZSTD(ZstdLevel::default()),
        }
    }

    /// Returns the compressed page, and the length of the page itself.
    fn compress(self, page: Vec<u8>) -> Result<(Vec<u8>, usize), ParquetError> {
        let compressed = match self {
            Self::Fast => lz4_flex::block::compress(&page),
            Self::Strong => compress_strongly(&page)?,
        };
        Ok((compressed, page.len()))
    }
}

fn compress_strongly(page: &[u8]) -> std::io::Result<Vec<u8>> {
    // Each thread keeps its compressor, because making one takes as long as compressing a small page.
    thread_local!(static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) });
    COMPRESSOR.with_borrow_mut(|compressor| match compressor {
        Some(compressor) => compressor.compress(page),
        None => compressor.insert(Compressor::new(STRONG_LEVEL)?).compress(page),
    })
}

fn count(rows: usize) -> Result<u32, ParquetError> {
    u32::try_from(rows).map_err(|_| ParquetError::General("too many rows in a row group".to_owned()))
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
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
        builder.push_text("c", 1);
        let TextColumn { texts, codes, validity } = builder.finish();
        assert_eq!((texts, codes, validity), (vec!["b", "a", "c"], vec![0, 1, 1, 2], vec![1, 1, 0, 1, 0, 1]));
    }
}
