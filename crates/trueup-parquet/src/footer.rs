//! The footer of a Parquet file, which may be damaged: checked before Parquet's reader allocates memory by its counts.
//! [`read_all_rows`] reads the rows of a file of any schema without this check.

use crate::file_slice::FileSlice;
use crate::thrift::{FieldValue, Thrift, write_structure_count};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    FooterTail, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};
use parquet::file::reader::{ChunkReader, Length};
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most row groups that Parquet can number.
const MAX_ROW_GROUPS: usize = 1 << 15;

/// The deepest nesting of columns that is accepted, because Parquet's reader recurses on the stack.
const MAX_DEPTH: usize = 32;

/// A footer that was decoded.
#[derive(Debug)]
pub struct DecodedFooter {
    /// With the row groups that were asked for, in their order.
    pub metadata: ParquetMetaData,
    /// The types of the columns.
    pub schema: Schema,
    /// The number of all row groups.
    pub row_groups: usize,
}

/// Decodes a footer and the types of the columns, all of which must be flat: with all row groups, or only with some,
/// whose numbers ascend. Of the statistics, which are most of a footer, only those of the columns `with_statistics` are
/// decoded.
///
/// # Errors
/// The footer is damaged, or a column is not flat.
pub fn decode_footer(
    file: &FileSlice,
    row_groups: Option<&[usize]>,
    with_statistics: &[&str],
) -> Result<DecodedFooter> {
    let tail = file.len().saturating_sub(8);
    let length = FooterTail::try_from(&*file.get_bytes(tail, 8)?)?.metadata_length();
    let mut footer = file.get_bytes(tail.saturating_sub(length as u64), length)?;
    let places = RowGroupPlaces::find(&footer)?;
    if let Some(wanted) = row_groups {
        footer = places.with_only(wanted, &footer).into();
    }
    let columns = ParquetMetaDataReader::decode_schema(&footer)?;
    let with_statistics: Vec<usize> =
        (0..columns.num_columns()).filter(|leaf| with_statistics.contains(&columns.column(*leaf).name())).collect();
    let options = ParquetMetaDataOptions::new()
        .with_schema(columns.clone())
        .with_column_stats_policy(ParquetStatisticsPolicy::skip_except(&with_statistics))
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let metadata = ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options))?;
    let schema = parquet_to_arrow_schema(&columns, metadata.file_metadata().key_value_metadata())?;
    if schema.fields().len() != columns.num_columns() {
        return Err(general("a column is not flat".to_owned()));
    }
    check_chunk_ranges(&metadata, file.len())?;
    check_row_counts(&metadata)?;
    Ok(DecodedFooter { metadata, schema, row_groups: places.row_groups.len() })
}

/// Checks that the number of rows of each row group is not negative.
fn check_row_counts(metadata: &ParquetMetaData) -> Result<()> {
    match metadata.row_groups().iter().map(|row_group| row_group.num_rows()).find(|rows| *rows < 0) {
        Some(rows) => Err(general(format!("a row group has {rows} rows"))),
        None => Ok(()),
    }
}

/// Checks that the counts of a footer fit its bytes, and that its columns are not nested too deeply.
///
/// # Errors
/// A count is too large, or the nesting too deep.
pub fn check_footer(footer: &[u8]) -> Result<()> {
    RowGroupPlaces::find(footer).map(drop)
}

/// Where the row groups are in a footer.
#[derive(Default)]
struct RowGroupPlaces {
    /// The list of row groups, from its length on.
    list: Range<usize>,
    row_groups: Vec<Range<usize>>,
}

impl RowGroupPlaces {
    /// Finds the row groups of a footer, and [checks](check_footer) the footer.
    fn find(footer: &[u8]) -> Result<Self> {
        let mut found = Self::default();
        let at = |thrift: &Thrift<'_>| footer.len() - thrift.left();
        // In the format's `FileMetaData`, field 2 is the schema and field 4 the row groups.
        let read = Thrift::new(footer).fields(|thrift, id, value| match (id, &value) {
            (2, FieldValue::List) => check_nesting(thrift),
            (4, FieldValue::List) => {
                let start = at(thrift);
                let count = thrift.structure_count().filter(|count| *count <= MAX_ROW_GROUPS)?;
                let row_group = |_| {
                    let start = at(thrift);
                    thrift.skip_value(&FieldValue::Struct)?;
                    Some(start..at(thrift))
                };
                let row_groups = (0..count).map(row_group).collect::<Option<_>>()?;
                found = Self { list: start..at(thrift), row_groups };
                Some(())
            }
            _ => thrift.skip_value(&value),
        });
        read.map(|()| found).ok_or_else(|| {
            general(format!(
                "the footer is damaged: it counts more than its bytes hold, or more than {MAX_ROW_GROUPS} row groups, or its columns are \
                 nested more than {MAX_DEPTH} deep"
            ))
        })
    }

    /// Returns the footer with only some row groups.
    fn with_only(&self, numbers: &[usize], footer: &[u8]) -> Vec<u8> {
        let wanted: Vec<Range<usize>> =
            numbers.iter().filter_map(|number| self.row_groups.get(*number)).cloned().collect();
        let mut reduced = footer[..self.list.start].to_vec();
        write_structure_count(wanted.len(), &mut reduced);
        wanted.into_iter().for_each(|row_group| reduced.extend_from_slice(&footer[row_group]));
        reduced.extend_from_slice(&footer[self.list.end..]);
        reduced
    }
}

/// Reads the schema, a list of columns in which each comes before its children. Returns `None` if it is damaged or
/// nested too deeply.
fn check_nesting(thrift: &mut Thrift<'_>) -> Option<()> {
    /// The field of a column that holds the number of its children.
    const CHILDREN: i64 = 5;

    // For each ancestor of the next column, how many children are still to come.
    let mut open: Vec<i64> = Vec::new();
    for _ in 0..thrift.structure_count()? {
        let mut children = 0;
        thrift.fields(|thrift, id, value| {
            if let (CHILDREN, FieldValue::Number(number)) = (id, &value) {
                children = *number;
            }
            thrift.skip_value(&value)
        })?;
        while open.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        (open.len() <= MAX_DEPTH).then_some(())?;
    }
    Some(())
}

/// Checks that each column chunk lies inside a file of `length` bytes, because Parquet's reader does not.
///
/// # Errors
/// A chunk lies outside. The error names its row group and column.
pub fn check_chunk_ranges(metadata: &ParquetMetaData, length: u64) -> Result<()> {
    for (number, row_group) in metadata.row_groups().iter().enumerate() {
        for chunk in row_group.columns() {
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            let end = start.checked_add(chunk.compressed_size());
            let inside = end.and_then(|end| u64::try_from(end).ok()).is_some_and(|end| end <= length);
            if start < 0 || chunk.compressed_size() < 0 || !inside {
                let (bytes, column) = (chunk.compressed_size(), chunk.column_path().string());
                return Err(general(format!(
                    "row group {number}, column `{column}`: {bytes} bytes from {start} on do not lie in the file"
                )));
            }
        }
    }
    Ok(())
}

/// Runs `read`, and turns a panic into an error, because Parquet's reader panics on some damaged pages. What `read`
/// holds is dropped.
///
/// # Errors
/// The reader fails or panics.
pub fn catch_panics<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| Err(panic_error(panic.as_ref())))
}

/// Returns the error that a panic becomes, with the panic's message.
fn panic_error(panic: &(dyn Any + Send)) -> ParquetError {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    general(format!("damaged data: {}", message.unwrap_or("the reader could not go on")))
}

fn general(message: String) -> ParquetError {
    ParquetError::General(message)
}

/// Reads all rows of a Parquet file, whatever its schema. The counts of its footer are trusted, so that its bytes must
/// have been compared with a checksum.
///
/// # Errors
/// The file does not decode.
pub fn read_all_rows(bytes: Bytes) -> Result<Vec<RecordBatch>> {
    let length = bytes.len() as u64;
    catch_panics(|| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes)?;
        check_chunk_ranges(builder.metadata(), length)?;
        Ok(builder.build()?.collect::<Result<_, _>>()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Date32Array;
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, RowGroupMetaData};
    use parquet::file::properties::WriterProperties;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;
    use std::sync::Arc;

    #[test]
    fn a_panic_of_the_reader_is_an_error() {
        assert_eq!(catch_panics(|| Ok(1)).ok(), Some(1));
        let failed = catch_panics::<()>(|| panic!("offset {} out of bounds", 3)).unwrap_err();
        assert!(failed.to_string().ends_with("damaged data: offset 3 out of bounds"), "{failed}");
    }

    #[test]
    fn a_column_chunk_outside_the_file_is_named() {
        let schema = Arc::new(parse_message_type("message m { REQUIRED INT32 date; REQUIRED INT32 total; }").unwrap());
        let schema = Arc::new(SchemaDescriptor::new(schema));
        let checked = |data_page: i64, dictionary: Option<i64>, bytes: i64| {
            let chunk = |column: usize| ColumnChunkMetaData::builder(schema.column(column)).set_data_page_offset(4);
            let other = chunk(1).set_data_page_offset(data_page).set_dictionary_page_offset(dictionary);
            let columns = vec![chunk(0).build()?, other.set_total_compressed_size(bytes).build()?];
            let row_group = RowGroupMetaData::builder(schema.clone()).set_num_rows(1).set_column_metadata(columns);
            let file = FileMetaData::new(2, 1, None, None, schema.clone(), None);
            check_chunk_ranges(&ParquetMetaData::new(file, vec![row_group.build()?]), 100)
        };
        assert!(checked(4, None, 96).is_ok());
        for (data_page, dictionary, bytes) in [
            (-1, None, 5),
            (4, Some(-1), 5),
            (4, None, -1),
            (4, None, 97),
            (i64::MIN, None, 5),
            (i64::MAX, None, i64::MAX),
        ] {
            let refused = checked(data_page, dictionary, bytes).unwrap_err().to_string();
            assert!(refused.contains("row group 0, column `total`: "), "{refused}");
        }
    }

    #[test]
    fn some_row_groups_are_decoded_as_they_are_among_all() {
        let days = Date32Array::from_iter_values(0..40);
        let batch = RecordBatch::try_from_iter([("date", Arc::new(days) as _)]).unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(2)).build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let file = FileSlice::new(bytes.len() as u64, 0, bytes.into());
        let all = decode_footer(&file, None, &["date"]).unwrap();
        assert_eq!((all.row_groups, all.metadata.num_row_groups()), (20, 20));
        // The length of a list of 15 structures or more takes further bytes.
        for wanted in [vec![], vec![0], vec![3, 19], (1..16).collect(), (0..20).collect::<Vec<usize>>()] {
            let some = decode_footer(&file, Some(&wanted), &["date"]).unwrap();
            let expected: Vec<_> = wanted.iter().map(|number| all.metadata.row_group(*number)).collect();
            assert_eq!(some.metadata.row_groups().iter().collect::<Vec<_>>(), expected);
            assert_eq!((some.row_groups, some.schema), (20, all.schema.clone()));
        }
    }

    #[test]
    fn a_footer_that_counts_more_than_its_bytes_hold_is_an_error() {
        // The schema (field 2) has one column. Row groups (field 4) follow, more than any file has bytes for.
        let footer = |row_groups: &[u8]| [&[0x15, 2, 0x19, 0x1c, 0, 0x29][..], row_groups].concat();
        assert!(check_footer(&footer(&[0x1c, 0, 0])).is_ok());
        assert!(check_footer(&footer(&[0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0])).is_err());
        let many = [&[0xfc, 0x81, 0x80, 0x02][..], &[0; 40_000]].concat();
        assert!(check_footer(&footer(&many)).is_err());
        assert!(check_footer(&[]).is_err());
        // A map (field 1) of 2^64 - 1 pairs of booleans.
        assert!(check_footer(&[&[0x1b][..], &[0xff; 9], &[0x01, 0x11, 0]].concat()).is_err());
        // Each column is nested in the one before it.
        let column = [0x55, 2, 0];
        let deep = |columns: usize| {
            let count = u8::try_from(columns).unwrap();
            [&[0x15, 2, 0x19, 0xfc, count][..], &column.repeat(columns), &[0]].concat()
        };
        assert!(check_footer(&deep(30)).is_ok());
        assert!(check_footer(&deep(40)).is_err());
    }
}
