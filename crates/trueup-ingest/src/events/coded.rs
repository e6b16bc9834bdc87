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
use std::ops::Range;
use std::sync::Arc;
use trueup_core::model::{ACCOUNT, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, TOTAL, TYPE, is_leading_column};

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
    /// Codes, and the texts of the rows that have none; the text of another row is null.
    Mixed(UInt32Array, StringArray),
}

/// What holds a column of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Width {
    Byte,
    Short,
    Word,
    Plain,
    Mixed,
}

/// Bytes of a row apart from its dimensions and its texts: codes of account and stage, date, time, total, and where its two ids end.
const ROW: usize = 25 + 2 * OFFSET;

/// Bytes that say where a text ends.
const OFFSET: usize = 4;

/// Bytes that a column takes apart from its values: its name, its parts, and what its buffers are rounded up to.
const COLUMN: usize = 512;

/// What the column of the texts of a mixed dimension is named like.
const TEXTS: &str = "trueup.texts.";

impl Coded {
    /// Takes rows in stored form, where texts may be dictionaries.
    pub(super) fn of_stored(batch: &RecordBatch, dictionaries: &Dictionaries) -> Result<Self, ArrowError> {
        let totals = column(batch, TOTAL)?.as_primitive_opt::<Decimal128Type>().ok_or_else(|| wrong(TOTAL))?;
        let mut extra: Vec<(&str, &ArrayRef)> = extra_arrays(batch).collect();
        extra.sort_unstable_by_key(|(name, _)| *name);
        let dimension = |(name, column)| Ok((str::to_owned(name), code_texts(name, column, dictionaries)?));
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
        self.len() * self.row_bytes() + self.text_bytes(0..self.len()) + self.extra.len() * COLUMN
    }

    /// Bytes of a row apart from its texts.
    pub(super) fn row_bytes(&self) -> usize {
        row_bytes(self.extra.iter().map(|(_, column)| column.width()))
    }

    /// The columns of texts that are spelled out.
    fn texts(&self) -> impl Iterator<Item = &StringArray> {
        let plain = self.extra.iter().filter_map(|(_, column)| match column {
            Dimension::Plain(texts) | Dimension::Mixed(_, texts) => Some(texts),
            _ => None,
        });
        [&self.opportunity_ids, &self.event_ids].into_iter().chain(plain)
    }

    /// The bytes of the texts of some rows that follow each other.
    pub(super) fn text_bytes(&self, rows: Range<usize>) -> usize {
        self.texts().map(|texts| text_bytes(texts, rows.clone())).sum()
    }

    /// The bytes of the texts of the column that has most of them.
    pub(super) fn longest_texts(&self) -> usize {
        self.texts().map(|texts| text_bytes(texts, 0..texts.len())).max().unwrap_or(0)
    }

    /// The most bytes that a row takes.
    pub(super) fn most_bytes(&self) -> usize {
        let longest = |texts: &StringArray| texts.value_offsets().windows(2).map(|ends| ends[1] - ends[0]).max();
        let texts: usize = self.texts().filter_map(longest).filter_map(|bytes| usize::try_from(bytes).ok()).sum();
        self.row_bytes() + texts
    }

    /// Bytes that some rows take.
    pub(super) fn bytes_of(&self, rows: &[u32]) -> usize {
        let texts = |row: &u32| self.text_bytes(*row as usize..*row as usize + 1);
        rows.len() * self.row_bytes() + rows.iter().map(texts).sum::<usize>()
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
        let leading = leading.into_iter().map(|(name, column)| (name.to_owned(), column));
        let extra = self.extra.iter().flat_map(|(name, column)| column.arrays(name));
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = leading
            .chain(extra)
            .map(|(name, column)| (Field::new(name, column.data_type().clone(), true), column))
            .unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }

    /// What [`to_batch`](Self::to_batch) has made; columns of other names are left out.
    pub(super) fn of_batch(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let mut arrays = extra_arrays(batch).peekable();
        let mut extra = Vec::with_capacity(batch.num_columns());
        while let Some((name, column)) = arrays.next() {
            if name.starts_with("trueup.") {
                continue;
            }
            // The texts of a mixed dimension follow its codes.
            let texts = arrays.next_if(|(texts, _)| texts.strip_prefix(TEXTS) == Some(name));
            let dimension = match (column.data_type(), texts) {
                (DataType::UInt32, Some((_, texts))) => {
                    let texts = texts.as_string_opt::<i32>().ok_or_else(|| wrong(name))?;
                    Dimension::Mixed(column.as_primitive::<UInt32Type>().clone(), texts.clone())
                }
                (DataType::UInt8, _) => Dimension::Byte(column.as_primitive::<UInt8Type>().clone()),
                (DataType::UInt16, _) => Dimension::Short(column.as_primitive::<UInt16Type>().clone()),
                (DataType::UInt32, _) => Dimension::Word(column.as_primitive::<UInt32Type>().clone()),
                _ => Dimension::Plain(column.as_string_opt::<i32>().ok_or_else(|| wrong(name))?.clone()),
            };
            extra.push((name.to_owned(), dimension));
        }
        let accounts = column(batch, ACCOUNT)?.as_primitive_opt::<UInt32Type>().ok_or_else(|| wrong(ACCOUNT))?;
        Ok(Self {
            accounts: accounts.clone(),
            opportunity_ids: plain_texts(OPPORTUNITY_ID, column(batch, OPPORTUNITY_ID)?)?,
            stages: column(batch, TYPE)?.as_primitive_opt::<UInt8Type>().ok_or_else(|| wrong(TYPE))?.clone(),
            dates: column(batch, DATE)?.as_primitive_opt::<Date32Type>().ok_or_else(|| wrong(DATE))?.clone(),
            date_times: times(batch)?,
            event_ids: plain_texts(EVENT_ID, column(batch, EVENT_ID)?)?,
            totals: column(batch, TOTAL)?.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong(TOTAL))?.clone(),
            extra,
        })
    }
}

impl Dimension {
    /// The columns of a batch that hold the dimension of that name.
    fn arrays(&self, name: &str) -> impl Iterator<Item = (String, ArrayRef)> {
        let (codes, texts): (ArrayRef, Option<&StringArray>) = match self {
            Self::Byte(codes) => (Arc::new(codes.clone()), None),
            Self::Short(codes) => (Arc::new(codes.clone()), None),
            Self::Word(codes) => (Arc::new(codes.clone()), None),
            Self::Plain(texts) => (Arc::new(texts.clone()), None),
            Self::Mixed(codes, texts) => (Arc::new(codes.clone()), Some(texts)),
        };
        let texts = texts.map(|texts| (format!("{TEXTS}{name}"), Arc::new(texts.clone()) as ArrayRef));
        std::iter::once((name.to_owned(), codes)).chain(texts)
    }

    pub(super) fn width(&self) -> Width {
        match self {
            Self::Byte(_) => Width::Byte,
            Self::Short(_) => Width::Short,
            Self::Word(_) => Width::Word,
            Self::Plain(_) => Width::Plain,
            Self::Mixed(..) => Width::Mixed,
        }
    }

    /// The code of a row, if it has one.
    pub(super) fn code(&self, row: usize) -> Option<u32> {
        match self {
            Self::Byte(codes) => Some(u32::from(codes.value(row))),
            Self::Short(codes) => Some(u32::from(codes.value(row))),
            Self::Word(codes) => Some(codes.value(row)),
            Self::Plain(texts) => texts.is_null(row).then_some(0),
            Self::Mixed(codes, texts) => texts.is_null(row).then(|| codes.value(row)),
        }
    }

    /// The text of a row that has no code.
    pub(super) fn plain(&self, row: usize) -> &str {
        match self {
            Self::Plain(texts) | Self::Mixed(_, texts) if texts.is_valid(row) => texts.value(row),
            _ => "",
        }
    }
}

impl Width {
    /// What holds the rows of two columns of one dimension.
    pub(super) fn with(self, other: Self) -> Self {
        if self != other && (self == Self::Plain || other == Self::Plain) { Self::Mixed } else { self.max(other) }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Short => 2,
            Self::Word => 4,
            Self::Plain => OFFSET,
            Self::Mixed => 4 + OFFSET,
        }
    }
}

/// Bytes of a row with dimensions of these widths, apart from its texts.
pub(super) fn row_bytes(dimensions: impl Iterator<Item = Width>) -> usize {
    ROW + dimensions.map(Width::bytes).sum::<usize>()
}

/// The columns that not every event table has, by name.
fn extra_arrays(batch: &RecordBatch) -> impl Iterator<Item = (&str, &ArrayRef)> {
    let names = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
    names.zip(batch.columns()).filter(|(name, _)| !is_leading_column(name))
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
