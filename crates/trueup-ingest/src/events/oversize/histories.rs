//! How long the histories of an account's customers are, found before any of them is held.

use super::super::budget::{Budget, Size};
use super::super::coded::Coded;
use super::super::sequence::Rows;
use super::super::sorted::Known;
use super::split::{PARTITIONS, accounts, customer_hashes, text};
use crate::IngestError;
use crate::error::ErrorContext;
use hashbrown::HashMap;
use trueup_core::model::{ACCOUNT, OPPORTUNITY_ID};

/// Buckets of customers; a multiple of any number of partitions, so that a bucket lies in one.
const BUCKETS: usize = PARTITIONS.1 << 10;

/// The sizes of customers, several of which share a bucket.
pub(super) struct Histories(Vec<Size>);

impl Histories {
    pub(super) fn new() -> Self {
        Self(vec![Size::default(); BUCKETS])
    }

    /// Adds rows, given the hashes of their customers.
    pub(super) fn add(&mut self, hashes: &[u64], rows: &Coded) {
        let row_bytes = rows.row_bytes();
        for (row, hash) in hashes.iter().enumerate() {
            let size = &mut self.0[bucket(*hash)];
            size.rows += 1;
            size.bytes += row_bytes + rows.text_bytes(row..row + 1);
        }
    }

    /// Refuses a customer whose history is too long or too large; `partitions` hold all rows.
    pub(super) fn check(&self, partitions: &[Rows], known: &Known, budget: Budget) -> Result<(), IngestError> {
        for (at, size) in self.0.iter().enumerate() {
            if budget.check_customer(*size, || ("", "")).is_ok() {
                continue;
            }
            for ((account, customer), size) in customers(&partitions[at % partitions.len()], at)? {
                let key = || known.texts(ACCOUNT).get(account as usize).map_or("", AsRef::as_ref);
                budget.check_customer(size, || (key(), &customer))?;
            }
        }
        Ok(())
    }
}

fn bucket(hash: u64) -> usize {
    usize::try_from(hash % BUCKETS as u64).unwrap_or(0)
}

/// The customers of a bucket.
fn customers(partition: &Rows, wanted: usize) -> Result<HashMap<(u32, String), Size>, IngestError> {
    const COUNT: &str = "count the events of customers";
    let mut sizes: HashMap<u32, HashMap<String, Size>> = HashMap::new();
    for batch in partition.read() {
        let batch = batch?;
        let hashes = customer_hashes(&batch, 0).doing(COUNT)?;
        let (accounts, customers) = (accounts(&batch).doing(COUNT)?, text(&batch, OPPORTUNITY_ID).doing(COUNT)?);
        let rows = Coded::of_batch(&batch).doing(COUNT)?;
        for row in (0..hashes.len()).filter(|row| bucket(hashes[*row]) == wanted) {
            let of_account = sizes.entry(accounts.value(row)).or_default();
            let size = of_account.entry_ref(customers.value(row)).or_default();
            size.rows += 1;
            size.bytes += rows.row_bytes() + rows.text_bytes(row..row + 1);
        }
    }
    let of_account = |(account, customers): (u32, HashMap<String, Size>)| {
        customers.into_iter().map(move |(customer, size)| ((account, customer), size))
    };
    Ok(sizes.into_iter().flat_map(of_account).collect())
}
