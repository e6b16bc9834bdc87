//! A question about one row of an answer: which events and customers make up its numbers.

use super::{AccountFilter, DateRange, EventsQuery, Filter, Interval, RowValues, WhyRowFault};
use crate::definitions::Definitions;
use crate::error::QueryError;
use crate::{Day, dictionary};
use std::collections::BTreeSet;

/// The dimensions that select accounts by their keys.
const ACCOUNT_KEYS: [&str; 2] = ["account", "accountKey"];

/// The order in which the lines of each measure of a [`Why`](crate::Why) are listed. Lines that are equal in this order
/// are in the order of their days, then of accounts and customers. The lines of a changed customer are together, on the
/// first of their days or, if the last day comes first, on the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LineOrder {
    /// By day, the first day first.
    #[default]
    Oldest,
    /// By day, the last day first.
    Newest,
    /// By what a line adds, the largest number or amount first; by how much a customer, an agent or a campaign changes,
    /// if a change is explained.
    Largest,
}

/// A question about one row of the answer to a query: which events, customers and rows of spend make up its metrics.
///
/// # Row
/// The row is given by the value of each dimension of the query and, if the query has several sub-ranges, by the first
/// day of its sub-range. The sorting, the limit and the totals of the query do not matter.
///
/// # Comparisons
/// Of a query that [compares](EventsQuery::compare), the change of the row is explained: who is counted only in one of
/// the ranges, or differently in both.
///
/// # Errors
/// Building a question never fails. [`Dataset::why`](crate::Dataset::why) returns its faults.
///
/// ```
/// use trueup_core::query::{EventsQuery, Interval, WhyQuery};
///
/// let query = EventsQuery::new(["campaign", "leads", "bookRate"], "2025-01-01".parse()?, "2025-06-30".parse()?)
///     .interval(Interval::Month);
/// let row = WhyQuery::new(query).value("campaign", "Drains").value("start", "2025-03-01");
/// let why = row.metric("bookRate").limit(20);
/// # Ok::<(), trueup_core::day::ParseDayError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WhyQuery {
    query: EventsQuery,
    /// The values of the row, by column.
    row: Vec<(String, String)>,
    /// The metrics to explain; all of the query if there is none.
    metrics: Vec<String>,
    pub(crate) order: LineOrder,
    /// The most lines of each measure; `None` lists all.
    pub(crate) limit: Option<usize>,
}

/// One row of the answer to a query.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRow {
    /// The query whose answer has no row of another group or sub-range. It has the fields of the whole query.
    pub(crate) query: EventsQuery,
    /// The values of the dimensions, by their names.
    pub(crate) values: Vec<(String, String)>,
    /// The metrics to explain.
    pub(crate) metrics: Vec<String>,
}

impl WhyQuery {
    /// Returns the question for the row of a query without dimensions and sub-ranges, and for all of its metrics.
    #[must_use]
    pub const fn new(query: EventsQuery) -> Self {
        Self { query, row: Vec::new(), metrics: Vec::new(), order: LineOrder::Oldest, limit: None }
    }

    /// Adds a value of the row: that of a dimension, or the first day of the sub-range as `start`. The last day as
    /// `end` may be added too.
    #[must_use]
    pub fn value(mut self, column: impl Into<String>, value: impl Into<String>) -> Self {
        self.row.push((column.into(), value.into()));
        self
    }

    /// Adds the values of a row as text; see [`RowValues`].
    #[must_use]
    pub fn values(self, row: &RowValues) -> Self {
        row.iter().fold(self, |question, (column, value)| question.value(column, value))
    }

    /// Explains this metric of the query, and those of further calls. Without a call, all metrics are explained.
    #[must_use]
    pub fn metric(mut self, name: impl Into<String>) -> Self {
        self.metrics.push(name.into());
        self
    }

    /// Lists the lines of each measure in this order; [`LineOrder::Oldest`] if not called.
    #[must_use]
    pub const fn order(mut self, order: LineOrder) -> Self {
        self.order = order;
        self
    }

    /// Lists only the first `lines` lines of each measure and, of a change, of each [class](crate::ChangeClass); all
    /// lines if not called. The sums are always of all lines.
    #[must_use]
    pub const fn limit(mut self, lines: usize) -> Self {
        self.limit = Some(lines);
        self
    }

    /// Returns the query.
    pub(crate) const fn query(&self) -> &EventsQuery {
        &self.query
    }

    /// Returns the row, given the definitions of the dataset. The query must have been checked.
    pub(crate) fn row(&self, definitions: &Definitions) -> Result<AnswerRow, QueryError> {
        let query = &self.query;
        let mut dimensions: Vec<String> = Vec::new();
        let mut metrics: Vec<String> = Vec::new();
        for name in &query.fields {
            let is_metric = dictionary::metric(name).is_some() || definitions.metric(name).is_some();
            let of_kind = if is_metric { &mut metrics } else { &mut dimensions };
            if !of_kind.contains(name) {
                of_kind.push(name.clone());
            }
        }
        let start = self.has_sub_ranges().then(|| "start".to_owned());
        let columns: Vec<String> = start.into_iter().chain(dimensions.iter().cloned()).collect();
        for (at, (name, value)) in self.row.iter().enumerate() {
            let is_end = name == "end" && self.has_sub_ranges();
            if !columns.contains(name) && !is_end {
                return Err(WhyRowFault::NotADimension { name: name.clone(), columns }.into());
            }
            let earlier = self.row[..at].iter().find(|(earlier, other)| earlier == name && other != value);
            if let Some((_, one)) = earlier {
                let (name, one, other) = (name.clone(), one.clone(), value.clone());
                return Err(WhyRowFault::TwoValues { name, one, other }.into());
            }
        }
        let missing =
            |missing: &str| WhyRowFault::MissingValue { missing: missing.to_owned(), columns: columns.clone() };
        let range = self.sub_range()?.ok_or_else(|| missing("start"))?;
        let mut values = Vec::new();
        for name in &dimensions {
            let value = self.given(name).ok_or_else(|| missing(name))?;
            values.push((name.clone(), value.to_owned()));
        }
        if let Some(name) = self.metrics.iter().find(|name| !metrics.contains(name)) {
            return Err(WhyRowFault::NotAMetric { name: name.clone(), metrics }.into());
        }
        if !self.metrics.is_empty() {
            metrics.retain(|name| self.metrics.contains(name));
        }
        Ok(AnswerRow { query: one_row(query, range, &values), values, metrics })
    }

    fn given(&self, column: &str) -> Option<&str> {
        self.row.iter().find(|(name, _)| name == column).map(|(_, value)| value.as_str())
    }

    const fn has_sub_ranges(&self) -> bool {
        !matches!(self.query.interval, Interval::Total)
    }

    /// Returns the sub-range of the row; `None` if several are possible.
    fn sub_range(&self) -> Result<Option<DateRange>, WhyRowFault> {
        let mut fitting = self.query.sub_ranges();
        for (column, which) in [("start", "first"), ("end", "last")] {
            let Some(text) = self.given(column).filter(|_| self.has_sub_ranges()) else { continue };
            let day = text.parse::<Day>().ok();
            fitting.retain(|range| day == Some(if column == "start" { range.start } else { range.end }));
            if fitting.is_empty() {
                return Err(WhyRowFault::NotASubRange { which, range: self.query.range, found: text.to_owned() });
            }
        }
        Ok(if fitting.len() == 1 { fitting.pop() } else { None })
    }
}

/// Returns the query whose answer has no row but that of a group and a sub-range. `query` must have been checked.
fn one_row(query: &EventsQuery, range: DateRange, values: &[(String, String)]) -> EventsQuery {
    let (sort, limit) = (Vec::new(), None);
    let (interval, totals, compare) = (Interval::Total, false, None);
    let row = EventsQuery { range, interval, sort, limit, totals, compare, selects_row: true, ..query.clone() };
    let mut row = row.allow_long_total();
    for (name, value) in values {
        row = row.filter(Filter::equals(name, value));
    }
    // Whether a lead of a cohort is open depends on the events of all accounts of the query.
    let key = values.iter().find(|(name, _)| ACCOUNT_KEYS.contains(&name.as_str()));
    if let Some((_, key)) = key.filter(|_| query.cohort.is_none()) {
        let keys = BTreeSet::from([key.clone()]);
        row.accounts = AccountFilter::Only(keys.into_iter().filter(|key| query.accounts.contains(key)).collect());
    }
    row
}

impl EventsQuery {
    /// Returns the query for one metric of the rows with some values of dimensions in a range. The conditions on
    /// metrics stay. The query must have been checked.
    pub(crate) fn metric_with<'v>(
        &self,
        metric: &str,
        range: DateRange,
        values: impl Iterator<Item = &'v (String, String)>,
    ) -> Self {
        let values: Vec<(String, String)> = values.cloned().collect();
        Self { fields: vec![metric.to_owned()], ..one_row(self, range, &values) }
    }
}
