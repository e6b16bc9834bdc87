//! A JSON array of objects, read as NDJSON.

use crate::error::FileFault;
use std::io::{self, Read};

/// The text of a JSON array with each element on a line of its own. Every byte keeps its place: the outer brackets
/// become blanks, the commas between elements line ends, all other line ends and tabs between tokens blanks, and line
/// feeds in texts carriage returns.
pub(super) struct JsonArray<R> {
    reader: R,
    /// The brackets and braces that are open; 1 between elements.
    depth: u64,
    is_in_text: bool,
    is_escaped: bool,
    /// The number of the current element, counted from 1.
    element: u64,
    has_content: bool,
    is_closed: bool,
}

/// Returns whether a text begins as an array of objects or as an empty array, or is cut short after its first bracket.
pub(super) fn begins(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start().strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'{' | b']')))
}

impl<R: Read> JsonArray<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            depth: 0,
            is_in_text: false,
            is_escaped: false,
            element: 1,
            has_content: false,
            is_closed: false,
        }
    }

    /// Returns what a byte becomes.
    fn step(&mut self, byte: u8) -> Result<u8, FileFault> {
        if self.is_in_text {
            self.is_in_text = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            // A line end in a text is a fault of its element, and must not begin another one.
            return Ok(if byte == b'\n' { b'\r' } else { byte });
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return Ok(b' '),
            _ if self.is_closed => return Err(self.fault("there is text after the end of the array")),
            b'[' if self.depth == 0 => {
                self.depth = 1;
                return Ok(b' ');
            }
            b',' if self.depth == 1 => {
                if !self.has_content {
                    return Err(self.fault("an element is missing before a comma"));
                }
                (self.has_content, self.element) = (false, self.element + 1);
                return Ok(b'\n');
            }
            b']' if self.depth == 1 => {
                if !self.has_content && self.element > 1 {
                    return Err(self.fault("an element is missing after a comma"));
                }
                (self.depth, self.is_closed) = (0, true);
                return Ok(b' ');
            }
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1).max(1),
            b'"' => self.is_in_text = true,
            _ => {}
        }
        self.has_content = true;
        Ok(byte)
    }

    fn fault(&self, what: &'static str) -> FileFault {
        FileFault::JsonArray { element: self.element, what }
    }
}

impl<R: Read> Read for JsonArray<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(into)?;
        if length == 0 && !into.is_empty() && !self.is_closed {
            return Err(io::Error::other(self.fault("the array has no end; the file is cut short")));
        }
        for byte in &mut into[..length] {
            *byte = self.step(*byte).map_err(io::Error::other)?;
        }
        Ok(length)
    }
}
