//! A Parquet file that is written row group by row group, the columns side by side.

use crate::IngestError;
use crate::draft::NewFile;
use crate::error::Writing;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;
use std::path::PathBuf;
use trueup_core::dataset::manifest::DataFile;

/// A Parquet file that is being written.
pub(crate) struct ParquetFile {
    writer: SerializedFileWriter<NewFile>,
    factory: ArrowRowGroupWriterFactory,
    path: PathBuf,
    groups: usize,
    rows: usize,
}

impl ParquetFile {
    pub(crate) fn begin(file: NewFile, schema: &SchemaRef, properties: WriterProperties) -> Result<Self, IngestError> {
        let path = file.path().to_owned();
        // What arrow would add beside Parquet's own schema says nothing that a reader of datasets needs.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let (writer, factory) = ArrowWriter::try_new_with_options(file, schema.clone(), options)
            .and_then(ArrowWriter::into_serialized_writer)
            .writing(&path)?;
        Ok(Self { writer, factory, path, groups: 0, rows: 0 })
    }

    /// Adds each batch as a row group.
    pub(crate) fn write(&mut self, row_groups: &[RecordBatch]) -> Result<(), IngestError> {
        let encoded: Result<Vec<Vec<ArrowColumnChunk>>, ParquetError> = row_groups
            .par_iter()
            .enumerate()
            .map(|(at, batch)| encode(self.factory.create_column_writers(self.groups + at)?, batch))
            .collect();
        for chunks in encoded.writing(&self.path)? {
            self.append(chunks).writing(&self.path)?;
        }
        self.groups += row_groups.len();
        self.rows += row_groups.iter().map(RecordBatch::num_rows).sum::<usize>();
        Ok(())
    }

    fn append(&mut self, chunks: Vec<ArrowColumnChunk>) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file, durably.
    pub(crate) fn finish(self) -> Result<DataFile, IngestError> {
        let file = self.writer.into_inner().writing(&self.path)?;
        file.finish(u64::try_from(self.rows).unwrap_or(u64::MAX))
    }
}

fn encode(writers: Vec<ArrowColumnWriter>, batch: &RecordBatch) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
    let columns: Vec<_> = writers.into_iter().zip(batch.schema_ref().fields()).zip(batch.columns()).collect();
    columns
        .into_par_iter()
        .map(|((mut writer, field), column)| {
            // Every column is flat, and so a single leaf.
            for leaf in compute_leaves(field, column)? {
                writer.write(&leaf)?;
            }
            writer.close()
        })
        .collect()
}
