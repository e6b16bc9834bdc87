//! A request for benchmarks: a month, metrics, dimensions and filters.

use super::{BenchmarkDimension, BenchmarkMetric};
use crate::day::first_of_month;
use crate::query::DateRange;
use crate::{Day, Shown, dictionary};
use chrono::{Datelike, Months, NaiveDate};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// The metrics, dimensions and filters of a request for benchmarks.
///
/// ```
/// use trueup_core::benchmarks::{BenchmarkDimension, BenchmarkMetric, BenchmarkSelection};
///
/// let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], [BenchmarkDimension::AttributionChannel])
///     .filter(BenchmarkDimension::CustomerStatus, "New Customer");
/// assert_eq!(selection.filters().len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchmarkSelection {
    metrics: Vec<BenchmarkMetric>,
    dimensions: Vec<BenchmarkDimension>,
    filters: BTreeMap<BenchmarkDimension, String>,
}

impl Default for BenchmarkSelection {
    /// Selects every metric, without dimensions or filters.
    fn default() -> Self {
        Self::new(BenchmarkMetric::ALL, [])
    }
}

impl BenchmarkSelection {
    /// Returns a selection of metrics and of dimensions to group by, both in the order in which rows show them.
    /// Duplicates are dropped.
    pub fn new(
        metrics: impl IntoIterator<Item = BenchmarkMetric>,
        dimensions: impl IntoIterator<Item = BenchmarkDimension>,
    ) -> Self {
        Self { metrics: distinct(metrics), dimensions: distinct(dimensions), filters: BTreeMap::new() }
    }

    /// Keeps the events whose dimension has that value and, if spend has the dimension, the spend with that value; null
    /// is the empty text. Replaces an earlier filter on the dimension.
    #[must_use]
    pub fn filter(mut self, dimension: BenchmarkDimension, value: impl Into<String>) -> Self {
        self.filters.insert(dimension, value.into());
        self
    }

    /// Returns the metrics, in order.
    #[must_use]
    pub fn metrics(&self) -> &[BenchmarkMetric] {
        &self.metrics
    }

    /// Returns the dimensions to group by, in order.
    #[must_use]
    pub fn dimensions(&self) -> &[BenchmarkDimension] {
        &self.dimensions
    }

    /// Returns the filtered dimensions with the value of each.
    #[must_use]
    pub const fn filters(&self) -> &BTreeMap<BenchmarkDimension, String> {
        &self.filters
    }
}

/// The request text for the month before the current one, up to the same day of the month.
const PREVIOUS_TO_DATE: &str = "previous-mtd";

/// A calendar month, written `YYYY-MM` and held by its first day.
///
/// ```
/// use trueup_core::benchmarks::Month;
///
/// let month: Month = "2025-02".parse()?;
/// assert!(month > "2024-12".parse()?);
/// # Ok::<(), trueup_core::benchmarks::BenchmarkFault>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month(NaiveDate);

/// The days of one calendar month that benchmarks cover: all of them, or the first ones up to some day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BenchmarkPeriod {
    /// The calendar month.
    pub month: Month,
    /// The days, from the first day of the month on.
    pub range: DateRange,
}

impl Month {
    /// Returns the month of a day.
    #[must_use]
    pub fn of(day: Day) -> Self {
        Self(day.date().with_day(1).unwrap_or_default())
    }

    /// Returns the days of the month that a [`Day`] can represent; `None` if there are none.
    #[must_use]
    pub fn days(self) -> Option<DateRange> {
        let last = self.0.checked_add_months(Months::new(1))?.pred_opt()?;
        let start = Day::from_date(self.0).ok()?;
        Some(DateRange { start, end: Day::from_date(last).unwrap_or(Day::MAX) })
    }

    fn previous(self) -> Self {
        Self(self.0.checked_sub_months(Months::new(1)).unwrap_or_default())
    }
}

impl BenchmarkPeriod {
    /// Reads the `month` of a request.
    ///
    /// | text | days |
    /// |---|---|
    /// | none | the current month up to `today`, included |
    /// | `YYYY-MM` | that month; the current month up to `today`, included |
    /// | `previous-mtd` | the previous month up to the same day of the month, or to its end if it is shorter |
    ///
    /// # Errors
    /// Returns a fault if the text is not a month that a [`Day`] can represent, or if the month has not begun.
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
        let last = u32::from(whole.start.number()) + days - 1;
        let last = u16::try_from(last).map_or(Day::MAX, Day::from_number);
        Ok(Self { month, range: DateRange { start: whole.start, end: last.min(whole.end).min(today) } })
    }

    /// Returns the period with exactly these days; `None` if there is none.
    ///
    /// ```
    /// use trueup_core::benchmarks::BenchmarkPeriod;
    /// use trueup_core::query::DateRange;
    ///
    /// let of = |start: &str, end: &str| -> Result<_, trueup_core::day::ParseDayError> {
    ///     let range = DateRange { start: start.parse()?, end: end.parse()? };
    ///     Ok(BenchmarkPeriod::of_range(range, "2025-03-15".parse()?).is_some())
    /// };
    /// assert!(of("2025-01-01", "2025-01-31")? && of("2025-03-01", "2025-03-15")? && of("2025-02-01", "2025-02-15")?);
    /// assert!(!of("2025-01-01", "2025-01-15")? && !of("2025-03-01", "2025-03-31")?);
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
    /// ```
    #[must_use]
    pub fn of_range(range: DateRange, today: Day) -> Option<Self> {
        let month = Month::of(range.start).to_string();
        let periods = [month.as_str(), PREVIOUS_TO_DATE].map(|text| Self::read(Some(text), today));
        periods.into_iter().filter_map(Result::ok).find(|period| period.range == range)
    }

    /// Returns whether the period is the whole month.
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
        write!(f, "{}", self.0.format("%Y-%m"))
    }
}

impl FromStr for Month {
    type Err = BenchmarkFault;

    fn from_str(text: &str) -> Result<Self, BenchmarkFault> {
        first_of_month(text).map(Self).ok_or_else(|| invalid(text))
    }
}

/// Reads a request from its texts: field names (none selects every metric), pairs of a filtered field and its value,
/// and the month as [`BenchmarkPeriod::read`] does.
///
/// # Errors
/// Returns the first fault in this order: no metric among the fields, a bad month, a field without benchmarks; then the
/// first filter that is on no dimension of benchmarks, or that gives a dimension a second value.
///
/// ```
/// use trueup_core::benchmarks::{self, BenchmarkMetric};
///
/// let (period, selection) = benchmarks::read(&["bookRate", "customerStatus"], &[], None, "2025-03-15".parse()?)?;
/// assert_eq!(period.range.days(), 15);
/// assert_eq!(selection.metrics(), [BenchmarkMetric::BookRate]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    fields: &[&str],
    filters: &[(&str, &str)],
    month: Option<&str>,
    today: Day,
) -> Result<(BenchmarkPeriod, BenchmarkSelection), BenchmarkFault> {
    if !fields.is_empty() && fields.iter().all(|name| dictionary::metric(name).is_none()) {
        return Err(BenchmarkFault::MissingMetric);
    }
    let period = BenchmarkPeriod::read(month, today)?;
    let mut selection = if fields.is_empty() { BenchmarkSelection::default() } else { read_fields(fields)? };
    for (name, value) in filters {
        let dimension =
            BenchmarkDimension::from_name(name).ok_or_else(|| BenchmarkFault::Filter { name: (*name).to_owned() })?;
        let second = (*value).to_owned();
        match selection.filters.get(&dimension) {
            Some(first) if *first != second => {
                return Err(BenchmarkFault::SeveralValues { dimension, first: first.clone(), second });
            }
            _ => selection = selection.filter(dimension, second),
        }
    }
    Ok((period, selection))
}

fn read_fields(fields: &[&str]) -> Result<BenchmarkSelection, BenchmarkFault> {
    let (mut metrics, mut dimensions) = (Vec::new(), Vec::new());
    for name in fields {
        if let Some(metric) = BenchmarkMetric::from_name(name) {
            metrics.push(metric);
        } else if let Some(dimension) = BenchmarkDimension::from_name(name) {
            dimensions.push(dimension);
        } else {
            return Err(BenchmarkFault::Field { name: (*name).to_owned() });
        }
    }
    Ok(BenchmarkSelection::new(metrics, dimensions))
}

fn distinct<T: Copy + Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    values.into_iter().filter(|value| seen.insert(*value)).collect()
}

/// The reason why a request for benchmarks is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BenchmarkFault {
    /// The request names fields, but no metric.
    #[error(
        "expected at least one metric among the fields; those with benchmarks are {}",
        BenchmarkMetric::all_names()
    )]
    MissingMetric,
    /// The text is not a month that data can have.
    #[error("expected a month as YYYY-MM from 1970-01 on, or `previous-mtd`, but found `{}`", Shown(.found))]
    InvalidMonth {
        /// The text of the request.
        found: String,
    },
    /// The month has not begun.
    #[error("the month `{month}` has not begun; the latest that can be asked for is `{current}`")]
    FutureMonth {
        /// The month of the request.
        month: Month,
        /// The current month.
        current: Month,
    },
    /// A field has no benchmarks.
    #[error(
        "there are no benchmarks of or by `{}`; metrics with benchmarks are {}, and dimensions {}",
        Shown(.name), BenchmarkMetric::all_names(), BenchmarkDimension::all_names()
    )]
    Field {
        /// The name of the field.
        name: String,
    },
    /// A filter is on a field that does not filter benchmarks.
    #[error("benchmarks cannot be filtered on `{}`; they can be on {}", Shown(.name), BenchmarkDimension::all_names())]
    Filter {
        /// The name of the field.
        name: String,
    },
    /// A dimension is filtered on two different values.
    #[error(
        "benchmarks are filtered on one value of a dimension, but `{dimension}` was given `{}` and `{}`; give \
         one of them",
        Shown(.first), Shown(.second)
    )]
    SeveralValues {
        /// The dimension.
        dimension: BenchmarkDimension,
        /// The first value.
        first: String,
        /// A later value.
        second: String,
    },
}

impl BenchmarkFault {
    /// Returns whether the fault is a field or a filter that benchmarks do not support.
    #[must_use]
    pub const fn is_not_benchmarkable(&self) -> bool {
        matches!(self, Self::Field { .. } | Self::Filter { .. } | Self::SeveralValues { .. })
    }
}
