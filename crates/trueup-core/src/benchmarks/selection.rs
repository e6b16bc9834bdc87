//! What is asked of benchmarks: which metrics, by which dimensions, filtered how.

use super::{BenchmarkFault, Dimension, Metric, Period};
use crate::{Day, dictionary};
use std::collections::{BTreeMap, BTreeSet};

/// The metrics that are asked for, by which dimensions, of which part of the customers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    metrics: Vec<Metric>,
    dimensions: Vec<Dimension>,
    filters: BTreeMap<Dimension, String>,
}

impl Default for Selection {
    /// Every metric, by nothing.
    fn default() -> Self {
        Self::new(Metric::ALL, [])
    }
}

impl Selection {
    /// The metrics, and what they are grouped by, both in the order in which rows show them; duplicates are dropped.
    pub fn new(metrics: impl IntoIterator<Item = Metric>, dimensions: impl IntoIterator<Item = Dimension>) -> Self {
        Self { metrics: distinct(metrics), dimensions: distinct(dimensions), filters: BTreeMap::new() }
    }

    /// Keeps the customers whose dimension has that value; null is the empty text. An earlier value of it is replaced.
    #[must_use]
    pub fn filter(mut self, dimension: Dimension, value: impl Into<String>) -> Self {
        self.filters.insert(dimension, value.into());
        self
    }

    /// The metrics, in order.
    #[must_use]
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// The dimensions that rows are grouped by, in order.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The dimensions that are filtered on, and the value of each.
    #[must_use]
    pub const fn filters(&self) -> &BTreeMap<Dimension, String> {
        &self.filters
    }
}

/// Reads a request from its texts: names of fields (none: every metric), pairs of a field to filter on and its value, and the
/// month as [`Period::read`] takes it.
///
/// # Errors
/// The first fault in this order: no metric among the fields, a month at fault, a field without benchmarks, a filter on such a
/// field, two values for one dimension.
///
/// ```
/// use trueup_core::benchmarks::{self, Metric};
///
/// let (period, selection) = benchmarks::read(&["bookRate", "customerStatus"], &[], None, "2025-03-15".parse()?)?;
/// assert_eq!(period.range.days(), 15);
/// assert_eq!(selection.metrics(), [Metric::BookRate]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    fields: &[&str],
    filters: &[(&str, &str)],
    month: Option<&str>,
    today: Day,
) -> Result<(Period, Selection), BenchmarkFault> {
    if !fields.is_empty() && fields.iter().all(|name| dictionary::metric(name).is_none()) {
        return Err(BenchmarkFault::MissingMetric);
    }
    let period = Period::read(month, today)?;
    let mut selection = if fields.is_empty() { Selection::default() } else { read_fields(fields)? };
    for (name, value) in filters {
        let dimension =
            Dimension::from_name(name).ok_or_else(|| BenchmarkFault::Filter { name: (*name).to_owned() })?;
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

fn read_fields(fields: &[&str]) -> Result<Selection, BenchmarkFault> {
    let (mut metrics, mut dimensions) = (Vec::new(), Vec::new());
    for name in fields {
        if let Some(metric) = Metric::from_name(name) {
            metrics.push(metric);
        } else if let Some(dimension) = Dimension::from_name(name) {
            dimensions.push(dimension);
        } else {
            return Err(BenchmarkFault::Field { name: (*name).to_owned() });
        }
    }
    Ok(Selection::new(metrics, dimensions))
}

fn distinct<T: Copy + Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    values.into_iter().filter(|value| seen.insert(*value)).collect()
}

#[cfg(test)]
mod tests;
