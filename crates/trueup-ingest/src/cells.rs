//! The cells of an input as text, for those who look for a fault.

use crate::place::shortened;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use std::sync::Arc;

/// The cells of a batch.
pub(crate) struct RowRenderer {
    names: Vec<String>,
    columns: Vec<ArrayRef>,
    longest: usize,
}

impl RowRenderer {
    /// Texts of more than `longest` bytes are cut.
    pub(crate) fn new(batch: &RecordBatch, longest: usize) -> Self {
        let names = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
        Self { names, columns: batch.columns().iter().map(in_utc).collect(), longest }
    }

    /// The cells of a row by column; null is `None`.
    pub(crate) fn of(&self, row: usize) -> Result<Vec<(String, Option<String>)>, ArrowError> {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new();
        let cell = |column: &ArrayRef| -> Result<Option<String>, ArrowError> {
            if column.is_null(row) {
                return Ok(None);
            }
            let text = ArrayFormatter::try_new(column, &OPTIONS)?.value(row).to_string();
            Ok(Some(if text.len() > self.longest { shortened(&text, self.longest).to_owned() } else { text }))
        };
        self.names.iter().zip(&self.columns).map(|(name, column)| Ok((name.clone(), cell(column)?))).collect()
    }
}

/// Timestamps in UTC under a name of the zone that can be shown without a table of zones.
fn in_utc(column: &ArrayRef) -> ArrayRef {
    fn renamed<T: ArrowTimestampType>(column: &ArrayRef) -> ArrayRef {
        Arc::new(column.as_primitive::<T>().clone().with_timezone("+00:00"))
    }
    match column.data_type() {
        DataType::Timestamp(unit, Some(_)) => match unit {
            TimeUnit::Second => renamed::<TimestampSecondType>(column),
            TimeUnit::Millisecond => renamed::<TimestampMillisecondType>(column),
            TimeUnit::Microsecond => renamed::<TimestampMicrosecondType>(column),
            TimeUnit::Nanosecond => renamed::<TimestampNanosecondType>(column),
        },
        _ => column.clone(),
    }
}
