//! Points in time, as microseconds since 1970-01-01 UTC.

use super::fault::Reason;
use arrow_schema::TimeUnit;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeDelta, TimeZone};
use chrono_tz::Tz;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// A point in time: the number of microseconds since 1970-01-01 00:00:00 UTC, without leap seconds; negative before
/// 1970.
///
/// Amounts of money are 64-bit integers too, in millionths of a currency unit; this type keeps the two apart. The
/// decoded column `dateTime` holds bare integers, because loops over its rows read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct UtcMicros(pub i64);

impl UtcMicros {
    /// Returns the value of a timestamp that counts `unit`s since 1970-01-01 UTC; nanoseconds are rounded down. `None`
    /// if the number of microseconds does not fit into 64 bits.
    pub(super) fn from_timestamp(value: i64, unit: TimeUnit) -> Option<Self> {
        let micros = match unit {
            TimeUnit::Second => value.checked_mul(MICROS_PER_SECOND)?,
            TimeUnit::Millisecond => value.checked_mul(1_000)?,
            TimeUnit::Microsecond => value,
            TimeUnit::Nanosecond => value.div_euclid(1_000),
        };
        Some(Self(micros))
    }

    /// Parses an RFC 3339 text. A text without an offset is in UTC. Digits after the microsecond are cut off.
    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        parse(text.as_bytes()).map(Self).ok_or(Reason::DateTime)
    }

    /// Returns the number of days from 1970-01-01 to the date in UTC.
    pub(super) const fn utc_day(self) -> i64 {
        self.0.div_euclid(MICROS_PER_DAY)
    }

    /// Returns the calendar date in `zone`; `None` beyond the calendar.
    pub(super) fn local_date(self, zone: Tz) -> Option<NaiveDate> {
        let utc = DateTime::from_timestamp_micros(self.0)?.naive_utc();
        if zone == Tz::UTC {
            return Some(utc.date());
        }
        let offset = chrono::Offset::fix(&zone.offset_from_utc_datetime(&utc));
        utc.checked_add_offset(offset).map(|local| local.date())
    }
}

/// Returns the RFC 3339 text of a point in time, in UTC with `Z`. The fraction of the second has no trailing zeros and
/// is absent if it is zero. Returns `None` beyond the calendar, more than 260,000 years away.
///
/// ```
/// use trueup_core::model::{UtcMicros, format_date_time};
///
/// let text = format_date_time(UtcMicros(1_735_689_600_250_000));
/// assert_eq!(text.as_deref(), Some("2025-01-01T00:00:00.25Z"));
/// ```
#[must_use]
pub fn format_date_time(time: UtcMicros) -> Option<String> {
    let text = DateTime::from_timestamp_micros(time.0)?.to_rfc3339_opts(SecondsFormat::Micros, true);
    match text.strip_suffix('Z').and_then(|text| text.split_once('.')) {
        Some((seconds, fraction)) => Some(match fraction.trim_end_matches('0') {
            "" => format!("{seconds}Z"),
            fraction => format!("{seconds}.{fraction}Z"),
        }),
        None => Some(text),
    }
}

/// Returns the microseconds of an RFC 3339 text; `None` for any other text.
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
    // A leap second has no number, so that it is read as the following second.
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
    Some(local.and_utc().timestamp_micros() + micros - offset_seconds(zone)? * MICROS_PER_SECOND)
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
            assert_eq!(UtcMicros::parse(text), Ok(UtcMicros(expected)), "{text}");
        }
    }

    #[test]
    fn a_text_without_an_offset_is_utc_and_finer_digits_are_cut_off() {
        let UtcMicros(second) = UtcMicros::parse("2025-01-31T09:30:00Z").unwrap();
        assert_eq!(UtcMicros::parse("2025-01-31T09:30:00"), Ok(UtcMicros(second)));
        assert_eq!(UtcMicros::parse("2025-01-31 09:30:00.0000019"), Ok(UtcMicros(second + 1)));
        assert_eq!(UtcMicros::parse("2016-12-31T23:59:60Z"), UtcMicros::parse("2017-01-01T00:00:00Z"));
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
            assert_eq!(UtcMicros::parse(text), Err(Reason::DateTime), "{text}");
        }
    }

    #[test]
    fn timestamps_are_rounded_down_to_microseconds() {
        assert_eq!(UtcMicros::from_timestamp(-1, TimeUnit::Nanosecond), Some(UtcMicros(-1)));
        assert_eq!(UtcMicros::from_timestamp(1_999, TimeUnit::Nanosecond), Some(UtcMicros(1)));
        assert_eq!(UtcMicros::from_timestamp(7, TimeUnit::Second), Some(UtcMicros(7_000_000)));
        assert_eq!(UtcMicros::from_timestamp(i64::MAX, TimeUnit::Millisecond), None);
    }

    #[test]
    fn fractions_have_no_trailing_zeros() {
        assert_eq!(format_date_time(UtcMicros(0)).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(format_date_time(UtcMicros(120_000)).unwrap(), "1970-01-01T00:00:00.12Z");
        assert_eq!(format_date_time(UtcMicros(-1)).unwrap(), "1969-12-31T23:59:59.999999Z");
        assert_eq!(format_date_time(UtcMicros(i64::MAX)), None);
    }

    #[test]
    fn the_date_of_a_point_in_time_depends_on_the_time_zone() {
        let early_morning = UtcMicros::parse("2025-07-01T02:00:00Z").unwrap();
        let date = |zone| early_morning.local_date(zone).unwrap().to_string();
        assert_eq!(date(Tz::UTC), "2025-07-01");
        assert_eq!(date(Tz::America__New_York), "2025-06-30");
        assert_eq!(date(Tz::Pacific__Kiritimati), "2025-07-01");
        assert_eq!(UtcMicros(i64::MIN).local_date(Tz::UTC), None);
    }
}
