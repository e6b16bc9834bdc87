//! Reads Parquet files with row groups of any size.

mod row_group;

pub(crate) use row_group::ParquetBytes;

use super::{Binary, Content, FileFormat};
use crate::error::FileFault;
use crate::source::chunk::{ChunkRows, DecodedBatches, FormatChunk, FormatReader, ReadFault};
use crate::source::columns::{UUID_MARK, coded_text};
use crate::source::decoded::{DecodedBatch, ReadLimits, RowLocations};
use crate::source::header::FileHead;
use crate::source::input::Input;
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::LogicalType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, FooterTail, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::reader::{ChunkReader, Length};
use rayon::prelude::*;
use row_group::{InputRowGroup, LargeRowGroup, RowGroupMemory};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trueup_core::files::OpenFile;
use trueup_parquet::{catch_panics, check_chunk_ranges, check_footer};

impl FileFormat {
    /// Parquet.
    pub const PARQUET: Self = Self {
        name: "parquet",
        endings: &["parquet", "pq"],
        other_names: &[],
        title: "Parquet",
        settings: &[],
        content: Content::Binary(Binary {
            begins: |begin| Ok(begin.starts_with(b"PAR1")),
            is_not: "expected a Parquet file, but the file does not begin with `PAR1`; correct its name or the format",
            is: "this is a Parquet file, but its name or the format says otherwise; rename it to end in `.parquet`, or \
                 correct the format",
            open,
        }),
    };
}

fn open(file: OpenFile, input: &Input, limits: ReadLimits) -> Result<FormatReader, ReadFault> {
    let file = ParquetFile::open(ParquetBytes::input(file.into_inner())?, limits)?;
    let mut reader = file.reader(&|name| input.options.decodes(name));
    let schema = reader.selected.schema.clone();
    let read = Arc::new(AtomicU64::new(0));
    let counter = read.clone();
    let mut next = move || -> Result<Option<FormatChunk>, ReadFault> {
        let Some(chunk) = reader.next_chunks(1)?.pop() else { return Ok(None) };
        counter.fetch_add(chunk.bytes(), Ordering::Relaxed);
        Ok(Some(FormatChunk { memory: chunk.memory(), rows: Box::new(chunk) }))
    };
    let chunks = std::iter::from_fn(move || next().transpose());
    Ok(FormatReader { schema: Some(schema), head: FileHead::default(), read, chunks: Box::new(chunks) })
}

impl ChunkRows for ParquetChunk {
    fn decode(self: Box<Self>, _: Table, _: ReadLimits) -> Result<DecodedBatches, FileFault> {
        Ok(Box::new(Self::decode(*self)?.into_iter().map(Ok)))
    }
}

/// Bytes that a footer may have, even if `decoded_bytes` is small.
const MIN_FOOTER_BYTES: usize = 4 << 20;

/// A footer may have at most `decoded_bytes` divided by this number, because the decoded footer is several times as
/// large.
const FOOTER_DIVISOR: usize = 8;

/// A batch of a large row group takes at most `decoded_bytes` divided by this number, unless it is a single row.
const BATCH_DIVISOR: usize = 4;

/// The texts of a column recur, presumably, if the column has a dictionary and fewer bytes per value than this.
const CODED_VALUE_BYTES: i64 = 5;

/// A Parquet file whose footer was read.
#[derive(Clone)]
pub(crate) struct ParquetFile {
    bytes: ParquetBytes,
    metadata: ArrowReaderMetadata,
    limits: ReadLimits,
}

/// A Parquet file, read chunk by chunk: a row group as a whole, or batches of a row group that does not fit in memory.
pub(crate) struct ParquetReader {
    selected: Selected,
    /// The number of the next row group.
    next_group: usize,
    /// The large row group that is being read.
    large: Option<(InputRowGroup, LargeRowGroup)>,
}

/// What is read of the row groups of a file.
struct Selected {
    file: ParquetFile,
    /// The columns that are read, and their positions in the file.
    schema: SchemaRef,
    columns: Arc<[usize]>,
}

impl ParquetFile {
    /// Reads the footer.
    ///
    /// # Errors
    /// The footer cannot be read, is damaged, encrypted or too large.
    pub(crate) fn open(bytes: ParquetBytes, limits: ReadLimits) -> Result<Self, FileFault> {
        let read = || {
            let max_bytes = MIN_FOOTER_BYTES.max(limits.decoded_bytes / FOOTER_DIVISOR);
            let metadata = Arc::new(read_footer(&bytes, max_bytes)?);
            // The arrow schema that some writers add next to Parquet's own only spells the same types in another way.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            ArrowReaderMetadata::try_new(metadata, options).and_then(with_codes)
        };
        let metadata = catch_panics(read).map_err(FileFault::Damaged)?;
        Ok(Self { bytes, metadata, limits })
    }

    /// Begins to read the columns for which `reads` returns true.
    pub(crate) fn reader(&self, reads: &dyn Fn(&str) -> bool) -> ParquetReader {
        let fields = self.metadata.schema().fields();
        let columns: Arc<[usize]> = (0..fields.len()).filter(|at| reads(fields[*at].name())).collect();
        let fields = columns.iter().map(|at| with_uuid_mark(&self.metadata, *at));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let selected = Selected { file: self.clone(), schema, columns };
        ParquetReader { selected, next_group: 0, large: None }
    }
}

impl ParquetReader {
    /// Returns the next chunks, at most `count`, for threads to decode at the same time; none after the last.
    pub(crate) fn next_chunks(&mut self, count: usize) -> Result<Vec<ParquetChunk>, FileFault> {
        let mut chunks = Vec::new();
        while chunks.len() < count {
            if let Some(chunk) = self.next_of_large()? {
                chunks.push(chunk);
                continue;
            }
            let row_groups = self.selected.file.metadata.metadata().num_row_groups();
            let numbers = self.next_group..row_groups.min(self.next_group + count - chunks.len());
            if numbers.is_empty() {
                break;
            }
            let selected = &self.selected;
            let measured: Vec<_> = numbers.into_par_iter().map(|number| selected.measure(number)).collect();
            for measured in measured {
                let measured = measured?;
                self.next_group += 1;
                if measured.memory() > self.selected.file.limits.decoded_bytes {
                    // The row groups after this one are measured again, once it is read.
                    self.open_large(measured)?;
                    break;
                }
                chunks.push(ParquetChunk::RowGroup(measured));
            }
        }
        Ok(chunks)
    }

    /// Begins to read a row group that does not fit in memory.
    fn open_large(&mut self, measured: MeasuredRowGroup) -> Result<(), FileFault> {
        let MeasuredRowGroup { row_group, memory, .. } = measured;
        let limits = self.selected.file.limits;
        let rows = (limits.decoded_bytes / BATCH_DIVISOR).checked_div(memory.row).unwrap_or(usize::MAX);
        let rows = rows.clamp(1, limits.rows);
        let large = LargeRowGroup::open(&row_group, |columns| row_group.reader(columns, rows))?;
        self.large = Some((row_group, large));
        Ok(())
    }

    fn next_of_large(&mut self) -> Result<Option<ParquetChunk>, FileFault> {
        let Some((row_group, large)) = &mut self.large else { return Ok(None) };
        let first = large.rows;
        let Some(batch) = catch_panics(|| Ok(large.next()?)).map_err(|error| row_group.fault(error))? else {
            self.large = None;
            return Ok(None);
        };
        let bytes = proportional_bytes(row_group.metadata(), batch.num_rows());
        let (row_group, before) = (row_group.number, row_group.rows_before());
        Ok(Some(ParquetChunk::Rows { batch, row_group, first, before, bytes }))
    }
}

impl Selected {
    /// Measures the memory that a row group takes.
    fn measure(&self, number: usize) -> Result<MeasuredRowGroup, FileFault> {
        let ParquetFile { bytes, metadata, limits } = &self.file;
        let mut row_group = InputRowGroup {
            bytes: bytes.clone(),
            metadata: metadata.metadata().clone(),
            fields: metadata.schema().fields().clone(),
            schema: self.schema.clone(),
            columns: self.columns.clone(),
            number,
            max_bytes: limits.row_group_bytes(),
        };
        row_group.hold(limits.held_bytes())?;
        let memory = row_group.measure()?;
        Ok(MeasuredRowGroup { row_group, memory, batch_rows: limits.rows })
    }
}

/// A part of a Parquet file that any thread may decode.
pub(crate) enum ParquetChunk {
    /// A row group that is decoded as a whole.
    RowGroup(MeasuredRowGroup),
    /// Rows of a row group too large for that.
    Rows {
        batch: RecordBatch,
        row_group: usize,
        /// The number of the first row in the row group, counted from 0.
        first: usize,
        /// The rows of the row groups before.
        before: u64,
        /// The rows' share of the row group's bytes in the file.
        bytes: u64,
    },
}

impl ParquetChunk {
    /// Returns the chunk's bytes in the file, for the progress report.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::RowGroup(measured) => u64::try_from(measured.row_group.metadata().compressed_size()).unwrap_or(0),
            Self::Rows { bytes, .. } => *bytes,
        }
    }

    /// Returns the bytes of memory that decoding takes, at most.
    fn memory(&self) -> usize {
        match self {
            Self::RowGroup(measured) => measured.memory(),
            Self::Rows { batch, .. } => batch.get_array_memory_size(),
        }
    }

    /// Decodes the rows.
    pub(crate) fn decode(self) -> Result<Vec<DecodedBatch>, FileFault> {
        match self {
            Self::RowGroup(measured) => measured.decode(),
            Self::Rows { batch, row_group, first, before, .. } => {
                Ok(vec![DecodedBatch::new(batch, RowLocations::Rows { row_group, first, before })])
            }
        }
    }
}

/// A row group whose memory is known, and that is not decoded yet.
pub(crate) struct MeasuredRowGroup {
    row_group: InputRowGroup,
    memory: RowGroupMemory,
    batch_rows: usize,
}

impl MeasuredRowGroup {
    fn memory(&self) -> usize {
        let rows = usize::try_from(self.row_group.rows()).unwrap_or(usize::MAX);
        self.memory.held.saturating_add(self.memory.row.saturating_mul(rows))
    }

    fn decode(&self) -> Result<Vec<DecodedBatch>, FileFault> {
        let row_group = &self.row_group;
        let (mut batches, mut first) = (Vec::new(), 0);
        let mut reader = row_group.reader(row_group.mask(), self.batch_rows)?;
        let mut next = || catch_panics(|| Ok(reader.next().transpose()?)).map_err(|error| row_group.fault(error));
        while let Some(batch) = next()? {
            let rows = batch.num_rows();
            let batch = row_group.with_schema(&batch)?;
            let locations = RowLocations::Rows { row_group: row_group.number, first, before: row_group.rows_before() };
            batches.push(DecodedBatch::new(batch, locations));
            first += rows;
        }
        Ok(batches)
    }
}

/// Returns the field of a column, marked if the column holds UUIDs.
fn with_uuid_mark(metadata: &ArrowReaderMetadata, column: usize) -> FieldRef {
    let field = &metadata.schema().fields()[column];
    let types = metadata.parquet_schema().root_schema().get_fields();
    let is_uuid =
        types.get(column).is_some_and(|one| one.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid));
    if !is_uuid {
        return field.clone();
    }
    Arc::new(field.as_ref().clone().with_metadata([UUID_MARK]))
}

/// Reads the footer of a file, which may have at most `max_bytes` bytes.
fn read_footer(bytes: &ParquetBytes, max_bytes: usize) -> Result<ParquetMetaData> {
    /// Bytes at the end of the file that give the footer's length.
    const TAIL: u64 = 8;

    let short = || ParquetError::EOF("the file is shorter than a footer".to_owned());
    let tail = bytes.len().checked_sub(TAIL).ok_or_else(short)?;
    let end = FooterTail::try_from(&*bytes.get_bytes(tail, 8)?)?;
    let length = end.metadata_length();
    if end.is_encrypted_footer() {
        return Err(ParquetError::NYI("encrypted files cannot be read".to_owned()));
    }
    if length > max_bytes {
        return Err(ParquetError::General(format!(
            "the footer has {length} bytes, but at most {max_bytes} are allowed; raise `--memory`, or write larger row groups"
        )));
    }
    let start = tail.checked_sub(length as u64).ok_or_else(short)?;
    let footer = bytes.get_bytes(start, length)?;
    check_footer(&footer)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&footer)?;
    check_chunk_ranges(&metadata, bytes.len())?;
    Ok(metadata)
}

/// Returns the metadata with dictionary codes as the type of each column whose texts recur. Such a column is then read
/// as it is stored, because decoding each row's text takes time and memory.
fn with_codes(plain: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let fields = plain.schema().fields();
    let Some(sample) = plain.metadata().row_groups().first().filter(|group| group.num_columns() == fields.len()) else {
        return Ok(plain);
    };
    let codes = coded_text();
    let fields: Vec<FieldRef> = fields
        .iter()
        .zip(sample.columns())
        .map(|(field, column)| match field.data_type() {
            DataType::Utf8 if has_recurring_texts(column) => {
                Arc::new(field.as_ref().clone().with_data_type(codes.clone()))
            }
            _ => field.clone(),
        })
        .collect();
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(plain.metadata().clone(), options)
}

fn has_recurring_texts(column: &ColumnChunkMetaData) -> bool {
    column.dictionary_page_offset().is_some()
        && column.uncompressed_size() < column.num_values().saturating_mul(CODED_VALUE_BYTES)
}

/// Returns the share of a row group's compressed bytes that belongs to `rows` of its rows.
fn proportional_bytes(metadata: &RowGroupMetaData, rows: usize) -> u64 {
    let size = u128::try_from(metadata.compressed_size()).unwrap_or(0);
    let all = u128::try_from(metadata.num_rows()).unwrap_or(1).max(1);
    let rows = u128::try_from(rows).unwrap_or(0);
    u64::try_from(size * rows / all).unwrap_or(u64::MAX)
}
