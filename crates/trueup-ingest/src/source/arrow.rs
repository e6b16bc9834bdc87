//! Reads record batches that a source has produced.

use super::compression::CountedReader;
use super::decoded::{DecodedBatch, ReadLimits, RowLocations};
use crate::error::InputFault;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take_record_batch;
use std::io::BufReader;
use trueup_core::files::OpenFile;

/// A file of record batches, read in parts that fit in memory.
pub(crate) struct BatchReader {
    batches: StreamReader<BufReader<CountedReader<OpenFile>>>,
    pub(crate) schema: SchemaRef,
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
    pub(crate) fn open(file: CountedReader<OpenFile>, limits: ReadLimits) -> Result<Self, InputFault> {
        let batches = StreamReader::try_new_buffered(file, None).map_err(unreadable)?;
        Ok(Self { schema: batches.schema(), batches, limits, current: None, count: 0, rows: 0 })
    }

    /// Returns the next rows, or `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<DecodedBatch>, InputFault> {
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
                return Ok(Some(DecodedBatch { batch: rows, locations, malformed: Vec::new(), fatal: None }));
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

fn unreadable(error: ArrowError) -> InputFault {
    InputFault::Unreadable(Box::new(error))
}
