//! Events as they are held and spilled: texts that recur as codes.

use super::coding::{code_accounts, code_texts, plain_texts, stage_codes};
use super::concat::text_bytes;
use super::texts::Dictionaries;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt8Array,
    UInt16Array, UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::take::take_record_batch;
use std::sync::Arc;
use trueup_core::model::{ACCOUNT, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, TOTAL, TYPE, extra_columns};

/// Rows of events.
#[derive(Clone, Debug)]
pub(super) struct Coded {
    pub(super) accounts: UInt32Array,
    pub(super) opportunity_ids: StringArray,
    /// Codes of stages.
    pub(super) stages: UInt8Array,
    pub(super) dates: Date32Array,
    pub(super) date_times: TimestampMicrosecondArray,
    pub(super) event_ids: StringArray,
    /// In millionths.
    pub(super) totals: Int64Array,
    /// The dimensions by name.
    pub(super) extra: Vec<(String, Dimension)>,
}

/// A column of texts: codes of the ingest, as wide as they need to be, or the texts themselves.
#[derive(Clone, Debug)]
pub(super) enum Dimension {
    Byte(UInt8Array),
    Short(UInt16Array),
    Word(UInt32Array),
    Plain(StringArray),
}

impl Coded {
    /// Takes rows in stored form, where texts may be dictionaries.
    pub(super) fn of_stored(batch: &RecordBatch, dictionaries: &Dictionaries) -> Result<Self, ArrowError> {
        let totals = column(batch, TOTAL)?.as_primitive_opt::<Decimal128Type>().ok_or_else(|| wrong(TOTAL))?;
        let mut extra: Vec<&str> = extra_columns(batch.schema_ref()).collect();
        extra.sort_unstable();
        let dimension = |name: &str| Ok((name.to_owned(), code_texts(name, column(batch, name)?, dictionaries)?));
        Ok(Self {
            accounts: code_accounts(column(batch, ACCOUNT)?, dictionaries)?,
            opportunity_ids: plain_texts(OPPORTUNITY_ID, column(batch, OPPORTUNITY_ID)?)?,
            stages: stage_codes(column(batch, TYPE)?)?,
            dates: column(batch, DATE)?.as_primitive_opt::<Date32Type>().ok_or_else(|| wrong(DATE))?.clone(),
            date_times: times(batch)?,
            event_ids: plain_texts(EVENT_ID, column(batch, EVENT_ID)?)?,
            totals: totals.try_unary(|total| i64::try_from(total).map_err(|_| wrong(TOTAL)))?,
            extra: extra.into_iter().map(dimension).collect::<Result<_, ArrowError>>()?,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.accounts.len()
    }

    /// A copy of some rows, in that order.
    pub(super) fn take(&self, rows: Vec<u32>) -> Result<Self, ArrowError> {
        Self::of_batch(&take_record_batch(&self.to_batch()?, &UInt32Array::from(rows))?)
    }

    /// Bytes of memory, about.
    pub(super) fn bytes(&self) -> usize {
        let extra: usize = self.extra.iter().map(|(_, column)| column.array().get_array_memory_size()).sum();
        let texts = self.opportunity_ids.get_array_memory_size() + self.event_ids.get_array_memory_size();
        // Codes of accounts and stages, dates, times and totals.
        texts + extra + self.len() * 25
    }

    /// The bytes of the texts of the column that has most of them.
    pub(super) fn longest_texts(&self) -> usize {
        let plain = self.extra.iter().filter_map(|(_, column)| match column {
            Dimension::Plain(texts) => Some(texts),
            _ => None,
        });
        let columns = [&self.opportunity_ids, &self.event_ids].into_iter().chain(plain);
        columns.map(|texts| text_bytes(texts, 0..texts.len())).max().unwrap_or(0)
    }

    /// A dimension, if the rows have it.
    pub(super) fn dimension(&self, name: &str) -> Option<&Dimension> {
        let at = self.extra.binary_search_by(|(column, _)| column.as_str().cmp(name)).ok()?;
        Some(&self.extra[at].1)
    }

    /// The rows as a batch of arrays.
    pub(super) fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let leading: [(&str, ArrayRef); 7] = [
            (ACCOUNT, Arc::new(self.accounts.clone())),
            (OPPORTUNITY_ID, Arc::new(self.opportunity_ids.clone())),
            (TYPE, Arc::new(self.stages.clone())),
            (DATE, Arc::new(self.dates.clone())),
            (DATE_TIME, Arc::new(self.date_times.clone())),
            (EVENT_ID, Arc::new(self.event_ids.clone())),
            (TOTAL, Arc::new(self.totals.clone())),
        ];
        let extra = self.extra.iter().map(|(name, column)| (name.as_str(), column.array()));
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = leading
            .into_iter()
            .chain(extra)
            .map(|(name, column)| (Field::new(name, column.data_type().clone(), true), column))
            .unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }

    /// What [`to_batch`](Self::to_batch) has made; columns of other names are left out.
    pub(super) fn of_batch(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let extra = extra_columns(batch.schema_ref()).filter(|name| !name.starts_with("trueup.")).map(|name| {
            let column = column(batch, name)?;
            let dimension = match column.data_type() {
                DataType::UInt8 => Dimension::Byte(column.as_primitive::<UInt8Type>().clone()),
                DataType::UInt16 => Dimension::Short(column.as_primitive::<UInt16Type>().clone()),
                DataType::UInt32 => Dimension::Word(column.as_primitive::<UInt32Type>().clone()),
                _ => Dimension::Plain(column.as_string_opt::<i32>().ok_or_else(|| wrong(name))?.clone()),
            };
            Ok((name.to_owned(), dimension))
        });
        let accounts = column(batch, ACCOUNT)?.as_primitive_opt::<UInt32Type>().ok_or_else(|| wrong(ACCOUNT))?;
        Ok(Self {
            accounts: accounts.clone(),
            opportunity_ids: plain_texts(OPPORTUNITY_ID, column(batch, OPPORTUNITY_ID)?)?,
            stages: column(batch, TYPE)?.as_primitive_opt::<UInt8Type>().ok_or_else(|| wrong(TYPE))?.clone(),
            dates: column(batch, DATE)?.as_primitive_opt::<Date32Type>().ok_or_else(|| wrong(DATE))?.clone(),
            date_times: times(batch)?,
            event_ids: plain_texts(EVENT_ID, column(batch, EVENT_ID)?)?,
            totals: column(batch, TOTAL)?.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong(TOTAL))?.clone(),
            extra: extra.collect::<Result<_, ArrowError>>()?,
        })
    }
}

impl Dimension {
    pub(super) fn array(&self) -> ArrayRef {
        match self {
            Self::Byte(codes) => Arc::new(codes.clone()),
            Self::Short(codes) => Arc::new(codes.clone()),
            Self::Word(codes) => Arc::new(codes.clone()),
            Self::Plain(texts) => Arc::new(texts.clone()),
        }
    }

    /// The code of a row, if it has one.
    pub(super) fn code(&self, row: usize) -> Option<u32> {
        match self {
            Self::Byte(codes) => Some(u32::from(codes.value(row))),
            Self::Short(codes) => Some(u32::from(codes.value(row))),
            Self::Word(codes) => Some(codes.value(row)),
            Self::Plain(texts) => texts.is_null(row).then_some(0),
        }
    }

    /// The text of a row that has no code.
    pub(super) fn plain(&self, row: usize) -> &str {
        match self {
            Self::Plain(texts) if texts.is_valid(row) => texts.value(row),
            _ => "",
        }
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, ArrowError> {
    batch.column_by_name(name).ok_or_else(|| wrong(name))
}

fn times(batch: &RecordBatch) -> Result<TimestampMicrosecondArray, ArrowError> {
    let column = column(batch, DATE_TIME)?;
    column.as_primitive_opt::<TimestampMicrosecondType>().cloned().ok_or_else(|| wrong(DATE_TIME))
}

pub(super) fn wrong(name: &str) -> ArrowError {
    ArrowError::SchemaError(format!("stored events have no sound column `{name}`"))
}
