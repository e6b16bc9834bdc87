//! Input files of any format, read as chunks that threads decode in parallel.
//!
//! ```text
//! InputReader            detects the format and splits the file        source.rs
//!   TextBlocks           CSV, NDJSON: blocks of whole records          text_blocks.rs
//!   ParquetReader        Parquet: row groups, or batches of large ones parquet.rs, row_group.rs
//!   SheetReader          XLSX: decoded rows                            xlsx.rs
//! RawChunk               a block or a row group, not yet decoded
//! ChunkDecoder           CsvDecoder, NdjsonDecoder, or Parquet batches csv.rs, ndjson.rs
//!   RowMapper            makes canonical rows of them if a mapping does  input.rs
//! DecodedBatch           rows, their locations, malformed records      decoded.rs
//! ```
//!
//! `Input` in `input.rs` says which file is read, and how. `ReadLimits` in `decoded.rs` says how much is read at the
//! same time.

mod csv;
mod decoded;
mod input;
mod ndjson;
mod parquet;
mod row_group;
mod text_blocks;
mod xlsx;

pub(crate) use decoded::{ColumnNames, DecodedBatch, RawRows, ReadLimits, RowLocations};
pub(crate) use input::{Input, InputFormat, ReadOptions, RowMapper};
pub(crate) use parquet::ParquetReader;
pub(crate) use row_group::ParquetBytes;
pub(crate) use text_blocks::{TextBlockFault, TextBlocks};

use crate::IngestError;
use crate::error::{ErrorContext, InputFault, OPEN};
use crate::table::Table;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use csv::{CsvDecoder, CsvFormat};
use ndjson::{NdjsonColumns, NdjsonDecoder};
use parquet::ParquetChunk;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use text_blocks::TextBlock;
use trueup_core::files::{Files, OpenFile};
use xlsx::SheetReader;

/// An input file, read chunk by chunk.
pub(crate) struct InputReader<'a> {
    input: &'a Input,
    reader: FormatReader,
}

enum FormatReader {
    Csv {
        format: CsvFormat,
        first: Option<TextBlock>,
        blocks: TextBlocks<OpenFile>,
    },
    Ndjson(TextBlocks<OpenFile>),
    Parquet(Box<ParquetReader>),
    /// The sheet, and the bytes of the file until its first rows are read.
    Xlsx(SheetReader, u64),
    /// Whether the row is still to be read.
    OneRow(bool),
}

impl<'a> InputReader<'a> {
    /// Opens an input, detects its format, and reads its header or footer.
    ///
    /// # Errors
    /// The file cannot be read, has no sound header or footer, or has too many columns.
    pub(crate) fn open(files: &Files, input: &'a Input, limits: ReadLimits) -> Result<Self, IngestError> {
        let (path, options) = (&input.path, &input.options);
        if options.format == Some(InputFormat::OneRow) {
            return Ok(Self { input, reader: FormatReader::OneRow(true) });
        }
        let of_input = |fault: InputFault| fault.of(&input.shown);
        let mut file = files.open(path).at(OPEN, path)?;
        let format = detect_format(path, options.format, &mut file).at(OPEN, path)?.map_err(of_input)?;
        let blocks = |file, quotes| TextBlocks::new(file, limits.block_bytes(), limits.record_bytes(), quotes);
        let reader = match format {
            InputFormat::Parquet => {
                let bytes = ParquetBytes::input(file.into_inner()).at(OPEN, path)?;
                FormatReader::Parquet(Box::new(ParquetReader::open(bytes, limits).map_err(of_input)?))
            }
            InputFormat::Ndjson => FormatReader::Ndjson(blocks(skip_byte_order_mark(file).at(OPEN, path)?, false)),
            InputFormat::Csv => {
                let mut blocks = blocks(skip_byte_order_mark(file).at(OPEN, path)?, true);
                let first = next_block(&mut blocks, input)?.ok_or_else(|| of_input(InputFault::NoHeader))?;
                let separator = options.separator.unwrap_or(if has_ending(path, "tsv") { b'\t' } else { b',' });
                let (schema, first, header_records) = match &options.header {
                    Some(header) => (csv::check_first(&first, separator, header).map_err(of_input)?, first, 0),
                    None => {
                        let (schema, rows) = csv::read_header(&first, separator).map_err(of_input)?;
                        let header_records = rows.records;
                        (schema, rows, header_records)
                    }
                };
                let format = CsvFormat { schema, separator, header_records, options: options.clone() };
                FormatReader::Csv { format, first: Some(first), blocks }
            }
            InputFormat::Xlsx => {
                let sheet = SheetReader::open(file, options.clone(), limits).at("read", path)?;
                FormatReader::Xlsx(sheet.map_err(of_input)?, input.size())
            }
            InputFormat::OneRow => FormatReader::OneRow(true),
        };
        let reader = Self { input, reader };
        if let Some(schema) = reader.file_schema() {
            limits.check_columns(schema).map_err(of_input)?;
        }
        Ok(reader)
    }

    /// Returns the columns of the rows; `None` for NDJSON, which declares none.
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        self.input.mapper.as_ref().map_or_else(|| self.file_schema(), |mapper| Some(mapper.schema()))
    }

    /// Returns the columns that the file declares.
    fn file_schema(&self) -> Option<&SchemaRef> {
        match &self.reader {
            FormatReader::Csv { format, .. } => Some(&format.schema),
            FormatReader::Ndjson(_) | FormatReader::OneRow(_) => None,
            FormatReader::Parquet(parquet) => Some(parquet.schema()),
            FormatReader::Xlsx(sheet, _) => Some(&sheet.schema),
        }
    }

    /// Returns the columns of a file as a whole. NDJSON is read to its end for this.
    pub(crate) fn all_columns(mut self) -> Result<SchemaRef, IngestError> {
        if let Some(schema) = self.file_schema() {
            return Ok(schema.clone());
        }
        let mut names = BTreeSet::new();
        loop {
            let mut blocks = Vec::new();
            while let (true, Some(chunk)) = (blocks.len() < ReadLimits::chunks(), self.next()?) {
                if let ChunkBytes::Ndjson(block) = chunk.bytes {
                    blocks.push(block);
                }
            }
            if blocks.is_empty() {
                return Ok(csv::text_schema(&names.into_iter().collect::<Vec<String>>()));
            }
            let found = blocks.into_par_iter().map(ndjson::member_names).collect::<Result<Vec<_>, _>>();
            names.extend(found.map_err(|fault| fault.of(&self.input.shown))?.into_iter().flatten());
        }
    }

    /// Returns the next chunk in file order, or `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<RawChunk>, IngestError> {
        let bytes = match &mut self.reader {
            FormatReader::Csv { format, first, blocks } => {
                let block = match first.take() {
                    Some(block) => Some(block),
                    None => next_block(blocks, self.input)?,
                };
                block.map(|block| ChunkBytes::Csv(block, format.clone()))
            }
            FormatReader::Ndjson(blocks) => next_block(blocks, self.input)?.map(ChunkBytes::Ndjson),
            FormatReader::Parquet(parquet) => {
                let chunk = parquet.next().map_err(|fault| fault.of(&self.input.shown))?;
                chunk.map(ChunkBytes::Parquet)
            }
            FormatReader::Xlsx(sheet, bytes) => {
                let rows = sheet.next().map_err(|fault| fault.of(&self.input.shown))?;
                rows.map(|rows| ChunkBytes::Rows(rows, std::mem::take(bytes)))
            }
            FormatReader::OneRow(is_left) => std::mem::take(is_left).then_some(ChunkBytes::OneRow),
        };
        let Input { options, mapper, .. } = self.input;
        Ok(bytes.map(|bytes| RawChunk { bytes, options: options.clone(), mapper: mapper.clone() }))
    }
}

/// The first bytes of every Parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The first bytes of every ZIP archive, which an XLSX file is.
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";

/// The first bytes of Excel files before XLSX.
const OLD_EXCEL_MAGIC: &[u8] = b"\xd0\xcf\x11\xe0";

/// The bytes that some programs write before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Detects the format from the ending of the file's name, or from its first bytes if the ending is another. A `given`
/// format is only compared with the first bytes. Leaves the file at its beginning.
fn detect_format(
    path: &Path,
    given: Option<InputFormat>,
    file: &mut (impl Read + Seek),
) -> io::Result<Result<InputFormat, InputFault>> {
    let mut begin = Vec::new();
    file.by_ref().take(64).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    if begin.is_empty() {
        return Ok(Err(InputFault::Empty));
    }
    let text = begin.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&begin);
    let (is_parquet, is_zip) = (begin.starts_with(PARQUET_MAGIC), begin.starts_with(ZIP_MAGIC));
    if begin.starts_with(OLD_EXCEL_MAGIC) {
        return Ok(Err(InputFault::OldExcel));
    }
    let ending = |endings: &[&str]| endings.iter().any(|ending| has_ending(path, ending));
    let format = given.unwrap_or_else(|| match () {
        () if ending(&["parquet"]) => InputFormat::Parquet,
        () if ending(&["csv", "tsv"]) => InputFormat::Csv,
        () if ending(&["ndjson", "jsonl"]) => InputFormat::Ndjson,
        () if ending(&["xlsx", "xlsm"]) => InputFormat::Xlsx,
        () if is_parquet => InputFormat::Parquet,
        () if is_zip => InputFormat::Xlsx,
        () if text.trim_ascii_start().starts_with(b"{") => InputFormat::Ndjson,
        () => InputFormat::Csv,
    });
    Ok(match format {
        InputFormat::Parquet if !is_parquet => Err(InputFault::NotParquet),
        InputFormat::Xlsx if !is_zip => Err(InputFault::NotXlsx),
        InputFormat::Csv | InputFormat::Ndjson if is_parquet => Err(InputFault::IsParquet),
        InputFormat::Csv | InputFormat::Ndjson if is_zip => Err(InputFault::IsZip),
        format => Ok(format),
    })
}

/// Returns whether a file's name has an ending, in any letter case.
pub(crate) fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
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
pub(crate) struct RawChunk {
    bytes: ChunkBytes,
    options: Arc<ReadOptions>,
    mapper: Option<Arc<dyn RowMapper>>,
}

enum ChunkBytes {
    Csv(TextBlock, CsvFormat),
    Ndjson(TextBlock),
    Parquet(ParquetChunk),
    /// Rows that are decoded already, and their bytes in the file.
    Rows(DecodedBatch, u64),
    OneRow,
}

impl RawChunk {
    /// Returns the chunk's bytes in the file, for the progress report.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.bytes {
            ChunkBytes::Csv(block, _) | ChunkBytes::Ndjson(block) => {
                u64::try_from(block.bytes.len()).unwrap_or(u64::MAX)
            }
            ChunkBytes::Parquet(chunk) => chunk.bytes(),
            ChunkBytes::Rows(_, bytes) => *bytes,
            ChunkBytes::OneRow => 0,
        }
    }

    /// Returns the bytes of memory that decoding takes, approximately.
    pub(crate) fn memory(&self) -> usize {
        match &self.bytes {
            ChunkBytes::Csv(block, _) | ChunkBytes::Ndjson(block) => block.bytes.len() * decoded::TEXT_COPIES,
            ChunkBytes::Parquet(chunk) => chunk.memory(),
            ChunkBytes::Rows(rows, _) => rows.batch.get_array_memory_size(),
            ChunkBytes::OneRow => 0,
        }
    }

    /// Begins to decode the chunk as rows of a table.
    pub(crate) fn decode(self, table: Table, limits: ReadLimits) -> Result<ChunkDecoder, InputFault> {
        let Self { bytes, options, mapper } = self;
        let format = match bytes {
            ChunkBytes::Csv(block, format) => FormatDecoder::Csv(CsvDecoder::new(block, format, limits)?),
            ChunkBytes::Ndjson(block) => {
                let columns = NdjsonColumns { table, options };
                FormatDecoder::Ndjson(NdjsonDecoder::new(block, columns, limits)?)
            }
            ChunkBytes::Parquet(chunk) => FormatDecoder::Decoded(chunk.decode()?.into_iter()),
            ChunkBytes::Rows(rows, _) => FormatDecoder::Decoded(vec![rows].into_iter()),
            ChunkBytes::OneRow => FormatDecoder::Decoded(vec![one_row().map_err(arrow_fault)?].into_iter()),
        };
        Ok(ChunkDecoder { format, limits, mapper, raw: None })
    }
}

/// The rows of a chunk, decoded batch by batch because decoded text may take far more memory than the block.
pub(crate) struct ChunkDecoder {
    format: FormatDecoder,
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
    fn next_raw(&mut self) -> Result<Option<DecodedBatch>, InputFault> {
        match &mut self.format {
            FormatDecoder::Csv(decoder) => decoder.next(),
            FormatDecoder::Ndjson(decoder) => decoder.next(),
            FormatDecoder::Decoded(batches) => Ok(batches.next()),
        }
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

fn one_row() -> Result<DecodedBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    let locations = RowLocations::Rows { row_group: 0, first: 0, before: 0 };
    Ok(DecodedBatch { batch, locations, malformed: Vec::new(), fatal: None })
}

/// An error that only a batch of too many rows or bytes causes.
fn arrow_fault(error: ArrowError) -> InputFault {
    InputFault::Unreadable(Box::new(error))
}

#[cfg(test)]
mod tests;
