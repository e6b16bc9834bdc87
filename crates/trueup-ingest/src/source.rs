//! Input files of any format, read as chunks that threads decode in parallel.
//!
//! ```text
//! InputReader            opens a file and splits it into chunks        source.rs
//!   binary_format        the format by name, content and option        detect.rs
//!   TextInput            CSV, NDJSON: unpacked, and as UTF-8           text_input.rs (compression.rs, encoding.rs)
//!   JsonArray            a JSON array of objects, as NDJSON            json_array.rs
//!   TextBlocks           blocks of whole records                       text_blocks.rs
//!   ParquetReader        Parquet: row groups, or batches of large ones parquet.rs, row_group.rs
//!   SheetReader          XLSX: decoded rows                            xlsx.rs (workbook_bounds.rs)
//!   BatchReader          record batches: decoded rows                  arrow.rs
//! RawChunk               a block, a row group, or decoded rows         chunk.rs
//! ChunkDecoder           CsvDecoder, NdjsonDecoder, or decoded batches csv.rs, ndjson.rs
//!   RowMapper            maps these rows to canonical rows             input.rs
//! DecodedBatch           rows, their locations, malformed records      decoded.rs
//! ```
//!
//! `Input` in `input.rs` says which file is read, and how. `columns.rs` decides which columns its rows have.
//! `ReadLimits` in `decoded.rs` says how much is read at the same time.

mod arrow;
mod chunk;
mod columns;
mod compression;
mod csv;
mod decoded;
mod detect;
mod encoding;
mod input;
mod json_array;
mod ndjson;
mod parquet;
mod row_group;
mod text_blocks;
mod text_input;
mod workbook_bounds;
mod xlsx;

pub use encoding::{TextEncoding, UnknownEncoding};
pub use input::{FileFormat, UnknownFormat};

pub(crate) use chunk::{ChunkDecoder, RawChunk};
pub(crate) use columns::{FolderColumn, check_fit, coded_text};
pub(crate) use csv::separator;
pub(crate) use decoded::{ColumnNames, DecodedBatch, RawRows, ReadLimits, RowLocations};
pub(crate) use detect::{is_known_name, named_format};
pub(crate) use input::{Input, InputFormat, ReadOptions, RowMapper, file_name};
pub(crate) use ndjson::member_cells;
pub(crate) use parquet::{ParquetFile, ParquetReader};
pub(crate) use row_group::ParquetBytes;
pub(crate) use text_blocks::{TextBlockFault, TextBlocks};

use self::arrow::BatchReader;
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind, InputFault, OPEN};
use crate::row_fault::InputLocation;
use arrow_schema::SchemaRef;
use chunk::ChunkBytes;
use compression::{CountedReader, detect_compression};
use csv::CsvFormat;
use decoded::check_name;
use detect::{TextFormat, binary_format, read_begin, text_format};
use json_array::JsonArray;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use text_blocks::TextBlock;
use trueup_core::files::Files;
use trueup_core::formats::{Format, unpacked_name};
use xlsx::SheetReader;

/// An input file, read chunk by chunk.
pub(crate) struct InputReader<'a> {
    input: &'a Input,
    reader: FormatReader,
    /// The columns of the rows before a mapper changes them; `None` if the file declares none.
    columns: Option<SchemaRef>,
    /// The bytes of the file that were read since the last chunk; all bytes of a workbook count for its first chunk.
    /// Unused for Parquet, whose chunks know their bytes.
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
    Arrow(Box<BatchReader>),
    /// Whether the row is still to be read.
    OneRow(bool),
}

type InputBlocks = TextBlocks<Box<dyn Read + Send>>;

impl<'a> InputReader<'a> {
    /// Opens an input, detects its format, and reads its header or footer.
    ///
    /// # Errors
    /// The file cannot be read, is not in its format, has no sound header or footer, lacks the wanted sheet, has too
    /// many columns or one with too long a name, or has a column that a folder gives, too.
    pub(crate) fn open(files: &Files, input: &'a Input, limits: ReadLimits) -> Result<Self, IngestError> {
        let (path, options) = (&input.path, &input.options);
        if options.format == Some(InputFormat::OneRow) {
            return Ok(Self { input, reader: FormatReader::OneRow(true), columns: None, read: Arc::default() });
        }
        let of_input = |fault: InputFault| fault.of(&input.shown);
        let mut file = files.open(path).at(OPEN, path)?;
        let begin = read_begin(&mut file).at(OPEN, path)?;
        let name = unpacked_name(&input.shown);
        let binary = match options.format {
            Some(InputFormat::Arrow) => Some(InputFormat::Arrow),
            format => binary_format(&name, format, &begin).map_err(of_input)?,
        };
        let (reader, read) = if binary == Some(InputFormat::Arrow) {
            let read = Arc::new(AtomicU64::new(0));
            let batches = BatchReader::open(CountedReader { reader: file, bytes: read.clone() }, limits);
            (FormatReader::Arrow(Box::new(batches.map_err(of_input)?)), read)
        } else if binary == Some(InputFormat::Parquet) {
            let bytes = ParquetBytes::input(file.into_inner()).at(OPEN, path)?;
            let parquet = ParquetFile::open(bytes, limits).map_err(of_input)?;
            let reader = parquet.reader(&|name| options.decodes(name));
            (FormatReader::Parquet(Box::new(reader)), Arc::default())
        } else if binary == Some(InputFormat::Xlsx) {
            let sheet = SheetReader::open(file, options.clone(), limits).at("read", path)?;
            (FormatReader::Xlsx(sheet.map_err(of_input)?), Arc::new(AtomicU64::new(input.size())))
        } else {
            let compression = detect_compression(&input.shown, &begin).map_err(of_input)?;
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
                    let first = next_block(&mut blocks, input, InputLocation::Line)?;
                    let first = first.ok_or_else(|| of_input(InputFault::NoHeader))?;
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

    /// Returns the columns of the rows; `None` for NDJSON that no mapping reads, because it declares none.
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
    ///
    /// # Errors
    /// The file cannot be read, its text is in another encoding, or its objects together have too many members or one
    /// with too long a name.
    pub(crate) fn all_columns(mut self, limits: ReadLimits) -> Result<SchemaRef, IngestError> {
        if let Some(columns) = self.columns {
            return Ok(columns);
        }
        let (options, of_input) = (&self.input.options, |fault: InputFault| fault.of(&self.input.shown));
        let mut names = BTreeSet::new();
        loop {
            let mut blocks = Vec::new();
            while blocks.len() < ReadLimits::chunks()
                && let Some(chunk) = self.next()?
            {
                if let ChunkBytes::Ndjson(block, is_array) = chunk.bytes {
                    blocks.push((block, is_array));
                }
            }
            if blocks.is_empty() {
                let members = csv::text_schema(&names.into_iter().collect::<Vec<String>>());
                return options.columns(&members).map_err(of_input);
            }
            let found = blocks.into_par_iter().map(|(block, is_array)| ndjson::member_names(block, is_array));
            let found = found.collect::<Result<Vec<_>, _>>();
            let found = found.map_err(of_input)?.into_iter().flatten();
            names.extend(found.filter(|name| options.reads(name)));
            if names.len() > limits.max_columns {
                return Err(of_input(InputFault::ManyColumns { limit: limits.max_columns }));
            }
            names.iter().try_for_each(|name| check_name(name)).map_err(of_input)?;
        }
    }

    /// Returns the next chunk in file order, or `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<RawChunk>, IngestError> {
        let bytes = match &mut self.reader {
            FormatReader::Csv { format, first, blocks } => {
                let block = match first.take() {
                    Some(block) => Some(block),
                    None => next_block(blocks, self.input, InputLocation::Line)?,
                };
                block.map(|block| ChunkBytes::Csv(block, format.clone()))
            }
            FormatReader::Ndjson(blocks, is_array) => {
                let block = next_block(blocks, self.input, |line| ndjson::location(line, *is_array))?;
                block.map(|block| ChunkBytes::Ndjson(block, *is_array))
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

/// Writes the text of an input to a file if the input is compressed, is in an encoding other than UTF-8, or begins with
/// a byte order mark. Returns whether the file was written.
pub(crate) fn write_text(files: &Files, input: &Input, to: &Path) -> Result<bool, IngestError> {
    let (path, of_input) = (&input.path, |fault: InputFault| fault.of(&input.shown));
    let mut file = files.open(path).at(OPEN, path)?;
    let begin = read_begin(&mut file).at(OPEN, path)?;
    let compression = detect_compression(&input.shown, &begin).map_err(of_input)?;
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

/// Returns what separates cells, as the name of a file says it. `name` is without an ending that says how the file is
/// compressed.
pub(crate) fn named_separator(name: &Path) -> u8 {
    match Format::from_name(name) {
        Some(Format::Tsv) => b'\t',
        _ => b',',
    }
}

/// Reads the header from the first block of a CSV file, unless the columns are given. Returns the block of the rows.
fn csv_format(first: TextBlock, name: &Path, options: &Arc<ReadOptions>) -> Result<(CsvFormat, TextBlock), InputFault> {
    let separator = options.separator.unwrap_or_else(|| named_separator(name));
    let (schema, rows) = match &options.header {
        Some(header) => (csv::check_first(&first, separator, header)?, first),
        None => csv::read_header(&first, separator, options.separator.is_none())?,
    };
    Ok((CsvFormat { schema, separator, options: options.clone() }, rows))
}

/// Returns the next block; `None` after the last. `location` returns the location of a line.
fn next_block(
    blocks: &mut InputBlocks,
    input: &Input,
    location: impl FnOnce(u64) -> InputLocation,
) -> Result<Option<TextBlock>, IngestError> {
    match blocks.next() {
        Ok(block) => Ok(block),
        Err(TextBlockFault::Io(error)) => {
            let fault = text_input::input_fault(error).at("read", &input.path)?;
            Err(fault.of(&input.shown))
        }
        Err(TextBlockFault::TooLong { line, longest }) => {
            Err(InputFault::LongRecord { location: location(line), longest }.of(&input.shown))
        }
    }
}

#[cfg(test)]
mod tests;
