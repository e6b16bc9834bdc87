//! Sorted runs merged into one order, customer by customer.

use super::SortedRun;
use crate::IngestError;
use crate::error::ErrorContext;
use crate::events::budget::Budget;
use crate::events::dictionaries::EventDictionaries;
use crate::events::event_batch::EventBatch;
use crate::events::row_ranges::{BatchSet, RowRange};
use crate::events::sort::SortedCustomers;
use arrow_array::RecordBatch;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Rows after which merged customers are passed on.
const MAX_MERGED_ROWS: u32 = 1 << 16;

/// Passes the customers of all runs on in the order of the dataset.
pub(super) fn merge(
    runs: &[SortedRun],
    dictionaries: &EventDictionaries,
    budget: Budget,
    take: &mut dyn FnMut(SortedCustomers) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let mut cursors = Vec::with_capacity(runs.len());
    let mut next = BinaryHeap::with_capacity(runs.len());
    for (run, SortedRun { rows, previews }) in runs.iter().enumerate() {
        let mut cursor = RunCursor::new(rows.read(), previews, dictionaries);
        let mut customer = NextCustomer { run, ..NextCustomer::default() };
        if cursor.advance(&mut customer)? {
            next.push(Reverse(customer));
        }
        cursors.push(cursor);
    }
    let mut merged = MergedCustomers::default();
    while let Some(mut customer) = next.peek_mut() {
        let cursor = &mut cursors[customer.0.run];
        cursor.load()?;
        merged.push(cursor);
        if !cursor.advance(&mut customer.0)? {
            PeekMut::pop(customer);
        }
        if merged.rows >= MAX_MERGED_ROWS || merged.bytes >= budget.row_group() {
            take(merged.finish()?)?;
            cursors.iter_mut().for_each(|cursor| cursor.merged = None);
        }
    }
    take(merged.finish()?)
}

/// The next customer of a run. Compares in the order of the dataset.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct NextCustomer {
    account_rank: u32,
    start_date: i32,
    opportunity_id: String,
    run: usize,
}

/// A run that is read customer by customer.
struct RunCursor<'a, I> {
    batches: I,
    dictionaries: &'a EventDictionaries,
    batch: Option<EventBatch>,
    /// The number of batches read so far.
    batches_read: usize,
    /// The numbers of the batches that are [previews](SortedRun::previews).
    previews: &'a [usize],
    /// Whether only the preview of the next customer was read, and not yet its rows.
    is_preview: bool,
    /// The position of the batch among the merged batches, once a row of it was merged.
    merged: Option<u32>,
    /// The rows of the next customer are `start..end`.
    start: usize,
    end: usize,
}

impl<'a, I: Iterator<Item = Result<RecordBatch, IngestError>>> RunCursor<'a, I> {
    fn new(batches: I, previews: &'a [usize], dictionaries: &'a EventDictionaries) -> Self {
        Self {
            batches,
            dictionaries,
            batch: None,
            batches_read: 0,
            previews,
            is_preview: false,
            merged: None,
            start: 0,
            end: 0,
        }
    }

    /// Moves on to the next customer and sets `customer` to it. Returns false at the end of the run.
    fn advance(&mut self, customer: &mut NextCustomer) -> Result<bool, IngestError> {
        self.start = self.end;
        while self.batch.as_ref().is_none_or(|batch| self.start >= batch.len()) {
            if !self.read()? {
                return Ok(false);
            }
        }
        let Some(batch) = &self.batch else { return Ok(false) };
        let (account, id) = (batch.accounts.value(self.start), batch.opportunity_ids.value(self.start));
        customer.account_rank = self.dictionaries.account_rank(account);
        id.clone_into(&mut customer.opportunity_id);
        // The first row of a customer is its earliest.
        customer.start_date = batch.dates.value(self.start);
        let same = |row: &usize| batch.opportunity_ids.value(*row) == id && batch.accounts.value(*row) == account;
        self.end = (self.start + 1..batch.len()).find(|row| !same(row)).unwrap_or(batch.len());
        if self.previews.binary_search(&(self.batches_read - 1)).is_ok() {
            (self.is_preview, self.batch) = (true, None);
        }
        Ok(true)
    }

    /// Reads the rows of the next customer, if only its preview was read before.
    fn load(&mut self) -> Result<(), IngestError> {
        if std::mem::take(&mut self.is_preview) {
            self.read()?;
            self.end = self.batch.as_ref().map_or(0, EventBatch::len);
        }
        Ok(())
    }

    /// Reads the next batch. Returns false if there is none.
    fn read(&mut self) -> Result<bool, IngestError> {
        self.batch = None;
        self.merged = None;
        (self.start, self.end) = (0, 0);
        let Some(batch) = self.batches.next() else { return Ok(false) };
        self.batch = Some(EventBatch::of_record_batch(&batch?).doing("merge sorted events")?);
        self.batches_read += 1;
        Ok(true)
    }
}

/// Merged customers that are yet to be passed on.
#[derive(Default)]
struct MergedCustomers {
    batches: Vec<EventBatch>,
    /// The rows of each customer.
    ranges: Vec<RowRange>,
    /// Where each customer begins among the rows.
    customers: Vec<u32>,
    rows: u32,
    bytes: usize,
}

impl MergedCustomers {
    /// Adds the next customer of a run.
    fn push<I>(&mut self, cursor: &mut RunCursor<'_, I>) {
        let Some(rows) = &cursor.batch else { return };
        let batch = *cursor.merged.get_or_insert_with(|| {
            self.batches.push(rows.clone());
            u32::try_from(self.batches.len() - 1).unwrap_or(u32::MAX)
        });
        let row = |row| u32::try_from(row).unwrap_or(u32::MAX);
        let (start, len) = (row(cursor.start), row(cursor.end - cursor.start));
        self.ranges.push(RowRange { batch, start, len });
        self.customers.push(self.rows);
        self.rows += len;
        self.bytes += len as usize * rows.row_bytes() + rows.text_bytes(cursor.start..cursor.end);
    }

    /// Concatenates the customers so far, and begins with none.
    fn finish(&mut self) -> Result<SortedCustomers, IngestError> {
        let Self { batches, ranges, mut customers, rows: end, .. } = std::mem::take(self);
        customers.push(end);
        let rows = BatchSet::new(&batches).rows(&ranges).doing("merge sorted events")?;
        Ok(SortedCustomers::new(rows, (0..end).collect(), customers))
    }
}
