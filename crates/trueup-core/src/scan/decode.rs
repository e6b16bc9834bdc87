//! Record batches of a split to its narrow columns.

use super::{CodedTexts, ColumnFault, NO_VALUE, Runs, Split, TextColumn, text};
use crate::dataset::manifest::CUSTOMER_COLUMN;
use crate::model::Stage;
use crate::plan::Projection;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use std::sync::Arc;

const WRONG_TYPE: &str = "the type is not that of the layout";

impl Split {
    /// Decodes the columns of `projection` from a batch that holds whole customers in order.
    pub(crate) fn decode(batch: &RecordBatch, projection: &Projection) -> Result<Self, ColumnFault> {
        let rows = u32::try_from(batch.num_rows()).map_err(|_| ColumnFault::new(CUSTOMER_COLUMN, "too many rows"))?;
        let customers = column(batch, CUSTOMER_COLUMN)?;
        let customers =
            customers.as_primitive_opt::<Int32Type>().ok_or_else(|| ColumnFault::new(CUSTOMER_COLUMN, WRONG_TYPE))?;
        if customers.null_count() > 0 {
            return Err(ColumnFault::new(CUSTOMER_COLUMN, "a number is missing"));
        }
        let customers = customers.values();
        let (accounts, account_keys) = accounts(batch)?;
        check_customers(customers, &accounts)?;
        let runs = Runs::new(rows, account_keys, |row| customers[row] != customers[row - 1], |row| accounts[row]);
        let days = days(column(batch, "date")?)?;
        check_order(&runs, &days)?;
        let stages = stages(column(batch, "type")?)?;
        let mut split = Self { runs: Arc::new(runs), days: days.into(), stages: stages.into(), ..Self::default() };
        if projection.totals {
            split.totals = totals("total", column(batch, "total")?)?.into();
        }
        if projection.date_times {
            split.date_times = date_times(column(batch, "dateTime")?)?.into();
        }
        for name in &projection.texts {
            if let Some(array) = batch.column_by_name(name) {
                split.texts.insert(name.clone(), Arc::new(TextColumn::decode(name, array, &split.runs)?));
            }
        }
        Ok(split)
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

/// A customer's events must not go back in time: the sub-ranges of a customer are found as consecutive events.
fn check_order(runs: &Runs, days: &[u16]) -> Result<(), ColumnFault> {
    let sorted = (0..runs.len()).all(|customer| days[runs.events(customer)].is_sorted());
    if sorted { Ok(()) } else { Err(ColumnFault::new("date", "a customer's events are not in order")) }
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
