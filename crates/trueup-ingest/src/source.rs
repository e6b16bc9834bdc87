//! Input files of any format, read as chunks that threads decode in parallel.
//!
//! ```text
//! InputReader            detects the format and splits the file        source.rs
//!   TextInput            CSV, NDJSON: unpacked, and as UTF-8           text_input.rs (compression.rs, encoding.rs)
//!   TextBlocks           blocks of whole records                       text_blocks.rs
//!   ParquetReader        Parquet: row groups, or batches of large ones parquet.rs, row_group.rs
//!   SheetReader          XLSX: decoded rows                            xlsx.rs
//!   BatchReader          record batches: decoded rows                  arrow.rs
//! RawChunk               a block or a row group, not yet decoded
//! ChunkDecoder           CsvDecoder, NdjsonDecoder, or Parquet batches csv.rs, ndjson.rs
//!   RowMapper            makes canonical rows of them if a mapping does  input.rs
//! DecodedBatch           rows, their locations, malformed records      decoded.rs
//! ```
//!
//! `Input` in `input.rs` says which file is read, and how. `ReadLimits` in `decoded.rs` says how much is read at the
//! same time.

mod arrow;
mod columns;
mod compression;
mod csv;
mod decoded;
mod encoding;
mod input;
mod json_array;
mod ndjson;
mod parquet;
mod row_group;
mod text_blocks;
mod text_input;
mod xlsx;

pub use encoding::{TextEncoding, UnknownEncoding};
pub use input::{FileFormat, UnknownFormat};

pub(crate) use columns::{FolderColumn, check_fit};
pub(crate) use compression::unpacked_name;
pub(crate) use csv::separator;
pub(crate) use decoded::{ColumnNames, DecodedBatch, RawRows, ReadLimits, RowLocations, is_value_marks, value_marks};
pub(crate) use input::{Input, InputFormat, ReadOptions, RowMapper, has_ending};
pub(crate) use parquet::ParquetReader;
pub(crate) use row_group::ParquetBytes;
pub(crate) use text_blocks::{TextBlockFault, TextBlocks};

use self::arrow::BatchReader;
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, InputFault, OPEN};
use crate::table::Table;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use compression::{Compression, CountedReader};
use csv::{CsvDecoder, CsvFormat};
use json_array::JsonArray;
use ndjson::{NdjsonColumns, NdjsonDecoder};
use parquet::ParquetChunk;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use text_blocks::TextBlock;
use trueup_core::files::{Files, OpenFile};
use xlsx::SheetReader;

/// An input file, read chunk by chunk.
pub(crate) struct InputReader<'a> {
    input: &'a Input,
    reader: FormatReader,
    /// The columns of the rows; `None` if the file declares none.
    columns: Option<SchemaRef>,
    /// The bytes of a text or a sheet that were read since the last chunk.
    read: Arc<AtomicU64>,
}

enum FormatReader {
    Csv {
        format: CsvFormat,
        first: Option<TextBlock>,
        blocks: InputBlocks,
    },
    /// Whether the file is a JSON array.
    Ndjson(InputBlocks, bool),
    Parquet(Box<ParquetReader>),
    Xlsx(SheetReader),
    Arrow(BatchReader),
    /// Whether the row is still to be read.
    OneRow(bool),
}

type InputBlocks = TextBlocks<Box<dyn Read + Send>>;

impl<'a> InputReader<'a> {
    /// Opens an input, detects its format, and reads its header or footer.
    ///
    /// # Errors
    /// The file cannot be read, has no sound header or footer, or has too many columns.
    pub(crate) fn open(files: &Files, input: &'a Input, limits: ReadLimits) -> Result<Self, IngestError> {
        let (path, options) = (&input.path, &input.options);
        if options.format == Some(InputFormat::OneRow) {
            return Ok(Self { input, reader: FormatReader::OneRow(true), columns: None, read: Arc::default() });
        }
        let of_input = |fault: InputFault| fault.of(&input.shown);
        let mut file = files.open(path).at(OPEN, path)?;
        let begin = read_begin(&mut file).at(OPEN, path)?;
        let name = compression::unpacked_name(&input.shown);
        let binary = match options.format {
            Some(InputFormat::Arrow) => Some(InputFormat::Arrow),
            format => binary_format(&name, format, &begin).map_err(of_input)?,
        };
        let (reader, read) = if binary == Some(InputFormat::Arrow) {
            let read = Arc::new(AtomicU64::new(0));
            let batches = BatchReader::open(CountedReader { reader: file, bytes: read.clone() }, limits);
            (FormatReader::Arrow(batches.map_err(of_input)?), read)
        } else if binary == Some(InputFormat::Parquet) {
            let bytes = ParquetBytes::input(file.into_inner()).at(OPEN, path)?;
            let reader = ParquetReader::open(bytes, limits, &|name| options.decodes(name)).map_err(of_input)?;
            (FormatReader::Parquet(Box::new(reader)), Arc::default())
        } else if binary == Some(InputFormat::Xlsx) {
            let sheet = SheetReader::open(file, options.clone(), limits).at("read", path)?;
            (FormatReader::Xlsx(sheet.map_err(of_input)?), Arc::new(AtomicU64::new(input.size())))
        } else {
            let compression = Compression::detect(&input.shown, &begin).map_err(of_input)?;
            let text = text_input::open(file, compression, options.encoding).at(OPEN, path)?.map_err(of_input)?;
            let format = text_format(&name, options.format, &text.begin).map_err(of_input)?;
            let (skipped, (text, read)) = (text.skipped, text.into_parts());
            let has_quotes = format == TextFormat::Csv;
            let text = if format == TextFormat::JsonArray { Box::new(JsonArray::new(text)) } else { text };
            let mut blocks =
                TextBlocks::new(text, limits.block_bytes(), limits.record_bytes(), has_quotes).after(skipped);
            let reader = match format {
                TextFormat::Ndjson | TextFormat::JsonArray => {
                    FormatReader::Ndjson(blocks, format == TextFormat::JsonArray)
                }
                TextFormat::Csv => {
                    let first = next_block(&mut blocks, input)?.ok_or_else(|| of_input(InputFault::NoHeader))?;
                    let (format, first) = csv_format(first, &name, options).map_err(of_input)?;
                    FormatReader::Csv { format, first: Some(first), blocks }
                }
            };
            (reader, read)
        };
        let mut reader = Self { input, reader, columns: None, read };
        if let Some(schema) = reader.file_schema() {
            let columns = options.columns(schema).map_err(of_input)?;
            limits.check_columns(&columns).map_err(of_input)?;
            reader.columns = Some(columns);
        }
        Ok(reader)
    }

    /// Returns the columns of the rows; `None` for NDJSON, which declares none.
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        self.input.mapper.as_ref().map_or(self.columns.as_ref(), |mapper| Some(mapper.schema()))
    }

    /// Returns the columns that the file declares.
    fn file_schema(&self) -> Option<&SchemaRef> {
        match &self.reader {
            FormatReader::Csv { format, .. } => Some(&format.schema),
            FormatReader::Ndjson(..) | FormatReader::OneRow(_) => None,
            FormatReader::Parquet(parquet) => Some(parquet.schema()),
            FormatReader::Xlsx(sheet) => Some(&sheet.schema),
            FormatReader::Arrow(batches) => Some(&batches.schema),
        }
    }

    /// Returns the format, which is known once the file is open.
    pub(crate) const fn format(&self) -> InputFormat {
        match self.reader {
            FormatReader::Csv { .. } => InputFormat::Csv,
            FormatReader::Ndjson(..) => InputFormat::Ndjson,
            FormatReader::Parquet(_) => InputFormat::Parquet,
            FormatReader::Xlsx(..) => InputFormat::Xlsx,
            FormatReader::Arrow(_) => InputFormat::Arrow,
            FormatReader::OneRow(_) => InputFormat::OneRow,
        }
    }

    /// Returns the columns of a file as a whole. NDJSON is read to its end for this.
    pub(crate) fn all_columns(mut self) -> Result<SchemaRef, IngestError> {
        if let Some(columns) = self.columns {
            return Ok(columns);
        }
        let mut names = BTreeSet::new();
        loop {
            let mut blocks = Vec::new();
            while let (true, Some(chunk)) = (blocks.len() < ReadLimits::chunks(), self.next()?) {
                if let ChunkBytes::Ndjson(block, _) = chunk.bytes {
                    blocks.push(block);
                }
            }
            if blocks.is_empty() {
                let members = csv::text_schema(&names.into_iter().collect::<Vec<String>>());
                return self.input.options.columns(&members).map_err(|fault| fault.of(&self.input.shown));
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
            FormatReader::Ndjson(blocks, is_array) => {
                next_block(blocks, self.input)?.map(|block| ChunkBytes::Ndjson(block, *is_array))
            }
            FormatReader::Parquet(parquet) => {
                let chunk = parquet.next().map_err(|fault| fault.of(&self.input.shown))?;
                chunk.map(ChunkBytes::Parquet)
            }
            FormatReader::Xlsx(sheet) => {
                sheet.next().map_err(|fault| fault.of(&self.input.shown))?.map(ChunkBytes::Rows)
            }
            FormatReader::Arrow(batches) => {
                batches.next().map_err(|fault| fault.of(&self.input.shown))?.map(ChunkBytes::Rows)
            }
            FormatReader::OneRow(is_left) => std::mem::take(is_left).then_some(ChunkBytes::OneRow),
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let file_bytes = match &bytes {
            ChunkBytes::Csv(..) | ChunkBytes::Ndjson(..) | ChunkBytes::Rows(_) => self.read.swap(0, Ordering::Relaxed),
            ChunkBytes::Parquet(chunk) => chunk.bytes(),
            ChunkBytes::OneRow => 0,
        };
        let Input { options, mapper, .. } = self.input;
        Ok(Some(RawChunk { bytes, file_bytes, options: options.clone(), mapper: mapper.clone() }))
    }
}

/// Writes the text of an input to a file if the input is compressed, in another encoding, or begins with a byte order
/// mark. Returns whether it is.
pub(crate) fn write_text(files: &Files, input: &Input, to: &Path) -> Result<bool, IngestError> {
    let (path, of_input) = (&input.path, |fault: InputFault| fault.of(&input.shown));
    let mut file = files.open(path).at(OPEN, path)?;
    let begin = read_begin(&mut file).at(OPEN, path)?;
    let compression = Compression::detect(&input.shown, &begin).map_err(of_input)?;
    let encoding = input.options.encoding;
    let text = text_input::open(file, compression, encoding).at(OPEN, path)?.map_err(of_input)?;
    if compression.is_none() && encoding.is_none_or(|encoding| encoding.is_utf8()) && text.skipped == 0 {
        return Ok(false);
    }
    let (mut text, _) = text.into_parts();
    let mut file = files.create(to).at("create", to)?;
    let mut block = vec![0; COPIED_BYTES];
    loop {
        match text.read(&mut block) {
            Ok(0) => return Ok(true),
            Ok(length) => io::Write::write_all(&mut file, &block[..length]).at("write", to)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(match text_input::input_fault(error) {
                    Ok(fault) => of_input(fault),
                    Err(error) => ErrorKind::Io { action: "read", path: path.clone(), source: error }.into(),
                });
            }
        }
    }
}

/// Bytes of a text that are copied at a time.
const COPIED_BYTES: usize = 1 << 20;

/// The first bytes of every Parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The first bytes of every ZIP archive, which an XLSX file is.
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";

/// The first bytes of Excel files before XLSX.
const OLD_EXCEL_MAGIC: &[u8] = b"\xd0\xcf\x11\xe0";

/// What files that are no table are, each with its first bytes.
const OTHER_FILES: [(&[u8], &str); 9] = [
    (b"%PDF-", "a PDF file"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"{\\rtf", "an RTF document"),
    (b"<?xml", "an XML file"),
];

/// The tags with which web pages begin, in lower case.
const PAGE_TAGS: [&[u8]; 2] = [b"<!doctype html", b"<html"];

/// Returns what a file is if it is no table.
fn other_file(begin: &[u8]) -> Option<&'static str> {
    let text = begin.strip_prefix(encoding::UTF8_MARK).unwrap_or(begin).trim_ascii_start();
    let is_tag = |tag: &&[u8]| text.get(..tag.len()).is_some_and(|first| first.eq_ignore_ascii_case(tag));
    if PAGE_TAGS.iter().any(is_tag) {
        return Some("a web page");
    }
    OTHER_FILES.iter().find(|(magic, _)| text.starts_with(magic)).map(|(_, what)| *what)
}

/// Reads the first bytes of a file, and leaves the file at its beginning.
fn read_begin(file: &mut OpenFile) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    file.by_ref().take(64).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(begin)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextFormat {
    Csv,
    Ndjson,
    JsonArray,
}

/// Returns the format that a file's name says.
fn named_format(name: &Path) -> Option<InputFormat> {
    let ending = |endings: &[&str]| endings.iter().any(|ending| has_ending(name, ending));
    match () {
        () if ending(&["parquet", "pq"]) => Some(InputFormat::Parquet),
        () if ending(&["csv", "tsv"]) => Some(InputFormat::Csv),
        () if ending(&["ndjson", "jsonl", "json"]) => Some(InputFormat::Ndjson),
        () if ending(&["xlsx", "xlsm"]) => Some(InputFormat::Xlsx),
        () => None,
    }
}

/// Returns whether a file's name says its format. The name has no ending of a compression.
pub(crate) fn is_known_name(name: &Path) -> bool {
    named_format(name).is_some()
}

/// Returns the format of a file that is no text, as its first bytes show it; `None` for a text.
///
/// # Errors
/// The file is empty, is in no format that is read, or is called or given as another format.
fn binary_format(name: &Path, given: Option<InputFormat>, begin: &[u8]) -> Result<Option<InputFormat>, InputFault> {
    let wanted = given.or_else(|| named_format(name));
    let found = match begin {
        [] => return Err(InputFault::Empty),
        _ if begin.starts_with(OLD_EXCEL_MAGIC) => return Err(InputFault::OldExcel),
        _ if begin.starts_with(PARQUET_MAGIC) => Some(InputFormat::Parquet),
        _ if begin.starts_with(ZIP_MAGIC) => Some(InputFormat::Xlsx),
        _ => match other_file(begin) {
            Some(what) => return Err(InputFault::NoTable { what }),
            None => None,
        },
    };
    match (found, wanted) {
        (None, _) => Ok(None),
        (_, None) => Ok(found),
        (_, Some(_)) if found == wanted => Ok(found),
        (_, Some(InputFormat::Parquet)) => Err(InputFault::NotParquet),
        (_, Some(InputFormat::Xlsx)) => Err(InputFault::NotXlsx),
        (Some(InputFormat::Parquet), _) => Err(InputFault::IsParquet),
        _ => Err(InputFault::IsZip),
    }
}

/// Returns the format of a text: the one given, or the one that the ending of the file's name says, or else the one
/// that its beginning shows.
fn text_format(name: &Path, given: Option<InputFormat>, begin: &[u8]) -> Result<TextFormat, InputFault> {
    if begin.is_empty() {
        return Err(InputFault::Empty);
    }
    if begin.starts_with(PARQUET_MAGIC) || begin.starts_with(ZIP_MAGIC) {
        return Err(InputFault::CompressedBinary);
    }
    match given.or_else(|| named_format(name)) {
        Some(InputFormat::Parquet) => Err(InputFault::NotParquet),
        Some(InputFormat::Xlsx) => Err(InputFault::NotXlsx),
        Some(InputFormat::Ndjson) | None if json_array::begins(begin) => Ok(TextFormat::JsonArray),
        Some(InputFormat::Ndjson) => Ok(TextFormat::Ndjson),
        None if begin.trim_ascii_start().starts_with(b"{") => Ok(TextFormat::Ndjson),
        _ => Ok(TextFormat::Csv),
    }
}

/// Reads the header from the first block of a CSV file, unless the columns are given. Returns the block of the rows.
fn csv_format(first: TextBlock, name: &Path, options: &Arc<ReadOptions>) -> Result<(CsvFormat, TextBlock), InputFault> {
    let separator = options.separator.unwrap_or(if has_ending(name, "tsv") { b'\t' } else { b',' });
    let (schema, first, header_records) = match &options.header {
        Some(header) => (csv::check_first(&first, separator, header)?, first, 0),
        None => {
            let (schema, rows) = csv::read_header(&first, separator, options.separator.is_none())?;
            let header_records = rows.records;
            (schema, rows, header_records)
        }
    };
    Ok((CsvFormat { schema, separator, header_records, options: options.clone() }, first))
}

fn next_block(blocks: &mut InputBlocks, input: &Input) -> Result<Option<TextBlock>, IngestError> {
    match blocks.next() {
        Ok(block) => Ok(block),
        Err(TextBlockFault::Io(error)) => {
            let fault = text_input::input_fault(error).at("read", &input.path)?;
            Err(fault.of(&input.shown))
        }
        Err(TextBlockFault::TooLong { line, longest }) => {
            Err(InputFault::LongRecord { line, longest }.of(&input.shown))
        }
    }
}

/// A part of an input that any thread may decode.
pub(crate) struct RawChunk {
    bytes: ChunkBytes,
    file_bytes: u64,
    options: Arc<ReadOptions>,
    mapper: Option<Arc<dyn RowMapper>>,
}

enum ChunkBytes {
    Csv(TextBlock, CsvFormat),
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

/// The rows of a chunk, decoded batch by batch because decoded text may take far more memory than the block.
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
