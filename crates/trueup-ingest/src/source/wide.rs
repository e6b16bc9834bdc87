//! Row groups that are too large to be decoded as a whole: read batch by batch, the columns side by side.

use crate::error::InputFault;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader};
use rayon::prelude::*;

/// A row group that is being read.
pub(super) struct LargeRowGroup {
    schema: SchemaRef,
    shares: Vec<ColumnSet>,
    /// Rows read so far.
    pub(super) rows: usize,
}

/// Some of the columns.
struct ColumnSet {
    columns: Vec<usize>,
    reader: ParquetRecordBatchReader,
}

impl LargeRowGroup {
    /// `open` begins to read some columns of the row group.
    pub(super) fn open(
        metadata: &ArrowReaderMetadata,
        row_group: usize,
        open: impl Fn(ProjectionMask) -> Result<ParquetRecordBatchReader, InputFault>,
    ) -> Result<Self, InputFault> {
        let columns = shares(metadata, row_group, rayon::current_num_threads());
        let shares = columns.into_iter().map(|columns| {
            let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
            Ok(ColumnSet { reader: open(mask)?, columns })
        });
        Ok(Self { schema: metadata.schema().clone(), shares: shares.collect::<Result<_, InputFault>>()?, rows: 0 })
    }

    /// The next rows.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let read: Vec<Option<RecordBatch>> =
            self.shares.par_iter_mut().map(|share| share.reader.next().transpose()).collect::<Result<_, _>>()?;
        if read.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut columns: Vec<(usize, ArrayRef)> = Vec::with_capacity(self.schema.fields().len());
        for (share, batch) in self.shares.iter().zip(&read) {
            // A share that has ended before the others leaves its columns out, which no batch can be made of.
            let arrays = batch.iter().flat_map(RecordBatch::columns).cloned();
            columns.extend(share.columns.iter().copied().zip(arrays));
        }
        columns.sort_by_key(|(column, _)| *column);
        let columns = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns)?;
        self.rows += batch.num_rows();
        Ok(Some(batch))
    }
}

/// The columns in so many shares of about the same size, or in fewer.
fn shares(metadata: &ArrowReaderMetadata, row_group: usize, count: usize) -> Vec<Vec<usize>> {
    let mut sizes = vec![0_i64; metadata.schema().fields().len()];
    for (leaf, chunk) in metadata.metadata().row_group(row_group).columns().iter().enumerate() {
        sizes[metadata.parquet_schema().get_column_root_idx(leaf)] += chunk.uncompressed_size().max(1);
    }
    let mut largest_first: Vec<(usize, i64)> = sizes.into_iter().enumerate().collect();
    largest_first.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let mut shares: Vec<(i64, Vec<usize>)> = vec![(0, Vec::new()); count.clamp(1, largest_first.len().max(1))];
    for (column, size) in largest_first {
        if let Some((bytes, columns)) = shares.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            *bytes += size;
            columns.push(column);
        }
    }
    let in_order = |(_, mut columns): (i64, Vec<usize>)| {
        columns.sort_unstable();
        columns
    };
    shares.into_iter().map(in_order).collect()
}
