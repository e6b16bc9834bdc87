//! The events of each customer.

use super::{Codes, ColumnFault, TextDictionary};
use crate::Code;
use std::ops::Range;
use trueup_parquet::LiveRows;

/// The events and the account of each customer of a row group.
#[derive(Clone, Debug)]
pub(crate) struct CustomerIndex {
    /// Customer `i` has the events from `offsets[i]` to `offsets[i + 1]`, at least one.
    offsets: Vec<u32>,
    /// For each customer, the code of its account in `account_keys`.
    accounts: Codes,
    /// The account keys by code.
    account_keys: TextDictionary,
}

/// Consecutive customers of one account, and the range of their events' days. A query skips a block whose account or
/// days it does not need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CustomerBlock {
    pub(crate) customers: Range<usize>,
    /// The code of the account in [`CustomerIndex::account_keys`].
    pub(crate) account: Code,
    /// The first day of any event of the block, in days since 1970-01-01.
    pub(crate) first_day: u16,
    /// The last day of any event of the block, in days since 1970-01-01.
    pub(crate) last_day: u16,
}

/// The most events of a block, unless it is a single customer with more.
pub(crate) const MAX_BLOCK_EVENTS: usize = 256;

impl CustomerIndex {
    /// Makes an index. Customer `i` has the events from `offsets[i]` to `offsets[i + 1]`, at least one, and the account
    /// `accounts[i]`. `days` holds the day of each event.
    ///
    /// # Errors
    /// The events of a customer are not in the order of their days, although a segment must be consecutive events.
    pub(super) fn new(
        offsets: Vec<u32>,
        accounts: Codes,
        account_keys: TextDictionary,
        days: &[u16],
    ) -> Result<Self, ColumnFault> {
        // The days may decrease only where a customer begins, so the decreases there must be all decreases.
        let goes_back = |at: usize| days[at] < days[at - 1];
        let decreases = days.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let at_firsts = offsets[..offsets.len() - 1].iter().skip(1).filter(|first| goes_back(**first as usize)).count();
        if decreases != at_firsts {
            return Err(ColumnFault::new("date", "a customer's events are not in order"));
        }
        Ok(Self { offsets, accounts, account_keys })
    }

    /// Returns the first event of each customer, and the number of events: customer `i` has the events from
    /// `offsets[i]` to `offsets[i + 1]`.
    pub(crate) fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Returns the number of customers.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the events of a customer.
    #[inline]
    pub(crate) fn events(&self, customer: usize) -> Range<usize> {
        self.offsets[customer] as usize..self.offsets[customer + 1] as usize
    }

    /// Returns the first event of each of consecutive customers, and the end of the last customer.
    pub(crate) fn ends(&self, customers: &Range<usize>) -> &[u32] {
        &self.offsets[customers.start..=customers.end]
    }

    /// Returns the events of consecutive customers.
    pub(crate) fn events_of(&self, customers: &Range<usize>) -> Range<usize> {
        self.offsets[customers.start] as usize..self.offsets[customers.end] as usize
    }

    /// Divides the customers into blocks, in order. `days` holds the day of each event.
    pub(super) fn blocks(&self, days: &[u16]) -> Vec<CustomerBlock> {
        let mut blocks = Vec::with_capacity(days.len() / (MAX_BLOCK_EVENTS / 2));
        let mut start = 0;
        for end in self.accounts.run_ends() {
            let account = self.accounts.get(start);
            while start < end {
                let full = self.offsets[start] as usize + MAX_BLOCK_EVENTS;
                let ends = &self.offsets[start + 1..=end];
                let fitting = ends.iter().take_while(|offset| **offset as usize <= full).count();
                let customers = start..start + fitting.max(1);
                start = customers.end;
                blocks.extend(self.block(customers, account, days));
            }
        }
        blocks
    }

    /// Returns `blocks` without the customers whose rows are not in `left`; `None` if only a part of a customer is
    /// left. `days` holds the day of each event.
    pub(super) fn left_blocks(
        &self,
        blocks: &[CustomerBlock],
        left: &LiveRows,
        days: &[u16],
    ) -> Option<Vec<CustomerBlock>> {
        let customer = |row: usize| self.offsets.binary_search(&u32::try_from(row).ok()?).ok();
        let mut cut = Vec::with_capacity(blocks.len());
        let mut next = blocks.iter().peekable();
        for rows in left.ranges() {
            let customers = customer(rows.start)?..customer(rows.end)?;
            while next.next_if(|block| block.customers.end <= customers.start).is_some() {}
            while let Some(block) = next.peek().filter(|block| block.customers.start < customers.end) {
                let of_both = block.customers.start.max(customers.start)..block.customers.end.min(customers.end);
                let is_whole = of_both == block.customers;
                cut.extend(if is_whole { Some((*block).clone()) } else { self.block(of_both, block.account, days) });
                if block.customers.end > customers.end {
                    break;
                }
                next.next();
            }
        }
        Some(cut)
    }

    /// Returns the block of some customers of an account; `None` if there are none.
    fn block(&self, customers: Range<usize>, account: Code, days: &[u16]) -> Option<CustomerBlock> {
        let starts = self.offsets[customers.clone()].iter().map(|first| days[*first as usize]);
        // The last event of each customer is the one before the next customer.
        let ends = self.offsets[customers.start + 1..=customers.end].iter().map(|next| days[*next as usize - 1]);
        let (first_day, last_day) = starts.min().zip(ends.max())?;
        Some(CustomerBlock { customers, account, first_day, last_day })
    }

    /// Returns for each customer the code of its account in [`CustomerIndex::account_keys`].
    pub(crate) const fn accounts(&self) -> &Codes {
        &self.accounts
    }

    /// Returns the account keys by code.
    pub(crate) fn account_keys(&self) -> &TextDictionary {
        &self.account_keys
    }

    /// Returns the bytes held, without the account keys.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.offsets) + self.accounts.bytes()
    }
}

impl Default for CustomerIndex {
    /// Makes an index of no customers.
    fn default() -> Self {
        Self { offsets: vec![0], accounts: Codes::default(), account_keys: TextDictionary::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn each_customer_is_in_one_block_of_its_account() {
        // 700 customers of three accounts, with three events each.
        let days: Vec<u16> = (0..2_100_u16).map(|event| event / 3 + event % 3).collect();
        let keys: TextDictionary = Arc::new(["", "a", "b", "c"].into_iter().collect());
        let offsets = (0..=2_100).step_by(3).collect();
        let accounts = Codes::Byte((0..700_u32).map(|customer| u8::try_from(1 + customer / 300).unwrap()).collect());
        let customers = CustomerIndex::new(offsets, accounts, keys, &days).unwrap();
        assert_eq!(customers.len(), 700);
        let mut next = 0;
        for block in customers.blocks(&days) {
            assert_eq!(block.customers.start, next);
            next = block.customers.end;
            let events = customers.events_of(&block.customers);
            assert!(events.len() <= MAX_BLOCK_EVENTS);
            assert!(block.customers.clone().all(|customer| customers.accounts().get(customer) == block.account));
            assert_eq!(days[events.clone()].iter().min(), Some(&block.first_day));
            assert_eq!(days[events].iter().max(), Some(&block.last_day));
        }
        assert_eq!(next, 700);
    }

    #[test]
    fn blocks_of_the_customers_that_are_left_have_their_days() {
        // Customers of one, two or three events each, of two accounts.
        let offsets: Vec<u32> = (0..=300_u32).map(|customer| 2 * customer - u32::from(customer % 3 == 1)).collect();
        let customer = |event: u32| offsets.partition_point(|offset| *offset <= event) - 1;
        let days: Vec<u16> = (0..600).map(|event| u16::try_from((customer(event) * 7) % 50).unwrap()).collect();
        let accounts = Codes::Byte((0..300_u32).map(|customer| u8::try_from(1 + customer / 140).unwrap()).collect());
        let customers = CustomerIndex::new(offsets.clone(), accounts, TextDictionary::default(), &days).unwrap();
        let all = customers.blocks(&days);
        for gone in [
            vec![],
            vec![0],
            vec![299],
            vec![5, 6, 7, 139, 140, 141],
            (0..300).step_by(2).collect(),
            (0..300).collect(),
        ] {
            let left: Vec<usize> = (0..300).filter(|customer| !gone.contains(customer)).collect();
            let mut rows: Vec<Range<usize>> = Vec::new();
            for events in left.iter().map(|customer| customers.events(*customer)) {
                match rows.last_mut() {
                    Some(last) if last.end == events.start => last.end = events.end,
                    _ => rows.push(events),
                }
            }
            let blocks = customers.left_blocks(&all, &LiveRows::new(rows), &days).unwrap();
            assert_eq!(blocks.iter().flat_map(|block| block.customers.clone()).collect::<Vec<_>>(), left);
            for block in &blocks {
                let of_block = days[customers.events_of(&block.customers)].iter();
                assert_eq!(of_block.clone().min().zip(of_block.max()), Some((&block.first_day, &block.last_day)));
                assert!(block.customers.clone().all(|customer| customers.accounts().get(customer) == block.account));
            }
            assert!(!gone.is_empty() || blocks == all);
        }
        // The second customer has the events 1 to 3, and the last one the events 598 and 599.
        for rows in [0..2, 2..600, 0..599] {
            assert_eq!(customers.left_blocks(&all, &LiveRows::new(vec![rows]), &days), None);
        }
    }

    #[test]
    fn a_large_customer_is_alone_in_its_block() {
        let days = vec![7; 5_000];
        let keys: TextDictionary = Arc::new(["", "a"].into_iter().collect());
        let customers = CustomerIndex::new(vec![0, 10, 4_000, 5_000], Codes::Byte(vec![1; 3]), keys, &days).unwrap();
        let blocks: Vec<_> = customers.blocks(&days).iter().map(|block| block.customers.clone()).collect();
        assert_eq!(blocks, [0..1, 1..2, 2..3]);
    }

    #[test]
    fn days_decrease_only_where_a_customer_begins() {
        let customers = |offsets: &[u32], days: &[u16]| {
            let accounts = Codes::Byte(vec![0; offsets.len() - 1]);
            CustomerIndex::new(offsets.to_vec(), accounts, TextDictionary::default(), days)
        };
        assert!(customers(&[0], &[]).is_ok());
        assert!(customers(&[0, 2, 4], &[5, 6, 3, 3]).is_ok());
        for days in [[6, 5, 3, 3], [5, 6, 3, 2], [3, 5, 4, 3]] {
            assert!(customers(&[0, 2, 4], &days).is_err(), "{days:?}");
        }
        // One decrease, as a second customer allows, but not where that customer begins.
        assert!(customers(&[0, 2, 4], &[6, 5, 5, 5]).is_err());
    }
}
