//! Rows that no user gives as a file: record batches that a source has produced, and the one row of a table that has no
//! input in its mapping.

use super::{Content, FileFormat, OpenProduced};
use crate::IngestError;
use crate::error::{ErrorContext, FileFault, OPEN};
use crate::source::chunk::FormatReader;
use crate::source::compression::CountedReader;
use crate::source::decoded::{DecodedBatch, ReadLimits, RowLocations};
use crate::source::input::Input;
use arrow_array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, Schema};
use arrow_select::take::take_record_batch;
use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use trueup_core::files::{Files, OpenFile};

impl FileFormat {
    /// Record batches that a source has produced.
    pub(crate) const BATCHES: Self = Self::produced("arrow", open_batches);

    /// No file at all, but a single row without columns.
    pub(crate) const ONE_ROW: Self = Self::produced("none", open_one_row);

    const fn produced(name: &'static str, open: OpenProduced) -> Self {
        Self { name, endings: &[], other_names: &[], title: name, settings: &[], content: Content::Produced(open) }
    }
}

fn open_batches(files: &Files, input: &Input, limits: ReadLimits) -> Result<FormatReader, IngestError> {
    let read = Arc::new(AtomicU64::new(0));
    let file = CountedReader { reader: files.open(&input.path).at(OPEN, &input.path)?, bytes: read.clone() };
    let mut batches = BatchReader::open(file, limits).map_err(|fault| fault.at(&input.shown))?;
    let schema = batches.batches.schema();
    Ok(FormatReader::of_rows(Some(schema), read, std::iter::from_fn(move || batches.next().transpose())))
}

fn open_one_row(_: &Files, _: &Input, _: ReadLimits) -> Result<FormatReader, IngestError> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .doing("make a row without columns")?;
    let locations = RowLocations::Rows { row_group: 0, first: 0, before: 0 };
    let row = std::iter::once(Ok(DecodedBatch::new(batch, locations)));
    Ok(FormatReader::of_rows(None, Arc::default(), row))
}

/// A file of record batches, read in parts that fit in memory.
struct BatchReader {
    batches: StreamReader<BufReader<CountedReader<OpenFile>>>,
    limits: ReadLimits,
    /// The batch that is being read.
    current: Option<CurrentBatch>,
    /// The number of batches so far.
    count: usize,
    /// The rows of these batches.
    rows: u64,
}

struct CurrentBatch {
    batch: RecordBatch,
    /// The rows before this one are read.
    done: usize,
}

impl BatchReader {
    fn open(file: CountedReader<OpenFile>, limits: ReadLimits) -> Result<Self, FileFault> {
        let batches = StreamReader::try_new_buffered(file, None).map_err(unreadable)?;
        Ok(Self { batches, limits, current: None, count: 0, rows: 0 })
    }

    /// Returns the next rows, or `None` after the last.
    fn next(&mut self) -> Result<Option<DecodedBatch>, FileFault> {
        loop {
            if let Some(CurrentBatch { batch, done }) = &mut self.current
                && *done < batch.num_rows()
            {
                let first = *done;
                let end = batch.num_rows().min(first + part_rows(batch, self.limits));
                *done = end;
                // A copy, because the columns of a batch that was read share one allocation, which every part would
                // keep in memory.
                let rows = (first..end).filter_map(|row| u32::try_from(row).ok());
                let rows = take_record_batch(batch, &UInt32Array::from_iter_values(rows)).map_err(unreadable)?;
                let before = self.rows - batch.num_rows() as u64;
                let locations = RowLocations::Batch { batch: self.count - 1, first, before };
                return Ok(Some(DecodedBatch::new(rows, locations)));
            }
            let Some(batch) = self.batches.next().transpose().map_err(unreadable)? else { return Ok(None) };
            self.count += 1;
            self.rows += batch.num_rows() as u64;
            self.current = Some(CurrentBatch { batch, done: 0 });
        }
    }
}

/// Returns the most rows of a part: one, or as many as keep it within the limits of rows and cells.
fn part_rows(batch: &RecordBatch, limits: ReadLimits) -> usize {
    limits.rows.min(limits.cells() / batch.num_columns().max(1)).max(1)
}

fn unreadable(error: ArrowError) -> FileFault {
    FileFault::Unreadable(Box::new(error))
}
