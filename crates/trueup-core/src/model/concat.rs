//! Batches of stored events as one.

use super::columns::{extra_columns, stored_event_schema};
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;

/// Stored events of several batches as one, in the order given. It has every column that one of them has; where a batch lacks a
/// column, its rows are null there.
///
/// # Errors
/// A batch is not in stored form, or the whole is too large for one batch (2 GiB in one column of text).
pub fn concat_events(batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let schema = stored_event_schema(batches.iter().flat_map(|batch| extra_columns(batch.schema_ref())));
    let unified = |field: &arrow_schema::Field| -> Result<ArrayRef, ArrowError> {
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
    let columns = schema.fields().iter().map(|field| unified(field)).collect::<Result<_, _>>()?;
    RecordBatch::try_new(schema, columns)
}

#[cfg(test)]
mod tests;
