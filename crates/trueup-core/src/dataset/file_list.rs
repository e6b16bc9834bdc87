//! Lists of files: the entries of the files of events and spend, in Parquet files that manifests name.
//!
//! A list never changes, and later versions name it for as long as they have enough of its files. It holds for each
//! file what a query needs before it reads the file, so that opening a dataset reads no file of events or spend.

use super::block_checksums::BlockSums;
use super::checked_file::{CheckedFile, StartedReads};
use super::error::DatasetError;
use super::manifest::{DataFile, FileList, Manifest, RowGroupEntry};
use crate::scan::ColumnFault;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, GenericListArray, ListArray, RecordBatch, StringArray, StructArray,
    UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::ops::Range;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use trueup_parquet::read_all_rows;

/// Returns the bytes of the list of some files, in their order.
///
/// # Errors
/// The entries cannot be encoded.
pub fn encode_list(files: &[DataFile]) -> ParquetResult<Vec<u8>> {
    let texts = |text: fn(&DataFile) -> &str| Arc::new(files.iter().map(text).map(Some).collect::<StringArray>());
    let numbers = |number: fn(&DataFile) -> u64| Arc::new(UInt64Array::from_iter_values(files.iter().map(number)));
    let names = files.iter().flat_map(|file| &*file.columns).map(Some).collect::<StringArray>();
    let columns = list(column_name(), files.iter().map(|file| file.columns.len()), Arc::new(names))?;
    let row_groups = list(row_group(), files.iter().map(|file| file.row_groups.len()), row_group_values(files)?)?;
    let arrays: Vec<ArrayRef> = vec![
        texts(|file| &file.path),
        numbers(|file| file.size),
        numbers(|file| file.rows),
        texts(|file| &file.blake3),
        Arc::new(files.iter().map(|file| Some(file.blocks.as_bytes())).collect::<BinaryArray>()),
        columns,
        row_groups,
    ];
    let batch = RecordBatch::try_new(Arc::new(schema()), arrays)?;
    let path = |names: &[&str]| ColumnPath::new(names.iter().map(|name| (*name).to_owned()).collect());
    // Of the texts, only these recur.
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled(path(&["columns", "list", "element"]), true)
        .set_column_dictionary_enabled(path(&["rowGroups", "list", "element", "firstAccount"]), true)
        .set_column_dictionary_enabled(path(&["rowGroups", "list", "element", "lastAccount"]), true)
        .set_statistics_enabled(EnabledStatistics::None);
    let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options)?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// Returns the columns of a list.
fn schema() -> Schema {
    let text = |name| Field::new(name, DataType::Utf8, false);
    let number = |name| Field::new(name, DataType::UInt64, false);
    let list = |name, element| Field::new_list(name, element, false);
    Schema::new(vec![
        text("path"),
        number("size"),
        number("rows"),
        text("blake3"),
        Field::new("blocks", DataType::Binary, false),
        list("columns", column_name()),
        list("rowGroups", row_group()),
    ])
}

fn column_name() -> FieldRef {
    Arc::new(Field::new("element", DataType::Utf8, false))
}

fn row_group() -> FieldRef {
    Arc::new(Field::new("element", DataType::Struct(row_group_fields()), false))
}

fn row_group_fields() -> Fields {
    Fields::from(vec![
        Field::new("rows", DataType::UInt64, false),
        Field::new("firstAccount", DataType::Utf8, true),
        Field::new("lastAccount", DataType::Utf8, true),
        Field::new("firstDay", DataType::Date32, true),
        Field::new("lastDay", DataType::Date32, true),
    ])
}

/// Returns the row groups of all files, one after another.
fn row_group_values(files: &[DataFile]) -> ParquetResult<ArrayRef> {
    let entries = || files.iter().flat_map(|file| &*file.row_groups);
    let account = |end: fn(&(Arc<str>, Arc<str>)) -> &str| {
        Arc::new(entries().map(|entry| entry.accounts.as_ref().map(end)).collect::<StringArray>())
    };
    let day =
        |end: fn((i32, i32)) -> i32| Arc::new(entries().map(|entry| entry.days.map(end)).collect::<Date32Array>());
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(entries().map(|entry| entry.rows))),
        account(|accounts| &accounts.0),
        account(|accounts| &accounts.1),
        day(|days| days.0),
        day(|days| days.1),
    ];
    Ok(Arc::new(StructArray::try_new(row_group_fields(), arrays, None)?))
}

pub(super) fn list(
    element: FieldRef,
    lengths: impl Iterator<Item = usize>,
    values: ArrayRef,
) -> ParquetResult<ArrayRef> {
    Ok(Arc::new(ListArray::try_new(element, OffsetBuffer::from_lengths(lengths), values, None)?))
}

/// Reads the lists that a manifest names, and puts their entries into the manifest. A store is asked for all lists at
/// the same time.
pub(super) fn read_lists(folder: &Path, manifest: &mut Manifest) -> Result<(), DatasetError> {
    let start = |list: &FileList| -> Result<(CheckedFile, StartedReads), DatasetError> {
        let file = CheckedFile::open(folder, &list.file)?;
        let ahead = file.read_ahead(slice::from_ref(&(0..list.file.size)));
        Ok((file, ahead))
    };
    let lists = manifest.lists.events.iter().chain(&manifest.lists.spend);
    let mut started = lists.map(start).collect::<Result<Vec<_>, _>>()?.into_iter();
    for (lists, files) in [(&manifest.lists.events, &mut manifest.events), (&manifest.lists.spend, &mut manifest.spend)]
    {
        for (list, (file, ahead)) in lists.iter().zip(&mut started) {
            files.extend(list.without_removed(read(&file, &list.file, ahead)?));
        }
    }
    Ok(())
}

/// Reads a list of files.
///
/// # Errors
/// The list is missing, unreadable or damaged.
pub fn read_list(folder: &Path, list: &DataFile) -> Result<Vec<DataFile>, DatasetError> {
    read(&CheckedFile::open(folder, list)?, list, StartedReads::default())
}

fn read(file: &CheckedFile, list: &DataFile, ahead: StartedReads) -> Result<Vec<DataFile>, DatasetError> {
    let whole = 0..list.size;
    let mut listed = Vec::new();
    for bytes in file.read_ranges(slice::from_ref(&whole), ahead) {
        listed.extend(decode_list(file.path(), bytes?.within(&whole))?);
    }
    let (found, promised) = (listed.len() as u64, list.rows);
    if found != promised {
        return Err(DatasetError::Length { path: file.path().to_owned(), unit: "rows", found, promised });
    }
    Ok(listed)
}

/// Decodes a list.
fn decode_list(path: &Path, bytes: bytes::Bytes) -> Result<Vec<DataFile>, DatasetError> {
    let mut files = Vec::new();
    for batch in read_all_rows(bytes).map_err(DatasetError::parquet(path, None))? {
        let decoded = decode_batch(&batch).map_err(|ColumnFault { column, fault }| DatasetError::Damaged {
            path: path.to_owned(),
            row_group: None,
            column,
            fault,
        })?;
        files.extend(decoded);
    }
    Ok(files)
}

fn decode_batch(batch: &RecordBatch) -> Result<Vec<DataFile>, ColumnFault> {
    let column = |name| batch.column_by_name(name);
    let (paths, sums) = (texts("path", column("path"))?, texts("blake3", column("blake3"))?);
    let blocks = column("blocks").and_then(|array| array.as_binary_opt::<i32>());
    let blocks = blocks.filter(|blocks| blocks.null_count() == 0);
    let blocks = blocks.ok_or_else(|| ColumnFault::new("blocks", "the type is wrong"))?;
    let (sizes, rows) = (numbers("size", column("size"))?, numbers("rows", column("rows"))?);
    let (columns, row_groups) = (lists("columns", column("columns"))?, lists("rowGroups", column("rowGroups"))?);
    let names = texts("columns", Some(columns.values()))?;
    let entries = decode_row_groups(row_groups)?;
    let mut last_columns: Arc<[String]> = Arc::default();
    let files = (0..batch.num_rows()).map(|row| {
        let blocks = BlockSums::from_bytes(blocks.value(row));
        let text = |texts: &StringArray| texts.value(row).to_owned();
        let of_file = || range(columns, row).map(|at| names.value(at));
        if !of_file().eq(last_columns.iter()) {
            last_columns = of_file().map(str::to_owned).collect();
        }
        Ok(DataFile {
            path: text(paths),
            size: sizes.value(row),
            rows: rows.value(row),
            blake3: text(sums),
            blocks: blocks.ok_or_else(|| ColumnFault::new("blocks", "a checksum is cut"))?,
            columns: last_columns.clone(),
            row_groups: entries[range(row_groups, row)].into(),
        })
    });
    files.collect()
}

/// Decodes the row groups of all files of a batch.
fn decode_row_groups(lists: &ListArray) -> Result<Vec<RowGroupEntry>, ColumnFault> {
    const NAME: &str = "rowGroups";
    let fields = lists.values().as_struct_opt().ok_or_else(|| ColumnFault::new(NAME, "the type is wrong"))?;
    let column = |name| fields.column_by_name(name);
    let rows = numbers(NAME, column("rows"))?;
    let account = |name| column(name).and_then(|array| array.as_string_opt::<i32>());
    let day = |name| column(name).and_then(|array| array.as_primitive_opt::<Date32Type>());
    let ends = account("firstAccount").zip(account("lastAccount")).zip(day("firstDay").zip(day("lastDay")));
    let ((first_account, last_account), (first_day, last_day)) =
        ends.ok_or_else(|| ColumnFault::new(NAME, "the type is wrong"))?;
    // Row groups are sorted by account, so that most bounds are those of the row group before.
    let mut last: [Option<Arc<str>>; 2] = [None, None];
    let mut account = |texts: &StringArray, at| {
        let text = texts.is_valid(at).then(|| texts.value(at))?;
        let same = last.iter().flatten().find(|last| ***last == *text).cloned();
        let account = same.unwrap_or_else(|| text.into());
        last = [Some(account.clone()), last[0].take()];
        Some(account)
    };
    let number = |days: &Date32Array, at| days.is_valid(at).then(|| days.value(at));
    let entry = |at| RowGroupEntry {
        rows: rows.value(at),
        accounts: account(first_account, at).zip(account(last_account, at)),
        days: number(first_day, at).zip(number(last_day, at)),
    };
    Ok((0..fields.len()).map(entry).collect())
}

/// Returns a column of texts, none of which is null.
pub(super) fn texts<'a>(name: &str, column: Option<&'a ArrayRef>) -> Result<&'a StringArray, ColumnFault> {
    present(name, column)?.as_string_opt::<i32>().ok_or_else(|| ColumnFault::new(name, "the type is wrong"))
}

/// Returns a column of numbers, none of which is null.
pub(super) fn numbers<'a>(name: &str, column: Option<&'a ArrayRef>) -> Result<&'a UInt64Array, ColumnFault> {
    let column = present(name, column)?;
    column.as_primitive_opt::<UInt64Type>().ok_or_else(|| ColumnFault::new(name, "the type is wrong"))
}

/// Returns a column of lists, none of which is null.
pub(super) fn lists<'a>(name: &str, column: Option<&'a ArrayRef>) -> Result<&'a ListArray, ColumnFault> {
    present(name, column)?.as_list_opt::<i32>().ok_or_else(|| ColumnFault::new(name, "the type is wrong"))
}

/// Returns a column that has a value in every row.
fn present<'a>(name: &str, column: Option<&'a ArrayRef>) -> Result<&'a ArrayRef, ColumnFault> {
    match column {
        None => Err(ColumnFault::new(name, "the column is missing")),
        Some(column) if column.null_count() > 0 => Err(ColumnFault::new(name, "a value is missing")),
        Some(column) => Ok(column),
    }
}

/// Returns the range of the values of a list.
pub(super) fn range(lists: &GenericListArray<i32>, row: usize) -> Range<usize> {
    let start = usize::try_from(lists.value_offsets()[row]).unwrap_or(0);
    start..start + usize::try_from(lists.value_length(row)).unwrap_or(0)
}
