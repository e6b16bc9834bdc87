//! The compact protocol of Thrift, as far as it is read before Parquet's reader is trusted with what it says.

/// How deep structures may lie in each other.
const DEPTH: usize = 32;

/// Bytes that are read from the front.
pub(super) struct Thrift<'a>(&'a [u8]);

/// The value of a field.
pub(super) enum Value {
    Truth(bool),
    Number(i64),
    Struct,
    List,
    /// Something that has been passed over.
    Other,
}

/// The types of values.
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
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes that have not been read.
    pub(super) const fn left(&self) -> usize {
        self.0.len()
    }

    /// Reads a structure field by field: `take` is given the number of each and its value, and reads a structure or a list on its own.
    /// `None` where the bytes end early or are no structure.
    pub(super) fn fields(&mut self, mut take: impl FnMut(&mut Self, i64, Value) -> Option<()>) -> Option<()> {
        let mut id = 0_i64;
        loop {
            let header = self.byte()?;
            let kind = header & 0x0f;
            if kind == kind::STOP {
                return Some(());
            }
            id = match header >> 4 {
                0 => self.number()?,
                delta => id.checked_add(delta.into())?,
            };
            let value = match kind {
                kind::TRUE => Value::Truth(true),
                kind::FALSE => Value::Truth(false),
                kind::SHORT | kind::INT | kind::LONG => Value::Number(self.number()?),
                kind::STRUCT => Value::Struct,
                kind::LIST => Value::List,
                kind => {
                    self.skip(kind, DEPTH)?;
                    Value::Other
                }
            };
            take(self, id, value)?;
        }
    }

    /// Passes over a structure or a list that a field has as its value.
    pub(super) fn pass(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::Struct => self.skip(kind::STRUCT, DEPTH),
            Value::List => self.skip(kind::LIST, DEPTH),
            _ => Some(()),
        }
    }

    /// The number of structures in a list; `None` if they are more than its bytes can hold, or something else.
    pub(super) fn structures(&mut self) -> Option<usize> {
        let (count, kind) = self.list()?;
        (count == 0 || kind == kind::STRUCT).then_some(count)
    }

    fn list(&mut self) -> Option<(usize, u8)> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            count => count.into(),
        };
        // Every value takes a byte at least.
        (count <= self.0.len()).then_some((count, header & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            kind::TRUE | kind::FALSE => Some(()),
            kind::BYTE => self.take(1),
            kind::SHORT | kind::INT | kind::LONG => self.pass_varint(),
            kind::DOUBLE => self.take(8),
            kind::UUID => self.take(16),
            kind::BINARY => self.pass_binary(),
            kind::LIST | kind::SET => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| match kind {
                    // In a list they have a byte each.
                    kind::TRUE | kind::FALSE => self.take(1),
                    kind => self.skip(kind, depth),
                })
            }
            kind::MAP => {
                let count = self.varint()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| self.skip(kinds >> 4, depth).and_then(|()| self.skip(kinds & 0x0f, depth)))
            }
            kind::STRUCT => loop {
                let header = self.byte()?;
                match header & 0x0f {
                    kind::STOP => return Some(()),
                    kind => {
                        if header >> 4 == 0 {
                            self.pass_varint()?;
                        }
                        // Most of a footer is numbers and short texts, so that these are passed over without a call.
                        match kind {
                            kind::SHORT | kind::INT | kind::LONG => self.pass_varint()?,
                            kind::BINARY => self.pass_binary()?,
                            kind => self.skip(kind, depth)?,
                        }
                    }
                }
            },
            _ => None,
        }
    }

    fn number(&mut self) -> Option<i64> {
        self.varint().map(|number| (number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    #[inline]
    fn pass_varint(&mut self) -> Option<()> {
        /// Bytes of the longest number.
        const LONGEST: usize = 10;

        let last = self.0.iter().take(LONGEST).position(|byte| byte & 0x80 == 0)?;
        self.0 = &self.0[last + 1..];
        Some(())
    }

    #[inline]
    fn pass_binary(&mut self) -> Option<()> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
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
