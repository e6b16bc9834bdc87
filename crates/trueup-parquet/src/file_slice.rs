//! Bytes of a file that were checked, as the source from which Parquet's reader decodes.

use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::ops::Range;

/// Consecutive bytes of a file, addressed by their positions in the file.
#[derive(Clone, Debug)]
pub struct FileSlice {
    /// The length of the file.
    file_length: u64,
    start: u64,
    bytes: Bytes,
}

impl FileSlice {
    /// Wraps the bytes from `start` on of a file of `file_length` bytes.
    #[must_use]
    pub const fn new(file_length: u64, start: u64, bytes: Bytes) -> Self {
        Self { file_length, start, bytes }
    }

    /// Returns whether the slice has the byte at a position of the file.
    #[must_use]
    pub fn contains(&self, at: u64) -> bool {
        self.start <= at && at - self.start < self.bytes.len() as u64
    }

    /// Returns the part of the file's `bytes` that the slice has.
    #[must_use]
    pub fn within(&self, bytes: &Range<u64>) -> Bytes {
        let index = |at: u64| {
            usize::try_from(at.saturating_sub(self.start)).map_or(self.bytes.len(), |at| at.min(self.bytes.len()))
        };
        let (start, end) = (index(bytes.start), index(bytes.end));
        self.bytes.slice(start..end.max(start))
    }

    /// Returns the bytes of the slice from a position of the file on.
    fn from(&self, start: u64) -> ParquetResult<Bytes> {
        let from = start.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        let from = from.filter(|from| *from <= self.bytes.len());
        from.map(|from| self.bytes.slice(from..)).ok_or_else(|| outside(start))
    }
}

impl Length for FileSlice {
    fn len(&self) -> u64 {
        self.file_length
    }
}

impl ChunkReader for FileSlice {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.from(start)?;
        if length > bytes.len() { Err(outside(start)) } else { Ok(bytes.slice(..length)) }
    }
}

fn outside(start: u64) -> ParquetError {
    ParquetError::EOF(format!("the bytes from {start} on are not those of the columns"))
}
