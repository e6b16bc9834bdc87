//! The days of each account for which an ingest brings spend. Its rows replace the stored rows of the same days.

use super::account_days;
use crate::IngestError;
use crate::error::{ErrorContext, ErrorKind};
use arrow_array::RecordBatch;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::ops::Bound;
use trueup_core::dataset::manifest::RowGroupEntry;

/// Bytes of memory per day of an account, approximately.
const DAY_BYTES: usize = 16;

/// Bytes of memory per account besides its key and its days, approximately.
const ACCOUNT_BYTES: usize = 160;

/// Collects the days of new rows.
pub(super) struct NewDays {
    /// Days since 1970-01-01, by account.
    days: HashMap<String, HashSet<i32>>,
    /// Bytes of memory that the days take, approximately, and the most of them.
    bytes: usize,
    limit: usize,
}

/// The days of new rows: days since 1970-01-01, ascending, by account.
pub(super) struct ReplacedDays(BTreeMap<String, Vec<i32>>);

impl NewDays {
    /// Begins without days. They may take `limit` bytes of memory.
    pub(super) fn new(limit: usize) -> Self {
        Self { days: HashMap::new(), bytes: 0, limit }
    }

    /// Adds the days of new rows.
    ///
    /// # Errors
    /// The days take more memory than they may.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), IngestError> {
        for (account, day) in account_days(batch).doing("read spend")? {
            if !self.days.contains_key(account) {
                self.bytes += account.len() + ACCOUNT_BYTES;
            }
            if self.days.entry_ref(account).or_default().insert(day) {
                self.bytes += DAY_BYTES;
            }
        }
        let (bytes, limit) = (self.bytes, self.limit);
        if bytes > limit {
            return Err(ErrorKind::LargeTable { what: "days of spend", bytes, limit }.into());
        }
        Ok(())
    }

    pub(super) fn finish(self) -> ReplacedDays {
        let sorted = |(account, days): (String, HashSet<i32>)| {
            let mut days: Vec<i32> = days.into_iter().collect();
            days.sort_unstable();
            (account, days)
        };
        ReplacedDays(self.days.into_iter().map(sorted).collect())
    }
}

impl ReplacedDays {
    /// Returns the days of an account.
    pub(super) fn of(&self, account: &str) -> &[i32] {
        self.0.get(account).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a row group may have rows of these days.
    pub(super) fn may_replace(&self, row_group: &RowGroupEntry) -> bool {
        let (first, last) = match &row_group.accounts {
            // A range whose ends are in the wrong order would panic; it has no account.
            Some((first, last)) if first > last => return false,
            Some((first, last)) => (Bound::Included(&**first), Bound::Included(&**last)),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let has_day = |days: &Vec<i32>| match row_group.days {
            Some((first, last)) => days.get(days.partition_point(|day| *day < first)).is_some_and(|day| *day <= last),
            None => true,
        };
        self.0.range::<str, _>((first, last)).any(|(_, days)| has_day(days))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Date32Array, StringArray};
    use std::sync::Arc;
    use trueup_core::model::{ACCOUNT, DATE};

    #[test]
    fn accounts_take_more_memory_than_their_days() {
        let add = |rows: &[(&str, i32)]| {
            let accounts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|(account, _)| account)));
            let days: ArrayRef = Arc::new(Date32Array::from_iter_values(rows.iter().map(|(_, day)| *day)));
            NewDays::new(1_000).add(&RecordBatch::try_from_iter([(ACCOUNT, accounts), (DATE, days)]).unwrap())
        };
        add(&[("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 1), ("b", 2), ("b", 3)]).unwrap();
        let accounts = ["a", "b", "c", "d", "e", "f", "g"].map(|account| (account, 1));
        assert!(add(&accounts).is_err());
    }

    #[test]
    fn row_groups_are_found_by_accounts_and_days() {
        let replaced = ReplacedDays(BTreeMap::from([("b".to_owned(), vec![5, 9]), ("d".to_owned(), vec![7])]));
        let may = |accounts: Option<(&str, &str)>, days| {
            let accounts = accounts.map(|(first, last)| (first.into(), last.into()));
            replaced.may_replace(&RowGroupEntry { rows: 1, accounts, days })
        };
        for (accounts, days, expected) in [
            (Some(("a", "b")), Some((9, 12)), true),
            (Some(("b", "b")), Some((1, 5)), true),
            (Some(("b", "c")), Some((6, 8)), false),
            (Some(("b", "d")), Some((6, 8)), true),
            (Some(("b", "d")), Some((10, 12)), false),
            (Some(("c", "cz")), Some((5, 9)), false),
            (Some(("d", "b")), None, false),
            (Some(("e", "f")), None, false),
            (Some(("d", "f")), None, true),
            (None, Some((8, 8)), false),
            (None, Some((7, 7)), true),
            (None, None, true),
        ] {
            assert_eq!(may(accounts, days), expected, "{accounts:?} {days:?}");
        }
        assert!(!ReplacedDays(BTreeMap::new()).may_replace(&RowGroupEntry::default()));
    }
}
