//! Points in time, as microseconds since 1970-01-01 UTC.

use super::fault::Reason;
use super::zone::Zone;
use crate::Day;
use arrow_schema::TimeUnit;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeDelta};
use std::str::FromStr;

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const SECONDS_PER_DAY: i64 = 86_400;
pub(crate) const MICROS_PER_DAY: i64 = SECONDS_PER_DAY * MICROS_PER_SECOND;

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

    /// Returns the number of days from 1970-01-01 to the date in UTC.
    #[must_use]
    pub const fn utc_day(self) -> i64 {
        self.0.div_euclid(MICROS_PER_DAY)
    }

    /// Returns the day in `zone`; `None` if it is not from [`Day::MIN`] to [`Day::MAX`].
    #[must_use]
    pub fn day_in(self, zone: Zone) -> Option<Day> {
        Day::from_date(self.local_date(zone)?).ok()
    }

    /// Returns the calendar date in `zone`; `None` beyond the calendar.
    pub(crate) fn local_date(self, zone: Zone) -> Option<NaiveDate> {
        let seconds = self.0.div_euclid(MICROS_PER_SECOND) + i64::from(zone.offset(self));
        NaiveDate::from_epoch_days(i32::try_from(seconds.div_euclid(SECONDS_PER_DAY)).ok()?)
    }
}

/// The time zone of times that are given without an offset.
///
/// ```
/// use trueup_core::model::ClockZone;
///
/// assert_eq!("account".parse(), Ok(ClockZone::Account));
/// assert!(["UTC", "America/New_York"].iter().all(|name| name.parse::<ClockZone>().is_ok()));
/// assert_eq!(
///     "EST5".parse::<ClockZone>().unwrap_err().to_string(),
///     "expected `account`, `UTC`, or an IANA time zone such as `America/New_York`"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockZone {
    /// The time zone of the event's account.
    Account,
    /// One time zone for all events.
    Zone(Zone),
}

/// A text that is no [`ClockZone`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `account`, `UTC`, or an IANA time zone such as `America/New_York`")]
pub struct ParseClockZoneError;

impl FromStr for ClockZone {
    type Err = ParseClockZoneError;

    fn from_str(text: &str) -> Result<Self, ParseClockZoneError> {
        if text == "account" {
            return Ok(Self::Account);
        }
        text.parse().map(Self::Zone).map_err(|_| ParseClockZoneError)
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

/// A time as an input gives it.
///
/// ```
/// use trueup_core::model::{GivenTime, UtcMicros};
///
/// assert_eq!(GivenTime::parse("1970-01-01T00:00:00+0100"), Ok(GivenTime::Instant(UtcMicros(-3_600_000_000))));
/// let Ok(GivenTime::Clock(clock)) = GivenTime::parse("1970-01-01 01:00") else { unreachable!("there is no offset") };
/// assert_eq!(clock.instant("Europe/Berlin".parse()?), Ok(UtcMicros(0)));
/// # Ok::<(), trueup_core::model::UnknownZone>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenTime {
    /// A point in time.
    Instant(UtcMicros),
    /// A clock time without an offset. It is a point in time only once its time zone is known.
    Clock(ClockTime),
}

/// A clock time without an offset: the number of microseconds since 1970-01-01 00:00:00 on the same clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTime(pub i64);

impl ClockTime {
    /// Returns the point in time at which clocks of `zone` show this time. If they show it twice, the first one counts.
    ///
    /// # Errors
    /// Clocks of `zone` skip this time, or it is beyond the calendar. In UTC there is no error.
    pub fn instant(self, zone: Zone) -> Result<UtcMicros, Reason> {
        if zone == Zone::UTC {
            return Ok(UtcMicros(self.0));
        }
        DateTime::from_timestamp_micros(self.0).ok_or(Reason::DateTimeRange)?;
        let (clock, micros) = (self.0.div_euclid(MICROS_PER_SECOND), self.0.rem_euclid(MICROS_PER_SECOND));
        let instant = zone.first_instant(clock).ok_or(Reason::SkippedTime { zone: zone.name() })?;
        Ok(UtcMicros(instant * MICROS_PER_SECOND + micros))
    }

    /// Returns the number of days from 1970-01-01 to the calendar day.
    #[must_use]
    pub const fn day(self) -> i64 {
        self.0.div_euclid(MICROS_PER_DAY)
    }
}

impl GivenTime {
    /// Parses an ISO 8601 text: a date, `T` or a blank, a clock time to the minute or finer, and an offset or none.
    /// Month, day and hour may have one digit. Digits after the microsecond are cut off. A leap second, which ends a
    /// day in UTC, is the first second of the next day. Without an offset, the second 60 may end any quarter of an
    /// hour.
    ///
    /// # Errors
    /// The text is no such time.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        parse_time(text.as_bytes()).ok_or(Reason::DateTime)
    }
}

/// Parses a date: the year, the month and the day, the latter two with one or two digits. Returns it and the rest of
/// the text.
pub(super) fn parse_date(text: &[u8]) -> Option<(NaiveDate, &[u8])> {
    let (year, rest) = text.split_at_checked(4)?;
    let (month, rest) = one_or_two_digits(rest.strip_prefix(b"-")?)?;
    let (day, rest) = one_or_two_digits(rest.strip_prefix(b"-")?)?;
    Some((NaiveDate::from_ymd_opt(i32::try_from(number(year)?).ok()?, month, day)?, rest))
}

fn parse_time(text: &[u8]) -> Option<GivenTime> {
    let (date, rest) = parse_date(text)?;
    let [b'T' | b't' | b' ', rest @ ..] = rest else { return None };
    let (hour, rest) = one_or_two_digits(rest)?;
    let (minute, rest) = two_digits(rest.strip_prefix(b":")?)?;
    let (second, rest) = match rest {
        [b':', rest @ ..] => two_digits(rest)?,
        _ => (0, rest),
    };
    // A leap second has no number, so that it is read as the following second.
    let leap = second == 60;
    let time = NaiveTime::from_hms_opt(hour, minute, if leap { 59 } else { second })?;
    let (fraction, zone) = match rest {
        [b'.' | b',', rest @ ..] => {
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
    let clock = local.and_utc().timestamp_micros() + micros;
    if zone.is_empty() {
        // Offsets of time zones are quarters of an hour.
        return (!leap || minute % 15 == 14).then_some(GivenTime::Clock(ClockTime(clock)));
    }
    let offset = offset_seconds(zone.strip_prefix(b" ").unwrap_or(zone))?;
    let instant = UtcMicros(clock - offset * MICROS_PER_SECOND);
    let is_in_day = !leap || instant.0.rem_euclid(MICROS_PER_DAY) < MICROS_PER_SECOND;
    is_in_day.then_some(GivenTime::Instant(instant))
}

/// Returns the number of seconds by which an offset is ahead of UTC.
fn offset_seconds(offset: &[u8]) -> Option<i64> {
    let (sign, digits) = match offset {
        b"Z" | b"z" | b"UTC" => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, rest) = two_digits(digits)?;
    let minutes = match rest {
        [] => 0,
        _ => match two_digits(rest.strip_prefix(b":").unwrap_or(rest))? {
            (minutes, []) => minutes,
            _ => return None,
        },
    };
    (hours <= 23 && minutes <= 59).then(|| sign * i64::from(hours * 3600 + minutes * 60))
}

/// Returns the number of the first two digits, and the rest.
fn two_digits(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(2)?;
    Some((number(digits)?, rest))
}

/// Returns the number of the first digits, at most two, and the rest.
fn one_or_two_digits(text: &[u8]) -> Option<(u32, &[u8])> {
    two_digits(text).or_else(|| {
        let (digit, rest) = text.split_at_checked(1)?;
        Some((number(digit)?, rest))
    })
}

/// Returns the number with these ASCII digits.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        name.parse().unwrap()
    }

    fn instant(text: &str) -> UtcMicros {
        match GivenTime::parse(text) {
            Ok(GivenTime::Instant(instant)) => instant,
            other => panic!("{text}: {other:?}"),
        }
    }

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
            assert_eq!(instant(text), UtcMicros(expected), "{text}");
        }
    }

    #[test]
    fn variants_of_iso_8601_are_read() {
        for (text, meant) in [
            ("2025-01-31T09:30:00+0100", "2025-01-31T08:30:00Z"),
            ("2025-01-31T09:30:00-01", "2025-01-31T10:30:00Z"),
            ("2025-01-31 09:30:00Z", "2025-01-31T09:30:00Z"),
            ("2025-01-31 09:30:00 +0530", "2025-01-31T04:00:00Z"),
            ("2025-01-31 09:30:00 UTC", "2025-01-31T09:30:00Z"),
            ("2025-01-31T09:30Z", "2025-01-31T09:30:00Z"),
            ("2025-01-31T09:30:00,25Z", "2025-01-31T09:30:00.25Z"),
            ("2025-1-5 9:05+02", "2025-01-05T07:05:00Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
            ("2017-01-01T05:29:60.5+05:30", "2017-01-01T00:00:00.5Z"),
        ] {
            assert_eq!(instant(text), instant(meant), "{text}");
        }
        assert_eq!(instant("2025-01-31 09:30:00.0000019Z").0, instant("2025-01-31T09:30:00Z").0 + 1);
    }

    #[test]
    fn a_text_without_an_offset_is_a_clock_time() {
        let UtcMicros(noon) = instant("2025-07-01T12:00:00Z");
        for text in ["2025-07-01T12:00:00", "2025-07-01 12:00", "2025-7-1T12:00:00.000", "2025-07-01T11:59:60"] {
            assert_eq!(GivenTime::parse(text), Ok(GivenTime::Clock(ClockTime(noon))), "{text}");
        }
        let at = |zone| ClockTime(noon).instant(zone);
        assert_eq!(at(Zone::UTC), Ok(UtcMicros(noon)));
        assert_eq!(at(zone("America/New_York")), Ok(instant("2025-07-01T12:00:00-04:00")));
    }

    #[test]
    fn a_clock_time_that_occurs_twice_is_the_first_and_a_skipped_one_is_refused() {
        let at = |text: &str| match GivenTime::parse(text) {
            Ok(GivenTime::Clock(clock)) => clock.instant(zone("America/New_York")),
            other => panic!("{other:?}"),
        };
        assert_eq!(at("2025-11-02T01:30:00"), Ok(instant("2025-11-02T01:30:00-04:00")));
        assert_eq!(at("2025-03-09T02:30:00"), Err(Reason::SkippedTime { zone: "America/New_York" }));
    }

    #[test]
    fn any_other_text_is_rejected() {
        for text in [
            "",
            "2025-01-31",
            "2025-01-31T09",
            "2025-01-31T24:00:00Z",
            "2025-02-30T09:30:00Z",
            "2025-01-31T09:30:00.Z",
            "2025-01-31T09:30:61Z",
            "2025-01-31T09:30:60Z",
            "2025-01-31T09:30:60",
            "2025-01-31T23:59:60+05:30",
            "2025-01-31T09:3:00Z",
            "2025-01-31T09:30:00+24:00",
            "2025-01-31T09:30:00+5",
            "2025-01-31T09:30:00+01:",
            "2025-01-31T09:30:00+01:000",
            "2025-01-31T09:30:00Zulu",
            "2025-01-31T09:30:00 EST",
            "2025-01-31T09:30:00 PM",
            "2025-01-31X09:30:00Z",
            "2025/01/31T09:30:00Z",
            "25-01-31T09:30:00Z",
            "١٢٣٤-01-31T09:30:00Z",
            "1735689600",
        ] {
            assert_eq!(GivenTime::parse(text), Err(Reason::DateTime), "{text}");
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
        let early_morning = instant("2025-07-01T02:00:00Z");
        let date = |zone| early_morning.local_date(zone).unwrap().to_string();
        assert_eq!(date(Zone::UTC), "2025-07-01");
        assert_eq!(date(zone("America/New_York")), "2025-06-30");
        assert_eq!(date(zone("Pacific/Kiritimati")), "2025-07-01");
        assert_eq!(UtcMicros(i64::MIN).local_date(Zone::UTC), None);
    }
}
