//! A part of a file that has been read.

use bytes::{Buf, Bytes, buf::Reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::ops::Range;

/// Bytes of a file from some place on, read by their places in the file.
#[derive(Clone, Debug)]
pub(super) struct FileSlice {
    /// The length of the file.
    file: u64,
    start: u64,
    bytes: Bytes,
}

impl FileSlice {
    /// The bytes of a file of that length that begin at `start`.
    pub(super) const fn new(file: u64, start: u64, bytes: Bytes) -> Self {
        Self { file, start, bytes }
    }

    /// Whether the byte at that place of the file was read.
    pub(super) fn holds(&self, at: u64) -> bool {
        self.start <= at && at - self.start < self.bytes.len() as u64
    }

    /// What was read of some bytes.
    pub(super) fn within(&self, bytes: &Range<u64>) -> Bytes {
        let place = |at: u64| {
            usize::try_from(at.saturating_sub(self.start)).map_or(self.bytes.len(), |at| at.min(self.bytes.len()))
        };
        let (start, end) = (place(bytes.start), place(bytes.end));
        self.bytes.slice(start..end.max(start))
    }

    fn from(&self, start: u64) -> Result<Bytes> {
        let from = start.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        let from = from.filter(|from| *from <= self.bytes.len());
        from.map(|from| self.bytes.slice(from..)).ok_or_else(|| outside(start))
    }
}

impl Length for FileSlice {
    fn len(&self) -> u64 {
        self.file
    }
}

impl ChunkReader for FileSlice {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.from(start)?;
        if length > bytes.len() { Err(outside(start)) } else { Ok(bytes.slice(..length)) }
    }
}

fn outside(start: u64) -> ParquetError {
    ParquetError::EOF(format!("the bytes from {start} on are not those of the columns"))
}
