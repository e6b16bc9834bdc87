//! Checksums of a file's blocks, so that a part of it can be checked before it is believed.

use super::manifest::DataFile;
use crate::error::DatasetError;
use std::iter::StepBy;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes in a block; the last one of a file may be shorter.
pub(super) const BLOCK: u64 = 1 << 16;

/// The same, for what is in memory.
const LENGTH: usize = 1 << 16;

/// The CRC-32s of a file's blocks, gathered while it is written.
#[derive(Clone, Debug, Default)]
pub struct BlockHasher {
    sums: String,
    current: crc32fast::Hasher,
    length: u64,
}

impl BlockHasher {
    /// Adds the next bytes of the file.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(BLOCK - self.length).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.current.update(now);
            self.length += now.len() as u64;
            if self.length == BLOCK {
                self.end_block();
            }
            bytes = later;
        }
    }

    /// The checksums, eight digits of lower-case hex each.
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

/// What a manifest promises of a file's bytes.
#[derive(Debug)]
pub(super) struct BlockChecksums {
    path: PathBuf,
    size: u64,
    sums: String,
}

impl BlockChecksums {
    /// The promise of the file at `path`, which must have a checksum for each block.
    pub(super) fn new(path: PathBuf, promised: &DataFile) -> Result<Self, DatasetError> {
        let blocks = promised.size.div_ceil(BLOCK);
        let sums = promised.blocks.clone();
        if Some(sums.len() as u64) != blocks.checked_mul(8) || !sums.is_ascii() {
            let found = sums.len() as u64 / 8;
            return Err(DatasetError::Length { path, unit: "checksums of blocks", found, promised: blocks });
        }
        Ok(Self { path, size: promised.size, sums })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file.
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// The blocks that hold `bytes` of the file, as the bytes from the begin of the first to the end of the last.
    pub(super) fn around(&self, bytes: &Range<u64>) -> Range<u64> {
        let end = bytes.end.min(self.size);
        let start = bytes.start.min(end) / BLOCK * BLOCK;
        start..end.checked_next_multiple_of(BLOCK).map_or(self.size, |end| end.min(self.size)).max(start)
    }

    /// Compares bytes that begin with the block at `start`, and end with a block, with what is promised.
    pub(super) fn check(&self, start: u64, bytes: &[u8]) -> Result<(), DatasetError> {
        for (from, block) in starts(start).zip(bytes.chunks(LENGTH)) {
            let sum = format!("{:08x}", crc32fast::hash(block));
            let number = usize::try_from(from / BLOCK).unwrap_or(usize::MAX);
            let digits = number.saturating_mul(8)..number.saturating_add(1).saturating_mul(8);
            if self.sums.get(digits) != Some(&sum) {
                return Err(DatasetError::Checksum { path: self.path.clone(), from });
            }
        }
        Ok(())
    }
}

/// Where blocks begin, from the one at `start`.
fn starts(start: u64) -> StepBy<Range<u64>> {
    (start..u64::MAX).step_by(LENGTH)
}
