//! Decoded rows, and the records that could not become rows.

use crate::error::InputFault;
use crate::row_fault::{InputLocation, RowFault};
use arrow_array::RecordBatch;

/// Rows in the columns of their input, decoded but not yet checked against the rules of their table.
pub(crate) struct DecodedBatch {
    pub(crate) batch: RecordBatch,
    /// The locations of the batch's rows.
    pub(crate) locations: RowLocations,
    /// Records that could not become rows, in file order.
    pub(crate) malformed: Vec<RowFault>,
    /// The reason why the rest of the file cannot be read, if there is one.
    pub(crate) fatal: Option<InputFault>,
}

/// The locations of a batch's rows in their file.
pub(crate) enum RowLocations {
    /// The line of each row.
    Lines(Vec<u64>),
    /// Consecutive rows of a row group.
    Rows { row_group: usize, first: usize },
}

impl RowLocations {
    /// Returns the location of a row of the batch.
    pub(crate) fn of(&self, row: usize) -> InputLocation {
        match self {
            Self::Lines(lines) => InputLocation::Line(lines.get(row).copied().unwrap_or_default()),
            Self::Rows { row_group, first } => InputLocation::Row { row_group: *row_group, row: first + row },
        }
    }
}

/// Records that could not become rows.
#[derive(Default)]
pub(super) struct MalformedRecords {
    pub(super) rows: Vec<RowFault>,
    bytes: usize,
}

/// Bytes of malformed records after which a batch ends, because each keeps all its cells, which take far more memory
/// than the record.
const MAX_MALFORMED_BYTES: usize = 1 << 20;

impl MalformedRecords {
    pub(super) fn push(&mut self, row: RowFault) {
        self.bytes += row.bytes();
        self.rows.push(row);
    }

    /// Returns whether the batch has to end here.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_MALFORMED_BYTES
    }
}
