//! What a comparison needs besides the plan of the range that is asked for.

use super::{DimensionRef, MetricRef, Output, Plan};
use crate::Day;
use crate::error::QueryError;
use crate::query::{ComparedColumn, DateRange, EventsQuery, SortKey};
use std::collections::BTreeSet;

/// The plan of the earlier range of a comparison, and how the joined rows are sorted.
#[derive(Clone, Debug)]
pub(crate) struct ComparisonPlan {
    /// The plan of the same query for the earlier range, whose outputs are those of the plan that it belongs to.
    pub(crate) earlier: Plan,
    /// The columns to sort the answer by, the first of which decides first.
    pub(crate) sort: Vec<ComparedSortColumn>,
}

/// A column of a comparison to sort the answer by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparedSortColumn {
    /// The place among the outputs of the plan.
    pub(crate) output: usize,
    /// What the column shows, if the output is a metric.
    pub(crate) part: ComparedColumn,
    pub(crate) is_descending: bool,
}

impl ComparisonPlan {
    /// Resolves the comparison of `query` with the range `earlier`. `keeps_having` says whether conditions on metrics
    /// apply, as in the plan of the range that is asked for, so that both ranges need the same measures.
    pub(super) fn new(
        query: &EventsQuery,
        earlier: DateRange,
        columns: &BTreeSet<String>,
        last_day: Day,
        keeps_having: bool,
    ) -> Result<Self, QueryError> {
        let plain = EventsQuery { range: earlier, compare: None, sort: Vec::new(), limit: None, ..query.clone() };
        let earlier = Plan::resolve(&plain, columns, last_day, keeps_having)?;
        let sort = query.sort.iter().filter_map(|key| sort_column(key, &earlier)).collect();
        Ok(Self { earlier, sort })
    }
}

/// Returns the column that a key sorts by. [`EventsQuery::check`] has found that the answer has it.
fn sort_column(key: &SortKey, plan: &Plan) -> Option<ComparedSortColumn> {
    let (name, part) =
        ComparedColumn::split_with(&key.field, &plan.definitions).unwrap_or((&key.field, ComparedColumn::Current));
    let output = plan.output.iter().position(|output| plan.name_of(output) == name)?;
    Some(ComparedSortColumn { output, part, is_descending: key.is_descending })
}

impl Plan {
    /// Returns the field that an output shows.
    pub(crate) fn name_of<'a>(&'a self, output: &'a Output) -> &'a str {
        match output {
            Output::Dimension(place) => &self.dimensions[*place].name,
            Output::Blank(place) => &self.blank[*place].name,
            Output::Metric(metric) => metric.name(),
        }
    }

    /// Returns whether the numerator and the denominator of a ratio add up over the dimensions of the query, which they
    /// always do if the query has none; amounts of different currencies do not. `false` for other metrics.
    pub(crate) fn has_effects(&self, metric: &MetricRef) -> bool {
        let Some(parts) = metric.additivity_of_ratio() else { return false };
        if self.mixes_currencies && metric.is_of_money() {
            return false;
        }
        let dimensions = || self.dimensions.iter().chain(&self.blank);
        parts.into_iter().all(|additivity| {
            let adds_up = |dimension: &DimensionRef| match dimension.spend {
                Some(_) => additivity.across_spend_dimensions,
                None => additivity.across_other_dimensions,
            };
            dimensions().all(adds_up)
        })
    }
}
