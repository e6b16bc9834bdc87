//! Rows on disk that carry their place in the order of arrival.

use crate::IngestError;
use crate::error::ErrorContext;
use crate::version::Scratch;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;
use trueup_core::files::{Files, OpenFile};

/// The last column of spilled rows: their place in the order of arrival.
pub(super) const SEQUENCE: &str = "trueup.sequence";

/// The batch with its rows' places behind the other columns.
pub(super) fn with_sequence(batch: &RecordBatch, sequence: ArrayRef) -> Result<RecordBatch, ArrowError> {
    let last = Arc::new(Field::new(SEQUENCE, DataType::UInt64, false));
    let fields: Vec<_> = batch.schema_ref().fields().iter().cloned().chain([last]).collect();
    let columns = batch.columns().iter().cloned().chain([sequence]).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Rows on disk, in one file for each schema that they have had.
pub(crate) struct Rows {
    operations: Files,
    /// What the files' names begin with.
    stem: PathBuf,
    files: Vec<PathBuf>,
    writer: Option<StreamWriter<BufWriter<OpenFile>>>,
    /// Of the file that is being written.
    schema: Option<SchemaRef>,
    /// Bytes that the rows take in memory.
    pub(super) bytes: usize,
    pub(super) rows: usize,
    /// Batches written.
    pub(super) batches: usize,
}

impl Rows {
    pub(crate) fn new(scratch: &Scratch, name: &str) -> Self {
        let operations = scratch.files().clone();
        Self {
            operations,
            stem: scratch.path().join(name),
            files: Vec::new(),
            writer: None,
            schema: None,
            bytes: 0,
            rows: 0,
            batches: 0,
        }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), IngestError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.bytes += batch.get_array_memory_size();
        self.rows += batch.num_rows();
        self.batches += 1;
        if self.schema.as_ref() != Some(batch.schema_ref()) {
            self.end()?;
            let path = self.stem.with_extension(self.files.len().to_string());
            let file = BufWriter::new(self.operations.create(&path).at("create", &path)?);
            self.writer = Some(StreamWriter::try_new(file, batch.schema_ref()).doing("spill rows")?);
            self.schema = Some(batch.schema());
            self.files.push(path);
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(batch)).doing("spill rows")
    }

    /// Ends writing.
    pub(crate) fn end(&mut self) -> Result<(), IngestError> {
        match self.writer.take() {
            Some(mut writer) => {
                self.schema = None;
                writer.finish().doing("spill rows")
            }
            None => Ok(()),
        }
    }

    /// The rows, in the order in which they were written.
    pub(crate) fn read(&self) -> impl Iterator<Item = Result<RecordBatch, IngestError>> + use<> {
        let operations = self.operations.clone();
        self.files.clone().into_iter().flat_map(move |path| {
            let reader = operations
                .open(&path)
                .at("read", &path)
                .and_then(|file| StreamReader::try_new(BufReader::new(file), None).doing("read spilled rows"));
            let (batches, error) = match reader {
                Ok(reader) => (Some(reader.map(|batch| batch.doing("read spilled rows"))), None),
                Err(error) => (None, Some(Err(error))),
            };
            batches.into_iter().flatten().chain(error)
        })
    }
}
