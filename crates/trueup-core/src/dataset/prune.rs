//! Which parts of a table a query can leave unread.

use super::Bounds;
use crate::query::{AccountFilter, DateRange};

/// What statistics decide of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pruning {
    /// Some row may matter.
    Keep,
    /// No row matters.
    Skip,
}

impl Bounds {
    /// Decides a part: its rows matter if they are of an account and a day of the query. A customer's events outside the range
    /// matter only beside one inside, and a part holds whole customers.
    pub(crate) fn prune(&self, range: DateRange, accounts: &AccountFilter) -> Pruning {
        let (start, end) = (i32::from(range.start.number()), i32::from(range.end.number()));
        let outside = |(first, last): (i32, i32)| last < start || first > end;
        if self.days.is_some_and(outside) || self.is_other_account(accounts) {
            return Pruning::Skip;
        }
        Pruning::Keep
    }

    fn is_other_account(&self, accounts: &AccountFilter) -> bool {
        let (AccountFilter::Only(keys), Some((first, last))) = (accounts, &self.accounts) else { return false };
        !keys.iter().any(|key| first.as_slice() <= key.as_bytes() && key.as_bytes() <= last.as_slice())
    }
}
