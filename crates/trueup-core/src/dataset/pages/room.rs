//! The memory that a column chunk takes once it is decoded, found from the headers of its pages.

use super::header::{DataV2, Kind};
use super::{Pages, values};
use parquet::basic::{Encoding, Type};
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::schema::types::ColumnDescriptor;

/// What a row takes of a column whatever its value: where it begins, levels, and whether there is one.
const ROW: usize = 8;

/// The memory that a column chunk takes, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Bytes that are held while rows are read: the dictionary and a page.
    pub held: usize,
    /// Bytes of a row.
    pub row: usize,
    /// The rows that the pages have, or for a column with lists the values.
    pub values: u64,
}

/// Finds the memory that a column chunk takes. Its bytes lie in the file, as [`check_ranges`](super::super::check_ranges) has found.
///
/// # Errors
/// A page does not read, or takes more than `limit` bytes.
pub fn measure<R: ChunkReader>(file: R, chunk: &ColumnChunkMetaData, limit: usize) -> Result<Room> {
    let mut pages = Pages::new(file, chunk, limit);
    let column = chunk.column_descr();
    let is_text = column.physical_type() == Type::BYTE_ARRAY;
    let (mut dictionary, mut largest, mut row, mut all, mut values) = (0_usize, 0, fixed(column), 0_usize, 0_u64);
    while let Some(header) = pages.header()? {
        let (size, kind) = (header.unpacked.max(header.packed), header.kind.clone());
        all = all.saturating_add(size);
        let (count, encoding) = match kind {
            Kind::Dictionary { values: count, .. } => {
                let entries = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(4);
                dictionary = dictionary.max(size.saturating_add(entries));
                if is_text {
                    row = row.max(longest(&mut pages)?);
                } else {
                    pages.pass();
                }
                continue;
            }
            Kind::Data { values, encoding, .. } | Kind::DataV2(DataV2 { values, encoding, .. }) => (values, encoding),
            Kind::Index => {
                pages.pass();
                continue;
            }
        };
        largest = largest.max(size);
        values += u64::from(count);
        match encoding {
            Encoding::DELTA_BYTE_ARRAY => row = row.max(longest(&mut pages)?),
            // A page's values may be of any lengths; that a page is read as a whole is accounted for.
            Encoding::PLAIN | Encoding::DELTA_LENGTH_BYTE_ARRAY if is_text => {
                row = row.max(usize::try_from(count).ok().and_then(|count| size.checked_div(count)).unwrap_or(0));
                pages.pass();
            }
            _ => pages.pass(),
        }
    }
    if column.max_rep_level() > 0 {
        // One row may have all values.
        let cells = usize::try_from(values).unwrap_or(usize::MAX).saturating_mul(row.saturating_add(ROW));
        row = all.max(cells);
    }
    // What is decoded stands beside the page that it is decoded from.
    let held = dictionary.saturating_add(largest).saturating_add(if is_text { largest } else { 0 });
    Ok(Room { held, row: row.saturating_add(ROW), values })
}

/// The longest value of the next page.
fn longest<R: ChunkReader>(pages: &mut Pages<R>) -> Result<usize> {
    match pages.page()? {
        Some(page) => values::longest(&page, &pages.column).map_err(|fault| pages.fault(fault)),
        None => Ok(0),
    }
}

/// Bytes of a value, as far as its type says.
fn fixed(column: &ColumnDescriptor) -> usize {
    match column.physical_type() {
        Type::BYTE_ARRAY => 0,
        // Decimals are decoded to as much as 32 bytes, whatever they take in the file.
        Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or(0).max(32),
        _ if column.type_precision() > 0 => 32,
        _ => 16,
    }
}
