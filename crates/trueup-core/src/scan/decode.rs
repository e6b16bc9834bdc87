//! Record batches of a split to its narrow columns.

use super::{Amounts, CodedTexts, ColumnFault, Columns, Histories, NO_VALUE, Runs, Split, TextColumn, text};
use crate::dataset::manifest::CUSTOMER_COLUMN;
use crate::model::Stage;
use crate::plan::Projection;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use std::sync::Arc;

const WRONG_TYPE: &str = "the type is not that of the layout";

impl Columns for Split {
    type Projection = Projection;

    fn missing(&self, projection: &Projection) -> Projection {
        Projection {
            texts: projection.texts.iter().filter(|name| !self.texts.contains_key(*name)).cloned().collect(),
            totals: projection.totals && self.totals.is_none(),
            date_times: projection.date_times && self.date_times.is_none(),
        }
    }

    fn bytes(&self) -> usize {
        let totals = self.totals.as_ref().map_or(0, |totals| totals.bytes());
        let date_times = self.date_times.as_ref().map_or(0, |times| size_of_val(&**times));
        let texts: usize = self.texts.values().flatten().map(|column| column.bytes()).sum();
        self.runs.bytes() + size_of_val(&*self.days) + self.histories.bytes() + totals + date_times + texts
    }

    fn names(projection: &Projection, is_first: bool) -> Vec<&str> {
        projection.columns(is_first)
    }

    /// The batch holds whole customers in order.
    fn decode(batch: &RecordBatch, projection: &Projection) -> Result<Self, ColumnFault> {
        let customers = column(batch, CUSTOMER_COLUMN)?;
        let customers =
            customers.as_primitive_opt::<Int32Type>().ok_or_else(|| ColumnFault::new(CUSTOMER_COLUMN, WRONG_TYPE))?;
        if customers.null_count() > 0 {
            return Err(ColumnFault::new(CUSTOMER_COLUMN, "a number is missing"));
        }
        let customers = customers.values();
        let (accounts, account_keys) = accounts(batch)?;
        check_customers(customers, &accounts)?;
        let days = days(column(batch, "date")?)?;
        let runs = Runs::new(&days, account_keys, |row| customers[row] != customers[row - 1], |row| accounts[row])?;
        let histories = Histories::new(stages(column(batch, "type")?)?, &runs);
        let split = Self { runs: Arc::new(runs), days: days.into(), histories: Arc::new(histories), ..Self::default() };
        split.with(batch, projection)
    }

    fn with(mut self, batch: &RecordBatch, projection: &Projection) -> Result<Self, ColumnFault> {
        if projection.totals {
            self.totals = Some(Arc::new(Amounts::new(totals("total", column(batch, "total")?)?)));
        }
        if projection.date_times {
            self.date_times = Some(date_times(column(batch, "dateTime")?)?.into());
        }
        for name in &projection.texts {
            let array = batch.column_by_name(name);
            let decoded = array.map(|array| TextColumn::decode(name, array, &self.runs).map(Arc::new)).transpose()?;
            self.texts.insert(name.clone(), decoded);
        }
        Ok(self)
    }
}

pub(super) fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, ColumnFault> {
    batch.column_by_name(name).ok_or_else(|| ColumnFault::new(name, "the column is missing"))
}

/// The codes and texts of the `account` column, which is never empty.
pub(super) fn accounts(batch: &RecordBatch) -> Result<CodedTexts, ColumnFault> {
    let coded = text::dictionary_codes("account", column(batch, "account")?)?;
    // Null and the empty text are code 0.
    if coded.0.contains(&0) { Err(ColumnFault::new("account", "an account is missing")) } else { Ok(coded) }
}

/// Customers must be numbered one by one, and each be of one account: a row counted to another customer would be counted to another
/// account too.
fn check_customers(customers: &[i32], accounts: &[u32]) -> Result<(), ColumnFault> {
    for (numbers, codes) in customers.windows(2).zip(accounts.windows(2)) {
        match numbers[1].checked_sub(numbers[0]) {
            Some(0) if codes[0] == codes[1] => {}
            Some(0) => return Err(ColumnFault::new("account", "a customer has two accounts")),
            Some(1) => {}
            _ => return Err(ColumnFault::new(CUSTOMER_COLUMN, "customers are not numbered one by one")),
        }
    }
    Ok(())
}

pub(super) fn days(array: &ArrayRef) -> Result<Vec<u16>, ColumnFault> {
    let dates = array.as_primitive_opt::<Date32Type>().ok_or_else(|| ColumnFault::new("date", WRONG_TYPE))?;
    if dates.null_count() > 0 {
        return Err(ColumnFault::new("date", "a date is missing"));
    }
    dates
        .values()
        .iter()
        .map(|day| u16::try_from(*day).map_err(|_| ColumnFault::new("date", "a date is out of range")))
        .collect()
}

fn stages(array: &ArrayRef) -> Result<Vec<u8>, ColumnFault> {
    let (codes, names) = text::dictionary_codes("type", array)?;
    let stages: Vec<Option<u8>> = names.iter().map(|name| Stage::from_name(name).map(Stage::code)).collect();
    codes
        .into_iter()
        .map(|code| stages.get(code as usize).copied().flatten())
        .collect::<Option<_>>()
        .ok_or_else(|| ColumnFault::new("type", "a stage is unknown"))
}

pub(super) fn totals(name: &str, array: &ArrayRef) -> Result<Vec<i64>, ColumnFault> {
    let amounts = array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| ColumnFault::new(name, WRONG_TYPE))?;
    if amounts.scale() != 6 {
        return Err(ColumnFault::new(name, "amounts are not in millionths"));
    }
    amounts
        .iter()
        .map(|amount| match amount {
            None => Ok(NO_VALUE),
            Some(amount) => i64::try_from(amount).map_err(|_| ColumnFault::new(name, "an amount is out of range")),
        })
        .collect()
}

fn date_times(array: &ArrayRef) -> Result<Vec<i64>, ColumnFault> {
    let times =
        array.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(|| ColumnFault::new("dateTime", WRONG_TYPE))?;
    times
        .iter()
        .map(|time| match time {
            None => Ok(NO_VALUE),
            Some(micros) if TIMES.contains(&micros) => Ok(micros),
            Some(_) => Err(ColumnFault::new("dateTime", "a point in time is out of range")),
        })
        .collect()
}

/// Points in time, in microseconds, up to two days around the days that an event may have: one for a date that differs from that of the
/// point in time, one for the time zone.
const TIMES: std::ops::RangeInclusive<i64> = {
    const DAY: i64 = 86_400_000_000;
    -2 * DAY..=(u16::MAX as i64 + 3) * DAY
};
