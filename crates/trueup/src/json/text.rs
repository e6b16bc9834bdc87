//! Texts as JSON strings.

use trueup_core::Texts;

/// Appends the text in quotes, escaped as ECMAScript's `JSON.stringify` does.
pub(super) fn escape(text: &str, chunk: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    chunk.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, byte) in bytes.iter().copied().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        chunk.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        chunk.push(b'\\');
        match byte {
            b'"' | b'\\' => chunk.push(byte),
            0x08 => chunk.push(b'b'),
            0x09 => chunk.push(b't'),
            0x0a => chunk.push(b'n'),
            0x0c => chunk.push(b'f'),
            0x0d => chunk.push(b'r'),
            control => {
                let digits = [HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]];
                chunk.extend_from_slice(b"u00");
                chunk.extend_from_slice(&digits);
            }
        }
    }
    chunk.extend_from_slice(&bytes[plain..]);
    chunk.push(b'"');
}

/// A column's distinct texts, each escaped once, where they repeat.
#[derive(Default)]
pub(super) struct Escaped {
    /// End to end; empty where texts hardly repeat.
    bytes: Vec<u8>,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Escaped {
    pub(super) fn new(texts: &Texts) -> Self {
        let mut escaped = Self::default();
        // Where most texts stand in one row only (a customer's id), a second copy of them all would gain nothing.
        if texts.dictionary().len() <= texts.codes().len() / 2 {
            for text in texts.dictionary().iter() {
                escape(text, &mut escaped.bytes);
                escaped.ends.push(escaped.bytes.len());
            }
        }
        escaped
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// Writes the text in a row of the column that this was made from.
    pub(super) fn write(&self, texts: &Texts, row: usize, chunk: &mut Vec<u8>) {
        if self.ends.is_empty() {
            return escape(texts.get(row), chunk);
        }
        let code = texts.codes()[row] as usize;
        let start = if code == 0 { 0 } else { self.ends[code - 1] };
        chunk.extend_from_slice(&self.bytes[start..self.ends[code]]);
    }
}
