//! Checksums of a file's blocks, so that a part of the file can be checked before it is used.

use super::error::DatasetError;
use super::manifest::BLOCK_BYTES;
use std::iter::StepBy;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// [`BLOCK_BYTES`] as a length in memory.
const BLOCK_LENGTH: usize = 1 << 16;

const _: () = assert!(BLOCK_LENGTH as u64 == BLOCK_BYTES);

/// Computes the CRC-32 of each block of a file while it is written.
#[derive(Clone, Debug, Default)]
pub struct BlockHasher {
    /// The checksums of complete blocks, as [`finish`](Self::finish) returns them.
    sums: String,
    current: crc32fast::Hasher,
    /// Bytes of the current block.
    length: u64,
}

impl BlockHasher {
    /// Adds the next bytes of the file.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(BLOCK_BYTES - self.length).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.current.update(now);
            self.length += now.len() as u64;
            if self.length == BLOCK_BYTES {
                self.end_block();
            }
            bytes = later;
        }
    }

    /// Returns the checksums, eight digits of lower-case hex each.
    #[must_use]
    pub fn finish(mut self) -> String {
        if self.length > 0 {
            self.end_block();
        }
        self.sums
    }

    fn end_block(&mut self) {
        self.length = 0;
        self.sums += &format!("{:08x}", std::mem::take(&mut self.current).finalize());
    }
}

/// The length of a file and the checksums of its blocks, as the manifest says.
#[derive(Debug)]
pub(super) struct BlockChecksums {
    path: PathBuf,
    size: u64,
    /// Eight digits for each block, as [`BlockHasher`] computes them.
    sums: String,
}

impl BlockChecksums {
    /// Takes the checksums of the file of `size` bytes at `path`, one for each block.
    pub(super) fn new(path: PathBuf, size: u64, sums: String) -> Result<Self, DatasetError> {
        let blocks = size.div_ceil(BLOCK_BYTES);
        if Some(sums.len() as u64) != blocks.checked_mul(8) || !sums.is_ascii() {
            let found = sums.len() as u64 / 8;
            return Err(DatasetError::Length { path, unit: "checksums of blocks", found, promised: blocks });
        }
        Ok(Self { path, size, sums })
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the file in bytes.
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the range of the bytes of the blocks that contain `bytes` of the file.
    pub(super) fn blocks_around(&self, bytes: &Range<u64>) -> Range<u64> {
        let end = bytes.end.min(self.size);
        let start = bytes.start.min(end) / BLOCK_BYTES * BLOCK_BYTES;
        start..end.checked_next_multiple_of(BLOCK_BYTES).map_or(self.size, |end| end.min(self.size)).max(start)
    }

    /// Compares whole blocks, the first of which begins at `start`, with their checksums.
    pub(super) fn check(&self, start: u64, bytes: &[u8]) -> Result<(), DatasetError> {
        for (from, block) in starts(start).zip(bytes.chunks(BLOCK_LENGTH)) {
            let sum = format!("{:08x}", crc32fast::hash(block));
            let number = usize::try_from(from / BLOCK_BYTES).unwrap_or(usize::MAX);
            let digits = number.saturating_mul(8)..number.saturating_add(1).saturating_mul(8);
            if self.sums.get(digits) != Some(&sum) {
                return Err(DatasetError::Checksum { path: self.path.clone(), from });
            }
        }
        Ok(())
    }
}

/// Returns the position of each block, beginning with the one at `start`.
fn starts(start: u64) -> StepBy<Range<u64>> {
    (start..u64::MAX).step_by(BLOCK_LENGTH)
}
