//! The answer as an Arrow record batch.

use super::{Column, ResultTable, Values};
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, Field, Schema};
use std::sync::Arc;

impl ResultTable {
    /// The answer as one record batch: days as `Date32`, dimensions as `Utf8` (never null), counts as `UInt64`, money as
    /// `Decimal128(38, 6)` in currency units, ratios as `Float64`.
    ///
    /// # Errors
    /// An amount of money has more than 38 digits.
    pub fn record_batch(&self) -> Result<RecordBatch, ArrowError> {
        let arrays: Vec<ArrayRef> = self.columns.iter().map(array).collect::<Result<_, _>>()?;
        let field = |(column, array): (&Column, &ArrayRef)| Field::new(&column.name, array.data_type().clone(), false);
        let fields: Vec<Field> = self.columns.iter().zip(&arrays).map(field).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }
}

fn array(column: &Column) -> Result<ArrayRef, ArrowError> {
    Ok(match &column.values {
        Values::Days(days) => Arc::new(Date32Array::from_iter_values(days.iter().map(|day| i32::from(day.number())))),
        Values::Texts(texts) => {
            Arc::new(StringArray::from_iter_values((0..texts.codes.len()).map(|row| texts.get(row))))
        }
        Values::Counts(counts) => Arc::new(UInt64Array::from(counts.clone())),
        Values::Money(amounts) => {
            let array = Decimal128Array::from(amounts.clone()).with_precision_and_scale(38, 6)?;
            array.validate_decimal_precision(38)?;
            Arc::new(array)
        }
        Values::Ratios(ratios) => Arc::new(Float64Array::from(ratios.clone())),
    })
}
