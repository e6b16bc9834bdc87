//! A query for aggregated metrics.

use super::{
    CohortWindow, ComparedColumn, ComparisonRange, CompiledPatterns, DateRange, Filter, Interval, Predicate, SortKey,
};
use crate::attribution::Attribution;
use crate::dataset::manifest::checksum;
use crate::definitions::Definitions;
use crate::error::{QueryError, UnknownField};
use crate::{Day, dictionary};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};

/// The name of the column by which [`ResultTable::with_totals_row`](crate::ResultTable::with_totals_row) marks the
/// totals; no column of a query with totals may have it.
pub(crate) const ROW_TYPE: &str = "rowType";

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
/// query. Names that neither the [dictionary](crate::dictionary) nor the
/// [definitions](crate::Dataset::definitions) of the dataset have are dimensions: columns of the event table. A name
/// that the dataset does not have as a column either is refused, unless [`allow_unknown`](Self::allow_unknown) is set.
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
/// # Comparisons
/// A query that [compares](Self::compare) shows each metric with its value in an earlier range, and how it changed.
/// [`ATTRIBUTION_WINDOW_DAYS`](crate::ATTRIBUTION_WINDOW_DAYS) limits only the range that is asked for.
///
/// # Attribution
/// Dimensions of attribution are those of each event, unless [`attribution`](Self::attribution) credits a conversion.
///
/// # Null and empty
/// Null in a dimension forms a group, shown as the empty text. Without [`accounts`](Self::accounts) the query
/// reads all accounts; with an empty list it reads none.
///
/// # Errors
/// Building a query never fails. [`Dataset::run`](crate::Dataset::run) returns its first fault in this order: the
/// faults of [`check`](Self::check), unknown names, the faults of filters, a condition on a metric that only cohorts
/// have, a range longer than the attribution window, amounts of different currencies.
///
/// # Other processes
/// Serde serializes a query, for example as JSON, without its compiled patterns and its
/// [definitions](Self::definitions).
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
/// # Ok::<(), trueup_core::day::ParseDayError>(())
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
    /// The definitions that names may refer to. A dataset answers with its own.
    #[serde(skip)]
    pub(crate) definitions: Definitions,
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
    pub(crate) cohort: Option<CohortWindow>,
    /// The range to compare with; `None` if the query does not compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compare: Option<ComparisonRange>,
    /// Whether the answer keeps the fractions behind its ratios.
    #[serde(skip)]
    pub(crate) exact_ratios: bool,
    /// The event that is credited.
    #[serde(default, skip_serializing_if = "Attribution::is_recorded")]
    pub(crate) attribution: Attribution,
    /// Whether amounts of different currencies may be added up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) mixed_currencies: bool,
    /// Whether conditions were added that select one row of the answer to another query. The filter of that query is
    /// within the limits on its size; the added conditions do not count.
    #[serde(skip)]
    pub(crate) selects_row: bool,
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
            definitions: Definitions::default(),
            long_total: false,
            unknown_names: false,
            sort: Vec::new(),
            limit: None,
            totals: false,
            cohort: None,
            compare: None,
            exact_ratios: false,
            attribution: Attribution::Recorded,
            mixed_currencies: false,
            selects_row: false,
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

    /// Lets [`check`](Self::check), and readers of filters, know the metrics that a dataset
    /// [defines](crate::Dataset::definitions). To answer a query, a dataset uses its own definitions, whether this
    /// method was called or not.
    #[must_use]
    pub fn definitions(mut self, definitions: &Definitions) -> Self {
        self.definitions = definitions.clone();
        self
    }

    /// Returns the definitions that [were set](Self::definitions).
    #[must_use]
    pub const fn known_definitions(&self) -> &Definitions {
        &self.definitions
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
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
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
    /// use trueup_core::query::{EventsQuery, Interval, CohortWindow};
    ///
    /// let (start, end) = ("2025-01-01".parse()?, "2025-12-31".parse()?);
    /// let query = EventsQuery::new(["leads", "openLeads", "roasClosed"], start, end)
    ///     .interval(Interval::Month)
    ///     .cohort(CohortWindow::Days(90));
    /// assert!(query.check().is_ok());
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
    /// ```
    #[must_use]
    pub fn cohort(mut self, within: CohortWindow) -> Self {
        self.cohort = Some(within);
        self
    }

    /// Compares the range with an earlier one. The query must have no [interval](Self::interval).
    ///
    /// The same query is answered for both ranges, and the answers are joined by group. A group that only one of
    /// them has is 0 in the other, spend included. At the place of each metric `m`, the answer has these columns:
    ///
    /// | column | value |
    /// |---|---|
    /// | `m` | the value in the range of the query |
    /// | `m.previous` | the value in the earlier range |
    /// | `m.change` | `m` minus `m.previous` |
    /// | `m.ratio` | `m.change` divided by `m.previous`; null if that is 0 |
    /// | `m.rateEffect`, `m.mixEffect` | of a ratio: what the row contributes to the change of the total |
    ///
    /// The rate effect is what follows from the change of the row's own ratio, the mix effect what follows from the
    /// change of the row's share in the denominator. Over all rows the effects add up to the change of the total ratio.
    /// They are null where the numerator or the denominator does not add up over the dimensions of the query, or where
    /// the whole denominator is 0 in one of the ranges. Changes, ratios of changes and effects are computed as exact
    /// fractions and rounded once.
    ///
    /// Filters on metrics decide on `m`. Neither they nor the [limit](Self::limit) change the effects of other rows.
    /// Every column can [sort](Self::sort) the answer; rows where it is null come last.
    ///
    /// ```
    /// use trueup_core::query::{ComparisonRange, EventsQuery};
    ///
    /// let (start, end) = ("2025-03-01".parse()?, "2025-03-31".parse()?);
    /// let query = EventsQuery::new(["attributionChannel", "leads", "bookRate"], start, end)
    ///     .compare(ComparisonRange::PreviousPeriod)
    ///     .sort("bookRate.mixEffect");
    /// assert!(query.check().is_ok());
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
    /// ```
    #[must_use]
    pub fn compare(mut self, earlier: ComparisonRange) -> Self {
        self.compare = Some(earlier);
        self
    }

    /// Keeps the numerator and the denominator of each ratio with the answer, from which
    /// [`changes_since`](crate::ResultTable::changes_since) computes exact changes. They take 32 bytes per ratio. A
    /// comparison does not keep them: its changes are exact already.
    #[must_use]
    pub fn exact_ratios(mut self) -> Self {
        self.exact_ratios = true;
        self
    }

    /// Takes the attribution dimensions of each event from one of the customer's conversions, in place of the event
    /// itself. Fields, filters and definitions see the values so taken.
    ///
    /// ```
    /// use trueup_core::query::{Attribution, EventsQuery};
    ///
    /// let (start, end) = ("2025-03-01".parse()?, "2025-03-31".parse()?);
    /// let query = EventsQuery::new(["attributionChannel", "leads"], start, end).attribution(Attribution::First);
    /// assert!(query.check().is_ok());
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
    /// ```
    #[must_use]
    pub fn attribution(mut self, attribution: Attribution) -> Self {
        self.attribution = attribution;
        self
    }

    /// Sets whether amounts of different currencies may be added up, as if they were of one. By default a query for a
    /// metric that is made of money, or with a condition on one, is refused with [`QueryError::MixedCurrencies`] if the
    /// accounts have different currencies and the query does not tell them apart.
    /// [`Dataset::mixed_currencies`](crate::Dataset::mixed_currencies) says which they are.
    #[must_use]
    pub fn allow_mixed_currencies(mut self, allow: bool) -> Self {
        self.mixed_currencies = allow;
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

    /// Returns the number of columns of the result: one per distinct field (in a [comparison](Self::compare) several
    /// per metric), and with an interval two more for the first and the last day of the sub-range.
    ///
    /// ```
    /// use trueup_core::query::{EventsQuery, Interval};
    ///
    /// let query = EventsQuery::new(["crew", "leads", "crew"], "2025-01-01".parse()?, "2025-01-31".parse()?);
    /// assert_eq!((query.width(), query.interval(Interval::Day).width()), (2, 4));
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
    /// ```
    #[must_use]
    pub fn width(&self) -> usize {
        self.columns().len()
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
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let fields = self.fields.iter().map(String::as_str);
        fields.chain(self.conditions().into_iter().map(|(name, _)| name)).collect()
    }

    /// Returns a checksum of the query, by which processes know that they answer the same one.
    pub(crate) fn fingerprint(&self) -> String {
        // Writing a query as JSON cannot fail, and its numbers are written with all their digits.
        checksum(serde_json::to_vec(self).unwrap_or_default())
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
    /// `end`; with totals, `rowType`; in a comparison, `leads.change` and the like), a metric that only cohorts have, a
    /// range that ends before it starts, an earlier range of a comparison that begins before the first day, an interval
    /// in a comparison, an earlier range that has no days, a column to sort by that the result does not have.
    ///
    /// ```
    /// use trueup_core::query::EventsQuery;
    ///
    /// let day = "2025-01-31".parse()?;
    /// assert!(EventsQuery::new(["leads"], day, day).check().is_ok());
    /// assert!(EventsQuery::new(["campaign"], day, day).check().is_err());
    /// # Ok::<(), trueup_core::day::ParseDayError>(())
    /// ```
    pub fn check(&self) -> Result<(), QueryError> {
        if self.fields.is_empty() {
            return Err(QueryError::MissingFields);
        }
        if !self.fields.iter().any(|name| self.is_metric(name)) {
            return Err(QueryError::MissingMetric);
        }
        if let Some(name) = self.fields.iter().find(|name| matches!(name.as_str(), "start" | "end")) {
            return Err(QueryError::ReservedField { name: name.clone() });
        }
        if self.totals && self.fields.iter().any(|name| name == ROW_TYPE) {
            return Err(QueryError::ReservedTotalsField { name: ROW_TYPE });
        }
        if let Some(name) = self.fields.iter().find(|name| self.is_of_comparison(name)) {
            return Err(QueryError::ReservedComparisonField { name: name.clone() });
        }
        self.check_cohort(self.fields.iter().map(String::as_str))?;
        let DateRange { start, end } = self.range;
        if end < start {
            return Err(QueryError::ReversedRange { start, end });
        }
        self.check_comparison()?;
        match self.sort.iter().find(|key| !self.has_column(&key.field)) {
            Some(key) => Err(QueryError::UnknownSortColumn { name: key.field.clone(), columns: self.columns() }),
            None => Ok(()),
        }
    }

    /// Returns whether a name is that of a metric.
    pub(crate) fn is_metric(&self, name: &str) -> bool {
        dictionary::metric(name).is_some() || self.definitions.metric(name).is_some()
    }

    /// Checks that none of `names` is a metric that only cohorts have, or made of one, unless the query is one of a
    /// cohort.
    pub(crate) fn check_cohort<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Result<(), QueryError> {
        let cohort_metric = |name: &str| {
            let of_defined = || self.definitions.metric(name)?.formula.metrics().find_map(dictionary::cohort_metric);
            dictionary::cohort_metric(name).or_else(of_defined)
        };
        match names.find_map(cohort_metric).filter(|_| self.cohort.is_none()) {
            Some(field) => Err(QueryError::NotACohort { name: field.name }),
            None => Ok(()),
        }
    }

    /// Checks that a comparison has no interval, and an earlier range with days.
    fn check_comparison(&self) -> Result<(), QueryError> {
        match self.earlier_range()? {
            None => Ok(()),
            Some(_) if self.interval != Interval::Total => {
                Err(QueryError::ComparedIntervals { interval: self.interval })
            }
            Some(DateRange { start, end }) if end < start => Err(QueryError::ReversedComparison { start, end }),
            Some(_) => Ok(()),
        }
    }

    /// Returns the range to compare with, if the query compares.
    pub(crate) fn earlier_range(&self) -> Result<Option<DateRange>, QueryError> {
        Ok(self.compare.map(|earlier| earlier.range(self.range)).transpose()?)
    }

    /// Returns whether `name` is the column in which a comparison shows what became of a metric among the fields.
    fn is_of_comparison(&self, name: &str) -> bool {
        let of_field =
            |(metric, part)| part != ComparedColumn::Current && self.fields.iter().any(|field| field == metric);
        self.compare.is_some() && ComparedColumn::split_with(name, &self.definitions).is_some_and(of_field)
    }

    /// Returns whether the result has the column `name`.
    fn has_column(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field == name)
            || self.is_of_comparison(name)
            || self.interval != Interval::Total && matches!(name, "start" | "end")
    }

    /// Returns the names of the columns of the days of sub-ranges; none without an interval.
    pub(crate) fn day_columns(&self) -> Vec<String> {
        let names = if self.interval == Interval::Total { &[][..] } else { &["start", "end"] };
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Returns the names of the columns of the result.
    fn columns(&self) -> Vec<String> {
        let days = self.day_columns().into_iter();
        let mut seen = HashSet::new();
        let of_field = |name: &String| match self.definitions.formula_kind(name).filter(|_| self.compare.is_some()) {
            Some(formula) => {
                ComparedColumn::of(formula).iter().map(|part| format!("{name}{}", part.suffix())).collect()
            }
            None => vec![name.clone()],
        };
        days.chain(self.fields.iter().filter(|name| seen.insert(*name)).flat_map(of_field)).collect()
    }

    /// Checks that each name of the query is known, unless the query allows others: a name of the dictionary or of the
    /// definitions, or one of `columns`. Names are checked after the faults of [`check`](Self::check).
    pub(crate) fn check_names(&self, columns: &BTreeSet<String>) -> Result<(), QueryError> {
        if self.unknown_names {
            return Ok(());
        }
        let mut seen = HashSet::new();
        let unknown = self.names().into_iter().filter(|name| {
            let is_known = dictionary::field(name).is_some() || columns.contains(*name) || self.definitions.has(name);
            !is_known && seen.insert(*name)
        });
        let fields = UnknownField::with_similar(unknown, |name| self.definitions.similar_names(name, columns));
        if fields.is_empty() { Ok(()) } else { Err(QueryError::UnknownFields { fields }) }
    }
}
