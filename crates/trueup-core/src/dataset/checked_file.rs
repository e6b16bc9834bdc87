//! Reading a dataset's file: every byte is compared with its block checksum before it is used.

#[cfg(test)]
mod tests;

use super::block_checksums::BlockChecksums;
use super::error::DatasetError;
use super::manifest::{DataFile, hex};
use crate::Interrupt;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use trueup_parquet::FileSlice;
use trueup_store::files::Files;
use trueup_store::{
    BLOCK_BYTES, CachedFile, Pending, ReadFault, Store, location_of, open_store, read_at, without_credentials,
};

/// The bytes that a sequential reader reads at a time.
const READ_BYTES: u64 = 1 << 20;

/// The bytes that a sequential reader reads at a time from a store, where each read takes a round trip.
const FETCHED_BYTES: u64 = 8 << 20;

/// The bytes at the end of an object that are read first for its footer. Most footers are shorter.
const FOOTER_BYTES: u64 = 256 << 10;

/// The most blocks between two ranges that are read from a store although neither range needs them. `docs/design.md`
/// says what other numbers would cost.
const BLOCKS_BETWEEN: u64 = (128 << 10) / BLOCK_BYTES;

/// A file that a manifest names: where it is, and what its bytes must be.
#[derive(Debug)]
pub(super) struct ExpectedFile {
    store: Arc<dyn Store>,
    /// The path below the folder, as in the manifest.
    name: String,
    blake3: String,
    checksums: BlockChecksums,
}

/// An open file of a dataset: a plain file, or an object of a store, with the length in the manifest. Its bytes are
/// compared with the manifest's checksums each time that they are read, so that a file whose bytes change while it is
/// open gives an error and never other bytes.
#[derive(Clone, Debug)]
pub struct CheckedFile {
    promised: Arc<ExpectedFile>,
    /// `None` in a store, where nothing is open between two reads.
    file: Option<Arc<File>>,
    /// What the block cache holds of an object; `None` for a file, or without a block cache.
    cached: Option<Arc<CachedFile>>,
    /// Ends the wait for a store.
    interrupt: Interrupt,
}

/// A read that has begun, of whole blocks.
#[derive(Debug)]
struct Reading {
    /// The range of the bytes of the blocks.
    blocks: Range<u64>,
    /// The part of `blocks` that comes from the store. A file, and what the block cache holds, is read when its bytes
    /// are needed.
    fetched: Range<u64>,
    /// The answer of the store; `None` if nothing comes from it.
    pending: Option<Pending>,
}

/// Reads of an object that have begun before their bytes are needed; none of a file. Dropping it cancels them.
#[derive(Debug, Default)]
pub(crate) struct StartedReads(Vec<Reading>);

impl StartedReads {
    /// Returns the number of bytes that come from the store.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|reading| reading.fetched.end - reading.fetched.start).sum()
    }

    /// Takes the read of blocks, if it has begun.
    fn take(&mut self, blocks: &Range<u64>) -> Option<Reading> {
        let found = self.0.iter().position(|reading| reading.blocks == *blocks)?;
        Some(self.0.swap_remove(found))
    }
}

impl ExpectedFile {
    /// Describes a file that the manifest of a dataset's folder names.
    pub(super) fn new(folder: &Path, promised: &DataFile) -> Result<Arc<Self>, DatasetError> {
        let checksums =
            BlockChecksums::new(location_of(folder, &promised.path), promised.size, promised.blocks.clone())?;
        let store = match open_store(folder, &Files::default()) {
            Ok(store) => store,
            Err(source) => return Err(DatasetError::Io { path: without_credentials(folder), source }),
        };
        Ok(Arc::new(Self { store, name: promised.path.clone(), blake3: promised.blake3.clone(), checksums }))
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        self.checksums.path()
    }

    /// Returns the length of the file in bytes.
    pub(super) const fn size(&self) -> u64 {
        self.checksums.size()
    }

    /// Returns whether the file is an object of a store.
    pub(super) fn is_remote(&self) -> bool {
        !self.store.is_folder()
    }

    /// Opens the file. An object of a store is compared with the manifest when it is read.
    ///
    /// # Errors
    /// The file is missing, not plain, reached through a symbolic link, or of another length.
    pub(super) fn open(self: &Arc<Self>) -> Result<CheckedFile, DatasetError> {
        let opened =
            |file, cached| CheckedFile { promised: self.clone(), file, cached, interrupt: Interrupt::default() };
        let Some(file) = self.store.open(&self.name).map_err(|fault| self.unread(fault))? else {
            return Ok(opened(None, CachedFile::open(|| self.cache_key(), self.size()).map(Arc::new)));
        };
        match file.metadata().map(|metadata| metadata.len()) {
            Ok(found) if found == self.size() => Ok(opened(Some(Arc::new(file)), None)),
            Ok(found) => Err(self.other_length(found)),
            Err(source) => Err(DatasetError::Io { path: self.path().to_owned(), source }),
        }
    }

    /// Returns the key of the object in the block cache: a hash of where the object is and of what its bytes must be,
    /// so that a dataset can only write what it reads itself.
    fn cache_key(&self) -> String {
        let mut digest = blake3::Hasher::new();
        let origin = self.path().as_os_str().as_encoded_bytes();
        let server = self.store.server().as_bytes();
        for part in [server, origin, self.blake3.as_bytes(), self.checksums.sums().as_bytes()] {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        hex(digest.finalize().as_bytes())
    }

    /// Checks that the file is there, and as long as the manifest says.
    pub(super) fn check_length(self: &Arc<Self>) -> Result<(), DatasetError> {
        if self.store.is_folder() {
            return self.open().map(drop);
        }
        match self.store.length(&self.name) {
            Ok(found) if found == self.size() => Ok(()),
            Ok(found) => Err(self.other_length(found)),
            Err(error) => Err(self.unread(ReadFault::Io(error))),
        }
    }

    /// Returns the error of a file that was not read.
    fn unread(&self, fault: ReadFault) -> DatasetError {
        let path = self.path().to_owned();
        match fault {
            ReadFault::Length(found) => self.other_length(found),
            ReadFault::NotPlain(found) => DatasetError::NotPlain { path, found },
            ReadFault::Io(error) if error.kind() == io::ErrorKind::NotFound => DatasetError::MissingFile { path },
            ReadFault::Io(source) => DatasetError::Io { path, source },
        }
    }

    fn other_length(&self, found: u64) -> DatasetError {
        DatasetError::Length { path: self.path().to_owned(), unit: "bytes", found, promised: self.size() }
    }
}

impl CheckedFile {
    /// Opens a file that the manifest of a dataset's folder names. An object of a store is compared with the manifest
    /// when it is read.
    ///
    /// # Errors
    /// The file is missing, not plain, reached through a symbolic link, or of another length; or `promised` does not
    /// have one checksum for each block.
    pub fn open(folder: &Path, promised: &DataFile) -> Result<Self, DatasetError> {
        ExpectedFile::new(folder, promised)?.open()
    }

    /// Lets an interrupt end the wait for a store.
    #[must_use]
    pub fn until(self, interrupt: &Interrupt) -> Self {
        Self { interrupt: interrupt.clone(), ..self }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.promised.path()
    }

    /// Reads the checksum blocks that contain `bytes` of the file.
    pub(super) fn read(&self, bytes: &Range<u64>) -> Result<FileSlice, DatasetError> {
        self.finish(self.start(bytes))
    }

    /// Reads ranges of the file, which are sorted, and returns a slice for each. Ranges that are near each other are
    /// read together. From a store, all are read at the same time; from a file, each is read when its slice is taken.
    /// If ranges that are read together cannot be read, there is one error for all of them.
    pub(super) fn read_ranges(
        &self,
        ranges: &[Range<u64>],
        mut ahead: StartedReads,
    ) -> impl Iterator<Item = Result<FileSlice, DatasetError>> + use<'_> {
        let started: Vec<_> = self
            .groups(ranges)
            .into_iter()
            .map(|(group, members)| (ahead.take(&self.blocks(&group)).unwrap_or_else(|| self.start(&group)), members))
            .collect();
        started.into_iter().flat_map(|(reading, members)| match self.finish(reading) {
            Ok(slice) => (0..members).map(|_| Ok(slice.clone())).collect(),
            Err(error) => vec![Err(error)],
        })
    }

    /// Returns the number of bytes that [`read_ranges`](Self::read_ranges) has in memory for all its slices.
    pub(super) fn read_bytes(&self, ranges: &[Range<u64>]) -> u64 {
        let blocks = self.groups(ranges).into_iter().map(|(group, _)| self.blocks(&group));
        blocks.map(|blocks| blocks.end - blocks.start).sum()
    }

    /// Starts to read ranges of an object, which are sorted. Of a file, nothing is read ahead.
    pub(super) fn read_ahead(&self, ranges: &[Range<u64>]) -> StartedReads {
        if self.file.is_some() {
            return StartedReads::default();
        }
        StartedReads(self.groups(ranges).iter().map(|(group, _)| self.start(group)).collect())
    }

    /// Returns the ranges that are read together, each with the number of `ranges` in it.
    fn groups(&self, ranges: &[Range<u64>]) -> Vec<(Range<u64>, usize)> {
        let between = if self.file.is_some() { 0 } else { BLOCKS_BETWEEN };
        let mut groups: Vec<(Range<u64>, usize)> = Vec::new();
        for range in ranges {
            match groups.last_mut() {
                Some((group, members))
                    if range.start / BLOCK_BYTES <= group.end.div_ceil(BLOCK_BYTES).saturating_add(between) =>
                {
                    group.end = group.end.max(range.end);
                    *members += 1;
                }
                _ => groups.push((range.clone(), 1)),
            }
        }
        groups
    }

    /// Returns the range of the bytes of the checksum blocks that contain `bytes` of the file.
    fn blocks(&self, bytes: &Range<u64>) -> Range<u64> {
        self.promised.checksums.blocks_around(bytes)
    }

    /// Starts to read the checksum blocks that contain `bytes` of the file.
    fn start(&self, bytes: &Range<u64>) -> Reading {
        let blocks = self.blocks(bytes);
        let fetched = match &self.cached {
            _ if self.file.is_some() => blocks.end..blocks.end,
            None => blocks.clone(),
            Some(cached) => cached.missing(&blocks),
        };
        self.fetch(blocks, fetched)
    }

    /// Starts to read blocks: those of `fetched` from the store.
    fn fetch(&self, blocks: Range<u64>, fetched: Range<u64>) -> Reading {
        let ExpectedFile { store, name, checksums, .. } = &*self.promised;
        let pending = (!fetched.is_empty()).then(|| store.fetch(name, &fetched, checksums.size()));
        Reading { blocks, fetched, pending }
    }

    /// Returns blocks once they are read, if they have their checksums.
    fn finish(&self, reading: Reading) -> Result<FileSlice, DatasetError> {
        let start = reading.blocks.start;
        let (read, checked) = self.read_blocks(reading)?;
        checked?;
        Ok(FileSlice::new(self.promised.size(), start, read))
    }

    /// Returns blocks, and the fault if they do not have their checksums. Blocks of a store that do not have them are
    /// requested once more, because an answer may be damaged on its way. If some came from the cache, whose disk may
    /// have damaged them, all are requested up to twice.
    fn read_blocks(&self, mut reading: Reading) -> Result<(Bytes, Result<(), DatasetError>), DatasetError> {
        let Range { start, end } = reading.blocks;
        let mut repetitions = if self.file.is_some() { 0 } else { 1 + u8::from(reading.fetched != reading.blocks) };
        loop {
            let fetched = reading.fetched.clone();
            let read = self.assemble(reading)?;
            let checked = self.promised.checksums.check(start, &read);
            if let (Ok(()), Some(cached)) = (&checked, &self.cached) {
                cached.write(&fetched, start, &read);
            }
            if checked.is_ok() || repetitions == 0 {
                return Ok((read, checked));
            }
            repetitions -= 1;
            reading = self.fetch(start..end, start..end);
        }
    }

    /// Returns the bytes of blocks as they are.
    fn assemble(&self, Reading { blocks, fetched, pending }: Reading) -> Result<Bytes, DatasetError> {
        let fetched_bytes = match pending {
            Some(pending) => {
                pending.wait_while(|| self.interrupt.check())?.map_err(|fault| self.promised.unread(fault))?
            }
            None => Bytes::new(),
        };
        match &self.cached {
            Some(cached) if fetched != blocks => {
                let read = cached.read_around(&blocks, &fetched, &fetched_bytes);
                Ok(read.map_err(|error| self.promised.unread(error.into()))?.into())
            }
            _ if self.file.is_some() => Ok(self.read_file(&blocks)?.into()),
            _ => Ok(fetched_bytes),
        }
    }

    /// Returns the bytes that a sequential reader reads at a time, a multiple of a block.
    pub(super) const fn step(&self) -> u64 {
        if self.file.is_some() { READ_BYTES } else { FETCHED_BYTES }
    }

    /// Reads a range of bytes of the file. Positions after the end of the file are left out.
    ///
    /// # Errors
    /// The bytes cannot be read, or differ from what was written; or the interrupt fires before they come from a store.
    pub fn bytes(&self, bytes: &Range<u64>) -> Result<Bytes, DatasetError> {
        Ok(self.read(bytes)?.within(bytes))
    }

    /// Reads ranges of bytes of the file, which are sorted. From a store, all are requested at the same time.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, DatasetError> {
        let slices = self.read_ranges(ranges, StartedReads::default());
        slices.zip(ranges).map(|(slice, range)| Ok(slice?.within(range))).collect()
    }

    /// Reads the whole file.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub fn whole(&self) -> Result<Bytes, DatasetError> {
        self.bytes(&(0..self.promised.size()))
    }

    /// Returns a reader of the file from beginning to end.
    #[must_use]
    pub fn reader(&self) -> CheckedReader {
        CheckedReader { file: self.clone(), next: 0, bytes: Bytes::new() }
    }

    /// Starts to read the footer of a Parquet file in a store.
    pub(super) fn read_footer_ahead(&self) -> StartedReads {
        self.read_ahead(&[self.footer_guess()])
    }

    /// Reads the footer of a Parquet file, whose last bytes hold its length.
    pub(super) fn read_footer(&self, mut ahead: StartedReads) -> Result<FileSlice, DatasetError> {
        let size = self.promised.size();
        let tail = size.saturating_sub(8);
        let first = self.footer_guess();
        let last = self.finish(ahead.take(&self.blocks(&first)).unwrap_or_else(|| self.start(&first)))?;
        let length = last.get_bytes(tail, 4).ok().and_then(|length| length.as_ref().try_into().ok());
        let start = tail.saturating_sub(length.map_or(0, u32::from_le_bytes).into());
        if last.contains(start) { Ok(last) } else { self.read(&(start..size)) }
    }

    /// Returns the bytes that are read first for a footer: its length or, in a store, where a second read takes long,
    /// as many as most footers have.
    fn footer_guess(&self) -> Range<u64> {
        let size = self.promised.size();
        let tail = size.saturating_sub(8);
        let first = if self.file.is_some() { tail } else { size.saturating_sub(FOOTER_BYTES).min(tail) };
        first..size
    }

    /// Returns the BLAKE3 of the bytes as they are, in lower-case hex, to compare with the manifest's. What the block
    /// cache holds of an object says nothing of the object.
    pub(super) fn blake3(&self) -> Result<String, DatasetError> {
        let uncached = Self { cached: None, ..self.clone() };
        let mut digest = blake3::Hasher::new();
        let mut start = 0;
        while start < self.promised.size() {
            let end = (start + self.step()).min(self.promised.size());
            let (bytes, _) = uncached.read_blocks(uncached.start(&(start..end)))?;
            digest.update(&bytes);
            start = end;
        }
        Ok(hex(digest.finalize().as_bytes()))
    }

    /// Reads bytes of a file without a comparison with their checksums.
    fn read_file(&self, bytes: &Range<u64>) -> Result<Vec<u8>, DatasetError> {
        let failed = |source| DatasetError::Io { path: self.path().to_owned(), source };
        let length = usize::try_from(bytes.end - bytes.start)
            .map_err(|_| failed(io::Error::from(io::ErrorKind::OutOfMemory)))?;
        let read = self.file.as_ref().map(|file| read_at(file, bytes.start, length)).transpose();
        let read = read.map_err(failed)?.unwrap_or_default();
        // The file was as long as promised when it was opened, so it has been cut off since.
        if read.len() == length { Ok(read) } else { Err(self.promised.other_length(bytes.start + read.len() as u64)) }
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.promised.size()
    }
}

impl ChunkReader for CheckedFile {
    type T = CheckedReader;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(CheckedReader { file: self.clone(), next: start, bytes: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.promised.size());
        let Some(end) = end else {
            return Err(ParquetError::EOF(format!("{length} bytes from {start} on are more than the file has")));
        };
        self.bytes(&(start..end)).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// A reader of a checked file from some position to its end.
#[derive(Debug)]
pub struct CheckedReader {
    file: CheckedFile,
    /// The position of the first byte that has not been read.
    next: u64,
    /// Bytes that have been read and checked, but not consumed.
    bytes: Bytes,
}

impl BufRead for CheckedReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        // Reads end at multiples of this length, so that the next one begins with a checksum block.
        let step = self.file.step();
        let size = self.file.promised.size();
        if self.bytes.is_empty() && self.next < size {
            let end = (self.next / step).saturating_add(1).saturating_mul(step).min(size);
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
