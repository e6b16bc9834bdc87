//! Input files, whatever their format, as pieces that can be decoded side by side.

pub(crate) mod blocks;
mod csv;
mod format;
mod ndjson;
mod parquet;
mod parquet_bytes;
mod piece;
mod row_group;
mod wide;

pub(crate) use parquet::ParquetReader;
pub(crate) use parquet_bytes::ParquetBytes;
pub(crate) use piece::{DecodedBatch, RowLocations, text};

use crate::error::{ErrorContext, InputFault, OPEN};
use crate::place::shortened;
use crate::table::Table;
use crate::{IngestError, Input};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use blocks::{TextBlock, TextBlockFault, TextBlocks};
use format::InputFormat;
use hashbrown::HashSet;
use std::io::{Read, Seek, SeekFrom};
use trueup_core::files::{Files, OpenFile};

/// How much is decoded at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimits {
    /// The most rows of a batch.
    pub(crate) rows: usize,
    /// The most bytes of memory for what is decoded at once.
    pub(crate) group_bytes: usize,
    /// The most columns of an input.
    pub(crate) max_columns: usize,
    /// The most bytes of a text; a row with a longer one is at fault.
    pub(crate) max_text_bytes: usize,
}

/// Bytes of text that commonly hold one row.
const ROW_BYTES: usize = 128;

/// Bytes that decoding takes for each byte of text, about.
const TEXT_COPIES: usize = 3;

/// Bytes that a cell without a text takes in a decoded column, with the copies of it.
const CELL_BYTES: usize = 8;

/// Cells that fit in any memory.
const CELLS: usize = 1 << 19;

/// Bytes of a record that is held in any memory, and in the largest.
const RECORD_BYTES: (usize, usize) = (4 << 20, 64 << 20);

/// Bytes of a table that is held in any memory.
const TABLE_BYTES: usize = 16 << 20;

/// The most bytes of a column's name.
const NAME_BYTES: usize = 1 << 10;

impl ReadLimits {
    #[cfg(test)]
    const ANY: Self = Self { rows: 1 << 16, group_bytes: 1 << 27, max_columns: 1 << 10, max_text_bytes: 1 << 20 };

    /// How many parts are decoded at once, so that no thread waits for another.
    pub(crate) fn parts() -> usize {
        rayon::current_num_threads() * 2
    }

    /// Bytes of memory for what one part becomes. What does not fit is decoded later.
    pub(crate) fn part_bytes(self) -> usize {
        self.group_bytes / Self::parts()
    }

    /// Bytes of memory for a table that is held as a whole.
    pub(crate) fn table_bytes(self) -> usize {
        (self.group_bytes * 2).max(TABLE_BYTES)
    }

    /// Bytes of text that are decoded as a part.
    fn block_bytes(self) -> usize {
        self.rows.saturating_mul(ROW_BYTES).min(self.part_bytes() / TEXT_COPIES)
    }

    /// Bytes within which a record of text ends.
    fn record_bytes(self) -> usize {
        (self.group_bytes / 2).clamp(RECORD_BYTES.0, RECORD_BYTES.1)
    }

    /// The most cells of a batch, for columns that most rows have no value in.
    fn cells(self) -> usize {
        (self.part_bytes() / CELL_BYTES).max(CELLS)
    }

    /// Refuses an input with these columns if they are too many or their names are too long.
    fn check_columns(self, schema: &Schema) -> Result<(), InputFault> {
        let (count, limit) = (schema.fields().len(), self.max_columns);
        if count > limit {
            return Err(InputFault::TooManyColumns { count, limit });
        }
        Self::check_names(schema.fields().iter().map(|field| field.name().as_str()))
    }

    fn check_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<(), InputFault> {
        match names.into_iter().find(|name| name.len() > NAME_BYTES) {
            Some(name) => {
                let begin = shortened(name, 0).to_owned();
                Err(InputFault::LongName { begin, bytes: name.len(), limit: NAME_BYTES })
            }
            None => Ok(()),
        }
    }
}

/// The columns of the parts of an input that may have different ones.
#[derive(Default)]
pub(crate) struct ColumnNames(HashSet<String>);

impl ColumnNames {
    /// Notes the columns of a part, unless the parts have too many together.
    pub(crate) fn note(&mut self, schema: &Schema, limits: ReadLimits) -> Result<(), InputFault> {
        for field in schema.fields() {
            if !self.0.contains(field.name()) {
                ReadLimits::check_names([field.name().as_str()])?;
                self.0.insert(field.name().clone());
            }
        }
        let limit = limits.max_columns;
        if self.0.len() > limit { Err(InputFault::ManyColumns { limit }) } else { Ok(()) }
    }
}

/// An input file, read part by part.
pub(crate) struct InputReader<'a> {
    input: &'a Input,
    reader: FormatReader,
}

enum FormatReader {
    Csv { schema: SchemaRef, first: Option<TextBlock>, blocks: TextBlocks<OpenFile> },
    Ndjson(TextBlocks<OpenFile>),
    Parquet(Box<ParquetReader>),
}

/// A part of an input that is yet to be decoded, on whatever thread.
pub(crate) enum RawChunk {
    Csv(TextBlock, SchemaRef),
    Ndjson(TextBlock),
    /// A row group that is decoded as a whole.
    RowGroup(parquet::MeasuredRowGroup),
    /// Rows of a row group too large for that.
    Rows {
        batch: RecordBatch,
        row_group: usize,
        first: usize,
        bytes: u64,
    },
}

impl<'a> InputReader<'a> {
    pub(crate) fn open(files: &Files, input: &'a Input, limits: ReadLimits) -> Result<Self, IngestError> {
        let path = &input.path;
        let mut file = files.open(path).at(OPEN, path)?;
        let format = format::detect(path, &mut file).at(OPEN, path)?.map_err(|fault| fault.of(&input.shown))?;
        let blocks = |file, quotes| TextBlocks::new(file, limits.block_bytes(), limits.record_bytes(), quotes);
        let reader = match format {
            InputFormat::Parquet => {
                let bytes = ParquetBytes::input(file.into_inner()).at(OPEN, path)?;
                FormatReader::Parquet(Box::new(
                    ParquetReader::open(bytes, limits).map_err(|fault| fault.of(&input.shown))?,
                ))
            }
            InputFormat::Ndjson => FormatReader::Ndjson(blocks(after_mark(file).at(OPEN, path)?, false)),
            InputFormat::Csv => {
                let mut blocks = blocks(after_mark(file).at(OPEN, path)?, true);
                let first = next_block(&mut blocks, input)?.ok_or_else(|| InputFault::NoHeader.of(&input.shown))?;
                let (schema, rows) = csv::read_header(&first).map_err(|fault| fault.of(&input.shown))?;
                FormatReader::Csv { schema, first: Some(rows), blocks }
            }
        };
        let source = Self { input, reader };
        if let Some(schema) = source.schema() {
            limits.check_columns(schema).map_err(|fault| fault.of(&input.shown))?;
        }
        Ok(source)
    }

    /// The columns, where the file declares them.
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        match &self.reader {
            FormatReader::Csv { schema, .. } => Some(schema),
            FormatReader::Ndjson(_) => None,
            FormatReader::Parquet(parquet) => Some(parquet.schema()),
        }
    }

    /// The next part, in file order.
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
            FormatReader::Parquet(parquet) => parquet.next().map_err(|fault| fault.of(&self.input.shown)),
        }
    }
}

impl RawChunk {
    /// Bytes of the file that the part stands for.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Csv(block, _) | Self::Ndjson(block) => u64::try_from(block.bytes.len()).unwrap_or(u64::MAX),
            Self::RowGroup(group) => group.bytes(),
            Self::Rows { bytes, .. } => *bytes,
        }
    }

    /// Bytes of memory that decoding takes, about.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Csv(block, _) | Self::Ndjson(block) => block.bytes.len() * TEXT_COPIES,
            Self::RowGroup(group) => group.memory(),
            Self::Rows { batch, .. } => batch.get_array_memory_size(),
        }
    }

    /// The part's rows.
    pub(crate) fn decode(self, table: Table, limits: ReadLimits) -> Result<ChunkDecoder, InputFault> {
        Ok(match self {
            Self::Csv(block, schema) => ChunkDecoder::Csv(csv::CsvDecoder::new(block, schema, limits)?),
            Self::Ndjson(block) => {
                ChunkDecoder::Ndjson(ndjson::NdjsonDecoder::new(block, table.required(), table.amounts(), limits)?)
            }
            Self::RowGroup(group) => ChunkDecoder::Decoded(group.decode()?.into_iter()),
            Self::Rows { batch, row_group, first, .. } => {
                let places = RowLocations::Rows { row_group, first };
                ChunkDecoder::Decoded(vec![DecodedBatch { batch, places, torn: Vec::new(), broken: None }].into_iter())
            }
        })
    }
}

/// The rows of a part, decoded piece by piece, so that what text becomes need not fit in memory as a whole.
pub(crate) enum ChunkDecoder {
    Csv(csv::CsvDecoder),
    Ndjson(ndjson::NdjsonDecoder),
    Decoded(std::vec::IntoIter<DecodedBatch>),
}

impl Iterator for ChunkDecoder {
    type Item = Result<DecodedBatch, InputFault>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Csv(pieces) => pieces.next().transpose(),
            Self::Ndjson(pieces) => pieces.next().transpose(),
            Self::Decoded(pieces) => pieces.next().map(Ok),
        }
    }
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

/// The file behind the mark that some programs put before UTF-8.
fn after_mark(mut file: OpenFile) -> std::io::Result<OpenFile> {
    let mut mark = Vec::new();
    file.by_ref().take(3).read_to_end(&mut mark)?;
    if mark != format::MARK {
        file.seek(SeekFrom::Start(0))?;
    }
    Ok(file)
}
