//! Checksums of a file's blocks, so that a part of the file can be checked before it is used.

use super::error::DatasetError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::iter::StepBy;
use std::ops::Range;
use std::path::{Path, PathBuf};
use trueup_store::BLOCK_BYTES;

/// [`BLOCK_BYTES`] as a length in memory.
const BLOCK_LENGTH: usize = 1 << 16;

const _: () = assert!(BLOCK_LENGTH as u64 == BLOCK_BYTES);

/// The bytes of a checksum. Half of them would still find every accident, but nobody can make another block with the
/// same 128 bits.
const SUM_BYTES: usize = 16;

/// The checksums of a file's blocks, in order: the first 16 bytes of the BLAKE3 hash of each. JSON has them in Base64
/// without padding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSums(Box<[u8]>);

impl BlockSums {
    /// Takes the checksums of all blocks, one after another; `None` if the last one is cut.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.len().is_multiple_of(SUM_BYTES).then(|| Self(bytes.into()))
    }

    /// Returns the checksums of all blocks, one after another.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the number of checksums.
    pub(super) fn len(&self) -> u64 {
        (self.0.len() / SUM_BYTES) as u64
    }

    /// Returns the checksum of the block with a number.
    fn get(&self, number: u64) -> Option<&[u8]> {
        let start = usize::try_from(number).ok()?.checked_mul(SUM_BYTES)?;
        self.0.get(start..start.checked_add(SUM_BYTES)?)
    }
}

impl Serialize for BlockSums {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        STANDARD_NO_PAD.encode(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BlockSums {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD_NO_PAD.decode(text).map_err(D::Error::custom)?;
        Self::from_bytes(&bytes).ok_or_else(|| D::Error::custom("a checksum of a block is cut"))
    }
}

/// Computes the checksum of each block of a file while it is written.
#[derive(Clone, Debug, Default)]
pub struct BlockHasher {
    /// The checksums of complete blocks.
    sums: Vec<u8>,
    current: blake3::Hasher,
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

    /// Returns the checksums.
    #[must_use]
    pub fn finish(mut self) -> BlockSums {
        if self.length > 0 {
            self.end_block();
        }
        BlockSums(self.sums.into())
    }

    fn end_block(&mut self) {
        self.length = 0;
        self.sums.extend_from_slice(&sum(&self.current.finalize()));
        self.current.reset();
    }
}

/// Returns the beginning of a hash, which no two contents share: the checksum of a block.
pub(super) fn sum(hash: &blake3::Hash) -> [u8; SUM_BYTES] {
    let mut sum = [0; SUM_BYTES];
    sum.iter_mut().zip(hash.as_bytes()).for_each(|(sum, byte)| *sum = *byte);
    sum
}

/// The length of a file and the checksums of its blocks, as the manifest says.
#[derive(Debug)]
pub(super) struct BlockChecksums {
    path: PathBuf,
    size: u64,
    /// One for each block.
    sums: BlockSums,
}

impl BlockChecksums {
    /// Takes the checksums of the file of `size` bytes at `path`, one for each block.
    pub(super) fn new(path: PathBuf, size: u64, sums: BlockSums) -> Result<Self, DatasetError> {
        let (found, blocks) = (sums.len(), size.div_ceil(BLOCK_BYTES));
        if found != blocks {
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

    /// Returns the checksums.
    pub(super) const fn sums(&self) -> &BlockSums {
        &self.sums
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
            if self.sums.get(from / BLOCK_BYTES) != Some(&sum(&blake3::hash(block))) {
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
