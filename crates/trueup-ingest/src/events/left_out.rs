//! Leaves events out of what an ingest reads: those of forgotten customers, and those of records that a later file of
//! the same ingest delivers again.

use super::encode::plain_texts;
use super::event_batch::{column, primitive_column};
use crate::Input;
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
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use trueup_core::Shown;
use trueup_core::dataset::{ControlTotals, ForgottenCustomers, InputProtocol};
use trueup_core::model::{ACCOUNT, DATE, OPPORTUNITY_ID, RECORD_COLUMN, SOURCE};

/// What leaves out an event of a record that a later file delivers again, in protocols.
const OF_LATER_FILE: &str = "record that a later file has";

/// The most pairs of files of an ingest that have a warning each.
const MAX_WARNINGS: usize = 3;

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
    /// The number of all events of a file whose records a later file has, by the numbers of the two files.
    by_later_file: BTreeMap<(u32, u32), u64>,
}

impl LeftOutRows {
    fn add(&mut self, others: Self) {
        self.of_forgotten += others.of_forgotten;
        self.of_later_file += others.of_later_file;
        for (files, rows) in others.by_later_file {
            *self.by_later_file.entry(files).or_default() += rows;
        }
    }
}

/// What becomes of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Forgotten,
    /// With the number of the last file that has the record.
    InLaterFile(u32),
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
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        protocol.leave_out(OF_FORGOTTEN, std::mem::take(&mut rows.of_forgotten));
        protocol.leave_out(OF_LATER_FILE, std::mem::take(&mut rows.of_later_file));
    }

    /// Returns the warnings about events that were left out because a later one of `inputs` has their records. Which
    /// file is later depends on the order in which they are given, and that of a shell is the one of the alphabet.
    pub(super) fn warnings(&self, inputs: &[&Input]) -> Vec<String> {
        let name = |file: u32| {
            let path = self.records.and_then(|records| records.path(file));
            let input = inputs.iter().find(|input| Some(input.path.as_path()) == path);
            input.map_or_else(String::new, |input| input.shown.display().to_string())
        };
        let warning = |((file, later), rows): (&(u32, u32), &u64)| {
            let (events, are) = if *rows == 1 { ("event", "is") } else { ("events", "are") };
            let (file, later) = (name(*file), name(*later));
            let (file, later) = (Shown(&file), Shown(&later));
            format!(
                "`{file}` and `{later}` have records in common, and the last one given counts: {rows} {events} of `{file}` {are} left \
                 out; if `{later}` is not the newer one, give it first"
            )
        };
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut warnings: Vec<String> = rows.by_later_file.iter().take(MAX_WARNINGS).map(warning).collect();
        if rows.by_later_file.len() > MAX_WARNINGS {
            let others = rows.by_later_file.len() - MAX_WARNINGS;
            warnings.push(format!(
                "{others} more pairs of files have records in common, of which the last one given counts"
            ));
        }
        warnings
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
        let mut left_out = LeftOutRows::default();
        for (row, fate) in fates.iter().enumerate() {
            match fate {
                Fate::Kept => {}
                Fate::Forgotten => left_out.of_forgotten += amounts.of(row),
                Fate::InLaterFile(later) => {
                    left_out.of_later_file += amounts.of(row);
                    *left_out.by_later_file.entry((file.unwrap_or_default(), *later)).or_default() += 1;
                }
            }
        }
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).add(left_out);
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
            let later = |row: usize| {
                let record = of_rows.is_valid(row).then(|| of_rows.value(row))?;
                records.last_file(accounts.value(row), source(row), record).filter(|last| *last > file)
            };
            let fate = |row: usize| later(row).map_or(Fate::Kept, Fate::InLaterFile);
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
