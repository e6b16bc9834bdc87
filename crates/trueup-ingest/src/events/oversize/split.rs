//! Spilled rows in partitions that fit in memory one by one.

use super::super::budget::Budget;
use super::super::coded::{Coded, wrong};
use super::super::parts::Part;
use super::super::sequence::{Rows, SEQUENCE, with_sequence};
use super::super::sorted::Known;
use super::super::spill::Spill;
use super::histories::Histories;
use crate::IngestError;
use crate::error::ErrorContext;
use crate::version::Scratch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use arrow_select::take::take_record_batch;
use rayon::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use trueup_core::model::{ACCOUNT, EVENT_ID, OPPORTUNITY_ID};

/// The fewest and the most partitions, which are a power of two. One that is still too large is split again.
pub(super) const PARTITIONS: (usize, usize) = (4, 64);

/// The column of an id that says in which partition its row is.
pub(super) const PARTITION: &str = "trueup.partition";

/// A customer's rows are all in one partition, and so are those of an event id in another set of partitions.
pub(super) struct Split {
    /// By customer.
    pub(super) customers: Vec<Rows>,
    /// By account and event id: which row of which partition has it.
    pub(super) ids: Vec<Rows>,
    histories: Histories,
}

impl Split {
    pub(super) fn new(
        spill: &Spill,
        part: &Part,
        known: &Known,
        budget: Budget,
        scratch: &Scratch,
    ) -> Result<Self, IngestError> {
        let share = part.size.bytes.div_ceil(budget.sorted().max(1));
        let count = share.clamp(PARTITIONS.0, PARTITIONS.1).next_power_of_two();
        let rows = |name: &str| (0..count).map(|at| Rows::new(scratch, &format!("{name}-{at:03}"))).collect::<Vec<_>>();
        let mut split = Self { customers: rows("customers"), ids: rows("ids"), histories: Histories::new() };
        let mut next = 0;
        spill.read(part, known, &mut |batch| {
            next = split.add(&batch, next)?;
            Ok(())
        })?;
        split.customers.iter_mut().chain(&mut split.ids).try_for_each(Rows::end)?;
        split.histories.check(&split.customers, known, budget)?;
        Ok(split)
    }

    fn add(&mut self, batch: &RecordBatch, first: u64) -> Result<u64, IngestError> {
        let next = first + batch.num_rows() as u64;
        let sequence: ArrayRef = Arc::new(UInt64Array::from_iter_values(first..next));
        let batch = with_sequence(batch, sequence).doing("spill rows")?;
        let hashes = customer_hashes(&batch, 0).doing("spill rows")?;
        self.histories.add(&hashes, &Coded::of_batch(&batch).doing("spill rows")?);
        let homes = homes(&hashes, self.customers.len());
        distribute(&batch, &homes, &mut self.customers)?;
        let (ids, homes) = ids(&batch, &homes, self.ids.len()).doing("spill rows")?;
        distribute(&ids, &homes, &mut self.ids)?;
        Ok(next)
    }
}

/// For each row, the partition out of `count` that its customer belongs to; another `round` splits in another way.
pub(super) fn by_customer(batch: &RecordBatch, round: u64, count: usize) -> Result<Vec<u32>, ArrowError> {
    Ok(homes(&customer_hashes(batch, round)?, count))
}

/// For each row a hash of its customer.
pub(super) fn customer_hashes(batch: &RecordBatch, round: u64) -> Result<Vec<u64>, ArrowError> {
    Ok(hashes(accounts(batch)?, text(batch, OPPORTUNITY_ID)?, round))
}

fn hashes(accounts: &UInt32Array, texts: &StringArray, round: u64) -> Vec<u64> {
    let hash = |pair: (&u32, Option<&str>)| {
        let mut hasher = DefaultHasher::new();
        (round, pair).hash(&mut hasher);
        hasher.finish()
    };
    accounts.values().iter().zip(texts).map(hash).collect()
}

/// For each hash the partition out of `count` that it belongs to.
fn homes(hashes: &[u64], count: usize) -> Vec<u32> {
    let count = u64::try_from(count).unwrap_or(1).max(1);
    hashes.iter().map(|hash| u32::try_from(hash % count).unwrap_or(0)).collect()
}

/// Writes each row to the partition that is its home.
pub(super) fn distribute(batch: &RecordBatch, homes: &[u32], partitions: &mut [Rows]) -> Result<(), IngestError> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); partitions.len()];
    for (row, home) in (0..).zip(homes) {
        rows[*home as usize].push(row);
    }
    partitions.par_iter_mut().zip(rows).try_for_each(|(partition, rows)| {
        partition.write(&take_record_batch(batch, &UInt32Array::from(rows)).doing("spill rows")?)
    })
}

/// The event ids of a batch, with the places and partitions of their rows, and the partitions of the ids.
fn ids(batch: &RecordBatch, homes: &[u32], count: usize) -> Result<(RecordBatch, Vec<u32>), ArrowError> {
    let (accounts, events) = (accounts(batch)?, text(batch, EVENT_ID)?);
    let with_id: UInt32Array = (0..).zip(events).filter_map(|(row, id)| id.map(|_| row)).collect::<Vec<u32>>().into();
    let partitions: ArrayRef = Arc::new(UInt32Array::from(homes.to_vec()));
    let ids = RecordBatch::try_from_iter([
        (ACCOUNT, Arc::new(accounts.clone()) as ArrayRef),
        (EVENT_ID, Arc::new(events.clone()) as ArrayRef),
        (PARTITION, partitions),
        (SEQUENCE, batch.column(batch.num_columns() - 1).clone()),
    ])?;
    let ids = take_record_batch(&ids, &with_id)?;
    let homes = self::homes(&hashes(self::accounts(&ids)?, text(&ids, EVENT_ID)?, 0), count);
    Ok((ids, homes))
}

/// The codes of accounts, which are never null.
pub(super) fn accounts(batch: &RecordBatch) -> Result<&UInt32Array, ArrowError> {
    let column = batch.column_by_name(ACCOUNT).and_then(|column| column.as_primitive_opt::<UInt32Type>());
    column.filter(|column| column.null_count() == 0).ok_or_else(|| wrong(ACCOUNT))
}

/// A column of texts.
pub(super) fn text<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a StringArray, ArrowError> {
    batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()).ok_or_else(|| wrong(name))
}
