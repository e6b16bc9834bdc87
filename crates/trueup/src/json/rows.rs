//! JsonRows as JSON, a chunk at a time.

use super::column::ColumnWriter;
use std::borrow::Borrow;
use trueup_core::ResultTable;

/// Bytes that are gathered before they are handed on.
const CHUNK: usize = 1 << 16;

/// What stands around the rows.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) before: &'static [u8],
    pub(super) between: &'static [u8],
    pub(super) after: &'static [u8],
}

/// The rows of a table that are still to be written.
pub(crate) struct JsonRows<T> {
    table: T,
    writers: Vec<ColumnWriter>,
    frame: Frame,
    /// The next row; `None` once all is written.
    next: Option<usize>,
}

impl<T: Borrow<ResultTable>> JsonRows<T> {
    /// The rows as one array.
    pub(crate) fn array(table: T) -> Self {
        Self::new(table, Frame { before: b"[", between: b",", after: b"]" })
    }

    pub(super) fn new(table: T, frame: Frame) -> Self {
        let writers = table.borrow().columns().iter().enumerate().map(ColumnWriter::new).collect();
        Self { table, writers, frame, next: Some(0) }
    }

    /// What the rows are of.
    pub(crate) fn table(&self) -> &ResultTable {
        self.table.borrow()
    }

    /// Bytes held besides the table.
    pub(crate) fn bytes(&self) -> usize {
        self.writers.iter().map(ColumnWriter::bytes).sum()
    }

    /// Puts the next bytes into `chunk`, in place of what it holds; false if there are none left.
    pub(crate) fn next_chunk(&mut self, chunk: &mut Vec<u8>) -> bool {
        chunk.clear();
        let Some(first) = self.next else { return false };
        let table = self.table.borrow();
        if first == 0 {
            chunk.extend_from_slice(self.frame.before);
        }
        for row in first..table.len() {
            if chunk.len() >= CHUNK {
                self.next = Some(row);
                return true;
            }
            if row > 0 {
                chunk.extend_from_slice(self.frame.between);
            }
            chunk.push(b'{');
            for (writer, column) in self.writers.iter_mut().zip(table.columns()) {
                writer.write(column, row, chunk);
            }
            chunk.push(b'}');
        }
        chunk.extend_from_slice(self.frame.after);
        self.next = None;
        true
    }
}
