//! Pages of column chunks, as Parquet's own reader would give them, and within bounds: no page is given room before its header and what
//! it counts have been found to fit.

mod footer;
mod header;
mod packing;
mod room;
mod thrift;
mod values;

#[cfg(test)]
mod tests;

pub use footer::check_footer;
pub use room::{Room, measure};

use bytes::Bytes;
use header::{Header, Kind};
use packing::Unpacker;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::schema::types::ColumnDescPtr;

/// Bytes that are read at once to find headers among them.
const AHEAD: u64 = 1 << 13;

/// Few headers are longer.
const COMMON_HEADER: u64 = 1 << 8;

/// The longest header that is looked for.
const LONGEST_HEADER: u64 = 16 << 20;

/// The pages of a column chunk, in their order.
pub struct Pages<R> {
    file: R,
    column: ColumnDescPtr,
    unpacker: Unpacker,
    /// The most bytes that a page may have once it is unpacked.
    limit: usize,
    /// Where the next header begins, or if it has been read where its page does.
    next: u64,
    end: u64,
    header: Option<Header>,
    /// Bytes that have been read, and where they begin.
    ahead: (u64, Bytes),
}

impl<R: ChunkReader> Pages<R> {
    /// The pages of a column chunk whose bytes lie in the file, as [`check_ranges`](super::check_ranges) has found. A page that has more
    /// than `limit` bytes once it is unpacked is an error.
    pub fn new(file: R, chunk: &ColumnChunkMetaData, limit: usize) -> Self {
        let (start, length) = chunk.byte_range();
        Self {
            file,
            column: chunk.column_descr_ptr(),
            unpacker: Unpacker::new(chunk.compression()),
            limit,
            next: start,
            end: start.saturating_add(length),
            header: None,
            ahead: (start, Bytes::new()),
        }
    }

    /// The header of the next page, which is read if it has not been.
    fn header(&mut self) -> Result<Option<&Header>> {
        while self.header.is_none() {
            if self.next >= self.end {
                return Ok(None);
            }
            let (header, length) = self.read_header()?;
            self.next += length as u64;
            if header.packed as u64 > self.end - self.next {
                return Err(self.fault("a page is longer than what is left of its column"));
            }
            if header.unpacked > self.limit || header.packed > self.limit {
                let (size, limit) = (header.unpacked.max(header.packed), self.limit);
                return Err(
                    self.fault(&format!("a page takes {size} bytes of memory, and at most {limit} may be taken"))
                );
            }
            if matches!(header.kind, Kind::Index) {
                self.next += header.packed as u64;
                continue;
            }
            self.header = Some(header);
        }
        Ok(self.header.as_ref())
    }

    fn read_header(&mut self) -> Result<(Header, usize)> {
        let left = self.end - self.next;
        let mut wanted = left.min(COMMON_HEADER);
        loop {
            if (self.held().len() as u64) < wanted {
                let length = left.min(wanted.max(AHEAD));
                let length = usize::try_from(length).map_err(|_| self.fault("a page is too long"))?;
                self.ahead = (self.next, self.file.get_bytes(self.next, length)?);
            }
            let held = self.held();
            if let Some(found) = Header::read(&held) {
                return Ok(found);
            }
            let held = held.len() as u64;
            if held >= left.min(LONGEST_HEADER) {
                return Err(self.fault("a page has no header"));
            }
            wanted = held.saturating_mul(4).min(left);
        }
    }

    /// What has been read of the bytes from the next place on.
    fn held(&self) -> Bytes {
        let (start, bytes) = &self.ahead;
        let skipped = self.next.checked_sub(*start).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.filter(|skipped| *skipped <= bytes.len()).map_or_else(Bytes::new, |skipped| bytes.slice(skipped..))
    }

    /// The bytes of the next page, whose header has been read, as they are in the file.
    fn packed(&mut self, length: usize) -> Result<Bytes> {
        let held = self.held();
        let packed =
            if length <= held.len() { held.slice(..length) } else { self.file.get_bytes(self.next, length)? };
        self.next += length as u64;
        Ok(packed)
    }

    /// Passes over the next page, if its header has been read.
    fn pass(&mut self) {
        if let Some(header) = self.header.take() {
            self.next += header.packed as u64;
        }
    }

    fn page(&mut self) -> Result<Option<Page>> {
        self.header()?;
        let Some(header) = self.header.take() else { return Ok(None) };
        let packed = self.packed(header.packed)?;
        // Levels of a second version's page are not packed.
        let (plain, is_packed) = match &header.kind {
            Kind::DataV2(page) => {
                let plain =
                    usize::try_from(u64::from(page.definition) + u64::from(page.repetition)).unwrap_or(usize::MAX);
                (plain, page.is_packed)
            }
            _ => (0, true),
        };
        let buf = if self.unpacker.is_idle() || !is_packed {
            packed
        } else {
            let (Some((levels, values)), Some(length)) =
                (packed.split_at_checked(plain), header.unpacked.checked_sub(plain))
            else {
                return Err(self.fault("a page has more levels than bytes"));
            };
            let mut unpacked = Vec::new();
            if !levels.is_empty() {
                unpacked.reserve_exact(header.unpacked);
                unpacked.extend_from_slice(levels);
            }
            // A page without values may have nothing that could be unpacked.
            if length > 0 {
                self.unpacker.unpack(values, length, &mut unpacked).map_err(|error| self.of_column(error))?;
            }
            unpacked.into()
        };
        if plain > buf.len() {
            return Err(self.fault("a page has more levels than bytes"));
        }
        let page = match header.kind {
            Kind::Dictionary { values: num_values, encoding, is_sorted } => {
                Page::DictionaryPage { buf, num_values, encoding, is_sorted }
            }
            Kind::Data { values: num_values, encoding, definition, repetition } => Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: definition,
                rep_level_encoding: repetition,
                statistics: None,
            },
            Kind::DataV2(page) => Page::DataPageV2 {
                buf,
                num_values: page.values,
                encoding: page.encoding,
                num_nulls: page.nulls,
                num_rows: page.rows,
                def_levels_byte_len: page.definition,
                rep_levels_byte_len: page.repetition,
                is_compressed: page.is_packed,
                statistics: None,
            },
            Kind::Index => return Ok(None),
        };
        values::check(&page, &self.column, self.limit).map_err(|fault| self.fault(fault))?;
        Ok(Some(page))
    }

    fn fault(&self, fault: &str) -> ParquetError {
        ParquetError::General(format!("column `{}`: {fault}", self.column.path().string()))
    }

    fn of_column(&self, error: ParquetError) -> ParquetError {
        self.fault(&error.to_string())
    }
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
            Kind::Dictionary { .. } => metadata(None, None, true),
            Kind::Data { values, .. } => metadata(None, count(*values), false),
            Kind::DataV2(page) => metadata(count(page.rows), count(page.values), false),
            Kind::Index => metadata(None, None, false),
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.header()?;
        self.pass();
        Ok(())
    }
}
