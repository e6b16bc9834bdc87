//! A batch of stored events, column by column.

use super::columns::{ACCOUNT, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, TOTAL, TYPE, extra_columns};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, TimestampMicrosecondType};
use arrow_array::{Array, Date32Array, Decimal128Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_schema::ArrowError;

/// The typed columns of a stored batch.
pub(super) struct StoredEvents<'a> {
    pub(super) account: &'a StringArray,
    pub(super) opportunity_id: &'a StringArray,
    pub(super) stage: &'a StringArray,
    pub(super) date: &'a Date32Array,
    pub(super) date_time: &'a TimestampMicrosecondArray,
    pub(super) event_id: &'a StringArray,
    pub(super) total: &'a Decimal128Array,
    /// By column name.
    pub(super) extra: Vec<&'a StringArray>,
}

impl<'a> StoredEvents<'a> {
    pub(super) fn of(batch: &'a RecordBatch) -> Result<Self, ArrowError> {
        let column = |name: &str| batch.column_by_name(name).map(AsRef::as_ref).ok_or_else(|| wrong(name));
        let texts = |name: &str| typed(name, column(name)?, |column| column.as_string_opt());
        let mut names: Vec<&str> = extra_columns(batch.schema_ref()).collect();
        names.sort_unstable();
        Ok(Self {
            account: texts(ACCOUNT)?,
            opportunity_id: texts(OPPORTUNITY_ID)?,
            stage: texts(TYPE)?,
            date: typed(DATE, column(DATE)?, |column| column.as_primitive_opt::<Date32Type>())?,
            date_time: typed(DATE_TIME, column(DATE_TIME)?, |column| {
                column.as_primitive_opt::<TimestampMicrosecondType>()
            })?,
            event_id: texts(EVENT_ID)?,
            total: typed(TOTAL, column(TOTAL)?, |column| column.as_primitive_opt::<Decimal128Type>())?,
            extra: names.into_iter().map(texts).collect::<Result<_, _>>()?,
        })
    }
}

fn typed<'a, T>(
    name: &str,
    column: &'a dyn Array,
    read: impl FnOnce(&'a dyn Array) -> Option<&'a T>,
) -> Result<&'a T, ArrowError> {
    read(column).ok_or_else(|| wrong(name))
}

fn wrong(name: &str) -> ArrowError {
    ArrowError::SchemaError(format!("expected the column `{name}` of stored events, but found none of its type"))
}
