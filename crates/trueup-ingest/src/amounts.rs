//! The amounts of rows for control totals, also of rows that are not ingested.

use crate::table::Table;
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use std::collections::BTreeMap;
use trueup_core::dataset::{ControlTotals, ReplacedRows};
use trueup_core::model::readable_amounts;

/// The amounts of the rows of a batch, in the columns of a canonical table.
#[derive(Default)]
pub(crate) struct RowAmounts {
    /// The name of each column of amounts, and the amount of each row; `None` for an amount that cannot be read.
    columns: Vec<(&'static str, Vec<Option<i64>>)>,
}

impl RowAmounts {
    /// Reads the amounts of a batch as far as they can be read. Its rows need not keep the rules of the table.
    pub(crate) fn read(batch: &RecordBatch, table: Table) -> Self {
        let mut amounts = Self::default();
        for name in table.amounts() {
            if let Some(column) = batch.column_by_name(name) {
                amounts.add(name, column, |_| false);
            }
        }
        amounts
    }

    /// Adds a column. `is_faulty` says of which rows the amount cannot be read, although the column has one or null.
    pub(crate) fn add(&mut self, name: &'static str, column: &ArrayRef, is_faulty: impl Fn(usize) -> bool) {
        // A type without amounts has none that can be read.
        let mut amounts = readable_amounts(name, column).unwrap_or_else(|_| vec![None; column.len()]);
        amounts.iter_mut().enumerate().filter(|(row, _)| is_faulty(*row)).for_each(|(_, amount)| *amount = None);
        self.columns.push((name, amounts));
    }

    /// Returns the totals of a row.
    pub(crate) fn of(&self, row: usize) -> ControlTotals {
        let mut totals = ControlTotals::of_rows(1);
        for (name, amounts) in &self.columns {
            match amounts.get(row).copied().flatten() {
                Some(amount) => totals.add_amount(name, amount.into()),
                None => totals.without_amount = 1,
            }
        }
        totals
    }
}

/// Returns the totals of a row of a table, of which no amount can be read.
pub(crate) fn unreadable_row(table: Table) -> ControlTotals {
    ControlTotals { without_amount: u64::from(!table.amounts().is_empty()), ..ControlTotals::of_rows(1) }
}

/// The most pairs of a source and a channel that a protocol lists.
const MAX_PAIRS: usize = 10_000;

/// Rows by their source and channel, or by their source and campaign; or only all together if there are too many pairs
/// of these. Which of the two it is does not depend on the order of the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct TotalsBySource {
    pairs: BTreeMap<(String, String), ControlTotals>,
    /// All rows, once there are too many pairs.
    all: Option<ControlTotals>,
}

impl TotalsBySource {
    /// Adds rows of a source and a channel, which are empty for none.
    pub(crate) fn add(&mut self, source: &str, channel: &str, totals: ControlTotals) {
        match &mut self.all {
            Some(all) => *all += totals,
            None => *self.pairs.entry((source.to_owned(), channel.to_owned())).or_default() += totals,
        }
        self.limit();
    }

    /// Adds other rows.
    pub(crate) fn merge(&mut self, other: Self) {
        for ((source, channel), totals) in other.pairs {
            self.add(&source, &channel, totals);
        }
        self.add_unlisted(other.all.unwrap_or_default());
    }

    /// Adds rows whose pairs are not known because there are too many.
    pub(crate) fn add_unlisted(&mut self, totals: ControlTotals) {
        if totals.rows > 0 {
            *self.all.get_or_insert_default() += totals;
            self.limit();
        }
    }

    /// Forgets the pairs if there are too many.
    fn limit(&mut self) {
        if self.pairs.len() > MAX_PAIRS || (self.all.is_some() && !self.pairs.is_empty()) {
            let pairs = std::mem::take(&mut self.pairs);
            *self.all.get_or_insert_default() += pairs.into_values().sum();
        }
    }

    /// Returns the rows of each pair, and all rows if the pairs are not known.
    pub(crate) fn into_rows(self) -> (Vec<ReplacedRows>, ControlTotals) {
        let rows = self.pairs.into_iter();
        let rows = rows.map(|((source, channel), totals)| ReplacedRows { source, channel, totals });
        (rows.collect(), self.all.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_pairs_are_counted_together_in_any_order() {
        let one = ControlTotals { ad_spend: 2, ..ControlTotals::of_rows(1) };
        let of = |pairs: std::ops::Range<usize>| {
            let mut totals = TotalsBySource::default();
            pairs.for_each(|pair| totals.add("meta", &pair.to_string(), one));
            totals
        };
        for [first, second] in [[0..MAX_PAIRS, 5..MAX_PAIRS + 1], [5..MAX_PAIRS + 1, 0..5], [0..MAX_PAIRS + 1, 0..1]] {
            let rows = first.len() + second.len();
            let mut all = of(first);
            all.merge(of(second));
            let (listed, others) = all.into_rows();
            assert_eq!((listed.len(), others.rows, others.ad_spend), (0, rows as u64, 2 * rows as i128));
        }
        assert_eq!(of(0..MAX_PAIRS).into_rows().0.len(), MAX_PAIRS);
    }
}
