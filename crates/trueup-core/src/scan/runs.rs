//! Customers as runs of consecutive events.

use super::Dictionary;
use std::ops::Range;
use std::sync::Arc;

/// Where each customer of a split begins and ends, and whose account it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// One more than there are customers: customer `i` is the events from `offsets[i]` to `offsets[i + 1]`; rises strictly.
    offsets: Vec<u32>,
    /// Per customer, where its account stands in `account_keys`.
    accounts: Vec<u32>,
    /// The accounts of the split.
    account_keys: Dictionary,
}

impl Runs {
    /// Runs of `rows` events. `starts_customer(row)` says whether a customer begins at the row, for every row but the first;
    /// `account(row)` is the code of its account.
    pub(crate) fn new(
        rows: u32,
        account_keys: Dictionary,
        starts_customer: impl Fn(usize) -> bool,
        account: impl Fn(usize) -> u32,
    ) -> Self {
        let mut offsets = Vec::new();
        let mut accounts = Vec::new();
        for row in 0..rows {
            let at = row as usize;
            if row == 0 || starts_customer(at) {
                offsets.push(row);
                accounts.push(account(at));
            }
        }
        offsets.push(rows);
        Self { offsets, accounts, account_keys }
    }

    /// The number of customers.
    pub(crate) fn len(&self) -> usize {
        self.accounts.len()
    }

    /// The events of a customer.
    pub(crate) fn events(&self, customer: usize) -> Range<usize> {
        self.offsets[customer] as usize..self.offsets[customer + 1] as usize
    }

    /// Per customer, where its account stands in [`Runs::account_keys`].
    pub(crate) fn accounts(&self) -> &[u32] {
        &self.accounts
    }

    /// The accounts that have a customer here.
    pub(crate) fn accounts_met(&self) -> impl Iterator<Item = &Arc<str>> {
        let met = self.accounts.chunk_by(|a, b| a == b).filter_map(|customers| customers.first());
        met.map(|code| &self.account_keys[*code as usize])
    }

    /// The accounts of the split.
    pub(crate) fn account_keys(&self) -> &Dictionary {
        &self.account_keys
    }
}
