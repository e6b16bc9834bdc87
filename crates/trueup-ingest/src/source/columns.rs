//! The columns of an input's rows: the columns of the file except for ignored ones, some of them as text, and the
//! columns that the names of its folders give.

use super::input::ReadOptions;
use crate::error::{FileFault, UnfitColumn};
use crate::table::Table;
use crate::value_marks::marked;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use percent_encoding::percent_decode_str;
use std::path::{Component, Path};
use std::sync::Arc;
use trueup_core::model::{is_dimension_type, is_leading_column};

/// A column whose value is the same in all rows of a file, because a folder's name has it: `account=acme`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderColumn {
    name: String,
    /// `None` and an empty text mean no value.
    value: Option<String>,
}

/// What Hive writes where a row has no value.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

impl FolderColumn {
    /// Returns the columns that the folders of a path give, in their order.
    pub(crate) fn all(path: &Path) -> Vec<Self> {
        let folders = path.parent().into_iter().flat_map(Path::components);
        let names = folders.filter_map(|folder| match folder {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let columns = names.filter_map(|name| name.split_once('=')).filter(|(name, _)| !name.is_empty());
        columns
            .map(|(name, value)| Self {
                name: unescaped(name),
                value: Some(unescaped(value)).filter(|value| value != NO_VALUE),
            })
            .collect()
    }

    /// Returns the folder's name, without its escapes.
    pub(crate) fn shown(&self) -> String {
        format!("{}={}", self.name, self.value.as_deref().unwrap_or(NO_VALUE))
    }

    fn field(&self) -> FieldRef {
        Arc::new(Field::new(self.name.clone(), coded_text(), true))
    }

    /// Returns the column for a number of rows.
    fn array(&self, rows: usize) -> Result<ArrayRef, ArrowError> {
        let key = self.value.as_ref().filter(|value| !value.is_empty()).map(|_| 0);
        let keys: Int32Array = std::iter::repeat_n(key, rows).collect();
        let values = StringArray::from_iter_values(self.value.iter());
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values))?))
    }
}

/// Returns the type of a column whose texts recur: an Arrow dictionary.
pub(crate) fn coded_text() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Returns columns of texts.
pub(super) fn text_schema(names: &[impl AsRef<str>]) -> SchemaRef {
    let fields: Vec<Field> = names.iter().map(|name| Field::new(name.as_ref(), DataType::Utf8, true)).collect();
    Arc::new(Schema::new(fields))
}

/// Replaces each `%XX`, as programs write characters that the name of a folder cannot have. Anything else stays, and so
/// does the whole text if the result is not UTF-8.
fn unescaped(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Into::into)
}

impl ReadOptions {
    /// Returns whether a column of the file is read. The marks of its values are read if it is.
    pub(super) fn reads(&self, name: &str) -> bool {
        let name = marked(name);
        !self.ignore.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns whether a column of the file is decoded: a mapping needs only the columns that it names.
    pub(super) fn decodes(&self, name: &str) -> bool {
        self.reads(name) && self.columns.as_ref().is_none_or(|columns| columns.contains(name))
    }

    /// Returns the columns that folders give, except for folders whose names match a pattern to ignore, such as
    /// `day=*`.
    pub(super) fn folder_columns(&self) -> impl Iterator<Item = &FolderColumn> {
        self.folders.iter().filter(|column| self.reads(&column.shown()))
    }

    /// Returns whether a folder gives a column of this name.
    pub(super) fn is_of_folder(&self, name: &str) -> bool {
        self.folder_columns().any(|column| column.name == name)
    }

    /// Returns the columns of the rows, from those of the file.
    pub(super) fn columns(&self, file: &Schema) -> Result<SchemaRef, FileFault> {
        let read: Vec<&FieldRef> = file.fields().iter().filter(|field| self.reads(field.name())).collect();
        if let Some(both) = self.folder_columns().find(|column| read.iter().any(|field| *field.name() == column.name)) {
            return Err(FileFault::ColumnOfFolder { column: both.name.clone(), folder: both.shown() });
        }
        let fields = read.into_iter().map(|field| if becomes_text(field) { as_text(field) } else { field.clone() });
        Ok(Arc::new(Schema::new(fields.chain(self.folder_columns().map(FolderColumn::field)).collect::<Vec<_>>())))
    }

    /// Returns rows with the columns that `columns` returns, from rows with the columns of the file. Columns that are
    /// not read may be missing.
    pub(super) fn with_columns(&self, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
        let schema = batch.schema();
        let changes = |field: &FieldRef| !self.reads(field.name()) || becomes_text(field);
        if self.folders.is_empty() && !schema.fields().iter().any(changes) {
            return Ok(batch);
        }
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (field, column) in schema.fields().iter().zip(batch.columns()).filter(|(field, _)| self.reads(field.name()))
        {
            let is_text = becomes_text(field);
            fields.push(if is_text { as_text(field) } else { field.clone() });
            columns.push(if is_text { texts(column)? } else { column.clone() });
        }
        for column in self.folder_columns() {
            fields.push(column.field());
            columns.push(column.array(batch.num_rows())?);
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &rows)
    }
}

/// The key and the value with which Arrow marks columns of UUIDs.
pub(super) const UUID_MARK: (&str, &str) = ("ARROW:extension:name", "arrow.uuid");

/// Returns whether a column holds UUIDs or times of day.
fn becomes_text(field: &Field) -> bool {
    let is_uuid = || field.metadata().get(UUID_MARK.0).is_some_and(|name| name == UUID_MARK.1);
    match field.data_type() {
        DataType::Time32(_) | DataType::Time64(_) => true,
        DataType::FixedSizeBinary(16) => is_uuid(),
        _ => false,
    }
}

fn as_text(field: &Field) -> FieldRef {
    Arc::new(Field::new(field.name(), DataType::Utf8, true))
}

/// Returns UUIDs or times of day as text.
fn texts(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let Some(uuids) = column.as_fixed_size_binary_opt() else { return arrow_cast::cast(column, &DataType::Utf8) };
    let text = |uuid: &[u8]| {
        let hex = format!("{:032x}", u128::from_be_bytes(*uuid.first_chunk()?));
        Some([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    };
    Ok(Arc::new(uuids.iter().map(|uuid| uuid.and_then(text)).collect::<StringArray>()))
}

/// Checks that the columns of canonical rows can be read: every further column of events becomes a dimension, and no
/// table has nested columns.
pub(crate) fn check_fit(schema: &Schema, table: Table) -> Result<(), FileFault> {
    let is_unfit = |field: &&FieldRef| {
        let is_extra = table == Table::Events && !is_leading_column(field.name());
        field.data_type().is_nested() || is_extra && !is_dimension_type(field.data_type())
    };
    let unfit = schema.fields().iter().filter(is_unfit);
    let unfit: Vec<UnfitColumn> = unfit
        .map(|field| UnfitColumn { name: field.name().clone(), data_type: field.data_type().to_string() })
        .collect();
    if unfit.is_empty() { Ok(()) } else { Err(FileFault::UnfitColumns(unfit)) }
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn an_escape_in_the_name_of_a_folder_is_two_hexadecimal_digits() {
        for (name, text) in
            [("a%2Fb", "a/b"), ("%C3%a9", "é"), ("50%", "50%"), ("%+5", "%+5"), ("%-1%20", "%-1 "), ("%FF", "%FF")]
        {
            assert_eq!(unescaped(name), text);
        }
    }
}
