//! Row groups before they are encoded: the open ones of a file, which are being filled, and the columns of a whole one.

use super::layout::FileLayout;
use crate::events::budget::Size;
use crate::events::dictionaries::EventDictionaries;
use crate::events::event_batch::{DimensionColumn, EventBatch, unsound_column};
use crate::events::key_index::{AccountKeys, Section, SectionBuilder};
use arrow_array::builder::StringBuilder;
use arrow_array::types::{ArrowPrimitiveType, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Date32Array, Decimal128Array, Int32Array, PrimitiveArray, StringArray};
use arrow_schema::{ArrowError, DataType};
use hashbrown::HashMap;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use trueup_core::Day;
use trueup_core::model::{
    ACCOUNT, CUSTOMER_COLUMN, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, QuarterSpan, RECORD_COLUMN, Stage, TOTAL, TYPE,
};
use trueup_parquet::{ColumnData, TextColumn, TextColumnBuilder};

/// A sorted batch is freed, and the rows that open row groups need are copied, if they need at most one in this many of
/// its rows.
const ROWS_PER_COPY: usize = 2;

/// The open row groups of a file, one for each period. Each gets its customers in the order of the dataset.
#[derive(Debug, Default)]
pub(super) struct OpenRowGroups(BTreeMap<QuarterSpan, OpenRowGroup>);

#[derive(Debug, Default)]
struct OpenRowGroup {
    group: PendingRowGroup,
    /// The account of the last customer.
    account: Option<u32>,
}

impl OpenRowGroups {
    /// Adds the next customer, whose rows have the numbers `order` and take `bytes` of memory. Returns the row group
    /// that ends before this customer, if one does.
    pub(super) fn push(
        &mut self,
        layout: FileLayout,
        rows: &Arc<EventBatch>,
        order: &[u32],
        bytes: usize,
    ) -> Option<PendingRowGroup> {
        let (first, last) = (*order.first()? as usize, *order.last()? as usize);
        let open = self.0.entry(QuarterSpan::of(day(rows, first), day(rows, last))).or_default();
        let account = Some(rows.accounts.value(first));
        let new_account = open.account != account;
        open.account = account;
        let filled = Size { rows: open.group.rows, bytes: open.group.bytes };
        let ended = layout.ends_group(filled, Size { rows: order.len(), bytes }, new_account);
        let ended = ended.then(|| std::mem::take(&mut open.group));
        open.group.push(rows, order, bytes);
        ended
    }

    /// Ends all row groups, and returns them in the order of their periods.
    pub(super) fn end(&mut self) -> impl Iterator<Item = PendingRowGroup> + use<> {
        std::mem::take(&mut self.0).into_values().map(|open| open.group)
    }

    /// Frees each sorted batch if the open row groups need few of its rows.
    pub(super) fn release_rows(&mut self) -> Result<(), ArrowError> {
        let mut by_batch: HashMap<*const EventBatch, Vec<&mut RowGroupSlice>> = HashMap::new();
        for slice in self.0.values_mut().flat_map(|open| &mut open.group.slices) {
            by_batch.entry(Arc::as_ptr(&slice.rows)).or_default().push(slice);
        }
        by_batch.into_values().collect::<Vec<_>>().into_par_iter().try_for_each(copy_if_few)
    }
}

/// Copies the rows that slices of one batch need, if they are few.
fn copy_if_few(mut slices: Vec<&mut RowGroupSlice>) -> Result<(), ArrowError> {
    let needed: Vec<u32> = slices.iter().flat_map(|slice| &slice.order).copied().collect();
    let batch = slices.first().map(|slice| &slice.rows);
    let Some(batch) = batch.filter(|batch| needed.len() * ROWS_PER_COPY <= batch.len()) else { return Ok(()) };
    let copy = Arc::new(batch.take(needed)?);
    let mut copied = 0..;
    for slice in &mut slices {
        slice.rows = copy.clone();
        slice.order.iter_mut().zip(&mut copied).for_each(|(row, copied)| *row = copied);
    }
    Ok(())
}

/// Returns the day of a row. Stored days are in range.
fn day(rows: &EventBatch, row: usize) -> Day {
    Day::from_number(u16::try_from(rows.dates.value(row)).unwrap_or(u16::MAX))
}

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

/// The ids of a row group. They are collected once, because both the index and a column need them, and the rows of a
/// row group lie far from each other in memory.
#[derive(Debug)]
pub(super) struct RowGroupIds {
    /// The id of each customer.
    customers: StringArray,
    /// The event id of each row, or null.
    events: StringArray,
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

    /// Returns the ids of the customers and of the events.
    pub(super) fn ids(&self) -> RowGroupIds {
        let mut customers = StringBuilder::with_capacity(self.customers.len(), self.customers.len() * 16);
        for (rows, first, _) in self.rows_by_customer() {
            customers.append_value(rows.opportunity_ids.value(first));
        }
        let mut events = StringBuilder::with_capacity(self.rows, self.rows * 16);
        for (rows, order) in self.rows() {
            let column = &rows.event_ids;
            for row in order {
                let row = *row as usize;
                events.append_option(column.is_valid(row).then(|| column.value(row)));
            }
        }
        RowGroupIds { customers: customers.finish(), events: events.finish() }
    }

    /// Returns the section of the index, which has every page of a customer for its id, its event ids and its records.
    /// `page_rows` are the rows of a page.
    pub(super) fn section(&self, ids: &RowGroupIds, dictionaries: &EventDictionaries, page_rows: usize) -> Section {
        let mut section = SectionBuilder::new(self.rows + self.customers.len());
        let mut account: Option<(u32, AccountKeys)> = None;
        let mut next = 0;
        for (customer, (rows, first, of_customer)) in self.rows_by_customer().enumerate() {
            let end = next + of_customer.len();
            let pages = next / page_rows..=(end - 1) / page_rows;
            let code = rows.accounts.value(first);
            let keys_of = match account {
                Some((same, keys_of)) if same == code => keys_of,
                _ => account.insert((code, AccountKeys::of(dictionaries.account(code)))).1,
            };
            section.add_customer(keys_of, ids.customers.value(customer).as_bytes(), pages.clone());
            for row in (next..end).filter(|row| ids.events.is_valid(*row)) {
                section.add_event_id(keys_of, ids.events.value(row).as_bytes(), pages.clone());
            }
            if let Some(records) = rows.dimension(RECORD_COLUMN) {
                let texts = dictionaries.texts(RECORD_COLUMN);
                let of_rows = of_customer.iter().map(|row| records.value(texts, *row as usize));
                for record in of_rows.filter(|record| !record.is_empty()) {
                    section.add_event_id(keys_of, record.as_bytes(), pages.clone());
                }
            }
            next = end;
        }
        section.finish()
    }

    /// Returns a column, encoded if it consists of texts that recur. `data_type` is its type in the file, and
    /// `page_rows` are the rows of a page.
    pub(super) fn column(
        &self,
        name: &str,
        data_type: &DataType,
        ids: &RowGroupIds,
        dictionaries: &EventDictionaries,
        column: &ColumnDescPtr,
        page_rows: usize,
    ) -> Result<ColumnData, ParquetError> {
        Ok(ColumnData::Values(match name {
            CUSTOMER_COLUMN => self.customers(),
            ACCOUNT => {
                return self
                    .coded(dictionaries.texts(ACCOUNT), |batch, row| batch.accounts.value(row))
                    .column(column, page_rows);
            }
            OPPORTUNITY_ID => return self.opportunity_ids(ids).column(column, page_rows),
            EVENT_ID => Arc::new(ids.events.clone()),
            TYPE => {
                return self
                    .coded(&stage_texts(), |batch, row| u32::from(batch.stages.value(row)) + 1)
                    .column(column, page_rows);
            }
            DATE => Arc::new(Date32Array::from(self.values(|batch, row| batch.dates.value(row)))),
            DATE_TIME => self.date_times(),
            TOTAL => self.totals(data_type)?,
            name => return self.dimension(name, dictionaries).column(column, page_rows),
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
    fn opportunity_ids<'a>(&self, ids: &'a RowGroupIds) -> TextColumn<'a> {
        let mut builder = TextColumnBuilder::new(&[], self.rows);
        for (customer, rows) in self.customers.iter().enumerate() {
            builder.push_text(ids.customers.value(customer), *rows as usize);
        }
        builder.finish()
    }

    fn date_times(&self) -> ArrayRef {
        let times = self.values(|batch, row| batch.date_times.is_valid(row).then(|| batch.date_times.value(row)));
        Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(times).with_timezone("UTC"))
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
                    None => builder.push_text(column.text(*row as usize), 1),
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

    /// Returns, for each customer, the batch of its rows, the number of its first row, and the numbers of all.
    fn rows_by_customer(&self) -> impl Iterator<Item = (&EventBatch, usize, &[u32])> {
        let mut slices = self.rows();
        let mut left: Option<(&EventBatch, &[u32])> = None;
        self.customers.iter().map_while(move |rows| {
            // The rows of a customer are in one slice.
            let (batch, order) = left.filter(|(_, order)| !order.is_empty()).or_else(|| slices.next())?;
            let (of_customer, rest) = order.split_at_checked(*rows as usize)?;
            left = Some((batch, rest));
            Some((batch, *of_customer.first()? as usize, of_customer))
        })
    }
}

/// Returns a function that reads the code of a row.
fn of_row<P: ArrowPrimitiveType<Native: Into<u32>>>(codes: &PrimitiveArray<P>) -> impl Fn(u32) -> u32 {
    let codes = codes.values().as_ref();
    |row| codes[row as usize].into()
}

/// Returns the texts of stage codes: the empty text, which represents null, then the names of the stages.
fn stage_texts() -> [Box<str>; Stage::ALL.len() + 1] {
    let mut texts = std::array::from_fn(|_| Box::from(""));
    for stage in Stage::ALL {
        texts[usize::from(stage.code()) + 1] = Box::from(stage.name());
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Int64Array, TimestampMicrosecondArray, UInt8Array, UInt32Array};

    const LAYOUT: FileLayout =
        FileLayout { group_rows: 4, file_rows: 100, group_bytes: usize::MAX, open_bytes: usize::MAX };

    /// Makes rows from accounts and days. Day 0 is the first of January, and the ids of a row are its number.
    fn rows(rows: &[(u32, i32)]) -> Arc<EventBatch> {
        let ids = StringArray::from_iter_values((0..rows.len()).map(|row| row.to_string()));
        let none = TimestampMicrosecondArray::new_null(rows.len()).with_timezone("UTC");
        Arc::new(EventBatch {
            accounts: UInt32Array::from_iter_values(rows.iter().map(|(account, _)| *account)),
            opportunity_ids: ids.clone(),
            stages: UInt8Array::from(vec![0; rows.len()]),
            dates: Date32Array::from_iter_values(rows.iter().map(|(_, day)| *day)),
            date_times: none,
            event_ids: ids,
            totals: Int64Array::new_null(rows.len()),
            dimensions: Vec::new(),
        })
    }

    /// Returns the ids of a row group's rows.
    fn ids(group: &PendingRowGroup) -> Vec<String> {
        let of_slice = |slice: &RowGroupSlice| {
            let ids = &slice.rows.event_ids;
            slice.order.iter().map(|row| ids.value(*row as usize).to_owned()).collect::<Vec<_>>()
        };
        group.slices.iter().flat_map(of_slice).collect()
    }

    #[test]
    fn a_customer_goes_to_the_row_group_of_its_period() {
        let mut groups = OpenRowGroups::default();
        // Customers of the first quarter, of the second, from the first into the second, and over more than two.
        let rows = rows(&[(1, 0), (1, 100), (1, 80), (1, 100), (1, 0), (1, 300), (1, 20), (2, 20), (2, 120), (2, 0)]);
        for customer in [&[0][..], &[1], &[2, 3], &[4, 5], &[6], &[8]] {
            assert!(groups.push(LAYOUT, &rows, customer, 1).is_none());
        }
        // The row group of the first quarter ends, because it is half full and the account changes.
        assert_eq!(ids(&groups.push(LAYOUT, &rows, &[7], 1).unwrap()), ["0", "6"]);
        assert!(groups.push(LAYOUT, &rows, &[9], 1).is_none());
        let left: Vec<_> = groups.end().map(|group| ids(&group)).collect();
        assert_eq!(left, [vec!["7", "9"], vec!["2", "3"], vec!["1", "8"], vec!["4", "5"]]);
        assert_eq!(groups.end().count(), 0);
    }

    #[test]
    fn a_batch_is_freed_when_few_of_its_rows_are_needed() {
        let mut groups = OpenRowGroups::default();
        let (few, many) = (rows(&[(1, 0), (1, 1), (1, 100), (1, 2), (1, 3)]), rows(&[(1, 100), (1, 4), (1, 3)]));
        assert!(groups.push(LAYOUT, &few, &[4], 1).is_none());
        assert!(groups.push(LAYOUT, &few, &[2], 1).is_none());
        assert!(groups.push(LAYOUT, &many, &[2], 1).is_none());
        assert!(groups.push(LAYOUT, &many, &[0], 1).is_none());
        let held = [Arc::downgrade(&few), Arc::downgrade(&many)];
        drop((few, many));
        assert!(held.iter().all(|rows| rows.upgrade().is_some()));
        groups.release_rows().unwrap();
        assert_eq!(held.map(|rows| rows.upgrade().is_some()), [false, true]);
        let left: Vec<_> = groups.end().map(|group| ids(&group)).collect();
        assert_eq!(left, [["4", "2"], ["2", "0"]]);
    }
}
