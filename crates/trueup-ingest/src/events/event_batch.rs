//! The one form that events have in memory, from the step that encodes them to the step that writes them: columns,
//! whose texts are codes where they recur. This file also knows its size in memory, and its form in a spill file.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Int64Array, PrimitiveArray, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt8Array, UInt16Array, UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::filter::FilterBuilder;
use arrow_select::take::take;
use hashbrown::HashSet;
use std::ops::Range;
use std::sync::Arc;
use trueup_core::model::{
    ACCOUNT, DATE, DATE_SOURCE_COLUMN, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, OWN_PREFIX, RECORD_COLUMN, TOTAL, TYPE,
    is_leading_column,
};

/// Digits of a total that Parquet stores in 64 bits.
pub(super) const NARROW_TOTAL_DIGITS: u8 = 18;

/// The largest total, in millionths, of [`NARROW_TOTAL_DIGITS`] digits.
const MAX_NARROW_TOTAL: u64 = 999_999_999_999_999_999;

/// Bytes that store where a text ends.
const OFFSET_BYTES: usize = 4;

/// Bytes of a row without its dimensions and texts: the codes of account and stage, date, time, total, and the ends of
/// its two ids.
const FIXED_ROW_BYTES: usize = 25 + 2 * OFFSET_BYTES;

/// Bytes that a dimension takes in a batch apart from its values: its name, its arrays, and the padding of its buffers.
const DIMENSION_OVERHEAD_BYTES: usize = 512;

/// The prefix of the column that holds the texts of a mixed dimension in a record batch.
const TEXTS_PREFIX: &str = "trueup.texts.";

/// Rows of events, column by column. A code, except that of a stage, is the number of a text in a dictionary of the
/// ingest, where 0 means null.
///
/// [`encode`](super::encode) makes a batch, and the later steps take, filter, slice and concatenate it as it is. Only a
/// spill file holds its rows in another form, as a [record batch](Self::to_record_batch).
#[derive(Clone, Debug)]
pub(super) struct EventBatch {
    /// Codes of the account keys; never null.
    pub(super) accounts: UInt32Array,
    /// Never null.
    pub(super) opportunity_ids: StringArray,
    /// Codes of [stages](trueup_core::model::Stage::code); never null.
    pub(super) stages: UInt8Array,
    /// Never null.
    pub(super) dates: Date32Array,
    /// In UTC; null if an event has a date alone.
    pub(super) date_times: TimestampMicrosecondArray,
    /// Null if an event has none.
    pub(super) event_ids: StringArray,
    /// In millionths of a currency unit; null if an event has no amount.
    pub(super) totals: Int64Array,
    /// The dimensions, sorted by name.
    pub(super) dimensions: Vec<(String, DimensionColumn)>,
}

/// The values of a dimension: codes in as few bits as the largest one needs, or texts, where they hardly recur or the
/// dictionary is full. Where a row has no value, its text is null, or its code is 0; codes are never null.
#[derive(Clone, Debug)]
pub(super) enum DimensionColumn {
    Codes8(UInt8Array),
    Codes16(UInt16Array),
    Codes32(UInt32Array),
    Strings(StringArray),
    /// Codes, and the texts of the rows without a code: the result when batches of both kinds are concatenated. A row
    /// with a code has a null text; the code of a row with a text means nothing.
    Mixed(UInt32Array, StringArray),
}

/// The variant of a [`DimensionColumn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DimensionKind {
    Codes8,
    Codes16,
    Codes32,
    Strings,
    Mixed,
}

impl EventBatch {
    /// Returns the number of rows that nothing identifies: neither an event id nor a record.
    pub(super) fn events_without_id(&self) -> u64 {
        let Some(records) = self.dimension(RECORD_COLUMN) else { return self.event_ids.null_count() as u64 };
        let has_record = |row| records.code(row) != Some(0);
        (0..self.len()).filter(|row| self.event_ids.is_null(*row) && !has_record(*row)).count() as u64
    }

    pub(super) fn len(&self) -> usize {
        self.accounts.len()
    }

    /// Returns a dimension, or `None` if the batch does not have it.
    pub(super) fn dimension(&self, name: &str) -> Option<&DimensionColumn> {
        let at = self.dimensions.binary_search_by(|(dimension, _)| dimension.as_str().cmp(name)).ok()?;
        Some(&self.dimensions[at].1)
    }

    /// Returns the account's code and the number of rows of each run of consecutive rows with the same account.
    pub(super) fn account_runs(&self) -> impl Iterator<Item = (u32, u32)> {
        let runs = self.accounts.values().chunk_by(|one, other| one == other);
        runs.map(|run| (run[0], u32::try_from(run.len()).unwrap_or(u32::MAX)))
    }

    /// Moves the rows of each account next to each other, in their order. The later steps work account by account.
    pub(super) fn grouped_by_account(self) -> Result<Self, ArrowError> {
        let mut seen = HashSet::new();
        if self.account_runs().all(|(account, _)| seen.insert(account)) {
            return Ok(self);
        }
        let accounts = self.accounts.values();
        let largest = accounts.iter().max().map_or(0, |account| *account as usize);
        let mut next = vec![0_u32; largest + 2];
        for account in accounts {
            next[*account as usize + 1] += 1;
        }
        for account in 1..next.len() {
            next[account] += next[account - 1];
        }
        let mut rows = vec![0_u32; accounts.len()];
        for (row, account) in (0..).zip(accounts) {
            let position = &mut next[*account as usize];
            rows[*position as usize] = row;
            *position += 1;
        }
        self.take(rows)
    }

    /// Returns the rows with these numbers, in the given order.
    pub(super) fn take(&self, rows: Vec<u32>) -> Result<Self, ArrowError> {
        let rows = UInt32Array::from(rows);
        self.map(|column| take(column, &rows, None))
    }

    /// Returns the rows for which `kept` is true.
    pub(super) fn filter(&self, kept: BooleanArray) -> Result<Self, ArrowError> {
        let filter = FilterBuilder::new(&kept).optimize().build();
        self.map(|column| filter.filter(column))
    }

    /// Returns some consecutive rows, which share the memory of this batch.
    pub(super) fn slice(&self, rows: Range<usize>) -> Result<Self, ArrowError> {
        self.map(|column| Ok(column.slice(rows.start, rows.len())))
    }

    /// Applies an operation that keeps the type of an array to every column.
    fn map(&self, operation: impl Fn(&dyn Array) -> Result<ArrayRef, ArrowError>) -> Result<Self, ArrowError> {
        let dimension = |(name, column): &(String, DimensionColumn)| Ok((name.clone(), column.map(&operation)?));
        Ok(Self {
            accounts: operation(&self.accounts)?.as_primitive().clone(),
            opportunity_ids: operation(&self.opportunity_ids)?.as_string().clone(),
            stages: operation(&self.stages)?.as_primitive().clone(),
            dates: operation(&self.dates)?.as_primitive().clone(),
            date_times: operation(&self.date_times)?.as_primitive().clone(),
            event_ids: operation(&self.event_ids)?.as_string().clone(),
            totals: operation(&self.totals)?.as_primitive().clone(),
            dimensions: self.dimensions.iter().map(dimension).collect::<Result<_, ArrowError>>()?,
        })
    }

    /// Returns whether Parquet can store every total in 64 bits.
    pub(super) fn has_narrow_totals(&self) -> bool {
        self.totals.iter().flatten().all(|total| total.unsigned_abs() <= MAX_NARROW_TOTAL)
    }
}

/// Sizes in memory.
impl EventBatch {
    /// Returns the bytes of memory that the batch takes, approximately.
    pub(super) fn bytes(&self) -> usize {
        self.len() * self.row_bytes()
            + self.text_bytes(0..self.len())
            + self.dimensions.len() * DIMENSION_OVERHEAD_BYTES
    }

    /// Returns the bytes of a row without its texts.
    pub(super) fn row_bytes(&self) -> usize {
        row_bytes(self.dimensions.iter().map(|(_, column)| column.kind()))
    }

    /// Returns the bytes of the texts of some consecutive rows.
    pub(super) fn text_bytes(&self, rows: Range<usize>) -> usize {
        self.text_columns().map(|texts| text_bytes(texts, rows.clone())).sum()
    }

    /// Returns the bytes of the largest text column.
    pub(super) fn largest_text_column(&self) -> usize {
        self.text_columns().map(|texts| text_bytes(texts, 0..texts.len())).max().unwrap_or(0)
    }

    /// Returns a function that returns the bytes of memory that the rows with some numbers take, approximately. Looking
    /// the columns up once is much faster than for each customer.
    pub(super) fn bytes_of_rows(&self) -> impl Fn(&[u32]) -> usize {
        let row_bytes = self.row_bytes();
        let text_ends: Vec<&[i32]> = self.text_columns().map(|texts| texts.value_offsets()).collect();
        move |rows| {
            let text_bytes = |ends: &&[i32], row: usize| i64::from(ends[row + 1] - ends[row]);
            let of_column = |ends| rows.iter().map(|row| text_bytes(ends, *row as usize)).sum::<i64>();
            rows.len() * row_bytes + usize::try_from(text_ends.iter().map(of_column).sum::<i64>()).unwrap_or(0)
        }
    }

    /// Returns the bytes of all buffers. A buffer that other batches share counts in full.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.columns().map(|(_, column)| column.get_array_memory_size()).sum()
    }

    /// Returns the columns that hold texts, not codes.
    fn text_columns(&self) -> impl Iterator<Item = &StringArray> {
        let dimensions = self.dimensions.iter().filter_map(|(_, column)| match column {
            DimensionColumn::Strings(texts) | DimensionColumn::Mixed(_, texts) => Some(texts),
            _ => None,
        });
        [&self.opportunity_ids, &self.event_ids].into_iter().chain(dimensions)
    }
}

/// The form on disk.
impl EventBatch {
    /// Returns the rows as a record batch, which a spill file can hold.
    pub(super) fn to_record_batch(&self) -> Result<RecordBatch, ArrowError> {
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
            self.columns().map(|(name, column)| (Field::new(name, column.data_type().clone(), true), column)).unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }

    /// Returns the columns of the record batch, each with its name.
    fn columns(&self) -> impl Iterator<Item = (String, ArrayRef)> {
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
        leading.chain(self.dimensions.iter().flat_map(|(name, column)| column.arrays(name)))
    }

    /// Reads what [`to_record_batch`](Self::to_record_batch) has made. Leaves out columns that another step has added
    /// for the ingest's own use.
    pub(super) fn of_record_batch(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let mut arrays = dimension_arrays(batch).peekable();
        let mut dimensions = Vec::with_capacity(batch.num_columns());
        while let Some((name, column)) = arrays.next() {
            if name.starts_with(OWN_PREFIX) && ![DATE_SOURCE_COLUMN, RECORD_COLUMN].contains(&name) {
                continue;
            }
            // The texts of a mixed dimension follow its codes.
            let texts = arrays.next_if(|(texts, _)| texts.strip_prefix(TEXTS_PREFIX) == Some(name));
            let dimension = match (column.data_type(), texts) {
                (DataType::UInt32, Some((_, texts))) => {
                    let texts = texts.as_string_opt::<i32>().ok_or_else(|| unsound_column(name))?;
                    DimensionColumn::Mixed(column.as_primitive::<UInt32Type>().clone(), texts.clone())
                }
                (DataType::UInt8, _) => DimensionColumn::Codes8(column.as_primitive::<UInt8Type>().clone()),
                (DataType::UInt16, _) => DimensionColumn::Codes16(column.as_primitive::<UInt16Type>().clone()),
                (DataType::UInt32, _) => DimensionColumn::Codes32(column.as_primitive::<UInt32Type>().clone()),
                _ => {
                    DimensionColumn::Strings(column.as_string_opt::<i32>().ok_or_else(|| unsound_column(name))?.clone())
                }
            };
            dimensions.push((name.to_owned(), dimension));
        }
        Ok(Self {
            accounts: primitive_column(batch, ACCOUNT)?,
            opportunity_ids: text_column(batch, OPPORTUNITY_ID)?,
            stages: primitive_column(batch, TYPE)?,
            dates: primitive_column(batch, DATE)?,
            date_times: primitive_column(batch, DATE_TIME)?,
            event_ids: text_column(batch, EVENT_ID)?,
            totals: primitive_column(batch, TOTAL)?,
            dimensions,
        })
    }
}

impl DimensionColumn {
    pub(super) fn kind(&self) -> DimensionKind {
        match self {
            Self::Codes8(_) => DimensionKind::Codes8,
            Self::Codes16(_) => DimensionKind::Codes16,
            Self::Codes32(_) => DimensionKind::Codes32,
            Self::Strings(_) => DimensionKind::Strings,
            Self::Mixed(..) => DimensionKind::Mixed,
        }
    }

    /// Returns the code of a row, or `None` if the row has a text.
    pub(super) fn code(&self, row: usize) -> Option<u32> {
        match self {
            Self::Codes8(codes) => Some(u32::from(codes.value(row))),
            Self::Codes16(codes) => Some(u32::from(codes.value(row))),
            Self::Codes32(codes) => Some(codes.value(row)),
            Self::Strings(texts) => texts.is_null(row).then_some(0),
            Self::Mixed(codes, texts) => texts.is_null(row).then(|| codes.value(row)),
        }
    }

    /// Returns the value of a row, given the texts of the codes; empty for null.
    pub(super) fn value<'a>(&'a self, texts: &'a [Box<str>], row: usize) -> &'a str {
        match self.code(row) {
            Some(code) => texts.get(code as usize).map_or("", AsRef::as_ref),
            None => self.text(row),
        }
    }

    /// Returns the text of a row; empty if the row has a code.
    pub(super) fn text(&self, row: usize) -> &str {
        match self {
            Self::Strings(texts) | Self::Mixed(_, texts) if texts.is_valid(row) => texts.value(row),
            _ => "",
        }
    }

    /// Returns the one or two columns of a record batch that hold this dimension, whose name is `name`.
    fn arrays(&self, name: &str) -> impl Iterator<Item = (String, ArrayRef)> {
        let (values, texts): (ArrayRef, Option<&StringArray>) = match self {
            Self::Codes8(codes) => (Arc::new(codes.clone()), None),
            Self::Codes16(codes) => (Arc::new(codes.clone()), None),
            Self::Codes32(codes) => (Arc::new(codes.clone()), None),
            Self::Strings(texts) => (Arc::new(texts.clone()), None),
            Self::Mixed(codes, texts) => (Arc::new(codes.clone()), Some(texts)),
        };
        let texts = texts.map(|texts| (format!("{TEXTS_PREFIX}{name}"), Arc::new(texts.clone()) as ArrayRef));
        std::iter::once((name.to_owned(), values)).chain(texts)
    }

    fn map(&self, operation: impl Fn(&dyn Array) -> Result<ArrayRef, ArrowError>) -> Result<Self, ArrowError> {
        Ok(match self {
            Self::Codes8(codes) => Self::Codes8(operation(codes)?.as_primitive().clone()),
            Self::Codes16(codes) => Self::Codes16(operation(codes)?.as_primitive().clone()),
            Self::Codes32(codes) => Self::Codes32(operation(codes)?.as_primitive().clone()),
            Self::Strings(texts) => Self::Strings(operation(texts)?.as_string().clone()),
            Self::Mixed(codes, texts) => {
                Self::Mixed(operation(codes)?.as_primitive().clone(), operation(texts)?.as_string().clone())
            }
        })
    }
}

impl DimensionKind {
    /// Returns the narrowest kind that can hold the rows of a column of this kind and of one of the other kind.
    pub(super) fn unify(self, other: Self) -> Self {
        if self != other && (self == Self::Strings || other == Self::Strings) { Self::Mixed } else { self.max(other) }
    }

    /// Returns the bytes of a row, without its text.
    fn bytes(self) -> usize {
        match self {
            Self::Codes8 => 1,
            Self::Codes16 => 2,
            Self::Codes32 => 4,
            Self::Strings => OFFSET_BYTES,
            Self::Mixed => 4 + OFFSET_BYTES,
        }
    }
}

/// Returns the bytes of a row with dimensions of these kinds, without its texts.
pub(super) fn row_bytes(dimensions: impl Iterator<Item = DimensionKind>) -> usize {
    FIXED_ROW_BYTES + dimensions.map(DimensionKind::bytes).sum::<usize>()
}

/// Returns the bytes of the texts of some consecutive rows.
pub(super) fn text_bytes(texts: &StringArray, rows: Range<usize>) -> usize {
    let offsets = texts.value_offsets();
    usize::try_from(offsets[rows.end] - offsets[rows.start]).unwrap_or(0)
}

/// Returns the columns of a record batch that are not leading columns, by name: the dimensions and, in a spill file,
/// the ingest's own columns.
pub(super) fn dimension_arrays(batch: &RecordBatch) -> impl Iterator<Item = (&str, &ArrayRef)> {
    let names = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
    names.zip(batch.columns()).filter(|(name, _)| !is_leading_column(name))
}

/// Returns a column of a record batch of events.
pub(super) fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, ArrowError> {
    batch.column_by_name(name).ok_or_else(|| unsound_column(name))
}

/// Returns a column of numbers of a record batch of events.
pub(super) fn primitive_column<T: ArrowPrimitiveType>(
    batch: &RecordBatch,
    name: &str,
) -> Result<PrimitiveArray<T>, ArrowError> {
    column(batch, name)?.as_primitive_opt::<T>().cloned().ok_or_else(|| unsound_column(name))
}

/// Returns a column of texts of a record batch of events.
pub(super) fn text_column(batch: &RecordBatch, name: &str) -> Result<StringArray, ArrowError> {
    column(batch, name)?.as_string_opt::<i32>().cloned().ok_or_else(|| unsound_column(name))
}

/// Returns the error of stored or spilled events that lack a column, or have it with another type.
pub(super) fn unsound_column(name: &str) -> ArrowError {
    ArrowError::SchemaError(format!("stored events have no sound column `{name}`"))
}
