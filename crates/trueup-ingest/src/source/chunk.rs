//! A part of an input, decoded on any thread into batches of rows.

use super::csv::{CsvDecoder, CsvFormat};
use super::decoded::{self, DecodedBatch, RawRows, ReadLimits, RowLocations};
use super::input::{ReadOptions, RowMapper};
use super::ndjson::{NdjsonColumns, NdjsonDecoder};
use super::parquet::ParquetChunk;
use super::text_blocks::TextBlock;
use crate::error::InputFault;
use crate::table::Table;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema};
use std::sync::Arc;

/// A part of an input that any thread may decode.
pub(crate) struct RawChunk {
    pub(super) bytes: ChunkBytes,
    /// The bytes of the file that were read for it.
    pub(super) file_bytes: u64,
    pub(super) options: Arc<ReadOptions>,
    pub(super) mapper: Option<Arc<dyn RowMapper>>,
}

/// What is decoded.
pub(super) enum ChunkBytes {
    Csv(TextBlock, CsvFormat),
    /// Whether the file is a JSON array.
    Ndjson(TextBlock, bool),
    Parquet(ParquetChunk),
    /// Rows that are decoded already.
    Rows(DecodedBatch),
    OneRow,
}

impl RawChunk {
    /// Returns the bytes of the file that were read for the chunk, for the progress report.
    pub(crate) const fn bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Returns the bytes of memory that decoding takes, approximately.
    pub(crate) fn memory(&self) -> usize {
        match &self.bytes {
            ChunkBytes::Csv(block, _) | ChunkBytes::Ndjson(block, _) => block.bytes.len() * decoded::TEXT_COPIES,
            ChunkBytes::Parquet(chunk) => chunk.memory(),
            ChunkBytes::Rows(rows) => rows.batch.get_array_memory_size(),
            ChunkBytes::OneRow => 0,
        }
    }

    /// Begins to decode the chunk as rows of a table.
    pub(crate) fn decode(self, table: Table, limits: ReadLimits) -> Result<ChunkDecoder, InputFault> {
        let Self { bytes, options, mapper, .. } = self;
        let format = match bytes {
            ChunkBytes::Csv(block, format) => FormatDecoder::Csv(CsvDecoder::new(block, format, limits)?),
            ChunkBytes::Ndjson(block, is_array) => {
                let columns = NdjsonColumns { table, options: options.clone(), is_array };
                FormatDecoder::Ndjson(NdjsonDecoder::new(block, columns, limits)?)
            }
            ChunkBytes::Parquet(chunk) => FormatDecoder::Decoded(chunk.decode()?.into_iter()),
            ChunkBytes::Rows(rows) => FormatDecoder::Decoded(vec![rows].into_iter()),
            ChunkBytes::OneRow => FormatDecoder::Decoded(vec![one_row().map_err(arrow_fault)?].into_iter()),
        };
        Ok(ChunkDecoder { format, options, limits, mapper, raw: None })
    }
}

/// The rows of a chunk. They are decoded batch by batch, because decoded text may take far more memory than the block.
pub(crate) struct ChunkDecoder {
    format: FormatDecoder,
    options: Arc<ReadOptions>,
    limits: ReadLimits,
    mapper: Option<Arc<dyn RowMapper>>,
    /// The batch of which the mapper has mapped a part.
    raw: Option<RawRows>,
}

enum FormatDecoder {
    Csv(CsvDecoder),
    Ndjson(NdjsonDecoder),
    Decoded(std::vec::IntoIter<DecodedBatch>),
}

impl ChunkDecoder {
    /// Returns the next rows as the file has them, or `None` after the last.
    fn next_raw(&mut self) -> Result<Option<DecodedBatch>, InputFault> {
        let decoded = match &mut self.format {
            FormatDecoder::Csv(decoder) => decoder.next()?,
            FormatDecoder::Ndjson(decoder) => decoder.next()?,
            FormatDecoder::Decoded(batches) => batches.next(),
        };
        let Some(DecodedBatch { batch, locations, malformed, fatal }) = decoded else { return Ok(None) };
        if let FormatDecoder::Ndjson(_) = self.format {
            // Other formats declare their columns.
            self.options.columns(batch.schema_ref())?;
        }
        let batch = self.options.with_columns(batch).map_err(arrow_fault)?;
        Ok(Some(DecodedBatch { batch, locations, malformed, fatal }))
    }

    /// Returns the next rows, mapped if there is a mapper, or `None` after the last.
    fn next_rows(&mut self) -> Result<Option<DecodedBatch>, InputFault> {
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
    type Item = Result<DecodedBatch, InputFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_rows().transpose()
    }
}

/// Returns the single row of an input that is no file.
fn one_row() -> Result<DecodedBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    let locations = RowLocations::Rows { row_group: 0, first: 0, before: 0 };
    Ok(DecodedBatch { batch, locations, malformed: Vec::new(), fatal: None })
}

/// Returns the fault of an error that only a batch of too many rows or bytes causes.
fn arrow_fault(error: ArrowError) -> InputFault {
    InputFault::Unreadable(Box::new(error))
}
