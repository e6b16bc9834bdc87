//! Ranges of days, and how an interval cuts one into sub-ranges.

use crate::Day;
use std::fmt;
use std::str::FromStr;

/// Days from `start` to `end`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DateRange {
    /// The first day.
    pub start: Day,
    /// The last day; not before `start` in any range that a query accepts.
    pub end: Day,
}

impl DateRange {
    /// The number of days, both ends included.
    #[must_use]
    pub fn days(self) -> u32 {
        (u32::from(self.end.number()) + 1).saturating_sub(u32::from(self.start.number()))
    }

    /// The sub-ranges of `interval`, in order; the first and the last are clipped to the range.
    #[must_use]
    pub fn sub_ranges(self, interval: Interval) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        let mut next = Some(self.start);
        while let Some(day) = next.filter(|day| *day <= self.end) {
            match parts.last_mut() {
                Some(last) if interval.holds_together(last.start, day) => last.end = day,
                _ => parts.push(Self { start: day, end: day }),
            }
            next = day.next();
        }
        parts
    }
}

/// How a range is cut; each sub-range is computed as if it alone had been asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interval {
    /// One sub-range: the whole range.
    #[default]
    Total,
    /// Calendar months.
    Month,
    /// Weeks from Monday to Sunday.
    Week,
    /// Single days.
    Day,
}

impl Interval {
    /// Every interval, as the service spells it.
    pub const ALL: [(&'static str, Self); 4] =
        [("total", Self::Total), ("month", Self::Month), ("week", Self::Week), ("day", Self::Day)];

    fn holds_together(self, first: Day, day: Day) -> bool {
        match self {
            Self::Total => true,
            Self::Month => first.is_same_month(day),
            Self::Week => first.monday() == day.monday(),
            Self::Day => false,
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(_, interval)| interval == self).map_or("", |(name, _)| name))
    }
}

/// The text names no interval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an interval (`total`, `month`, `week` or `day`), but found `{}`", crate::Shown(.0))]
pub struct UnknownInterval(pub String);

impl FromStr for Interval {
    type Err = UnknownInterval;

    fn from_str(text: &str) -> Result<Self, UnknownInterval> {
        Self::ALL
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, interval)| *interval)
            .ok_or_else(|| UnknownInterval(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(start: &str, end: &str, interval: Interval) -> Vec<String> {
        let day = |text: &str| text.parse().unwrap_or(Day::MIN);
        let parts = DateRange { start: day(start), end: day(end) }.sub_ranges(interval);
        parts.iter().map(|part| format!("{}..{}", part.start, part.end)).collect()
    }

    #[test]
    fn edges_are_clipped() {
        assert_eq!(
            split("2025-01-30", "2025-03-02", Interval::Month),
            ["2025-01-30..2025-01-31", "2025-02-01..2025-02-28", "2025-03-01..2025-03-02"]
        );
        assert_eq!(
            split("2026-11-21", "2026-11-23", Interval::Week),
            ["2026-11-21..2026-11-22", "2026-11-23..2026-11-23"]
        );
        assert_eq!(split("2025-01-01", "2025-01-02", Interval::Day).len(), 2);
        assert_eq!(split("2025-01-01", "2025-12-31", Interval::Total), ["2025-01-01..2025-12-31"]);
        assert!(split("2025-01-02", "2025-01-01", Interval::Total).is_empty());
    }
}
