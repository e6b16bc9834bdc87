//! Arrow columns of groups, for partial results in other processes.

use crate::dictionary::Measure;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, Field, Schema};
use std::sync::Arc;

/// The digits of a decimal.
const DIGITS: u8 = 38;

/// Columns that become a record batch.
#[derive(Debug, Default)]
pub(crate) struct ArrowColumns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl ArrowColumns {
    /// Appends a column without nulls.
    pub(crate) fn push(&mut self, name: String, array: impl Array + 'static) {
        self.fields.push(Field::new(name, array.data_type().clone(), false));
        self.arrays.push(Arc::new(array));
    }

    /// Appends a count of each group.
    pub(super) fn push_counts(&mut self, measure: Measure, counts: impl Iterator<Item = u64>) {
        self.push(count_name(measure), UInt64Array::from_iter_values(counts));
    }

    /// Appends a sum of each group, as decimals: money in currency units.
    ///
    /// # Errors
    /// A sum has more than 38 digits.
    pub(super) fn push_sums(&mut self, measure: Measure, sums: impl Iterator<Item = i128>) -> Result<(), ArrowError> {
        let fraction = if measure.is_money() { 6 } else { 0 };
        let sums = Decimal128Array::from_iter_values(sums).with_precision_and_scale(DIGITS, fraction)?;
        sums.validate_decimal_precision(DIGITS)?;
        self.push(sum_name(measure), sums);
        Ok(())
    }

    pub(crate) fn batch(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
    }
}

/// Returns the name of the column of a count.
pub(super) fn count_name(measure: Measure) -> String {
    format!("count.{}", measure.name())
}

/// Returns the name of the column of a sum.
pub(super) fn sum_name(measure: Measure) -> String {
    format!("sum.{}", measure.name())
}

/// Returns a column of a batch.
pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, ArrowError> {
    batch.column_by_name(name).ok_or_else(|| invalid(name))
}

/// Returns the values of a column without nulls.
pub(crate) fn values<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a [T::Native], ArrowError> {
    let array = column(batch, name)?.as_primitive_opt::<T>().filter(|array| array.null_count() == 0);
    array.map(|array| &**array.values()).ok_or_else(|| invalid(name))
}

/// Returns the error of columns that are not those of a partial result.
pub(crate) fn invalid(what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("not the columns of a partial result: {what}"))
}
