//! Parquet files with row groups of any size.

use super::parquet_bytes::ParquetBytes;
use super::wide::WideGroup;
use super::{Chunking, Part, Piece, Places};
use crate::error::InputFault;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::Length;
use std::sync::Arc;
use trueup_core::dataset::{check_ranges, reading};

/// Bytes of memory that commonly hold a cell.
const CELL_BYTES: usize = 16;

/// A column of texts with less bytes than this for each value has recurring ones.
const CODED_BYTES: i64 = 5;

/// A Parquet file, read row group by row group.
pub(crate) struct Parquet {
    bytes: ParquetBytes,
    metadata: ArrowReaderMetadata,
    chunking: Chunking,
    next_group: usize,
    /// The large row group that is being read.
    open: Option<WideGroup>,
}

/// A row group that is yet to be decoded.
pub(crate) struct Group {
    bytes: ParquetBytes,
    metadata: ArrowReaderMetadata,
    row_group: usize,
    rows: usize,
}

impl Parquet {
    pub(crate) fn open(bytes: ParquetBytes, chunking: Chunking) -> Result<Self, InputFault> {
        let read = || {
            // The schema that arrow writers leave beside Parquet's own only adds spellings of the same values.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let metadata = ArrowReaderMetadata::load(&bytes, options).and_then(keeping_codes)?;
            check_ranges(metadata.metadata(), bytes.len())?;
            Ok(metadata)
        };
        let metadata = reading(read).map_err(InputFault::Damaged)?;
        Ok(Self { bytes, metadata, chunking, next_group: 0, open: None })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    pub(crate) fn row_groups(&self) -> &[RowGroupMetaData] {
        self.metadata.metadata().row_groups()
    }

    pub(crate) fn next(&mut self) -> Result<Option<Part>, InputFault> {
        loop {
            if let Some(part) = self.next_rows()? {
                return Ok(Some(part));
            }
            let row_group = self.next_group;
            if row_group >= self.row_groups().len() {
                return Ok(None);
            }
            self.next_group += 1;
            let (bytes, metadata) = (self.bytes.clone(), self.metadata.clone());
            let group = Group { bytes, metadata, row_group, rows: self.chunking.rows };
            if group.memory() <= self.chunking.group_bytes {
                return Ok(Some(Part::Group(group)));
            }
            self.open = Some(WideGroup::open(&self.metadata, row_group, |mask| group.reader(mask))?);
        }
    }

    fn next_rows(&mut self) -> Result<Option<Part>, InputFault> {
        let Some(group) = &mut self.open else { return Ok(None) };
        let row_group = self.next_group - 1;
        let first = group.rows;
        let Some(batch) = reading(|| Ok(group.next()?)).map_err(|source| damaged(row_group, source))? else {
            self.open = None;
            return Ok(None);
        };
        let metadata = &self.metadata.metadata().row_groups()[row_group];
        let bytes = share(metadata, batch.num_rows());
        Ok(Some(Part::Rows { batch, row_group, first, bytes }))
    }
}

impl Group {
    pub(crate) fn bytes(&self) -> u64 {
        let metadata = &self.metadata.metadata().row_groups()[self.row_group];
        u64::try_from(metadata.compressed_size()).unwrap_or(0)
    }

    /// Bytes of memory that the decoded rows take, about.
    pub(crate) fn memory(&self) -> usize {
        let metadata = &self.metadata.metadata().row_groups()[self.row_group];
        let cells = usize::try_from(metadata.num_rows()).unwrap_or(usize::MAX).saturating_mul(metadata.num_columns());
        // Dictionaries and runs are smaller in the file than what becomes of them.
        usize::try_from(metadata.total_byte_size()).unwrap_or(0).max(cells.saturating_mul(CELL_BYTES))
    }

    fn reader(&self, columns: ProjectionMask) -> Result<ParquetRecordBatchReader, InputFault> {
        let open = || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone())
                .with_row_groups(vec![self.row_group])
                .with_projection(columns)
                .with_batch_size(self.rows)
                .build()
        };
        reading(open).map_err(|source| damaged(self.row_group, source))
    }

    pub(crate) fn decode(&self) -> Result<Vec<Piece>, InputFault> {
        let row_group = self.row_group;
        let (mut pieces, mut first) = (Vec::new(), 0);
        let mut reader = self.reader(ProjectionMask::all())?;
        while let Some(batch) =
            reading(|| Ok(reader.next().transpose()?)).map_err(|source| damaged(row_group, source))?
        {
            let rows = batch.num_rows();
            pieces.push(Piece { batch, places: Places::Rows { row_group, first }, torn: Vec::new(), broken: None });
            first += rows;
        }
        Ok(pieces)
    }
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

fn damaged(row_group: usize, source: impl std::error::Error + Send + Sync + 'static) -> InputFault {
    InputFault::DamagedGroup { row_group, source: Box::new(source) }
}
