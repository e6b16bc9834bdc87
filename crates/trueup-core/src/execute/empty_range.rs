//! Finds the ranges of a query in which a dataset has nothing.

use crate::query::{AccountFilter, DateRange, EventsQuery};
use crate::{Dataset, Error, Execution, Value};
use std::fmt;

/// A range of a query in which the dataset has nothing of what the query counts. Its [`Display`](fmt::Display) says so
/// in words for people, and which days the dataset has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmptyRange {
    /// The range.
    pub range: DateRange,
    /// Whether it is the range that the query compares with, so that every earlier value is 0.
    pub is_compared: bool,
    /// The days from the first to the last event or spend; `None` if there are none.
    pub data: Option<DateRange>,
    /// Whether the days are those of the accounts that the query names.
    pub is_of_accounts: bool,
    /// Whether the days are those of events alone, because no metric of the query is made of spend.
    pub is_of_events: bool,
}

impl Dataset {
    /// Returns the first and the last day on which some accounts have an event, or spend, clicks or impressions; `None`
    /// if they have none.
    ///
    /// # Errors
    /// As [`Dataset::run`].
    pub fn days_of<K: Into<String>>(
        &self,
        accounts: impl IntoIterator<Item = K>,
        execution: &Execution,
    ) -> Result<Option<DateRange>, Error> {
        let accounts = AccountFilter::Only(accounts.into_iter().map(Into::into).collect());
        self.read_days(accounts, &["date", "eventCount", "clicks"], execution)
    }

    /// Returns the first and the last day of the rows that a query of `fields` has; the first one is `date`.
    fn read_days(
        &self,
        accounts: AccountFilter,
        fields: &[&str],
        execution: &Execution,
    ) -> Result<Option<DateRange>, Error> {
        let Some(all) = self.date_range() else { return Ok(None) };
        let query = EventsQuery::new(fields.iter().copied(), all.start, all.end).allow_long_total();
        // A limit is that of the answer to another query, and so is its progress.
        let execution = Execution { max_rows: None, progress: None, ..execution.clone() };
        let answer = self.run(&EventsQuery { accounts, ..query }, execution)?;
        let day = |row: usize| match answer.value(row, "date") {
            Some(Value::Text(text)) => text.parse().ok(),
            _ => None,
        };
        let last = answer.len().checked_sub(1);
        Ok(day(0).zip(last.and_then(day)).map(|(start, end)| DateRange { start, end }))
    }

    /// Returns the ranges of a query that lie before or after all that the query counts, in the accounts that it reads:
    /// the range that is asked for, then the one of a [comparison](EventsQuery::compare). If no metric is made of
    /// spend, only events count. Rows are read only if the statistics of the row groups do not show that there is no
    /// such range.
    ///
    /// # Errors
    /// As [`Dataset::run`].
    ///
    /// ```
    /// use trueup_core::Execution;
    /// use trueup_core::dataset::{Dataset, Tables};
    /// use trueup_core::query::EventsQuery;
    ///
    /// let day = "2025-01-01".parse()?;
    /// let (dataset, query) = (Dataset::from_tables(&Tables::default())?, EventsQuery::new(["leads"], day, day));
    /// let empty = dataset.empty_ranges(&query, &Execution::default())?;
    /// assert_eq!(empty[0].to_string(), "the dataset has no events");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn empty_ranges(&self, query: &EventsQuery, execution: &Execution) -> Result<Vec<EmptyRange>, Error> {
        let is_of_events = !self.plan(query)?.needs_spend();
        let accounts = &query.accounts;
        let earlier = query.earlier_range()?;
        let is_outside = |range: &DateRange, data: Option<DateRange>| {
            data.is_none_or(|data| range.end < data.start || data.end < range.start)
        };
        let mut data = self.days_by_statistics(accounts, !is_of_events);
        let is_of_accounts = *accounts != AccountFilter::All;
        if is_of_accounts && [Some(query.range()), earlier].iter().flatten().any(|range| is_outside(range, data)) {
            let fields: &[&str] =
                if is_of_events { &["date", "eventCount"] } else { &["date", "eventCount", "clicks"] };
            data = self.read_days(accounts.clone(), fields, execution)?;
        }
        let empty = |range, is_compared| EmptyRange { range, is_compared, data, is_of_accounts, is_of_events };
        let asked = Some(query.range()).filter(|range| is_outside(range, data)).map(|range| empty(range, false));
        // Without any data, one range says it all.
        let earlier = earlier.filter(|range| data.is_some() && is_outside(range, data));
        Ok(asked.into_iter().chain(earlier.map(|range| empty(range, true))).collect())
    }
}

impl fmt::Display for EmptyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, whose) =
            if self.is_of_accounts { ("the accounts of the query have", "their") } else { ("the dataset has", "its") };
        write!(f, "{who} {}", if self.is_of_events { "no events" } else { "neither events nor spend" })?;
        let Some(data) = self.data else { return Ok(()) };
        write!(f, " in the range {}", self.range)?;
        if self.is_compared {
            f.write_str(" to compare with, so that every earlier value is 0")?;
        }
        if self.is_of_events {
            write!(f, "; the days of {whose} events are {data}")
        } else {
            write!(f, "; {whose} days are {data}")
        }
    }
}
