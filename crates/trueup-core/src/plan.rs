//! A query resolved against the dictionary and the dataset's columns: what to read, how to group, what to keep.

mod condition;
mod dimension;
mod projection;
#[cfg(test)]
mod tests;

pub(crate) use condition::{Condition, MetricPredicate, RowPredicate};
pub(crate) use dimension::{DimensionRef, Origin};
pub(crate) use projection::{AGENT_COLUMN, LABEL_COLUMN, STATUS_COLUMN};

use crate::dictionary::{self, Field, Formula, Measure};
use crate::error::QueryError;
use crate::query::{AccountFilter, DateRange, EventsQuery, Interval};
use crate::scan::{Projection, SpendProjection};
use projection::{event_projection, spend_projection};
use std::collections::BTreeSet;

/// The longest range that one sub-range may cover unless the query lifts it.
pub const ATTRIBUTION_WINDOW_DAYS: u32 = 90;

/// A query, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) range: DateRange,
    /// The parts of the range, in order.
    pub(crate) sub_ranges: Vec<DateRange>,
    pub(crate) interval: Interval,
    pub(crate) accounts: AccountFilter,
    /// The columns of the answer, in order.
    pub(crate) output: Vec<Output>,
    /// What rows are grouped by, in the order requested.
    pub(crate) dimensions: Vec<DimensionRef>,
    /// Dimensions that no table has, in the order requested. Empty on every row, they make no groups, and nothing is kept of them
    /// per group or row however many are asked for.
    pub(crate) blank: Vec<DimensionRef>,
    /// Measures of events that some metric needs.
    pub(crate) measures: Vec<Measure>,
    /// Conditions on events; spend rows are held against them too.
    pub(crate) row_condition: Option<Condition<RowPredicate>>,
    /// Conditions on finished rows.
    pub(crate) having: Option<Condition<MetricPredicate>>,
    /// Measures of the spend table that some metric needs.
    pub(crate) spend: Vec<Measure>,
    /// Event columns to read.
    pub(crate) projection: Projection,
    /// Spend columns to read, if the spend table is needed.
    pub(crate) spend_projection: SpendProjection,
    /// Names that neither the dictionary nor the dataset knows.
    pub(crate) unknown_fields: Vec<String>,
}

/// One column of the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// The dimension at this place in [`Plan::dimensions`].
    Dimension(usize),
    /// The dimension at this place in [`Plan::blank`].
    Blank(usize),
    /// A metric.
    Metric(&'static Field, Formula),
}

impl Plan {
    /// Resolves `query` for a dataset whose events carry `columns` beside the required ones. Of several faults the first in the
    /// order of the contract is told: fields, range, filter, span.
    pub(crate) fn new(query: &EventsQuery, columns: &BTreeSet<String>) -> Result<Self, QueryError> {
        query.check()?;
        let (output, dimensions, blank) = resolve_fields(&query.fields, columns);
        let (row_condition, having) = match &query.filter {
            Some(filter) => condition::split(filter, query.patterns.clone(), columns)?,
            None => (None, None),
        };
        check_span(query)?;
        let measures = needed_measures(&output, having.as_ref());
        let (spend, measures): (Vec<_>, Vec<_>) = measures.into_iter().partition(|measure| measure.is_spend());
        let row_tests = row_condition.iter().flat_map(Condition::leaves);
        let projection = event_projection(&dimensions, &measures, row_tests, columns);
        let mut unknown_fields: Vec<String> = Vec::new();
        let tested: Vec<_> =
            row_condition.iter().flat_map(Condition::leaves).filter_map(RowPredicate::dimension).collect();
        let spend_projection = spend_projection(&spend, dimensions.iter().chain(&blank), tested.iter().copied());
        let mut seen = BTreeSet::new();
        for dimension in blank.iter().chain(tested) {
            if dimension.is_unknown() && seen.insert(&dimension.name) {
                unknown_fields.push(dimension.name.clone());
            }
        }
        Ok(Self {
            range: query.range,
            sub_ranges: query.range.sub_ranges(query.interval),
            interval: query.interval,
            accounts: query.accounts.clone(),
            output,
            dimensions,
            blank,
            measures,
            row_condition,
            having,
            spend,
            projection,
            spend_projection,
            unknown_fields,
        })
    }

    /// Whether a metric that is selected or filtered on needs the spend table.
    pub(crate) fn needs_spend(&self) -> bool {
        !self.spend.is_empty()
    }
}

fn check_span(query: &EventsQuery) -> Result<(), QueryError> {
    let days = query.range.days();
    if query.interval == Interval::Total && days > ATTRIBUTION_WINDOW_DAYS && !query.long_total {
        return Err(QueryError::SpanTooLong { days, limit: ATTRIBUTION_WINDOW_DAYS });
    }
    Ok(())
}

type Resolved = (Vec<Output>, Vec<DimensionRef>, Vec<DimensionRef>);

/// The columns of the answer, the dimensions that rows are grouped by, and those that are blank.
fn resolve_fields(fields: &[String], columns: &BTreeSet<String>) -> Resolved {
    let mut output = Vec::new();
    let (mut dimensions, mut blank) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for name in fields.iter().filter(|name| seen.insert(*name)) {
        if let Some((field, metric)) = dictionary::metric(name) {
            output.push(Output::Metric(field, metric.formula));
            continue;
        }
        let dimension = DimensionRef::new(name, columns);
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

fn needed_measures(output: &[Output], having: Option<&Condition<MetricPredicate>>) -> BTreeSet<Measure> {
    let selected = output.iter().filter_map(|column| match column {
        Output::Metric(_, formula) => Some(*formula),
        Output::Dimension(_) | Output::Blank(_) => None,
    });
    let tested = having.into_iter().flat_map(Condition::leaves).map(|test| test.formula);
    selected.chain(tested).flat_map(Formula::measures).collect()
}
