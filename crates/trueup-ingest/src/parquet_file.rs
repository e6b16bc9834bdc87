//! Writes a Parquet file row group by row group; threads encode the columns in parallel.

use crate::IngestError;
use crate::error::ErrorContext;
use crate::pending_file::{FileFinisher, PendingFile};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;
use rayon::prelude::*;
use std::path::PathBuf;
use trueup_core::dataset::describe_row_group;
use trueup_core::dataset::manifest::DataFile;

/// A Parquet file that is being written.
pub(crate) struct ParquetFileWriter {
    writer: SerializedFileWriter<PendingFile>,
    columns: Vec<ColumnDescPtr>,
    factory: ArrowRowGroupWriterFactory,
    path: PathBuf,
    groups: usize,
    rows: usize,
}

impl ParquetFileWriter {
    pub(crate) fn begin(
        file: PendingFile,
        schema: &SchemaRef,
        properties: WriterProperties,
    ) -> Result<Self, IngestError> {
        let path = file.path().to_owned();
        // Readers of datasets do not need the arrow schema next to Parquet's own.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let (writer, factory) = ArrowWriter::try_new_with_options(file, schema.clone(), options)
            .and_then(ArrowWriter::into_serialized_writer)
            .writing(&path)?;
        let columns = writer.schema_descr().columns().to_vec();
        Ok(Self { writer, columns, factory, path, groups: 0, rows: 0 })
    }

    /// Writes each batch as a row group.
    pub(crate) fn write(&mut self, row_groups: &[RecordBatch]) -> Result<(), IngestError> {
        self.write_groups(row_groups, RecordBatch::num_rows, |batch, at, _| {
            Ok(ColumnData::Values(batch.column(at).clone()))
        })
    }

    /// Writes row groups. `rows` returns the number of rows of a row group, and `column` returns its column at a
    /// position, which is counted from 0.
    pub(crate) fn write_groups<G: Sync>(
        &mut self,
        row_groups: &[G],
        rows: impl Fn(&G) -> usize,
        column: impl Fn(&G, usize, &ColumnDescPtr) -> Result<ColumnData, ParquetError> + Sync,
    ) -> Result<(), IngestError> {
        let Self { columns, factory, groups, .. } = self;
        let encoded: Result<Vec<Vec<FinishedChunk>>, ParquetError> = row_groups
            .par_iter()
            .enumerate()
            .map(|(number, group)| {
                let writers = factory.create_column_writers(*groups + number)?;
                let writers: Vec<_> = writers.into_iter().zip(&*columns).enumerate().collect();
                let chunks = writers.into_par_iter().map(|(at, (writer, descriptor))| {
                    column(group, at, descriptor).and_then(|column| encode(writer, descriptor, column))
                });
                chunks.collect()
            })
            .collect();
        for chunks in encoded.writing(&self.path)? {
            self.append(chunks).writing(&self.path)?;
        }
        self.groups += row_groups.len();
        self.rows += row_groups.iter().map(rows).sum::<usize>();
        Ok(())
    }

    fn append(&mut self, chunks: Vec<FinishedChunk>) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for chunk in chunks {
            match chunk {
                FinishedChunk::Arrow(chunk) => chunk.append_to_row_group(&mut group)?,
                FinishedChunk::Encoded(chunk) => {
                    let EncodedChunk { bytes, close } = *chunk;
                    group.append_column(&Bytes::from(bytes), close)?;
                }
            }
        }
        group.close()?;
        Ok(())
    }

    /// Writes bytes after the last row group, which readers of Parquet do not look at.
    pub(crate) fn write_after_row_groups(&mut self, bytes: &[u8]) -> Result<(), IngestError> {
        self.writer.write_all(bytes).at("write", &self.path)
    }

    /// Ends the file and waits until it is durable.
    pub(crate) fn finish(self) -> Result<DataFile, IngestError> {
        self.end()?.wait()
    }

    /// Ends the file. It is durable after [`FileFinisher::wait`].
    pub(crate) fn end(self) -> Result<FileFinisher, IngestError> {
        let columns = self.columns.iter().map(|column| column.name().to_owned()).collect();
        let row_groups = self.writer.flushed_row_groups().iter().map(describe_row_group).collect();
        let file = self.writer.into_inner().writing(&self.path)?;
        Ok(file.end(u64::try_from(self.rows).unwrap_or(u64::MAX))?.with_row_groups(columns, row_groups))
    }
}

/// A column of a row group.
pub(crate) enum ColumnData {
    Encoded(Box<EncodedChunk>),
    /// Values that are not encoded yet. The file's properties say how.
    Values(ArrayRef),
}

/// The bytes of a column chunk, and its metadata for the footer.
pub(crate) struct EncodedChunk {
    pub(crate) bytes: Vec<u8>,
    pub(crate) close: ColumnCloseResult,
}

enum FinishedChunk {
    Arrow(Box<ArrowColumnChunk>),
    Encoded(Box<EncodedChunk>),
}

fn encode(
    mut writer: ArrowColumnWriter,
    column: &ColumnDescPtr,
    values: ColumnData,
) -> Result<FinishedChunk, ParquetError> {
    let values = match values {
        ColumnData::Encoded(chunk) => return Ok(FinishedChunk::Encoded(chunk)),
        ColumnData::Values(values) => values,
    };
    let field = Field::new(column.name(), values.data_type().clone(), column.max_def_level() > 0);
    // No column is nested, so each has a single leaf.
    for leaf in compute_leaves(&field, &values)? {
        writer.write(&leaf)?;
    }
    writer.close().map(|chunk| FinishedChunk::Arrow(Box::new(chunk)))
}
