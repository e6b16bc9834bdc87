//! Which row groups a query can leave unread.

use crate::query::{AccountFilter, DateRange};

/// What statistics say of the rows of a row group; `None` if they say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowGroupBounds {
    /// A lower and an upper bound of the account keys, in the order of bytes. Long keys may be cut in statistics, so
    /// that a bound need not be the key of an account.
    pub(crate) accounts: Option<(Vec<u8>, Vec<u8>)>,
    /// A lower and an upper bound of the days, counted from 1970-01-01.
    pub(crate) days: Option<(i32, i32)>,
}

/// Whether a query reads a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pruning {
    /// Some row may matter.
    Keep,
    /// No row matters.
    Skip,
}

impl RowGroupBounds {
    /// Decides whether a row may have a day in `range` and one of `accounts`. A customer's events outside the range
    /// matter only if another event is inside, and a row group holds whole customers.
    pub(crate) fn prune(&self, range: DateRange, accounts: &AccountFilter) -> Pruning {
        let (start, end) = (i32::from(range.start.number()), i32::from(range.end.number()));
        let is_outside = |(first, last): (i32, i32)| last < start || first > end;
        if self.days.is_some_and(is_outside) || self.excludes(accounts) { Pruning::Skip } else { Pruning::Keep }
    }

    fn excludes(&self, accounts: &AccountFilter) -> bool {
        let (AccountFilter::Only(keys), Some((first, last))) = (accounts, &self.accounts) else { return false };
        !keys.iter().any(|key| first.as_slice() <= key.as_bytes() && key.as_bytes() <= last.as_slice())
    }
}
