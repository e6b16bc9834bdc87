//! Calendar days.

use crate::Shown;
use crate::text::text_form;
use chrono::{Datelike, Days, NaiveDate};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

/// A calendar day from 1970-01-01 to 2149-06-06.
///
/// # Time zone
/// A day has no time zone. The day of an event is the one in the time zone of its account; ingest decides it once.
///
/// # Range
/// A day is stored as a number of 16 bits, the days since 1970-01-01. Every number of 16 bits is a day.
///
/// # Text
/// The text form is `YYYY-MM-DD`, for reading and for writing.
///
/// ```
/// use trueup_core::Day;
///
/// let day: Day = "2025-01-31".parse()?;
/// assert_eq!(day.next(), Some("2025-02-01".parse()?));
/// assert_eq!(day.month(), "2025-01");
/// assert!("2025-02-30".parse::<Day>().is_err());
/// # Ok::<(), trueup_core::day::ParseDayError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day(u16);

/// A text or date that is not a [`Day`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a date as YYYY-MM-DD from 1970-01-01 to 2149-06-06, but found `{}`", Shown(.0))]
pub struct ParseDayError(pub String);

impl ParseDayError {
    /// Returns whether the text is a calendar date as `YYYY-MM-DD` that is before [`Day::MIN`] or after [`Day::MAX`].
    #[must_use]
    pub fn is_out_of_range(&self) -> bool {
        calendar_date(&self.0).is_some()
    }
}

/// The number of the quarter of each day. It is a table because ingest needs two quarters per customer, and computing
/// them from calendar dates made ingest measurably slower.
static QUARTERS: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let quarter = |day: NaiveDate| day.year_ce().1.saturating_sub(1970) * 4 + day.month0() / 3;
    let days = (0..=u16::MAX).map(|number| Day(number).date());
    days.map(|day| u16::try_from(quarter(day)).unwrap_or(u16::MAX)).collect()
});

impl Day {
    /// The first day, 1970-01-01.
    pub const MIN: Self = Self(0);
    /// The last day, 2149-06-06.
    pub const MAX: Self = Self(u16::MAX);

    /// Returns the day `number` days after 1970-01-01.
    #[must_use]
    pub const fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// Returns the number of days since 1970-01-01.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Returns the day of a calendar date.
    ///
    /// # Errors
    /// Returns [`ParseDayError`] if the date is before [`Day::MIN`] or after [`Day::MAX`].
    pub fn from_date(date: NaiveDate) -> Result<Self, ParseDayError> {
        let number = date.signed_duration_since(NaiveDate::default()).num_days();
        u16::try_from(number).map(Self).map_err(|_| ParseDayError(date.to_string()))
    }

    /// Returns the calendar date of the day.
    #[must_use]
    pub fn date(self) -> NaiveDate {
        NaiveDate::default().checked_add_days(Days::new(u64::from(self.0))).unwrap_or_default()
    }

    /// Returns the Monday of the day's week. It is a date and not a [`Day`], because the first week begins in 1969.
    #[must_use]
    pub fn monday(self) -> NaiveDate {
        self.date().week(chrono::Weekday::Mon).first_day()
    }

    /// Returns the day's month as `YYYY-MM`.
    #[must_use]
    pub fn month(self) -> String {
        let date = self.date();
        format!("{:04}-{:02}", date.year(), date.month())
    }

    /// Returns whether both days are in the same calendar month.
    #[must_use]
    pub fn is_same_month(self, other: Self) -> bool {
        let (date, other) = (self.date(), other.date());
        (date.year(), date.month()) == (other.year(), other.month())
    }

    /// Returns the number of the calendar quarter of the day; the quarter of 1970-01-01 has the number 0.
    pub(crate) fn quarter(self) -> u16 {
        QUARTERS[usize::from(self.0)]
    }

    /// Returns the next day; `None` after [`Day::MAX`].
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.date().fmt(f)
    }
}

impl FromStr for Day {
    type Err = ParseDayError;

    fn from_str(text: &str) -> Result<Self, ParseDayError> {
        let date = calendar_date(text).ok_or_else(|| ParseDayError(text.to_owned()))?;
        Self::from_date(date)
    }
}

text_form!(Day, ParseDayError);

/// Returns the date that a text of the form `YYYY-MM-DD` names, of any year; `None` if there is none.
pub(crate) fn calendar_date(text: &str) -> Option<NaiveDate> {
    let has_form = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    has_form.then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()).flatten()
}

/// Returns the first date of a month, from a text such as `2026-05`; `None` for another text.
pub(crate) fn first_of_month(text: &str) -> Option<NaiveDate> {
    calendar_date(&format!("{text}-01"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_all_numbers_of_sixteen_bits() {
        assert_eq!(Day::MIN.to_string(), "1970-01-01");
        assert_eq!(Day::MAX.to_string(), "2149-06-06");
        for text in ["2149-06-07", "1969-12-31", "0000-01-01", "9999-12-31"] {
            let error = text.parse::<Day>().unwrap_err();
            assert!(error.is_out_of_range() && error.0 == text, "{error}");
        }
    }

    #[test]
    fn only_plain_calendar_dates_are_days() {
        for text in ["2025-1-01", "2025-02-30", "+025-01-01", "2025-01-01T", "", "2025/01/01"] {
            assert!(!text.parse::<Day>().unwrap_err().is_out_of_range(), "{text}");
        }
    }

    #[test]
    fn weeks_start_on_monday() {
        assert_eq!("2026-11-22".parse::<Day>().map(|day| day.monday().to_string()), Ok("2026-11-16".to_owned()));
    }

    #[test]
    fn quarters_have_three_months() {
        let quarter = |text: &str| text.parse::<Day>().map(Day::quarter);
        assert_eq!(quarter("2025-01-01"), quarter("2025-03-31"));
        assert!(quarter("2025-03-31").unwrap() < quarter("2025-04-01").unwrap());
        assert!(quarter("2024-12-31").unwrap() < quarter("2025-01-01").unwrap());
    }
}
