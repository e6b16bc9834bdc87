//! The options that say which days a query covers, and what today is.

use crate::exit::Failure;
use crate::notice;
use clap::Args;
use std::time::SystemTime;
use trueup::query::{self, AccountFilter, DateRange, EventsQuery, NamedRange};
use trueup::{Dataset, Day};

/// The options that name a range, in place of its first and its last day.
const NAMED: [&str; 5] = ["month", "quarter", "year", "last", "range"];

/// The days of a query: a first and a last day, or the name of a range. The parser makes sure that exactly one of these
/// two forms is given.
#[derive(Clone, Debug, Default, Args)]
#[group(required = true, multiple = true)]
pub(super) struct RangeArgs {
    /// First day, as YYYY-MM-DD
    #[arg(long, value_name = "DATE", requires = "end", conflicts_with_all = NAMED)]
    start: Option<Day>,

    /// Last day (inclusive), as YYYY-MM-DD
    #[arg(long, value_name = "DATE", requires = "start", conflicts_with_all = NAMED)]
    end: Option<Day>,

    /// A calendar month, in place of --start and --end
    #[arg(long, value_name = "YYYY-MM", value_parser = NamedRange::month, conflicts_with_all = ["quarter", "year", "last", "range"])]
    month: Option<NamedRange>,

    /// A calendar quarter, such as 2026-Q2
    #[arg(long, value_name = "YYYY-Qn", value_parser = NamedRange::quarter, conflicts_with_all = ["year", "last", "range"])]
    quarter: Option<NamedRange>,

    /// A calendar year
    #[arg(long, value_name = "YYYY", value_parser = NamedRange::year, conflicts_with_all = ["last", "range"])]
    year: Option<NamedRange>,

    /// The last days, weeks, months or years, such as 90d, 12w, 6mo or 1y; today is the last day
    #[arg(long, value_name = "SPAN", value_parser = NamedRange::last, conflicts_with = "range")]
    last: Option<NamedRange>,

    /// today, yesterday, this-week, last-week, week-to-date, and the same for month, quarter and year; or a value of
    /// --month, --quarter, --year or --last. this-month is the whole month, month-to-date ends today
    #[arg(long, value_name = "NAME")]
    range: Option<NamedRange>,
}

impl From<DateRange> for RangeArgs {
    fn from(range: DateRange) -> Self {
        Self { start: Some(range.start), end: Some(range.end), ..Self::default() }
    }
}

impl From<NamedRange> for RangeArgs {
    fn from(range: NamedRange) -> Self {
        Self { range: Some(range), ..Self::default() }
    }
}

impl RangeArgs {
    /// Returns the range that is named; `None` if its first and last day are given.
    fn named(&self) -> Option<NamedRange> {
        self.month.or(self.quarter).or(self.year).or(self.last).or(self.range)
    }

    /// Returns the days. `today` is called only if they depend on it.
    ///
    /// # Errors
    /// If the range has days that no dataset can have.
    pub(super) fn days(&self, today: impl FnOnce() -> Day) -> Result<DateRange, Failure> {
        match (self.named(), self.start, self.end) {
            (Some(named), ..) => {
                named.days(if named.is_relative() { today() } else { Day::MIN }).map_err(Failure::request)
            }
            (None, Some(start), Some(end)) => Ok(DateRange { start, end }),
            // The parser refuses this.
            _ => Err(Failure::usage("expected the first and the last day, or the name of a range")),
        }
    }

    /// Returns whether the range is given by its name. A query of such a range may be longer than the attribution
    /// window: `--year 2025` means the year.
    pub(super) const fn is_named(&self) -> bool {
        self.month.is_some()
            || self.quarter.is_some()
            || self.year.is_some()
            || self.last.is_some()
            || self.range.is_some()
    }

    /// Tells a person at a terminal which days a range such as `month-to-date` has.
    pub(super) fn note_days(&self, query: &EventsQuery) {
        if self.named().is_some_and(NamedRange::is_relative) {
            notice::aside(format_args!("the range is {}", query.range()));
        }
    }
}

/// What today is: the day that the user gives, or else that of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Today {
    given: Option<Day>,
    /// Read once, so that all queries of a batch have the same clock.
    now: SystemTime,
}

impl Today {
    /// Reads the clock.
    pub(super) fn new(given: Option<Day>) -> Self {
        Self { given, now: SystemTime::now() }
    }

    /// Returns the day for a query that reads these accounts: the given one, or else that of the clock in their time
    /// zones, the earliest if they differ.
    pub(super) fn of(&self, dataset: &Dataset, accounts: &AccountFilter) -> Day {
        self.given.unwrap_or_else(|| query::current_day(dataset.accounts(), accounts, self.now))
    }
}

/// Warns about ranges of a query in which the dataset has nothing. `prefix` names the query if there are several.
pub(super) fn warn_about_days(prefix: &str, query: &EventsQuery, dataset: &Dataset) {
    for empty in dataset.empty_ranges(query) {
        notice::warning(format_args!("{prefix}{empty}"));
    }
}
