//! Sorted runs to one order, customer by customer.

use super::super::budget::Budget;
use super::super::coded::Coded;
use super::super::concat::Concat;
use super::super::runs::Run;
use super::super::sorted::{Known, SortedRows};
use super::super::writer::EventWriter;
use super::SortedRun;
use crate::IngestError;
use crate::error::ErrorContext;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Rows that are handed on at once.
const AT_ONCE: u32 = 1 << 16;

/// The customer that a run has next, in the order of the dataset.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    /// The place among all accounts.
    account: u32,
    start_date: i32,
    opportunity_id: String,
    run: usize,
}

/// A run, read customer by customer.
struct Cursor<'a, I> {
    batches: I,
    known: &'a Known,
    batch: Option<Coded>,
    /// Batches read so far.
    read: usize,
    /// The batches that are only the first row of a customer.
    heads: &'a [usize],
    /// Whether the rows of the next customer are yet to be read.
    is_head: bool,
    /// Where the batch stands among the merged ones, once a row of it was merged.
    merged: Option<u32>,
    /// The rows of the next customer.
    start: usize,
    end: usize,
}

impl<I: Iterator<Item = Result<arrow_array::RecordBatch, IngestError>>> Cursor<'_, I> {
    /// Moves on to the next customer and says which it is; false at the end of the run.
    fn advance(&mut self, head: &mut Head) -> Result<bool, IngestError> {
        self.start = self.end;
        while self.batch.as_ref().is_none_or(|batch| self.start >= batch.len()) {
            if !self.read()? {
                return Ok(false);
            }
        }
        let Some(batch) = &self.batch else { return Ok(false) };
        let (account, opportunity) = (batch.accounts.value(self.start), batch.opportunity_ids.value(self.start));
        head.account = self.known.rank(account);
        opportunity.clone_into(&mut head.opportunity_id);
        // A customer's first row is its earliest.
        head.start_date = batch.dates.value(self.start);
        let same =
            |row: &usize| batch.opportunity_ids.value(*row) == opportunity && batch.accounts.value(*row) == account;
        self.end = (self.start + 1..batch.len()).find(|row| !same(row)).unwrap_or(batch.len());
        if self.heads.binary_search(&(self.read - 1)).is_ok() {
            (self.is_head, self.batch) = (true, None);
        }
        Ok(true)
    }

    /// Reads the rows of the next customer, where only the first was read before.
    fn load(&mut self) -> Result<(), IngestError> {
        if std::mem::take(&mut self.is_head) {
            self.read()?;
            self.end = self.batch.as_ref().map_or(0, Coded::len);
        }
        Ok(())
    }

    /// Reads the next batch; false if there is none.
    fn read(&mut self) -> Result<bool, IngestError> {
        self.batch = None;
        self.merged = None;
        (self.start, self.end) = (0, 0);
        let Some(batch) = self.batches.next() else { return Ok(false) };
        self.batch = Some(Coded::of_batch(&batch?).doing("merge sorted events")?);
        self.read += 1;
        Ok(true)
    }
}

/// Customers in order that are yet to be handed on.
#[derive(Default)]
struct Merged {
    batches: Vec<Coded>,
    runs: Vec<Run>,
    customers: Vec<u32>,
    rows: u32,
    /// Bytes of memory that they take.
    bytes: usize,
}

impl Merged {
    fn push<I>(&mut self, cursor: &mut Cursor<'_, I>) {
        let Some(rows) = &cursor.batch else { return };
        let batch = *cursor.merged.get_or_insert_with(|| {
            self.batches.push(rows.clone());
            u32::try_from(self.batches.len() - 1).unwrap_or(u32::MAX)
        });
        let row = |row| u32::try_from(row).unwrap_or(u32::MAX);
        let (start, len) = (row(cursor.start), row(cursor.end - cursor.start));
        self.runs.push(Run { batch, start, len });
        self.customers.push(self.rows);
        self.rows += len;
        self.bytes += len as usize * rows.row_bytes() + rows.text_bytes(cursor.start..cursor.end);
    }

    fn take(&mut self) -> Result<SortedRows, IngestError> {
        let Self { batches, runs, mut customers, rows: end, .. } = std::mem::take(self);
        customers.push(end);
        let rows = Concat::new(&batches).rows(&runs).doing("merge sorted events")?;
        Ok(SortedRows { rows, order: (0..end).collect(), customers, replaced: 0 })
    }
}

/// Hands the customers of all runs on in the order of the dataset.
pub(super) fn merge(
    runs: &[SortedRun],
    known: &Known,
    budget: Budget,
    writer: &mut EventWriter<'_>,
) -> Result<(), IngestError> {
    let mut cursors = Vec::with_capacity(runs.len());
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (run, SortedRun { rows, heads: first_rows }) in runs.iter().enumerate() {
        let (batches, batch, merged) = (rows.read(), None, None);
        let mut cursor =
            Cursor { batches, known, batch, read: 0, heads: first_rows, is_head: false, merged, start: 0, end: 0 };
        let mut head = Head { run, ..Head::default() };
        if cursor.advance(&mut head)? {
            heads.push(Reverse(head));
        }
        cursors.push(cursor);
    }
    let mut merged = Merged::default();
    while let Some(mut head) = heads.peek_mut() {
        let cursor = &mut cursors[head.0.run];
        cursor.load()?;
        merged.push(cursor);
        if !cursor.advance(&mut head.0)? {
            PeekMut::pop(head);
        }
        if merged.rows >= AT_ONCE || merged.bytes >= budget.row_group() {
            writer.write([merged.take()?])?;
            cursors.iter_mut().for_each(|cursor| cursor.merged = None);
        }
    }
    writer.write([merged.take()?])
}
