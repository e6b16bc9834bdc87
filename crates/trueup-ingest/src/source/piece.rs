//! A part of an input, decoded.

use super::blocks::{TextBlock, count_lines};
use crate::error::InputFault;
use crate::place::{InputLocation, RowFault};
use arrow_array::RecordBatch;
use std::str::Utf8Error;

/// A part of an input, decoded but not yet checked against the rules of its table.
pub(crate) struct DecodedBatch {
    pub(crate) batch: RecordBatch,
    /// Where the batch's rows stand in the file.
    pub(crate) places: RowLocations,
    /// Records that could not become rows, in file order.
    pub(crate) torn: Vec<RowFault>,
    /// Why nothing after these rows can be read.
    pub(crate) broken: Option<InputFault>,
}

/// Where the rows of a batch stand in their file.
pub(crate) enum RowLocations {
    /// The line of each row.
    Lines(Vec<u64>),
    /// Consecutive rows of a row group.
    Rows { row_group: usize, first: usize },
}

impl RowLocations {
    /// Where a row of the batch stands.
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

/// Bytes of torn records after which a piece ends: each is held with all its cells, which takes far more than the record itself.
const TORN_BYTES: usize = 1 << 20;

impl MalformedRecords {
    pub(super) fn push(&mut self, row: RowFault) {
        self.bytes += row.bytes();
        self.rows.push(row);
    }

    /// Whether the piece ends with what it has.
    pub(super) fn are_many(&self) -> bool {
        self.bytes >= TORN_BYTES
    }
}

/// The text of a block.
pub(crate) fn text(block: &TextBlock) -> Result<&str, InputFault> {
    str::from_utf8(&block.bytes).map_err(|error| no_text(block.line, &block.bytes, &error))
}

pub(super) fn into_text(block: TextBlock) -> Result<String, InputFault> {
    let line = block.line;
    String::from_utf8(block.bytes).map_err(|error| no_text(line, error.as_bytes(), &error.utf8_error()))
}

fn no_text(line: u64, bytes: &[u8], error: &Utf8Error) -> InputFault {
    InputFault::Record { line: line + count_lines(&bytes[..error.valid_up_to()]), what: "the text is not UTF-8" }
}
