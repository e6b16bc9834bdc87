//! Batches of stored events: their columns, their concatenation, and the removal of replaced events.

use super::columns::{
    ACCOUNT, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, TOTAL, TYPE, extra_columns, stored_event_schema,
};
use super::event_keys::latest;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_schema::{ArrowError, Field};
use arrow_select::concat::concat;
use arrow_select::filter::filter_record_batch;

/// Concatenates batches of stored events, in the order given. The result has the columns of all batches; a column that
/// a batch lacks is null in its rows.
///
/// # Errors
/// Returns an error if a batch is not in stored form, or if the result is too large for one batch (2 GiB in one column
/// of text).
pub fn concat_events(batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let schema = stored_event_schema(batches.iter().flat_map(|batch| extra_columns(batch.schema_ref())));
    let concatenated = |field: &Field| -> Result<ArrayRef, ArrowError> {
        let parts: Vec<ArrayRef> = batches
            .iter()
            .map(|batch| match batch.column_by_name(field.name()) {
                Some(column) => column.clone(),
                None => new_null_array(field.data_type(), batch.num_rows()),
            })
            .collect();
        match parts.as_slice() {
            [] => Ok(new_null_array(field.data_type(), 0)),
            [part] => Ok(part.clone()),
            parts => concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>()),
        }
    };
    let columns = schema.fields().iter().map(|field| concatenated(field)).collect::<Result<_, _>>()?;
    RecordBatch::try_new(schema, columns)
}

/// Removes replaced events: of the rows with one account and `eventId`, only the last stays. All rows without an
/// `eventId` stay. Keeps the order.
///
/// # Errors
/// Returns an error if the batch is not in stored form, or if it has too many rows.
pub fn keep_latest(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let events = StoredEvents::of(batch)?;
    match latest(&texts(events.account), &texts(events.event_id))? {
        Some(kept) => filter_record_batch(batch, &BooleanArray::from(kept)),
        None => Ok(batch.clone()),
    }
}

/// The columns of a batch of stored events, by type.
pub(super) struct StoredEvents<'a> {
    pub(super) account: &'a StringArray,
    pub(super) opportunity_id: &'a StringArray,
    pub(super) stage: &'a StringArray,
    pub(super) date: &'a Date32Array,
    pub(super) date_time: &'a TimestampMicrosecondArray,
    pub(super) event_id: &'a StringArray,
    pub(super) total: &'a Decimal128Array,
    /// The other columns, by name.
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

/// Returns the column, or an error if `read` does not find the type that it expects.
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

/// Returns the texts of a column. Null is the empty text, which orders before all others.
pub(super) fn texts(column: &StringArray) -> Vec<&str> {
    column.iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests;
