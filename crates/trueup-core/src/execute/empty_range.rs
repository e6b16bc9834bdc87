//! Finds the ranges of a query in which a dataset has nothing.

use crate::query::{DateRange, EventsQuery};
use crate::{Dataset, Error, Execution, Value};
use std::fmt;

/// A range of a query in which the dataset has neither events nor spend. Its [`Display`](fmt::Display) says so in words
/// for people, and which days the dataset has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmptyRange {
    /// The dataset has neither events nor spend on any day.
    NoData,
    /// The range of the query is outside of the data.
    Asked {
        /// The range.
        range: DateRange,
        /// The days from the first to the last event or spend.
        data: DateRange,
    },
    /// The range that the query compares with is outside of the data, so that every earlier value is 0.
    Compared {
        /// The range.
        range: DateRange,
        /// The days from the first to the last event or spend.
        data: DateRange,
    },
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
        let Some(all) = self.date_range() else { return Ok(None) };
        let query = EventsQuery::new(["date", "eventCount", "clicks"], all.start, all.end).allow_long_total();
        let answer = self.run(&query.accounts(accounts), execution.clone())?;
        let day = |row: usize| match answer.value(row, "date") {
            Some(Value::Text(text)) => text.parse().ok(),
            _ => None,
        };
        let last = answer.len().checked_sub(1);
        Ok(day(0).zip(last.and_then(day)).map(|(start, end)| DateRange { start, end }))
    }

    /// Returns the ranges of a query in which this dataset has nothing, in any account: the range that is asked for,
    /// then the one of a [comparison](EventsQuery::compare).
    ///
    /// ```
    /// use trueup_core::dataset::{Dataset, Tables};
    /// use trueup_core::query::EventsQuery;
    ///
    /// let day = "2025-01-01".parse()?;
    /// let empty = Dataset::from_tables(&Tables::default())?.empty_ranges(&EventsQuery::new(["leads"], day, day));
    /// assert_eq!(empty[0].to_string(), "the dataset has neither events nor spend");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn empty_ranges(&self, query: &EventsQuery) -> Vec<EmptyRange> {
        let Some(data) = self.date_range() else { return vec![EmptyRange::NoData] };
        let is_outside = |range: &DateRange| range.end < data.start || data.end < range.start;
        let asked = Some(query.range()).filter(is_outside).map(|range| EmptyRange::Asked { range, data });
        // A range that begins before all days is refused when the query runs.
        let earlier = query.earlier_range().ok().flatten();
        let compared = earlier.filter(is_outside).map(|range| EmptyRange::Compared { range, data });
        asked.into_iter().chain(compared).collect()
    }
}

impl fmt::Display for EmptyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoData => f.write_str("the dataset has neither events nor spend"),
            Self::Asked { range, data } => {
                write!(f, "the dataset has neither events nor spend in the range {range}; its days are {data}")
            }
            Self::Compared { range, data } => write!(
                f,
                "the dataset has neither events nor spend in the range {range} to compare with, so that every earlier \
                 value is 0; its days are {data}"
            ),
        }
    }
}
