//! A stored file of spend, read row group by row group.

use crate::IngestError;
use crate::buffered_chunks::BufferedChunks;
use crate::error::{ErrorContext, ErrorKind};
use crate::live_rows::only_rows;
use crate::monitor::Monitor;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::Length;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{CheckedFile, DeletionVector};
use trueup_core::model::{SPEND_COLUMNS, stored_spend_schema};
use trueup_parquet::{catch_panics, check_chunk_ranges};

/// A file of spend, whose footer was read.
pub(super) struct StoredSpend<'a> {
    stored: &'a DataFile,
    path: PathBuf,
    file: CheckedFile,
    metadata: ArrowReaderMetadata,
}

impl<'a> StoredSpend<'a> {
    /// Reads the footer.
    pub(super) fn open(dir: &Path, stored: &'a DataFile, monitor: &Monitor) -> Result<Self, IngestError> {
        let path = dir.join(&stored.path);
        let file = CheckedFile::open(dir, stored).of_dataset(&path)?.until(monitor.interrupt());
        let load = || {
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let metadata = ArrowReaderMetadata::load(&file, options)?;
            check_chunk_ranges(metadata.metadata(), file.len())?;
            Ok(metadata)
        };
        let metadata = catch_panics(load).of_dataset(&path)?;
        let opened = Self { stored, path, file, metadata };
        // A deletion vector counts the rows of the row groups as the list of files has them.
        let found = opened.metadata.metadata().row_groups().iter().map(|row_group| u64::try_from(row_group.num_rows()));
        if found.eq(stored.row_groups.iter().map(|entry| Ok(entry.rows))) {
            return Ok(opened);
        }
        Err(opened.damaged("its row groups differ from those in the list of files"))
    }

    /// Reads columns of a row group, in the order of stored spend. The bytes of the columns are read in one read.
    ///
    /// # Errors
    /// The file cannot be read, or a column is missing, has another type than in stored spend, or has another number
    /// of rows than the row group.
    pub(super) fn read(&self, row_group: usize, columns: &[&str]) -> Result<Vec<RecordBatch>, IngestError> {
        let chunks = self.metadata.metadata().row_group(row_group).columns().iter();
        let chunks = chunks.filter(|chunk| columns.contains(&chunk.column_descr().name())).map(|chunk| {
            let (start, length) = chunk.byte_range();
            start..start.saturating_add(length)
        });
        // Stored spend begins with the columns of keys, between which lies only that of categories.
        let all = chunks.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end)).unwrap_or(0..0);
        let held = BufferedChunks::read(self.file.clone(), std::iter::once((all.start, all.end - all.start)));
        let held = held.of_dataset(&self.path)?;
        let read = || {
            let mask = ProjectionMask::columns(self.metadata.parquet_schema(), columns.iter().copied());
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(held, self.metadata.clone());
            let batches = builder.with_projection(mask).with_row_groups(vec![row_group]).build()?;
            Ok(batches.map(|batch| stored_form(&batch?, columns)).collect::<Result<Vec<_>, _>>()?)
        };
        let batches = catch_panics(read).of_dataset(&self.path)?;
        let rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        match self.stored.row_groups.get(row_group) {
            Some(entry) if entry.rows == rows => Ok(batches),
            _ => Err(self.damaged("a column has another number of rows than its row group")),
        }
    }

    /// Passes on the rows that a deletion vector leaves, row group by row group.
    pub(super) fn each_left(
        &self,
        superseded: Option<&DeletionVector>,
        take: &mut dyn FnMut(RecordBatch) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        for row_group in 0..self.stored.row_groups.len() {
            let left = superseded.and_then(|vector| vector.left_ranges(&self.stored.row_groups, row_group));
            if left.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            let mut first = 0;
            for batch in self.read(row_group, &SPEND_COLUMNS)? {
                let rows = batch.num_rows();
                take(match &left {
                    None => batch,
                    Some(left) => only_rows(&batch, first, left).doing("read stored spend")?,
                })?;
                first += rows;
            }
        }
        Ok(())
    }

    fn damaged(&self, fault: &'static str) -> IngestError {
        ErrorKind::Stored { path: self.path.clone(), source: fault.into() }.into()
    }
}

/// Returns columns of stored spend, which have the types of [`stored_spend_schema`].
fn stored_form(batch: &RecordBatch, columns: &[&str]) -> Result<RecordBatch, ArrowError> {
    let schema = stored_spend_schema();
    let fields = schema.fields().iter().filter(|field| columns.contains(&field.name().as_str()));
    let fields: Vec<Arc<Field>> = fields.cloned().collect();
    let column = |field: &Arc<Field>| {
        let found = batch.column_by_name(field.name()).filter(|column| column.data_type() == field.data_type());
        let absent = || ArrowError::SchemaError(format!("expected a column `{}` of stored spend", field.name()));
        found.cloned().ok_or_else(absent)
    };
    let arrays = fields.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}
