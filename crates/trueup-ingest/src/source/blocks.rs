//! A text file in blocks of whole records.

use std::io::{self, Read};

/// Bytes of whole records, and where they begin.
pub(crate) struct TextBlock {
    pub(crate) bytes: Vec<u8>,
    /// The physical line, from 1, on which the block begins.
    pub(crate) line: u64,
}

/// Cuts a file into blocks at line ends.
pub(crate) struct TextBlocks<R> {
    reader: R,
    /// Read, but not yet handed out.
    pending: Vec<u8>,
    line: u64,
    size: usize,
    /// Bytes within which a record ends. A longer one is refused rather than held: commonly its quote is never closed.
    longest: usize,
    /// Whether a line end between quotes belongs to the record.
    quotes: bool,
    ended: bool,
}

/// A block, or why there is none.
pub(crate) enum TextBlockFault {
    Io(io::Error),
    /// The record that begins on this line has more than `longest` bytes.
    TooLong {
        line: u64,
        longest: usize,
    },
}

impl<R: Read> TextBlocks<R> {
    /// Blocks of `size` bytes, or of more where a record has more, up to `longest`.
    pub(crate) fn new(reader: R, size: usize, longest: usize, quotes: bool) -> Self {
        Self { reader, pending: Vec::new(), line: 1, size: size.max(1), longest, quotes, ended: false }
    }

    /// The next block, or `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<TextBlock>, TextBlockFault> {
        let mut wanted = self.size;
        while !self.ended {
            self.fill(wanted).map_err(TextBlockFault::Io)?;
            if self.ended {
                break;
            }
            if let Some(cut) = self.cut() {
                let rest = self.pending.split_off(cut);
                return Ok(Some(self.hand_out(rest)));
            }
            if self.pending.len() > self.longest {
                return Err(TextBlockFault::TooLong { line: self.line, longest: self.longest });
            }
            wanted = (self.pending.len() * 2).min(self.longest + 1);
        }
        if self.pending.is_empty() { Ok(None) } else { Ok(Some(self.hand_out(Vec::new()))) }
    }

    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let missing = wanted.saturating_sub(self.pending.len());
        self.pending.reserve(missing);
        let missing = u64::try_from(missing).unwrap_or(u64::MAX);
        self.reader.by_ref().take(missing).read_to_end(&mut self.pending)?;
        self.ended = self.pending.len() < wanted;
        Ok(())
    }

    /// Where the last whole record ends. Every block begins outside of quotes, so that the count of quotes before a line end tells
    /// whether it lies between two; in a file that breaks the rules of quoting, the breach itself lies before the first wrong cut.
    fn cut(&self) -> Option<usize> {
        let newline = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        if !self.quotes || !self.pending.contains(&b'"') {
            return newline(&self.pending);
        }
        let (mut open, mut cut) = (false, None);
        for (at, byte) in self.pending.iter().enumerate() {
            open ^= *byte == b'"';
            if *byte == b'\n' && !open {
                cut = Some(at + 1);
            }
        }
        cut
    }

    fn hand_out(&mut self, rest: Vec<u8>) -> TextBlock {
        let bytes = std::mem::replace(&mut self.pending, rest);
        let line = self.line;
        self.line += count_lines(&bytes);
        TextBlock { bytes, line }
    }
}

/// Line ends in `bytes`.
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str, size: usize) -> Vec<(u64, String)> {
        let mut blocks = TextBlocks::new(text.as_bytes(), size, 1 << 10, true);
        std::iter::from_fn(|| blocks.next().ok().flatten())
            .map(|block| (block.line, String::from_utf8_lossy(&block.bytes).into_owned()))
            .collect()
    }

    #[test]
    fn a_record_is_never_cut() {
        let text = "a,b\n\"x\ny\",2\n3,4\n5";
        for size in 1..text.len() + 2 {
            let blocks = blocks(text, size);
            assert_eq!(blocks.iter().map(|(_, text)| text.as_str()).collect::<String>(), text);
            assert!(blocks.iter().all(|(_, text)| !text.starts_with('y')), "{size}");
            let line_of_three = blocks
                .iter()
                .find_map(|(line, text)| text.find("3,4").map(|at| line + count_lines(&text.as_bytes()[..at])));
            assert_eq!(line_of_three, Some(4));
        }
    }
}
