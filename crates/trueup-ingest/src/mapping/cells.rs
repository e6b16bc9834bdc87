//! The cells of the rows that a table is made of: as texts, as arrays, and their locations.

use super::columns::ColumnRef;
use super::held::{BufferedRows, HeldRow};
use super::rows::RowPlan;
use crate::amounts::RowAmounts;
use crate::error::InputLocation;
use crate::value_marks::value_marks;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, RecordBatch, StringArray, UInt32Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use std::path::PathBuf;
use std::sync::Arc;
use trueup_core::dataset::ControlTotals;

/// What a text is that a column is read from: mostly what a cell is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellForm {
    /// A text, which may be written in any way.
    Text,
    /// A number, a date or a boolean, whose text is always written in the same way.
    Value,
    /// What a source under `otherwise` has made, whose rules are its own.
    Made {
        /// Whether it has the one spelling of its kind, if the source brings its values to one.
        is_normal: bool,
    },
}

/// The texts of a column of one batch.
#[derive(Clone, Debug)]
pub(super) enum StringCells {
    Plain(StringArray),
    /// Texts, and for each row whether its cell is a value in the file: a number, a date or a boolean.
    Marked(StringArray, BooleanArray),
    /// Codes, and the texts that they stand for.
    Coded(DictionaryArray<Int32Type>, StringArray),
    /// The batch does not have the column, so it has no texts.
    Absent,
}

impl StringCells {
    /// Returns the values of a column of a batch as texts, each with its form.
    pub(super) fn of_column(batch: &RecordBatch, name: &str) -> Result<Self, ArrowError> {
        let column = batch.column_by_name(name);
        let marks = batch.column_by_name(&value_marks(name)).and_then(|marks| marks.as_boolean_opt());
        Ok(match Self::of(column)? {
            Self::Plain(texts) => match (marks, column) {
                (Some(marks), _) => Self::Marked(texts, marks.clone()),
                (None, Some(column)) if !is_text(column.data_type()) => {
                    let marks = BooleanArray::from(vec![true; texts.len()]);
                    Self::Marked(texts, marks)
                }
                _ => Self::Plain(texts),
            },
            texts => texts,
        })
    }

    /// Returns the values of a column as texts: a float as its shortest decimal, a date as `YYYY-MM-DD`.
    pub(super) fn of(column: Option<&ArrayRef>) -> Result<Self, ArrowError> {
        let Some(column) = column else { return Ok(Self::Absent) };
        if let Some(texts) = column.as_string_opt::<i32>() {
            return Ok(Self::Plain(texts.clone()));
        }
        if let Some(coded) = column.as_dictionary_opt::<Int32Type>()
            && let Some(texts) = coded.values().as_string_opt::<i32>()
        {
            return Ok(Self::Coded(coded.clone(), texts.clone()));
        }
        // The sum with 0 is never -0.
        Ok(Self::Plain(match column.data_type() {
            DataType::Float32 => shortest(column.as_primitive::<Float32Type>().iter().map(|float| Some(float? + 0.0))),
            DataType::Float64 => shortest(column.as_primitive::<Float64Type>().iter().map(|float| Some(float? + 0.0))),
            DataType::Float16 => return Self::of(Some(&arrow_cast::cast(column, &DataType::Float32)?)),
            // Its text would have a time of day.
            DataType::Date64 => return Self::of(Some(&arrow_cast::cast(column, &DataType::Date32)?)),
            _ => arrow_cast::cast(column, &DataType::Utf8)?.as_string::<i32>().clone(),
        }))
    }

    /// Returns the text of a row; `None` if it is null or empty.
    pub(super) fn get(&self, row: usize) -> Option<&str> {
        let text = match self {
            Self::Plain(texts) | Self::Marked(texts, _) => texts.is_valid(row).then(|| texts.value(row))?,
            Self::Coded(codes, texts) => {
                let code = codes.key(row).filter(|code| texts.is_valid(*code))?;
                texts.value(code)
            }
            Self::Absent => return None,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns the text of a row without blanks at its ends; `None` if nothing is left.
    pub(super) fn trimmed(&self, row: usize) -> Option<&str> {
        self.get(row).map(str::trim).filter(|text| !text.is_empty())
    }

    pub(super) fn form(&self, row: usize) -> CellForm {
        match self {
            Self::Marked(_, marks) if marks.value(row) => CellForm::Value,
            _ => CellForm::Text,
        }
    }

    /// Returns the bytes of memory that the texts take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Plain(texts) => texts.get_array_memory_size(),
            Self::Marked(texts, marks) => texts.get_array_memory_size() + marks.get_array_memory_size(),
            Self::Coded(codes, _) => codes.get_array_memory_size(),
            Self::Absent => 0,
        }
    }

    fn array(&self, rows: usize) -> ArrayRef {
        match self {
            Self::Plain(texts) | Self::Marked(texts, _) => Arc::new(texts.clone()),
            Self::Coded(codes, _) => Arc::new(codes.clone()),
            Self::Absent => new_null_array(&DataType::Utf8, rows),
        }
    }
}

/// Returns whether values of a type are texts, or codes of texts.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => values.is_string(),
        plain => plain.is_string(),
    }
}

/// Returns floats as their shortest decimals.
fn shortest<F: std::fmt::Display>(floats: impl Iterator<Item = Option<F>>) -> StringArray {
    let mut texts = StringBuilder::new();
    for float in floats {
        texts.append_option(float.map(|float| float.to_string()));
    }
    texts.finish()
}

/// Rows that a table is made of: each is a row of the first input with a row of each joined input.
#[derive(Clone, Debug, Default)]
pub(super) struct PickedRows {
    /// The rows of the batch of the first input.
    pub(super) from: Vec<u32>,
    /// For each join, the row that was joined to each row; [`HeldRow::NONE`] if it matched none.
    pub(super) joined: Vec<Vec<HeldRow>>,
}

impl PickedRows {
    /// Begins without rows, of a table with this number of joins.
    pub(super) fn new(joins: usize) -> Self {
        Self { from: Vec::new(), joined: vec![Vec::new(); joins] }
    }

    /// Adds a row with the rows that are joined to it. It has no row of the joins beyond these.
    pub(super) fn push(&mut self, row: u32, joined: &[HeldRow]) {
        self.from.push(row);
        let joined = joined.iter().copied().chain(std::iter::repeat(HeldRow::NONE));
        self.joined.iter_mut().zip(joined).for_each(|(rows, row)| rows.push(row));
    }

    pub(super) fn len(&self) -> usize {
        self.from.len()
    }

    /// Keeps the first `rows` rows.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.from.truncate(rows);
        self.joined.iter_mut().for_each(|joined| joined.truncate(rows));
    }

    /// Adds other rows.
    pub(super) fn extend(&mut self, others: &Self) {
        self.from.extend(&others.from);
        self.joined.iter_mut().zip(&others.joined).for_each(|(rows, others)| rows.extend(others));
    }

    /// Keeps the rows for which `kept` is true, and returns the others.
    pub(super) fn split_off(&mut self, kept: &[bool]) -> Self {
        if !kept.contains(&false) {
            return Self::new(self.joined.len());
        }
        let mut others = self.clone();
        others.keep(&kept.iter().map(|kept| !kept).collect::<Vec<_>>());
        self.keep(kept);
        others
    }

    /// Keeps the rows for which `kept` is true.
    fn keep(&mut self, kept: &[bool]) {
        fn retain<T>(rows: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter();
            rows.retain(|_| kept.next() == Some(&true));
        }
        retain(&mut self.from, kept);
        self.joined.iter_mut().for_each(|rows| retain(rows, kept));
    }
}

/// Rows that are left out, and what leaves out each.
#[derive(Default)]
pub(super) struct UnpickedRows {
    pub(super) rows: PickedRows,
    causes: Vec<Arc<str>>,
}

impl UnpickedRows {
    /// Begins without rows, of a table with this number of joins.
    pub(super) fn new(joins: usize) -> Self {
        Self { rows: PickedRows::new(joins), causes: Vec::new() }
    }

    /// Adds a row with the rows that are joined to it so far.
    pub(super) fn push(&mut self, row: u32, joined: &[HeldRow], cause: &Arc<str>) {
        self.rows.push(row, joined);
        self.causes.push(cause.clone());
    }

    /// Takes the picked rows for which `kept` is false.
    pub(super) fn take(&mut self, picked: &mut PickedRows, kept: &[bool], cause: &str) {
        self.rows.extend(&picked.split_off(kept));
        self.causes.resize(self.rows.len(), cause.into());
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Keeps the first `rows` rows.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows);
        self.causes.truncate(rows);
    }

    /// Returns each row with what left it out, and its amounts.
    pub(super) fn with_amounts(&self, amounts: &RowAmounts) -> Vec<(usize, Arc<str>, ControlTotals)> {
        let rows = self.rows.from.iter().zip(&self.causes).enumerate();
        rows.map(|(at, (row, cause))| (*row as usize, cause.clone(), amounts.of(at))).collect()
    }
}

/// Picked rows of a batch of the first input.
#[derive(Clone, Copy)]
pub(super) struct RowView<'a> {
    pub(super) plan: &'a RowPlan,
    pub(super) batch: &'a RecordBatch,
    /// The texts of the batch's columns, by index in the input. Columns that no key reads as text have none.
    pub(super) texts: &'a [StringCells],
    pub(super) picked: &'a PickedRows,
}

impl<'a> RowView<'a> {
    pub(super) fn len(&self) -> usize {
        self.picked.len()
    }

    /// Returns a column's texts by picked row.
    pub(super) fn texts(&self, at: ColumnRef) -> PickedTexts<'a> {
        match at.input.checked_sub(1) {
            None => PickedTexts::From(&self.texts[at.column], &self.picked.from),
            Some(join) => PickedTexts::Held(self.plan.held_texts(at), &self.picked.joined[join]),
        }
    }

    /// Returns a column as an array of the picked rows: its texts if `as_text`, or else its values as they are.
    pub(super) fn array(&self, at: ColumnRef, as_text: bool) -> Result<ArrayRef, ArrowError> {
        let Some(join) = at.input.checked_sub(1) else {
            let rows = self.batch.num_rows();
            let whole = if as_text {
                self.texts[at.column].array(rows)
            } else {
                let column = self.batch.column_by_name(self.plan.name_in_file(at));
                column.cloned().unwrap_or_else(|| new_null_array(&DataType::Null, rows))
            };
            let is_whole = self.len() == rows && self.picked.from.iter().zip(0..).all(|(row, at)| *row == at);
            return if is_whole { Ok(whole) } else { take(&whole, &UInt32Array::from(self.picked.from.clone()), None) };
        };
        let batches = self.plan.held(join).batches.iter().enumerate().map(|(number, batch)| {
            let rows = batch.num_rows();
            if as_text {
                return self.plan.held_texts(at)[number].array(rows);
            }
            let column = batch.column_by_name(self.plan.name_in_file(at));
            column.cloned().unwrap_or_else(|| new_null_array(&DataType::Null, rows))
        });
        let mut arrays: Vec<ArrayRef> = batches.collect();
        // A row without a match takes a null. An input without rows has no batch that says its type.
        let planned = || if as_text { DataType::Utf8 } else { self.plan.data_type(at).clone() };
        let data_type = arrays.first().map_or_else(planned, |array| array.data_type().clone());
        arrays.push(new_null_array(&data_type, 1));
        let none = (arrays.len() - 1, 0);
        let place = |row: &HeldRow| if *row == HeldRow::NONE { none } else { (row.batch as usize, row.row as usize) };
        let places: Vec<(usize, usize)> = self.picked.joined[join].iter().map(place).collect();
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        interleave(&arrays, &places)
    }

    /// Returns the file and the location of the joined row that has a column's value; `None` if the column is of the
    /// first input, or if no row was joined.
    pub(super) fn joined_location(&self, at: ColumnRef, row: usize) -> Option<(PathBuf, InputLocation)> {
        let join = at.input.checked_sub(1)?;
        let held: &BufferedRows = self.plan.held(join);
        held.location(self.picked.joined[join][row])
    }
}

/// The texts of a column by picked row.
#[derive(Clone, Copy)]
pub(super) enum PickedTexts<'a> {
    /// The texts of a column of the first input, and the row of each picked row there.
    From(&'a StringCells, &'a [u32]),
    /// The texts of a column of a joined input by batch, and the row of each picked row there.
    Held(&'a [StringCells], &'a [HeldRow]),
}

impl<'a> PickedTexts<'a> {
    /// Returns the text of a picked row; `None` if it is null or empty.
    pub(super) fn get(&self, at: usize) -> Option<&'a str> {
        match self {
            Self::From(texts, rows) => texts.get(rows[at] as usize),
            Self::Held(texts, rows) => texts.get(rows[at].batch as usize)?.get(rows[at].row as usize),
        }
    }

    /// Returns the form of a picked row's cell.
    pub(super) fn form(&self, at: usize) -> CellForm {
        match self {
            Self::From(texts, rows) => texts.form(rows[at] as usize),
            Self::Held(texts, rows) => {
                let HeldRow { batch, row } = rows[at];
                texts.get(batch as usize).map_or(CellForm::Text, |texts| texts.form(row as usize))
            }
        }
    }
}
