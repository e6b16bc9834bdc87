//! How the columns of an event file are encoded that are no recurring texts; those are encoded by [`chunk`](super::chunk).

use arrow_schema::{DataType, Schema};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use trueup_core::model::{CUSTOMER_COLUMN, DATE, DATE_TIME, TOTAL};

/// How files with these columns are written.
///
/// Sorted ordinals, dates and times are small differences; texts that hardly recur are compressed well, since they are large.
pub(super) fn properties(schema: &Schema) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(crate::CREATED_BY.to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // One page per column chunk, as far as its size allows: a scan reads chunks whole.
        .set_data_page_row_count_limit(usize::MAX)
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
                .set_column_dictionary_enabled(column, false),
            _ => properties,
        };
    }
    properties.build()
}
