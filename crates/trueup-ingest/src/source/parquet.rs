//! Parquet files with row groups of any size.

use super::parquet_bytes::ParquetBytes;
use super::row_group::{InputRowGroup, RowGroupMemory};
use super::wide::LargeRowGroup;
use super::{DecodedBatch, RawChunk, ReadLimits, RowLocations};
use crate::error::InputFault;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, FooterTail, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::reader::{ChunkReader, Length};
use std::sync::Arc;
use trueup_core::dataset::{catch_panics, check_chunk_ranges, check_footer};

/// Row groups that take less than this are read with any memory.
const LEAST: usize = 96 << 20;

/// Footers that have less bytes than this are read with any memory.
const LEAST_FOOTER: usize = 4 << 20;

/// Of the bytes of a row group, the share that a footer may have: what becomes of it is several times as large.
const FOOTER_SHARE: usize = 8;

/// Of the bytes that are decoded at once, the share of a batch.
const BATCH_SHARE: usize = 4;

/// A column of texts with less bytes than this for each value has recurring ones.
const CODED_BYTES: i64 = 5;

/// A Parquet file, read row group by row group.
pub(crate) struct ParquetReader {
    bytes: ParquetBytes,
    metadata: ArrowReaderMetadata,
    limits: ReadLimits,
    next_group: usize,
    /// The large row group that is being read.
    open: Option<(InputRowGroup, LargeRowGroup)>,
}

/// A row group that is yet to be decoded.
pub(crate) struct MeasuredRowGroup {
    row_group: InputRowGroup,
    memory: RowGroupMemory,
    rows: usize,
}

impl ParquetReader {
    pub(crate) fn open(bytes: ParquetBytes, limits: ReadLimits) -> Result<Self, InputFault> {
        let read = || {
            let metadata = Arc::new(footer(&bytes, LEAST_FOOTER.max(limits.group_bytes / FOOTER_SHARE))?);
            // The schema that arrow writers leave beside Parquet's own only adds spellings of the same values.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            ArrowReaderMetadata::try_new(metadata, options).and_then(keeping_codes)
        };
        let metadata = catch_panics(read).map_err(InputFault::Damaged)?;
        Ok(Self { bytes, metadata, limits, next_group: 0, open: None })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    pub(crate) fn row_groups(&self) -> &[RowGroupMetaData] {
        self.metadata.metadata().row_groups()
    }

    pub(crate) fn next(&mut self) -> Result<Option<RawChunk>, InputFault> {
        loop {
            if let Some(part) = self.next_rows()? {
                return Ok(Some(part));
            }
            let row_group = self.next_group;
            if row_group >= self.row_groups().len() {
                return Ok(None);
            }
            self.next_group += 1;
            let row_group = InputRowGroup {
                bytes: self.bytes.clone(),
                metadata: self.metadata.metadata().clone(),
                fields: self.schema().fields().clone(),
                number: row_group,
                most: LEAST.max(self.limits.group_bytes.saturating_mul(2)),
            };
            let memory = row_group.memory()?;
            let group = MeasuredRowGroup { row_group, memory, rows: self.limits.rows };
            if group.memory() <= self.limits.group_bytes {
                return Ok(Some(RawChunk::RowGroup(group)));
            }
            let rows = (self.limits.group_bytes / BATCH_SHARE).checked_div(memory.row).unwrap_or(usize::MAX);
            let rows = rows.clamp(1, self.limits.rows);
            let row_group = group.row_group;
            let wide = LargeRowGroup::open(&self.metadata, row_group.number, |mask| row_group.reader(mask, rows))?;
            self.open = Some((row_group, wide));
        }
    }

    fn next_rows(&mut self) -> Result<Option<RawChunk>, InputFault> {
        let Some((row_group, group)) = &mut self.open else { return Ok(None) };
        let first = group.rows;
        let Some(batch) = catch_panics(|| Ok(group.next()?)).map_err(|error| row_group.fault(error))? else {
            self.open = None;
            return Ok(None);
        };
        let bytes = share(row_group.metadata(), batch.num_rows());
        Ok(Some(RawChunk::Rows { batch, row_group: row_group.number, first, bytes }))
    }
}

impl MeasuredRowGroup {
    pub(crate) fn bytes(&self) -> u64 {
        u64::try_from(self.row_group.metadata().compressed_size()).unwrap_or(0)
    }

    /// Bytes of memory that decoding takes, at most.
    pub(crate) fn memory(&self) -> usize {
        let rows = usize::try_from(self.row_group.rows()).unwrap_or(usize::MAX);
        self.memory.held.saturating_add(self.memory.row.saturating_mul(rows))
    }

    pub(crate) fn decode(&self) -> Result<Vec<DecodedBatch>, InputFault> {
        let row_group = self.row_group.number;
        let (mut pieces, mut first) = (Vec::new(), 0);
        let mut reader = self.row_group.reader(ProjectionMask::all(), self.rows)?;
        let mut next = || catch_panics(|| Ok(reader.next().transpose()?)).map_err(|error| self.row_group.fault(error));
        while let Some(batch) = next()? {
            let rows = batch.num_rows();
            pieces.push(DecodedBatch {
                batch,
                places: RowLocations::Rows { row_group, first },
                torn: Vec::new(),
                broken: None,
            });
            first += rows;
        }
        Ok(pieces)
    }
}

/// Reads the footer of a file, which may have at most the given number of bytes.
fn footer(bytes: &ParquetBytes, most: usize) -> Result<ParquetMetaData> {
    /// Bytes at the end that say how long the footer is.
    const TAIL: u64 = 8;

    let short = || ParquetError::EOF("the file is shorter than a footer".to_owned());
    let tail = bytes.len().checked_sub(TAIL).ok_or_else(short)?;
    let end = FooterTail::try_from(&*bytes.get_bytes(tail, 8)?)?;
    let length = end.metadata_length();
    if end.is_encrypted_footer() {
        return Err(ParquetError::NYI("encrypted files cannot be read".to_owned()));
    }
    if length > most {
        return Err(ParquetError::General(format!(
            "the footer has {length} bytes, and with this memory at most {most} are read; give more memory, or write larger row groups"
        )));
    }
    let start = tail.checked_sub(length as u64).ok_or_else(short)?;
    let footer = bytes.get_bytes(start, length)?;
    check_footer(&footer)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&footer)?;
    check_chunk_ranges(&metadata, bytes.len())?;
    Ok(metadata)
}

/// Reads texts that recur as codes, as they stand in the file: they need not be spelled out row by row.
fn keeping_codes(plain: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let fields = plain.schema().fields();
    let Some(sample) = plain.metadata().row_groups().first().filter(|group| group.num_columns() == fields.len()) else {
        return Ok(plain);
    };
    let codes = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let fields: Vec<FieldRef> = fields
        .iter()
        .zip(sample.columns())
        .map(|(field, column)| match field.data_type() {
            DataType::Utf8 if recurs(column) => Arc::new(field.as_ref().clone().with_data_type(codes.clone())),
            _ => field.clone(),
        })
        .collect();
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(plain.metadata().clone(), options)
}

/// Whether a column of texts has codes that are small beside its texts.
fn recurs(column: &ColumnChunkMetaData) -> bool {
    column.dictionary_page_offset().is_some()
        && column.uncompressed_size() < column.num_values().saturating_mul(CODED_BYTES)
}

/// The part of a row group's compressed bytes that falls to so many of its rows.
fn share(metadata: &RowGroupMetaData, rows: usize) -> u64 {
    let size = u128::try_from(metadata.compressed_size()).unwrap_or(0);
    let all = u128::try_from(metadata.num_rows()).unwrap_or(1).max(1);
    let rows = u128::try_from(rows).unwrap_or(0);
    u64::try_from(size * rows / all).unwrap_or(u64::MAX)
}
