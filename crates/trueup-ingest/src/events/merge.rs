//! Spilled events to sorted runs, and the runs to one order, customer by customer.

use super::gather::MAX_TEXT;
use super::layout::Layout;
use super::replaced::Replaced;
use super::sequence::{Rows, SEQUENCE, widen};
use super::spill::{Spill, by_customer, distribute, text};
use super::writer::EventWriter;
use crate::IngestError;
use crate::draft::Draft;
use crate::error::Doing;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, UInt64Type};
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use hashbrown::HashSet;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;
use trueup_core::dataset::manifest::DataFile;
use trueup_core::model::{ACCOUNT, DATE, OPPORTUNITY_ID, Sorted, concat_events, sort_events, stored_event_schema};

/// Copies of a partition's rows while it is sorted.
const COPIES: usize = 4;

/// Splits of a partition that is too large. More would not help: then single customers are.
const ROUNDS: u64 = 4;

/// Files that a partition is split into at once.
const MOST_PARTS: usize = 64;

/// So few rows fit in any memory.
const FEW_ROWS: usize = 32;

/// The most rows of a batch of a run.
const RUN_ROWS: usize = 8_192;

/// Writes the spilled events, and counts those that later ones have replaced.
pub(super) fn write(
    mut spill: Spill,
    memory: usize,
    draft: &mut Draft,
    layout: Layout,
    narrow: bool,
) -> Result<(Vec<DataFile>, u64), IngestError> {
    for rows in spill.customers.iter_mut().chain(&mut spill.ids) {
        rows.end()?;
    }
    let dir = spill.scratch.path();
    let replaced = Replaced::find(&spill.ids, dir)?;
    let schema = stored_event_schema(spill.columns.iter().map(String::as_str));
    let sorter = Sorter { dir, replaced: &replaced, schema: &schema, memory, partitions: spill.customers.len() };
    let runs = sorter.sort(&spill.customers)?;
    let mut writer = EventWriter::new(draft, layout, &schema, narrow);
    merge(&runs, &mut writer)?;
    Ok((writer.finish()?, replaced.count))
}

struct Sorter<'a> {
    dir: &'a Path,
    replaced: &'a Replaced,
    schema: &'a SchemaRef,
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
            let mut split: Vec<Rows> = names.iter().map(|name| Rows::new(self.dir, &format!("part-{name}"))).collect();
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
        let mut batches = Vec::new();
        for batch in rows.read() {
            batches.push(self.keep(&batch?, replaced).doing("leave out replaced events")?);
        }
        if batches.is_empty() {
            return Ok(Vec::new());
        }
        let all = concat_events(&batches).doing("put events together")?;
        drop(batches);
        let sorted = sort_events(&all).doing("sort events")?;
        drop(all);
        let run = Rows::new(self.dir, &format!("run-{name}"));
        Ok(vec![write_run(&sorted, self.run_rows(rows), run)?])
    }

    /// Rows of a batch of a run: while runs are merged, one batch of each is in memory.
    fn run_rows(&self, rows: &Rows) -> usize {
        let row_bytes = (rows.bytes / rows.rows.max(1)).max(1);
        (self.memory / (COPIES * self.partitions * row_bytes)).clamp(FEW_ROWS, RUN_ROWS)
    }

    /// The rows that none has replaced, in their stored form.
    fn keep(&self, batch: &RecordBatch, replaced: &HashSet<u64>) -> Result<RecordBatch, ArrowError> {
        let stored = widen(batch, self.schema)?;
        if replaced.is_empty() {
            return Ok(stored);
        }
        let places = batch.column_by_name(SEQUENCE).and_then(|column| column.as_primitive_opt::<UInt64Type>());
        let Some(places) = places else {
            return Err(ArrowError::SchemaError("spilled events have lost their order".to_owned()));
        };
        let kept: BooleanArray = places.values().iter().map(|place| Some(!replaced.contains(place))).collect();
        filter_record_batch(&stored, &kept)
    }
}

/// Writes sorted customers in batches that hold each whole.
fn write_run(sorted: &Sorted, rows: usize, mut run: Rows) -> Result<Rows, IngestError> {
    let mut start = 0;
    for pair in sorted.customers.windows(2) {
        let (begin, end) = (pair[0] as usize, pair[1] as usize);
        if begin > start && end - start > rows {
            run.write(&sorted.batch.slice(start, begin - start))?;
            start = begin;
        }
    }
    run.write(&sorted.batch.slice(start, sorted.batch.num_rows() - start))?;
    run.end()?;
    Ok(run)
}

/// The customer that a run has next, in the order of the dataset.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    account: String,
    start_date: i32,
    opportunity_id: String,
    run: usize,
}

/// A run, read customer by customer.
struct Cursor<I> {
    batches: I,
    batch: Option<RecordBatch>,
    /// The rows of the next customer.
    start: usize,
    end: usize,
}

impl<I: Iterator<Item = Result<RecordBatch, IngestError>>> Cursor<I> {
    /// Moves on to the next customer and says which it is; false at the end of the run.
    fn advance(&mut self, head: &mut Head) -> Result<bool, IngestError> {
        self.start = self.end;
        while self.batch.as_ref().is_none_or(|batch| self.start >= batch.num_rows()) {
            let Some(batch) = self.batches.next() else { return Ok(false) };
            self.batch = Some(batch?);
            self.start = 0;
        }
        let Some(batch) = &self.batch else { return Ok(false) };
        self.end = read_head(batch, self.start, head).doing("merge sorted events")?;
        Ok(true)
    }
}

/// Reads which customer begins at a row, and where it ends.
fn read_head(batch: &RecordBatch, start: usize, head: &mut Head) -> Result<usize, ArrowError> {
    let (accounts, opportunities) = (text(batch, ACCOUNT)?, text(batch, OPPORTUNITY_ID)?);
    let dates = batch.column_by_name(DATE).and_then(|column| column.as_primitive_opt::<Date32Type>());
    let (account, opportunity) = (accounts.value(start), opportunities.value(start));
    account.clone_into(&mut head.account);
    opportunity.clone_into(&mut head.opportunity_id);
    // A customer's first row is its earliest.
    head.start_date = dates.map_or(0, |dates| dates.value(start));
    let same = |row: &usize| opportunities.value(*row) == opportunity && accounts.value(*row) == account;
    Ok((start + 1..batch.num_rows()).find(|row| !same(row)).unwrap_or(batch.num_rows()))
}

/// Hands the customers of all runs on in the order of the dataset.
fn merge(runs: &[Rows], writer: &mut EventWriter<'_>) -> Result<(), IngestError> {
    let mut cursors = Vec::with_capacity(runs.len());
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (run, rows) in runs.iter().enumerate() {
        let mut cursor = Cursor { batches: rows.read(), batch: None, start: 0, end: 0 };
        let mut head = Head { run, ..Head::default() };
        if cursor.advance(&mut head)? {
            heads.push(Reverse(head));
        }
        cursors.push(cursor);
    }
    while let Some(mut head) = heads.peek_mut() {
        let cursor = &mut cursors[head.0.run];
        if let Some(batch) = &cursor.batch {
            writer.push(batch, cursor.start, cursor.end - cursor.start)?;
        }
        if !cursor.advance(&mut head.0)? {
            PeekMut::pop(head);
        }
    }
    Ok(())
}
