//! A column of texts, and its encoding as a Parquet column chunk: a page of the distinct texts, then a page of their
//! codes.

use super::hybrid;
use crate::parquet_file::EncodedChunk;
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
use zstd::bulk::Compressor;

/// The statistics of a column have no bounds if any of its texts is longer than this.
const MAX_BOUND_BYTES: usize = 64;

/// How the pages of a column chunk are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageCompression {
    /// LZ4, which is fast to decompress.
    Fast,
    /// Zstandard, which makes pages smaller.
    Strong,
}

/// The texts of a row group's column, as codes into its distinct texts.
///
/// For example, the rows `b`, `a`, null, `a` have the texts `[b, a]`, the codes `[0, 1, 1]`, and the validity `[1, 1,
/// 0, 1]`.
#[derive(Debug, Default)]
pub(in crate::events::write) struct TextColumn<'a> {
    /// The distinct texts, in the order of their first rows.
    pub(in crate::events::write) texts: Vec<&'a str>,
    /// The code of each row that is not null.
    pub(in crate::events::write) codes: Vec<u32>,
    /// For each row, 0 if it is null and 1 if not; empty if no row is null.
    pub(super) validity: Vec<u32>,
}

impl TextColumn<'_> {
    fn rows(&self) -> usize {
        if self.validity.is_empty() { self.codes.len() } else { self.validity.len() }
    }

    /// Encodes the column chunk.
    pub(super) fn encode(
        &self,
        column: &ColumnDescPtr,
        compression: PageCompression,
    ) -> Result<EncodedChunk, ParquetError> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let (dictionary, length) = compression.compress(self.dictionary_page())?;
        let num_values = count(self.texts.len())?;
        let page =
            Page::DictionaryPage { buf: dictionary.into(), num_values, encoding: Encoding::PLAIN, is_sorted: false };
        let dictionary = pages.write_page(CompressedPage::new(page, length))?;
        let (data, length) = compression.compress(self.data_page(column.max_def_level() > 0))?;
        let page = Page::DataPage {
            buf: data.into(),
            num_values: count(self.rows())?,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let data = pages.write_page(CompressedPage::new(page, length))?;
        pages.close()?;
        let stats = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(compression.codec())
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_total_compressed_size(signed(dictionary.compressed_size + data.compressed_size))
            .set_total_uncompressed_size(signed(dictionary.uncompressed_size + data.uncompressed_size))
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
        for text in &self.texts {
            push_length(text.len(), &mut page);
            page.extend_from_slice(text.as_bytes());
        }
        page
    }

    fn data_page(&self, nullable: bool) -> Vec<u8> {
        let mut page = Vec::with_capacity(self.codes.len() / 2);
        if nullable {
            let mut levels = Vec::new();
            if self.validity.is_empty() {
                hybrid::repeat(1, self.codes.len(), 1, &mut levels);
            } else {
                hybrid::encode(&self.validity, 1, &mut levels);
            }
            push_length(levels.len(), &mut page);
            page.append(&mut levels);
        }
        let width = hybrid::width(self.texts.len().saturating_sub(1));
        page.push(width);
        hybrid::encode(&self.codes, width, &mut page);
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
        None => compressor.insert(Compressor::new(1)?).compress(page),
    })
}

fn push_length(length: usize, page: &mut Vec<u8>) {
    page.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn count(rows: usize) -> Result<u32, ParquetError> {
    u32::try_from(rows).map_err(|_| ParquetError::General("too many rows in a row group".to_owned()))
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
