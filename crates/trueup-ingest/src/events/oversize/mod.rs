//! Accounts that do not fit in memory: split by customer, sorted part by part, and merged.

mod merge;
mod replaced;
mod split;

use super::coded::Coded;
use super::concat::Concat;
use super::gather::MAX_TEXT;
use super::parts::Part;
use super::sequence::{Rows, SEQUENCE};
use super::sorted::{Known, SortedRows, sort_latest};
use super::spill::Spill;
use super::writer::EventWriter;
use crate::IngestError;
use crate::draft::Scratch;
use crate::error::Doing;
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
    memory: usize,
    known: &Known,
    writer: &mut EventWriter<'_>,
) -> Result<u64, IngestError> {
    let scratch = &spill.scratch.below("oversize")?;
    let split = Split::new(spill, part, known, scratch)?;
    let replaced = Replaced::find(&split.ids, scratch)?;
    let sorter = Sorter { scratch, replaced: &replaced, known, memory, partitions: split.customers.len() };
    let runs = sorter.sort(&split.customers)?;
    merge::merge(&runs, known, writer)?;
    Ok(replaced.count)
}

struct Sorter<'a> {
    scratch: &'a Scratch,
    replaced: &'a Replaced<'a>,
    known: &'a Known,
    memory: usize,
    partitions: usize,
}

impl Sorter<'_> {
    /// A sorted run for each partition, or several if it does not fit in memory.
    fn sort(&self, partitions: &[Rows]) -> Result<Vec<Rows>, IngestError> {
        let largest = partitions.iter().map(|rows| rows.bytes).max().unwrap_or(0);
        let at_once = (self.memory / (largest * COPIES).max(1)).clamp(1, rayon::current_num_threads());
        let mut runs = Vec::new();
        for (first, partitions) in (0..).step_by(at_once).zip(partitions.chunks(at_once)) {
            let numbered: Vec<(u32, &Rows)> = (first..).zip(partitions).collect();
            let sorted: Vec<Vec<Rows>> = numbered
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
    ) -> Result<Vec<Rows>, IngestError> {
        let limit = (self.memory / COPIES).clamp(1, MAX_TEXT);
        let parts = rows.bytes.div_ceil(limit).min(rows.rows / FEW_ROWS).min(MOST_PARTS);
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
        let all = Concat::new(&batches, self.known).all();
        drop(batches);
        let sorted = all.and_then(|all| sort_latest(all, self.known)).doing("sort events")?;
        let run = Rows::new(self.scratch, &format!("run-{name}"));
        Ok(vec![self.write_run(&sorted, self.run_rows(rows), run)?])
    }

    /// Rows of a batch of a run: while runs are merged, one batch of each is in memory.
    fn run_rows(&self, rows: &Rows) -> usize {
        let row_bytes = (rows.bytes / rows.rows.max(1)).max(1);
        (self.memory / (COPIES * self.partitions * row_bytes)).clamp(FEW_ROWS, RUN_ROWS)
    }

    /// Writes sorted customers in batches that hold each whole.
    fn write_run(&self, sorted: &SortedRows, rows: usize, mut run: Rows) -> Result<Rows, IngestError> {
        let all = sorted.rows.to_batch().doing("spill rows")?;
        let mut write = |start: usize, end: usize| {
            let rows = UInt32Array::from(sorted.order[start..end].to_vec());
            run.write(&take_record_batch(&all, &rows).doing("spill rows")?)
        };
        let mut start = 0;
        for pair in sorted.customers.windows(2) {
            let (begin, end) = (pair[0] as usize, pair[1] as usize);
            if begin > start && end - start > rows {
                write(start, begin)?;
                start = begin;
            }
        }
        write(start, sorted.order.len())?;
        run.end()?;
        Ok(run)
    }
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
