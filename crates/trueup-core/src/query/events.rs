//! A request for aggregated metrics.

use super::{CompiledPatterns, DateRange, Filter, Interval};
use crate::error::QueryError;
use crate::{Day, dictionary};
use std::collections::{BTreeSet, HashSet};

/// The accounts that a query reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccountFilter {
    /// Every account of the dataset.
    #[default]
    All,
    /// Those named; a key that the dataset does not know has no rows.
    Only(BTreeSet<String>),
}

impl AccountFilter {
    /// Whether the account `key` is read.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(keys) => keys.contains(key),
        }
    }
}

/// One query over events and spend: which fields, for which days and accounts, filtered how.
///
/// ```
/// use trueup_core::query::{EventsQuery, Filter, Interval};
///
/// let query = EventsQuery::new(["attributionChannel", "leads", "bookRate"], "2025-01-01".parse()?, "2025-06-30".parse()?)
///     .interval(Interval::Month)
///     .filter(Filter::equals("customerStatus", "New Customer"));
/// # Ok::<(), trueup_core::day::NotADay>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EventsQuery {
    pub(crate) fields: Vec<String>,
    pub(crate) range: DateRange,
    pub(crate) interval: Interval,
    pub(crate) accounts: AccountFilter,
    pub(crate) filter: Option<Filter>,
    pub(crate) patterns: CompiledPatterns,
    pub(crate) long_total: bool,
}

impl EventsQuery {
    /// A query for `fields` (metrics, and dimensions to group by) from `start` to `end`, both included, over all accounts.
    pub fn new<F: Into<String>>(fields: impl IntoIterator<Item = F>, start: Day, end: Day) -> Self {
        Self {
            fields: fields.into_iter().map(Into::into).collect(),
            range: DateRange { start, end },
            interval: Interval::Total,
            accounts: AccountFilter::All,
            filter: None,
            patterns: CompiledPatterns::default(),
            long_total: false,
        }
    }

    /// Cuts the range into sub-ranges.
    #[must_use]
    pub fn interval(mut self, interval: Interval) -> Self {
        self.interval = interval;
        self
    }

    /// Reads the named accounts only.
    #[must_use]
    pub fn accounts<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.accounts = AccountFilter::Only(keys.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a condition; all that are added must hold.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(before) => before.and(filter),
            None => filter,
        });
        self
    }

    /// Takes over what was compiled while its filters were read; what is missing is compiled within the same bounds, and as long as the
    /// interrupt that they were made with allows.
    #[must_use]
    pub fn patterns(mut self, patterns: CompiledPatterns) -> Self {
        self.patterns = patterns;
        self
    }

    /// Lifts the attribution window: [`Interval::Total`] may then span more than 90 days.
    #[must_use]
    pub fn allow_long_total(mut self) -> Self {
        self.long_total = true;
        self
    }

    /// The sub-ranges that it is computed for, in order; none if the range ends before it starts.
    #[must_use]
    pub fn sub_ranges(&self) -> Vec<DateRange> {
        self.range.sub_ranges(self.interval)
    }

    /// The columns of its answer: its fields, each counted once, and the days of the sub-range where rows carry them.
    ///
    /// ```
    /// use trueup_core::query::{EventsQuery, Interval};
    ///
    /// let query = EventsQuery::new(["crew", "leads", "crew"], "2025-01-01".parse()?, "2025-01-31".parse()?);
    /// assert_eq!((query.width(), query.interval(Interval::Day).width()), (2, 4));
    /// # Ok::<(), trueup_core::day::NotADay>(())
    /// ```
    #[must_use]
    pub fn width(&self) -> usize {
        let fields: HashSet<&String> = self.fields.iter().collect();
        fields.len() + if self.interval == Interval::Total { 0 } else { 2 }
    }

    /// The names in it, as they stand there: those of its fields, then those that its filter tests.
    ///
    /// ```
    /// use trueup_core::query::{EventsQuery, Filter};
    ///
    /// let query = EventsQuery::new(["crew", "leads"], "2025-01-01".parse()?, "2025-01-31".parse()?).filter(Filter::equals("campaign", ""));
    /// assert_eq!(query.names(), ["crew", "leads", "campaign"]);
    /// # Ok::<(), trueup_core::day::NotADay>(())
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        // Without recursion: nothing says yet how deep the filter is.
        let mut open: Vec<&Filter> = self.filter.iter().collect();
        while let Some(filter) = open.pop() {
            match filter {
                Filter::All(parts) | Filter::Any(parts) => open.extend(parts.iter().rev()),
                Filter::Not(part) => open.push(part),
                Filter::Field { name, .. } => names.push(name),
            }
        }
        names
    }

    /// Checks what a request is refused for before its filters are looked at, in this order: no field, no metric, a field that
    /// answers keep for themselves, a range that ends before it starts. A query does so too; a service that reads filters from
    /// text does it before.
    ///
    /// # Errors
    /// The first of these faults.
    pub fn check(&self) -> Result<(), QueryError> {
        if self.fields.is_empty() {
            return Err(QueryError::MissingFields);
        }
        if !self.fields.iter().any(|name| dictionary::metric(name).is_some()) {
            return Err(QueryError::MissingMetric);
        }
        if let Some(name) = self.fields.iter().find(|name| matches!(name.as_str(), "start" | "end")) {
            return Err(QueryError::ReservedField { name: name.clone() });
        }
        let DateRange { start, end } = self.range;
        if end < start { Err(QueryError::ReversedRange { start, end }) } else { Ok(()) }
    }
}
