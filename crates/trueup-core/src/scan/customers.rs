//! Customers as customers of consecutive events.

use super::{Codes, ColumnFault, TextDictionary};
use std::ops::Range;

/// Where each customer of a split begins and ends, and whose account it is.
#[derive(Clone, Debug)]
pub(crate) struct CustomerIndex {
    /// One more than there are customers: customer `i` is the events from `offsets[i]` to `offsets[i + 1]`; rises strictly.
    offsets: Vec<u32>,
    /// Per customer, where its account stands in `account_keys`.
    accounts: Codes,
    /// The accounts of the split.
    account_keys: TextDictionary,
    blocks: Vec<CustomerBlock>,
}

/// Consecutive customers of one account, with the ends of their events' days: what lies outside a query is left out as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CustomerBlock {
    pub(crate) customers: Range<usize>,
    /// Where the account stands in [`CustomerIndex::account_keys`].
    pub(crate) account: u32,
    pub(crate) first_day: u16,
    pub(crate) last_day: u16,
}

/// The events that a block has at most, unless it is a single customer with more.
pub(crate) const MAX_BLOCK_EVENTS: usize = 256;

impl CustomerIndex {
    /// Customer `i` is the events from `offsets[i]` to `offsets[i + 1]`, of the account `accounts[i]`; each has one event at least, and
    /// all together have `days`.
    ///
    /// # Errors
    /// A customer's events go back in time: the sub-ranges of a customer are found as consecutive events.
    pub(super) fn new(
        offsets: Vec<u32>,
        accounts: Codes,
        account_keys: TextDictionary,
        days: &[u16],
    ) -> Result<Self, ColumnFault> {
        // Time may go back where a customer begins, and nowhere else.
        let goes_back = |at: usize| days[at] < days[at - 1];
        let all = days.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let firsts = offsets[..offsets.len() - 1].iter().skip(1).filter(|first| goes_back(**first as usize)).count();
        if all != firsts {
            return Err(ColumnFault::new("date", "a customer's events are not in order"));
        }
        let blocks = blocks(&offsets, &accounts, days);
        Ok(Self { offsets, accounts, account_keys, blocks })
    }

    /// One more than there are customers: customer `i` is the events from `offsets[i]` to `offsets[i + 1]`.
    pub(crate) fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The number of customers.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The events of a customer.
    #[inline]
    pub(crate) fn events(&self, customer: usize) -> Range<usize> {
        self.offsets[customer] as usize..self.offsets[customer + 1] as usize
    }

    /// Where each of consecutive customers begins, and where the last of them ends.
    pub(crate) fn ends(&self, customers: &Range<usize>) -> &[u32] {
        &self.offsets[customers.start..=customers.end]
    }

    /// The events of consecutive customers.
    pub(crate) fn events_of(&self, customers: &Range<usize>) -> Range<usize> {
        self.offsets[customers.start] as usize..self.offsets[customers.end] as usize
    }

    /// All customers, in order.
    pub(crate) fn blocks(&self) -> &[CustomerBlock] {
        &self.blocks
    }

    /// Per customer, where its account stands in [`CustomerIndex::account_keys`].
    pub(crate) const fn accounts(&self) -> &Codes {
        &self.accounts
    }

    /// The accounts that have a customer here; one may be told more than once.
    pub(crate) fn accounts_met(&self) -> impl Iterator<Item = &str> {
        let met = self.blocks.chunk_by(|a, b| a.account == b.account).filter_map(|blocks| blocks.first());
        met.map(|block| &self.account_keys[block.account as usize])
    }

    /// The accounts of the split.
    pub(crate) fn account_keys(&self) -> &TextDictionary {
        &self.account_keys
    }

    /// Bytes held, keys aside.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.offsets) + self.accounts.bytes() + size_of_val(&*self.blocks)
    }
}

impl Default for CustomerIndex {
    /// No customer.
    fn default() -> Self {
        Self {
            offsets: vec![0],
            accounts: Codes::default(),
            account_keys: TextDictionary::default(),
            blocks: Vec::new(),
        }
    }
}

fn blocks(offsets: &[u32], accounts: &Codes, days: &[u16]) -> Vec<CustomerBlock> {
    let mut blocks = Vec::with_capacity(days.len() / (MAX_BLOCK_EVENTS / 2));
    let mut start = 0;
    for end in accounts.ends_of_stretches() {
        let account = accounts.get(start);
        while start < end {
            let full = offsets[start] as usize + MAX_BLOCK_EVENTS;
            let fitting = offsets[start + 1..=end].iter().take_while(|offset| **offset as usize <= full).count();
            let customers = start..start + fitting.max(1);
            start = customers.end;
            let starts = offsets[customers.clone()].iter().map(|first| days[*first as usize]);
            // The event before the one with which the next customer begins.
            let ends = offsets[customers.start + 1..=customers.end].iter().map(|next| days[*next as usize - 1]);
            if let (Some(first_day), Some(last_day)) = (starts.min(), ends.max()) {
                blocks.push(CustomerBlock { customers, account, first_day, last_day });
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::sync::Arc;

    #[test]
    fn blocks_hold_every_customer_once_and_one_account_each() {
        // 700 customers of three events each, of three accounts.
        let days: Vec<u16> = (0..2_100_u16).map(|event| event / 3 + event % 3).collect();
        let keys: TextDictionary = Arc::new(["", "a", "b", "c"].into_iter().collect());
        let offsets = (0..=2_100).step_by(3).collect();
        let accounts = Codes::Byte((0..700_u32).map(|customer| u8::try_from(1 + customer / 300).unwrap()).collect());
        let customers = CustomerIndex::new(offsets, accounts, keys, &days).unwrap();
        assert_eq!(customers.len(), 700);
        let mut next = 0;
        for block in customers.blocks() {
            assert_eq!(block.customers.start, next);
            next = block.customers.end;
            let events = customers.events_of(&block.customers);
            assert!(events.len() <= MAX_BLOCK_EVENTS);
            assert!(block.customers.clone().all(|customer| customers.accounts().get(customer) == block.account));
            assert_eq!(days[events.clone()].iter().min(), Some(&block.first_day));
            assert_eq!(days[events].iter().max(), Some(&block.last_day));
        }
        assert_eq!(next, 700);
        assert_eq!(customers.accounts_met().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn a_large_customer_is_a_block_of_its_own() {
        let days = vec![7; 5_000];
        let keys: TextDictionary = Arc::new(["", "a"].into_iter().collect());
        let customers = CustomerIndex::new(vec![0, 10, 4_000, 5_000], Codes::Byte(vec![1; 3]), keys, &days).unwrap();
        let blocks: Vec<_> = customers.blocks().iter().map(|block| block.customers.clone()).collect();
        assert_eq!(blocks, [0..1, 1..2, 2..3]);
    }

    #[test]
    fn days_go_back_where_a_customer_begins_alone() {
        let customers = |offsets: &[u32], days: &[u16]| {
            let accounts = Codes::Byte(vec![0; offsets.len() - 1]);
            CustomerIndex::new(offsets.to_vec(), accounts, TextDictionary::default(), days)
        };
        assert!(customers(&[0], &[]).is_ok());
        assert!(customers(&[0, 2, 4], &[5, 6, 3, 3]).is_ok());
        for days in [[6, 5, 3, 3], [5, 6, 3, 2], [3, 5, 4, 3]] {
            assert!(customers(&[0, 2, 4], &days).is_err(), "{days:?}");
        }
        // As many steps back as customers begin, though not there.
        assert!(customers(&[0, 2, 4], &[6, 5, 5, 5]).is_err());
    }
}
