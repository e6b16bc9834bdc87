//! Events on disk, in partitions that fit in memory one by one.

use super::sequence::{Rows, SEQUENCE, widen, with_sequence};
use crate::IngestError;
use crate::error::Doing;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use arrow_select::take::take_record_batch;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tempfile::TempDir;
use trueup_core::model::{ACCOUNT, EVENT_ID, OPPORTUNITY_ID, concat_events, extra_columns, stored_event_schema};

/// Partitions of a spill. One that is still too large is split again.
const PARTITIONS: usize = 64;

/// The place of the first row of an input; rows that the dataset held before come earlier.
const FIRST_NEW: u64 = 1 << 62;

/// The column of an id that says in which partition its row is.
pub(super) const PARTITION: &str = "trueup.partition";

/// Events on disk. A customer's rows are all in one partition, and so are those of an event id in another set of partitions.
pub(super) struct Spill {
    pub(super) scratch: TempDir,
    /// By customer.
    pub(super) customers: Vec<Rows>,
    /// By account and event id: which row of which partition has it.
    pub(super) ids: Vec<Rows>,
    /// The dimensions met so far.
    pub(super) columns: BTreeSet<String>,
    next_stored: u64,
    next_new: u64,
}

impl Spill {
    pub(super) fn new(scratch: TempDir) -> Self {
        let rows = |name: &str| {
            (0..PARTITIONS).map(|at| Rows::new(scratch.path(), &format!("{name}-{at:03}"))).collect::<Vec<_>>()
        };
        let (customers, ids) = (rows("customers"), rows("ids"));
        Self { scratch, customers, ids, columns: BTreeSet::new(), next_stored: 0, next_new: FIRST_NEW }
    }

    /// Adds rows that the dataset held before.
    pub(super) fn write_stored(&mut self, batches: &[RecordBatch]) -> Result<(), IngestError> {
        self.next_stored = self.write(batches, self.next_stored)?;
        Ok(())
    }

    /// Adds rows of the inputs.
    pub(super) fn write_new(&mut self, batches: &[RecordBatch]) -> Result<(), IngestError> {
        self.next_new = self.write(batches, self.next_new)?;
        Ok(())
    }

    fn write(&mut self, batches: &[RecordBatch], first: u64) -> Result<u64, IngestError> {
        if batches.is_empty() {
            return Ok(first);
        }
        let all = concat_events(batches).doing("put events together")?;
        self.columns.extend(extra_columns(all.schema_ref()).map(str::to_owned));
        let schema = stored_event_schema(self.columns.iter().map(String::as_str));
        let next = first + u64::try_from(all.num_rows()).unwrap_or(0);
        let sequence: ArrayRef = Arc::new(UInt64Array::from_iter_values(first..next));
        let all = widen(&all, &schema).and_then(|all| with_sequence(&all, sequence)).doing("spill rows")?;
        let homes = by_customer(&all, 0, PARTITIONS).doing("spill rows")?;
        distribute(&all, &homes, &mut self.customers)?;
        let (ids, homes) = ids(&all, &homes).doing("spill rows")?;
        distribute(&ids, &homes, &mut self.ids)?;
        Ok(next)
    }
}

/// For each row, the partition out of `count` that its customer belongs to; another `round` splits in another way.
pub(super) fn by_customer(batch: &RecordBatch, round: u64, count: usize) -> Result<Vec<u32>, ArrowError> {
    by_pair(text(batch, ACCOUNT)?, text(batch, OPPORTUNITY_ID)?, round, count)
}

fn by_pair(first: &StringArray, second: &StringArray, round: u64, count: usize) -> Result<Vec<u32>, ArrowError> {
    let count = u64::try_from(count).unwrap_or(1).max(1);
    let home = |pair: (Option<&str>, Option<&str>)| {
        let mut hasher = DefaultHasher::new();
        (round, pair).hash(&mut hasher);
        u32::try_from(hasher.finish() % count).unwrap_or(0)
    };
    Ok(first.iter().zip(second).map(home).collect())
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
fn ids(batch: &RecordBatch, homes: &[u32]) -> Result<(RecordBatch, Vec<u32>), ArrowError> {
    let (accounts, events) = (text(batch, ACCOUNT)?, text(batch, EVENT_ID)?);
    let with_id: UInt32Array = (0..).zip(events).filter_map(|(row, id)| id.map(|_| row)).collect::<Vec<u32>>().into();
    let partitions: ArrayRef = Arc::new(UInt32Array::from(homes.to_vec()));
    let ids = RecordBatch::try_from_iter([
        (ACCOUNT, Arc::new(accounts.clone()) as ArrayRef),
        (EVENT_ID, Arc::new(events.clone()) as ArrayRef),
        (PARTITION, partitions),
        (SEQUENCE, batch.column(batch.num_columns() - 1).clone()),
    ])?;
    let ids = take_record_batch(&ids, &with_id)?;
    let homes = by_pair(text(&ids, ACCOUNT)?, text(&ids, EVENT_ID)?, 0, PARTITIONS)?;
    Ok((ids, homes))
}

/// A column of texts.
pub(super) fn text<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a StringArray, ArrowError> {
    let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    column.ok_or_else(|| ArrowError::SchemaError(format!("stored events have no texts in column `{name}`")))
}
