//! How the columns of an event file are encoded.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use hashbrown::HashSet;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use trueup_core::dataset::manifest::CUSTOMER_COLUMN;
use trueup_core::model::{DATE, DATE_TIME, TOTAL};

/// A text column with more distinct values than this share of its rows gains nothing from a dictionary.
const MOSTLY_DISTINCT: f64 = 0.5;
/// One with more than this share is large enough to be worth compressing well.
const MANY_DISTINCT: f64 = 0.05;

/// How a file is written whose first row group is `sample`.
///
/// Sorted ordinals, dates and times are small differences; texts are dictionaries with runs, compressed well only where the dictionary
/// itself is large, since decompression is most of what a scan of small columns would do.
pub(super) fn properties(schema: &Schema, sample: &RecordBatch) -> WriterProperties {
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
            CUSTOMER_COLUMN | DATE | DATE_TIME => deltas(properties, column),
            TOTAL => properties.set_column_dictionary_enabled(column, true),
            name if field.data_type() == &DataType::Utf8 => text(properties, column, share_of_distinct(sample, name)),
            _ => properties,
        };
    }
    properties.build()
}

fn deltas(properties: WriterPropertiesBuilder, column: ColumnPath) -> WriterPropertiesBuilder {
    properties
        .set_column_compression(column.clone(), Compression::UNCOMPRESSED)
        .set_column_dictionary_enabled(column.clone(), false)
        .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
}

fn text(properties: WriterPropertiesBuilder, column: ColumnPath, distinct: f64) -> WriterPropertiesBuilder {
    let properties = properties.set_column_dictionary_enabled(column.clone(), distinct <= MOSTLY_DISTINCT);
    if distinct <= MANY_DISTINCT {
        return properties;
    }
    let level = ZstdLevel::try_new(1).unwrap_or_default();
    properties.set_column_compression(column, Compression::ZSTD(level))
}

/// Distinct texts per row; nulls are not counted.
fn share_of_distinct(sample: &RecordBatch, name: &str) -> f64 {
    let Some(column) = sample.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()) else { return 0.0 };
    let filled = column.len() - column.null_count();
    if filled == 0 {
        return 0.0;
    }
    let distinct: HashSet<&str> = column.iter().flatten().collect();
    #[expect(clippy::cast_precision_loss, reason = "a share need not be exact")]
    let share = distinct.len() as f64 / filled as f64;
    share
}
