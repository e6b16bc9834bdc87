//! A query resolved against the dictionary and a dataset's columns.
//!
//! | file | what it decides |
//! |---|---|
//! | `metric` | what the formula of a metric is |
//! | `dimension` | where the values of a dimension come from |
//! | `filter` | which part of the filter is decided on events, which on finished rows |
//! | `amount_range` | which amounts pass a test of `total` |
//! | `measure_layout` | which measures are aggregated, and where counts and sums of money are held |
//! | `comparison` | how an earlier range is read, how the joined rows are sorted, and which ratios have effects |
//! | `projection` | which columns are read |
//! | `day_tables` | the sub-range, date, week and month of each day |

mod amount_range;
mod comparison;
mod day_tables;
mod dimension;
mod filter;
mod measure_layout;
mod metric;
mod projection;
#[cfg(test)]
mod tests;

pub(crate) use amount_range::AmountRange;
pub(crate) use comparison::ComparisonPlan;
pub(crate) use day_tables::{DayTable, DayTables};
pub(crate) use dimension::{DimensionRef, Origin};
pub(crate) use filter::{Condition, FieldPredicate, MetricPredicate, Ternary};
pub(crate) use measure_layout::MeasureLayout;
pub(crate) use metric::MetricRef;
pub(crate) use projection::text_column;

use crate::Day;
use crate::attribution::Attribution;
use crate::definitions::Definitions;
use crate::dictionary::{Computed, Measure};
use crate::error::QueryError;
use crate::query::{AccountFilter, AggregatedQuery, CohortWindow, DateRange, EventsQuery, Interval, SortKey};
use crate::scan::{EventProjection, SpendProjection};
use filter::RowPredicate;
use projection::{event_projection, spend_projection};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most days that one sub-range, or the totals, may cover, unless the query allows more or is one of a cohort.
pub const ATTRIBUTION_WINDOW_DAYS: u32 = 90;

/// A resolved query: what to read, how to group, what to aggregate, and what to return.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What was resolved: all that a partial result of the plan depends on, except for the data.
    pub(crate) aggregated: Arc<AggregatedQuery>,
    pub(crate) range: DateRange,
    /// The sub-ranges of the range, in order.
    pub(crate) sub_ranges: Vec<DateRange>,
    pub(crate) interval: Interval,
    pub(crate) accounts: AccountFilter,
    /// The window of a cohort: sub-ranges select leads by their first event, and the window limits their histories.
    /// `None` if the query is not one of a cohort.
    pub(crate) cohort: Option<CohortWindow>,
    /// The event from which attribution dimensions are taken.
    pub(crate) attribution: Attribution,
    /// The columns of the result table, in order.
    pub(crate) output: Vec<Output>,
    /// The columns to sort the answer by, the first of which decides first.
    pub(crate) sort: Vec<SortColumn>,
    /// The most rows of the answer; `None` returns all.
    pub(crate) limit: Option<usize>,
    /// Whether the answer keeps the fractions behind its ratios.
    pub(crate) exact_ratios: bool,
    /// The plan of the totals, if the query asks for them.
    pub(crate) totals: Option<Box<Self>>,
    /// The plan of the earlier range, if the query compares. The sort columns are then those of the comparison.
    pub(crate) comparison: Option<Box<ComparisonPlan>>,
    /// The dimensions that rows are grouped by, in the order of the query.
    pub(crate) dimensions: Vec<DimensionRef>,
    /// Dimensions that no table has, in the order of the query. They are empty on every row, so they make no groups,
    /// and nothing is stored for them per group or row.
    pub(crate) blank: Vec<DimensionRef>,
    /// The measures that are aggregated from events.
    pub(crate) layout: MeasureLayout,
    /// Whether a measure or a dimension depends on the states of customers.
    pub(crate) needs_states: bool,
    /// The part of the filter that is decided on events. Spend rows are tested too, as far as they have the fields.
    pub(crate) event_filter: Option<Condition<FieldPredicate>>,
    /// The part of the filter that is decided on finished rows: the conditions on metrics.
    pub(crate) having: Option<Condition<MetricPredicate>>,
    /// The measures that are aggregated from the spend table.
    pub(crate) spend: Vec<Measure>,
    /// The event columns to read.
    pub(crate) projection: EventProjection,
    /// The spend columns to read. They are read only if the query [needs](Self::needs_spend) spend.
    pub(crate) spend_projection: SpendProjection,
    /// The sub-range of each day of the range; the date, week and month of each day of an event that may count.
    pub(crate) days: DayTables,
    /// Names that neither the dictionary nor the dataset knows.
    pub(crate) unknown_fields: Vec<String>,
    /// Whether the accounts have different currencies, so that no amounts of different groups may be added up for the
    /// effects of a comparison.
    pub(crate) mixes_currencies: bool,
    /// The metrics and dimensions that the dataset defines.
    pub(crate) definitions: Definitions,
}

/// One column of the result table.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    /// The dimension at this index of [`Plan::dimensions`].
    Dimension(usize),
    /// The dimension at this index of [`Plan::blank`].
    Blank(usize),
    /// A metric.
    Metric(MetricRef),
}

/// A column to sort the answer by.
#[derive(Clone, Debug)]
pub(crate) struct SortColumn {
    pub(crate) source: SortSource,
    pub(crate) is_descending: bool,
}

/// Where the values of a column to sort by come from.
#[derive(Clone, Debug)]
pub(crate) enum SortSource {
    /// The sub-range. Its first and its last day have the same order.
    SubRange,
    /// The dimension at this index of [`Plan::dimensions`].
    Dimension(usize),
    /// A metric.
    Metric(MetricRef),
}

impl Plan {
    /// Resolves `query` for a dataset whose events have `columns` in addition to the required ones, and which lets the
    /// query name the columns `named`. No event is after `last_day`.
    ///
    /// # Errors
    /// Returns the first fault in this order, on which clients rely: fields, range, columns to sort by, unknown names,
    /// filter, a condition on a metric that only cohorts have, span.
    pub(crate) fn new(
        query: &EventsQuery,
        columns: &BTreeSet<String>,
        named: &BTreeSet<String>,
        last_day: Day,
    ) -> Result<Self, QueryError> {
        query.check()?;
        query.check_names(named)?;
        let plan = Self::resolve(query, columns, last_day, true)?;
        check_span(query)?;
        let totals = query.totals.then(|| Self::of_totals(query, columns, last_day)).transpose()?.map(Box::new);
        Ok(Self { totals, ..plan })
    }

    /// Returns the plan of the totals of `query`: its metrics over the whole range, as one sub-range and one group.
    /// Conditions on metrics decide on rows, and not on the totals.
    fn of_totals(query: &EventsQuery, columns: &BTreeSet<String>, last_day: Day) -> Result<Self, QueryError> {
        let fields = query.fields.iter().filter(|name| query.is_metric(name)).cloned().collect();
        let (interval, sort, limit) = (Interval::Total, Vec::new(), None);
        let query = EventsQuery { fields, interval, sort, limit, ..query.clone() };
        Self::resolve(&query, columns, last_day, false)
    }

    /// Resolves a query without its totals. `keeps_having` says whether conditions on metrics apply.
    fn resolve(
        query: &EventsQuery,
        columns: &BTreeSet<String>,
        last_day: Day,
        keeps_having: bool,
    ) -> Result<Self, QueryError> {
        let (output, dimensions, blank) = resolve_fields(query, columns);
        let (event_filter, having) = filter::split(query, columns)?;
        query.check_cohort(query.conditions().into_iter().map(|(name, _)| name))?;
        let having = having.filter(|_| keeps_having);
        let measures = needed_measures(&output, having.as_ref());
        let (spend, measures): (Vec<_>, Vec<_>) = measures.into_iter().partition(|measure| measure.is_spend());
        let tests = || event_filter.iter().flat_map(Condition::leaves);
        let tested_dimensions: Vec<&DimensionRef> = tests().filter_map(RowPredicate::dimension).collect();
        let tested = || tested_dimensions.iter().copied();
        let read_dimensions = dimensions.iter().chain(tested());
        let layout = MeasureLayout::new(&measures);
        let is_of_state = |dimension: &DimensionRef| {
            matches!(dimension.origin, Origin::Computed(Computed::AdjustedType | Computed::TypeIsLast))
        };
        let aggregated = AggregatedQuery::new(query, last_day, keeps_having);
        let earlier = query.earlier_range()?;
        let comparison = earlier
            .map(|range| ComparisonPlan::new(query, range, columns, last_day, keeps_having).map(Box::new))
            .transpose()?;
        let sub_ranges = query.range.sub_ranges(query.interval);
        let last = query.cohort.map_or(query.range.end, |within| within.last_day(query.range.end).min(last_day));
        Ok(Self {
            aggregated: Arc::new(aggregated),
            range: query.range,
            interval: query.interval,
            accounts: query.accounts.clone(),
            cohort: query.cohort,
            attribution: query.attribution,
            needs_states: layout.needs_states() || read_dimensions.clone().any(is_of_state),
            layout,
            projection: event_projection(&dimensions, &measures, tests(), columns),
            spend_projection: spend_projection(&spend, dimensions.iter().chain(&blank), tested()),
            days: DayTables::new(query.range, last, &sub_ranges, read_dimensions),
            unknown_fields: unknown_fields(blank.iter().chain(tested())),
            event_filter: event_filter.as_ref().map(FieldPredicate::group),
            sub_ranges,
            sort: query.sort.iter().filter_map(|key| sort_column(key, &dimensions, &query.definitions)).collect(),
            limit: query.limit,
            exact_ratios: query.exact_ratios,
            definitions: query.definitions.clone(),
            totals: None,
            mixes_currencies: false,
            comparison,
            output,
            dimensions,
            blank,
            having,
            spend,
        })
    }

    /// Returns a plan of the same range that also counts the rows of each group, unless every sub-range is one group.
    pub(crate) fn counting_rows(&self) -> Cow<'_, Self> {
        if self.dimensions.is_empty() && self.blank.is_empty() || self.layout.has(Measure::Rows) {
            return Cow::Borrowed(self);
        }
        let layout = MeasureLayout::new(&[self.layout.measures(), &[Measure::Rows]].concat());
        Cow::Owned(Self { layout, totals: None, comparison: None, ..self.clone() })
    }

    /// Returns the plans of all ranges of the query: the one of the rows and, if the query compares, that of the
    /// earlier range; then those of the totals.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = &Self> {
        [Some(self), self.totals.as_deref()].into_iter().flatten().flat_map(|plan| {
            let earlier = plan.comparison.as_ref().map(|comparison| &comparison.earlier);
            [Some(plan), earlier].into_iter().flatten()
        })
    }

    /// Returns whether a metric that is selected or filtered on needs the spend table.
    pub(crate) fn needs_spend(&self) -> bool {
        !self.spend.is_empty()
    }
}

/// Returns the distinct names among `dimensions` that neither the dictionary nor the dataset knows.
fn unknown_fields<'a>(dimensions: impl Iterator<Item = &'a DimensionRef>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let unknown = dimensions.filter(|dimension| dimension.is_unknown() && seen.insert(&dimension.name));
    unknown.map(|dimension| dimension.name.clone()).collect()
}

/// Checks the attribution window, which a cohort replaces by its own. Months, weeks and days are never longer, but the
/// totals cover the whole range. A range to compare with may be longer.
fn check_span(query: &EventsQuery) -> Result<(), QueryError> {
    let (days, limit) = (query.range.days(), ATTRIBUTION_WINDOW_DAYS);
    match query.interval {
        _ if days <= limit || query.long_total || query.cohort.is_some() => Ok(()),
        Interval::Total => Err(QueryError::SpanTooLong { days, limit }),
        _ if query.totals => Err(QueryError::TotalsTooLong { days, limit }),
        _ => Ok(()),
    }
}

/// Returns the column that a key sorts by; `None` if the column has the same value in all rows, because no table has
/// it. [`EventsQuery::check`] has found that the answer has the column.
fn sort_column(key: &SortKey, dimensions: &[DimensionRef], definitions: &Definitions) -> Option<SortColumn> {
    let dimension = |name: &str| dimensions.iter().position(|dimension| dimension.name == name);
    let source = match (key.field.as_str(), MetricRef::find(&key.field, definitions)) {
        ("start" | "end", _) => SortSource::SubRange,
        (_, Some(metric)) => SortSource::Metric(metric),
        (name, None) => SortSource::Dimension(dimension(name)?),
    };
    Some(SortColumn { source, is_descending: key.is_descending })
}

type ResolvedFields = (Vec<Output>, Vec<DimensionRef>, Vec<DimensionRef>);

/// Returns the columns of the result table, the dimensions that rows are grouped by, and the blank dimensions.
fn resolve_fields(query: &EventsQuery, columns: &BTreeSet<String>) -> ResolvedFields {
    let mut output = Vec::new();
    let (mut dimensions, mut blank) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for name in query.fields.iter().filter(|name| seen.insert(*name)) {
        if let Some(metric) = MetricRef::find(name, &query.definitions) {
            output.push(Output::Metric(metric));
            continue;
        }
        let dimension = DimensionRef::new(name, columns, &query.definitions, query.attribution);
        if dimension.is_blank() {
            output.push(Output::Blank(blank.len()));
            blank.push(dimension);
        } else {
            output.push(Output::Dimension(dimensions.len()));
            dimensions.push(dimension);
        }
    }
    (output, dimensions, blank)
}

/// Returns the measures that some selected or tested metric needs.
fn needed_measures(output: &[Output], having: Option<&Condition<MetricPredicate>>) -> BTreeSet<Measure> {
    let selected = output.iter().filter_map(|column| match column {
        Output::Metric(metric) => Some(metric),
        Output::Dimension(_) | Output::Blank(_) => None,
    });
    let tested = having.into_iter().flat_map(Condition::leaves).map(|test| &test.metric);
    selected.chain(tested).flat_map(MetricRef::measures).collect()
}
