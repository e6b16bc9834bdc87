//! Writes a Parquet file of a dataset row group by row group; threads encode the columns in parallel.

use crate::IngestError;
use crate::error::ErrorContext;
use crate::pending_file::{FileFinisher, PendingFile};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnDescPtr;
use std::path::PathBuf;
use trueup_core::dataset::describe_row_group;
use trueup_core::dataset::manifest::{DataFile, RowGroupEntry};
use trueup_parquet::{ColumnData, RowGroupWriter};

/// A Parquet file that is being written.
pub(crate) struct ParquetFileWriter {
    writer: RowGroupWriter<PendingFile>,
    path: PathBuf,
}

impl ParquetFileWriter {
    pub(crate) fn begin(
        file: PendingFile,
        schema: &SchemaRef,
        properties: WriterProperties,
    ) -> Result<Self, IngestError> {
        let path = file.path().to_owned();
        let writer = RowGroupWriter::begin(file, schema, properties).writing(&path)?;
        Ok(Self { writer, path })
    }

    /// Writes each batch as a row group.
    pub(crate) fn write(&mut self, row_groups: &[RecordBatch]) -> Result<(), IngestError> {
        self.write_groups(row_groups, |batch, at, _| Ok(ColumnData::Values(batch.column(at).clone())))
    }

    /// Writes row groups. `column` returns the column of a row group at a position, which is counted from 0.
    pub(crate) fn write_groups<G: Sync>(
        &mut self,
        row_groups: &[G],
        column: impl Fn(&G, usize, &ColumnDescPtr) -> Result<ColumnData, ParquetError> + Sync,
    ) -> Result<(), IngestError> {
        self.writer.write(row_groups, column).writing(&self.path)
    }

    /// Writes bytes after the last row group, which readers of Parquet do not look at.
    pub(crate) fn write_after_row_groups(&mut self, bytes: &[u8]) -> Result<(), IngestError> {
        self.writer.write_after_row_groups(bytes).at("write", &self.path)
    }

    /// Ends the file and waits until it is durable.
    pub(crate) fn finish(self) -> Result<DataFile, IngestError> {
        self.end()?.wait()
    }

    /// Ends the file. It is durable after [`FileFinisher::wait`].
    pub(crate) fn end(self) -> Result<FileFinisher, IngestError> {
        let columns = self.writer.columns().map(str::to_owned).collect();
        let row_groups: Vec<RowGroupEntry> = self.writer.row_groups().iter().map(describe_row_group).collect();
        let rows = row_groups.iter().map(|row_group| row_group.rows).sum();
        let file = self.writer.finish().writing(&self.path)?;
        Ok(file.end(rows)?.with_row_groups(columns, row_groups))
    }
}
