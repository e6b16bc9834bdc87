//! Divides the spilled rows of a slice into files, the partitions, each of which can be processed on its own: the rows
//! by customer, to be sorted, and their event ids by id, to find superseded rows. The two differ, because a later row
//! may have an earlier event id and another customer.

use super::superseded::SupersededRows;
use crate::IngestError;
use crate::amounts::TotalsBySource;
use crate::error::ErrorContext;
use crate::events::budget::{Budget, Size};
use crate::events::dictionaries::EventDictionaries;
use crate::events::event_batch::{EventBatch, primitive_column, text_column};
use crate::events::row_ranges::AccountSlice;
use crate::events::shared_ids::SharedRows;
use crate::events::sort::totals_by_source;
use crate::events::spill::AccountSpill;
use crate::spill_file::SpillFile;
use crate::version::Scratch;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::take::take_record_batch;
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use trueup_core::model::{ACCOUNT, EVENT_ID, OPPORTUNITY_ID};

/// The fewest and the most partitions; the number is a power of two. A partition that is still too large is divided
/// again.
const MIN_PARTITIONS: usize = 4;
const MAX_PARTITIONS: usize = 64;

/// The number of buckets of customers, in which [`HistorySizes`] adds up histories. It is a multiple of any number of
/// partitions, so that all customers of a bucket are in one partition.
const BUCKETS: usize = MAX_PARTITIONS << 10;

/// The column of a row's position in the order of arrival, counted from 0 in the slice.
pub(super) const SEQUENCE: &str = "trueup.sequence";

/// The column, next to event ids, of the number of the partition of rows that holds the row with the id.
pub(super) const PARTITION: &str = "trueup.partition";

/// The column, next to event ids, of a hash of the stage and the customer of the row with the id.
pub(super) const EVENT_HASH: &str = "trueup.event";

/// The rows of a slice on disk.
pub(super) struct Partitions {
    /// The partitions of rows. All rows of a customer are in the same one.
    pub(super) customers: Vec<SpillFile>,
    /// The partitions of event ids: for each row with an id, its account, the id, its customer, where the row is in
    /// `customers` ([`PARTITION`]) and in the order of arrival ([`SEQUENCE`]), and its [`EVENT_HASH`]. All rows with
    /// the same id are in the same partition.
    pub(super) ids: Vec<SpillFile>,
    /// The position of the first row that the dataset did not have.
    pub(super) first_new: u64,
}

impl Partitions {
    /// Reads the rows of a slice from the spill. Returns the sizes of histories, too, which are not checked yet.
    pub(super) fn new(
        spill: &AccountSpill,
        slice: &AccountSlice,
        dictionaries: &EventDictionaries,
        budget: Budget,
        scratch: &Scratch,
    ) -> Result<(Self, HistorySizes), IngestError> {
        let shares = slice.size.bytes.div_ceil(budget.sort().max(1));
        let count = shares.clamp(MIN_PARTITIONS, MAX_PARTITIONS).next_power_of_two();
        let files = |name: &str| -> Vec<SpillFile> {
            (0..count).map(|at| SpillFile::new(scratch, &format!("{name}-{at:03}"))).collect()
        };
        let mut partitions = Self { customers: files("customers"), ids: files("ids"), first_new: 0 };
        let mut histories = HistorySizes(vec![Size::default(); BUCKETS]);
        let (mut next, mut first_new) = (0, 0);
        spill.read(slice, dictionaries, &mut |batch, is_new| {
            next = partitions.add(batch, next, &mut histories)?;
            if !is_new {
                first_new = next;
            }
            Ok(())
        })?;
        partitions.first_new = first_new;
        partitions.customers.iter_mut().chain(&mut partitions.ids).try_for_each(SpillFile::end)?;
        Ok((partitions, histories))
    }

    /// Adds rows, of which the first has the position `first`. Returns the position after the last.
    fn add(&mut self, rows: EventBatch, first: u64, histories: &mut HistorySizes) -> Result<u64, IngestError> {
        let next = first + rows.len() as u64;
        let hashes = hashes(&rows.accounts, &rows.opportunity_ids, FIRST_ROUND);
        histories.add(&hashes, &rows);
        let of_customers = choose_partitions(&hashes, self.customers.len());
        let batch = SequencedBatch { rows, sequence: UInt64Array::from_iter_values(first..next) };
        distribute(&batch.to_record_batch().doing("spill rows")?, &of_customers, &mut self.customers)?;
        let (ids, of_ids) = batch.event_ids(of_customers, self.ids.len()).doing("spill rows")?;
        distribute(&ids, &of_ids, &mut self.ids)?;
        Ok(next)
    }
}

/// Rows, and the position of each in the order of arrival.
pub(super) struct SequencedBatch {
    rows: EventBatch,
    sequence: UInt64Array,
}

impl SequencedBatch {
    pub(super) fn of_record_batch(batch: &RecordBatch) -> Result<Self, ArrowError> {
        Ok(Self { rows: EventBatch::of_record_batch(batch)?, sequence: primitive_column(batch, SEQUENCE)? })
    }

    fn to_record_batch(&self) -> Result<RecordBatch, ArrowError> {
        let batch = self.rows.to_record_batch()?;
        let last = Arc::new(Field::new(SEQUENCE, DataType::UInt64, false));
        let fields: Vec<_> = batch.schema_ref().fields().iter().cloned().chain([last]).collect();
        let sequence: ArrayRef = Arc::new(self.sequence.clone());
        let columns = batch.columns().iter().cloned().chain([sequence]).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }

    /// Returns the totals of the rows whose positions are in `superseded`, by source, without the rows that share an
    /// event id. Rows from the position `first_new` on are new.
    pub(super) fn replaced(
        &self,
        superseded: &HashSet<u64>,
        (first_new, shared): (u64, &SharedRows),
        dictionaries: &EventDictionaries,
    ) -> TotalsBySource {
        let is_replaced =
            |(row, at): (usize, &u64)| superseded.contains(at) && !(*at >= first_new && shared.has(&self.rows, row));
        let is_replaced: Vec<bool> = self.sequence.values().iter().enumerate().map(is_replaced).collect();
        totals_by_source(&self.rows, &is_replaced, dictionaries)
    }

    /// Returns the rows without the ones whose positions are in `superseded`.
    pub(super) fn without(self, superseded: &HashSet<u64>) -> Result<EventBatch, ArrowError> {
        if superseded.is_empty() {
            return Ok(self.rows);
        }
        let kept: BooleanArray = self.sequence.values().iter().map(|at| Some(!superseded.contains(at))).collect();
        self.rows.filter(kept)
    }

    /// Returns a record for each row with an event id, as [`Partitions::ids`] has them, and the partition of each
    /// record out of `count`. `partitions` are those of the rows.
    fn event_ids(&self, partitions: Vec<u32>, count: usize) -> Result<(RecordBatch, Vec<u32>), ArrowError> {
        let EventBatch { accounts, event_ids, opportunity_ids, stages, .. } = &self.rows;
        let event_hash = |(stage, customer): (&u8, Option<&str>)| {
            let mut hasher = DefaultHasher::new();
            (stage, customer).hash(&mut hasher);
            hasher.finish()
        };
        let with_id: UInt32Array =
            (0..).zip(event_ids).filter_map(|(row, id)| id.map(|_| row)).collect::<Vec<u32>>().into();
        let ids = RecordBatch::try_from_iter([
            (ACCOUNT, Arc::new(accounts.clone()) as ArrayRef),
            (EVENT_ID, Arc::new(event_ids.clone()) as ArrayRef),
            (OPPORTUNITY_ID, Arc::new(opportunity_ids.clone()) as ArrayRef),
            (PARTITION, Arc::new(UInt32Array::from(partitions)) as ArrayRef),
            (SEQUENCE, Arc::new(self.sequence.clone()) as ArrayRef),
            (
                EVENT_HASH,
                Arc::new(UInt64Array::from_iter_values(stages.values().iter().zip(opportunity_ids).map(event_hash)))
                    as ArrayRef,
            ),
        ])?;
        let ids = take_record_batch(&ids, &with_id)?;
        let hashes = hashes(&primitive_column(&ids, ACCOUNT)?, &text_column(&ids, EVENT_ID)?, FIRST_ROUND);
        Ok((ids, choose_partitions(&hashes, count)))
    }
}

/// Divides rows of a partition, which is too large, by customer once more. Each `round` divides in another way.
pub(super) fn divide_again(batch: &RecordBatch, round: u64, files: &mut [SpillFile]) -> Result<(), IngestError> {
    let accounts = primitive_column(batch, ACCOUNT).doing("split spilled events")?;
    let customers = text_column(batch, OPPORTUNITY_ID).doing("split spilled events")?;
    let hashes = hashes(&accounts, &customers, round);
    distribute(batch, &choose_partitions(&hashes, files.len()), files)
}

/// The round that makes the partitions. Later rounds divide partitions that are too large.
const FIRST_ROUND: u64 = 0;

/// Hashes the account and the text of each row, in another way in each `round`.
fn hashes(accounts: &UInt32Array, texts: &StringArray, round: u64) -> Vec<u64> {
    let hash = |pair: (&u32, Option<&str>)| {
        let mut hasher = DefaultHasher::new();
        (round, pair).hash(&mut hasher);
        hasher.finish()
    };
    accounts.values().iter().zip(texts).map(hash).collect()
}

/// Chooses a partition out of `count` for each hash.
fn choose_partitions(hashes: &[u64], count: usize) -> Vec<u32> {
    let count = u64::try_from(count).unwrap_or(1).max(1);
    hashes.iter().map(|hash| u32::try_from(hash % count).unwrap_or(0)).collect()
}

/// Writes each row to the file of its partition.
fn distribute(batch: &RecordBatch, partitions: &[u32], files: &mut [SpillFile]) -> Result<(), IngestError> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); files.len()];
    for (row, partition) in (0..).zip(partitions) {
        rows[*partition as usize].push(row);
    }
    files.par_iter_mut().zip(rows).try_for_each(|(file, rows)| {
        file.write(&take_record_batch(batch, &UInt32Array::from(rows)).doing("spill rows")?)
    })
}

/// The sizes of histories with their superseded rows, added up by bucket, because a slice may have too many customers
/// to count each one. Several customers may share a bucket; they are counted one by one, without their superseded rows,
/// only if the bucket is over the limit for a customer.
pub(super) struct HistorySizes(Vec<Size>);

impl HistorySizes {
    /// Adds rows, given the hashes of their customers.
    fn add(&mut self, hashes: &[u64], rows: &EventBatch) {
        let row_bytes = rows.row_bytes();
        for (row, hash) in hashes.iter().enumerate() {
            let size = &mut self.0[bucket_of(*hash)];
            size.rows += 1;
            size.bytes += row_bytes + rows.text_bytes(row..row + 1);
        }
    }

    /// Refuses a customer whose history is too long or too large. `partitions` are those of all rows that were added.
    pub(super) fn check(
        self,
        partitions: &[SpillFile],
        superseded: &SupersededRows<'_>,
        dictionaries: &EventDictionaries,
        budget: Budget,
    ) -> Result<(), IngestError> {
        for (bucket, size) in self.0.iter().enumerate() {
            // Nobody sees the names in this error.
            if budget.check_customer(*size, || ("", "")).is_ok() {
                continue;
            }
            let partition = bucket % partitions.len();
            let superseded = superseded.of(u32::try_from(partition).unwrap_or(0))?;
            for ((account, customer), size) in customers_of_bucket(bucket, &partitions[partition], &superseded)? {
                budget.check_customer(size, || (dictionaries.account(account), &customer))?;
            }
        }
        Ok(())
    }
}

/// Returns the bucket of a customer, given the customer's hash.
fn bucket_of(hash: u64) -> usize {
    usize::try_from(hash % BUCKETS as u64).unwrap_or(0)
}

/// Returns the customers of a bucket, each as an account's code and the customer's id, with the sizes of their
/// histories. `partition` is the one with the rows of the bucket, and `superseded` are the positions of its rows that
/// do not count.
fn customers_of_bucket(
    bucket: usize,
    partition: &SpillFile,
    superseded: &HashSet<u64>,
) -> Result<HashMap<(u32, String), Size>, IngestError> {
    let mut sizes: HashMap<u32, HashMap<String, Size>> = HashMap::new();
    for batch in partition.read() {
        let rows = SequencedBatch::of_record_batch(&batch?).and_then(|batch| batch.without(superseded));
        let rows = rows.doing("count the events of customers")?;
        let hashes = hashes(&rows.accounts, &rows.opportunity_ids, FIRST_ROUND);
        for row in (0..hashes.len()).filter(|row| bucket_of(hashes[*row]) == bucket) {
            let of_account = sizes.entry(rows.accounts.value(row)).or_default();
            let size = of_account.entry_ref(rows.opportunity_ids.value(row)).or_default();
            size.rows += 1;
            size.bytes += rows.row_bytes() + rows.text_bytes(row..row + 1);
        }
    }
    let of_account = |(account, customers): (u32, HashMap<String, Size>)| {
        customers.into_iter().map(move |(customer, size)| ((account, customer), size))
    };
    Ok(sizes.into_iter().flat_map(of_account).collect())
}
