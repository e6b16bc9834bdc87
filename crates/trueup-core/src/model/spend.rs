//! Spend of any canonical table in the form in which it is stored, and its order.

use super::amount::read_amounts;
use super::calendar::read_days;
use super::columns::{ACCOUNT, DATE, Meaning, amount_field, check_columns, check_same, find, names, require};
use super::count::read_counts;
use super::fault::{Reason, RowFaults, SchemaFault, too_many_rows};
use super::keys::read_accounts;
use super::normalize::Normalized;
use super::render::PlainColumn;
use crate::Day;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, Date32Array, RecordBatch, UInt32Array, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use rayon::slice::ParallelSliceMut;
use std::cmp::Ordering;
use std::sync::Arc;

/// The text columns of the spend table; null where the spend is attributable to none.
pub(crate) const SPEND_TEXTS: [&str; 3] = ["attributionCategory", "attributionChannel", "campaign"];

const AMOUNTS: [&str; 2] = ["adSpend", "managementFee"];
const COUNTS: [&str; 2] = ["clicks", "impressions"];

/// The columns that a table of spend may have.
pub const SPEND_COLUMNS: [&str; 9] =
    [ACCOUNT, DATE, SPEND_TEXTS[0], SPEND_TEXTS[1], SPEND_TEXTS[2], AMOUNTS[0], AMOUNTS[1], COUNTS[0], COUNTS[1]];

/// The columns of stored spend: `account` and `date`, never null; then texts, never empty; amounts; counts.
#[must_use]
pub fn stored_spend_schema() -> SchemaRef {
    let mut fields = vec![Field::new(ACCOUNT, DataType::Utf8, false), Field::new(DATE, DataType::Date32, false)];
    fields.extend(SPEND_TEXTS.map(|name| Field::new(name, DataType::Utf8, true)));
    fields.extend(AMOUNTS.map(amount_field));
    fields.extend(COUNTS.map(|name| Field::new(name, DataType::Int64, true)));
    Arc::new(Schema::new(fields))
}

/// Brings batches of one canonical schema into the stored form of spend.
#[derive(Clone, Debug)]
pub struct SpendNormalizer {
    given: Schema,
    account: usize,
    date: usize,
    /// Where the columns of the stored form after the first two come from.
    rest: [Option<usize>; 7],
    ignored: Vec<String>,
}

impl SpendNormalizer {
    /// For batches of a table that has the columns of `given`.
    ///
    /// # Errors
    /// As [`SpendNormalizer::of_part`]; and the table has neither amounts nor counts.
    pub fn new(given: &Schema) -> Result<Self, SchemaFault> {
        let normalizer = Self::of_part(given)?;
        normalizer.no_spend().map_or(Ok(normalizer), Err)
    }

    /// For batches with the columns of `given`, of a table whose other batches may have others.
    ///
    /// # Errors
    /// A required column is absent, a name occurs twice or differs in letter case alone from one of [`SPEND_COLUMNS`], or a column has
    /// a type that it cannot be read from.
    pub fn of_part(given: &Schema) -> Result<Self, SchemaFault> {
        check_columns(given, &SPEND_COLUMNS)?;
        let [category, channel, campaign] = SPEND_TEXTS.map(|name| find(given, name, Meaning::Dimension));
        let [ad_spend, fee] = AMOUNTS.map(|name| find(given, name, Meaning::Amount));
        let [clicks, impressions] = COUNTS.map(|name| find(given, name, Meaning::Count));
        Ok(Self {
            given: given.clone(),
            account: require(given, ACCOUNT, Meaning::Id)?,
            date: require(given, DATE, Meaning::Date)?,
            rest: [category?, channel?, campaign?, ad_spend?, fee?, clicks?, impressions?],
            ignored: names(given).into_iter().filter(|name| !SPEND_COLUMNS.contains(&name.as_str())).collect(),
        })
    }

    /// The fault of a table that has none but these columns, if they are neither amounts nor counts: all its spend would be 0.
    #[must_use]
    pub fn no_spend(&self) -> Option<SchemaFault> {
        let [_, _, _, measures @ ..] = &self.rest;
        measures.iter().all(Option::is_none).then(|| SchemaFault::NoSpend { found: names(&self.given) })
    }

    /// The columns that are not taken, because spend has no such column, in the order given.
    #[must_use]
    pub fn ignored_columns(&self) -> &[String] {
        &self.ignored
    }

    /// The rows of `batch` in stored form; rows that break a rule are set aside.
    ///
    /// # Errors
    /// The batch has other columns than the normalizer was made for, or is too large.
    pub fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError> {
        check_same(&self.given, batch)?;
        let cells = |at: usize| PlainColumn::new(self.given.field(at).name(), batch.column(at));
        let mut faults = RowFaults::default();
        let accounts = read_accounts(&cells(self.account)?, &mut faults)?;
        let days = read_days(&cells(self.date)?, &mut faults)?;
        for row in (0..days.len()).filter(|row| days[*row].is_none()) {
            faults.add(row, DATE, "", Reason::Date);
        }
        let date: Date32Array = days.into_iter().map(|day| day.map(|day| i32::from(day.number()))).collect();
        let schema = stored_spend_schema();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(accounts), Arc::new(date)];
        for (field, at) in schema.fields().iter().skip(columns.len()).zip(self.rest) {
            let Some(at) = at else {
                columns.push(new_null_array(field.data_type(), batch.num_rows()));
                continue;
            };
            columns.push(match field.data_type() {
                DataType::Utf8 => Arc::new(cells(at)?.texts(&mut faults)?),
                DataType::Int64 => Arc::new(read_counts(&cells(at)?, &mut faults)?),
                _ => Arc::new(read_amounts(&cells(at)?, &mut faults)?),
            });
        }
        Normalized::new(schema, columns, faults)
    }
}

/// Stored spend of several batches as one, in the order given.
///
/// # Errors
/// A batch is not in stored form, or the whole is too large for one batch.
pub fn concat_spend(batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    concat_batches(&stored_spend_schema(), batches)
}

/// Stored spend by calendar quarter, account, date, and then every other column, nulls first: a query about some months or some accounts
/// finds its rows close together.
///
/// # Errors
/// The batch is not in stored form, or is too large.
pub fn sort_spend(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = stored_spend_schema();
    let same = schema.fields().len() == batch.num_columns();
    if !same
        || !schema.fields().iter().zip(batch.columns()).all(|(field, column)| field.data_type() == column.data_type())
    {
        return Err(ArrowError::SchemaError(format!("expected stored spend, but found {}", batch.schema_ref())));
    }
    let len = u32::try_from(batch.num_rows()).map_err(|_| too_many_rows(batch.num_rows()))?;
    let quarters = spend_quarters(batch);
    let by_quarter: Comparator<'_> = Box::new(|one, other| quarters[one].cmp(&quarters[other]));
    let by_column = batch.columns().iter().map(|column| comparator(column.as_ref()));
    let comparators: Vec<Comparator<'_>> = std::iter::once(by_quarter).chain(by_column).collect();
    let mut order: Vec<u32> = (0..len).collect();
    let compare = |one: &u32, other: &u32| {
        let (one, other) = (*one as usize, *other as usize);
        comparators.iter().map(|compare| compare(one, other)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    if order.is_sorted_by(|one, other| compare(one, other).is_le()) {
        return Ok(batch.clone());
    }
    order.par_sort_unstable_by(compare);
    take_record_batch(batch, &UInt32Array::from(order))
}

/// The calendar quarter of each row of stored spend, as a number that rises with time.
#[must_use]
pub fn spend_quarters(batch: &RecordBatch) -> Vec<u16> {
    let days = batch.column(1).as_primitive::<Date32Type>().values().iter();
    // Stored days are in range.
    days.map(|day| Day::from_number(u16::try_from(*day).unwrap_or(u16::MAX)).quarter()).collect()
}

type Comparator<'a> = Box<dyn Fn(usize, usize) -> Ordering + Send + Sync + 'a>;

/// Compares two rows of a column of stored spend; a null comes first.
fn comparator(column: &dyn Array) -> Comparator<'_> {
    match column.data_type() {
        DataType::Date32 => numbers::<Date32Type>(column),
        DataType::Int64 => numbers::<Int64Type>(column),
        DataType::Decimal128(..) => numbers::<Decimal128Type>(column),
        _ => {
            let texts = column.as_string::<i32>();
            let text = |row: usize| texts.is_valid(row).then(|| texts.value(row));
            Box::new(move |one, other| text(one).cmp(&text(other)))
        }
    }
}

fn numbers<T: ArrowPrimitiveType<Native: Ord>>(column: &dyn Array) -> Comparator<'_> {
    let values = column.as_primitive::<T>();
    let number = |row: usize| values.is_valid(row).then(|| values.value(row));
    Box::new(move |one, other| number(one).cmp(&number(other)))
}

#[cfg(test)]
mod tests;
