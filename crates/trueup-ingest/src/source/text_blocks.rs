//! Splits a text file into blocks of whole records.

use super::encoding;
use crate::error::{FileFault, InputLocation};
use std::io::{self, Read};
use std::str::Utf8Error;

/// The bytes of whole records, and where they begin.
pub(crate) struct TextBlock {
    pub(crate) bytes: Vec<u8>,
    /// The physical line, counted from 1, on which the block begins.
    pub(crate) line: u64,
    /// The bytes of the text before the block.
    pub(super) offset: u64,
}

impl TextBlock {
    /// Returns the block as text, of a file that has lines.
    ///
    /// # Errors
    /// The bytes are not UTF-8.
    pub(crate) fn text(&self) -> Result<&str, FileFault> {
        let at = |sound: &[u8]| InputLocation::Line(self.line + count_lines(sound));
        str::from_utf8(&self.bytes).map_err(|error| not_utf8(at, self.offset, &self.bytes, &error))
    }

    /// Returns the block as text without a copy. `location` returns the location of a line.
    ///
    /// # Errors
    /// The bytes are not UTF-8.
    pub(super) fn into_text(self, location: impl Fn(u64) -> InputLocation) -> Result<String, FileFault> {
        let (line, offset) = (self.line, self.offset);
        let at = |sound: &[u8]| location(line + count_lines(sound));
        String::from_utf8(self.bytes).map_err(|error| not_utf8(at, offset, error.as_bytes(), &error.utf8_error()))
    }
}

/// Returns the fault of a block that is not UTF-8. `at` returns the location that follows some bytes of the block.
fn not_utf8(at: impl Fn(&[u8]) -> InputLocation, offset: u64, bytes: &[u8], error: &Utf8Error) -> FileFault {
    let (sound, rest) = bytes.split_at(error.valid_up_to());
    FileFault::NotUtf8 {
        location: at(sound),
        offset: offset + sound.len() as u64,
        byte: rest.first().copied().unwrap_or_default(),
        likely: encoding::likely(bytes),
    }
}

/// Reads a file and splits it at line ends.
pub(crate) struct TextBlocks<R> {
    reader: R,
    /// Bytes that are read, but not yet returned.
    pending: Vec<u8>,
    /// The line on which `pending` begins.
    line: u64,
    /// The bytes of the text before `pending`.
    offset: u64,
    /// The bytes that a block should have.
    size: usize,
    /// The most bytes of a record. A longer record is an error, because usually its quote is never closed.
    longest: usize,
    /// Whether a line end between quotes belongs to the record.
    has_quotes: bool,
    /// Whether everything is read.
    is_ended: bool,
}

/// Why there is no next block.
pub(crate) enum TextBlockFault {
    Io(io::Error),
    /// The record that begins on this line has more than `longest` bytes.
    TooLong {
        line: u64,
        longest: usize,
    },
}

impl<R: Read> TextBlocks<R> {
    /// Returns blocks of about `size` bytes. A block with a longer record grows up to `longest` bytes. `has_quotes`
    /// says whether a line end between quotes belongs to the record.
    pub(crate) fn new(reader: R, size: usize, longest: usize, has_quotes: bool) -> Self {
        let (pending, size) = (Vec::new(), size.max(1));
        Self { reader, pending, line: 1, offset: 0, size, longest, has_quotes, is_ended: false }
    }

    /// Begins on a line, after `bytes` that were read before, for the positions of faults.
    pub(super) fn after(self, bytes: usize, line: u64) -> Self {
        Self { offset: bytes as u64, line, ..self }
    }

    /// Returns the next block, or `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<TextBlock>, TextBlockFault> {
        let mut wanted = self.size;
        while !self.is_ended {
            self.fill(wanted).map_err(TextBlockFault::Io)?;
            if self.is_ended {
                break;
            }
            let end = self.whole_records();
            if end > 0 {
                let rest = self.pending.split_off(end);
                return Ok(Some(self.take_pending(rest)));
            }
            if self.pending.len() > self.longest {
                return Err(TextBlockFault::TooLong { line: self.line, longest: self.longest });
            }
            wanted = (self.pending.len() * 2).min(self.longest + 1);
        }
        if self.pending.is_empty() { Ok(None) } else { Ok(Some(self.take_pending(Vec::new()))) }
    }

    /// Reads until `pending` has `wanted` bytes, or the text ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let missing = wanted.saturating_sub(self.pending.len());
        self.pending.reserve(missing);
        let missing = u64::try_from(missing).unwrap_or(u64::MAX);
        self.reader.by_ref().take(missing).read_to_end(&mut self.pending)?;
        self.is_ended = self.pending.len() < wanted;
        Ok(())
    }

    /// Returns the bytes of the whole records of `pending`. Every block begins outside quotes, so a line end lies
    /// outside quotes if the number of quotes before it is even. In a file with broken quoting, the first broken quote
    /// comes before the first wrong split, and the parser reports that quote.
    fn whole_records(&self) -> usize {
        if !self.has_quotes || !self.pending.contains(&b'"') {
            return self.pending.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        }
        let (mut open, mut end) = (false, 0);
        for (at, byte) in self.pending.iter().enumerate() {
            open ^= *byte == b'"';
            if *byte == b'\n' && !open {
                end = at + 1;
            }
        }
        end
    }

    fn take_pending(&mut self, rest: Vec<u8>) -> TextBlock {
        let bytes = std::mem::replace(&mut self.pending, rest);
        let (line, offset) = (self.line, self.offset);
        self.line += count_lines(&bytes);
        self.offset += bytes.len() as u64;
        TextBlock { bytes, line, offset }
    }
}

/// Counts the line ends in `bytes`.
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}
