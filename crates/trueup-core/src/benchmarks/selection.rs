//! What is asked of benchmarks: which metrics, by which dimensions, filtered how.

use super::{BenchmarkDimension, BenchmarkFault, BenchmarkMetric, BenchmarkPeriod};
use crate::{Day, dictionary};
use std::collections::{BTreeMap, BTreeSet};

/// The metrics that are asked for, by which dimensions, of which part of the customers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchmarkSelection {
    metrics: Vec<BenchmarkMetric>,
    dimensions: Vec<BenchmarkDimension>,
    filters: BTreeMap<BenchmarkDimension, String>,
}

impl Default for BenchmarkSelection {
    /// Every metric, by nothing.
    fn default() -> Self {
        Self::new(BenchmarkMetric::ALL, [])
    }
}

impl BenchmarkSelection {
    /// The metrics, and what they are grouped by, both in the order in which rows show them; duplicates are dropped.
    pub fn new(
        metrics: impl IntoIterator<Item = BenchmarkMetric>,
        dimensions: impl IntoIterator<Item = BenchmarkDimension>,
    ) -> Self {
        Self { metrics: distinct(metrics), dimensions: distinct(dimensions), filters: BTreeMap::new() }
    }

    /// Keeps the customers whose dimension has that value; null is the empty text. An earlier value of it is replaced.
    #[must_use]
    pub fn filter(mut self, dimension: BenchmarkDimension, value: impl Into<String>) -> Self {
        self.filters.insert(dimension, value.into());
        self
    }

    /// The metrics, in order.
    #[must_use]
    pub fn metrics(&self) -> &[BenchmarkMetric] {
        &self.metrics
    }

    /// The dimensions that rows are grouped by, in order.
    #[must_use]
    pub fn dimensions(&self) -> &[BenchmarkDimension] {
        &self.dimensions
    }

    /// The dimensions that are filtered on, and the value of each.
    #[must_use]
    pub const fn filters(&self) -> &BTreeMap<BenchmarkDimension, String> {
        &self.filters
    }
}

/// Reads a request from its texts: names of fields (none: every metric), pairs of a field to filter on and its value, and the
/// month as [`BenchmarkPeriod::read`] takes it.
///
/// # Errors
/// The first fault in this order: no metric among the fields, a month at fault, a field without benchmarks, a filter on such a
/// field, two values for one dimension.
///
/// ```
/// use trueup_core::benchmarks::{self, BenchmarkMetric};
///
/// let (period, selection) = benchmarks::read(&["bookRate", "customerStatus"], &[], None, "2025-03-15".parse()?)?;
/// assert_eq!(period.range.days(), 15);
/// assert_eq!(selection.metrics(), [BenchmarkMetric::BookRate]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    fields: &[&str],
    filters: &[(&str, &str)],
    month: Option<&str>,
    today: Day,
) -> Result<(BenchmarkPeriod, BenchmarkSelection), BenchmarkFault> {
    if !fields.is_empty() && fields.iter().all(|name| dictionary::metric(name).is_none()) {
        return Err(BenchmarkFault::MissingMetric);
    }
    let period = BenchmarkPeriod::read(month, today)?;
    let mut selection = if fields.is_empty() { BenchmarkSelection::default() } else { read_fields(fields)? };
    for (name, value) in filters {
        let dimension =
            BenchmarkDimension::from_name(name).ok_or_else(|| BenchmarkFault::Filter { name: (*name).to_owned() })?;
        let second = (*value).to_owned();
        match selection.filters.get(&dimension) {
            Some(first) if *first != second => {
                return Err(BenchmarkFault::SeveralValues { dimension, first: first.clone(), second });
            }
            _ => selection = selection.filter(dimension, second),
        }
    }
    Ok((period, selection))
}

fn read_fields(fields: &[&str]) -> Result<BenchmarkSelection, BenchmarkFault> {
    let (mut metrics, mut dimensions) = (Vec::new(), Vec::new());
    for name in fields {
        if let Some(metric) = BenchmarkMetric::from_name(name) {
            metrics.push(metric);
        } else if let Some(dimension) = BenchmarkDimension::from_name(name) {
            dimensions.push(dimension);
        } else {
            return Err(BenchmarkFault::Field { name: (*name).to_owned() });
        }
    }
    Ok(BenchmarkSelection::new(metrics, dimensions))
}

fn distinct<T: Copy + Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    values.into_iter().filter(|value| seen.insert(*value)).collect()
}

#[cfg(test)]
mod tests;
