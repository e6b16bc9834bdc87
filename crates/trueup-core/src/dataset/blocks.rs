//! Checksums of a file's blocks, so that a part of it can be checked before it is believed.

use super::manifest::DataFile;
use super::window::Window;
use crate::error::DatasetError;
use parquet::file::reader::ChunkReader;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::iter::StepBy;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes in a block; the last one of a file may be shorter.
pub(super) const BLOCK: u64 = 1 << 16;

/// The same, for what is in memory.
const LENGTH: usize = 1 << 16;

/// The CRC-32s of a file's blocks, gathered while it is written.
#[derive(Clone, Debug, Default)]
pub struct BlockSums {
    sums: String,
    current: crc32fast::Hasher,
    length: u64,
}

impl BlockSums {
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

/// What a manifest says of a file's blocks, and which of them have been found so.
#[derive(Debug)]
pub(super) struct Blocks {
    path: PathBuf,
    size: u64,
    sums: String,
    checked: Vec<AtomicBool>,
}

impl Blocks {
    pub(super) fn new(path: &Path, promised: &DataFile) -> Result<Self, DatasetError> {
        let blocks = promised.size.div_ceil(BLOCK);
        let sums = promised.blocks.clone();
        if sums.len() as u64 != blocks * 8 || !sums.is_ascii() {
            let (path, found) = (path.to_owned(), sums.len() as u64 / 8);
            return Err(DatasetError::Length { path, unit: "checksums of blocks", found, promised: blocks });
        }
        let checked = (0..blocks).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { path: path.to_owned(), size: promised.size, sums, checked })
    }

    /// Looks at the blocks that hold `bytes` of the file, unless they have been found sound before, and goes back to its start.
    pub(super) fn check(&self, mut file: &File, bytes: Range<u64>) -> Result<(), DatasetError> {
        for start in self.starts(&bytes) {
            if !self.is_sound(start) {
                self.read(file, start..start + 1)?;
            }
        }
        file.rewind().map_err(|source| DatasetError::Io { path: self.path.clone(), source })
    }

    /// Reads the blocks that hold `bytes` of the file, which must be sound.
    pub(super) fn read(&self, mut file: &File, bytes: Range<u64>) -> Result<Window, DatasetError> {
        let failed = |source| DatasetError::Io { path: self.path.clone(), source };
        let end = bytes.end.min(self.size);
        let start = bytes.start.min(end) / BLOCK * BLOCK;
        let length = end.next_multiple_of(BLOCK).min(self.size) - start;
        let mut read = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        file.take(length).read_to_end(&mut read).map_err(failed)?;
        let mut rest = &*read;
        for start in self.starts(&bytes) {
            let (block, later) = rest.split_at(rest.len().min(LENGTH));
            rest = later;
            if !self.is_sound(start) {
                let sum = format!("{:08x}", crc32fast::hash(block));
                let number = self.number(start);
                if self.sums.get(number * 8..number * 8 + 8) != Some(&sum) {
                    return Err(DatasetError::Checksum { path: self.path.clone(), from: start });
                }
                self.checked[number].store(true, Ordering::Relaxed);
            }
        }
        Ok(Window::new(self.size, start, read.into()))
    }

    /// Reads a Parquet file's footer: its last bytes say how long it is.
    pub(super) fn read_footer(&self, file: &File) -> Result<Window, DatasetError> {
        let tail = self.size.saturating_sub(8);
        let last = self.read(file, tail..self.size)?;
        let length = last.get_bytes(tail, 4).ok().and_then(|length| length.as_ref().try_into().ok());
        let start = tail.saturating_sub(length.map_or(0, u32::from_le_bytes).into());
        if last.holds(start) { Ok(last) } else { self.read(file, start..self.size) }
    }

    /// Where the blocks begin that hold the bytes.
    fn starts(&self, bytes: &Range<u64>) -> StepBy<Range<u64>> {
        let end = bytes.end.min(self.size);
        (bytes.start.min(end) / BLOCK * BLOCK..end).step_by(LENGTH)
    }

    fn number(&self, start: u64) -> usize {
        usize::try_from(start / BLOCK).unwrap_or(usize::MAX)
    }

    fn is_sound(&self, start: u64) -> bool {
        self.checked[self.number(start)].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::io::Write;

    #[test]
    fn every_changed_byte_is_found() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
        let mut sums = BlockSums::default();
        bytes.chunks(777).for_each(|chunk| sums.add(chunk));
        let promised = DataFile {
            path: String::new(),
            size: bytes.len() as u64,
            rows: 0,
            sha256: String::new(),
            blocks: sums.finish(),
        };
        assert_eq!(promised.blocks.len(), 4 * 8);
        for changed in [0, 65_535, 65_536, 131_072, 199_999] {
            let mut file = tempfile::tempfile().unwrap();
            let mut other = bytes.clone();
            other[changed] ^= 1;
            file.write_all(&other).unwrap();
            let blocks = Blocks::new(Path::new("f"), &promised).unwrap();
            let at = changed as u64;
            assert!(blocks.check(&file, at..at + 1).is_err(), "{changed}");
            assert!(blocks.check(&file, 0..promised.size).is_err(), "{changed}");
            file.rewind().unwrap();
            file.write_all(&bytes).unwrap();
            assert!(blocks.check(&file, 0..promised.size).is_ok(), "{changed}");
        }
    }
}
