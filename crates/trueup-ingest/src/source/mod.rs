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

pub(crate) use parquet::Parquet;
pub(crate) use parquet_bytes::ParquetBytes;
pub(crate) use piece::{Piece, Places, text};

use crate::error::{AtPath, InputFault, OPEN};
use crate::table::Table;
use crate::{IngestError, Input};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use blocks::{Block, BlockFault, Blocks};
use format::Format;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// How much is decoded at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunking {
    /// The most rows of a batch.
    pub(crate) rows: usize,
    /// The most bytes of memory for what is decoded at once.
    pub(crate) group_bytes: usize,
}

/// Bytes of text that commonly hold one row.
const ROW_BYTES: usize = 128;

/// An input file, read part by part.
pub(crate) struct Source<'a> {
    input: &'a Input,
    reader: Reader,
}

enum Reader {
    Csv { schema: SchemaRef, first: Option<Block>, blocks: Blocks<File> },
    Ndjson(Blocks<File>),
    Parquet(Box<Parquet>),
}

/// A part of an input that is yet to be decoded, on whatever thread.
pub(crate) enum Part {
    Csv(Block, SchemaRef),
    Ndjson(Block),
    /// A row group that is decoded as a whole.
    Group(parquet::Group),
    /// Rows of a row group too large for that.
    Rows {
        batch: RecordBatch,
        row_group: usize,
        first: usize,
        bytes: u64,
    },
}

impl<'a> Source<'a> {
    pub(crate) fn open(input: &'a Input, chunking: Chunking) -> Result<Self, IngestError> {
        let path = &input.path;
        let mut file = File::open(path).at(OPEN, path)?;
        let format = format::detect(path, &mut file).at(OPEN, path)?.map_err(|fault| fault.of(&input.shown))?;
        let size = chunking.rows.saturating_mul(ROW_BYTES);
        let reader = match format {
            Format::Parquet => {
                let bytes = ParquetBytes::input(file).at(OPEN, path)?;
                Reader::Parquet(Box::new(Parquet::open(bytes, chunking).map_err(|fault| fault.of(&input.shown))?))
            }
            Format::Ndjson => Reader::Ndjson(Blocks::new(after_mark(file).at(OPEN, path)?, size, false)),
            Format::Csv => {
                let mut blocks = Blocks::new(after_mark(file).at(OPEN, path)?, size, true);
                let first = next_block(&mut blocks, input)?.ok_or_else(|| InputFault::NoHeader.of(&input.shown))?;
                let (schema, rows) = csv::read_header(&first).map_err(|fault| fault.of(&input.shown))?;
                Reader::Csv { schema, first: Some(rows), blocks }
            }
        };
        Ok(Self { input, reader })
    }

    /// The columns, where the file declares them.
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        match &self.reader {
            Reader::Csv { schema, .. } => Some(schema),
            Reader::Ndjson(_) => None,
            Reader::Parquet(parquet) => Some(parquet.schema()),
        }
    }

    /// The next part, in file order.
    pub(crate) fn next(&mut self) -> Result<Option<Part>, IngestError> {
        match &mut self.reader {
            Reader::Csv { schema, first, blocks } => {
                let block = match first.take() {
                    Some(block) => Some(block),
                    None => next_block(blocks, self.input)?,
                };
                Ok(block.map(|block| Part::Csv(block, schema.clone())))
            }
            Reader::Ndjson(blocks) => Ok(next_block(blocks, self.input)?.map(Part::Ndjson)),
            Reader::Parquet(parquet) => parquet.next().map_err(|fault| fault.of(&self.input.shown)),
        }
    }
}

impl Part {
    /// Bytes of the file that the part stands for.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Csv(block, _) | Self::Ndjson(block) => u64::try_from(block.bytes.len()).unwrap_or(u64::MAX),
            Self::Group(group) => group.bytes(),
            Self::Rows { bytes, .. } => *bytes,
        }
    }

    /// Bytes of memory that decoding takes, about.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Csv(block, _) | Self::Ndjson(block) => block.bytes.len(),
            Self::Group(group) => group.memory(),
            Self::Rows { batch, .. } => batch.get_array_memory_size(),
        }
    }

    /// The part's rows.
    pub(crate) fn decode(self, table: Table) -> Result<Vec<Piece>, InputFault> {
        match self {
            Self::Csv(block, schema) => Ok(vec![csv::parse(&block, &schema)?]),
            Self::Ndjson(block) => Ok(vec![ndjson::parse(&block, table.required(), table.amounts())?]),
            Self::Group(group) => group.decode(),
            Self::Rows { batch, row_group, first, .. } => {
                Ok(vec![Piece { batch, places: Places::Rows { row_group, first }, torn: Vec::new(), broken: None }])
            }
        }
    }
}

fn next_block(blocks: &mut Blocks<File>, input: &Input) -> Result<Option<Block>, IngestError> {
    match blocks.next() {
        Ok(block) => Ok(block),
        Err(BlockFault::Io(error)) => Err(error).at("read", &input.path),
        Err(BlockFault::TooLong(line)) => {
            Err(InputFault::Record { line, what: "the record does not end; is a quote never closed?" }.of(&input.shown))
        }
    }
}

/// The file behind the mark that some programs put before UTF-8.
fn after_mark(mut file: File) -> std::io::Result<File> {
    let mut mark = Vec::new();
    file.by_ref().take(3).read_to_end(&mut mark)?;
    if mark != format::MARK {
        file.seek(SeekFrom::Start(0))?;
    }
    Ok(file)
}
