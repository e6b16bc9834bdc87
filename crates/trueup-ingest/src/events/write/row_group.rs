//! A row group before it is encoded: whole customers, and the values of each column.

use super::text_column::{TextColumn, TextColumnBuilder};
use crate::events::dictionaries::EventDictionaries;
use crate::events::event_batch::{DimensionColumn, EventBatch, unsound_column};
use crate::parquet_file::ColumnData;
use arrow_array::builder::StringBuilder;
use arrow_array::types::{ArrowPrimitiveType, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Date32Array, Decimal128Array, Int32Array, PrimitiveArray};
use arrow_schema::DataType;
use hashbrown::HashMap;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;
use std::sync::Arc;
use trueup_core::model::{ACCOUNT, CUSTOMER_COLUMN, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, Stage, TOTAL, TYPE};

/// Whole customers that become a row group. Their rows stay in the sorted batches until the columns are encoded.
#[derive(Debug, Default)]
pub(super) struct PendingRowGroup {
    pub(super) slices: Vec<RowGroupSlice>,
    /// The number of rows of each customer.
    customers: Vec<u32>,
    /// The number of rows of all customers.
    pub(super) rows: usize,
    /// Bytes of memory that the rows take.
    pub(super) bytes: usize,
    /// The number of the first customer in its file.
    first_customer: i32,
}

/// Consecutive rows of a row group that come from one sorted batch.
#[derive(Debug)]
pub(super) struct RowGroupSlice {
    pub(super) rows: Arc<EventBatch>,
    /// The numbers of the rows in the batch, in the order of the row group.
    pub(super) order: Vec<u32>,
}

impl PendingRowGroup {
    /// Adds the next customer, whose rows have the numbers `order` and take `bytes` of memory.
    pub(super) fn push(&mut self, rows: &Arc<EventBatch>, order: &[u32], bytes: usize) {
        self.rows += order.len();
        self.bytes += bytes;
        self.customers.push(u32::try_from(order.len()).unwrap_or(u32::MAX));
        match self.slices.last_mut() {
            Some(last) if Arc::ptr_eq(&last.rows, rows) => last.order.extend_from_slice(order),
            _ => self.slices.push(RowGroupSlice { rows: rows.clone(), order: order.to_vec() }),
        }
    }

    /// Gives the customers their numbers in the file, from `first` on. Returns how many customers there are.
    pub(super) fn number(&mut self, first: i32) -> i32 {
        self.first_customer = first;
        i32::try_from(self.customers.len()).unwrap_or(i32::MAX)
    }

    /// Returns a column, encoded if it consists of texts that recur. `data_type` is its type in the file.
    pub(super) fn column(
        &self,
        name: &str,
        data_type: &DataType,
        dictionaries: &EventDictionaries,
        column: &ColumnDescPtr,
    ) -> Result<ColumnData, ParquetError> {
        Ok(ColumnData::Values(match name {
            CUSTOMER_COLUMN => self.customers(),
            ACCOUNT => {
                return self.coded(dictionaries.texts(ACCOUNT), |batch, row| batch.accounts.value(row)).column(column);
            }
            OPPORTUNITY_ID => return self.opportunity_ids().column(column),
            TYPE => {
                return self.coded(&stage_names(), |batch, row| u32::from(batch.stages.value(row)) + 1).column(column);
            }
            DATE => Arc::new(Date32Array::from(self.values(|batch, row| batch.dates.value(row)))),
            DATE_TIME => self.date_times(),
            EVENT_ID => self.event_ids(),
            TOTAL => self.totals(data_type)?,
            name => return self.dimension(name, dictionaries).column(column),
        }))
    }

    /// Returns the number of each row's customer in the file.
    fn customers(&self) -> ArrayRef {
        let mut numbers = Vec::with_capacity(self.rows);
        for (number, rows) in (self.first_customer..).zip(&self.customers) {
            numbers.extend(std::iter::repeat_n(number, *rows as usize));
        }
        Arc::new(Int32Array::from(numbers))
    }

    /// Returns the ids of the customers. Customers of different accounts may have the same id.
    fn opportunity_ids(&self) -> TextColumn<'_> {
        let mut column = TextColumn::default();
        let mut codes = HashMap::with_capacity(self.customers.len());
        let mut customers = self.customers.iter();
        for (rows, mut order) in self.rows() {
            // The rows of a customer are in one slice.
            while let Some(first) = order.first()
                && let Some(count) = customers.next()
            {
                let id = rows.opportunity_ids.value(*first as usize);
                let code = *codes.entry(id).or_insert_with(|| {
                    column.texts.push(id);
                    u32::try_from(column.texts.len() - 1).unwrap_or(u32::MAX)
                });
                column.codes.extend(std::iter::repeat_n(code, *count as usize));
                order = &order[*count as usize..];
            }
        }
        column
    }

    fn date_times(&self) -> ArrayRef {
        let times = self.values(|batch, row| batch.date_times.is_valid(row).then(|| batch.date_times.value(row)));
        Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(times).with_timezone("UTC"))
    }

    fn event_ids(&self) -> ArrayRef {
        let mut ids = StringBuilder::with_capacity(self.rows, self.rows * 16);
        for (rows, order) in self.rows() {
            let column = &rows.event_ids;
            for row in order {
                let row = *row as usize;
                ids.append_option(column.is_valid(row).then(|| column.value(row)));
            }
        }
        Arc::new(ids.finish())
    }

    fn totals(&self, data_type: &DataType) -> Result<ArrayRef, ParquetError> {
        let DataType::Decimal128(precision, scale) = data_type else { return Err(unsound_column(TOTAL).into()) };
        let total = |batch: &EventBatch, row| batch.totals.is_valid(row).then(|| i128::from(batch.totals.value(row)));
        Ok(Arc::new(Decimal128Array::from(self.values(total)).with_precision_and_scale(*precision, *scale)?))
    }

    /// Returns a column of texts, given the code of each row and the texts of the codes.
    fn coded<'a>(&self, texts: &'a [Box<str>], code: impl Fn(&EventBatch, usize) -> u32) -> TextColumn<'a> {
        let mut builder = TextColumnBuilder::new(texts, self.rows);
        for (rows, order) in self.rows() {
            builder.extend(order, |row| code(rows, row as usize));
        }
        builder.finish()
    }

    fn dimension<'a>(&'a self, name: &str, dictionaries: &'a EventDictionaries) -> TextColumn<'a> {
        let mut builder = TextColumnBuilder::new(dictionaries.texts(name), self.rows);
        for (rows, order) in self.rows() {
            match rows.dimension(name) {
                Some(DimensionColumn::Codes8(codes)) => builder.extend(order, of_row(codes)),
                Some(DimensionColumn::Codes16(codes)) => builder.extend(order, of_row(codes)),
                Some(DimensionColumn::Codes32(codes)) => builder.extend(order, of_row(codes)),
                Some(column) => order.iter().for_each(|row| match column.code(*row as usize) {
                    Some(code) => builder.extend(&[*row], |_| code),
                    None => builder.push_text(column.text(*row as usize)),
                }),
                None => builder.extend(order, |_| 0),
            }
        }
        builder.finish()
    }

    /// Collects a value of each row.
    fn values<T>(&self, value: impl Fn(&EventBatch, usize) -> T) -> Vec<T> {
        let mut values = Vec::with_capacity(self.rows);
        for (rows, order) in self.rows() {
            values.extend(order.iter().map(|row| value(rows, *row as usize)));
        }
        values
    }

    /// Returns the slices as batches and row numbers.
    fn rows(&self) -> impl Iterator<Item = (&EventBatch, &[u32])> {
        self.slices.iter().map(|slice| (&*slice.rows, &*slice.order))
    }
}

/// Returns a function that reads the code of a row.
fn of_row<P: ArrowPrimitiveType<Native: Into<u32>>>(codes: &PrimitiveArray<P>) -> impl Fn(u32) -> u32 {
    let codes = codes.values().as_ref();
    |row| codes[row as usize].into()
}

/// Returns the names of stages by code, after the empty text, which represents null.
fn stage_names() -> [Box<str>; Stage::ALL.len() + 1] {
    let mut names = std::array::from_fn(|_| Box::from(""));
    for stage in Stage::ALL {
        names[usize::from(stage.code()) + 1] = Box::from(stage.name());
    }
    names
}
