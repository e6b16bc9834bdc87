//! The source of rows: who reported them.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::sync::Arc;
use trueup_core::model::SOURCE;

/// Gives a source to the normalized rows that do not name theirs. Adds the column if the rows have none.
pub(crate) fn with_source(batch: RecordBatch, source: Option<&str>) -> Result<RecordBatch, ArrowError> {
    let Some(source) = source.filter(|source| !source.is_empty() && batch.num_rows() > 0) else { return Ok(batch) };
    let schema = batch.schema();
    let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    let field = Arc::new(Field::new(SOURCE, DataType::Utf8, true));
    match schema.index_of(SOURCE) {
        Ok(at) => {
            let texts = cast(&columns[at], &DataType::Utf8)?;
            if texts.null_count() == 0 {
                return Ok(batch);
            }
            let named = texts.as_string::<i32>().iter().map(|text| Some(text.unwrap_or(source)));
            columns[at] = Arc::new(named.collect::<StringArray>());
            fields[at] = field;
        }
        Err(_) => {
            columns.push(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(source, batch.num_rows()))));
            fields.push(field);
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
