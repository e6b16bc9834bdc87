//! Ranges of days, and their sub-ranges by interval.

use crate::Day;
use crate::named::named;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A range of days from `start` to `end`, both included.
///
/// A range that ends before it starts is empty. A query refuses it. The text form is for people, such as
/// `2025-01-30 to 2025-03-02`.
///
/// ```
/// use trueup_core::query::{DateRange, Interval};
///
/// let range = DateRange { start: "2025-01-30".parse()?, end: "2025-03-02".parse()? };
/// assert_eq!(range.days(), 32);
/// let months = range.sub_ranges(Interval::Month);
/// assert_eq!(months.len(), 3);
/// // The first month is clipped to the range.
/// assert_eq!(months[0].start, range.start);
/// # Ok::<(), trueup_core::day::ParseDayError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DateRange {
    /// The first day.
    pub start: Day,
    /// The last day.
    pub end: Day,
}

impl DateRange {
    /// Returns the number of days; 0 if the range is empty.
    #[must_use]
    pub fn days(self) -> u32 {
        (u32::from(self.end.number()) + 1).saturating_sub(u32::from(self.start.number()))
    }

    /// Splits the range at the borders of `interval`. The first and the last sub-range are clipped to the range. An
    /// empty range has no sub-ranges.
    #[must_use]
    pub fn sub_ranges(self, interval: Interval) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        let mut next = Some(self.start);
        while let Some(day) = next.filter(|day| *day <= self.end) {
            match parts.last_mut() {
                Some(last) if interval.has_both(last.start, day) => last.end = day,
                _ => parts.push(Self { start: day, end: day }),
            }
            next = day.next();
        }
        parts
    }
}

impl fmt::Display for DateRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.start, self.end)
    }
}

named! {
    /// The calendar unit by which a query splits its range into sub-ranges.
    ///
    /// Each sub-range is computed as if it were a whole range. The text form of an interval is its name in the HTTP
    /// service.
    ///
    /// ```
    /// use trueup_core::query::Interval;
    ///
    /// assert_eq!("week".parse(), Ok(Interval::Week));
    /// assert_eq!(Interval::Total.to_string(), "total");
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase", try_from = "String")]
    pub enum Interval {
        /// The whole range as one sub-range.
        #[default]
        Total = "total",
        /// Calendar months.
        Month = "month",
        /// Weeks from Monday to Sunday.
        Week = "week",
        /// Single days.
        Day = "day",
    }
}

impl Interval {
    /// Returns whether one sub-range that starts at `first` also contains `day`.
    fn has_both(self, first: Day, day: Day) -> bool {
        match self {
            Self::Total => true,
            Self::Month => first.is_same_month(day),
            Self::Week => first.monday() == day.monday(),
            Self::Day => false,
        }
    }
}

/// A text that is not the name of an interval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an interval (`total`, `month`, `week` or `day`), but found `{}`", crate::Shown(.0))]
pub struct UnknownInterval(pub String);

impl FromStr for Interval {
    type Err = UnknownInterval;

    fn from_str(text: &str) -> Result<Self, UnknownInterval> {
        let known = Self::ALL.into_iter().find(|interval| interval.name() == text);
        known.ok_or_else(|| UnknownInterval(text.to_owned()))
    }
}

impl TryFrom<String> for Interval {
    type Error = UnknownInterval;

    fn try_from(text: String) -> Result<Self, UnknownInterval> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub_ranges_of(start: &str, end: &str, interval: Interval) -> Vec<String> {
        let day = |text: &str| text.parse().unwrap_or(Day::MIN);
        let parts = DateRange { start: day(start), end: day(end) }.sub_ranges(interval);
        parts.iter().map(|part| format!("{}..{}", part.start, part.end)).collect()
    }

    #[test]
    fn sub_ranges_are_clipped_to_the_range() {
        assert_eq!(
            sub_ranges_of("2025-01-30", "2025-03-02", Interval::Month),
            ["2025-01-30..2025-01-31", "2025-02-01..2025-02-28", "2025-03-01..2025-03-02"]
        );
        assert_eq!(
            sub_ranges_of("2026-11-21", "2026-11-23", Interval::Week),
            ["2026-11-21..2026-11-22", "2026-11-23..2026-11-23"]
        );
        assert_eq!(sub_ranges_of("2025-01-01", "2025-01-02", Interval::Day).len(), 2);
        assert_eq!(sub_ranges_of("2025-01-01", "2025-12-31", Interval::Total), ["2025-01-01..2025-12-31"]);
        assert!(sub_ranges_of("2025-01-02", "2025-01-01", Interval::Total).is_empty());
    }
}
