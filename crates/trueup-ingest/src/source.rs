//! Input files of any format, read as chunks that threads decode in parallel.
//!
//! ```text
//! InputReader            detects the format and splits the file        source.rs
//!   TextBlocks           CSV, NDJSON: blocks of whole records          text_blocks.rs
//!   ParquetReader        Parquet: row groups, or batches of large ones parquet.rs, row_group.rs
//! RawChunk               a block or a row group, not yet decoded
//! ChunkDecoder           CsvDecoder, NdjsonDecoder, or Parquet batches csv.rs, ndjson.rs
//! DecodedBatch           rows, their locations, malformed records      decoded.rs
//! ```
//!
//! `ReadLimits` in `decoded.rs` says how much is read at the same time.

mod csv;
mod decoded;
mod ndjson;
mod parquet;
mod row_group;
mod text_blocks;

pub(crate) use decoded::{ColumnNames, DecodedBatch, ReadLimits, RowLocations};
pub(crate) use parquet::ParquetReader;
pub(crate) use row_group::ParquetBytes;
pub(crate) use text_blocks::{TextBlockFault, TextBlocks};

use crate::error::{ErrorContext, InputFault, OPEN};
use crate::table::Table;
use crate::{IngestError, Input};
use arrow_schema::SchemaRef;
use csv::CsvDecoder;
use ndjson::NdjsonDecoder;
use parquet::ParquetChunk;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use text_blocks::TextBlock;
use trueup_core::files::{Files, OpenFile};

/// An input file, read chunk by chunk.
pub(crate) struct InputReader<'a> {
    input: &'a Input,
    reader: FormatReader,
}

enum FormatReader {
    Csv { schema: SchemaRef, first: Option<TextBlock>, blocks: TextBlocks<OpenFile> },
    Ndjson(TextBlocks<OpenFile>),
    Parquet(Box<ParquetReader>),
}

impl<'a> InputReader<'a> {
    /// Opens an input, detects its format, and reads its header or footer.
    ///
    /// # Errors
    /// The file cannot be read, has no sound header or footer, or has too many columns.
    pub(crate) fn open(files: &Files, input: &'a Input, limits: ReadLimits) -> Result<Self, IngestError> {
        let path = &input.path;
        let mut file = files.open(path).at(OPEN, path)?;
        let format = detect_format(path, &mut file).at(OPEN, path)?.map_err(|fault| fault.of(&input.shown))?;
        let blocks = |file, quotes| TextBlocks::new(file, limits.block_bytes(), limits.record_bytes(), quotes);
        let reader = match format {
            InputFormat::Parquet => {
                let bytes = ParquetBytes::input(file.into_inner()).at(OPEN, path)?;
                let reader = ParquetReader::open(bytes, limits).map_err(|fault| fault.of(&input.shown))?;
                FormatReader::Parquet(Box::new(reader))
            }
            InputFormat::Ndjson => FormatReader::Ndjson(blocks(skip_byte_order_mark(file).at(OPEN, path)?, false)),
            InputFormat::Csv => {
                let mut blocks = blocks(skip_byte_order_mark(file).at(OPEN, path)?, true);
                let first = next_block(&mut blocks, input)?.ok_or_else(|| InputFault::NoHeader.of(&input.shown))?;
                let (schema, rows) = csv::read_header(&first).map_err(|fault| fault.of(&input.shown))?;
                FormatReader::Csv { schema, first: Some(rows), blocks }
            }
        };
        let reader = Self { input, reader };
        if let Some(schema) = reader.schema() {
            limits.check_columns(schema).map_err(|fault| fault.of(&input.shown))?;
        }
        Ok(reader)
    }

    /// Returns the columns that the file declares; `None` for NDJSON, which declares none.
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        match &self.reader {
            FormatReader::Csv { schema, .. } => Some(schema),
            FormatReader::Ndjson(_) => None,
            FormatReader::Parquet(parquet) => Some(parquet.schema()),
        }
    }

    /// Returns the next chunk in file order, or `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<RawChunk>, IngestError> {
        match &mut self.reader {
            FormatReader::Csv { schema, first, blocks } => {
                let block = match first.take() {
                    Some(block) => Some(block),
                    None => next_block(blocks, self.input)?,
                };
                Ok(block.map(|block| RawChunk::Csv(block, schema.clone())))
            }
            FormatReader::Ndjson(blocks) => Ok(next_block(blocks, self.input)?.map(RawChunk::Ndjson)),
            FormatReader::Parquet(parquet) => {
                let chunk = parquet.next().map_err(|fault| fault.of(&self.input.shown))?;
                Ok(chunk.map(RawChunk::Parquet))
            }
        }
    }
}

enum InputFormat {
    Parquet,
    Csv,
    Ndjson,
}

/// The first bytes of every Parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The bytes that some programs write before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Detectsthe format from the ending of the file's name, or from its first bytes if the ending is another. Leaves the
/// file at its beginning.
fn detect_format(path: &Path, file: &mut (impl Read + Seek)) -> io::Result<Result<InputFormat, InputFault>> {
    let mut begin = Vec::new();
    file.by_ref().take(64).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    if begin.is_empty() {
        return Ok(Err(InputFault::Empty));
    }
    let text = begin.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&begin);
    let is_parquet = begin.starts_with(PARQUET_MAGIC);
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    Ok(match extension.as_deref() {
        Some("parquet") if !is_parquet => Err(InputFault::NotParquet),
        Some("csv" | "ndjson" | "jsonl") if is_parquet => Err(InputFault::IsParquet),
        Some("csv") => Ok(InputFormat::Csv),
        Some("ndjson" | "jsonl") => Ok(InputFormat::Ndjson),
        _ if is_parquet => Ok(InputFormat::Parquet),
        _ if text.trim_ascii_start().starts_with(b"{") => Ok(InputFormat::Ndjson),
        _ => Ok(InputFormat::Csv),
    })
}

fn next_block(blocks: &mut TextBlocks<OpenFile>, input: &Input) -> Result<Option<TextBlock>, IngestError> {
    match blocks.next() {
        Ok(block) => Ok(block),
        Err(TextBlockFault::Io(error)) => Err(error).at("read", &input.path),
        Err(TextBlockFault::TooLong { line, longest }) => {
            Err(InputFault::LongRecord { line, longest }.of(&input.shown))
        }
    }
}

/// Returns the file positioned after the byte order mark that some programs write before UTF-8.
fn skip_byte_order_mark(mut file: OpenFile) -> io::Result<OpenFile> {
    let mut begin = Vec::new();
    file.by_ref().take(3).read_to_end(&mut begin)?;
    if begin != BYTE_ORDER_MARK {
        file.seek(SeekFrom::Start(0))?;
    }
    Ok(file)
}

/// A part of an input that any thread may decode.
pub(crate) enum RawChunk {
    Csv(TextBlock, SchemaRef),
    Ndjson(TextBlock),
    Parquet(ParquetChunk),
}

impl RawChunk {
    /// Returns the chunk's bytes in the file, for the progress report.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Csv(block, _) | Self::Ndjson(block) => u64::try_from(block.bytes.len()).unwrap_or(u64::MAX),
            Self::Parquet(chunk) => chunk.bytes(),
        }
    }

    /// Returns the bytes of memory that decoding takes, approximately.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Csv(block, _) | Self::Ndjson(block) => block.bytes.len() * decoded::TEXT_COPIES,
            Self::Parquet(chunk) => chunk.memory(),
        }
    }

    /// Begins to decode the chunk as rows of a table.
    pub(crate) fn decode(self, table: Table, limits: ReadLimits) -> Result<ChunkDecoder, InputFault> {
        Ok(match self {
            Self::Csv(block, schema) => ChunkDecoder::Csv(CsvDecoder::new(block, schema, limits)?),
            Self::Ndjson(block) => {
                ChunkDecoder::Ndjson(NdjsonDecoder::new(block, table.required(), table.amounts(), limits)?)
            }
            Self::Parquet(chunk) => ChunkDecoder::Parquet(chunk.decode()?.into_iter()),
        })
    }
}

/// The rows of a chunk, decoded batch by batch because decoded text may take far more memory than the block.
pub(crate) enum ChunkDecoder {
    Csv(CsvDecoder),
    Ndjson(NdjsonDecoder),
    Parquet(std::vec::IntoIter<DecodedBatch>),
}

impl Iterator for ChunkDecoder {
    type Item = Result<DecodedBatch, InputFault>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Csv(decoder) => decoder.next().transpose(),
            Self::Ndjson(decoder) => decoder.next().transpose(),
            Self::Parquet(batches) => batches.next().map(Ok),
        }
    }
}

#[cfg(test)]
mod tests;
