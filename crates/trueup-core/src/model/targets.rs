//! The targets, and the table that has them.

use super::amount::STORED;
use super::columns::{ACCOUNT, CHANNEL, Meaning, check_columns, require_all};
use super::fault::{Reason, SchemaFault};
use super::held::{self, HeldColumn, HeldRow, HeldTable, batch_of};
use super::plain_column::day_from_text;
use crate::Day;
use crate::day::first_of_month;
use arrow_array::{ArrayRef, Decimal128Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Schema};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MONTH: &str = "month";
const METRIC: &str = "metric";
const VALUE: &str = "value";

/// The dimensions that a target may name a value of.
pub const TARGET_DIMENSIONS: [&str; 3] = ["attributionCategory", CHANNEL, "campaign"];

/// The columns of a table of targets.
pub const TARGET_COLUMNS: [&str; 7] = held::names(Targets::COLUMNS);

/// Bytes that a target takes apart from its strings, approximately.
const TARGET_BYTES: usize = 192;

/// What a target is for.
///
/// For example, the spend of the account `north` in May 2026 for the channel `Paid Search`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetKey {
    /// The key of the account.
    pub account: String,
    /// The first day of the calendar month.
    pub month: Day,
    /// The name of the metric.
    pub metric: String,
    /// The value of each of [`TARGET_DIMENSIONS`]. Empty where the target is for all values together.
    pub dimensions: [String; TARGET_DIMENSIONS.len()],
}

/// The targets: what the metric of an account should be in a calendar month. Values are in millionths; of money, of a
/// currency unit.
///
/// ```
/// use trueup_core::model::{TargetKey, Targets};
///
/// let mut targets = Targets::default();
/// let (month, dimensions) = ("2026-05-01".parse()?, Default::default());
/// let budget = TargetKey { account: "north".to_owned(), month, metric: "spend".to_owned(), dimensions };
/// assert_eq!(targets.insert(budget.clone(), 9_000_000_000), None);
/// assert_eq!(targets.get(&budget), Some(9_000_000_000));
/// # Ok::<(), trueup_core::day::ParseDayError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(BTreeMap<TargetKey, i64>);

impl Targets {
    /// Returns the value of a target; `None` if there is no such target.
    #[must_use]
    pub fn get(&self, key: &TargetKey) -> Option<i64> {
        self.0.get(key).copied()
    }

    /// Returns the targets with their values, by account, month, metric and dimensions.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&TargetKey, i64)> {
        self.0.iter().map(|(key, value)| (key, *value))
    }

    /// Returns the number of targets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no targets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the metrics that have targets.
    #[must_use]
    pub fn metrics(&self) -> BTreeSet<&str> {
        self.0.keys().map(|key| key.metric.as_str()).collect()
    }

    /// Adds a target. Returns the value that it replaces, if one has its key.
    pub fn insert(&mut self, key: TargetKey, value: i64) -> Option<i64> {
        self.0.insert(key, value)
    }

    fn strings(&self, string: impl Fn(&TargetKey) -> &str) -> ArrayRef {
        let filled = |key: &TargetKey| Some(string(key).to_owned()).filter(|string| !string.is_empty());
        Arc::new(self.0.keys().map(filled).collect::<StringArray>())
    }
}

impl HeldTable for Targets {
    const COLUMNS: &'static [HeldColumn] = &[
        HeldColumn::new(ACCOUNT, Meaning::Id),
        HeldColumn::new(MONTH, Meaning::Dimension),
        HeldColumn::new(METRIC, Meaning::Text),
        HeldColumn::new(VALUE, Meaning::Amount),
        HeldColumn::new(TARGET_DIMENSIONS[0], Meaning::Dimension),
        HeldColumn::new(TARGET_DIMENSIONS[1], Meaning::Dimension),
        HeldColumn::new(TARGET_DIMENSIONS[2], Meaning::Dimension),
    ];

    const REQUIRED: usize = 4;

    fn check_names(schema: &Schema) -> Result<(), SchemaFault> {
        require_all(schema, &[&[ACCOUNT], &[MONTH], &[METRIC], &[VALUE]])?;
        check_columns(schema, &TARGET_COLUMNS)
    }

    /// Replaces a target with the same key. A month is `YYYY-MM`, or its first day.
    fn add(&mut self, row: &HeldRow<'_>, is_metric: &dyn Fn(&str) -> bool) -> Result<bool, (&'static str, Reason)> {
        let [account, month, metric, _, category, channel, campaign] = std::array::from_fn(|number| row.string(number));
        let value = row.amount(3).ok_or((VALUE, Reason::Empty))?;
        let month = month_of(month).ok_or((MONTH, Reason::Month))?;
        if !is_metric(metric) {
            return Err((METRIC, Reason::Metric));
        }
        let dimensions = [category, channel, campaign].map(str::to_owned);
        let key = TargetKey { account: account.to_owned(), month, metric: metric.to_owned(), dimensions };
        Ok(self.insert(key, value).is_some())
    }

    fn merge(&mut self, later: Self) -> u64 {
        later.0.into_iter().map(|(key, value)| u64::from(self.insert(key, value).is_some())).sum()
    }

    fn bytes(&self) -> usize {
        let strings = |key: &TargetKey| {
            key.account.len() + key.metric.len() + key.dimensions.iter().map(String::len).sum::<usize>()
        };
        self.0.keys().map(|key| strings(key) + TARGET_BYTES).sum()
    }

    fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let months: StringArray = self.0.keys().map(|key| Some(key.month.month())).collect();
        let values: Decimal128Array = self.0.values().map(|value| Some(i128::from(*value))).collect();
        let columns: [(ArrayRef, bool); TARGET_COLUMNS.len()] = [
            (self.strings(|key| &key.account), false),
            (Arc::new(months), false),
            (self.strings(|key| &key.metric), false),
            (Arc::new(values.with_precision_and_scale(STORED.0, STORED.1)?), true),
            (self.strings(|key| &key.dimensions[0]), true),
            (self.strings(|key| &key.dimensions[1]), true),
            (self.strings(|key| &key.dimensions[2]), true),
        ];
        batch_of(TARGET_COLUMNS, columns)
    }
}

/// Returns the first day of a month that is given as `YYYY-MM`, or by its first day; `None` if it is neither.
fn month_of(text: &str) -> Option<Day> {
    if let Some(first) = first_of_month(text) {
        return Day::from_date(first).ok();
    }
    let day = day_from_text(text).ok()?;
    (day.month() + "-01" == day.to_string()).then_some(day)
}

#[cfg(test)]
mod tests;
