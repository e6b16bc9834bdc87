//! The result table as an Arrow record batch.

use super::{Column, ResultTable, StringColumn, Values};
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use std::sync::Arc;

impl ResultTable {
    /// Converts the table to one record batch. Only columns of numbers that some rows do not have are nullable.
    ///
    /// | values | type |
    /// |---|---|
    /// | days | `Date32` |
    /// | dimensions | `Dictionary(Int32, Utf8)`, of the texts that occur |
    /// | counts | `UInt64` |
    /// | money | `Decimal128(38, 6)`, in currency units |
    /// | ratios | `Float64` |
    /// | whole numbers that may be negative, such as changes of counts | `Int64` |
    /// | numbers that some rows do not have | `Float64`, nullable |
    ///
    /// # Errors
    /// An amount of money has more than 38 digits; the distinct texts of a dimension are more than 2 GiB, or their
    /// number does not fit into an `Int32`; or the table was made of columns that differ in length.
    pub fn record_batch(&self) -> Result<RecordBatch, ArrowError> {
        let arrays: Vec<ArrayRef> = self.columns.iter().map(array).collect::<Result<_, _>>()?;
        let field = |(column, array): (&Column, &ArrayRef)| {
            let is_nullable = matches!(column.values, Values::Numbers(_));
            Field::new(&column.name, array.data_type().clone(), is_nullable)
        };
        let fields: Vec<Field> = self.columns.iter().zip(&arrays).map(field).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }
}

fn array(column: &Column) -> Result<ArrayRef, ArrowError> {
    Ok(match &column.values {
        Values::Days(days) => Arc::new(Date32Array::from_iter_values(days.iter().map(|day| i32::from(day.number())))),
        Values::Strings(texts) => Arc::new(dictionary(texts, MAX_TEXT_BYTES)?),
        Values::Counts(counts) => Arc::new(UInt64Array::from(counts.clone())),
        Values::Money(amounts) => {
            let array = Decimal128Array::from(amounts.clone()).with_precision_and_scale(38, 6)?;
            array.validate_decimal_precision(38)?;
            Arc::new(array)
        }
        Values::Ratios(ratios) => Arc::new(Float64Array::from_iter_values(ratios.iter())),
        Values::Integers(integers) => Arc::new(Int64Array::from(integers.clone())),
        Values::Numbers(numbers) => Arc::new(Float64Array::from(numbers.clone())),
    })
}

/// The largest number of bytes of all texts of an array. Its offsets have 32 bits, and building a larger array panics.
pub(crate) const MAX_TEXT_BYTES: usize = i32::MAX as usize;

/// Returns the texts that occur, in their order, and for each row the key of its text.
pub(super) fn dictionary(
    texts: &StringColumn,
    max_bytes: usize,
) -> Result<DictionaryArray<arrow_array::types::Int32Type>, ArrowError> {
    let mut occurs = vec![false; texts.dictionary.len()];
    texts.codes.iter().for_each(|code| occurs[*code as usize] = true);
    let mut keys = Vec::with_capacity(occurs.len());
    let mut values: Vec<&str> = Vec::new();
    let mut bytes = 0_usize;
    for (text, occurs) in texts.dictionary.iter().zip(occurs) {
        keys.push(i32::try_from(values.len()).map_err(|_| ArrowError::DictionaryKeyOverflowError)?);
        if occurs {
            bytes += text.len();
            values.push(text);
        }
    }
    if bytes > max_bytes {
        return Err(ArrowError::OffsetOverflowError(bytes));
    }
    let keys: Int32Array = texts.codes.iter().map(|code| keys[*code as usize]).collect();
    DictionaryArray::try_new(keys, Arc::new(StringArray::from_iter_values(values)))
}
