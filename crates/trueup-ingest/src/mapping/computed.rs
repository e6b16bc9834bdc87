//! Columns of one's own that an input gets before anything else reads it, and the rows that its columns become.

use super::canonical::ColumnType;
use super::cells::{PickedRows, RowView, StringCells};
use super::column::{ColumnPlan, ColumnPlanner};
use super::columns::KnownColumns;
use super::declaration::ValueSource;
use super::faults::PickedFaults;
use super::inputs::{InputColumn, add_column};
use super::rows::RowPlan;
use super::times::ClockRule;
use super::unpivot::Unpivot;
use super::values::NamedMaps;
use crate::error::MappingFault;
use crate::source::Reshape;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The columns that are made of others, all of them text: in steps, each of which may use the columns of the ones
/// before.
pub(super) struct ComputedColumns(Vec<ComputedStep>);

struct ComputedStep {
    rows: RowPlan,
    /// The columns, each with its name.
    columns: Vec<(String, ColumnPlan)>,
}

impl ComputedColumns {
    /// Plans the columns of an input, and adds them to `columns`, the ones that the input has.
    ///
    /// # Errors
    /// The input already has a column of a new name, a source names a column that it does not have, or columns need
    /// each other.
    pub(super) fn new(
        declared: &BTreeMap<String, ValueSource>,
        columns: &mut Vec<InputColumn>,
        maps: &NamedMaps,
        key: &str,
    ) -> Result<Self, MappingFault> {
        let mut steps = Vec::new();
        let mut left: Vec<(&String, &ValueSource)> = declared.iter().collect();
        while !left.is_empty() {
            let has = |name: &str| columns.iter().any(|column| column.name == name);
            let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).filter(|name| !has(name)).collect();
            let needs_others = |(_, source): &(&String, &ValueSource)| {
                source.mentioned_columns().iter().any(|name| names.contains(name))
            };
            let (later, now): (Vec<_>, Vec<_>) = left.iter().copied().partition(needs_others);
            if now.is_empty() {
                let fault = MappingFault::new(format!("{key}.compute"), "each of these columns needs another of them");
                return Err(fault.with_value(names.join(", ")));
            }
            steps.push(ComputedStep::new(&now, columns, maps, key)?);
            left = later;
        }
        Ok(Self(steps))
    }

    /// Returns a batch with the columns.
    fn added_to(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        self.0.iter().try_fold(batch.clone(), |batch, step| step.added_to(&batch))
    }
}

impl ComputedStep {
    /// Plans columns of an input, and adds them to `columns`.
    fn new(
        declared: &[(&String, &ValueSource)],
        columns: &mut Vec<InputColumn>,
        maps: &NamedMaps,
        key: &str,
    ) -> Result<Self, MappingFault> {
        let mut rows = RowPlan::of_columns(columns.clone());
        let known = KnownColumns::of_columns(key, columns);
        let mut planner = ColumnPlanner { maps, clock: &ClockRule::Refuse, known: &known, rows: &mut rows };
        let mut made = Vec::with_capacity(declared.len());
        for (name, source) in declared {
            let key = format!("{key}.compute.{name}");
            add_column(columns, name, DataType::Utf8, &key)?;
            made.push(((*name).clone(), planner.plan(source, ColumnType::Text, &key)?));
        }
        Ok(Self { rows, columns: made })
    }

    /// Returns a batch with the columns.
    fn added_to(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let texts = self.rows.texts_of(batch)?;
        // No batch has more rows than a `u32` can count.
        let all = u32::try_from(batch.num_rows()).unwrap_or(u32::MAX);
        let picked = PickedRows { from: (0..all).collect(), joined: Vec::new() };
        let view = RowView { plan: &self.rows, batch, texts: &texts, picked: &picked };
        let schema = batch.schema();
        let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
        let mut columns = batch.columns().to_vec();
        for (name, plan) in &self.columns {
            // Their maps keep or empty what they do not have, so that no value is a fault.
            let column = plan.read(&view, &StringCells::Absent, &mut PickedFaults::default())?;
            fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
            columns.push(column);
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &rows)
    }
}

/// What becomes of the rows of a file before they are mapped: columns become rows, and then columns are computed.
pub(super) struct InputRows {
    pub(super) unpivot: Option<Unpivot>,
    pub(super) computed: Option<ComputedColumns>,
}

impl fmt::Debug for InputRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputRows").field("unpivot", &self.unpivot).finish_non_exhaustive()
    }
}

impl Reshape for InputRows {
    fn rows_per_row(&self) -> usize {
        self.unpivot.as_ref().map_or(1, Unpivot::rows_per_row)
    }

    fn reshape(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let batch = self.unpivot.as_ref().map_or_else(|| Ok(batch.clone()), |unpivot| unpivot.apply(batch))?;
        self.computed.as_ref().map_or_else(|| Ok(batch.clone()), |computed| computed.added_to(&batch))
    }
}
