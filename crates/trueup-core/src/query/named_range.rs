//! Ranges of days by name: a month, a quarter, a year, the last days, or a range such as `month-to-date`. Every place
//! that takes such a name resolves it here, from the day that is today.

use super::{AccountFilter, DateRange};
use crate::day::first_of_month;
use crate::model::{Accounts, UtcMicros, Zone};
use crate::text::text_form;
use crate::{Day, Shown};
use chrono::{DateTime, Datelike, Days, Months, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// A range of days by its name.
///
/// | text | days |
/// |---|---|
/// | `2026-05` | the calendar month |
/// | `2026-Q2` | the calendar quarter |
/// | `2026` | the calendar year |
/// | `90d`, `12w` | the last 90 days, or 12 times 7 days; today is the last of them |
/// | `6mo`, `1y` | the days up to today that follow the same day 6 months ago, or one year ago |
/// | `today`, `yesterday` | that day |
/// | `this-week`, `this-month`, `this-quarter`, `this-year` | the one that contains today, with its days after today |
/// | `last-week`, `last-month`, `last-quarter`, `last-year` | the whole period before that one |
/// | `week-to-date`, `month-to-date`, `quarter-to-date`, `year-to-date` | the days of that period up to today |
///
/// A range that ends today includes it, although its events may not be complete. Weeks run from Monday to Sunday. One
/// year is 12 months. If a month has no day of the same number, its last day counts instead: on 31 March, `1mo` is the
/// days after the last one of February, and so all of March.
///
/// ```
/// use trueup_core::query::NamedRange;
///
/// let today = "2026-11-23".parse()?;
/// let month: NamedRange = "last-month".parse()?;
/// assert_eq!(month.days(today)?.to_string(), "2026-10-01 to 2026-10-31");
/// assert_eq!("90d".parse::<NamedRange>()?.days(today)?.to_string(), "2026-08-26 to 2026-11-23");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NamedRange(Name);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// The period of a unit that begins on this date.
    Calendar(Unit, NaiveDate),
    /// The last days up to today.
    LastDays(u32),
    /// The days up to today that follow the same day some months ago.
    LastMonths(u32),
    /// The period of a unit that contains today, whole or up to today, or the period before it.
    Relative(Unit, Part),
}

/// A unit of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    This,
    Last,
    ToDate,
}

/// The names that depend on today alone.
const RELATIVE: [(&str, Unit, Part); 14] = [
    ("today", Unit::Day, Part::This),
    ("yesterday", Unit::Day, Part::Last),
    ("this-week", Unit::Week, Part::This),
    ("last-week", Unit::Week, Part::Last),
    ("week-to-date", Unit::Week, Part::ToDate),
    ("this-month", Unit::Month, Part::This),
    ("last-month", Unit::Month, Part::Last),
    ("month-to-date", Unit::Month, Part::ToDate),
    ("this-quarter", Unit::Quarter, Part::This),
    ("last-quarter", Unit::Quarter, Part::Last),
    ("quarter-to-date", Unit::Quarter, Part::ToDate),
    ("this-year", Unit::Year, Part::This),
    ("last-year", Unit::Year, Part::Last),
    ("year-to-date", Unit::Year, Part::ToDate),
];

/// A text that is not the name of a range, and what was expected in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, but found `{}`", Shown(.found))]
pub struct ParseRangeError {
    expected: Expected,
    found: String,
}

/// The form in which a range was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Month,
    Quarter,
    Year,
    Last,
    Any,
}

/// A named range with days that no [`Day`] represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the range from {start} to {end} is not within {} to {}", Day::MIN, Day::MAX)]
pub struct RangeOutOfBounds {
    start: NaiveDate,
    end: NaiveDate,
}

impl NamedRange {
    /// Returns the calendar month of a text such as `2026-05`.
    ///
    /// # Errors
    /// The text is not a month.
    pub fn month(text: &str) -> Result<Self, ParseRangeError> {
        Self::new(first_of_month(text).map(|first| Name::Calendar(Unit::Month, first)), Expected::Month, text)
    }

    /// Returns the calendar quarter of a text such as `2026-Q2`.
    ///
    /// # Errors
    /// The text is not a quarter.
    pub fn quarter(text: &str) -> Result<Self, ParseRangeError> {
        let quarter = text.split_once("-Q").and_then(|(year, quarter)| {
            let number = digits(quarter, 1).filter(|quarter| (1..=4).contains(quarter))?;
            first_of_month(&format!("{year}-{:02}", 3 * number - 2))
        });
        Self::new(quarter.map(|first| Name::Calendar(Unit::Quarter, first)), Expected::Quarter, text)
    }

    /// Returns the calendar year of a text such as `2026`.
    ///
    /// # Errors
    /// The text is not a year of four digits.
    pub fn year(text: &str) -> Result<Self, ParseRangeError> {
        let first = first_of_month(&format!("{text}-01"));
        Self::new(first.map(|first| Name::Calendar(Unit::Year, first)), Expected::Year, text)
    }

    /// Returns the last days, weeks, months or years, of a text such as `90d`, `12w`, `6mo` or `1y`. Today is the last
    /// day.
    ///
    /// # Errors
    /// The text is not a whole number from 1 with `d`, `w`, `mo` or `y` after it, or the number is too large.
    pub fn last(text: &str) -> Result<Self, ParseRangeError> {
        type Last = fn(u32) -> Name;
        // A `Day` has 16 bits, and 65,536 days are fewer than 180 years.
        const MOST_DAYS: u32 = u16::MAX as u32 + 1;
        const MOST_MONTHS: u32 = 180 * 12;
        const UNITS: [(&str, u32, u32, Last); 4] = [
            ("d", 1, MOST_DAYS, Name::LastDays),
            ("w", 7, MOST_DAYS, Name::LastDays),
            ("mo", 1, MOST_MONTHS, Name::LastMonths),
            ("y", 12, MOST_MONTHS, Name::LastMonths),
        ];
        let name = UNITS.iter().find_map(|(suffix, factor, most, last)| {
            let count = text.strip_suffix(suffix)?;
            let count = digits(count, count.len())?.checked_mul(*factor)?;
            (1..=*most).contains(&count).then(|| last(count))
        });
        Self::new(name, Expected::Last, text)
    }

    fn new(name: Option<Name>, expected: Expected, found: &str) -> Result<Self, ParseRangeError> {
        name.map(Self).ok_or_else(|| ParseRangeError { expected, found: found.to_owned() })
    }

    /// Returns whether the days of the range depend on today.
    #[must_use]
    pub const fn is_relative(self) -> bool {
        !matches!(self.0, Name::Calendar(..))
    }

    /// Returns the days of the range, if `today` is the current day.
    ///
    /// # Errors
    /// A day of the range is before [`Day::MIN`] or after [`Day::MAX`].
    pub fn days(self, today: Day) -> Result<DateRange, RangeOutOfBounds> {
        let today = today.date();
        let (start, end) = match self.0 {
            Name::Calendar(unit, first) => (first, unit.last(first)),
            Name::LastDays(days) => {
                (today.checked_sub_days(Days::new(u64::from(days) - 1)).unwrap_or(NaiveDate::MIN), today)
            }
            Name::LastMonths(months) => {
                let before = today.checked_sub_months(Months::new(months));
                (before.and_then(|before| before.succ_opt()).unwrap_or(NaiveDate::MIN), today)
            }
            Name::Relative(unit, part) => {
                let first = unit.first(today);
                let before = first.pred_opt().unwrap_or(NaiveDate::MIN);
                match part {
                    Part::This => (first, unit.last(first)),
                    Part::Last => (unit.first(before), before),
                    Part::ToDate => (first, today),
                }
            }
        };
        match (Day::from_date(start), Day::from_date(end)) {
            (Ok(start), Ok(end)) => Ok(DateRange { start, end }),
            _ => Err(RangeOutOfBounds { start, end }),
        }
    }
}

/// Returns the day that is today for a query that reads the accounts `read`, at the instant `now`.
///
/// The days of events are those of their accounts' time zones, and so is today. If the accounts have different days at
/// that instant, it is the earliest: every account has begun it, and has finished the day before. An account that
/// `accounts` does not describe has UTC, but counts only if the query names it. If no account counts, today is the day
/// in UTC. Returns the nearest [`Day`] if the clock is before all days or after them.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use trueup_core::model::{Account, Accounts};
/// use trueup_core::query::{AccountFilter, current_day};
///
/// let mut accounts = Accounts::default();
/// accounts.insert(Account { time_zone: "America/Denver".parse()?, ..Account::new("acme") });
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_236_400); // 2026-01-01T03:00:00Z
/// assert_eq!(current_day(&accounts, &AccountFilter::All, now).to_string(), "2025-12-31");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn current_day(accounts: &Accounts, read: &AccountFilter, now: SystemTime) -> Day {
    // The calendar has a date for each of these. Two more days at each end are enough for every time zone.
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let now = now.clamp(SystemTime::UNIX_EPOCH - days(2), SystemTime::UNIX_EPOCH + days(u64::from(u16::MAX) + 3));
    let now = UtcMicros(DateTime::<Utc>::from(now).timestamp_micros());
    let earliest = match read {
        AccountFilter::All => accounts.iter().filter_map(|account| now.local_date(account.time_zone)).min(),
        AccountFilter::Only(keys) => keys.iter().filter_map(|key| now.local_date(accounts.time_zone(key))).min(),
    };
    let date = earliest.or_else(|| now.local_date(Zone::UTC)).unwrap_or_default();
    Day::from_date(date).unwrap_or(if date < Day::MIN.date() { Day::MIN } else { Day::MAX })
}

impl Unit {
    /// Returns the first date of the period that contains `date`.
    fn first(self, date: NaiveDate) -> NaiveDate {
        let first = match self {
            Self::Day => Some(date),
            Self::Week => Some(date.week(chrono::Weekday::Mon).first_day()),
            Self::Month => date.with_day(1),
            Self::Quarter => NaiveDate::from_ymd_opt(date.year(), date.month0() / 3 * 3 + 1, 1),
            Self::Year => NaiveDate::from_ymd_opt(date.year(), 1, 1),
        };
        first.unwrap_or(NaiveDate::MIN)
    }

    /// Returns the last date of the period that begins on `first`.
    fn last(self, first: NaiveDate) -> NaiveDate {
        let next = match self {
            Self::Day => return first,
            Self::Week => first.checked_add_days(Days::new(7)),
            Self::Month => first.checked_add_months(Months::new(1)),
            Self::Quarter => first.checked_add_months(Months::new(3)),
            Self::Year => first.checked_add_months(Months::new(12)),
        };
        next.and_then(|next| next.pred_opt()).unwrap_or(NaiveDate::MAX)
    }
}

/// Returns the number that a text of `length` digits spells.
fn digits(text: &str, length: usize) -> Option<u32> {
    let is_number = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

impl FromStr for NamedRange {
    type Err = ParseRangeError;

    fn from_str(text: &str) -> Result<Self, ParseRangeError> {
        let relative = RELATIVE.iter().find(|(name, ..)| *name == text);
        let relative = relative.map(|(_, unit, part)| Self(Name::Relative(*unit, *part)));
        let forms = [Self::month, Self::quarter, Self::year, Self::last];
        let named = relative.or_else(|| forms.iter().find_map(|read| read(text).ok()));
        named.ok_or_else(|| ParseRangeError { expected: Expected::Any, found: text.to_owned() })
    }
}

impl fmt::Display for NamedRange {
    /// Writes the name so that it is parsed to an equal range.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Name::Calendar(Unit::Year, first) => write!(f, "{:04}", first.year()),
            Name::Calendar(Unit::Quarter, first) => write!(f, "{:04}-Q{}", first.year(), first.month0() / 3 + 1),
            Name::Calendar(_, first) => write!(f, "{}", first.format("%Y-%m")),
            Name::LastDays(days) => write!(f, "{days}d"),
            Name::LastMonths(months) => write!(f, "{months}mo"),
            Name::Relative(unit, part) => {
                let name = RELATIVE.iter().find(|(_, of, which)| (*of, *which) == (unit, part));
                f.write_str(name.map_or("", |(name, ..)| name))
            }
        }
    }
}

text_form!(NamedRange, ParseRangeError);

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Month => f.write_str("a month as YYYY-MM"),
            Self::Quarter => f.write_str("a quarter as YYYY-Qn, such as `2026-Q2`"),
            Self::Year => f.write_str("a year as YYYY"),
            Self::Last => f.write_str("a number of days, weeks, months or years, such as `90d`, `12w`, `6mo` or `1y`"),
            Self::Any => {
                f.write_str("a range: ")?;
                RELATIVE.iter().try_for_each(|(name, ..)| write!(f, "`{name}`, "))?;
                f.write_str("or one such as `2026-05`, `2026-Q2`, `2026`, `90d`, `12w`, `6mo` or `1y`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Account;

    /// A Monday.
    const TODAY: &str = "2026-11-23";

    #[test]
    fn a_name_is_printed_as_it_is_parsed() {
        let other = ["2026-05", "0426-12", "2026-Q1", "2026-Q4", "2026", "90d", "6mo"];
        for name in RELATIVE.iter().map(|(name, ..)| *name).chain(other) {
            assert_eq!(name.parse::<NamedRange>().unwrap().to_string(), name);
        }
        assert_eq!("2w".parse::<NamedRange>(), "14d".parse());
    }

    fn days(name: &str, today: &str) -> String {
        let range = name.parse::<NamedRange>().unwrap().days(today.parse().unwrap());
        range.map_or_else(|error| error.to_string(), |range| range.to_string())
    }

    #[test]
    fn every_name_has_its_days() {
        for (name, expected) in [
            ("2026-05", "2026-05-01 to 2026-05-31"),
            ("2024-02", "2024-02-01 to 2024-02-29"),
            ("2026-12", "2026-12-01 to 2026-12-31"),
            ("2026-Q1", "2026-01-01 to 2026-03-31"),
            ("2026-Q4", "2026-10-01 to 2026-12-31"),
            ("2026", "2026-01-01 to 2026-12-31"),
            ("1d", "2026-11-23 to 2026-11-23"),
            ("90d", "2026-08-26 to 2026-11-23"),
            ("2w", "2026-11-10 to 2026-11-23"),
            ("1mo", "2026-10-24 to 2026-11-23"),
            ("6mo", "2026-05-24 to 2026-11-23"),
            ("1y", "2025-11-24 to 2026-11-23"),
            ("today", "2026-11-23 to 2026-11-23"),
            ("yesterday", "2026-11-22 to 2026-11-22"),
            ("this-week", "2026-11-23 to 2026-11-29"),
            ("last-week", "2026-11-16 to 2026-11-22"),
            ("week-to-date", "2026-11-23 to 2026-11-23"),
            ("this-month", "2026-11-01 to 2026-11-30"),
            ("last-month", "2026-10-01 to 2026-10-31"),
            ("month-to-date", "2026-11-01 to 2026-11-23"),
            ("this-quarter", "2026-10-01 to 2026-12-31"),
            ("last-quarter", "2026-07-01 to 2026-09-30"),
            ("quarter-to-date", "2026-10-01 to 2026-11-23"),
            ("this-year", "2026-01-01 to 2026-12-31"),
            ("last-year", "2025-01-01 to 2025-12-31"),
            ("year-to-date", "2026-01-01 to 2026-11-23"),
        ] {
            assert_eq!(days(name, TODAY), expected, "{name}");
        }
        // The period before the first of a year is in the year before, and each month has its own length.
        assert_eq!(days("last-month", "2026-01-01"), "2025-12-01 to 2025-12-31");
        assert_eq!(days("last-quarter", "2026-03-31"), "2025-10-01 to 2025-12-31");
        assert_eq!(days("last-week", "2026-01-01"), "2025-12-22 to 2025-12-28");
        assert_eq!(days("yesterday", "2024-03-01"), "2024-02-29 to 2024-02-29");
        assert_eq!(days("last-month", "2024-03-31"), "2024-02-01 to 2024-02-29");
        for (name, today, expected) in [
            ("1mo", "2026-03-31", "2026-03-01 to 2026-03-31"),
            ("1mo", "2026-03-29", "2026-03-01 to 2026-03-29"),
            ("1mo", "2026-02-28", "2026-01-29 to 2026-02-28"),
            ("6mo", "2026-08-31", "2026-03-01 to 2026-08-31"),
            ("3mo", "2026-01-15", "2025-10-16 to 2026-01-15"),
            ("1y", "2024-02-29", "2023-03-01 to 2024-02-29"),
            ("4y", "2024-02-29", "2020-03-01 to 2024-02-29"),
            ("12mo", "2026-12-31", "2026-01-01 to 2026-12-31"),
        ] {
            assert_eq!(days(name, today), expected, "{name} on {today}");
        }
    }

    #[test]
    fn today_is_the_earliest_day_of_the_accounts() {
        let mut accounts = Accounts::default();
        for (key, zone) in [("east", "Pacific/Auckland"), ("west", "America/Denver")] {
            accounts.insert(Account { time_zone: zone.parse().unwrap(), ..Account::new(key) });
        }
        // 2026-01-01T03:00:00Z
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_236_400);
        let only = |keys: &[&str]| AccountFilter::Only(keys.iter().map(|key| (*key).to_owned()).collect());
        for (read, expected) in [
            (AccountFilter::All, "2025-12-31"),
            (only(&["east"]), "2026-01-01"),
            (only(&["west"]), "2025-12-31"),
            (only(&["east", "undescribed"]), "2026-01-01"),
            (only(&[]), "2026-01-01"),
        ] {
            assert_eq!(current_day(&accounts, &read, now).to_string(), expected, "{read:?}");
        }
        let none = Accounts::default();
        assert_eq!(current_day(&none, &AccountFilter::All, now).to_string(), "2026-01-01");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(86_400);
        assert_eq!(current_day(&none, &AccountFilter::All, before), Day::MIN);
        let far = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 50);
        assert_eq!(current_day(&none, &AccountFilter::All, far), Day::MAX);
    }

    #[test]
    fn only_names_that_depend_on_today_are_relative() {
        let is_relative = |name: &str| name.parse().map(NamedRange::is_relative);
        for name in ["2026", "2026-05", "2026-Q2"] {
            assert_eq!(is_relative(name), Ok(false), "{name}");
        }
        for name in ["1w", "1mo", "today", "this-year"] {
            assert_eq!(is_relative(name), Ok(true), "{name}");
        }
    }

    #[test]
    fn days_that_no_day_represents_are_refused() {
        let within = "is not within 1970-01-01 to 2149-06-06";
        for (name, today, range) in [
            ("1969", TODAY, "1969-01-01 to 1969-12-31"),
            ("2149", TODAY, "2149-01-01 to 2149-12-31"),
            ("9999-12", TODAY, "9999-12-01 to 9999-12-31"),
            ("yesterday", "1970-01-01", "1969-12-31 to 1969-12-31"),
            ("this-month", "2149-06-06", "2149-06-01 to 2149-06-30"),
            ("65536d", "2149-06-05", "1969-12-31 to 2149-06-05"),
            ("60y", "2026-11-23", "1966-11-24 to 2026-11-23"),
        ] {
            assert_eq!(days(name, today), format!("the range from {range} {within}"));
        }
        assert_eq!(days("65536d", "2149-06-06"), "1970-01-01 to 2149-06-06");
    }

    #[test]
    fn other_texts_are_no_ranges() {
        for text in [
            "",
            "2026-5",
            "2026-13",
            "2026-00",
            "26-05",
            "2026/05",
            "2026-Q0",
            "2026-Q5",
            "2026-q2",
            "2026Q2",
            "2026-Q02",
            "+026",
            "20266",
            "90",
            "0d",
            "0w",
            "-1d",
            "65537d",
            "9999999999999d",
            "dd",
            "90 d",
            "90D",
            "3m",
            "3MO",
            "0mo",
            "2161mo",
            "181y",
            "y",
            "last month",
            "Today",
            "2026-05-01",
            "é",
        ] {
            let error = text.parse::<NamedRange>().unwrap_err().to_string();
            assert!(error.contains("`month-to-date`") && error.ends_with(&format!("but found `{text}`")), "{error}");
        }
        assert_eq!(
            NamedRange::month("2026-5").unwrap_err().to_string(),
            "expected a month as YYYY-MM, but found `2026-5`"
        );
        assert!(NamedRange::quarter("2026").is_err() && NamedRange::year("2026-05").is_err());
        assert!(NamedRange::last("today").is_err() && NamedRange::month("2026").is_err());
    }
}
