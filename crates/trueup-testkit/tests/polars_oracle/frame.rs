//! Arrow record batches as data frames.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use polars::prelude::*;

/// The rows of all batches, which have the same columns. Money is `Decimal(38, 6)`, an instant has no time zone and is
/// in UTC.
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
        other => panic!("no column of {other}"),
    };
    Ok(series.into())
}
