//! The memory of a decoded column chunk, found from the headers of its pages.

use super::Pages;
use super::header::{DataV2, PageKind, longest_text};
use parquet::basic::{Encoding, Type};
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::schema::types::ColumnDescriptor;

/// The bytes of a row in addition to its value: offset, levels and validity.
const ROW_BYTES: usize = 8;

/// The most memory that a decoded column chunk takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkMemory {
    /// Bytes that are held while rows are read: the dictionary, a page and, of texts, the values of the page.
    pub held: usize,
    /// The most bytes of a row. Of texts without a dictionary or shared prefixes, the average of a page, because the
    /// headers do not say more.
    pub row: usize,
    /// The number of rows, or of values for a column of lists.
    pub values: u64,
}

/// Finds the memory of a decoded column chunk, which must be inside the file (see
/// [`check_chunk_ranges`](crate::check_chunk_ranges)).
///
/// # Errors
/// A page cannot be read, or has more than `limit` bytes.
pub fn measure_chunk<R: ChunkReader>(file: R, chunk: &ColumnChunkMetaData, limit: usize) -> Result<ChunkMemory> {
    let mut pages = Pages::new(file, chunk, limit);
    let column = chunk.column_descr();
    let is_text = column.physical_type() == Type::BYTE_ARRAY;
    let (mut dictionary, mut largest, mut row, mut all, mut values) = (0_usize, 0, fixed(column), 0_usize, 0_u64);
    while let Some(header) = pages.header()? {
        let (size, kind) = (header.decompressed.max(header.compressed), header.kind.clone());
        all = all.saturating_add(size);
        let (count, encoding) = match kind {
            PageKind::Dictionary { values: count, .. } => {
                let entries = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(4);
                dictionary = dictionary.max(size.saturating_add(entries));
                if is_text {
                    row = row.max(longest(&mut pages)?);
                } else {
                    pages.skip_page();
                }
                continue;
            }
            PageKind::Data { values, encoding, .. } | PageKind::DataV2(DataV2 { values, encoding, .. }) => {
                (values, encoding)
            }
            PageKind::Index => {
                pages.skip_page();
                continue;
            }
        };
        largest = largest.max(size);
        values += u64::from(count);
        match encoding {
            Encoding::DELTA_BYTE_ARRAY => row = row.max(longest(&mut pages)?),
            // The average length. A longer value is covered by `held`, which counts the whole page twice.
            Encoding::PLAIN | Encoding::DELTA_LENGTH_BYTE_ARRAY if is_text => {
                row = row.max(usize::try_from(count).ok().and_then(|count| size.checked_div(count)).unwrap_or(0));
                pages.skip_page();
            }
            _ => pages.skip_page(),
        }
    }
    if column.max_rep_level() > 0 {
        // One row may hold all values.
        let cells = usize::try_from(values).unwrap_or(usize::MAX).saturating_mul(row.saturating_add(ROW_BYTES));
        row = all.max(cells);
    }
    // A page is held together with the values that are decoded from it.
    let held = dictionary.saturating_add(largest).saturating_add(if is_text { largest } else { 0 });
    Ok(ChunkMemory { held, row: row.saturating_add(ROW_BYTES), values })
}

/// Returns the length of the longest value of the next page.
fn longest<R: ChunkReader>(pages: &mut Pages<R>) -> Result<usize> {
    match pages.page()? {
        Some(page) => longest_text(&page, &pages.column).map_err(|fault| pages.fault(fault)),
        None => Ok(0),
    }
}

/// Returns the bytes of a value of a fixed type; 0 for texts.
fn fixed(column: &ColumnDescriptor) -> usize {
    match column.physical_type() {
        Type::BYTE_ARRAY => 0,
        // A decimal is decoded to up to 32 bytes, whatever its length in the file.
        Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or(0).max(32),
        _ if column.type_precision() > 0 => 32,
        _ => 16,
    }
}
