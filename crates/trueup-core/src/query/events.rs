//! A query for aggregated metrics.

use super::{CompiledPatterns, DateRange, Filter, Interval, Predicate, SortKey, Within};
use crate::dataset::manifest::hex;
use crate::error::{QueryError, UnknownField};
use crate::finish::ROW_TYPE;
use crate::{Day, dictionary};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashSet};

/// The set of accounts that a query reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AccountFilter {
    /// Every account of the dataset.
    #[default]
    All,
    /// The accounts with these keys. A key that the dataset does not have has no rows.
    Only(BTreeSet<String>),
}

impl AccountFilter {
    /// Returns whether the query reads the account `key`.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(keys) => keys.contains(key),
        }
    }
}

/// A query over events and spend: fields, days, interval, accounts, filters, and the order and number of rows.
///
/// # Fields
/// A field is a metric, or a dimension to group by. The result has one column per distinct field, in the order of the
/// query. Names that the [dictionary](crate::dictionary) does not have are dimensions: columns of the event table. A
/// name that the dataset does not have either is refused, unless [`allow_unknown`](Self::allow_unknown) is set.
///
/// # Days
/// The range includes its first and its last day. Days have no time zone of their own, because an event's day is that
/// of its account. Without an [interval](Self::interval) the whole range is one sub-range. Then, and with
/// [`totals`](Self::totals), it spans at most [`ATTRIBUTION_WINDOW_DAYS`](crate::ATTRIBUTION_WINDOW_DAYS) days unless
/// [`allow_long_total`](Self::allow_long_total) lifts that limit.
///
/// # Cohorts
/// A query of a [cohort](Self::cohort) selects leads by the day of their first event, and counts what becomes of them.
/// [`ATTRIBUTION_WINDOW_DAYS`](crate::ATTRIBUTION_WINDOW_DAYS) does not limit its range.
///
/// # Null and empty
/// Null in a dimension forms a group, shown as the empty text. Without [`accounts`](Self::accounts) the query
/// reads all accounts; with an empty list it reads none.
///
/// # Errors
/// Building a query never fails. [`Dataset::run`](crate::Dataset::run) returns its first fault in this order: the
/// faults of [`check`](Self::check), unknown names, the faults of filters, a condition on a metric that only cohorts
/// have, a range longer than the attribution window.
///
/// # Other processes
/// Serde serializes a query, for example as JSON, without its compiled patterns.
///
/// # Example: new leads and their book rate by month and channel
/// ```
/// use trueup_core::query::{EventsQuery, Filter, Interval};
///
/// let (start, end) = ("2025-01-01".parse()?, "2025-06-30".parse()?);
/// let query = EventsQuery::new(["attributionChannel", "leads", "bookRate"], start, end)
///     .interval(Interval::Month)
///     .filter(Filter::equals("customerStatus", "New Customer"));
/// assert_eq!(query.sub_ranges().len(), 6);
/// # Ok::<(), trueup_core::day::NotADay>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventsQuery {
    pub(crate) fields: Vec<String>,
    pub(crate) range: DateRange,
    pub(crate) interval: Interval,
    pub(crate) accounts: AccountFilter,
    pub(crate) filter: Option<Filter>,
    /// The regular expressions of the filters that are compiled already.
    #[serde(skip)]
    pub(crate) patterns: CompiledPatterns,
    /// Whether one sub-range, or the range of the totals, may be longer than the attribution window.
    pub(crate) long_total: bool,
    /// Whether a name may be unknown to both the dictionary and the dataset.
    pub(crate) unknown_names: bool,
    /// The columns to sort by, the first of which decides first.
    pub(crate) sort: Vec<SortKey>,
    /// The most rows to return; `None` returns all.
    pub(crate) limit: Option<usize>,
    /// Whether the answer has [totals](crate::ResultTable::totals).
    pub(crate) totals: bool,
    /// The window of a cohort; `None` if the query is not one of a cohort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cohort: Option<Within>,
}

impl EventsQuery {
    /// Returns a query for `fields` from `start` to `end`, both included, over all accounts, without an interval or a
    /// filter.
    pub fn new<F: Into<String>>(fields: impl IntoIterator<Item = F>, start: Day, end: Day) -> Self {
        Self {
            fields: fields.into_iter().map(Into::into).collect(),
            range: DateRange { start, end },
            interval: Interval::Total,
            accounts: AccountFilter::All,
            filter: None,
            patterns: CompiledPatterns::default(),
            long_total: false,
            unknown_names: false,
            sort: Vec::new(),
            limit: None,
            totals: false,
            cohort: None,
        }
    }

    /// Splits the range into sub-ranges. Each is computed as if it were a whole range.
    #[must_use]
    pub fn interval(mut self, interval: Interval) -> Self {
        self.interval = interval;
        self
    }

    /// Restricts the query to the accounts with these keys, in place of an earlier restriction.
    #[must_use]
    pub fn accounts<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.accounts = AccountFilter::Only(keys.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a condition. All added conditions must hold.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(before) => before.and(filter),
            None => filter,
        });
        self
    }

    /// Reuses the regular expressions that were compiled while the filters were read. The query compiles missing ones
    /// within the same limits, until the interrupt of `patterns` fires.
    #[must_use]
    pub fn patterns(mut self, patterns: CompiledPatterns) -> Self {
        self.patterns = patterns;
        self
    }

    /// Lifts the attribution window: [`Interval::Total`] and [`totals`](Self::totals) may then span more than
    /// [`ATTRIBUTION_WINDOW_DAYS`](crate::ATTRIBUTION_WINDOW_DAYS) days.
    #[must_use]
    pub fn allow_long_total(mut self) -> Self {
        self.long_total = true;
        self
    }

    /// Sets whether fields and filters may have names that neither the dictionary nor the dataset knows. Such a field
    /// is a dimension that is the empty text on every row. By default a query with such a name is refused with
    /// [`QueryError::UnknownFields`].
    ///
    /// ```
    /// use trueup_core::dataset::{Dataset, Tables};
    /// use trueup_core::query::EventsQuery;
    ///
    /// let dataset = Dataset::from_tables(&Tables::default())?;
    /// let query = EventsQuery::new(["leeds", "spend"], "2025-01-01".parse()?, "2025-01-31".parse()?);
    /// let refused = dataset.query(&query).unwrap_err().to_string();
    /// assert_eq!(refused, "neither the dictionary nor the dataset knows `leeds` (did you mean `leads`?)");
    /// assert!(dataset.query(&query.allow_unknown(true)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn allow_unknown(mut self, allow: bool) -> Self {
        self.unknown_names = allow;
        self
    }

    /// Sorts the answer by one of its columns: a field of the query or, with an interval, `start` or `end`. A further
    /// call decides between rows that are equal in the columns before; rows that are equal in all of them stay in the
    /// order of the unsorted answer. The whole answer is sorted: to sort within each sub-range, sort by `start` first.
    ///
    /// ```
    /// use trueup_core::query::{EventsQuery, SortKey};
    ///
    /// let day = "2025-01-01".parse()?;
    /// let fields = ["campaign", "leads", "avgCostPerLead"];
    /// let query = EventsQuery::new(fields, day, day).sort("leads:desc").sort(SortKey::ascending("avgCostPerLead"));
    /// assert!(query.check().is_ok() && query.sort("clicks").check().is_err());
    /// # Ok::<(), trueup_core::day::NotADay>(())
    /// ```
    #[must_use]
    pub fn sort(mut self, key: impl Into<SortKey>) -> Self {
        self.sort.push(key.into());
        self
    }

    /// Returns only the first `rows` rows, after conditions on metrics and after sorting. Every row is still computed,
    /// and the [totals](Self::totals) are of all of them.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Adds [totals](crate::ResultTable::totals) to the answer: every metric over the whole range, as one sub-range and
    /// one group. They are computed from the events and the spend, and not added up from the rows, so that ratios and
    /// distinct customers are right. The filter decides on events and spend as for the rows. Conditions on metrics and
    /// the [limit](Self::limit) choose rows, and change no totals.
    #[must_use]
    pub fn totals(mut self) -> Self {
        self.totals = true;
        self
    }

    /// Makes the query one of a cohort, which answers questions such as *what did the leads of March bring in within
    /// 90 days, for each dollar spent in March?*
    ///
    /// Each sub-range selects the customers that are leads and whose first event is on one of its days. Each of them
    /// counts as if its history ended `within` days after that event: its state, its dates and every metric. The dates
    /// of its events may be after the range. Spend is that of the sub-range. The metric `openLeads` counts the leads
    /// whose window is not over yet.
    ///
    /// ```
    /// use trueup_core::query::{EventsQuery, Interval, Within};
    ///
    /// let (start, end) = ("2025-01-01".parse()?, "2025-12-31".parse()?);
    /// let query = EventsQuery::new(["leads", "openLeads", "roasClosed"], start, end)
    ///     .interval(Interval::Month)
    ///     .cohort(Within::Days(90));
    /// assert!(query.check().is_ok());
    /// # Ok::<(), trueup_core::day::NotADay>(())
    /// ```
    #[must_use]
    pub fn cohort(mut self, within: Within) -> Self {
        self.cohort = Some(within);
        self
    }

    /// Returns the days that the query covers.
    #[must_use]
    pub const fn range(&self) -> DateRange {
        self.range
    }

    /// Returns the sub-ranges in order; none if the range ends before it starts.
    #[must_use]
    pub fn sub_ranges(&self) -> Vec<DateRange> {
        self.range.sub_ranges(self.interval)
    }

    /// Returns the number of columns of the result: one per distinct field, and with an interval two more for the
    /// first and the last day of the sub-range.
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

    /// Returns the names of the query's fields, then of the fields in its filters, in the order written and with
    /// repetitions.
    ///
    /// ```
    /// use trueup_core::query::{EventsQuery, Filter};
    ///
    /// let day = "2025-01-01".parse()?;
    /// let query = EventsQuery::new(["crew", "leads"], day, day).filter(Filter::equals("campaign", ""));
    /// assert_eq!(query.names(), ["crew", "leads", "campaign"]);
    /// # Ok::<(), trueup_core::day::NotADay>(())
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let fields = self.fields.iter().map(String::as_str);
        fields.chain(self.conditions().into_iter().map(|(name, _)| name)).collect()
    }

    /// Returns a checksum of the query, by which processes know that they answer the same one.
    pub(crate) fn fingerprint(&self) -> String {
        // Writing a query as JSON cannot fail, and its numbers are written with all their digits.
        hex(&Sha256::digest(serde_json::to_vec(self).unwrap_or_default()))
    }

    /// Returns the predicates of the filters with the fields that they test, in the order written.
    pub(crate) fn conditions(&self) -> Vec<(&str, &Predicate)> {
        let mut conditions = Vec::new();
        // A loop instead of recursion, because the depth of the filter is not checked yet.
        let mut open: Vec<&Filter> = self.filter.iter().collect();
        while let Some(filter) = open.pop() {
            match filter {
                Filter::All(parts) | Filter::Any(parts) => open.extend(parts.iter().rev()),
                Filter::Not(part) => open.push(part),
                Filter::Field { name, predicate } => conditions.push((name.as_str(), predicate)),
            }
        }
        conditions
    }

    /// Checks the fields, the range and the columns to sort by. A query is checked when it runs. A service that reads
    /// filters from text checks the query before it reads them, because these faults are reported before faults of
    /// filters.
    ///
    /// # Errors
    /// Returns the first fault in this order: no field, no metric, a field name that is reserved for results (`start`,
    /// `end`; with totals, `rowType`), a metric that only cohorts have, a range that ends before it starts, a column to
    /// sort by that the result does not have.
    ///
    /// ```
    /// use trueup_core::query::EventsQuery;
    ///
    /// let day = "2025-01-31".parse()?;
    /// assert!(EventsQuery::new(["leads"], day, day).check().is_ok());
    /// assert!(EventsQuery::new(["campaign"], day, day).check().is_err());
    /// # Ok::<(), trueup_core::day::NotADay>(())
    /// ```
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
        if self.totals && self.fields.iter().any(|name| name == ROW_TYPE) {
            return Err(QueryError::ReservedTotalsField { name: ROW_TYPE });
        }
        self.check_cohort(self.fields.iter().map(String::as_str))?;
        let DateRange { start, end } = self.range;
        if end < start {
            return Err(QueryError::ReversedRange { start, end });
        }
        match self.sort.iter().find(|key| !self.has_column(&key.field)) {
            Some(key) => Err(QueryError::UnknownSortColumn { name: key.field.clone(), columns: self.columns() }),
            None => Ok(()),
        }
    }

    /// Checks that none of `names` is a metric that only cohorts have, unless the query is one of a cohort.
    pub(crate) fn check_cohort<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Result<(), QueryError> {
        match names.find_map(dictionary::cohort_metric).filter(|_| self.cohort.is_none()) {
            Some(field) => Err(QueryError::NotACohort { name: field.name }),
            None => Ok(()),
        }
    }

    /// Returns whether the result has the column `name`.
    fn has_column(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field == name)
            || self.interval != Interval::Total && matches!(name, "start" | "end")
    }

    /// Returns the names of the columns of the result.
    fn columns(&self) -> Vec<String> {
        let days = ["start", "end"].into_iter().filter(|_| self.interval != Interval::Total).map(str::to_owned);
        let mut seen = HashSet::new();
        days.chain(self.fields.iter().filter(|name| seen.insert(*name)).cloned()).collect()
    }

    /// Checks that each name of the query is known, unless the query allows others: a name of the dictionary, or one of
    /// `columns`. Names are checked after the faults of [`check`](Self::check).
    pub(crate) fn check_names(&self, columns: &BTreeSet<String>) -> Result<(), QueryError> {
        if self.unknown_names {
            return Ok(());
        }
        let mut fields: Vec<UnknownField> = Vec::new();
        for name in self.names() {
            let is_known = dictionary::field(name).is_some() || columns.contains(name);
            if !is_known && !fields.iter().any(|field| field.name == name) {
                let similar = dictionary::similar_names(name, columns);
                fields.push(UnknownField { name: name.to_owned(), similar });
            }
        }
        if fields.is_empty() { Ok(()) } else { Err(QueryError::UnknownFields { fields }) }
    }
}
