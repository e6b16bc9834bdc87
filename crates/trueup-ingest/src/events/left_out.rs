//! Leaves events of forgotten customers out of what an ingest reads.

use super::encode::plain_texts;
use super::event_batch::{column, primitive_column};
use crate::amounts::RowAmounts;
use crate::table::Table;
use arrow_array::types::Date32Type;
use arrow_array::{BooleanArray, PrimitiveArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use trueup_core::dataset::{ControlTotals, ForgottenCustomers};
use trueup_core::model::{ACCOUNT, DATE, OPPORTUNITY_ID};

/// What the dataset has forgotten, and the events that were left out.
pub(super) struct LeftOut<'a> {
    /// `None` if nobody is forgotten.
    forgotten: Option<&'a ForgottenCustomers>,
    rows: Mutex<ControlTotals>,
}

impl<'a> LeftOut<'a> {
    pub(super) fn new(forgotten: Option<&'a ForgottenCustomers>) -> Self {
        Self { forgotten, rows: Mutex::new(ControlTotals::default()) }
    }

    /// Returns the events that were left out since this was asked last.
    pub(super) fn take(&self) -> ControlTotals {
        std::mem::take(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns events in stored form without those of forgotten customers up to the day on which each was forgotten.
    pub(super) fn without<'b>(&self, batch: &'b RecordBatch) -> Result<Cow<'b, RecordBatch>, ArrowError> {
        let Some(kept) = self.kept(batch)?.filter(|kept| kept.contains(&false)) else {
            return Ok(Cow::Borrowed(batch));
        };
        let amounts = RowAmounts::read(batch, Table::Events);
        let left_out: ControlTotals = (0..kept.len()).filter(|row| !kept[*row]).map(|row| amounts.of(row)).sum();
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) += left_out;
        Ok(Cow::Owned(filter_record_batch(batch, &BooleanArray::from(kept))?))
    }

    /// Returns for each event in stored form whether it is not left out; `None` if nobody is forgotten.
    pub(super) fn kept(&self, batch: &RecordBatch) -> Result<Option<Vec<bool>>, ArrowError> {
        let Some(forgotten) = self.forgotten else { return Ok(None) };
        let accounts = plain_texts(ACCOUNT, column(batch, ACCOUNT)?)?;
        let customers = plain_texts(OPPORTUNITY_ID, column(batch, OPPORTUNITY_ID)?)?;
        let days: PrimitiveArray<Date32Type> = primitive_column(batch, DATE)?;
        // The hash of a customer takes longer than looking the customer up.
        let mut known = HashMap::new();
        let kept = (0..batch.num_rows()).map(|row| {
            let customer = (accounts.value(row), customers.value(row));
            let until = known.entry(customer).or_insert_with(|| forgotten.until(customer.0, customer.1));
            until.is_none_or(|until| days.value(row) > i32::from(until.number()))
        });
        Ok(Some(kept.collect()))
    }
}
