//! Points in time, as microseconds since 1970-01-01 UTC.

use super::fault::Reason;
use arrow_schema::TimeUnit;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeDelta, TimeZone};
use chrono_tz::Tz;

/// Returns the RFC 3339 text, in UTC with `Z`, of a point in time in microseconds since 1970-01-01 UTC. The fraction
/// of the second has no trailing zeros and is absent if it is zero. Returns `None` beyond the calendar, more than
/// 260,000 years away.
///
/// ```
/// let text = trueup_core::model::format_date_time(1_735_689_600_250_000);
/// assert_eq!(text.as_deref(), Some("2025-01-01T00:00:00.25Z"));
/// ```
#[must_use]
pub fn format_date_time(micros: i64) -> Option<String> {
    let text = DateTime::from_timestamp_micros(micros)?.to_rfc3339_opts(SecondsFormat::Micros, true);
    match text.strip_suffix('Z').and_then(|text| text.split_once('.')) {
        Some((seconds, fraction)) => Some(match fraction.trim_end_matches('0') {
            "" => format!("{seconds}Z"),
            fraction => format!("{seconds}.{fraction}Z"),
        }),
        None => Some(text),
    }
}

/// Returns the value of a timestamp in microseconds; nanoseconds are rounded down. `None` if it does not fit.
pub(super) fn to_micros(value: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => value.checked_mul(1_000_000),
        TimeUnit::Millisecond => value.checked_mul(1_000),
        TimeUnit::Microsecond => Some(value),
        TimeUnit::Nanosecond => Some(value.div_euclid(1_000)),
    }
}

/// Returns the calendar date of a point in time in `zone`; `None` beyond the calendar.
pub(super) fn local_date(micros: i64, zone: Tz) -> Option<NaiveDate> {
    let utc = DateTime::from_timestamp_micros(micros)?.naive_utc();
    if zone == Tz::UTC {
        return Some(utc.date());
    }
    let offset = chrono::Offset::fix(&zone.offset_from_utc_datetime(&utc));
    utc.checked_add_offset(offset).map(|local| local.date())
}

/// Parses an RFC 3339 text. Without an offset it is in UTC. Digits after the microsecond are cut off.
pub(super) fn micros_of_text(text: &str) -> Result<i64, Reason> {
    parse(text.as_bytes()).ok_or(Reason::DateTime)
}

fn parse(text: &[u8]) -> Option<i64> {
    let (clock, rest) = text.split_at_checked(19)?;
    let [b'T' | b't' | b' '] = clock.get(10..11)? else { return None };
    let punctuated = clock[4] == b'-' && clock[7] == b'-' && clock[13] == b':' && clock[16] == b':';
    if !punctuated {
        return None;
    }
    let year = i32::try_from(number(clock.get(0..4)?)?).ok()?;
    let date = NaiveDate::from_ymd_opt(year, number(clock.get(5..7)?)?, number(clock.get(8..10)?)?)?;
    let (hour, minute) = (number(clock.get(11..13)?)?, number(clock.get(14..16)?)?);
    let second = number(clock.get(17..19)?)?;
    // A leap second has no number in this calendar, so that it is read as the following second.
    let leap = second == 60;
    let time = NaiveTime::from_hms_opt(hour, minute, if leap { 59 } else { second })?;
    let (fraction, zone) = match rest.split_first() {
        Some((b'.', rest)) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            rest.split_at_checked(digits)?
        }
        _ => (&[][..], rest),
    };
    let micros = (0..6).fold(0, |sum, at| sum * 10 + fraction.get(at).map_or(0, |digit| i64::from(digit - b'0')));
    let local = NaiveDateTime::new(date, time).checked_add_signed(TimeDelta::seconds(i64::from(leap)))?;
    Some(local.and_utc().timestamp_micros() + micros - offset_seconds(zone)? * 1_000_000)
}

/// Returns the number of seconds by which an offset is ahead of UTC.
fn offset_seconds(zone: &[u8]) -> Option<i64> {
    match zone {
        [] | [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let (hours, minutes) = (number(zone.get(1..3)?)?, number(zone.get(4..6)?)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = i64::from(hours * 3600 + minutes * 60);
            Some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

/// Returns the number with these ASCII digits.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3339_texts_are_read_as_by_chrono() {
        for text in [
            "2025-01-31T09:30:00Z",
            "2025-01-31t09:30:00.5z",
            "1969-12-31T23:59:59.999999Z",
            "2025-01-31T09:30:00.123456-05:30",
            "2024-02-29T23:59:59+14:00",
        ] {
            let expected = DateTime::parse_from_rfc3339(text).unwrap().timestamp_micros();
            assert_eq!(micros_of_text(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_text_without_an_offset_is_utc_and_finer_digits_are_cut_off() {
        let second = micros_of_text("2025-01-31T09:30:00Z").unwrap();
        assert_eq!(micros_of_text("2025-01-31T09:30:00"), Ok(second));
        assert_eq!(micros_of_text("2025-01-31 09:30:00.0000019"), Ok(second + 1));
        assert_eq!(micros_of_text("2016-12-31T23:59:60Z"), micros_of_text("2017-01-01T00:00:00Z"));
    }

    #[test]
    fn any_other_text_is_rejected() {
        for text in [
            "",
            "2025-01-31",
            "2025-01-31T09:30",
            "2025-01-31T24:00:00Z",
            "2025-02-30T09:30:00Z",
            "2025-01-31T09:30:00.Z",
            "2025-01-31T09:30:61Z",
            "2025-01-31T09:30:00+0500",
            "2025-01-31T09:30:00+24:00",
            "2025-01-31T09:30:00Zulu",
            "2025-01-31X09:30:00Z",
            "2025/01/31T09:30:00Z",
            "١٢٣٤-01-31T09:30:00Z",
            "1735689600",
        ] {
            assert_eq!(micros_of_text(text), Err(Reason::DateTime), "{text}");
        }
    }

    #[test]
    fn timestamps_are_rounded_down_to_microseconds() {
        assert_eq!(to_micros(-1, TimeUnit::Nanosecond), Some(-1));
        assert_eq!(to_micros(1_999, TimeUnit::Nanosecond), Some(1));
        assert_eq!(to_micros(7, TimeUnit::Second), Some(7_000_000));
        assert_eq!(to_micros(i64::MAX, TimeUnit::Millisecond), None);
    }

    #[test]
    fn fractions_have_no_trailing_zeros() {
        assert_eq!(format_date_time(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(format_date_time(120_000).unwrap(), "1970-01-01T00:00:00.12Z");
        assert_eq!(format_date_time(-1).unwrap(), "1969-12-31T23:59:59.999999Z");
        assert_eq!(format_date_time(i64::MAX), None);
    }

    #[test]
    fn the_date_of_a_point_in_time_depends_on_the_time_zone() {
        let midnight = micros_of_text("2025-07-01T02:00:00Z").unwrap();
        let date = |zone| local_date(midnight, zone).unwrap().to_string();
        assert_eq!(date(Tz::UTC), "2025-07-01");
        assert_eq!(date(Tz::America__New_York), "2025-06-30");
        assert_eq!(date(Tz::Pacific__Kiritimati), "2025-07-01");
        assert_eq!(local_date(i64::MIN, Tz::UTC), None);
    }
}
