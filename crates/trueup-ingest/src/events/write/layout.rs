//! Where row groups and files of events end, and how their columns are stored.

use crate::events::budget::{Budget, Size};
use crate::events::event_batch::NARROW_TOTAL_DIGITS;
use crate::settings::CommonSettings;
use arrow_schema::{DataType, Field, Schema};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::sync::Arc;
use trueup_core::model::{CUSTOMER_COLUMN, DATE, DATE_TIME, TOTAL, stored_event_schema};

/// Column chunks after which a file ends, because the metadata of every chunk is in memory until then.
const MAX_CHUNKS: usize = 1 << 16;

/// The pages of a column in a full row group. More pages would cost a scan more, and fewer would cost an update more.
const PAGES_PER_GROUP: usize = 16;

/// The bytes after which a page of texts that hardly recur ends.
const TEXT_PAGE_BYTES: usize = 8 << 10;

/// The most rows that parquet's writer adds to a page together.
const MAX_BATCH_ROWS: usize = 1 << 9;

/// A file ends within an account at this multiple of the rows after which it ends at the next account.
const MAX_FILE_FACTOR: usize = 4;

/// A file of this many rows ends in any case, because deletion vectors number the rows of a file in 32 bits.
const MAX_FILE_ROWS: usize = 1 << 31;

/// How events are divided into row groups and files. The division depends only on the customers and their order, so
/// that the same events always make the same files, unless their texts are so long that the memory decides.
#[derive(Clone, Copy, Debug)]
pub(in crate::events) struct FileLayout {
    /// The most rows of a row group, unless a single customer has more.
    pub(in crate::events) group_rows: usize,
    /// The rows after which a file ends at the next account.
    pub(in crate::events) file_rows: usize,
    /// The most bytes of memory of a row group, unless a single customer takes more.
    pub(in crate::events) group_bytes: usize,
    /// The bytes of memory of the open row groups after which a file ends.
    pub(in crate::events) open_bytes: usize,
}

impl FileLayout {
    pub(in crate::events) fn new(settings: &CommonSettings, budget: Budget) -> Self {
        let CommonSettings { group_rows, file_rows, .. } = *settings;
        Self { group_rows, file_rows, group_bytes: budget.row_group(), open_bytes: budget.open_row_groups() }
    }

    /// Returns the rows of a page.
    pub(super) fn page_rows(self) -> usize {
        (self.group_rows / PAGES_PER_GROUP).max(1)
    }

    /// Returns whether a file of this many rows ends before the next customer.
    pub(super) fn ends_file(self, filled: usize, new_account: bool) -> bool {
        let full = if new_account { self.file_rows } else { self.file_rows.saturating_mul(MAX_FILE_FACTOR) };
        filled > 0 && filled >= full.min(MAX_FILE_ROWS)
    }

    /// Returns whether a file ends before the next customer because of the bytes of its open row groups or the number
    /// of its column chunks.
    pub(super) fn is_too_large(self, open_bytes: usize, chunks: usize) -> bool {
        open_bytes >= self.open_bytes || chunks >= MAX_CHUNKS
    }

    /// Returns whether a row group of the size `filled` ends before the customer of the size `next`.
    pub(super) fn ends_group(self, filled: Size, next: Size, new_account: bool) -> bool {
        // A row group ends early between accounts, because queries about other accounts can then skip it.
        let early = new_account && filled.rows >= self.group_rows.div_ceil(2);
        let is_full = filled.rows + next.rows > self.group_rows || filled.bytes + next.bytes > self.group_bytes;
        filled.rows > 0 && (early || is_full)
    }
}

/// Returns the schema of a file: the customer's number, then the stored columns. Narrow totals have fewer digits, which
/// Parquet stores in 64 bits.
pub(super) fn file_schema<'a>(dimensions: impl Iterator<Item = &'a str>, has_narrow_totals: bool) -> Schema {
    let customer = Arc::new(Field::new(CUSTOMER_COLUMN, DataType::Int32, false));
    let stored = stored_event_schema(dimensions);
    let stored = stored.fields().iter().map(|field| match field.data_type() {
        DataType::Decimal128(_, scale) if has_narrow_totals => {
            Arc::new(Field::new(field.name(), DataType::Decimal128(NARROW_TOTAL_DIGITS, *scale), true))
        }
        _ => field.clone(),
    });
    Schema::new(std::iter::once(customer).chain(stored).collect::<Vec<_>>())
}

/// Returns how the columns of a file are encoded and compressed, except for the columns that a
/// [`TextColumn`](trueup_parquet::TextColumn) encodes.
///
/// Customer numbers, dates and times are stored as differences, because these are small. The texts that a `TextColumn`
/// leaves hardly recur, such as event ids, and are compressed strongly because they are large. Pages of different
/// columns have the same rows, because an ingest that touches few customers reads only the pages of their rows. Only
/// pages of these texts may end earlier, because they take the longest to decompress.
pub(super) fn properties(schema: &Schema, page_rows: usize) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(crate::CREATED_BY.to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // A page ends only after a batch.
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows.min(MAX_BATCH_ROWS))
        .set_max_row_group_row_count(None)
        .set_offset_index_disabled(true)
        .set_compression(Compression::LZ4_RAW);
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        properties = match field.name().as_str() {
            CUSTOMER_COLUMN | DATE | DATE_TIME => properties
                .set_column_compression(column.clone(), Compression::UNCOMPRESSED)
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
            TOTAL => properties.set_column_dictionary_enabled(column, true),
            _ if field.data_type() == &DataType::Utf8 => properties
                .set_column_compression(column.clone(), Compression::ZSTD(ZstdLevel::default()))
                .set_column_data_page_size_limit(column.clone(), TEXT_PAGE_BYTES)
                .set_column_dictionary_enabled(column, false),
            _ => properties,
        };
    }
    properties.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_groups_and_files_end_between_accounts_where_possible() {
        let layout = FileLayout { group_rows: 10, file_rows: 20, group_bytes: 100, open_bytes: 200 };
        let size = |rows, bytes| Size { rows, bytes };
        assert!(!layout.ends_group(size(0, 0), size(99, 999), true));
        assert!(!layout.ends_group(size(8, 8), size(2, 2), false));
        assert!(layout.ends_group(size(8, 8), size(3, 3), false));
        assert!(!layout.ends_group(size(4, 4), size(1, 1), true));
        assert!(layout.ends_group(size(5, 5), size(1, 1), true));
        assert!(!layout.ends_group(size(5, 5), size(1, 1), false));
        assert!(!layout.ends_group(size(1, 60), size(1, 40), false));
        assert!(layout.ends_group(size(1, 60), size(1, 41), false));

        assert!(!layout.is_too_large(199, MAX_CHUNKS - 1));
        assert!(layout.is_too_large(200, 0) && layout.is_too_large(0, MAX_CHUNKS));
        assert!(!layout.ends_file(0, true));
        assert!(!layout.ends_file(19, true));
        assert!(layout.ends_file(20, true));
        assert!(!layout.ends_file(79, false));
        assert!(layout.ends_file(80, false));
        assert!(!FileLayout { file_rows: 0, ..layout }.ends_file(0, true));
        let unlimited = FileLayout { file_rows: usize::MAX, ..layout };
        assert!(!unlimited.ends_file(MAX_FILE_ROWS - 1, true) && unlimited.ends_file(MAX_FILE_ROWS, false));
    }
}
