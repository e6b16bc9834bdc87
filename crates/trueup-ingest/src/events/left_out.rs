//! Leaves events out of what an ingest reads: those of forgotten customers, and those of records that a later file of
//! the same ingest delivers again.

use super::encode::plain_texts;
use super::event_batch::{column, primitive_column};
use crate::amounts::RowAmounts;
use crate::records::DeliveredRecords;
use crate::report::OF_FORGOTTEN;
use crate::table::Table;
use arrow_array::types::Date32Type;
use arrow_array::{Array, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use trueup_core::dataset::{ControlTotals, ForgottenCustomers, InputProtocol};
use trueup_core::model::{ACCOUNT, DATE, OPPORTUNITY_ID, RECORD_COLUMN, SOURCE};

/// What leaves out an event of a record that a later file delivers again, in protocols.
const OF_LATER_FILE: &str = "record that a later file has";

/// What the dataset has forgotten and what the files deliver, and the events that were left out.
pub(super) struct LeftOut<'a> {
    /// `None` if nobody is forgotten.
    forgotten: Option<&'a ForgottenCustomers>,
    /// `None` if no file delivers records.
    records: Option<&'a DeliveredRecords>,
    rows: Mutex<LeftOutRows>,
}

#[derive(Default)]
struct LeftOutRows {
    of_forgotten: ControlTotals,
    of_later_file: ControlTotals,
}

/// What becomes of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Forgotten,
    InLaterFile,
}

impl<'a> LeftOut<'a> {
    pub(super) fn new(forgotten: Option<&'a ForgottenCustomers>, records: Option<&'a DeliveredRecords>) -> Self {
        Self { forgotten, records, rows: Mutex::default() }
    }

    /// Returns the number of a file among the files that deliver records.
    pub(super) fn file(&self, path: &Path) -> Option<u32> {
        self.records?.file(path)
    }

    /// Adds the events that were left out since this was called last to the protocol of their input.
    pub(super) fn add_to(&self, protocol: &mut InputProtocol) {
        let rows = std::mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner));
        protocol.leave_out(OF_FORGOTTEN, rows.of_forgotten);
        protocol.leave_out(OF_LATER_FILE, rows.of_later_file);
    }

    /// Returns events in stored form without the ones that are left out: of forgotten customers up to the day on which
    /// each was forgotten, and of records that a file after the one with the number `file` delivers.
    pub(super) fn without<'b>(
        &self,
        batch: &'b RecordBatch,
        file: Option<u32>,
    ) -> Result<Cow<'b, RecordBatch>, ArrowError> {
        let Some(fates) = self.fates(batch, file)?.filter(|fates| fates.iter().any(|fate| *fate != Fate::Kept)) else {
            return Ok(Cow::Borrowed(batch));
        };
        let amounts = RowAmounts::read(batch, Table::Events);
        let totals = |fate: Fate| (0..fates.len()).filter(|row| fates[*row] == fate).map(|row| amounts.of(row)).sum();
        let (of_forgotten, of_later_file): (ControlTotals, ControlTotals) =
            (totals(Fate::Forgotten), totals(Fate::InLaterFile));
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.of_forgotten += of_forgotten;
        rows.of_later_file += of_later_file;
        drop(rows);
        let kept: BooleanArray = fates.iter().map(|fate| Some(*fate == Fate::Kept)).collect();
        Ok(Cow::Owned(filter_record_batch(batch, &kept)?))
    }

    /// Returns for each event in stored form whether it is not left out; `None` if none is.
    pub(super) fn kept(&self, batch: &RecordBatch, file: Option<u32>) -> Result<Option<Vec<bool>>, ArrowError> {
        let fates = self.fates(batch, file)?;
        Ok(fates.map(|fates| fates.into_iter().map(|fate| fate == Fate::Kept).collect()))
    }

    /// Returns what becomes of each event; `None` if all are kept.
    fn fates(&self, batch: &RecordBatch, file: Option<u32>) -> Result<Option<Vec<Fate>>, ArrowError> {
        let texts = |name: &str| plain_texts(name, column(batch, name)?);
        let mut fates: Option<Vec<Fate>> = None;
        if let Some((records, file)) = self.records.zip(file).filter(|_| batch.column_by_name(RECORD_COLUMN).is_some())
        {
            let (accounts, of_rows) = (texts(ACCOUNT)?, texts(RECORD_COLUMN)?);
            let sources = batch.column_by_name(SOURCE).map(|sources| plain_texts(SOURCE, sources)).transpose()?;
            let source =
                |row: usize| sources.as_ref().filter(|texts| texts.is_valid(row)).map_or("", |texts| texts.value(row));
            let is_later = |row: usize| {
                of_rows.is_valid(row)
                    && records
                        .last_file(accounts.value(row), source(row), of_rows.value(row))
                        .is_some_and(|last| last > file)
            };
            let fate = |row: usize| if is_later(row) { Fate::InLaterFile } else { Fate::Kept };
            fates = Some((0..batch.num_rows()).map(fate).collect());
        }
        let Some(forgotten) = self.forgotten else { return Ok(fates) };
        let (accounts, customers) = (texts(ACCOUNT)?, texts(OPPORTUNITY_ID)?);
        let days: PrimitiveArray<Date32Type> = primitive_column(batch, DATE)?;
        // The hash of a customer takes longer than looking the customer up.
        let mut known = HashMap::new();
        let mut fates = fates.unwrap_or_else(|| vec![Fate::Kept; batch.num_rows()]);
        for (row, fate) in fates.iter_mut().enumerate() {
            let customer = (accounts.value(row), customers.value(row));
            let until = known.entry(customer).or_insert_with(|| forgotten.until(customer.0, customer.1));
            if until.is_some_and(|until| days.value(row) <= i32::from(until.number())) {
                *fate = Fate::Forgotten;
            }
        }
        Ok(Some(fates))
    }
}
