//! Column chunks of a stored file that are read as a whole. Page by page, most blocks of the file would be read and
//! verified several times, and in a store each read is a round trip.

use bytes::{Buf, Bytes};
use parquet::file::reader::{ChunkReader, Length};
use std::io::Read;
use trueup_core::dataset::{CheckedFile, DatasetError};

/// Chunks with at most this many bytes between them are read together: the blocks at their ends are mostly the same.
const MAX_GAP: u64 = 64 << 10;

/// A file of the dataset, some column chunks of which were read as a whole.
#[derive(Clone)]
pub(crate) struct BufferedChunks {
    file: CheckedFile,
    /// Bytes that were read together, and the position of the first one: ascending.
    held: Vec<(u64, Bytes)>,
}

impl BufferedChunks {
    /// Reads chunks, each given by its position and its length.
    pub(crate) fn read(file: CheckedFile, chunks: impl Iterator<Item = (u64, u64)>) -> Result<Self, DatasetError> {
        let mut chunks: Vec<(u64, u64)> = chunks.collect();
        chunks.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (start, length) in chunks {
            let end = start.saturating_add(length);
            match ranges.last_mut() {
                Some((_, last)) if start <= last.saturating_add(MAX_GAP) => *last = end.max(*last),
                _ => ranges.push((start, end)),
            }
        }
        let held = ranges.into_iter().map(|(start, end)| Ok((start, file.bytes(&(start..end))?)));
        let held = held.collect::<Result<_, DatasetError>>()?;
        Ok(Self { file, held })
    }

    /// Returns the held bytes from a position of the file on; `None` if the position is not held.
    fn held(&self, at: u64) -> Option<Bytes> {
        let before = self.held.partition_point(|(start, _)| *start <= at).checked_sub(1)?;
        let (start, bytes) = self.held.get(before)?;
        let from = usize::try_from(at - start).ok()?;
        (from < bytes.len()).then(|| bytes.slice(from..))
    }
}

impl Length for BufferedChunks {
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl ChunkReader for BufferedChunks {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(match self.held(start) {
            Some(bytes) => Box::new(bytes.reader()),
            None => Box::new(self.file.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        match self.held(start).filter(|bytes| length <= bytes.len()) {
            Some(bytes) => Ok(bytes.slice(..length)),
            None => self.file.get_bytes(start, length),
        }
    }
}
