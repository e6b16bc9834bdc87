//! The columns of a row group, from rows wherever they lie.

use super::chunk::CodedTexts;
use super::coded::{Coded, Dimension, wrong};
use super::coder::Coder;
use super::sorted::Known;
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

/// Whole customers that become a row group.
#[derive(Debug, Default)]
pub(super) struct RowGroup {
    pub(super) pieces: Vec<Piece>,
    /// The rows of each customer.
    customers: Vec<u32>,
    pub(super) rows: usize,
    /// Bytes of memory that they take.
    pub(super) bytes: usize,
    /// The number of the first customer in its file.
    first_customer: i32,
}

/// Some rows in the order of the row group.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) rows: Arc<Coded>,
    pub(super) order: Vec<u32>,
}

impl RowGroup {
    /// Adds the next customer, which has those of the rows, in that order; they take `bytes` of memory.
    pub(super) fn push(&mut self, rows: &Arc<Coded>, order: &[u32], bytes: usize) {
        self.rows += order.len();
        self.bytes += bytes;
        self.customers.push(u32::try_from(order.len()).unwrap_or(u32::MAX));
        match self.pieces.last_mut() {
            Some(last) if Arc::ptr_eq(&last.rows, rows) => last.order.extend_from_slice(order),
            _ => self.pieces.push(Piece { rows: rows.clone(), order: order.to_vec() }),
        }
    }

    /// Numbers the customers, the first of which is number `first` of the file, and says how many there are.
    pub(super) fn number(&mut self, first: i32) -> i32 {
        self.first_customer = first;
        i32::try_from(self.customers.len()).unwrap_or(i32::MAX)
    }

    /// A column of the file, of that type there.
    pub(super) fn column(
        &self,
        name: &str,
        data_type: &DataType,
        known: &Known,
        column: &ColumnDescPtr,
    ) -> Result<ColumnData, ParquetError> {
        Ok(ColumnData::Values(match name {
            CUSTOMER_COLUMN => self.customers(),
            ACCOUNT => return self.coded(known.texts(ACCOUNT), |batch, row| batch.accounts.value(row)).column(column),
            OPPORTUNITY_ID => return self.opportunity_ids().column(column),
            TYPE => {
                return self.coded(&stage_names(), |batch, row| u32::from(batch.stages.value(row)) + 1).column(column);
            }
            DATE => Arc::new(Date32Array::from(self.gather(|batch, row| batch.dates.value(row)))),
            DATE_TIME => self.date_times(),
            EVENT_ID => self.event_ids(),
            TOTAL => self.totals(data_type)?,
            name => return self.dimension(name, known).column(column),
        }))
    }

    /// For each row the number of its customer in the file.
    fn customers(&self) -> ArrayRef {
        let mut numbers = Vec::with_capacity(self.rows);
        for (number, rows) in (self.first_customer..).zip(&self.customers) {
            numbers.extend(std::iter::repeat_n(number, *rows as usize));
        }
        Arc::new(Int32Array::from(numbers))
    }

    /// The texts of customers, whose rows follow each other; customers of different accounts may share one.
    fn opportunity_ids(&self) -> CodedTexts<'_> {
        let mut coded = CodedTexts::default();
        let mut known = HashMap::with_capacity(self.customers.len());
        let mut customers = self.customers.iter();
        for (rows, mut order) in self.rows() {
            // A customer lies in one piece.
            while let Some(first) = order.first()
                && let Some(count) = customers.next()
            {
                let id = rows.opportunity_ids.value(*first as usize);
                let code = *known.entry(id).or_insert_with(|| {
                    coded.texts.push(id);
                    u32::try_from(coded.texts.len() - 1).unwrap_or(u32::MAX)
                });
                coded.codes.extend(std::iter::repeat_n(code, *count as usize));
                order = &order[*count as usize..];
            }
        }
        coded
    }

    fn date_times(&self) -> ArrayRef {
        let times = self.gather(|batch, row| batch.date_times.is_valid(row).then(|| batch.date_times.value(row)));
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
        let DataType::Decimal128(precision, scale) = data_type else { return Err(wrong(TOTAL).into()) };
        let total = |batch: &Coded, row| batch.totals.is_valid(row).then(|| i128::from(batch.totals.value(row)));
        Ok(Arc::new(Decimal128Array::from(self.gather(total)).with_precision_and_scale(*precision, *scale)?))
    }

    fn coded<'a>(&self, texts: &'a [Box<str>], code: impl Fn(&Coded, usize) -> u32) -> CodedTexts<'a> {
        let mut coder = Coder::new(texts, self.rows);
        for (rows, order) in self.rows() {
            coder.extend(order, |row| code(rows, row as usize));
        }
        coder.finish()
    }

    fn dimension<'a>(&'a self, name: &str, known: &'a Known) -> CodedTexts<'a> {
        let mut coder = Coder::new(known.texts(name), self.rows);
        for (rows, order) in self.rows() {
            match rows.dimension(name) {
                Some(Dimension::Byte(codes)) => coder.extend(order, of_row(codes)),
                Some(Dimension::Short(codes)) => coder.extend(order, of_row(codes)),
                Some(Dimension::Word(codes)) => coder.extend(order, of_row(codes)),
                Some(column) => order.iter().for_each(|row| match column.code(*row as usize) {
                    Some(code) => coder.extend(&[*row], |_| code),
                    None => coder.push_text(column.plain(*row as usize)),
                }),
                None => coder.extend(order, |_| 0),
            }
        }
        coder.finish()
    }

    fn gather<T>(&self, value: impl Fn(&Coded, usize) -> T) -> Vec<T> {
        let mut values = Vec::with_capacity(self.rows);
        for (rows, order) in self.rows() {
            values.extend(order.iter().map(|row| value(rows, *row as usize)));
        }
        values
    }

    /// Rows, and which of them in which order.
    fn rows(&self) -> impl Iterator<Item = (&Coded, &[u32])> {
        self.pieces.iter().map(|piece| (&*piece.rows, &*piece.order))
    }
}

/// The code of a row.
fn of_row<P: ArrowPrimitiveType<Native: Into<u32>>>(codes: &PrimitiveArray<P>) -> impl Fn(u32) -> u32 {
    let codes = codes.values().as_ref();
    |row| codes[row as usize].into()
}

/// The names of stages by code, behind the text that stands for null.
fn stage_names() -> [Box<str>; Stage::ALL.len() + 1] {
    let mut names = std::array::from_fn(|_| Box::from(""));
    for stage in Stage::ALL {
        names[usize::from(stage.code()) + 1] = Box::from(stage.name());
    }
    names
}
