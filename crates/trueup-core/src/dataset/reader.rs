//! The Parquet reader, on files that may be damaged.

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `read` reads from a file.
///
/// # Errors
/// The reader fails. On some pages whose bytes have changed it panics instead of failing; that is an error here, since what it was
/// reading is dropped with it.
pub fn reading<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| Err(damaged(panic.as_ref())))
}

/// Checks that every column chunk lies inside a file of `length` bytes; the reader takes that for granted.
///
/// # Errors
/// One does not; its row group and column are named.
pub fn check_ranges(metadata: &ParquetMetaData, length: u64) -> Result<()> {
    for (number, row_group) in metadata.row_groups().iter().enumerate() {
        for chunk in row_group.columns() {
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            let end = start.checked_add(chunk.compressed_size());
            let inside = end.and_then(|end| u64::try_from(end).ok()).is_some_and(|end| end <= length);
            if start < 0 || chunk.compressed_size() < 0 || !inside {
                let (bytes, column) = (chunk.compressed_size(), chunk.column_path().string());
                return Err(ParquetError::General(format!(
                    "row group {number}, column `{column}`: {bytes} bytes from {start} on do not lie in the file"
                )));
            }
        }
    }
    Ok(())
}

fn damaged(panic: &(dyn Any + Send)) -> ParquetError {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ParquetError::General(format!("damaged data: {}", message.unwrap_or("the reader could not go on")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, clippy::unwrap_used, reason = "tests")]

    use super::*;
    use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, RowGroupMetaData};
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;
    use std::sync::Arc;

    #[test]
    fn a_reader_that_panics_has_failed() {
        assert_eq!(reading(|| Ok(1)).ok(), Some(1));
        let failed = reading::<()>(|| panic!("offset {} out of bounds", 3)).unwrap_err();
        assert!(failed.to_string().ends_with("damaged data: offset 3 out of bounds"), "{failed}");
    }

    #[test]
    fn a_column_that_does_not_lie_in_the_file_is_named() {
        let schema = Arc::new(parse_message_type("message m { REQUIRED INT32 date; REQUIRED INT32 total; }").unwrap());
        let schema = Arc::new(SchemaDescriptor::new(schema));
        let checked = |data_page: i64, dictionary: Option<i64>, bytes: i64| {
            let chunk = |column: usize| ColumnChunkMetaData::builder(schema.column(column)).set_data_page_offset(4);
            let other = chunk(1).set_data_page_offset(data_page).set_dictionary_page_offset(dictionary);
            let columns = vec![chunk(0).build()?, other.set_total_compressed_size(bytes).build()?];
            let row_group = RowGroupMetaData::builder(schema.clone()).set_num_rows(1).set_column_metadata(columns);
            let file = FileMetaData::new(2, 1, None, None, schema.clone(), None);
            check_ranges(&ParquetMetaData::new(file, vec![row_group.build()?]), 100)
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
}
