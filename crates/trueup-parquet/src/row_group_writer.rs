//! Writes a Parquet file row group by row group; threads encode the columns in parallel.

use arrow_array::ArrayRef;
use arrow_schema::{Field, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;
use rayon::prelude::*;
use std::io::{self, Write};

/// A Parquet file that is being written to `W`.
pub struct RowGroupWriter<W: Write> {
    writer: SerializedFileWriter<W>,
    columns: Vec<ColumnDescPtr>,
    factory: ArrowRowGroupWriterFactory,
    groups: usize,
}

impl<W: Write + Send> RowGroupWriter<W> {
    /// Begins a file without row groups.
    ///
    /// # Errors
    /// The schema is not one of Parquet, or nothing can be written to `file`.
    pub fn begin(file: W, schema: &SchemaRef, properties: WriterProperties) -> Result<Self, ParquetError> {
        // Readers of datasets do not need the arrow schema next to Parquet's own.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let (writer, factory) = ArrowWriter::try_new_with_options(file, schema.clone(), options)
            .and_then(ArrowWriter::into_serialized_writer)?;
        let columns = writer.schema_descr().columns().to_vec();
        Ok(Self { writer, columns, factory, groups: 0 })
    }

    /// Writes row groups. `column` returns the column of a row group at a position, which is counted from 0.
    ///
    /// # Errors
    /// A column cannot be made, encoded or written.
    pub fn write<G: Sync>(
        &mut self,
        row_groups: &[G],
        column: impl Fn(&G, usize, &ColumnDescPtr) -> Result<ColumnData, ParquetError> + Sync,
    ) -> Result<(), ParquetError> {
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
        for chunks in encoded? {
            self.append(chunks)?;
        }
        self.groups += row_groups.len();
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
    ///
    /// # Errors
    /// The bytes cannot be written.
    pub fn write_after_row_groups(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name())
    }

    /// Returns what the footer will say of the row groups.
    #[must_use]
    pub fn row_groups(&self) -> &[RowGroupMetaData] {
        self.writer.flushed_row_groups()
    }

    /// Writes the footer. Returns what the file was written to.
    ///
    /// # Errors
    /// The footer cannot be written.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.writer.into_inner()
    }
}

/// A column of a row group.
#[derive(Debug)]
pub enum ColumnData {
    /// A column that is encoded.
    Encoded(Box<EncodedChunk>),
    /// Values that are not encoded yet. The file's properties say how.
    Values(ArrayRef),
}

/// The bytes of a column chunk, and its metadata for the footer.
#[derive(Debug)]
pub struct EncodedChunk {
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
