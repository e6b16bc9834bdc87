//! What a format makes of an input: chunks, which any thread decodes into batches of rows.

use super::decoded::{DecodedBatch, RawRows, ReadLimits};
use super::header::FileHead;
use super::input::{Input, ReadOptions, RowMapper};
use crate::IngestError;
use crate::error::{ErrorKind, FileFault};
use crate::table::Table;
use arrow_schema::{ArrowError, SchemaRef};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// An input while its format reads it.
pub(super) struct FormatReader {
    /// The columns that the file declares; `None` if it declares none.
    pub(super) schema: Option<SchemaRef>,
    /// What was found at the beginning of a file of cells.
    pub(super) head: FileHead,
    /// The bytes of the file that were read since the last chunk.
    pub(super) read: Arc<AtomicU64>,
    /// The chunks in file order.
    pub(super) chunks: Box<dyn Iterator<Item = Result<FormatChunk, ReadFault>>>,
}

impl FormatReader {
    /// Returns the reader of an input whose rows one thread decodes.
    pub(super) fn of_rows(
        schema: Option<SchemaRef>,
        read: Arc<AtomicU64>,
        rows: impl Iterator<Item = Result<DecodedBatch, FileFault>> + 'static,
    ) -> Self {
        let chunk =
            |rows: DecodedBatch| FormatChunk { memory: rows.batch.get_array_memory_size(), rows: Box::new(rows) };
        let head = FileHead::default();
        Self { schema, head, read, chunks: Box::new(rows.map(move |rows| rows.map(chunk).map_err(ReadFault::Input))) }
    }
}

/// A part of an input, as its format has read it.
pub(super) struct FormatChunk {
    /// The bytes of memory that decoding takes, approximately.
    pub(super) memory: usize,
    pub(super) rows: Box<dyn ChunkRows>,
}

/// The rows of a chunk before they are decoded.
pub(super) trait ChunkRows: Send {
    /// Begins to decode the rows as those of a table.
    fn decode(self: Box<Self>, table: Table, limits: ReadLimits) -> Result<DecodedBatches, FileFault>;

    /// Returns the names of all columns, in any order, if the file declares none.
    fn names(self: Box<Self>) -> Result<Vec<String>, FileFault> {
        Ok(Vec::new())
    }
}

/// The rows of a chunk, decoded batch by batch, because decoded text may take far more memory than the chunk.
pub(super) type DecodedBatches = Box<dyn Iterator<Item = Result<DecodedBatch, FileFault>> + Send>;

/// Rows that are decoded already.
impl ChunkRows for DecodedBatch {
    fn decode(self: Box<Self>, _: Table, _: ReadLimits) -> Result<DecodedBatches, FileFault> {
        Ok(Box::new(std::iter::once(Ok(*self))))
    }
}

/// Why an input cannot be read any further.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadFault {
    #[error(transparent)]
    Input(#[from] FileFault),
    #[error(transparent)]
    Io(io::Error),
}

impl ReadFault {
    /// Adds the file, and what was done with it.
    pub(super) fn at(self, action: &'static str, input: &Input) -> IngestError {
        match self {
            Self::Input(fault) => fault.at(&input.shown),
            Self::Io(source) => ErrorKind::Io { action, path: input.path.clone(), source }.into(),
        }
    }
}

impl From<io::Error> for ReadFault {
    /// What unpacks or recodes a text reports the faults of its file as errors of the file system.
    fn from(error: io::Error) -> Self {
        error.downcast::<FileFault>().map_or_else(Self::Io, Self::Input)
    }
}

/// A part of an input that any thread may decode.
pub(crate) struct RawChunk {
    pub(super) chunk: FormatChunk,
    /// The bytes of the file that were read for it.
    pub(super) file_bytes: u64,
    /// Whether the columns were checked, because the file declares them.
    pub(super) is_checked: bool,
    pub(super) options: Arc<ReadOptions>,
    pub(super) mapper: Option<Arc<dyn RowMapper>>,
}

impl RawChunk {
    /// Returns the bytes of the file that were read for the chunk, for the progress report.
    pub(crate) const fn bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Returns the bytes of memory that decoding takes, approximately.
    pub(crate) const fn memory(&self) -> usize {
        self.chunk.memory
    }

    /// Begins to decode the chunk as rows of a table.
    pub(crate) fn decode(self, table: Table, limits: ReadLimits) -> Result<ChunkDecoder, FileFault> {
        let Self { chunk, is_checked, options, mapper, .. } = self;
        let batches = chunk.rows.decode(table, limits)?;
        Ok(ChunkDecoder { batches, is_checked, options, limits, mapper, whole: None, raw: None })
    }
}

/// The rows of a chunk, as the file has them or mapped.
pub(crate) struct ChunkDecoder {
    batches: DecodedBatches,
    is_checked: bool,
    options: Arc<ReadOptions>,
    limits: ReadLimits,
    mapper: Option<Arc<dyn RowMapper>>,
    /// The batch of which a part has become other rows.
    whole: Option<RawRows>,
    /// The batch of which the mapper has mapped a part.
    raw: Option<RawRows>,
}

impl ChunkDecoder {
    /// Returns the next rows as the file has them, or `None` after the last.
    fn next_decoded(&mut self) -> Result<Option<DecodedBatch>, FileFault> {
        let Some(decoded) = self.batches.next().transpose()? else { return Ok(None) };
        if !self.is_checked {
            self.options.columns(decoded.batch.schema_ref())?;
        }
        let batch = self.options.with_columns(decoded.batch).map_err(arrow_fault)?;
        Ok(Some(DecodedBatch { batch, ..decoded }))
    }

    /// Returns the next rows as a mapping sees them, or `None` after the last.
    fn next_raw(&mut self) -> Result<Option<DecodedBatch>, FileFault> {
        let Some(reshape) = self.options.reshape.clone() else { return self.next_decoded() };
        if self.whole.is_none() {
            self.whole = self.next_decoded()?.map(|decoded| RawRows { decoded, done: 0 });
        }
        let Some(whole) = &mut self.whole else { return Ok(None) };
        let (begin, rows, made) = (whole.done, whole.decoded.batch.num_rows(), reshape.rows_per_row());
        let end = rows.min(begin + (self.limits.rows / made.max(1)).max(1));
        let batch = reshape.reshape(&whole.decoded.batch.slice(begin, end - begin)).map_err(arrow_fault)?;
        let location = |row| std::iter::repeat_n(whole.decoded.locations.in_file(row), made);
        let locations = (begin..end).flat_map(location).collect();
        let part = whole.finish(end, batch, locations, Vec::new(), Box::default());
        if whole.is_done() {
            self.whole = None;
        }
        Ok(Some(part))
    }

    /// Returns the next rows, mapped if there is a mapper, or `None` after the last.
    fn next_rows(&mut self) -> Result<Option<DecodedBatch>, FileFault> {
        if self.raw.is_none() {
            let Some(decoded) = self.next_raw()? else { return Ok(None) };
            self.raw = Some(RawRows { decoded, done: 0 });
        }
        let Some(mapper) = &self.mapper else { return Ok(self.raw.take().map(|raw| raw.decoded)) };
        let Some(raw) = &mut self.raw else { return Ok(None) };
        let mapped = mapper.map(raw, self.limits).map_err(arrow_fault)?;
        if raw.is_done() {
            self.raw = None;
        }
        Ok(Some(mapped))
    }
}

impl Iterator for ChunkDecoder {
    type Item = Result<DecodedBatch, FileFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_rows().transpose()
    }
}

/// Returns the fault of an error that only a batch of too many rows or bytes causes.
fn arrow_fault(error: ArrowError) -> FileFault {
    FileFault::Unreadable(Box::new(error))
}
