//! Accounts that do not fit in memory: split by customer, sorted part by part, and merged.

mod histories;
mod merge;
mod replaced;
mod split;

use super::budget::Budget;
use super::coded::Coded;
use super::concat::Concat;
use super::gather::MAX_TEXT;
use super::parts::Part;
use super::sequence::{Rows, SEQUENCE};
use super::sorted::{Known, SortedRows, sort_latest};
use super::spill::Spill;
use super::writer::EventWriter;
use crate::IngestError;
use crate::error::ErrorContext;
use crate::version::Scratch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use hashbrown::HashSet;
use rayon::prelude::*;
use replaced::Replaced;
use split::{Split, by_customer, distribute};

/// Copies of a part's rows while it is sorted.
const COPIES: usize = 4;

/// Splits of a part that is too large. More would not help: then single customers are.
const ROUNDS: u64 = 4;

/// Files that a part is split into at once.
const MOST_PARTS: usize = 64;

/// So few rows fit in any memory.
const FEW_ROWS: usize = 32;

/// The most rows of a batch of a run.
const RUN_ROWS: usize = 8_192;

/// Writes the rows of a part, and counts those that later ones have replaced.
pub(super) fn write(
    spill: &Spill,
    part: &Part,
    budget: Budget,
    known: &Known,
    writer: &mut EventWriter<'_>,
) -> Result<u64, IngestError> {
    let scratch = &spill.scratch.below("oversize")?;
    let split = Split::new(spill, part, known, budget, scratch)?;
    let replaced = Replaced::find(&split.ids, scratch)?;
    let memory = budget.memory;
    let runs = split.customers.iter().map(|rows| rows.bytes.div_ceil(run_bytes(memory)).max(1)).sum();
    let sorter = Sorter { scratch, replaced: &replaced, known, memory, runs };
    let runs = sorter.sort(&split.customers)?;
    merge::merge(&runs, known, budget, writer)?;
    Ok(replaced.count)
}

/// Sorted customers on disk, in batches that hold each whole.
struct SortedRun {
    rows: Rows,
    /// The batches that are only the first row of a customer, whose rows are the whole batch after it: it is so large that whoever merges
    /// runs should not hold it before its turn has come.
    heads: Vec<usize>,
}

impl SortedRun {
    fn write(&mut self, all: &RecordBatch, order: &[u32]) -> Result<(), IngestError> {
        self.rows.write(&take_record_batch(all, &UInt32Array::from(order.to_vec())).doing("spill rows")?)
    }
}

struct Sorter<'a> {
    scratch: &'a Scratch,
    replaced: &'a Replaced<'a>,
    known: &'a Known,
    memory: usize,
    /// How many runs there will be, about.
    runs: usize,
}

impl Sorter<'_> {
    /// A sorted run for each partition, or several if it does not fit in memory.
    fn sort(&self, partitions: &[Rows]) -> Result<Vec<SortedRun>, IngestError> {
        let largest = partitions.iter().map(|rows| rows.bytes).max().unwrap_or(0);
        let at_once = (self.memory / (largest * COPIES).max(1)).clamp(1, rayon::current_num_threads());
        let mut runs = Vec::new();
        for (first, partitions) in (0..).step_by(at_once).zip(partitions.chunks(at_once)) {
            let numbered: Vec<(u32, &Rows)> = (first..).zip(partitions).collect();
            let sorted: Vec<Vec<SortedRun>> = numbered
                .into_par_iter()
                .map(|(number, rows)| {
                    let replaced = self.replaced.of(number)?;
                    self.sort_partition(rows, &replaced, &format!("{number:03}"), 1)
                })
                .collect::<Result<_, _>>()?;
            runs.extend(sorted.into_iter().flatten());
        }
        Ok(runs)
    }

    fn sort_partition(
        &self,
        rows: &Rows,
        replaced: &HashSet<u64>,
        name: &str,
        round: u64,
    ) -> Result<Vec<SortedRun>, IngestError> {
        let parts = rows.bytes.div_ceil(run_bytes(self.memory)).min(rows.rows / FEW_ROWS).min(MOST_PARTS);
        if parts > 1 && round < ROUNDS {
            let names: Vec<String> = (0..parts).map(|at| format!("{name}-{at:03}")).collect();
            let mut split: Vec<Rows> =
                names.iter().map(|name| Rows::new(self.scratch, &format!("part-{name}"))).collect();
            for batch in rows.read() {
                let batch = batch?;
                let homes = by_customer(&batch, round, split.len()).doing("split spilled events")?;
                distribute(&batch, &homes, &mut split)?;
            }
            let mut runs = Vec::new();
            for (name, rows) in names.iter().zip(&mut split) {
                rows.end()?;
                runs.extend(self.sort_partition(rows, replaced, name, round + 1)?);
            }
            return Ok(runs);
        }
        let batches: Vec<Coded> = rows
            .read()
            .map(|batch| {
                keep(&batch?, replaced).and_then(|batch| Coded::of_batch(&batch)).doing("leave out replaced events")
            })
            .collect::<Result<_, _>>()?;
        if batches.iter().all(|batch| batch.len() == 0) {
            return Ok(Vec::new());
        }
        let all = Concat::new(&batches).all();
        drop(batches);
        let sorted = all.and_then(|all| sort_latest(all, self.known)).doing("sort events")?;
        let run = SortedRun { rows: Rows::new(self.scratch, &format!("run-{name}")), heads: Vec::new() };
        Ok(vec![self.write_run(&sorted, run)?])
    }

    /// Bytes of a batch of a run: while runs are merged, one batch of each is in memory.
    fn batch_bytes(&self) -> usize {
        self.memory / (COPIES * self.runs)
    }

    /// Writes sorted customers in batches that hold each whole.
    fn write_run(&self, sorted: &SortedRows, mut run: SortedRun) -> Result<SortedRun, IngestError> {
        let all = sorted.rows.to_batch().doing("spill rows")?;
        let (mut start, mut bytes) = (0, 0);
        for pair in sorted.customers.windows(2) {
            let (begin, end) = (pair[0] as usize, pair[1] as usize);
            let more = sorted.rows.bytes_of(&sorted.order[begin..end]);
            let full = end - start > RUN_ROWS || bytes + more > self.batch_bytes();
            if begin > start && full {
                run.write(&all, &sorted.order[start..begin])?;
                (start, bytes) = (begin, 0);
            }
            if more > self.batch_bytes() {
                run.heads.push(run.rows.batches);
                run.write(&all, &sorted.order[begin..=begin])?;
            }
            bytes += more;
        }
        run.write(&all, &sorted.order[start..])?;
        run.rows.end()?;
        Ok(run)
    }
}

/// Bytes of rows that are sorted at once.
fn run_bytes(memory: usize) -> usize {
    (memory / COPIES).clamp(1, MAX_TEXT)
}

/// The rows that none has replaced.
fn keep(batch: &RecordBatch, replaced: &HashSet<u64>) -> Result<RecordBatch, ArrowError> {
    if replaced.is_empty() {
        return Ok(batch.clone());
    }
    let places = batch.column_by_name(SEQUENCE).and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let Some(places) = places else {
        return Err(ArrowError::SchemaError("spilled events have lost their order".to_owned()));
    };
    let kept: BooleanArray = places.values().iter().map(|place| Some(!replaced.contains(place))).collect();
    filter_record_batch(batch, &kept)
}
