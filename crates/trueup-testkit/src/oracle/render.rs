//! Sections 4, 5 and 9: how values are written.

use chrono::{DateTime, Datelike, Days, NaiveDate};

use super::tables::Cell;

/// Section 5: "Values are strings: booleans `true`/`false`, integers in decimal, floats as ECMAScript, dates and timestamps
/// as in section 4, null and unknown columns `""`."
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

/// Section 9: "Numbers are written as ECMAScript writes them: `12`, `1234.5`, `0.1`, never `12.0`".
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

/// The Monday on or before a day.
pub(super) fn monday(day: NaiveDate) -> NaiveDate {
    let back = u64::from(day.weekday().num_days_from_monday());
    day.checked_sub_days(Days::new(back)).unwrap_or(NaiveDate::MIN)
}

/// Section 4: "RFC 3339 in UTC with `Z`; up to six digits of a second's fraction, trailing zeros dropped, none if zero".
/// The empty text if the microseconds since 1970 lie beyond what a calendar can name.
pub(super) fn timestamp(micros: i64) -> String {
    let Some(instant) = DateTime::from_timestamp_micros(micros) else { return String::new() };
    let seconds = instant.format("%Y-%m-%dT%H:%M:%S").to_string();
    let digits = format!("{:06}", micros.rem_euclid(1_000_000));
    match digits.trim_end_matches('0') {
        "" => format!("{seconds}Z"),
        fraction => format!("{seconds}.{fraction}Z"),
    }
}

/// A JSON string: only `"`, `\` and control characters are escaped.
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
