//! Slices that are too large to be sorted in memory, which mostly have a single account: an external merge sort,
//! customer by customer.
//!
//! ```text
//! partitions    divides the rows by customer, and the event ids by id, into files
//! superseded    finds the superseded rows, from the files of ids
//! HistorySizes  refuses customers whose history is too long or too large without the superseded rows
//! RunSorter     sorts each partition in memory without the superseded rows, and writes it as a sorted run
//! merge         merges the runs into the order of the dataset
//! ```

mod merge;
mod partitions;
mod superseded;

use super::{SortedCustomers, sort_latest};
use crate::IngestError;
use crate::amounts::TotalsBySource;
use crate::error::ErrorContext;
use crate::events::budget::{Budget, MAX_TEXT_COLUMN_BYTES};
use crate::events::dictionaries::{EventDictionaries, lock};
use crate::events::event_batch::EventBatch;
use crate::events::reassigned::Reassigned;
use crate::events::row_ranges::{AccountSlice, BatchSet};
use crate::events::shared_ids::SharedRows;
use crate::events::spill::AccountSpill;
use crate::spill_file::SpillFile;
use crate::version::Scratch;
use hashbrown::HashSet;
use partitions::{Partitions, SequencedBatch};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};
use superseded::SupersededRows;

/// Copies of a partition's rows that exist while it is sorted.
const COPIES: usize = 4;

/// The most times that rows are divided by customer; round 0 makes the partitions, and each later round divides one
/// that is too large. More rounds would not help, because by then single customers are too large.
const MAX_ROUNDS: u64 = 4;

/// The most files that a partition is divided into in one round.
const MAX_FILES: usize = 64;

/// This many rows fit in any memory, so a partition is not divided into files with fewer rows.
const FEW_ROWS: usize = 32;

/// The most rows of a batch of a run, unless a single customer has more.
const MAX_BATCH_ROWS: usize = 8_192;

/// Sorts the rows of a slice and passes the customers on in the order of the dataset. Returns the superseded rows by
/// source, the rows that are left out because they share an event id, and the superseded rows that had another
/// customer.
pub(in crate::events) fn sort(
    spill: &AccountSpill,
    slice: &AccountSlice,
    budget: Budget,
    dictionaries: &EventDictionaries,
    take: &mut dyn FnMut(SortedCustomers) -> Result<(), IngestError>,
) -> Result<(TotalsBySource, SharedRows, Reassigned), IngestError> {
    let scratch = &spill.scratch.below("oversize")?;
    let (partitions, histories) = Partitions::new(spill, slice, dictionaries, budget, scratch)?;
    let found = SupersededRows::find(&partitions.ids, partitions.first_new, scratch, dictionaries)?;
    let (superseded, shared, reassigned) = found;
    histories.check(&partitions.customers, &superseded, dictionaries, budget)?;
    let memory = budget.memory;
    let runs = partitions.customers.iter().map(|rows| rows.bytes.div_ceil(max_run_bytes(memory)).max(1)).sum();
    let (new, replaced) = ((partitions.first_new, &shared), Mutex::default());
    let sorter = RunSorter { scratch, superseded: &superseded, new, replaced, dictionaries, memory, runs };
    let runs = sorter.sort(&partitions.customers)?;
    let replaced = sorter.replaced.into_inner().unwrap_or_else(PoisonError::into_inner);
    merge::merge(&runs, dictionaries, budget, take)?;
    Ok((replaced, shared, reassigned))
}

/// Sorted customers on disk. A batch holds only whole customers, or is a preview.
struct SortedRun {
    rows: SpillFile,
    /// The numbers of the batches that are previews: they hold only the first row of a customer, whose rows are the
    /// whole next batch. That batch is so large that it is not read before the customer's turn.
    previews: Vec<usize>,
}

impl SortedRun {
    fn write(&mut self, rows: &EventBatch, order: &[u32]) -> Result<(), IngestError> {
        let batch = rows.take(order.to_vec()).and_then(|batch| batch.to_record_batch()).doing("spill rows")?;
        self.rows.write(&batch)
    }
}

struct RunSorter<'a> {
    scratch: &'a Scratch,
    superseded: &'a SupersededRows<'a>,
    /// The position of the first new row, and the new rows that share an event id.
    new: (u64, &'a SharedRows),
    /// The superseded rows of the partitions that are sorted, by source.
    replaced: Mutex<TotalsBySource>,
    dictionaries: &'a EventDictionaries,
    memory: usize,
    /// About how many runs there will be.
    runs: usize,
}

impl RunSorter<'_> {
    /// Makes a sorted run of each partition, several if the partition does not fit in memory, or none if all of its
    /// rows are superseded.
    fn sort(&self, partitions: &[SpillFile]) -> Result<Vec<SortedRun>, IngestError> {
        let largest = partitions.iter().map(|rows| rows.bytes).max().unwrap_or(0);
        let parallel = (self.memory / (largest * COPIES).max(1)).clamp(1, rayon::current_num_threads());
        let mut runs = Vec::new();
        for (first, partitions) in (0..).step_by(parallel).zip(partitions.chunks(parallel)) {
            let numbered: Vec<(u32, &SpillFile)> = (first..).zip(partitions).collect();
            let sorted: Vec<Vec<SortedRun>> = numbered
                .into_par_iter()
                .map(|(number, rows)| {
                    let superseded = self.superseded.of(number)?;
                    self.sort_partition(rows, &superseded, &format!("{number:03}"), 1)
                })
                .collect::<Result<_, _>>()?;
            runs.extend(sorted.into_iter().flatten());
        }
        Ok(runs)
    }

    /// Sorts a partition, or a part of one. `round` is the number of times that its rows were divided by customer.
    fn sort_partition(
        &self,
        rows: &SpillFile,
        superseded: &HashSet<u64>,
        name: &str,
        round: u64,
    ) -> Result<Vec<SortedRun>, IngestError> {
        let files = rows.bytes.div_ceil(max_run_bytes(self.memory)).min(rows.rows / FEW_ROWS).min(MAX_FILES);
        if files > 1 && round < MAX_ROUNDS {
            return self.divide_and_sort(rows, superseded, name, round, files);
        }
        let batches: Vec<EventBatch> = rows
            .read()
            .map(|batch| {
                let batch = SequencedBatch::of_record_batch(&batch?).doing("leave out replaced events")?;
                if !superseded.is_empty() {
                    lock(&self.replaced).merge(batch.replaced(superseded, self.new, self.dictionaries));
                }
                batch.without(superseded).doing("leave out replaced events")
            })
            .collect::<Result<_, _>>()?;
        if batches.iter().all(|batch| batch.len() == 0) {
            return Ok(Vec::new());
        }
        let all = BatchSet::new(&batches).all();
        drop(batches);
        let sorted = all.and_then(|all| sort_latest(all, self.dictionaries)).doing("sort events")?;
        let run = SortedRun { rows: SpillFile::new(self.scratch, &format!("run-{name}")), previews: Vec::new() };
        Ok(vec![self.write_run(&sorted, run)?])
    }

    fn divide_and_sort(
        &self,
        rows: &SpillFile,
        superseded: &HashSet<u64>,
        name: &str,
        round: u64,
        count: usize,
    ) -> Result<Vec<SortedRun>, IngestError> {
        let names: Vec<String> = (0..count).map(|at| format!("{name}-{at:03}")).collect();
        let mut files: Vec<SpillFile> =
            names.iter().map(|name| SpillFile::new(self.scratch, &format!("part-{name}"))).collect();
        for batch in rows.read() {
            partitions::divide_again(&batch?, round, &mut files)?;
        }
        let mut runs = Vec::new();
        for (name, rows) in names.iter().zip(&mut files) {
            rows.end()?;
            runs.extend(self.sort_partition(rows, superseded, name, round + 1)?);
        }
        Ok(runs)
    }

    /// Returns the bytes that a batch of a run should have. While runs are merged, one batch of each is in memory.
    fn batch_bytes(&self) -> usize {
        self.memory / (COPIES * self.runs)
    }

    fn write_run(&self, sorted: &SortedCustomers, mut run: SortedRun) -> Result<SortedRun, IngestError> {
        let rows = &sorted.rows;
        let bytes_of = rows.bytes_of_rows();
        let (mut start, mut bytes) = (0, 0);
        for ends in sorted.customers.windows(2) {
            let (begin, end) = (ends[0] as usize, ends[1] as usize);
            let more = bytes_of(&sorted.order[begin..end]);
            let full = end - start > MAX_BATCH_ROWS || bytes + more > self.batch_bytes();
            if begin > start && full {
                run.write(rows, &sorted.order[start..begin])?;
                (start, bytes) = (begin, 0);
            }
            if more > self.batch_bytes() {
                run.previews.push(run.rows.batches);
                run.write(rows, &sorted.order[begin..=begin])?;
            }
            bytes += more;
        }
        run.write(rows, &sorted.order[start..])?;
        run.rows.end()?;
        Ok(run)
    }
}

/// Returns the most bytes of rows that are sorted in memory.
fn max_run_bytes(memory: usize) -> usize {
    (memory / COPIES).clamp(1, MAX_TEXT_COLUMN_BYTES)
}
