//! Columns that become rows: one row for each of them, with its name and its value.

use super::declaration::{UnpivotColumns, UnpivotDeclaration};
use super::inputs::{InputColumn, add_column};
use super::values::regex;
use crate::error::MappingFault;
use crate::value_marks::{marked, value_marks};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, RecordBatch, RecordBatchOptions, StringArray,
    UInt32Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use std::sync::Arc;

/// Makes a row of each of some columns.
#[derive(Debug)]
pub(super) struct Unpivot {
    /// The columns: the name of each in the file, and the name that its rows have.
    columns: Vec<(String, String)>,
    /// The type of their values.
    data_type: DataType,
    /// The new column with the names, and the one with the values.
    name: String,
    value: String,
}

impl Unpivot {
    /// Plans the rows of an input, and returns them with the columns that the input then has.
    ///
    /// # Errors
    /// A column does not exist, none is named, they have different types, or the input already has a column of a new
    /// name.
    pub(super) fn new(
        declared: &UnpivotDeclaration,
        columns: Vec<InputColumn>,
        key: &str,
    ) -> Result<(Self, Vec<InputColumn>), MappingFault> {
        let key = format!("{key}.unpivot");
        let names = || columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
        let chosen: Vec<usize> = match &declared.columns {
            UnpivotColumns::Names(wanted) => {
                let find = |name: &String| {
                    let fault = || {
                        let reason = format!("the input has no column of this name; its columns are: {}", names());
                        MappingFault::new(format!("{key}.columns"), reason).with_value(name)
                    };
                    columns.iter().position(|column| column.name == *name).ok_or_else(fault)
                };
                wanted.iter().map(find).collect::<Result<_, _>>()?
            }
            UnpivotColumns::Pattern { regex: text } => {
                let pattern = regex(text, &format!("{key}.columns.regex"))?;
                (0..columns.len()).filter(|at| pattern.is_match(&columns[*at].name)).collect()
            }
        };
        let Some(first) = chosen.first() else {
            let reason = format!("no column of the input is named so; its columns are: {}", names());
            return Err(MappingFault::new(format!("{key}.columns"), reason));
        };
        let data_type = columns[*first].data_type.clone();
        if let Some(other) = chosen.iter().map(|at| &columns[*at]).find(|column| column.data_type != data_type) {
            let reason = format!("this column is of type {}, and not {data_type} as the first one", other.data_type);
            return Err(MappingFault::new(format!("{key}.columns"), reason).with_value(&other.name));
        }
        let named = |at: &usize| (columns[*at].in_file.clone(), columns[*at].name.clone());
        let unpivot = Self {
            columns: chosen.iter().map(named).collect(),
            data_type: data_type.clone(),
            name: declared.name.clone(),
            value: declared.value.clone(),
        };
        let others = columns.iter().enumerate().filter(|(at, _)| !chosen.contains(at));
        let mut all: Vec<InputColumn> = others.map(|(_, column)| column.clone()).collect();
        for (part, name, data_type) in [("name", &declared.name, DataType::Utf8), ("value", &declared.value, data_type)]
        {
            add_column(&mut all, name, data_type, &format!("{key}.{part}"))?;
        }
        Ok((unpivot, all))
    }

    /// Returns the columns of the file that become rows.
    pub(super) fn sources(&self) -> impl Iterator<Item = &String> {
        self.columns.iter().map(|(in_file, _)| in_file)
    }

    /// Returns one array of the listed columns, row by row. `each` returns the array of a column.
    fn interleaved(
        &self,
        rows: usize,
        each: impl Fn(&str) -> Result<ArrayRef, ArrowError>,
    ) -> Result<ArrayRef, ArrowError> {
        let arrays: Vec<ArrayRef> = self.sources().map(|name| each(name)).collect::<Result<_, _>>()?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        let places: Vec<(usize, usize)> =
            (0..rows).flat_map(|row| (0..arrays.len()).map(move |column| (column, row))).collect();
        interleave(&arrays, &places)
    }

    /// Returns how many rows each row becomes.
    pub(super) const fn rows_per_row(&self) -> usize {
        self.columns.len()
    }

    /// Returns the rows that the rows of a batch become, in its order.
    pub(super) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let (rows, width) = (batch.num_rows(), self.columns.len());
        let is_source = |field: &FieldRef| self.sources().any(|name| name == marked(field.name()));
        let repeated =
            (0..rows).filter_map(|row| u32::try_from(row).ok()).flat_map(|row| std::iter::repeat_n(row, width));
        let repeated = UInt32Array::from_iter_values(repeated);
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        let schema = batch.schema();
        for (field, column) in schema.fields().iter().zip(batch.columns()).filter(|(field, _)| !is_source(field)) {
            fields.push(field.clone());
            columns.push(take(column, &repeated, None)?);
        }
        let mut add = |name: &str, column: ArrayRef| {
            fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
            columns.push(column);
        };
        let codes = (0..rows).flat_map(|_| (0..width).filter_map(|column| i32::try_from(column).ok()));
        let names = StringArray::from_iter_values(self.columns.iter().map(|(_, name)| name));
        let codes = Int32Array::from_iter_values(codes);
        add(&self.name, Arc::new(DictionaryArray::<Int32Type>::try_new(codes, Arc::new(names))?));
        let values = self.interleaved(rows, |name| match batch.column_by_name(name) {
            // Dictionaries of several columns have different codes.
            Some(column) => arrow_cast::cast(column, &self.data_type),
            None => Ok(new_null_array(&self.data_type, rows)),
        })?;
        add(&self.value, values);
        if self.sources().any(|name| batch.column_by_name(&value_marks(name)).is_some()) {
            let marks = self.interleaved(rows, |name| {
                let marks = batch.column_by_name(&value_marks(name)).filter(|marks| marks.as_boolean_opt().is_some());
                Ok(marks.cloned().unwrap_or_else(|| Arc::new(BooleanArray::from(vec![false; rows]))))
            })?;
            add(&value_marks(&self.value), marks);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows * width));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }
}
