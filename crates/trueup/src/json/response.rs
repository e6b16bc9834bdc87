//! What the body of a response needs of the rows that it writes.

use super::{ColumnWriter, Escaped, JsonRows};
use std::borrow::Borrow;
use trueup_core::ResultTable;

impl<T: Borrow<ResultTable>> JsonRows<T> {
    /// Returns the same rows with null for a ratio over nothing, in place of 0.
    pub(crate) fn with_nulls(self) -> Self {
        Self { nothing: b"null", ..self }
    }

    /// Returns the table.
    pub(crate) fn table(&self) -> &ResultTable {
        self.table.borrow()
    }

    /// Returns the bytes in memory, without the table.
    pub(crate) fn bytes(&self) -> usize {
        self.frame.before.capacity() + self.writers.iter().map(ColumnWriter::bytes).sum::<usize>()
    }

    /// Returns whether all rows, and what follows them, are written.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.next.is_none()
    }
}

impl ColumnWriter {
    /// Returns the bytes in memory.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.key.capacity() + self.texts.bytes()
    }
}

impl Escaped {
    /// Returns the bytes in memory.
    fn bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}
