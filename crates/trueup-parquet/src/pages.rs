//! The pages of a column chunk, decompressed, as Parquet's own reader would return them. A page is decompressed only
//! after its header has been checked, and returned only after its counts have been, because decoders allocate memory by
//! them. In call order:
//!
//! - `header`: the header of a page, and the counts that its values begin with
//! - `decompress`: the compressed part of a page
//! - `memory`: the memory of a decoded column chunk, from the headers of its pages, for ingest

mod decompress;
mod header;
mod memory;

#[cfg(test)]
mod tests;

pub use memory::{ChunkMemory, measure_chunk};

use bytes::Bytes;
use decompress::decompress;
use header::{PageHeader, PageKind, check_counts};
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::schema::types::ColumnDescPtr;
use std::ops::Range;

/// The bytes that are read at a time to find headers in them.
const READ_AHEAD: u64 = 1 << 13;

/// The bytes in which a header is looked for first, because few headers are longer.
const COMMON_HEADER: u64 = 1 << 8;

/// If this many bytes do not hold a whole header, no more bytes are read for it.
const MAX_HEADER: u64 = 16 << 20;

/// An iterator over the pages of a column chunk, in their order.
pub struct Pages<R> {
    file: R,
    column: ColumnDescPtr,
    codec: Compression,
    /// The most bytes of a decompressed page.
    limit: usize,
    /// The position of the next header or, if the header has been read, of its page.
    next: u64,
    /// The end of the column chunk.
    end: u64,
    /// The header of the next page, if it has been read.
    header: Option<PageHeader>,
    /// Bytes that have been read ahead, and the position of the first one.
    ahead: (u64, Bytes),
}

impl<R: ChunkReader> Pages<R> {
    /// Returns the pages of a column chunk, which must be inside the file (see
    /// [`check_chunk_ranges`](crate::check_chunk_ranges)). A page of more than `limit` bytes is an error.
    pub fn new(file: R, chunk: &ColumnChunkMetaData, limit: usize) -> Self {
        let (start, length) = chunk.byte_range();
        Self {
            file,
            column: chunk.column_descr_ptr(),
            codec: chunk.compression(),
            limit,
            next: start,
            end: start.saturating_add(length),
            header: None,
            ahead: (start, Bytes::new()),
        }
    }

    /// Returns the header of the next page, and reads it if needed.
    fn header(&mut self) -> Result<Option<&PageHeader>> {
        while self.header.is_none() {
            if self.next >= self.end {
                return Ok(None);
            }
            let (header, length) = self.read_header()?;
            self.next += length as u64;
            if header.compressed as u64 > self.end - self.next {
                return Err(self.fault("a page is longer than what is left of its column"));
            }
            if header.decompressed > self.limit || header.compressed > self.limit {
                let (size, limit) = (header.decompressed.max(header.compressed), self.limit);
                return Err(
                    self.fault(&format!("a page takes {size} bytes of memory, and at most {limit} may be taken"))
                );
            }
            if matches!(header.kind, PageKind::Index) {
                self.next += header.compressed as u64;
                continue;
            }
            self.header = Some(header);
        }
        Ok(self.header.as_ref())
    }

    /// Reads the next header. Returns it with its length.
    fn read_header(&mut self) -> Result<(PageHeader, usize)> {
        let left = self.end - self.next;
        let mut wanted = left.min(COMMON_HEADER);
        loop {
            if (self.held().len() as u64) < wanted {
                let length = left.min(wanted.max(READ_AHEAD));
                let length = usize::try_from(length).map_err(|_| self.fault("a page is too long"))?;
                self.ahead = (self.next, self.file.get_bytes(self.next, length)?);
            }
            let held = self.held();
            if let Some(found) = PageHeader::read(&held) {
                return Ok(found);
            }
            let held = held.len() as u64;
            if held >= left.min(MAX_HEADER) {
                return Err(self.fault("a page has no header"));
            }
            wanted = held.saturating_mul(4).min(left);
        }
    }

    /// Returns the bytes that have been read ahead from the next position on.
    fn held(&self) -> Bytes {
        let (start, bytes) = &self.ahead;
        let skipped = self.next.checked_sub(*start).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.filter(|skipped| *skipped <= bytes.len()).map_or_else(Bytes::new, |skipped| bytes.slice(skipped..))
    }

    /// Reads the bytes of the next page, whose header has been read, as they are in the file.
    fn compressed(&mut self, length: usize) -> Result<Bytes> {
        let held = self.held();
        let compressed =
            if length <= held.len() { held.slice(..length) } else { self.file.get_bytes(self.next, length)? };
        self.next += length as u64;
        Ok(compressed)
    }

    /// Returns all pages of a column that is not nested. Data pages of version 1 that have none of `rows`, whose ranges
    /// ascend, stay empty and are not decompressed.
    pub(crate) fn with_rows(mut self, rows: &[Range<usize>]) -> Result<Vec<Page>> {
        let mut pages = Vec::new();
        let mut first = 0;
        while let Some(header) = self.header()? {
            let values = match &header.kind {
                PageKind::Data { values, .. } => *values,
                PageKind::DataV2(page) => page.values,
                PageKind::Dictionary { .. } | PageKind::Index => 0,
            };
            let end = first + usize::try_from(values).unwrap_or(usize::MAX);
            match header.kind {
                PageKind::Data { encoding, definition, repetition, .. } if !has_any(rows, &(first..end)) => {
                    self.skip_page();
                    pages.push(Page::DataPage {
                        buf: Bytes::new(),
                        num_values: values,
                        encoding,
                        def_level_encoding: definition,
                        rep_level_encoding: repetition,
                        statistics: None,
                    });
                }
                _ => pages.extend(self.page()?),
            }
            first = end;
        }
        Ok(pages)
    }

    /// Skips the next page, if its header has been read.
    fn skip_page(&mut self) {
        if let Some(header) = self.header.take() {
            self.next += header.compressed as u64;
        }
    }

    /// Reads the next page.
    fn page(&mut self) -> Result<Option<Page>> {
        self.header()?;
        let Some(header) = self.header.take() else { return Ok(None) };
        let compressed = self.compressed(header.compressed)?;
        // The levels of a page of version 2 come first and are not compressed.
        let (level_bytes, is_compressed) = match &header.kind {
            PageKind::DataV2(page) => {
                let levels =
                    usize::try_from(u64::from(page.definition) + u64::from(page.repetition)).unwrap_or(usize::MAX);
                (levels, page.is_compressed)
            }
            _ => (0, true),
        };
        let buf = if self.codec == Compression::UNCOMPRESSED || !is_compressed {
            compressed
        } else {
            let (Some((levels, values)), Some(length)) =
                (compressed.split_at_checked(level_bytes), header.decompressed.checked_sub(level_bytes))
            else {
                return Err(self.fault("a page has more levels than bytes"));
            };
            let mut decompressed = Vec::new();
            if !levels.is_empty() {
                decompressed.reserve_exact(header.decompressed);
                decompressed.extend_from_slice(levels);
            }
            // A page without values may have no compressed bytes.
            if length > 0 {
                decompress(self.codec, values, length, &mut decompressed)
                    .map_err(|error| self.fault(&error.to_string()))?;
            }
            decompressed.into()
        };
        if level_bytes > buf.len() {
            return Err(self.fault("a page has more levels than bytes"));
        }
        let page = match header.kind {
            PageKind::Dictionary { values: num_values, encoding, is_sorted } => {
                Page::DictionaryPage { buf, num_values, encoding, is_sorted }
            }
            PageKind::Data { values: num_values, encoding, definition, repetition } => Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: definition,
                rep_level_encoding: repetition,
                statistics: None,
            },
            PageKind::DataV2(page) => Page::DataPageV2 {
                buf,
                num_values: page.values,
                encoding: page.encoding,
                num_nulls: page.nulls,
                num_rows: page.rows,
                def_levels_byte_len: page.definition,
                rep_levels_byte_len: page.repetition,
                is_compressed: page.is_compressed,
                statistics: None,
            },
            PageKind::Index => return Ok(None),
        };
        check_counts(&page, &self.column, self.limit).map_err(|fault| self.fault(fault))?;
        Ok(Some(page))
    }

    /// Returns an error that names the column.
    fn fault(&self, fault: &str) -> ParquetError {
        ParquetError::General(format!("column `{}`: {fault}", self.column.path().string()))
    }
}

/// Returns whether some rows, given by ascending ranges, have any of a page's rows.
pub(crate) fn has_any(rows: &[Range<usize>], of_page: &Range<usize>) -> bool {
    let next = rows.get(rows.partition_point(|rows| rows.end <= of_page.start));
    next.is_some_and(|rows| rows.start < of_page.end)
}

impl<R: ChunkReader> Iterator for Pages<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.page().transpose()
    }
}

impl<R: ChunkReader> PageReader for Pages<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.page()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let count = |count: u32| usize::try_from(count).ok();
        let metadata = |num_rows, num_levels, is_dict| PageMetadata { num_rows, num_levels, is_dict };
        Ok(self.header()?.map(|header| match &header.kind {
            PageKind::Dictionary { .. } => metadata(None, None, true),
            PageKind::Data { values, .. } => metadata(None, count(*values), false),
            PageKind::DataV2(page) => metadata(count(page.rows), count(page.values), false),
            PageKind::Index => metadata(None, None, false),
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.header()?;
        self.skip_page();
        Ok(())
    }
}
