//! A table in memory as the source of its columns.

use super::source::{ColumnSource, Kind, MISSING, NO_TEXTS};
use super::values::{RowSpan, RowValues, Validity, ValueIndexes};
use super::{ColumnFault, StoredColumn};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};

impl ColumnSource for RecordBatch {
    fn has(&self, name: &str) -> bool {
        self.column_by_name(name).is_some()
    }

    fn numbers<T>(
        &self,
        name: &str,
        kind: Kind,
        convert: impl Fn(i64) -> Result<T, &'static str>,
    ) -> Result<StoredColumn<'_, T>, ColumnFault> {
        let column = column(self, name)?;
        let fault = |fault| ColumnFault::new(name, fault);
        kind.check(column.data_type()).map_err(fault)?;
        let numbers = match kind {
            Kind::Customer => numbers::<Int32Type, T>(column, convert),
            Kind::Day => numbers::<Date32Type, T>(column, convert),
            Kind::Time => numbers::<TimestampMicrosecondType, T>(column, convert),
            Kind::Count => numbers::<Int64Type, T>(column, convert),
            Kind::Amount => numbers::<Decimal128Type, T>(column, convert),
        };
        Ok(StoredColumn { values: numbers.map_err(fault)?, rows: rows(column) })
    }

    fn texts(&self, name: &str) -> Result<StoredColumn<'_, &str>, ColumnFault> {
        let column = column(self, name)?;
        let texts = column.as_string_opt::<i32>().ok_or_else(|| ColumnFault::new(name, NO_TEXTS))?;
        Ok(StoredColumn { values: texts.iter().flatten().collect(), rows: rows(column) })
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, ColumnFault> {
    batch.column_by_name(name).ok_or_else(|| ColumnFault::new(name, MISSING))
}

fn numbers<A: ArrowPrimitiveType, T>(
    column: &ArrayRef,
    convert: impl Fn(i64) -> Result<T, &'static str>,
) -> Result<Vec<T>, &'static str>
where
    i64: TryFrom<A::Native>,
{
    let numbers = column.as_primitive::<A>().iter().flatten();
    numbers.map(|number| i64::try_from(number).map_err(|_| OUT_OF_RANGE).and_then(&convert)).collect()
}

const OUT_OF_RANGE: &str = "an amount is out of range";

/// Each row that is not null has the next value.
fn rows<'a>(column: &ArrayRef) -> RowValues<'a> {
    let filled = match column.null_count() {
        0 => Validity::All(column.len()),
        _ => Validity::Some((0..column.len()).map(|row| column.is_valid(row)).collect()),
    };
    let mut rows = RowValues::default();
    rows.push(RowSpan { filled, places: ValueIndexes::InTurn(0) });
    rows
}
