//! What decoders of every format share: the batch that they return, and the limits that they keep.

use crate::error::{FileFault, InputLocation, RowFault, shortened};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use hashbrown::HashSet;
use std::path::PathBuf;
use trueup_core::dataset::InputProtocol;

/// Rows in the columns of their input, decoded but not yet checked against the rules of their table.
pub(crate) struct DecodedBatch {
    pub(crate) batch: RecordBatch,
    /// The locations of the batch's rows.
    pub(crate) locations: RowLocations,
    /// Records that could not become rows, in file order.
    pub(crate) malformed: Vec<RowFault>,
    /// The reason why the rest of the file cannot be read, if there is one.
    pub(crate) fatal: Option<FileFault>,
    pub(crate) outcomes: Box<MappedOutcomes>,
}

impl DecodedBatch {
    /// Returns rows of a file that has no fault so far.
    pub(crate) fn new(batch: RecordBatch, locations: RowLocations) -> Self {
        Self { batch, locations, malformed: Vec::new(), fatal: None, outcomes: Box::default() }
    }
}

/// What a mapping made of rows.
#[derive(Default)]
pub(crate) struct MappedOutcomes {
    /// The rows that are neither in the batch nor at fault.
    pub(crate) protocol: InputProtocol,
    /// The first values that `normalize` leaves as they are, in file order.
    pub(crate) first_not_normal: Vec<LocatedValue>,
}

/// A value of an input, or of an input that is joined to it.
pub(crate) struct LocatedValue {
    /// The joined file; `None` for a value of the input itself.
    pub(crate) file: Option<PathBuf>,
    pub(crate) location: InputLocation,
    pub(crate) column: String,
    pub(crate) value: String,
}

/// Decoded rows that become other rows, part by part.
pub(crate) struct RawRows {
    pub(crate) decoded: DecodedBatch,
    /// The rows before this one are done.
    pub(crate) done: usize,
}

impl RawRows {
    /// Marks the rows before `end` as done, and returns what became of them. `batch` are the rows that they became, and
    /// `rows` the location of each; `faults` are the faults of others, and `outcomes` what became of the rest. The
    /// faults of records that were not even decoded are added, all in file order.
    pub(crate) fn finish(
        &mut self,
        end: usize,
        batch: RecordBatch,
        rows: Vec<InputLocation>,
        faults: Vec<RowFault>,
        mut outcomes: Box<MappedOutcomes>,
    ) -> DecodedBatch {
        let is_last = end >= self.decoded.batch.num_rows();
        let malformed = &mut self.decoded.malformed;
        let next = self.decoded.locations.in_file(end);
        let before =
            if is_last { malformed.len() } else { malformed.partition_point(|one| one.location.is_before(next)) };
        let mut all: Vec<RowFault> = malformed.drain(..before).collect();
        all.extend(faults);
        all.sort_by(|one, other| one.location.cmp_in_file(other.location));
        self.done = end;
        let fatal = if is_last { self.decoded.fatal.take() } else { None };
        if is_last {
            outcomes.protocol.add(std::mem::take(&mut self.decoded.outcomes).protocol);
        }
        DecodedBatch { batch, locations: RowLocations::Mapped(rows), malformed: all, fatal, outcomes }
    }

    /// Returns whether every row is done.
    pub(crate) fn is_done(&self) -> bool {
        self.done >= self.decoded.batch.num_rows()
    }
}

/// The locations of a batch's rows in their file.
pub(crate) enum RowLocations {
    /// The line on which each row begins.
    Lines(Vec<u64>),
    /// The number of each row of a file that has no lines.
    Records(Vec<u64>),
    /// Consecutive rows of a row group; the numbers of the row group and of the first row, both counted from 0.
    /// `before` is the number of rows in the row groups before.
    Rows { row_group: usize, first: usize, before: u64 },
    /// Consecutive rows of a record batch; the numbers of the batch and of the first row, both counted from 0. `before`
    /// is the number of rows in the batches before.
    Batch { batch: usize, first: usize, before: u64 },
    /// The locations of the rows from which a mapping made the rows.
    Mapped(Vec<InputLocation>),
}

impl RowLocations {
    /// Returns the bytes of memory that the locations take.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Lines(numbers) | Self::Records(numbers) => numbers.capacity() * size_of::<u64>(),
            Self::Rows { .. } | Self::Batch { .. } => 0,
            Self::Mapped(records) => records.capacity() * size_of::<InputLocation>(),
        }
    }

    /// Returns the location of a row of the batch.
    pub(crate) fn of(&self, row: usize) -> InputLocation {
        match self {
            Self::Lines(lines) => InputLocation::Line(lines.get(row).copied().unwrap_or_default()),
            Self::Records(records) => InputLocation::Record(records.get(row).copied().unwrap_or_default()),
            Self::Rows { row_group, first, .. } => InputLocation::Row { row_group: *row_group, row: first + row },
            Self::Batch { batch, first, .. } => InputLocation::Batch { batch: *batch, row: first + row },
            Self::Mapped(records) => records.get(row).copied().unwrap_or(InputLocation::Line(0)),
        }
    }

    /// Returns the location of a row in its file as a whole, not in a row group or record batch.
    pub(crate) fn in_file(&self, row: usize) -> InputLocation {
        match self {
            Self::Rows { first, before, .. } | Self::Batch { first, before, .. } => {
                let row = u64::try_from(first + row).unwrap_or(u64::MAX);
                InputLocation::Record(before.saturating_add(row).saturating_add(1))
            }
            Self::Lines(_) | Self::Records(_) | Self::Mapped(_) => self.of(row),
        }
    }
}

/// The faults of records that could not become rows.
#[derive(Default)]
pub(super) struct MalformedRecords {
    pub(super) faults: Vec<RowFault>,
    bytes: usize,
}

/// Bytes of faults after which a batch ends, because each fault keeps all cells of its record, which take far more
/// memory than the record.
const MAX_MALFORMED_BYTES: usize = 1 << 20;

impl MalformedRecords {
    pub(super) fn push(&mut self, fault: RowFault) {
        self.bytes += fault.bytes();
        self.faults.push(fault);
    }

    /// Returns whether the batch has to end here.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_MALFORMED_BYTES
    }
}

/// Limits of reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimits {
    /// The most rows of a batch.
    pub(crate) rows: usize,
    /// The most bytes of memory for everything that is decoded at the same time.
    pub(crate) decoded_bytes: usize,
    /// The most columns of an input.
    pub(crate) max_columns: usize,
    /// The most bytes of a text; a row with a longer text is rejected.
    pub(crate) max_text_bytes: usize,
}

/// The limits of an ingest with 1 GiB of memory.
impl Default for ReadLimits {
    fn default() -> Self {
        Self { rows: 1 << 16, decoded_bytes: 1 << 27, max_columns: 2_000, max_text_bytes: 1 << 20 }
    }
}

/// Typical bytes of text per row.
const ROW_BYTES: usize = 128;

/// Bytes of memory that decoding takes per byte of text, approximately.
pub(super) const TEXT_COPIES: usize = 3;

/// Bytes that an empty cell takes in a decoded column, including its copies.
const CELL_BYTES: usize = 8;

/// The cells that a batch may have even with little memory.
const MIN_CELLS: usize = 1 << 19;

/// The smallest and the largest value of [`ReadLimits::record_bytes`].
const RECORD_BYTES: (usize, usize) = (4 << 20, 64 << 20);

/// The bytes that the pages and a row of a row group may take even with little memory.
const MIN_ROW_GROUP_BYTES: usize = 96 << 20;

/// The bytes that a table may take even with little memory.
const MIN_TABLE_BYTES: usize = 16 << 20;

/// A row group of a stored file is held if its bytes are at most `decoded_bytes` divided by this number.
const HELD_DIVISOR: usize = 8;

/// The most bytes of a column's name.
const MAX_NAME_BYTES: usize = 1 << 10;

impl ReadLimits {
    /// Returns the number of chunks to decode in parallel. Two per thread, because chunks take different times.
    pub(crate) fn chunks() -> usize {
        rayon::current_num_threads() * 2
    }

    /// Returns the bytes of memory for the rows of one chunk. Rows beyond this limit are decoded once the rows before
    /// them are taken.
    pub(crate) fn chunk_bytes(self) -> usize {
        self.decoded_bytes / Self::chunks()
    }

    /// Returns the most bytes of memory that the pages and a row of a row group may take.
    pub(crate) fn row_group_bytes(self) -> usize {
        self.decoded_bytes.saturating_mul(2).max(MIN_ROW_GROUP_BYTES)
    }

    /// Returns the most bytes of a row group of a stored file that are read together.
    pub(super) const fn held_bytes(self) -> u64 {
        (self.decoded_bytes / HELD_DIVISOR) as u64
    }

    /// Returns the bytes of memory for a table that is held as a whole.
    pub(crate) fn table_bytes(self) -> usize {
        (self.decoded_bytes * 2).max(MIN_TABLE_BYTES)
    }

    /// Returns the bytes of one block of text.
    pub(super) fn block_bytes(self) -> usize {
        self.rows.saturating_mul(ROW_BYTES).min(self.chunk_bytes() / TEXT_COPIES)
    }

    /// Returns the most bytes of a text record.
    pub(super) fn record_bytes(self) -> usize {
        (self.decoded_bytes / 2).clamp(RECORD_BYTES.0, RECORD_BYTES.1)
    }

    /// Returns the most cells of a batch. Inputs with many columns that are empty in most rows reach this limit.
    pub(super) fn cells(self) -> usize {
        (self.chunk_bytes() / CELL_BYTES).max(MIN_CELLS)
    }

    /// Checks the number of columns and the length of their names.
    pub(super) fn check_columns(self, schema: &Schema) -> Result<(), FileFault> {
        let (count, limit) = (schema.fields().len(), self.max_columns);
        if count > limit {
            return Err(FileFault::TooManyColumns { count, limit });
        }
        schema.fields().iter().try_for_each(|field| check_name(field.name()))
    }
}

/// Checks the length of a column's name.
pub(super) fn check_name(name: &str) -> Result<(), FileFault> {
    if name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    let begin = shortened(name, 0).to_owned();
    Err(FileFault::LongName { begin, bytes: name.len(), limit: MAX_NAME_BYTES })
}

/// The names of all columns of an input so far. Chunks of NDJSON may have different columns.
#[derive(Default)]
pub(crate) struct ColumnNames(HashSet<String>);

impl ColumnNames {
    /// Adds the columns of a chunk, and checks the number of all columns and the length of new names.
    pub(crate) fn add(&mut self, schema: &Schema, limits: ReadLimits) -> Result<(), FileFault> {
        for field in schema.fields() {
            if !self.0.contains(field.name()) {
                check_name(field.name())?;
                self.0.insert(field.name().clone());
            }
        }
        let limit = limits.max_columns;
        if self.0.len() > limit { Err(FileFault::ManyColumns(limit)) } else { Ok(()) }
    }
}
