//! The days of a report, and the earlier days that it compares them with.

use crate::ReportError;
use trueup::Day;
use trueup::benchmarks::Month;
use trueup::query::{ComparisonRange, DateRange};

/// The number of months of the trend before that of the report, so that the same month a year earlier is the first.
const TREND_MONTHS: u32 = 12;

/// The number of months whose leads the cohorts show.
const COHORT_MONTHS: u32 = 12;

/// The names of the months, from January on.
pub const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The days of a report.
#[derive(Clone, Debug)]
pub(crate) struct ReportDays {
    /// The days: a calendar month, or its first days.
    pub(crate) range: DateRange,
    /// `May 2026`, or `1 to 20 May 2026`.
    pub(crate) name: String,
    /// The first and the last day of the data.
    pub(crate) data: DateRange,
    /// The same days of the month before.
    pub(crate) month_before: EarlierDays,
    /// The same days a year earlier.
    pub(crate) year_before: EarlierDays,
}

/// Earlier days to compare those of the report with.
#[derive(Clone, Debug)]
pub(crate) struct EarlierDays {
    /// `April 2026`, or `1 to 20 April 2026`.
    pub(crate) name: String,
    /// How a query asks for the comparison; `None` if the data begin after these days.
    pub(crate) compare: Option<ComparisonRange>,
    /// Whether the data begin after the first of these days, and not after the last.
    pub(crate) is_partial: bool,
}

impl ReportDays {
    /// Returns the days of a report about a month, up to the day `through` if it is given.
    ///
    /// # Errors
    /// The dataset has neither events nor spend, its first and last day are both before or both after the days of the
    /// report, or `through` is not in the month.
    pub(crate) fn new(data: Option<DateRange>, month: DateRange, through: Option<Day>) -> Result<Self, ReportError> {
        let data = data.ok_or(ReportError::Empty)?;
        let end = through.unwrap_or(month.end);
        if end < month.start || month.end < end {
            return Err(ReportError::OutsideOfMonth { month, end });
        }
        let range = DateRange { start: month.start, end };
        if range.end < data.start || data.end < range.start {
            return Err(ReportError::NoData { range, data });
        }
        let earlier = |whole: Option<DateRange>, usual: ComparisonRange| EarlierDays::new(range, whole, usual, data);
        Ok(Self {
            range,
            name: name(range),
            data,
            month_before: earlier(months_before(month.start, 1), ComparisonRange::PreviousPeriod),
            year_before: earlier(months_before(month.start, 12), ComparisonRange::PreviousYear),
        })
    }

    /// Returns whether the report covers the whole month.
    pub(crate) fn is_whole_month(&self) -> bool {
        whole_month(self.range.start) == Some(self.range)
    }

    /// Returns whether the data end before the last day of the report.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.data.end < self.range.end
    }

    /// Returns the months of the trend: that of the report and [`TREND_MONTHS`] before it, from the first one that has
    /// data.
    pub(crate) fn trend(&self) -> DateRange {
        self.last_months(TREND_MONTHS)
    }

    /// Returns the months of the cohorts, from the first one that has data.
    pub(crate) fn cohorts(&self) -> DateRange {
        self.last_months(COHORT_MONTHS - 1)
    }

    fn last_months(&self, before: u32) -> DateRange {
        let first = months_before(self.range.start, before).map_or(Day::MIN, |month| month.start);
        let with_data = whole_month(self.data.start).map_or(Day::MIN, |month| month.start);
        DateRange { start: first.max(with_data).min(self.range.start), end: self.range.end }
    }
}

impl EarlierDays {
    /// Returns the days of the month `whole` that are the same as those of `range`. `usual` is how a query asks for
    /// them in most cases.
    fn new(range: DateRange, whole: Option<DateRange>, usual: ComparisonRange, data: DateRange) -> Self {
        let Some(whole) = whole else {
            return Self { name: "an earlier month".to_owned(), compare: None, is_partial: false };
        };
        let end = if whole_month(range.start) == Some(range) {
            whole.end
        } else {
            let days = range.end.number() - range.start.number();
            Day::from_number(whole.start.number().saturating_add(days)).min(whole.end)
        };
        let same = DateRange { start: whole.start, end };
        let is_usual = usual.range(range).is_ok_and(|usual| usual == same);
        let compare = if is_usual { usual } else { ComparisonRange::Range(same) };
        Self {
            name: name(same),
            compare: (data.start <= same.end).then_some(compare),
            is_partial: same.start < data.start && data.start <= same.end,
        }
    }
}

/// Returns the calendar month of a day.
fn whole_month(day: Day) -> Option<DateRange> {
    Month::of(day).days()
}

/// Returns the calendar month that is `months` before the one of a day; `None` if it is before all days.
#[must_use]
pub fn months_before(day: Day, months: u32) -> Option<DateRange> {
    let mut month = whole_month(day)?;
    for _ in 0..months {
        month = whole_month(Day::from_number(month.start.number().checked_sub(1)?))?;
    }
    Some(month)
}

/// Returns the month of a day in words: `May 2026`.
pub(crate) fn month_name(day: Day) -> String {
    let text = day.month();
    let parts = text.split_once('-').and_then(|(year, month)| {
        let number: usize = month.parse().ok()?;
        Some(format!("{} {year}", MONTH_NAMES.get(number.checked_sub(1)?)?))
    });
    parts.unwrap_or(text)
}

/// Returns the first days of a month in words: `May 2026`, or `1 to 20 May 2026`.
fn name(range: DateRange) -> String {
    let month = month_name(range.start);
    if whole_month(range.start) == Some(range) {
        return month;
    }
    match range.end.number() - range.start.number() + 1 {
        1 => format!("1 {month}"),
        days => format!("1 to {days} {month}"),
    }
}
