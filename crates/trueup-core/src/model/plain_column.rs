//! A column without dictionaries, and its values as texts, ids, account keys, counts, days or points in time.

use super::fault::{CellFaults, Reason};
use super::instant::{ClockTime, GivenTime, MICROS_PER_DAY, UtcMicros, format_date_time, parse_date};
use crate::Day;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::iterator::ArrayIter;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, StringArray, new_null_array,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrow_select::nullif::nullif;
use arrow_select::take::take;
use chrono::DateTime;
use std::fmt::{Display, Write};
use std::sync::Arc;

const SECONDS_PER_DAY: i64 = 86_400;
const MILLIS_PER_DAY: i64 = SECONDS_PER_DAY * 1_000;

/// A column with its name, without dictionary encoding, and with one text type.
pub(super) struct PlainColumn<'a> {
    pub(super) name: &'a str,
    pub(super) values: ArrayRef,
}

impl<'a> PlainColumn<'a> {
    pub(super) fn new(name: &'a str, values: &ArrayRef) -> Result<Self, ArrowError> {
        Ok(Self { name, values: plain(values)? })
    }

    /// Returns the texts of a column that is dictionary-encoded with keys of type `Int32` and texts of type `Utf8`;
    /// `None` for any other column. Null and the empty text have no key.
    pub(super) fn coded(values: &ArrayRef) -> Option<DictionaryArray<Int32Type>> {
        let coded = values.as_dictionary_opt::<Int32Type>()?;
        let texts = coded.values().as_string_opt::<i32>()?;
        let blank: Vec<bool> = texts.iter().map(|text| text.is_none_or(str::is_empty)).collect();
        if !blank.contains(&true) {
            return Some(coded.clone());
        }
        let filled = |key: &i32| !usize::try_from(*key).is_ok_and(|key| blank.get(key) == Some(&true));
        let keys: Int32Array = coded.keys().iter().map(|key| key.filter(filled)).collect();
        DictionaryArray::try_new(keys, coded.values().clone()).ok()
    }

    /// Returns the text of a row's value: empty for a null, `?` in a column of a type without texts.
    pub(super) fn text(&self, row: usize) -> String {
        let mut text = String::new();
        if self.values.is_valid(row) {
            match writer(self.values.as_ref()) {
                Ok(write) => {
                    write(row, &mut text);
                }
                Err(_) => text.push('?'),
            }
        }
        text
    }

    /// Returns the text of a row's time, without an offset if the column has none; empty for a null.
    pub(super) fn time_text(&self, row: usize) -> String {
        let mut text = self.text(row);
        if let DataType::Timestamp(_, None) = self.values.data_type()
            && text.ends_with('Z')
        {
            text.pop();
        }
        text
    }

    /// Returns the texts of all rows. Null and the empty text are null. A date or point in time beyond the calendar is
    /// null and is added to `faults`.
    pub(super) fn texts(&self, faults: &mut CellFaults) -> Result<StringArray, ArrowError> {
        let values = self.values.as_ref();
        if let Some(texts) = values.as_string_opt::<i32>() {
            return without_empty(texts);
        }
        let write = writer(values)?;
        let mut texts = StringBuilder::with_capacity(values.len(), 0);
        let mut text = String::new();
        for row in 0..values.len() {
            if values.is_null(row) {
                texts.append_null();
                continue;
            }
            text.clear();
            if write(row, &mut text) {
                texts.append_value(&text);
            } else {
                faults.add(row, self.name, &text, Reason::Calendar);
                texts.append_null();
            }
        }
        Ok(texts.finish())
    }
}

/// Replaces empty texts with null.
fn without_empty(texts: &StringArray) -> Result<StringArray, ArrowError> {
    if texts.value_offsets().windows(2).all(|ends| ends[0] < ends[1]) {
        return Ok(texts.clone());
    }
    let empty: BooleanArray = texts.iter().map(|text| Some(text == Some(""))).collect();
    if empty.true_count() == 0 {
        return Ok(texts.clone());
    }
    Ok(nullif(texts, &empty)?.as_string::<i32>().clone())
}

/// Returns the values in the type that they are read as: that of the values of a dictionary, one type for all texts,
/// and 32-bit floats for 16-bit ones.
fn plain(values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match values.data_type() {
        DataType::Dictionary(..) => {
            let coded = values.as_any_dictionary();
            plain(&take(coded.values(), coded.keys(), None)?)?
        }
        DataType::Null => new_null_array(&DataType::Utf8, values.len()),
        DataType::LargeUtf8 => plain_texts(values.as_string::<i64>())?,
        DataType::Utf8View => plain_texts(values.as_string_view())?,
        DataType::Float16 => Arc::new(values.as_primitive::<Float16Type>().unary::<_, Float32Type>(f32::from)),
        _ => values.clone(),
    })
}

fn plain_texts<'a>(texts: impl ArrayAccessor<Item = &'a str> + Copy) -> Result<ArrayRef, ArrowError> {
    let bytes: usize = ArrayIter::new(texts).flatten().map(str::len).sum();
    // The ends of texts are 32-bit numbers.
    if i32::try_from(bytes).is_err() {
        return Err(ArrowError::OffsetOverflowError(bytes));
    }
    Ok(Arc::new(ArrayIter::new(texts).collect::<StringArray>()))
}

/// Writes the text of a row that is not null. Returns `false` for a date or point in time beyond the calendar, after
/// writing its number.
type TextWriter<'a> = Box<dyn Fn(usize, &mut String) -> bool + 'a>;

/// Returns the writer for a column's type.
fn writer(values: &dyn Array) -> Result<TextWriter<'_>, ArrowError> {
    Ok(match values.data_type() {
        DataType::Utf8 => {
            let texts = values.as_string::<i32>();
            Box::new(|row, out| {
                out.push_str(texts.value(row));
                true
            })
        }
        DataType::Boolean => {
            let values = values.as_boolean();
            Box::new(|row, out| {
                out.push_str(if values.value(row) { "true" } else { "false" });
                true
            })
        }
        DataType::Int8 => integers::<Int8Type>(values),
        DataType::Int16 => integers::<Int16Type>(values),
        DataType::Int32 => integers::<Int32Type>(values),
        DataType::Int64 => integers::<Int64Type>(values),
        DataType::UInt8 => integers::<UInt8Type>(values),
        DataType::UInt16 => integers::<UInt16Type>(values),
        DataType::UInt32 => integers::<UInt32Type>(values),
        DataType::UInt64 => integers::<UInt64Type>(values),
        DataType::Float32 => with::<Float32Type>(values, |value, out| {
            out.push_str(ryu_js::Buffer::new().format(value));
            true
        }),
        DataType::Float64 => with::<Float64Type>(values, |value, out| {
            out.push_str(ryu_js::Buffer::new().format(value));
            true
        }),
        DataType::Decimal32(_, scale) => decimals::<Decimal32Type>(values, *scale),
        DataType::Decimal64(_, scale) => decimals::<Decimal64Type>(values, *scale),
        DataType::Decimal128(_, scale) => decimals::<Decimal128Type>(values, *scale),
        DataType::Decimal256(_, scale) => decimals::<Decimal256Type>(values, *scale),
        DataType::Date32 => with::<Date32Type>(values, |days, out| push_date(days.into(), i64::from(days), out)),
        DataType::Date64 => {
            with::<Date64Type>(values, |millis, out| push_date(millis.div_euclid(MILLIS_PER_DAY), millis, out))
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            with::<TimestampSecondType>(values, |value, out| push_instant(value, TimeUnit::Second, out))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            with::<TimestampMillisecondType>(values, |value, out| push_instant(value, TimeUnit::Millisecond, out))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            with::<TimestampMicrosecondType>(values, |value, out| push_instant(value, TimeUnit::Microsecond, out))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            with::<TimestampNanosecondType>(values, |value, out| push_instant(value, TimeUnit::Nanosecond, out))
        }
        other => return Err(ArrowError::SchemaError(format!("{other} has no text"))),
    })
}

fn with<'a, T: ArrowPrimitiveType>(
    values: &'a dyn Array,
    write: impl Fn(T::Native, &mut String) -> bool + 'a,
) -> TextWriter<'a> {
    let values = values.as_primitive::<T>();
    Box::new(move |row, out| write(values.value(row), out))
}

fn integers<T: ArrowPrimitiveType<Native: Display>>(values: &dyn Array) -> TextWriter<'_> {
    with::<T>(values, |value, out| write!(out, "{value}").is_ok())
}

fn decimals<T: ArrowPrimitiveType<Native: Display>>(values: &dyn Array, scale: i8) -> TextWriter<'_> {
    with::<T>(values, move |value, out| {
        out.push_str(&plain_decimal(&value.to_string(), scale));
        true
    })
}

/// Writes a date, or the number `bare` if the date is beyond the calendar.
fn push_date(days: i64, bare: i64, out: &mut String) -> bool {
    match days.checked_mul(SECONDS_PER_DAY).and_then(|seconds| DateTime::from_timestamp(seconds, 0)) {
        Some(midnight) => write!(out, "{}", midnight.date_naive()).is_ok(),
        None => write!(out, "{bare}").is_err(),
    }
}

fn push_instant(value: i64, unit: TimeUnit, out: &mut String) -> bool {
    match UtcMicros::from_timestamp(value, unit).and_then(format_date_time) {
        Some(text) => {
            out.push_str(&text);
            true
        }
        None => write!(out, "{value}").is_err(),
    }
}

/// Returns the text of the integer `digits` divided by ten to the power of `scale`, without an exponent and without
/// trailing zeros after the point.
pub(super) fn plain_decimal(digits: &str, scale: i8) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let places = usize::from(scale.unsigned_abs());
    if digits.bytes().all(|digit| digit == b'0') {
        return "0".to_owned();
    }
    if scale <= 0 {
        return format!("{sign}{digits}{}", "0".repeat(places));
    }
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

/// Reads ids, which must not be empty. A rejected row is null and is added to `faults`.
pub(super) fn read_ids(column: &PlainColumn<'_>, faults: &mut CellFaults) -> Result<StringArray, ArrowError> {
    let ids = column.texts(faults)?;
    reject_empty(&ids, column.name, faults);
    Ok(ids)
}

/// Reads account keys, which must not be empty and must not contain `,` or `/`, because these separate keys in lists
/// and paths.
pub(super) fn read_account_keys(column: &PlainColumn<'_>, faults: &mut CellFaults) -> Result<StringArray, ArrowError> {
    let keys = read_ids(column, faults)?;
    check_account_keys(&keys, column.name, faults);
    Ok(keys)
}

/// Rejects rows without a text.
pub(super) fn reject_empty(ids: &dyn Array, column: &str, faults: &mut CellFaults) {
    if ids.null_count() > 0 {
        for row in (0..ids.len()).filter(|row| ids.is_null(*row)) {
            faults.add(row, column, "", Reason::Empty);
        }
    }
}

/// Rejects account keys that are not [sound](is_sound_account_key).
pub(super) fn check_account_keys<'a>(keys: impl ArrayAccessor<Item = &'a str>, column: &str, faults: &mut CellFaults) {
    for (row, key) in ArrayIter::new(keys).enumerate() {
        if let Some(key) = key.filter(|key| !is_sound_account_key(key)) {
            faults.add(row, column, key, Reason::AccountKey);
        }
    }
}

/// Returns whether an account key contains neither `,` nor `/`.
pub(super) fn is_sound_account_key(key: &str) -> bool {
    !key.bytes().any(|byte| matches!(byte, b',' | b'/'))
}

/// Reads counts: integers from 0 to `i64::MAX`. Null and the empty text are null. A rejected row is null and is added
/// to `faults`.
pub(super) fn read_counts(column: &PlainColumn<'_>, faults: &mut CellFaults) -> Result<Int64Array, ArrowError> {
    // The text of a float or decimal without a fraction is that of an integer.
    let texts = column.texts(faults)?;
    let read = |(row, text): (usize, Option<&str>)| {
        let count = count(text?);
        if count.is_none() {
            faults.add(row, column.name, text.unwrap_or_default(), Reason::Count);
        }
        count
    };
    Ok(texts.iter().enumerate().map(read).collect())
}

fn count(text: &str) -> Option<i64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Reads days. The day of a time without an offset is its calendar day. A timestamp with a time zone has a day only if
/// it is midnight in UTC. Null and the empty text are `None`. A rejected row is `None` and is added to `faults`.
pub(super) fn read_days(column: &PlainColumn<'_>, faults: &mut CellFaults) -> Result<Vec<Option<Day>>, ArrowError> {
    Ok(match column.values.data_type() {
        DataType::Utf8 => read_texts(column, faults, day_from_text),
        DataType::Date32 => read_numbers::<Date32Type, _>(column, faults, |days| day_of_number(days.into())),
        DataType::Date64 => {
            read_numbers::<Date64Type, _>(column, faults, |millis| day_of_number(millis.div_euclid(MILLIS_PER_DAY)))
        }
        DataType::Timestamp(_, zone) => {
            let is_clock = zone.is_none();
            let day = |instant: UtcMicros| {
                if is_clock || instant.0 % MICROS_PER_DAY == 0 {
                    day_of_number(instant.utc_day())
                } else {
                    Err(Reason::TimeOfDay)
                }
            };
            let instants = read_timestamps(column, faults, &Reason::Date)?.into_iter().enumerate();
            let keep = |(row, instant): (usize, Option<UtcMicros>)| {
                day(instant?).map_err(|reason| faults.add(row, column.name, &column.time_text(row), reason)).ok()
            };
            instants.map(keep).collect()
        }
        other => return Err(ArrowError::SchemaError(format!("dates cannot be read from {other}"))),
    })
}

/// Reads the text of a day: a date, or a time without an offset, whose day is its calendar day.
///
/// # Errors
/// The text is neither, or the day is not from [`Day::MIN`] to [`Day::MAX`].
///
/// ```
/// use trueup_core::model::{Reason, day_from_text};
///
/// assert_eq!(day_from_text("2025-1-31 23:30"), Ok("2025-01-31".parse()?));
/// assert_eq!(day_from_text("2025-01-31T23:30Z"), Err(Reason::TimeOfDay));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn day_from_text(text: &str) -> Result<Day, Reason> {
    if let Ok(day) = text.parse() {
        return Ok(day);
    }
    match (parse_date(text.as_bytes()), GivenTime::parse(text)) {
        (Some((date, [])), _) => Day::from_date(date).map_err(|_| Reason::Date),
        (_, Ok(GivenTime::Clock(clock))) => day_of_number(clock.day()),
        (_, Ok(GivenTime::Instant(_))) => Err(Reason::TimeOfDay),
        _ => Err(Reason::Date),
    }
}

/// The times of a column.
pub(super) struct GivenTimes {
    /// The point in time of each row; `None` for null, for a clock time, and for a row with a fault.
    pub(super) instants: Vec<Option<UtcMicros>>,
    /// The rows whose time has no offset, each with its clock time.
    pub(super) clocks: Vec<(usize, ClockTime)>,
}

/// Reads times. Null and the empty text are `None`. A rejected row is `None` and is added to `faults`.
pub(super) fn read_times(column: &PlainColumn<'_>, faults: &mut CellFaults) -> Result<GivenTimes, ArrowError> {
    match column.values.data_type() {
        DataType::Utf8 => {
            let mut clocks = Vec::new();
            let times = read_texts(column, faults, GivenTime::parse).into_iter().enumerate();
            let instants = times.map(|(row, time)| match time? {
                GivenTime::Instant(instant) => Some(instant),
                GivenTime::Clock(clock) => {
                    clocks.push((row, clock));
                    None
                }
            });
            Ok(GivenTimes { instants: instants.collect(), clocks })
        }
        DataType::Timestamp(_, Some(_)) => {
            Ok(GivenTimes { instants: read_timestamps(column, faults, &Reason::DateTimeRange)?, clocks: Vec::new() })
        }
        DataType::Timestamp(_, None) => {
            let times = read_timestamps(column, faults, &Reason::DateTimeRange)?;
            let clocks =
                times.iter().enumerate().filter_map(|(row, time)| Some((row, ClockTime((*time)?.0)))).collect();
            Ok(GivenTimes { instants: vec![None; times.len()], clocks })
        }
        other => Err(ArrowError::SchemaError(format!("points in time cannot be read from {other}"))),
    }
}

/// Reads timestamps as microseconds. Null is `None`. A row with more microseconds than 64 bits hold is `None` and is
/// added to `faults` for the reason `too_far`.
fn read_timestamps(
    column: &PlainColumn<'_>,
    faults: &mut CellFaults,
    too_far: &Reason,
) -> Result<Vec<Option<UtcMicros>>, ArrowError> {
    let micros = |unit| move |value: i64| UtcMicros::from_timestamp(value, unit).ok_or_else(|| too_far.clone());
    Ok(match column.values.data_type() {
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
        other => return Err(ArrowError::SchemaError(format!("timestamps cannot be read from {other}"))),
    })
}

/// Returns the day `days` days after 1970-01-01.
fn day_of_number(days: i64) -> Result<Day, Reason> {
    u16::try_from(days).map(Day::from_number).map_err(|_| Reason::Date)
}

/// Reads the texts of a column of texts with `read`. Null and the empty text are `None`. A text that `read` rejects is
/// `None`, and its reason is added to `faults`.
pub(super) fn read_texts<R>(
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

/// Reads the numbers of a column of `T` with `read`. Null is `None`. A number that `read` rejects is `None`, and its
/// reason is added to `faults`.
pub(super) fn read_numbers<T: ArrowPrimitiveType, R>(
    column: &PlainColumn<'_>,
    faults: &mut CellFaults,
    read: impl Fn(T::Native) -> Result<R, Reason>,
) -> Vec<Option<R>> {
    let keep = |(row, value): (usize, Option<T::Native>)| {
        read(value?).map_err(|reason| faults.add(row, column.name, &column.text(row), reason)).ok()
    };
    column.values.as_primitive::<T>().iter().enumerate().map(keep).collect()
}

#[cfg(test)]
mod tests;
