//! Splits: parts of a query that can be run anywhere.

use super::PartialKey;
use crate::execute::row_groups::{RowGroupSet, SelectedRowGroups};
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;

/// A part of a query: some of the row groups that it reads, from which a partial result is computed. The splits of a
/// query cover each of its row groups exactly once.
///
/// A split is small, whatever the size of the data. Serde serializes it, for example as JSON, to carry it to another
/// process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Split {
    key: PartialKey,
    row_groups: RowGroupSet,
    rows: u64,
}

impl Split {
    /// Divides row groups into at most `splits` splits of about equal numbers of rows. Consecutive row groups stay
    /// together, because their bytes are next to each other.
    pub(super) fn divide(key: &PartialKey, planned: &SelectedRowGroups<'_>, splits: NonZeroUsize) -> Vec<Self> {
        let splits = splits.get().min(planned.len()).max(1);
        let empty = || Self { key: key.clone(), row_groups: RowGroupSet::default(), rows: 0 };
        let mut divided = vec![empty()];
        let (all, mut before) = (u128::from(planned.rows()), 0_u128);
        for (at, (number, row_group)) in (0..planned.len()).filter_map(|at| Some((at, planned.get(at)?))) {
            // The next split begins where its share of the rows begins, or where each row group that is left needs a
            // split of its own.
            let begun = divided.len();
            let is_due = before * splits as u128 >= all * begun as u128 || planned.len() - at == splits - begun;
            if begun < splits && is_due && divided.last().is_some_and(|last| last.row_groups.len() > 0) {
                divided.push(empty());
            }
            if let Some(last) = divided.last_mut() {
                last.row_groups.push(number);
                last.rows += row_group.rows();
            }
            before += u128::from(row_group.rows());
        }
        divided
    }

    pub(super) const fn key(&self) -> &PartialKey {
        &self.key
    }

    pub(in crate::execute) const fn row_groups(&self) -> &RowGroupSet {
        &self.row_groups
    }

    /// Returns the number of rows in the row groups of the split.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }
}
