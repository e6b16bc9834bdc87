//! Files of a dataset, of which nothing is read that has not been compared with its checksum.

use super::blocks::BlockChecksums;
use super::file_slice::FileSlice;
use super::manifest::DataFile;
use super::plain::open_plain;
use crate::error::DatasetError;
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The bytes that are read at once from a file that is read from its begin to its end.
const PIECE: u64 = 1 << LOG_PIECE;

/// The same, for what is in memory.
const LENGTH: usize = 1 << LOG_PIECE;

const LOG_PIECE: u32 = 20;

/// An open file of a dataset: a plain file, as long as the manifest promises. Every byte that it gives out has been compared with the
/// manifest's checksums after it was read, each time that it is read: a file whose bytes change while it is open gives an error and
/// never other bytes.
#[derive(Clone, Debug)]
pub struct CheckedFile {
    blocks: Arc<BlockChecksums>,
    file: Arc<File>,
}

impl CheckedFile {
    /// Opens a file that the manifest of a dataset's folder names.
    ///
    /// # Errors
    /// There is no such file, it is no plain file or lies behind a symbolic link, or it is not as long as promised.
    pub fn open(folder: &Path, promised: &DataFile) -> Result<Self, DatasetError> {
        let path = folder.join(&promised.path);
        let file = open_plain(folder, &promised.path).map_err(|error| error.of(&path))?;
        match file.metadata().map(|metadata| metadata.len()) {
            Ok(found) if found == promised.size => {}
            Ok(found) => return Err(DatasetError::Length { path, unit: "bytes", found, promised: promised.size }),
            Err(source) => return Err(DatasetError::Io { path, source }),
        }
        Ok(Self { blocks: Arc::new(BlockChecksums::new(path, promised)?), file: Arc::new(file) })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.blocks.path()
    }

    /// Reads the blocks that hold `bytes` of the file.
    pub(super) fn read(&self, bytes: &Range<u64>) -> Result<FileSlice, DatasetError> {
        let around = self.blocks.around(bytes);
        let read = self.read_around(&around)?;
        self.blocks.check(around.start, &read)?;
        Ok(FileSlice::new(self.blocks.size(), around.start, read.into()))
    }

    /// Some bytes of the file, as much as it has of them.
    ///
    /// # Errors
    /// They cannot be read, or differ from what was written.
    pub fn bytes(&self, bytes: &Range<u64>) -> Result<Bytes, DatasetError> {
        Ok(self.read(bytes)?.within(bytes))
    }

    /// All bytes of the file.
    ///
    /// # Errors
    /// They cannot be read, or differ from what was written.
    pub fn whole(&self) -> Result<Bytes, DatasetError> {
        self.bytes(&(0..self.blocks.size()))
    }

    /// The file from its begin to its end, piece by piece.
    #[must_use]
    pub fn reader(&self) -> CheckedReader {
        CheckedReader { file: self.clone(), next: 0, bytes: Bytes::new() }
    }

    /// Reads a Parquet file's footer: its last bytes say how long it is.
    pub(super) fn read_footer(&self) -> Result<FileSlice, DatasetError> {
        let size = self.blocks.size();
        let tail = size.saturating_sub(8);
        let last = self.read(&(tail..size))?;
        let length = last.get_bytes(tail, 4).ok().and_then(|length| length.as_ref().try_into().ok());
        let start = tail.saturating_sub(length.map_or(0, u32::from_le_bytes).into());
        if last.holds(start) { Ok(last) } else { self.read(&(start..size)) }
    }

    /// The SHA-256 of the file as it is, in lower-case hex, to be compared with that of the manifest.
    pub(super) fn sha256(&self) -> Result<String, DatasetError> {
        let mut digest = Sha256::new();
        for start in (0..self.blocks.size()).step_by(LENGTH) {
            digest.update(self.read_around(&(start..(start + PIECE).min(self.blocks.size())))?);
        }
        Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads bytes that have not been checked yet.
    fn read_around(&self, bytes: &Range<u64>) -> Result<Vec<u8>, DatasetError> {
        let failed = |source| DatasetError::Io { path: self.path().to_owned(), source };
        let length = usize::try_from(bytes.end - bytes.start)
            .map_err(|_| failed(io::Error::from(io::ErrorKind::OutOfMemory)))?;
        let mut read = Vec::with_capacity(length);
        FileAt { file: self.file.clone(), at: bytes.start }
            .take(length as u64)
            .read_to_end(&mut read)
            .map_err(failed)?;
        if read.len() == length {
            return Ok(read);
        }
        // It was as long as promised when it was opened.
        let found = bytes.start + read.len() as u64;
        Err(DatasetError::Length { path: self.path().to_owned(), unit: "bytes", found, promised: self.blocks.size() })
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.blocks.size()
    }
}

impl ChunkReader for CheckedFile {
    type T = CheckedReader;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(CheckedReader { file: self.clone(), next: start, bytes: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.blocks.size());
        let Some(end) = end else {
            return Err(ParquetError::EOF(format!("{length} bytes from {start} on are more than the file has")));
        };
        self.bytes(&(start..end)).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// A checked file that is read from some place to its end.
#[derive(Debug)]
pub struct CheckedReader {
    file: CheckedFile,
    /// Where the bytes begin that have not been read.
    next: u64,
    /// What has been read and checked, and not been given out.
    bytes: Bytes,
}

impl BufRead for CheckedReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let size = self.file.blocks.size();
        if self.bytes.is_empty() && self.next < size {
            let end = (self.next / PIECE).saturating_add(1).saturating_mul(PIECE).min(size);
            self.bytes = self.file.bytes(&(self.next..end)).map_err(io::Error::other)?;
            self.next = end;
        }
        Ok(&self.bytes)
    }

    fn consume(&mut self, amount: usize) {
        drop(self.bytes.split_to(amount.min(self.bytes.len())));
    }
}

impl Read for CheckedReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut held = self.fill_buf()?;
        let read = held.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

/// The error of a [`CheckedReader`], as it was before it became one of the standard library.
pub(super) fn of_reader(error: io::Error, path: &Path) -> DatasetError {
    match error.downcast::<DatasetError>() {
        Ok(error) => error,
        Err(source) => DatasetError::Io { path: path.to_owned(), source },
    }
}

/// A file that is read from some place, whoever else is reading it.
#[derive(Debug)]
pub struct FileAt {
    /// The file, whose own position is left alone.
    pub file: Arc<File>,
    /// Where the next byte is read.
    pub at: u64,
}

impl Read for FileAt {
    #[cfg(unix)]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }

    #[cfg(windows)]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = std::os::windows::fs::FileExt::seek_read(&*self.file, into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::super::BlockHasher;
    use super::*;
    use std::fs;
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// A file of more than three blocks, its bytes, and what a manifest says of it.
    fn written() -> (TempDir, PathBuf, Vec<u8>, DataFile) {
        let dir = TempDir::new().unwrap();
        let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
        let mut sums = BlockHasher::default();
        bytes.chunks(777).for_each(|chunk| sums.add(chunk));
        let blocks = sums.finish();
        assert_eq!(blocks.len(), 4 * 8);
        let path = dir.path().join("f");
        fs::write(&path, &bytes).unwrap();
        let size = bytes.len() as u64;
        (dir, path, bytes, DataFile { path: "f".to_owned(), size, rows: 0, sha256: String::new(), blocks })
    }

    #[test]
    fn a_file_gives_out_its_bytes_whatever_part_is_read() {
        let (dir, _, bytes, promised) = written();
        let file = CheckedFile::open(dir.path(), &promised).unwrap();
        for (start, end) in [(0, 1), (65_535, 65_537), (65_536, 131_072), (70_000, 199_999), (199_999, 300_000), (5, 5)]
        {
            let expected = &bytes[usize::try_from(start).unwrap()..usize::try_from(end).unwrap().min(bytes.len())];
            assert_eq!(file.bytes(&(start..end)).unwrap(), expected, "{start}..{end}");
        }
        assert_eq!(file.whole().unwrap(), bytes);
        let mut read = Vec::new();
        file.get_read(77).unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, &bytes[77..]);
        assert!(file.get_bytes(199_999, 2).is_err());
        assert!(file.get_bytes(u64::MAX, 2).is_err());
    }

    #[test]
    fn a_byte_that_changes_while_the_file_is_open_is_found_each_time() {
        let (dir, path, bytes, promised) = written();
        let file = CheckedFile::open(dir.path(), &promised).unwrap();
        assert_eq!(file.whole().unwrap(), bytes);
        for at in [0, 65_535, 65_536, 131_072, 199_999] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            let at = at as u64;
            let from = at / 65_536 * 65_536;
            let found =
                |error: DatasetError| matches!(error, DatasetError::Checksum { from: found, .. } if found == from);
            for _ in 0..2 {
                assert!(found(file.bytes(&(at..at + 1)).unwrap_err()), "{at}");
                assert!(found(file.whole().unwrap_err()), "{at}");
                assert!(found(of_reader(io::copy(&mut file.reader(), &mut io::sink()).unwrap_err(), &path)), "{at}");
            }
            fs::write(&path, &bytes).unwrap();
            assert_eq!(file.whole().unwrap(), bytes);
        }
        fs::write(&path, &bytes[..150_000]).unwrap();
        let cut = file.whole().unwrap_err().to_string();
        assert_eq!(cut, format!("`{}` has 150000 bytes, but the manifest says 200000", path.display()));
    }

    #[test]
    fn a_promise_without_a_checksum_for_each_block_is_refused() {
        let (dir, _, _, promised) = written();
        for blocks in ["", "00000000", &promised.blocks[1..], &format!("{}00000000", promised.blocks)] {
            let promised = DataFile { blocks: blocks.to_owned(), ..promised.clone() };
            assert!(CheckedFile::open(dir.path(), &promised).is_err(), "{blocks}");
        }
    }
}
