//! Rows that wait on disk while an ingest goes on.

use crate::IngestError;
use crate::error::ErrorContext;
use crate::version::Scratch;
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use trueup_core::files::{Files, OpenFile};

/// Rows on disk, read back in the order in which they were written. Begins another file whenever the schema changes.
#[derive(Default)]
pub(crate) struct SpillFile {
    operations: Files,
    /// The path of every file without its extension, which is the file's number.
    stem: PathBuf,
    files: Vec<PathBuf>,
    writer: Option<StreamWriter<BufWriter<OpenFile>>>,
    /// The schema of the file that is being written.
    schema: Option<SchemaRef>,
    /// Bytes that the rows would take in memory.
    pub(crate) bytes: usize,
    pub(crate) rows: usize,
    /// The number of batches written.
    pub(crate) batches: usize,
}

impl SpillFile {
    /// Begins without rows. `name` begins the names of its files in the scratch folder.
    pub(crate) fn new(scratch: &Scratch, name: &str) -> Self {
        Self { operations: scratch.files().clone(), stem: scratch.path().join(name), ..Self::default() }
    }

    /// Appends a batch. Does nothing if it has no rows.
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

    /// Ends writing, so that the rows can be read.
    pub(crate) fn end(&mut self) -> Result<(), IngestError> {
        match self.writer.take() {
            Some(mut writer) => {
                self.schema = None;
                writer.finish().doing("spill rows")
            }
            None => Ok(()),
        }
    }

    /// Returns the batches, in the order in which they were written.
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
