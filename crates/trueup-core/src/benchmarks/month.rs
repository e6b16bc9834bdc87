//! Calendar months, and the days of one that benchmarks cover.

use super::BenchmarkFault;
use crate::Day;
use crate::query::DateRange;
use chrono::{Datelike, Months, NaiveDate};
use std::fmt;
use std::str::FromStr;

/// The month before the current one, up to the same day of the month.
const PREVIOUS_TO_DATE: &str = "previous-mtd";

/// A calendar month, `YYYY-MM`.
///
/// ```
/// use trueup_core::benchmarks::Month;
///
/// let month: Month = "2025-02".parse()?;
/// assert!(month > "2024-12".parse()?);
/// # Ok::<(), trueup_core::benchmarks::BenchmarkFault>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    /// From 0 to 9999.
    year: i32,
    /// From 1 to 12.
    month: u32,
}

/// The days of one calendar month that benchmarks cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BenchmarkPeriod {
    /// The month.
    pub month: Month,
    /// The days: from the first of the month.
    pub range: DateRange,
}

impl Month {
    /// The month of a day.
    #[must_use]
    pub fn of(day: Day) -> Self {
        Self { year: day.date().year(), month: day.date().month() }
    }

    /// The days of the month that data can have; `None` if there is none.
    #[must_use]
    pub fn days(self) -> Option<DateRange> {
        let first = NaiveDate::from_ymd_opt(self.year, self.month, 1)?;
        let last = first.checked_add_months(Months::new(1))?.pred_opt()?;
        let start = Day::from_date(first).ok()?;
        Some(DateRange { start, end: Day::from_date(last).unwrap_or(Day::MAX) })
    }

    fn previous(self) -> Self {
        match self.month {
            1 => Self { year: self.year - 1, month: 12 },
            month => Self { year: self.year, month: month - 1 },
        }
    }
}

impl BenchmarkPeriod {
    /// The days that `text` asks for: those of a month `YYYY-MM`; of `previous-mtd`, the month before, up to the same day of the
    /// month or to its end, if it is shorter; of no text, the current month. The current month runs to `today`, today included.
    ///
    /// # Errors
    /// The text is no month that data can have, or a month that has not begun.
    pub fn read(text: Option<&str>, today: Day) -> Result<Self, BenchmarkFault> {
        let current = Month::of(today);
        let (month, days) = match text {
            None => (current, u32::from(u16::MAX)),
            Some(PREVIOUS_TO_DATE) => (current.previous(), today.date().day()),
            Some(text) => (text.parse()?, u32::from(u16::MAX)),
        };
        if month > current {
            return Err(BenchmarkFault::FutureMonth { month, current });
        }
        let whole = month.days().ok_or_else(|| invalid(text.unwrap_or_default()))?;
        let asked = u32::from(whole.start.number()) + days - 1;
        let last = u16::try_from(asked).map_or(Day::MAX, Day::from_number);
        Ok(Self { month, range: DateRange { start: whole.start, end: last.min(whole.end).min(today) } })
    }

    /// Whether the period is all of its month.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.month.days() == Some(self.range)
    }
}

fn invalid(found: &str) -> BenchmarkFault {
    BenchmarkFault::InvalidMonth { found: found.to_owned() }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

impl FromStr for Month {
    type Err = BenchmarkFault;

    fn from_str(text: &str) -> Result<Self, BenchmarkFault> {
        let digits = |part: &str, len| part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit());
        let (year, month) = text
            .split_once('-')
            .filter(|(year, month)| digits(year, 4) && digits(month, 2))
            .ok_or_else(|| invalid(text))?;
        let year = year.parse().map_err(|_| invalid(text))?;
        let month = month.parse().ok().filter(|month| (1..=12).contains(month)).ok_or_else(|| invalid(text))?;
        Ok(Self { year, month })
    }
}

#[cfg(test)]
mod tests;
