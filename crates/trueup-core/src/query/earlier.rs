//! The range that a query is compared with, and the columns in which an answer shows the comparison.

use super::DateRange;
use crate::definitions::Definitions;
use crate::dictionary::Formula;
use crate::text::text_form;
use crate::{Day, Shown};
use chrono::{Datelike, Days, Months, NaiveDate};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The range that a [comparison](super::EventsQuery::compare) takes the earlier values from.
///
/// The text form is `previous-period`, `previous-year`, or two days such as `2025-01-01..2025-01-31`.
///
/// ```
/// use trueup_core::query::{DateRange, ComparisonRange};
///
/// let quarter = DateRange { start: "2026-04-01".parse()?, end: "2026-06-30".parse()? };
/// let before: ComparisonRange = "previous-period".parse()?;
/// assert_eq!(before.range(quarter)?.to_string(), "2026-01-01 to 2026-03-31");
/// assert_eq!(ComparisonRange::PreviousYear.range(quarter)?.to_string(), "2025-04-01 to 2025-06-30");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ComparisonRange {
    /// The same number of days directly before or, if the range is whole calendar months, the same number of whole
    /// months before.
    PreviousPeriod,
    /// The same days one year earlier. 29 February becomes 28 February.
    PreviousYear,
    /// These days. They may overlap the range that is asked for, and even come after it.
    Range(DateRange),
}

/// A text that names no range to compare with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `previous-period`, `previous-year`, or two days from {} to {} such as `2025-01-01..2025-01-31`, but found \
     `{}`",
    Day::MIN, Day::MAX, Shown(.0)
)]
pub struct ParseComparisonRangeError(pub String);

/// A range to compare with that begins before the first [`Day`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the range to compare with would begin on {start}, but days begin on {}; compare with another range", Day::MIN)]
pub struct TooEarly {
    /// The first day that the range would have.
    pub start: NaiveDate,
}

impl ComparisonRange {
    /// Returns the days to compare `range` with.
    ///
    /// # Errors
    /// The days would begin before [`Day::MIN`].
    pub fn range(self, range: DateRange) -> Result<DateRange, TooEarly> {
        let (start, end) = (range.start.date(), range.end.date());
        let months_before = |date: NaiveDate, months| date.checked_sub_months(Months::new(months));
        let days_before = |date: NaiveDate, days| date.checked_sub_days(Days::new(u64::from(days)));
        let (start, end) = match self {
            Self::Range(range) => return Ok(range),
            Self::PreviousYear => (months_before(start, 12), months_before(end, 12)),
            Self::PreviousPeriod => {
                let start = match whole_months(start, end) {
                    Some(months) => months_before(start, months),
                    None => days_before(start, range.days()),
                };
                (start, days_before(range.start.date(), 1))
            }
        };
        // No day of this crate is near the bounds of `NaiveDate`.
        let (start, end) = (start.unwrap_or(NaiveDate::MIN), end.unwrap_or(NaiveDate::MIN));
        match (Day::from_date(start), Day::from_date(end)) {
            (Ok(start), Ok(end)) => Ok(DateRange { start, end }),
            _ => Err(TooEarly { start }),
        }
    }
}

/// Returns the number of calendar months from `start` to `end`, if the range is whole ones.
fn whole_months(start: NaiveDate, end: NaiveDate) -> Option<u32> {
    let after = end.succ_opt()?;
    let number = |date: NaiveDate| date.year() * 12 + date.month0().cast_signed();
    let is_whole = start.day() == 1 && after.day() == 1;
    u32::try_from(number(after) - number(start)).ok().filter(|_| is_whole)
}

impl FromStr for ComparisonRange {
    type Err = ParseComparisonRangeError;

    fn from_str(text: &str) -> Result<Self, ParseComparisonRangeError> {
        let days = || {
            let (start, end) = text.split_once("..")?;
            Some(DateRange { start: start.parse().ok()?, end: end.parse().ok()? })
        };
        match text {
            "previous-period" => Ok(Self::PreviousPeriod),
            "previous-year" => Ok(Self::PreviousYear),
            _ => days().map(Self::Range).ok_or_else(|| ParseComparisonRangeError(text.to_owned())),
        }
    }
}

impl fmt::Display for ComparisonRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PreviousPeriod => f.write_str("previous-period"),
            Self::PreviousYear => f.write_str("previous-year"),
            Self::Range(DateRange { start, end }) => write!(f, "{start}..{end}"),
        }
    }
}

text_form!(ComparisonRange, ParseComparisonRangeError);

/// What one column of a comparison shows of a metric. The name of the column is the name of the metric with the
/// [suffix](Self::suffix).
///
/// ```
/// use trueup_core::query::ComparedColumn;
///
/// assert_eq!(ComparedColumn::split("bookRate.mixEffect"), Some(("bookRate", ComparedColumn::MixEffect)));
/// assert_eq!(ComparedColumn::split("leads"), Some(("leads", ComparedColumn::Current)));
/// // Only a ratio has effects.
/// assert_eq!(ComparedColumn::split("leads.mixEffect"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComparedColumn {
    /// The value in the range that is asked for.
    Current,
    /// The value in the earlier range.
    Previous,
    /// The current value minus the previous one.
    Change,
    /// The change divided by the previous value; null if that is 0.
    Ratio,
    /// The part of the change of the total ratio that comes from a change of the group's own ratio.
    RateEffect,
    /// The part of the change of the total ratio that comes from a change of the group's share in the denominator.
    MixEffect,
}

impl ComparedColumn {
    /// The columns of every metric, then those of ratios.
    pub(crate) const ALL: [Self; 6] =
        [Self::Current, Self::Previous, Self::Change, Self::Ratio, Self::RateEffect, Self::MixEffect];
    /// The number of columns of a metric that is no ratio of two sums.
    const OF_OTHERS: usize = 4;

    /// Returns the columns of a metric with a formula, in order.
    #[must_use]
    pub fn of(formula: Formula) -> &'static [Self] {
        match formula {
            Formula::Ratio { .. } => &Self::ALL,
            Formula::Amount(_) | Formula::Percentile { .. } => &Self::ALL[..Self::OF_OTHERS],
        }
    }

    /// Returns what the name of the column has after the name of the metric.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Current => "",
            Self::Previous => ".previous",
            Self::Change => ".change",
            Self::Ratio => ".ratio",
            Self::RateEffect => ".rateEffect",
            Self::MixEffect => ".mixEffect",
        }
    }

    /// Returns the name of a metric and what a column of a comparison shows of it; `None` if no metric has a column of
    /// that name.
    #[must_use]
    pub fn split(column: &str) -> Option<(&str, Self)> {
        Self::split_with(column, &Definitions::default())
    }

    /// Returns what [`split`](Self::split) does, where the metric may be one of `definitions`.
    #[must_use]
    pub fn split_with<'a>(column: &'a str, definitions: &Definitions) -> Option<(&'a str, Self)> {
        Self::ALL.into_iter().find_map(|part| {
            let name = column.strip_suffix(part.suffix())?;
            let formula = definitions.formula_kind(name)?;
            Self::of(formula).contains(&part).then_some((name, part))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(earlier: &str, start: &str, end: &str) -> String {
        let day = |text: &str| text.parse().unwrap_or(Day::MAX);
        let range =
            earlier.parse::<ComparisonRange>().map(|it| it.range(DateRange { start: day(start), end: day(end) }));
        range
            .map_or_else(|error| error.to_string(), |range| range.map_or_else(|it| it.to_string(), |it| it.to_string()))
    }

    #[test]
    fn the_previous_period_has_as_many_days_or_whole_months() {
        for (start, end, before) in [
            ("2026-05-01", "2026-05-31", "2026-04-01 to 2026-04-30"),
            ("2026-03-01", "2026-03-31", "2026-02-01 to 2026-02-28"),
            ("2026-01-01", "2026-03-31", "2025-10-01 to 2025-12-31"),
            ("2024-02-01", "2024-02-29", "2024-01-01 to 2024-01-31"),
            ("2025-01-01", "2025-12-31", "2024-01-01 to 2024-12-31"),
            // The range is not whole months: the same number of days before it.
            ("2024-02-01", "2024-02-28", "2024-01-04 to 2024-01-31"),
            ("2026-05-02", "2026-05-31", "2026-04-02 to 2026-05-01"),
            ("2026-05-15", "2026-05-15", "2026-05-14 to 2026-05-14"),
        ] {
            assert_eq!(compared("previous-period", start, end), before);
        }
    }

    #[test]
    fn the_previous_year_has_the_same_days() {
        for (start, end, before) in [
            ("2026-05-01", "2026-05-31", "2025-05-01 to 2025-05-31"),
            ("2024-02-29", "2024-03-01", "2023-02-28 to 2023-03-01"),
            ("2025-02-01", "2025-02-28", "2024-02-01 to 2024-02-28"),
        ] {
            assert_eq!(compared("previous-year", start, end), before);
        }
    }

    #[test]
    fn days_before_the_first_are_refused() {
        let refused = "the range to compare with would begin on 1969-12-31, but days begin on 1970-01-01; compare with \
                       another range";
        assert_eq!(compared("previous-period", "1970-01-02", "1970-01-03"), refused);
        assert_eq!(compared("previous-year", "1970-12-31", "1971-01-03"), refused);
        assert_eq!(compared("1970-01-01..1970-01-02", "1970-01-01", "1970-01-03"), "1970-01-01 to 1970-01-02");
    }

    #[test]
    fn texts_are_read_and_written() {
        for text in ["previous-period", "previous-year", "2025-01-01..2025-01-31"] {
            assert_eq!(text.parse::<ComparisonRange>().map(|earlier| earlier.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "previous", "2025-01-01", "2025-01-01..", "2025-01-01..2025-02-30", "1969-01-01..2025-01-01"] {
            assert_eq!(text.parse::<ComparisonRange>(), Err(ParseComparisonRangeError(text.to_owned())));
        }
        assert_eq!(
            ParseComparisonRangeError("last".to_owned()).to_string(),
            "expected `previous-period`, `previous-year`, or two days from 1970-01-01 to 2149-06-06 such as \
             `2025-01-01..2025-01-31`, but found `last`"
        );
    }
}
