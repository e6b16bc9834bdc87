//! Columns of dates and of points in time, and the date of an event from both.

use super::account::Accounts;
use super::columns::{DATE, DATE_TIME};
use super::fault::{CellFaults, Reason};
use super::instant::{format_date_time, local_date, micros_of_text, to_micros};
use super::plain_column::PlainColumn;
use crate::Day;
use arrow_array::cast::AsArray;
use arrow_array::iterator::ArrayIter;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayAccessor, Date32Array, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use chrono::NaiveDate;
use chrono_tz::Tz;
use hashbrown::HashMap;

const SECONDS_PER_DAY: i64 = 86_400;
const MICROS_PER_DAY: i64 = SECONDS_PER_DAY * 1_000_000;

/// Reads days. Null and the empty text are `None`. A rejected row is `None` and is added to `faults`.
pub(super) fn read_days(column: &PlainColumn<'_>, faults: &mut CellFaults) -> Result<Vec<Option<Day>>, ArrowError> {
    let per_day = |per_second: i64| move |value: i64| day_at_midnight(value, SECONDS_PER_DAY * per_second);
    Ok(match column.values.data_type() {
        DataType::Utf8 => read_texts(column, faults, |text| text.parse().map_err(|_| Reason::Date)),
        DataType::Date32 => read_numbers::<Date32Type, _>(column, faults, |days| day_of_number(days.into())),
        DataType::Date64 => read_numbers::<Date64Type, _>(column, faults, per_day(1_000)),
        DataType::Timestamp(TimeUnit::Second, _) => read_numbers::<TimestampSecondType, _>(column, faults, per_day(1)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            read_numbers::<TimestampMillisecondType, _>(column, faults, per_day(1_000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            read_numbers::<TimestampMicrosecondType, _>(column, faults, per_day(1_000_000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            read_numbers::<TimestampNanosecondType, _>(column, faults, per_day(1_000_000_000))
        }
        other => return Err(ArrowError::SchemaError(format!("dates cannot be read from {other}"))),
    })
}

/// Reads points in time, in microseconds since 1970-01-01 UTC. A timestamp without a time zone is in UTC. Null and the
/// empty text are `None`. A rejected row is `None` and is added to `faults`.
pub(super) fn read_instants(column: &PlainColumn<'_>, faults: &mut CellFaults) -> Result<Vec<Option<i64>>, ArrowError> {
    let micros = |unit| move |value: i64| to_micros(value, unit).ok_or(Reason::DateTimeRange);
    Ok(match column.values.data_type() {
        DataType::Utf8 => read_texts(column, faults, micros_of_text),
        DataType::Timestamp(unit @ TimeUnit::Second, _) => {
            read_numbers::<TimestampSecondType, _>(column, faults, micros(*unit))
        }
        DataType::Timestamp(unit @ TimeUnit::Millisecond, _) => {
            read_numbers::<TimestampMillisecondType, _>(column, faults, micros(*unit))
        }
        DataType::Timestamp(unit @ TimeUnit::Microsecond, _) => {
            read_numbers::<TimestampMicrosecondType, _>(column, faults, micros(*unit))
        }
        DataType::Timestamp(unit @ TimeUnit::Nanosecond, _) => {
            read_numbers::<TimestampNanosecondType, _>(column, faults, micros(*unit))
        }
        other => return Err(ArrowError::SchemaError(format!("points in time cannot be read from {other}"))),
    })
}

fn day_of_number(days: i64) -> Result<Day, Reason> {
    u16::try_from(days).map(Day::from_number).map_err(|_| Reason::Date)
}

/// Returns the day of a timestamp, which must be at midnight. `per_day` is the length of a day in the unit of the
/// timestamp.
fn day_at_midnight(value: i64, per_day: i64) -> Result<Day, Reason> {
    if value % per_day == 0 { day_of_number(value / per_day) } else { Err(Reason::TimeOfDay) }
}

fn read_texts<R>(
    column: &PlainColumn<'_>,
    faults: &mut CellFaults,
    read: impl Fn(&str) -> Result<R, Reason>,
) -> Vec<Option<R>> {
    let keep = |(row, text): (usize, Option<&str>)| {
        let text = text.filter(|text| !text.is_empty())?;
        read(text).map_err(|reason| faults.add(row, column.name, text, reason)).ok()
    };
    column.values.as_string::<i32>().iter().enumerate().map(keep).collect()
}

fn read_numbers<T: ArrowPrimitiveType, R>(
    column: &PlainColumn<'_>,
    faults: &mut CellFaults,
    read: impl Fn(T::Native) -> Result<R, Reason>,
) -> Vec<Option<R>> {
    let keep = |(row, value): (usize, Option<T::Native>)| {
        read(value?).map_err(|reason| faults.add(row, column.name, &column.text(row), reason)).ok()
    };
    column.values.as_primitive::<T>().iter().enumerate().map(keep).collect()
}

/// The time zones of the accounts that are not in UTC.
#[derive(Clone, Debug)]
pub(super) struct AccountTimeZones(HashMap<String, Tz>);

impl AccountTimeZones {
    pub(super) fn of(accounts: &Accounts) -> Self {
        let away = accounts.iter().filter(|account| account.time_zone != Tz::UTC);
        Self(away.map(|account| (account.key.clone(), account.time_zone)).collect())
    }

    fn of_account(&self, key: &str) -> Tz {
        if self.0.is_empty() { Tz::UTC } else { self.0.get(key).copied().unwrap_or(Tz::UTC) }
    }
}

/// The columns `date` and `dateTime` of a batch of events, as far as it has them.
pub(super) struct GivenDates {
    /// The days.
    pub(super) days: Option<Vec<Option<Day>>>,
    /// The points in time, in microseconds since 1970-01-01 UTC.
    pub(super) instants: Option<Vec<Option<i64>>>,
}

impl GivenDates {
    /// Returns the date of every row: the given one, or that of the point in time in the account's time zone. A row
    /// with a fault is null.
    pub(super) fn resolve<'a>(
        &self,
        accounts: impl ArrayAccessor<Item = &'a str>,
        zones: &AccountTimeZones,
        faults: &mut CellFaults,
    ) -> Date32Array {
        let mut last = ("", zones.of_account(""));
        let resolve = |(row, account): (usize, Option<&'a str>)| {
            // A rejected date reads as `None`. The row has its fault already and must not get a second one.
            let account = account.filter(|_| !faults.has(row))?;
            let day = self.days.as_ref().and_then(|days| days[row]);
            let instant = self.instants.as_ref().and_then(|instants| instants[row]);
            // Neighboring rows are mostly of one account, and their keys are then often the same text of a dictionary.
            if !std::ptr::eq(account, last.0) && account != last.0 {
                last = (account, zones.of_account(account));
            }
            match event_day(day, instant, last.1) {
                Ok(day) => Some(i32::from(day.number())),
                Err(reason) => {
                    let (column, value) = match reason {
                        Reason::Apart { .. } => (DATE, day.map(|day| day.to_string())),
                        Reason::DateTimeRange => (DATE_TIME, instant.map(instant_text)),
                        _ => (DATE, None),
                    };
                    faults.add(row, column, &value.unwrap_or_default(), reason);
                    None
                }
            }
        };
        ArrayIter::new(accounts).enumerate().map(resolve).collect()
    }

    /// Returns the stored column `dateTime`, with `rows` rows.
    pub(super) fn into_date_times(self, rows: usize) -> TimestampMicrosecondArray {
        self.instants.map_or_else(|| TimestampMicrosecondArray::new_null(rows), Into::into).with_timezone("UTC")
    }
}

/// Returns a point in time as text for a fault; beyond the calendar, its number.
fn instant_text(instant: i64) -> String {
    format_date_time(instant).unwrap_or_else(|| instant.to_string())
}

/// Returns the day of an event from its given day and its point in time, one of which may be absent.
fn event_day(day: Option<Day>, instant: Option<i64>, zone: Tz) -> Result<Day, Reason> {
    let Some(instant) = instant else { return day.ok_or(Reason::NoDate) };
    if let Some(day) = day.filter(|day| i64::from(day.number()) == instant.div_euclid(MICROS_PER_DAY)) {
        // The local date is at most a day from the date in UTC, because no time zone is a whole day from UTC.
        return Ok(day);
    }
    let local = local_date(instant, zone).ok_or(Reason::DateTimeRange)?;
    match day {
        None => Day::from_date(local).map_err(|_| Reason::DateTimeRange),
        Some(day) if days_between(day.date(), local) <= 1 => Ok(day),
        Some(_) => Err(Reason::Apart { local, zone: zone.name() }),
    }
}

fn days_between(one: NaiveDate, other: NaiveDate) -> u64 {
    one.signed_duration_since(other).num_days().unsigned_abs()
}

#[cfg(test)]
mod tests;
