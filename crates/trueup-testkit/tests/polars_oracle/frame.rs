//! Data frames from Arrow record batches, and rows as exact texts: money in millionths, doubles with all their digits.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use polars::prelude::*;
use trueup_core::{ResultTable, Value};

/// Returns the rows of batches with the same columns. Money is `Decimal(38, 6)`. A point in time is in UTC, without a
/// time zone.
pub(crate) fn frame(batches: &[RecordBatch]) -> PolarsResult<DataFrame> {
    let frames = batches.iter().map(|batch| {
        let fields = batch.schema();
        let columns = fields.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, array)| column(field.name(), array)).collect::<PolarsResult<_>>()?;
        DataFrame::new(batch.num_rows(), columns)
    });
    let mut whole = DataFrame::empty();
    for frame in frames {
        let frame = frame?;
        whole = if whole.width() == 0 { frame } else { whole.vstack(&frame)? };
    }
    Ok(whole)
}

fn column(name: &str, array: &ArrayRef) -> PolarsResult<Column> {
    let name = PlSmallStr::from_str(name);
    let series = match array.data_type() {
        arrow_schema::DataType::Utf8 => Series::new(name, array.as_string::<i32>().iter().collect::<Vec<_>>()),
        arrow_schema::DataType::Boolean => Series::new(name, array.as_boolean().iter().collect::<Vec<_>>()),
        arrow_schema::DataType::Int64 => {
            Series::new(name, array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>())
        }
        arrow_schema::DataType::UInt64 => {
            Series::new(name, array.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>()).cast(&DataType::Int64)?
        }
        arrow_schema::DataType::Float64 => {
            Series::new(name, array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())
        }
        arrow_schema::DataType::Date32 => {
            Series::new(name, array.as_primitive::<Date32Type>().iter().collect::<Vec<_>>()).cast(&DataType::Date)?
        }
        arrow_schema::DataType::Timestamp(..) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().iter().collect::<Vec<_>>();
            Series::new(name, micros).cast(&DataType::Datetime(TimeUnit::Microseconds, None))?
        }
        arrow_schema::DataType::Decimal128(_, 6) => {
            let micros: Int128Chunked = array.as_primitive::<Decimal128Type>().iter().collect();
            micros.with_name(name).into_decimal(38, 6)?.into_series()
        }
        other => panic!("unexpected column type {other}"),
    };
    Ok(series.into())
}

/// Returns the rows of a result table as texts: the month of the start, or nothing, and the other values without the
/// end.
pub(crate) fn table_rows(table: &ResultTable) -> Vec<String> {
    let is_shown = |(name, _): &(&str, Value<'_>)| *name != "end";
    let has_start = table.column("start").is_some();
    let row = |values: Vec<String>| if has_start { values.join(" | ") } else { format!(" | {}", values.join(" | ")) };
    table
        .rows()
        .map(|of| row(of.values().filter(is_shown).map(|(name, value)| value_text(name, value)).collect()))
        .collect()
}

fn value_text(name: &str, value: Value<'_>) -> String {
    match value {
        // The text of a sub-range is its month.
        Value::Day(day) => day.month(),
        Value::Text(text) => text.to_owned(),
        Value::Count(count) => format!("{name} {count}"),
        Value::Money(micros) => format!("{name} {micros}"),
        Value::Ratio(ratio) => format!("{name} {ratio:?}"),
        other => format!("{name} {other:?}"),
    }
}

/// Returns the rows of a data frame as texts.
pub(crate) fn frame_rows(frame: &DataFrame) -> Vec<String> {
    let columns = frame.columns();
    let row = |row: usize| columns.iter().map(|column| cell_text(column, row)).collect::<Vec<_>>().join(" | ");
    (0..frame.height()).map(row).collect()
}

fn cell_text(column: &Column, row: usize) -> String {
    let name = column.name();
    match column.get(row).unwrap() {
        AnyValue::String(text) => text.to_owned(),
        AnyValue::StringOwned(text) => text.to_string(),
        AnyValue::Int64(count) => format!("{name} {count}"),
        AnyValue::Decimal(micros, _, 6) => format!("{name} {micros}"),
        AnyValue::Float64(ratio) => format!("{name} {:?}", ratio + 0.0),
        other => panic!("{name}: {other:?}"),
    }
}
