//! Timestamps of Parquet files as days and as points in time.

use super::values::clock_time_to_instant;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, Date32Array, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use chrono::DateTime;
use chrono_tz::Tz;
use std::sync::Arc;

pub(super) const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Returns the days of timestamps.
pub(super) fn days_of_timestamps(timestamps: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let day = |micros: Option<i64>| i32::try_from(micros?.div_euclid(MICROS_PER_DAY)).ok();
    Ok(Arc::new(micros(timestamps)?.into_iter().map(day).collect::<Date32Array>()))
}

/// Returns timestamps with a time zone as points in time.
pub(super) fn instants_of_timestamps(timestamps: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(TimestampMicrosecondArray::from(micros(timestamps)?).with_timezone("UTC")))
}

/// Returns clock times of a zone as points in time. A clock time that does not exist is null; `refuse` receives its
/// row, its text and the reason.
pub(super) fn clock_times(
    timestamps: &ArrayRef,
    zone: Tz,
    mut refuse: impl FnMut(usize, String, String),
) -> Result<ArrayRef, ArrowError> {
    let instants = micros(timestamps)?.into_iter().enumerate().map(|(row, micros)| {
        let local = DateTime::from_timestamp_micros(micros?)?.naive_utc();
        clock_time_to_instant(local, zone).map_err(|reason| refuse(row, local.to_string(), reason)).ok()
    });
    Ok(Arc::new(instants.collect::<TimestampMicrosecondArray>().with_timezone("UTC")))
}

/// Returns timestamps in microseconds; one that is beyond their range is `None`.
fn micros(timestamps: &ArrayRef) -> Result<Vec<Option<i64>>, ArrowError> {
    let times = |factor: i64| move |value: Option<i64>| value?.checked_mul(factor);
    Ok(match timestamps.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            timestamps.as_primitive::<TimestampSecondType>().iter().map(times(1_000_000)).collect()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            timestamps.as_primitive::<TimestampMillisecondType>().iter().map(times(1_000)).collect()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            timestamps.as_primitive::<TimestampMicrosecondType>().iter().collect()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = timestamps.as_primitive::<TimestampNanosecondType>().iter();
            nanos.map(|nanos| Some(nanos?.div_euclid(1_000))).collect()
        }
        other => return Err(ArrowError::SchemaError(format!("expected timestamps, but found {other}"))),
    })
}
