//! Events by account: where each account's rows are, and which accounts are sorted together.

use super::budget::Size;
use super::concat::RowRange;
use super::dictionaries::EventDictionaries;
use super::event_batch::EventBatch;
use std::ops::Range;

/// The most rows of a slice of several accounts.
const SLICE_ROWS: usize = 1 << 17;

/// The most bytes of a slice of several accounts.
const SLICE_BYTES: usize = 64 << 20;

/// Returns the rows of some batches by account: the account's rank and a range of its rows, sorted by rank. Ranges of
/// one account keep the order of the batches. `ranks` gives the rank of each account code.
pub(super) fn ranges_by_account(batches: &[EventBatch], ranks: &[u32]) -> Vec<(u32, RowRange)> {
    let mut ranges = Vec::new();
    for (batch, rows) in (0..).zip(batches) {
        let mut start = 0;
        for (account, len) in rows.account_runs() {
            ranges.push((ranks[account as usize], RowRange { batch, start, len }));
            start += len;
        }
    }
    ranges.sort_by_key(|(rank, _)| *rank);
    ranges
}

/// How much one account has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccountSize {
    pub(super) rows: usize,
    pub(super) text_bytes: usize,
}

impl AccountSize {
    /// Returns the size in memory if each row takes `row_bytes` without its texts.
    pub(super) fn size(self, row_bytes: usize) -> Size {
        Size { rows: self.rows, bytes: self.rows * row_bytes + self.text_bytes }
    }
}

/// Whole accounts with consecutive ranks. A slice is sorted as a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountSlice {
    /// The rank of the first account.
    pub(super) first: u32,
    /// The rank of the last account.
    pub(super) last: u32,
    pub(super) size: Size,
}

impl AccountSlice {
    /// Divides all accounts into slices, in the order of their ranks. `accounts` has a size for each account code.
    pub(super) fn divide(accounts: &[AccountSize], row_bytes: usize, dictionaries: &EventDictionaries) -> Vec<Self> {
        let mut accounts: Vec<(u32, AccountSize)> = (0..)
            .zip(accounts)
            .filter(|(_, account)| account.rows > 0)
            .map(|(code, account)| (dictionaries.account_rank(code), *account))
            .collect();
        accounts.sort_unstable_by_key(|(rank, _)| *rank);
        let mut slices: Vec<Self> = Vec::new();
        for (rank, account) in accounts {
            let size = account.size(row_bytes);
            match slices.last_mut() {
                Some(Self { last, size: Size { rows, bytes }, .. })
                    if *rows + size.rows <= SLICE_ROWS && *bytes + size.bytes <= SLICE_BYTES =>
                {
                    *last = rank;
                    *rows += size.rows;
                    *bytes += size.bytes;
                }
                _ => slices.push(Self { first: rank, last: rank, size }),
            }
        }
        slices
    }

    /// Returns which of some items, sorted by account, overlap the slice. `first` and `last` give the ranks of an
    /// item's first and last account.
    pub(super) fn find<T>(&self, items: &[T], first: impl Fn(&T) -> u32, last: impl Fn(&T) -> u32) -> Range<usize> {
        let start = items.partition_point(|item| last(item) < self.first);
        let end = items.partition_point(|item| first(item) <= self.last);
        start..end.max(start)
    }
}
