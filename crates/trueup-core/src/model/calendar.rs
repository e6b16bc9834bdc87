//! Columns of dates and of points in time.

use super::fault::{Reason, RowFaults};
use super::instant::{micros_of_text, to_micros};
use super::render::PlainColumn;
use crate::Day;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};

const SECONDS_PER_DAY: i64 = 86_400;

/// The days of a column; null and the empty text are none. Rows that are refused are none too, and in `faults`.
pub(super) fn read_days(cells: &PlainColumn<'_>, faults: &mut RowFaults) -> Result<Vec<Option<Day>>, ArrowError> {
    let per_day = |per_second: i64| move |value: i64| whole_day(value, SECONDS_PER_DAY * per_second);
    Ok(match cells.values.data_type() {
        DataType::Utf8 => texts(cells, faults, |text| text.parse().map_err(|_| Reason::Date)),
        DataType::Date32 => numbers::<Date32Type, _>(cells, faults, |days| day(days.into())),
        DataType::Date64 => numbers::<Date64Type, _>(cells, faults, per_day(1_000)),
        DataType::Timestamp(TimeUnit::Second, _) => numbers::<TimestampSecondType, _>(cells, faults, per_day(1)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            numbers::<TimestampMillisecondType, _>(cells, faults, per_day(1_000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            numbers::<TimestampMicrosecondType, _>(cells, faults, per_day(1_000_000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            numbers::<TimestampNanosecondType, _>(cells, faults, per_day(1_000_000_000))
        }
        other => return Err(ArrowError::SchemaError(format!("dates cannot be read from {other}"))),
    })
}

/// The points in time of a column, in microseconds since 1970-01-01 UTC; a timestamp without a zone is in UTC. Null and the empty
/// text are none. Rows that are refused are none too, and in `faults`.
pub(super) fn read_instants(cells: &PlainColumn<'_>, faults: &mut RowFaults) -> Result<Vec<Option<i64>>, ArrowError> {
    let micros = |unit| move |value: i64| to_micros(value, unit).ok_or(Reason::DateTimeRange);
    Ok(match cells.values.data_type() {
        DataType::Utf8 => texts(cells, faults, micros_of_text),
        DataType::Timestamp(unit @ TimeUnit::Second, _) => {
            numbers::<TimestampSecondType, _>(cells, faults, micros(*unit))
        }
        DataType::Timestamp(unit @ TimeUnit::Millisecond, _) => {
            numbers::<TimestampMillisecondType, _>(cells, faults, micros(*unit))
        }
        DataType::Timestamp(unit @ TimeUnit::Microsecond, _) => {
            numbers::<TimestampMicrosecondType, _>(cells, faults, micros(*unit))
        }
        DataType::Timestamp(unit @ TimeUnit::Nanosecond, _) => {
            numbers::<TimestampNanosecondType, _>(cells, faults, micros(*unit))
        }
        other => return Err(ArrowError::SchemaError(format!("points in time cannot be read from {other}"))),
    })
}

fn day(days: i64) -> Result<Day, Reason> {
    u16::try_from(days).map(Day::from_number).map_err(|_| Reason::Date)
}

fn whole_day(value: i64, per_day: i64) -> Result<Day, Reason> {
    if value % per_day == 0 { day(value / per_day) } else { Err(Reason::TimeOfDay) }
}

fn texts<R>(
    cells: &PlainColumn<'_>,
    faults: &mut RowFaults,
    read: impl Fn(&str) -> Result<R, Reason>,
) -> Vec<Option<R>> {
    let keep = |(row, text): (usize, Option<&str>)| {
        let text = text.filter(|text| !text.is_empty())?;
        read(text).map_err(|reason| faults.add(row, cells.column, text, reason)).ok()
    };
    cells.values.as_string::<i32>().iter().enumerate().map(keep).collect()
}

fn numbers<T: ArrowPrimitiveType, R>(
    cells: &PlainColumn<'_>,
    faults: &mut RowFaults,
    read: impl Fn(T::Native) -> Result<R, Reason>,
) -> Vec<Option<R>> {
    let keep = |(row, value): (usize, Option<T::Native>)| {
        read(value?).map_err(|reason| faults.add(row, cells.column, &cells.text(row), reason)).ok()
    };
    cells.values.as_primitive::<T>().iter().enumerate().map(keep).collect()
}

#[cfg(test)]
mod tests;
