//! The exact numbers of an answer, by group.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::{ResultTable, Value};

/// The first day of the sub-range, empty if there is a single one, and the values of the dimensions.
pub(super) type Key = (String, Vec<String>);

/// The counts of each group, and its money in millionths. A group without a row has zeros, because spend without events
/// has no row if it is 0.
#[derive(Debug)]
pub(super) struct Figures {
    metrics: Vec<String>,
    pub(super) groups: BTreeMap<Key, Vec<i128>>,
}

impl Figures {
    /// Panics if a metric is a ratio, which has no exact number.
    pub(super) fn new<D: AsRef<str>>(table: &ResultTable, dimensions: &[D], metrics: &[&str]) -> Self {
        let number = |row: usize, metric: &str| match table.value(row, metric) {
            Some(Value::Count(count)) => i128::from(count),
            Some(Value::Money(micros)) => micros,
            other => panic!("{metric}: {other:?}"),
        };
        let row = |row| {
            let figures = metrics.iter().map(|metric| number(row, metric)).collect();
            (key(table, row, dimensions), figures)
        };
        Self {
            metrics: metrics.iter().map(|metric| (*metric).to_owned()).collect(),
            groups: (0..table.len()).map(row).collect(),
        }
    }

    /// Maps each group to another one, and sums the groups that become the same.
    pub(super) fn regrouped(self, to: impl Fn(Key) -> Key) -> Self {
        let mut groups = BTreeMap::new();
        for (key, figures) in self.groups {
            add(groups.entry(to(key)).or_default(), &figures);
        }
        Self { groups, ..self }
    }

    /// Returns the sums of both.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        for (key, figures) in &other.groups {
            add(self.groups.entry(key.clone()).or_default(), figures);
        }
        self
    }

    pub(super) fn of(&self, key: &Key) -> Vec<i128> {
        self.groups.get(key).cloned().unwrap_or_else(|| vec![0; self.metrics.len()])
    }

    fn keys<'a>(&'a self, other: &'a Self) -> BTreeSet<&'a Key> {
        self.groups.keys().chain(other.groups.keys()).collect()
    }

    pub(super) fn check_equal(&self, other: &Self) -> Result<(), TestCaseError> {
        self.check(other, |a, b| a == b)
    }

    pub(super) fn check_at_most(&self, other: &Self) -> Result<(), TestCaseError> {
        self.check(other, |a, b| a <= b)
    }

    fn check(&self, other: &Self, holds: impl Fn(i128, i128) -> bool) -> Result<(), TestCaseError> {
        for key in self.keys(other) {
            for (metric, (a, b)) in self.metrics.iter().zip(self.of(key).into_iter().zip(other.of(key))) {
                prop_assert!(holds(a, b), "{} of {:?}: {} against {}", metric, key, a, b);
            }
        }
        Ok(())
    }
}

pub(super) fn key<D: AsRef<str>>(table: &ResultTable, row: usize, dimensions: &[D]) -> Key {
    let start = match table.value(row, "start") {
        Some(Value::Day(day)) => day.to_string(),
        _ => String::new(),
    };
    let text = |dimension: &D| match table.value(row, dimension.as_ref()) {
        Some(Value::Text(text)) => text.to_owned(),
        other => panic!("{}: {other:?}", dimension.as_ref()),
    };
    (start, dimensions.iter().map(text).collect())
}

fn add(sums: &mut Vec<i128>, figures: &[i128]) {
    sums.resize(figures.len(), 0);
    sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
}
