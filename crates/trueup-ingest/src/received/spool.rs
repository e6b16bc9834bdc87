//! Writes what a source produces to a file.

use super::each_received;
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, FileFault};
use crate::monitor::{Monitor, Phase};
use crate::version::Scratch;
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use std::collections::HashMap;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use trueup_core::files::OpenFile;

/// A file in a scratch folder while it receives a source.
pub(super) struct Spool<'a> {
    /// The name of the source in messages.
    shown: &'a Path,
    path: PathBuf,
    file: BufWriter<OpenFile>,
    monitor: &'a Monitor,
}

/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Takes the batches of a source.
type TakeBatch<'a> = dyn FnMut(Result<RecordBatch, ArrowError>) -> Result<(), IngestError> + 'a;

impl<'a> Spool<'a> {
    pub(super) fn begin(shown: &'a Path, scratch: &Scratch, monitor: &'a Monitor) -> Result<Self, IngestError> {
        monitor.begin(Phase::ReceivingInputs, None);
        let path = scratch.path().join("received");
        let file = BufWriter::new(scratch.files().create(&path).at("create", &path)?);
        Ok(Self { shown, path, file, monitor })
    }

    /// Receives the bytes of a reader.
    pub(super) fn bytes(mut self, mut reader: Box<dyn Read + Send>) -> Result<PathBuf, IngestError> {
        let blocks = std::iter::from_fn(move || next_block(&mut *reader).transpose());
        each_received(blocks, self.monitor, &mut |block: io::Result<Vec<u8>>| {
            let block = block.at("read", self.shown)?;
            self.monitor.add(0, u64::try_from(block.len()).unwrap_or(0));
            self.file.write_all(&block).at("write", &self.path)
        })?;
        self.file.flush().at("write", &self.path)?;
        Ok(self.path)
    }

    /// Receives the batches that `produce` passes on. `schema` has their columns, if these are known in advance.
    pub(super) fn batches(
        self,
        schema: Option<SchemaRef>,
        produce: impl FnOnce(&mut TakeBatch<'_>) -> Result<(), IngestError>,
    ) -> Result<PathBuf, IngestError> {
        let Self { shown, path, file, monitor } = self;
        let failed = |error: ArrowError| match error {
            ArrowError::IoError(_, source) => {
                IngestError::from(ErrorKind::Io { action: "write", path: path.clone(), source })
            }
            error => FileFault::Unreadable(Box::new(error)).at(shown),
        };
        let (mut file, mut writer) = (Some(file), None);
        let mut write = |schema: &Schema, batch: Option<&RecordBatch>| {
            if let Some(file) = file.take() {
                writer = Some(StreamWriter::try_new(file, &stored_schema(schema)).map_err(failed)?);
            }
            match (&mut writer, batch) {
                (Some(writer), Some(batch)) => writer.write(batch).map_err(failed),
                _ => Ok(()),
            }
        };
        if let Some(schema) = &schema {
            write(schema, None)?;
        }
        let (mut columns, mut count) = (schema, 0);
        produce(&mut |batch| {
            let batch = batch.map_err(|error| FileFault::Unreadable(Box::new(error)).at(shown))?;
            let first = columns.get_or_insert_with(|| batch.schema());
            if !has_same_columns(first, batch.schema_ref()) {
                return Err(FileFault::OtherColumns(count).at(shown));
            }
            count += 1;
            monitor.add(batch.num_rows(), u64::try_from(batch.get_array_memory_size()).unwrap_or(0));
            write(first, Some(&batch))
        })?;
        let Some(writer) = writer else { return Err(FileFault::NoBatches.at(shown)) };
        writer.into_inner().map_err(failed)?.flush().at("write", &path)?;
        Ok(path)
    }
}

/// Returns the columns as they are written: nullable and without metadata, because batches may differ in both.
fn stored_schema(schema: &Schema) -> Schema {
    let nullable = |field: &FieldRef| field.as_ref().clone().with_nullable(true).with_metadata(HashMap::new());
    Schema::new(schema.fields().iter().map(nullable).collect::<Vec<_>>())
}

fn has_same_columns(first: &Schema, other: &Schema) -> bool {
    let columns = |schema: &Schema| -> Vec<(String, DataType)> {
        schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    columns(first) == columns(other)
}

/// Returns the next bytes of a reader, or `None` at its end.
fn next_block(reader: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match reader.read(&mut block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            length => {
                block.truncate(length?);
                return Ok(Some(block).filter(|block| !block.is_empty()));
            }
        }
    }
}
