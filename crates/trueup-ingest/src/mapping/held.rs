//! The rows of joined inputs, which are held in memory, and how much memory they may take.

use super::inputs::Reading;
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, InputLocation};
use crate::source::{DecodedBatch, Input, InputReader, RawChunk, ReadLimits, RowLocations};
use crate::table::Table;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::filter::filter_record_batch;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory of what a mapping holds until its ingest ends: joined inputs, and first conversions. It is a share of the
/// memory of the ingest.
#[derive(Debug)]
pub(crate) struct MemoryCharge {
    /// The most bytes, all together.
    limit: usize,
    used: AtomicUsize,
}

impl MemoryCharge {
    pub(super) fn new(limits: ReadLimits) -> Self {
        Self { limit: limits.table_bytes(), used: AtomicUsize::new(0) }
    }

    /// Returns the bytes that are held.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Adds bytes that `what` takes.
    ///
    /// # Errors
    /// There is no room for these bytes.
    pub(super) fn add(&self, bytes: usize, what: MemoryUse<'_>) -> Result<(), IngestError> {
        let others = self.used.fetch_add(bytes, Ordering::Relaxed);
        let (bytes, limit) = (others.saturating_add(bytes), self.limit);
        let what = match what {
            MemoryUse::JoinedFile(_) if bytes <= limit => return Ok(()),
            MemoryUse::JoinedFile(path) => {
                return Err(ErrorKind::LargeJoin { path: path.to_owned(), bytes, limit }.into());
            }
            MemoryUse::FirstConversions => "inputs that the mapping joins, and the first conversions of the customers,",
            MemoryUse::Records => "inputs that the mapping joins, and the records that its files deliver,",
        };
        IngestError::check_size(what, bytes, limit)
    }
}

/// What memory is taken for.
#[derive(Clone, Copy)]
pub(super) enum MemoryUse<'a> {
    /// The rows of a joined file, or its keys.
    JoinedFile(&'a Path),
    FirstConversions,
    /// The records that the files deliver.
    Records,
}

/// The rows of a joined input.
pub(super) struct BufferedRows {
    pub(super) batches: Vec<RecordBatch>,
    /// The file of each batch, and the locations of its rows.
    locations: Vec<(PathBuf, RowLocations)>,
}

/// A row of a joined input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldRow {
    pub(super) batch: u32,
    pub(super) row: u32,
}

impl HeldRow {
    /// No row, for a row that matches none.
    pub(super) const NONE: Self = Self { batch: u32::MAX, row: u32::MAX };
}

impl BufferedRows {
    /// Reads all rows of some files.
    ///
    /// # Errors
    /// A file cannot be read, a record cannot become a row, or the rows do not fit in memory. The error then says how
    /// much memory the mapping would hold with all rows of the file.
    pub(super) fn read(files: &[Input], reading: Reading<'_>) -> Result<Self, IngestError> {
        let mut held = Self { batches: Vec::new(), locations: Vec::new() };
        for file in files {
            let mut bytes = 0;
            read_rows(file, reading, &mut |DecodedBatch { batch, locations, .. }| {
                let batch = without_codes(&batch).doing("read a joined input")?;
                bytes += batch.get_array_memory_size() + locations.bytes();
                // Rows that do not fit are only counted.
                if reading.memory.used().saturating_add(bytes) <= reading.memory.limit {
                    held.batches.push(batch);
                    held.locations.push((file.shown.clone(), locations));
                }
                Ok(())
            })?;
            reading.memory.add(bytes, MemoryUse::JoinedFile(&file.shown))?;
        }
        Ok(held)
    }

    /// Leaves out rows: `kept` says of each row of each batch whether it stays.
    pub(super) fn keep(&mut self, kept: Vec<Vec<bool>>) -> Result<(), ArrowError> {
        for ((batch, (_, locations)), kept) in self.batches.iter_mut().zip(&mut self.locations).zip(kept) {
            if kept.iter().all(|kept| *kept) {
                continue;
            }
            let rows = (0..kept.len()).filter(|row| kept[*row]).map(|row| locations.in_file(row));
            *locations = RowLocations::Mapped(rows.collect());
            *batch = filter_record_batch(batch, &BooleanArray::from(kept))?;
        }
        Ok(())
    }

    /// Returns the path of the file of each batch.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.locations.iter().map(|(path, _)| path.as_path())
    }

    /// Returns rows of the events of a dataset.
    pub(super) fn of_stored(batch: RecordBatch, dataset: &Path) -> Self {
        let locations = RowLocations::Records((1..).take(batch.num_rows()).collect());
        Self { batches: vec![batch], locations: vec![(dataset.to_owned(), locations)] }
    }

    /// Returns the file that an error about the memory of all rows names: the last one; empty if there are no rows.
    pub(super) fn last_file(&self) -> &Path {
        self.locations.last().map_or(Path::new(""), |(path, _)| path)
    }

    /// Returns the file of a row, and its location there.
    pub(super) fn location(&self, row: HeldRow) -> Option<(PathBuf, InputLocation)> {
        let (path, locations) = self.locations.get(row.batch as usize)?;
        Some((path.clone(), locations.in_file(row.row as usize)))
    }
}

/// Replaces dictionaries by their values, so that all batches of an input have the same types.
fn without_codes(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let plain = |column: &ArrayRef| match column.data_type() {
        DataType::Dictionary(_, values) => arrow_cast::cast(column, values),
        _ => Ok(column.clone()),
    };
    let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect::<Result<_, _>>()?;
    let fields = batch.schema_ref().fields().iter().zip(&columns);
    let fields = fields.map(|(field, column)| Field::new(field.name(), column.data_type().clone(), true));
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns, &rows)
}

/// Passes all rows of a file to `take`, batch by batch. A record that cannot become a row is an error.
fn read_rows(
    input: &Input,
    Reading { files, limits, .. }: Reading<'_>,
    take: &mut dyn FnMut(DecodedBatch) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let mut reader = InputReader::open(files, input, limits)?;
    let decode = |chunk: RawChunk| chunk.decode(Table::Events, limits)?.collect::<Result<Vec<_>, _>>();
    loop {
        let chunks = std::iter::from_fn(|| reader.next().transpose()).take(ReadLimits::chunks());
        let chunks = chunks.collect::<Result<Vec<_>, _>>()?;
        if chunks.is_empty() {
            return Ok(());
        }
        let decoded: Vec<_> = chunks.into_par_iter().map(decode).collect();
        for batches in decoded {
            for mut batch in batches.map_err(|fault| fault.at(&input.shown))? {
                if let Some(fault) = batch.malformed.into_iter().next() {
                    return Err(fault.at(&input.shown));
                }
                if let Some(fault) = batch.fatal.take() {
                    return Err(fault.at(&input.shown));
                }
                take(DecodedBatch { malformed: Vec::new(), ..batch })?;
            }
        }
    }
}
