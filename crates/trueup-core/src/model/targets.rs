//! The targets, and the table that has them.

use super::amount::{STORED, read_amounts};
use super::columns::{ACCOUNT, CHANNEL, Meaning, amount_field, check_columns, find, require, require_all};
use super::fault::{CellFault, CellFaults, Reason, TableFault, too_many_rows};
use super::plain_column::{PlainColumn, day_from_text, read_account_keys, read_ids};
use crate::Day;
use crate::day::first_of_month;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MONTH: &str = "month";
const METRIC: &str = "metric";
const VALUE: &str = "value";

/// The dimensions that a target may name a value of.
pub const TARGET_DIMENSIONS: [&str; 3] = ["attributionCategory", CHANNEL, "campaign"];

/// The columns of a table of targets.
pub const TARGET_COLUMNS: [&str; 7] =
    [ACCOUNT, MONTH, METRIC, VALUE, TARGET_DIMENSIONS[0], TARGET_DIMENSIONS[1], TARGET_DIMENSIONS[2]];

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

/// The accepted and the rejected rows of a table of targets. Each row is in one of the two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRows {
    /// The numbers of the accepted rows in the batch, from 0, ascending.
    pub rows: Vec<u32>,
    /// One fault per rejected row, by row.
    pub faults: Vec<CellFault>,
    /// The accepted rows that replaced a target that was there before.
    pub replaced: u64,
}

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

    /// Reads a table of targets from its batches, whatever its metrics are called.
    ///
    /// # Errors
    /// Returns an error if the columns are wrong, or the fault of the first bad row.
    pub fn from_batches(batches: &[RecordBatch]) -> Result<Self, TableFault> {
        let mut targets = Self::default();
        for batch in batches {
            if let Some(fault) = targets.read(batch, |_| true)?.faults.into_iter().next() {
                return Err(fault.into());
            }
        }
        Ok(targets)
    }

    /// Adds the targets of a batch, and rejects bad rows. A row replaces a target with the same key that is there
    /// before it. A row is bad if `is_metric` does not hold for its metric.
    ///
    /// The batch has the columns `account`, `month`, `metric` and `value`, and any of [`TARGET_DIMENSIONS`]. A month is
    /// `YYYY-MM`, or its first day. Further columns are ignored.
    ///
    /// # Errors
    /// Returns an error if a column is missing, nested or of a wrong type, if a name occurs twice or is another
    /// spelling of a known one, or if the batch has too many rows.
    pub fn read(&mut self, batch: &RecordBatch, is_metric: impl Fn(&str) -> bool) -> Result<TargetRows, TableFault> {
        let schema = batch.schema_ref();
        require_all(schema, &[&[ACCOUNT], &[MONTH], &[METRIC], &[VALUE]])?;
        check_columns(schema, &TARGET_COLUMNS)?;
        let mut faults = CellFaults::default();
        let column = |at: usize| PlainColumn::new(schema.field(at).name(), batch.column(at));
        let accounts = read_account_keys(&column(require(schema, &[ACCOUNT], Meaning::Id)?)?, &mut faults)?;
        let months = read_ids(&column(require(schema, &[MONTH], Meaning::Dimension)?)?, &mut faults)?;
        let metrics = read_ids(&column(require(schema, &[METRIC], Meaning::Text)?)?, &mut faults)?;
        let values = read_amounts(&column(require(schema, &[VALUE], Meaning::Amount)?)?, &mut faults)?;
        let mut dimensions = Vec::new();
        for name in TARGET_DIMENSIONS {
            let at = find(schema, name, Meaning::Dimension)?;
            dimensions.push(at.map(|at| column(at)?.texts(&mut faults)).transpose()?);
        }
        let (mut rows, mut replaced) = (Vec::new(), 0);
        for row in 0..batch.num_rows() {
            if faults.has(row) {
                continue;
            }
            if values.is_null(row) {
                faults.add(row, VALUE, "", Reason::Empty);
                continue;
            }
            let Some(month) = month_of(months.value(row)) else {
                faults.add(row, MONTH, months.value(row), Reason::Month);
                continue;
            };
            let metric = metrics.value(row);
            if !is_metric(metric) {
                faults.add(row, METRIC, metric, Reason::Metric);
                continue;
            }
            let text = |texts: &Option<StringArray>| match texts {
                Some(texts) if texts.is_valid(row) => texts.value(row).to_owned(),
                _ => String::new(),
            };
            let key = TargetKey {
                account: accounts.value(row).to_owned(),
                month,
                metric: metric.to_owned(),
                dimensions: [text(&dimensions[0]), text(&dimensions[1]), text(&dimensions[2])],
            };
            rows.push(u32::try_from(row).map_err(|_| too_many_rows(batch.num_rows()))?);
            // An amount has at most 64 bits.
            let value = i64::try_from(values.value(row)).unwrap_or_default();
            replaced += u64::from(self.insert(key, value).is_some());
        }
        Ok(TargetRows { rows, faults: faults.into_faults(), replaced })
    }

    /// Returns the targets as a table, by key, in the form that [`Targets::read`] accepts.
    ///
    /// # Errors
    /// Returns an error if the targets are too large for one batch.
    pub fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let text = |name| Field::new(name, DataType::Utf8, false);
        let dimension = |name| Field::new(name, DataType::Utf8, true);
        let schema = Schema::new(vec![
            text(ACCOUNT),
            text(MONTH),
            text(METRIC),
            amount_field(VALUE),
            dimension(TARGET_DIMENSIONS[0]),
            dimension(TARGET_DIMENSIONS[1]),
            dimension(TARGET_DIMENSIONS[2]),
        ]);
        let keys = || self.0.keys();
        let values: Decimal128Array = self.0.values().map(|value| Some(i128::from(*value))).collect();
        let of_dimension = |at: usize| -> ArrayRef {
            let text = |key: &TargetKey| Some(key.dimensions[at].clone()).filter(|text| !text.is_empty());
            Arc::new(keys().map(text).collect::<StringArray>())
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(keys().map(|key| &key.account))),
            Arc::new(StringArray::from_iter_values(keys().map(|key| key.month.month()))),
            Arc::new(StringArray::from_iter_values(keys().map(|key| &key.metric))),
            Arc::new(values.with_precision_and_scale(STORED.0, STORED.1)?),
            of_dimension(0),
            of_dimension(1),
            of_dimension(2),
        ];
        RecordBatch::try_new(Arc::new(schema), columns)
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
