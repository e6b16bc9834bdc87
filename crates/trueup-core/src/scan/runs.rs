//! Customers as runs of consecutive events.

use super::{Codes, ColumnFault, Dictionary};
use std::ops::Range;
use std::sync::Arc;

/// Where each customer of a split begins and ends, and whose account it is.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// One more than there are customers: customer `i` is the events from `offsets[i]` to `offsets[i + 1]`; rises strictly.
    offsets: Vec<u32>,
    /// Per customer, where its account stands in `account_keys`.
    accounts: Codes,
    /// The accounts of the split.
    account_keys: Dictionary,
    blocks: Vec<Block>,
}

/// Consecutive customers of one account, with the ends of their events' days: what lies outside a query is left out as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) customers: Range<usize>,
    /// Where the account stands in [`Runs::account_keys`].
    pub(crate) account: u32,
    pub(crate) first_day: u16,
    pub(crate) last_day: u16,
}

/// The events that a block has, unless it is a single customer with more.
const BLOCK_EVENTS: usize = 256;

impl Runs {
    /// Runs of the events whose days are given. `starts_customer(row)` says whether a customer begins at the row, for every row but the
    /// first; `account(row)` is the code of its account.
    ///
    /// # Errors
    /// A customer's events go back in time: the sub-ranges of a customer are found as consecutive events.
    pub(crate) fn new(
        days: &[u16],
        account_keys: Dictionary,
        starts_customer: impl Fn(usize) -> bool,
        account: impl Fn(usize) -> u32,
    ) -> Result<Self, ColumnFault> {
        let rows = u32::try_from(days.len()).map_err(|_| ColumnFault::new("date", "too many rows"))?;
        let mut offsets = Vec::new();
        let mut accounts = Vec::new();
        for row in 0..rows {
            let at = row as usize;
            if row == 0 || starts_customer(at) {
                offsets.push(row);
                accounts.push(account(at));
            } else if days[at] < days[at - 1] {
                return Err(ColumnFault::new("date", "a customer's events are not in order"));
            }
        }
        offsets.push(rows);
        let blocks = blocks(&offsets, &accounts, days);
        Ok(Self { offsets, accounts: Codes::new(accounts, account_keys.len()), account_keys, blocks })
    }

    /// The number of customers.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The events of a customer.
    pub(crate) fn events(&self, customer: usize) -> Range<usize> {
        self.offsets[customer] as usize..self.offsets[customer + 1] as usize
    }

    /// The events of consecutive customers.
    pub(crate) fn events_of(&self, customers: &Range<usize>) -> Range<usize> {
        self.offsets[customers.start] as usize..self.offsets[customers.end] as usize
    }

    /// All customers, in order.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Per customer, where its account stands in [`Runs::account_keys`].
    pub(crate) const fn accounts(&self) -> &Codes {
        &self.accounts
    }

    /// The accounts that have a customer here; one may be told more than once.
    pub(crate) fn accounts_met(&self) -> impl Iterator<Item = &Arc<str>> {
        let met = self.blocks.chunk_by(|a, b| a.account == b.account).filter_map(|blocks| blocks.first());
        met.map(|block| &self.account_keys[block.account as usize])
    }

    /// The accounts of the split.
    pub(crate) fn account_keys(&self) -> &Dictionary {
        &self.account_keys
    }

    /// Bytes held, keys aside.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.offsets) + self.accounts.bytes() + size_of_val(&*self.blocks)
    }
}

impl Default for Runs {
    /// No customer.
    fn default() -> Self {
        let accounts = Codes::new(Vec::new(), 0);
        Self { offsets: vec![0], accounts, account_keys: Dictionary::default(), blocks: Vec::new() }
    }
}

fn blocks(offsets: &[u32], accounts: &[u32], days: &[u16]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut events_left = 0;
    for (customer, account) in accounts.iter().copied().enumerate() {
        let days = &days[offsets[customer] as usize..offsets[customer + 1] as usize];
        // A customer has at least one event.
        let (Some(first_day), Some(last_day)) = (days.first().copied(), days.last().copied()) else { continue };
        match blocks.last_mut() {
            Some(block) if block.account == account && events_left >= days.len() => {
                block.customers.end = customer + 1;
                block.first_day = block.first_day.min(first_day);
                block.last_day = block.last_day.max(last_day);
            }
            _ => {
                blocks.push(Block { customers: customer..customer + 1, account, first_day, last_day });
                events_left = BLOCK_EVENTS;
            }
        }
        events_left = events_left.saturating_sub(days.len());
    }
    blocks
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn blocks_hold_every_customer_once_and_one_account_each() {
        // 700 customers of three events each, of three accounts.
        let days: Vec<u16> = (0..2_100_u16).map(|event| event / 3 + event % 3).collect();
        let keys: Dictionary = ["", "a", "b", "c"].map(Arc::from).into();
        let account = |event: usize| u32::try_from(1 + event / 3 / 300).unwrap();
        let runs = Runs::new(&days, keys, |event| event % 3 == 0, account).unwrap();
        assert_eq!(runs.len(), 700);
        let mut next = 0;
        for block in runs.blocks() {
            assert_eq!(block.customers.start, next);
            next = block.customers.end;
            let events = runs.events_of(&block.customers);
            assert!(events.len() <= BLOCK_EVENTS);
            assert!(block.customers.clone().all(|customer| runs.accounts().get(customer) == block.account));
            assert_eq!(days[events.clone()].iter().min(), Some(&block.first_day));
            assert_eq!(days[events].iter().max(), Some(&block.last_day));
        }
        assert_eq!(next, 700);
        assert_eq!(runs.accounts_met().map(|key| &**key).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn a_large_customer_is_a_block_of_its_own() {
        let days = vec![7; 5_000];
        let keys: Dictionary = ["", "a"].map(Arc::from).into();
        let runs = Runs::new(&days, keys, |event| matches!(event, 10 | 4_000), |_| 1).unwrap();
        let blocks: Vec<_> = runs.blocks().iter().map(|block| block.customers.clone()).collect();
        assert_eq!(blocks, [0..1, 1..2, 2..3]);
    }
}
