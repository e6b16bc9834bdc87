//! Canonical spend tables, normalized into the stored form, and the order of stored spend.

use super::amount::read_amounts;
use super::columns::{
    ACCOUNT, CHANNEL, DATE, Meaning, OPPORTUNITY_ID, SOURCE, SPEND_AMOUNTS, SPEND_COUNTS, TYPE, amount_field,
    check_columns, check_same_columns, find, names, require, require_all,
};
use super::fault::{CellFaults, Reason, SchemaFault, too_many_rows};
use super::normalize::Normalized;
use super::plain_column::{PlainColumn, read_account_keys, read_counts, read_days};
use crate::Day;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, Date32Array, RecordBatch, UInt32Array, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use rayon::slice::ParallelSliceMut;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The text columns of the spend table that are dimensions. Null means that the spend is not attributed.
pub(crate) const SPEND_TEXTS: [&str; 3] = ["attributionCategory", CHANNEL, "campaign"];

/// The columns of a table of spend.
pub const SPEND_COLUMNS: [&str; 10] = [
    ACCOUNT,
    DATE,
    SOURCE,
    SPEND_TEXTS[0],
    SPEND_TEXTS[1],
    SPEND_TEXTS[2],
    SPEND_AMOUNTS[0],
    SPEND_AMOUNTS[1],
    SPEND_COUNTS[0],
    SPEND_COUNTS[1],
];

/// Returns the schema of stored spend: `account` and `date`, which are never null; texts, which are never empty;
/// amounts in currency units with six decimal places; counts. A missing text, amount or count is null.
#[must_use]
pub fn stored_spend_schema() -> SchemaRef {
    let mut fields = vec![Field::new(ACCOUNT, DataType::Utf8, false), Field::new(DATE, DataType::Date32, false)];
    fields.push(Field::new(SOURCE, DataType::Utf8, true));
    fields.extend(SPEND_TEXTS.map(|name| Field::new(name, DataType::Utf8, true)));
    fields.extend(SPEND_AMOUNTS.map(amount_field));
    fields.extend(SPEND_COUNTS.map(|name| Field::new(name, DataType::Int64, true)));
    Arc::new(Schema::new(fields))
}

/// Normalizes batches with one canonical schema into the stored form of spend.
#[derive(Clone, Debug)]
pub struct SpendNormalizer {
    given: Schema,
    account: usize,
    date: usize,
    /// The index in `given` of each stored column after the first two; `None` if the table does not have it.
    rest: [Option<usize>; 8],
    ignored: Vec<String>,
}

impl SpendNormalizer {
    /// Returns a normalizer of batches with the columns of `given`, which are a whole table.
    ///
    /// # Errors
    /// Returns an error as [`SpendNormalizer::of_part`] does, and if the table has neither amounts nor counts.
    pub fn new(given: &Schema) -> Result<Self, SchemaFault> {
        let normalizer = Self::of_part(given)?;
        normalizer.no_spend().map_or(Ok(normalizer), Err)
    }

    /// Returns a normalizer of batches with the columns of `given`, which are a part of a table. Other parts may have
    /// other columns.
    ///
    /// # Errors
    /// Returns an error if a required column is missing, if a name occurs twice or is another spelling of
    /// one of [`SPEND_COLUMNS`], if a column is nested, or if one of [`SPEND_COLUMNS`] cannot be read from
    /// its type.
    pub fn of_part(given: &Schema) -> Result<Self, SchemaFault> {
        require_all(given, &[&[ACCOUNT], &[DATE]])?;
        check_columns(given, &SPEND_COLUMNS)?;
        let source = find(given, SOURCE, Meaning::Dimension);
        let [category, channel, campaign] = SPEND_TEXTS.map(|name| find(given, name, Meaning::Dimension));
        let [ad_spend, fee] = SPEND_AMOUNTS.map(|name| find(given, name, Meaning::Amount));
        let [clicks, impressions] = SPEND_COUNTS.map(|name| find(given, name, Meaning::Count));
        Ok(Self {
            given: given.clone(),
            account: require(given, &[ACCOUNT], Meaning::Id)?,
            date: require(given, &[DATE], Meaning::Date)?,
            rest: [source?, category?, channel?, campaign?, ad_spend?, fee?, clicks?, impressions?],
            ignored: names(given).into_iter().filter(|name| !SPEND_COLUMNS.contains(&name.as_str())).collect(),
        })
    }

    /// Returns the fault of a table with only these columns if it has neither amounts nor counts, because all its
    /// spend would be 0.
    #[must_use]
    pub fn no_spend(&self) -> Option<SchemaFault> {
        let [_, _, _, _, measures @ ..] = &self.rest;
        let has = |name: &&str| self.given.fields().find(name).is_some();
        let are_events = [OPPORTUNITY_ID, TYPE].iter().all(has);
        let fault = |found| {
            if are_events { SchemaFault::EventsAsSpend { found } } else { SchemaFault::NoSpend { found } }
        };
        measures.iter().all(Option::is_none).then(|| fault(names(&self.given)))
    }

    /// Returns the names of the ignored columns, in the order given: all that are not among [`SPEND_COLUMNS`].
    #[must_use]
    pub fn ignored_columns(&self) -> &[String] {
        &self.ignored
    }

    /// Normalizes a batch and rejects its bad rows.
    ///
    /// # Errors
    /// Returns an error if the batch has other columns than the normalizer was made for, or if it has too many rows.
    pub fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError> {
        check_same_columns(&self.given, batch)?;
        let column = |at: usize| PlainColumn::new(self.given.field(at).name(), batch.column(at));
        let mut faults = CellFaults::default();
        let accounts = read_account_keys(&column(self.account)?, &mut faults)?;
        let days = read_days(&column(self.date)?, &mut faults)?;
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
                DataType::Utf8 => Arc::new(column(at)?.texts(&mut faults)?),
                DataType::Int64 => Arc::new(read_counts(&column(at)?, &mut faults)?),
                _ => Arc::new(read_amounts(&column(at)?, &mut faults)?),
            });
        }
        Normalized::new(schema, columns, faults)
    }
}

/// Concatenates batches of stored spend, in the order given.
///
/// # Errors
/// Returns an error if a batch is not in stored form, or if the result is too large for one batch.
pub fn concat_spend(batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let schema = stored_spend_schema();
    batches.iter().try_for_each(|batch| check_stored(&schema, batch))?;
    concat_batches(&schema, batches)
}

/// Checks that a batch has the columns of stored spend, by their number and types.
fn check_stored(schema: &Schema, batch: &RecordBatch) -> Result<(), ArrowError> {
    let mut columns = schema.fields().iter().zip(batch.columns());
    if schema.fields().len() == batch.num_columns()
        && columns.all(|(field, column)| field.data_type() == column.data_type())
    {
        return Ok(());
    }
    Err(ArrowError::SchemaError(format!("expected stored spend, but found {}", batch.schema_ref())))
}

/// Sorts stored spend by calendar quarter, account, date, source, and then every other column; null comes first. The
/// rows of a query for few months or few accounts are then close together.
///
/// # Errors
/// Returns an error if the batch is not in stored form, or if it has too many rows.
pub fn sort_spend(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    SpendOrder::new(batch)?.sorted()
}

/// The order that [`sort_spend`] gives the rows of stored spend.
pub struct SpendOrder<'a> {
    batch: &'a RecordBatch,
    /// The quarters, and then every column.
    comparators: Vec<Comparator<'a>>,
    /// The numbers of the rows, in their order.
    rows: Vec<u32>,
}

impl<'a> SpendOrder<'a> {
    /// Finds the order.
    ///
    /// # Errors
    /// Returns an error if the batch is not in stored form, or if it has too many rows.
    pub fn new(batch: &'a RecordBatch) -> Result<Self, ArrowError> {
        check_stored(&stored_spend_schema(), batch)?;
        let len = u32::try_from(batch.num_rows()).map_err(|_| too_many_rows(batch.num_rows()))?;
        let quarters = spend_quarters(batch);
        let by_quarter: Comparator<'_> = Box::new(move |one, other| quarters[one].cmp(&quarters[other]));
        let by_column = batch.columns().iter().map(|column| comparator(column.as_ref()));
        let comparators = std::iter::once(by_quarter).chain(by_column).collect();
        let mut order = Self { batch, comparators, rows: Vec::new() };
        let mut rows: Vec<u32> = (0..len).collect();
        if !rows.is_sorted_by(|one, other| order.compare(*one, *other).is_le()) {
            rows.par_sort_unstable_by(|one, other| order.compare(*one, *other));
        }
        order.rows = rows;
        Ok(order)
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        let (one, other) = (one as usize, other as usize);
        let mut orders = self.comparators.iter().map(|compare| compare(one, other));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Returns groups of rows that are equal in every column, by their numbers in the batch. Equal rows follow each
    /// other, because the order is by every column.
    pub fn equal_rows(&self) -> impl Iterator<Item = &[u32]> {
        self.rows.chunk_by(move |one, other| self.compare(*one, *other).is_eq()).filter(|rows| rows.len() > 1)
    }

    /// Returns the rows in their order.
    ///
    /// # Errors
    /// Returns an error if the result is too large for one batch.
    pub fn sorted(self) -> Result<RecordBatch, ArrowError> {
        if self.rows.is_sorted() {
            return Ok(self.batch.clone());
        }
        take_record_batch(self.batch, &UInt32Array::from(self.rows))
    }
}

impl fmt::Debug for SpendOrder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpendOrder").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// Returns the calendar quarter of each row of stored spend, counted from the quarter of 1970-01-01.
///
/// # Panics
/// Panics if the batch does not have the columns of stored spend.
#[must_use]
pub fn spend_quarters(batch: &RecordBatch) -> Vec<u16> {
    let days = batch.column(1).as_primitive::<Date32Type>().values().iter();
    // A stored date is always a `Day`.
    days.map(|day| Day::from_number(u16::try_from(*day).unwrap_or(u16::MAX)).quarter()).collect()
}

type Comparator<'a> = Box<dyn Fn(usize, usize) -> Ordering + Send + Sync + 'a>;

/// Returns a function that compares two rows of a column of stored spend; null comes first.
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
