//! A dataset in memory, from tables in canonical form.

use super::column_cache::ColumnCache;
use super::error::DatasetError;
use super::open::read_plain;
use super::prune::RowGroupBounds;
use super::{Dataset, RowGroup};
use crate::error::Error;
use crate::model::{self, Accounts, CUSTOMER_COLUMN, EventNormalizer, Normalized, SpendNormalizer, TableFault};
use crate::scan::{
    ColumnFault, ColumnSource, EventColumns, EventProjection, SpendColumns, SpendProjection, TableColumns,
};
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Tables in canonical form: the names of columns are those of fields.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Rows of events. Of the rows with the same account and `eventId`, the last one counts.
    pub events: Vec<RecordBatch>,
    /// Rows of spend. Equal rows add up.
    pub spend: Vec<RecordBatch>,
    /// Rows of accounts; each account occurs once.
    pub accounts: Vec<RecordBatch>,
    /// The approximate number of rows of a row group, which holds whole customers.
    pub row_group_rows: usize,
}

impl Default for Tables {
    fn default() -> Self {
        Self { events: Vec::new(), spend: Vec::new(), accounts: Vec::new(), row_group_rows: 65_536 }
    }
}

impl Tables {
    /// Reads Parquet files in canonical form.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn from_parquet<P: AsRef<Path>>(events: &[P], spend: &[P], accounts: &[P]) -> Result<Self, Error> {
        let read = |paths: &[P]| -> Result<Vec<RecordBatch>, Error> {
            let mut batches = Vec::new();
            for path in paths {
                let path = path.as_ref();
                let file = File::open(path).map_err(|source| DatasetError::Io { path: path.to_owned(), source })?;
                batches.extend(read_plain(path, file)?);
            }
            Ok(batches)
        };
        Ok(Self { events: read(events)?, spend: read(spend)?, accounts: read(accounts)?, ..Self::default() })
    }
}

impl Dataset {
    /// Makes a dataset in memory.
    ///
    /// # Errors
    /// A table breaks a rule. The error names the first row at fault, its column and value.
    pub fn from_tables(tables: &Tables) -> Result<Self, Error> {
        let accounts = Accounts::from_batches(&tables.accounts)?;
        let events = sorted_events(&tables.events, &accounts)?;
        let schema = events.batch.schema();
        let names = model::extra_columns(&schema).chain([model::EVENT_ID, model::OPPORTUNITY_ID]);
        let columns: BTreeSet<String> = names.map(str::to_owned).collect();
        Ok(Self {
            manifest: None,
            insights: Vec::new(),
            accounts,
            events: event_row_groups(&events, &columns, tables.row_group_rows.max(1))?,
            spend: spend_row_groups(&sorted_spend(&tables.spend)?)?,
            columns,
            cache: Arc::new(ColumnCache::new(0)),
        })
    }
}

fn sorted_events(batches: &[RecordBatch], accounts: &Accounts) -> Result<model::SortedEvents, TableFault> {
    let mut normalized = Vec::new();
    for batch in batches {
        normalized.push(without_faults(EventNormalizer::new(&batch.schema(), accounts)?.normalize(batch)?)?);
    }
    Ok(model::sort_events(&model::keep_latest(&model::concat_events(&normalized)?)?)?)
}

fn sorted_spend(batches: &[RecordBatch]) -> Result<RecordBatch, TableFault> {
    let mut normalized = Vec::new();
    for batch in batches {
        normalized.push(without_faults(SpendNormalizer::new(&batch.schema())?.normalize(batch)?)?);
    }
    Ok(model::sort_spend(&model::concat_spend(&normalized)?)?)
}

/// Returns the batch, or the first fault of a row.
fn without_faults(normalized: Normalized) -> Result<RecordBatch, TableFault> {
    match normalized.faults.into_iter().next() {
        Some(fault) => Err(TableFault::Row(fault)),
        None => Ok(normalized.batch),
    }
}

fn event_row_groups(
    sorted: &model::SortedEvents,
    columns: &BTreeSet<String>,
    row_group_rows: usize,
) -> Result<Vec<RowGroup<EventColumns>>, Error> {
    let projection = EventProjection { texts: columns.clone(), totals: true, date_times: true };
    let batch = with_customer_numbers(&sorted.batch, &sorted.customers).map_err(TableFault::from)?;
    let mut row_groups = Vec::new();
    let mut from = 0;
    for to in sorted.customers.iter().skip(1).map(|offset| *offset as usize) {
        if to - from >= row_group_rows || to == batch.num_rows() {
            // Each row group is decoded alone, because a dictionary of the texts of all rows would be held once per row
            // group.
            let rows = batch.slice(from, to - from);
            let columns = EventColumns::decode(&ColumnSource::Batch(&rows), &projection).map_err(unexpected)?;
            let bounds = bounds(&columns.days);
            row_groups.push(RowGroup::in_memory(rows.num_rows(), bounds, columns));
            from = to;
        }
    }
    Ok(row_groups)
}

fn spend_row_groups(batch: &RecordBatch) -> Result<Vec<RowGroup<SpendColumns>>, Error> {
    let columns = SpendColumns::decode(&ColumnSource::Batch(batch), &SpendProjection::all()).map_err(unexpected)?;
    let bounds = bounds(&columns.days);
    Ok(vec![RowGroup::in_memory(batch.num_rows(), bounds, columns)])
}

fn bounds(days: &[u16]) -> RowGroupBounds {
    let days = days.iter().min().zip(days.iter().max()).map(|(first, last)| (i32::from(*first), i32::from(*last)));
    RowGroupBounds { accounts: None, days }
}

fn unexpected(ColumnFault { column, fault }: ColumnFault) -> Error {
    Error::Unexpected { column, fault }
}

/// Adds the column that numbers the customer of each row. Customer `i` has the rows `customers[i]..customers[i + 1]`.
fn with_customer_numbers(batch: &RecordBatch, customers: &[u32]) -> Result<RecordBatch, ArrowError> {
    let mut numbers = Vec::with_capacity(batch.num_rows());
    for (number, ends) in (0_i32..).zip(customers.windows(2)) {
        numbers.resize(ends[1] as usize, number);
    }
    let mut fields = vec![Field::new(CUSTOMER_COLUMN, DataType::Int32, false)];
    fields.extend(batch.schema().fields().iter().map(|field| field.as_ref().clone()));
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(numbers))];
    arrays.extend(batch.columns().iter().cloned());
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

#[cfg(test)]
mod tests;
