//! Thrift's compact protocol, as much as is needed to check the footer and the page headers before Parquet's reader
//! uses them.

use crate::encoding::{push_varint, take_signed, take_varint};

/// The deepest nesting of values that is accepted, because skipping recurses on the stack.
const MAX_DEPTH: usize = 32;

/// A reader that takes values from the front of its bytes.
pub(crate) struct Thrift<'a>(&'a [u8]);

/// The value of a field.
pub(crate) enum FieldValue {
    Truth(bool),
    Number(i64),
    Struct,
    List,
    /// A value of another type, which has been skipped.
    Other,
}

/// The codes of the types of values.
mod kind {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const SHORT: u8 = 4;
    pub(super) const INT: u8 = 5;
    pub(super) const LONG: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

impl<'a> Thrift<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes that have not been read.
    pub(crate) const fn left(&self) -> usize {
        self.0.len()
    }

    /// Reads a structure and calls `take` with the number and the value of each field. `take` must read or
    /// [skip](Self::skip_value) a structure or a list itself. Returns `None` if `take` does, if the bytes end early, or
    /// if they are not a structure.
    pub(crate) fn fields(&mut self, mut take: impl FnMut(&mut Self, i64, FieldValue) -> Option<()>) -> Option<()> {
        let mut id = 0_i64;
        loop {
            let header = self.byte()?;
            let kind = header & 0x0f;
            if kind == kind::STOP {
                return Some(());
            }
            id = match header >> 4 {
                0 => take_signed(&mut self.0)?,
                delta => id.checked_add(delta.into())?,
            };
            let value = match kind {
                kind::TRUE => FieldValue::Truth(true),
                kind::FALSE => FieldValue::Truth(false),
                kind::SHORT | kind::INT | kind::LONG => FieldValue::Number(take_signed(&mut self.0)?),
                kind::STRUCT => FieldValue::Struct,
                kind::LIST => FieldValue::List,
                kind => {
                    self.skip(kind, MAX_DEPTH)?;
                    FieldValue::Other
                }
            };
            take(self, id, value)?;
        }
    }

    /// Skips the structure or the list that is the value of a field. Any other value has been read with its field.
    pub(crate) fn skip_value(&mut self, value: &FieldValue) -> Option<()> {
        match value {
            FieldValue::Struct => self.skip(kind::STRUCT, MAX_DEPTH),
            FieldValue::List => self.skip(kind::LIST, MAX_DEPTH),
            _ => Some(()),
        }
    }

    /// Reads the length of a list of structures. Returns `None` if the list has other values, or more than the bytes
    /// can hold.
    pub(crate) fn structure_count(&mut self) -> Option<usize> {
        let (count, kind) = self.list()?;
        (count == 0 || kind == kind::STRUCT).then_some(count)
    }

    /// Reads the length of a list or a set, and the type of its values.
    fn list(&mut self) -> Option<(usize, u8)> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => usize::try_from(take_varint(&mut self.0)?).ok()?,
            count => count.into(),
        };
        // Every value has at least one byte.
        (count <= self.0.len()).then_some((count, header & 0x0f))
    }

    /// Skips a value in a list, a set or a map. There a boolean is a byte; in a field it is part of the field's type.
    fn skip_item(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            kind::TRUE | kind::FALSE => self.take(1),
            kind => self.skip(kind, depth),
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            kind::TRUE | kind::FALSE => Some(()),
            kind::BYTE => self.take(1),
            kind::SHORT | kind::INT | kind::LONG => self.skip_varint(),
            kind::DOUBLE => self.take(8),
            kind::UUID => self.take(16),
            kind::BINARY => self.skip_binary(),
            kind::LIST | kind::SET => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_item(kind, depth))
            }
            kind::MAP => {
                let count = usize::try_from(take_varint(&mut self.0)?).ok()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                // Every key and every value has at least one byte.
                (count <= self.0.len() / 2).then_some(())?;
                (0..count).try_for_each(|_| {
                    self.skip_item(kinds >> 4, depth)?;
                    self.skip_item(kinds & 0x0f, depth)
                })
            }
            kind::STRUCT => loop {
                let header = self.byte()?;
                match header & 0x0f {
                    kind::STOP => return Some(()),
                    kind => {
                        if header >> 4 == 0 {
                            self.skip_varint()?;
                        }
                        // Numbers and short texts are most of a footer, so they are skipped without a call.
                        match kind {
                            kind::SHORT | kind::INT | kind::LONG => self.skip_varint()?,
                            kind::BINARY => self.skip_binary()?,
                            kind => self.skip(kind, depth)?,
                        }
                    }
                }
            },
            _ => None,
        }
    }

    #[inline]
    fn skip_varint(&mut self) -> Option<()> {
        /// The most bytes of a number.
        const MAX_BYTES: usize = 10;

        let last = self.0.iter().take(MAX_BYTES).position(|byte| byte & 0x80 == 0)?;
        self.0 = &self.0[last + 1..];
        Some(())
    }

    #[inline]
    fn skip_binary(&mut self) -> Option<()> {
        let length = usize::try_from(take_varint(&mut self.0)?).ok()?;
        self.take(length)
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    #[inline]
    fn take(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }
}

/// Writes the length of a list of structures, which the structures follow.
pub(crate) fn write_structure_count(count: usize, to: &mut Vec<u8>) {
    /// The length that says that the length follows as a number.
    const FOLLOWS: u8 = 15;

    match u8::try_from(count) {
        Ok(count) if count < FOLLOWS => to.push(count << 4 | kind::STRUCT),
        _ => {
            to.push(FOLLOWS << 4 | kind::STRUCT);
            push_varint(count, to);
        }
    }
}
