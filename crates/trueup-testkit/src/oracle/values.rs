//! Exact amounts, their one conversion to floating point, and the text of values (sections 1, 4, 5, 6 and 9).

use chrono::{DateTime, Datelike, Days, NaiveDate};

use super::tables::Cell;

/// An exact integer amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExactAmount {
    /// A count.
    Count(i128),
    /// Money in millionths of a currency unit.
    Money(i128),
}

impl ExactAmount {
    /// Returns the nearest double. Section 6: "each is turned into a double by value (money: millionths / 10^6)". The
    /// decimal text is exact and the standard parser rounds it correctly, so this is the double nearest to the value.
    pub(super) fn double(self) -> f64 {
        match self {
            Self::Count(count) => nearest_double(&count.to_string()),
            Self::Money(micros) => nearest_double(&decimal(micros)),
        }
    }

    pub(super) fn is_zero(self) -> bool {
        matches!(self, Self::Count(0) | Self::Money(0))
    }
}

/// Returns millionths as decimal text in currency units.
fn decimal(micros: i128) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let magnitude = micros.unsigned_abs();
    format!("{sign}{}.{:06}", magnitude / 1_000_000, magnitude % 1_000_000)
}

/// Returns the double nearest to a decimal number.
pub(super) fn nearest_double(text: &str) -> f64 {
    // A text of digits with at most a sign, a point and an exponent always parses.
    text.parse().unwrap_or(f64::NAN)
}

/// Returns the average of amounts in millionths, 0 without amounts. Section 6, `estimatedRevenue`: "rounded half away
/// from zero to the millionth".
pub(super) fn average(amounts: &[i64]) -> i128 {
    let mut count: i128 = 0;
    let mut sum: i128 = 0;
    for amount in amounts {
        count += 1;
        sum += i128::from(*amount);
    }
    if count == 0 {
        return 0;
    }
    // Rounds half away from zero: adds half the divisor to the magnitude, then truncates. Both are doubled, so that
    // the half of an odd count is an integer.
    let magnitude = (2 * sum.abs() + count) / (2 * count);
    if sum < 0 { -magnitude } else { magnitude }
}

/// Reads a decimal number. Section 8: "A decimal number is `-?[0-9]+(\.[0-9]+)?`, in ASCII, compared as a double."
/// Returns `None` for any other text.
pub(super) fn decimal_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = match unsigned.split_once('.') {
        None => digits(unsigned),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
    };
    if well_formed { text.parse().ok() } else { None }
}

/// Returns the text of a cell. Section 5: "Values are strings: booleans `true`/`false`, integers in decimal, floats as
/// ECMAScript, dates and timestamps as in section 4, null and unknown columns `""`."
#[must_use]
pub fn text_of(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Bool(word) => word.to_string(),
        Cell::Integer(integer) => integer.to_string(),
        Cell::Float(float) => ecmascript(*float),
        Cell::Date(day) => date(*day),
        Cell::Timestamp(micros) => timestamp(*micros),
    }
}

/// Writes a number. Section 9: "Numbers are written as ECMAScript writes them: `12`, `1234.5`, `0.1`, never `12.0`".
pub(super) fn ecmascript(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// Section 4: `date` (`YYYY-MM-DD`).
pub(super) fn date(day: NaiveDate) -> String {
    format!("{:04}-{:02}-{:02}", day.year(), day.month(), day.day())
}

/// Section 4: `week` (its Monday, `YYYY-MM-DD`).
pub(super) fn week(day: NaiveDate) -> String {
    date(monday(day))
}

/// Section 4: `month` (`YYYY-MM`).
pub(super) fn month(day: NaiveDate) -> String {
    format!("{:04}-{:02}", day.year(), day.month())
}

/// Returns the Monday on or before a day.
pub(super) fn monday(day: NaiveDate) -> NaiveDate {
    let back = u64::from(day.weekday().num_days_from_monday());
    day.checked_sub_days(Days::new(back)).unwrap_or(NaiveDate::MIN)
}

/// Writes a point in time. Section 4: "RFC 3339 in UTC with `Z`; up to six digits of a second's fraction, trailing
/// zeros dropped, none if zero". Returns `""` for a time that the calendar does not have. `micros` are microseconds
/// since 1970-01-01 UTC.
pub(super) fn timestamp(micros: i64) -> String {
    let Some(instant) = DateTime::from_timestamp_micros(micros) else { return String::new() };
    let seconds = instant.format("%Y-%m-%dT%H:%M:%S").to_string();
    let digits = format!("{:06}", micros.rem_euclid(1_000_000));
    match digits.trim_end_matches('0') {
        "" => format!("{seconds}Z"),
        fraction => format!("{seconds}.{fraction}Z"),
    }
}

/// Returns a JSON string, in which only `"`, `\` and the characters below U+0020 are escaped.
pub(super) fn json_string(text: &str) -> String {
    let mut written = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\u{8}' => written.push_str("\\b"),
            '\u{c}' => written.push_str("\\f"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            control if control < ' ' => written.push_str(&format!("\\u{:04x}", u32::from(control))),
            plain => written.push(plain),
        }
    }
    written.push('"');
    written
}
