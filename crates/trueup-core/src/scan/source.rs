//! Where stored columns come from, and what decodes them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use trueup_parquet::{ColumnChunk, LiveRows, OUT_OF_RANGE, StoredColumn, Validity};

/// The decoded columns of a row group.
pub(crate) trait TableColumns: Clone + Send + Sync + 'static {
    /// The columns that may be decoded; the default names none.
    type Projection: Default + PartialEq + Send + Sync;

    /// Adds the decoded columns to `projection`.
    fn add_decoded(&self, projection: &mut Self::Projection);

    /// Returns the columns of `projection` that are not decoded.
    fn missing(&self, projection: &Self::Projection) -> Self::Projection;

    /// Returns the names of the stored columns that `projection` is decoded from. If `is_first` is set, no column is
    /// decoded yet, and the columns that every query reads are included.
    fn names(projection: &Self::Projection, is_first: bool) -> Vec<&str>;

    /// Decodes the columns that every query reads, and those of `projection`.
    fn decode(source: &ColumnSource<'_>, projection: &Self::Projection) -> Result<Self, ColumnFault>;

    /// Adds the columns of `projection`, decoded from stored columns of the same rows.
    fn with(self, source: &ColumnSource<'_>, projection: &Self::Projection) -> Result<Self, ColumnFault>;

    /// Leaves out the rows that were superseded after the columns were decoded: all but those of `left`, which are
    /// counted among the decoded rows. The columns stay as they are, and are shared.
    fn leave_out(&self, left: &LiveRows) -> Result<Self, ColumnFault>;

    /// Returns the first and the last day of the rows that are left, in days since 1970-01-01; `None` if none is left.
    fn left_days(&self) -> Option<(u16, u16)>;

    /// Returns the part of the [`bytes`](Self::bytes) that [`leave_out`](Self::leave_out) does not share.
    fn left_bytes(&self) -> usize;

    /// Returns the bytes of memory that the columns take, without small lists of texts, such as the account keys.
    fn bytes(&self) -> usize;
}

/// Stored columns of the same rows.
#[derive(Debug)]
pub(crate) enum ColumnSource<'a> {
    /// Column chunks of a row group, and its rows that are left; `None` if all are.
    Chunks { chunks: Vec<ColumnChunk<'a>>, left: Option<LiveRows> },
    /// A table in memory.
    Batch(&'a RecordBatch),
}

/// A column that does not hold what the layout promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnFault {
    pub(crate) column: String,
    /// What is wrong with the column.
    pub(crate) fault: &'static str,
}

/// What the numbers of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberKind {
    /// The number of a customer in its file, from 0. Rows that are not left have one too.
    Customer,
    /// Days since 1970.
    Day,
    /// Microseconds since 1970 in UTC.
    Time,
    /// Amounts of money in millionths.
    Amount,
    /// Clicks or impressions.
    Count,
}

const MISSING: &str = "the column is missing";
const NO_TEXTS: &str = "expected texts";

impl ColumnFault {
    pub(crate) fn new(column: impl Into<String>, fault: &'static str) -> Self {
        Self { column: column.into(), fault }
    }
}

impl ColumnSource<'_> {
    /// Returns whether the table has a column.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Chunks { chunks, .. } => chunks.iter().any(|chunk| chunk.name() == name),
            Self::Batch(batch) => batch.column_by_name(name).is_some(),
        }
    }

    /// Returns the rows that are left; `None` if all are.
    pub(super) const fn left(&self) -> Option<&LiveRows> {
        match self {
            Self::Chunks { left, .. } => left.as_ref(),
            Self::Batch(_) => None,
        }
    }

    /// Reads the numbers of a column, each through `convert`: those of the rows that are left or, for
    /// [`NumberKind::Customer`], of all rows.
    ///
    /// # Errors
    /// The column is missing, has another type, or does not decode, or a number does not convert.
    pub(super) fn numbers<T>(
        &self,
        name: &str,
        kind: NumberKind,
        convert: impl Fn(i64) -> Result<T, &'static str>,
    ) -> Result<StoredColumn<'_, T>, ColumnFault> {
        let fault = |fault| ColumnFault::new(name, fault);
        match self {
            Self::Chunks { chunks, left } => {
                let chunk = find(chunks, name)?;
                let mut column = kind.check(chunk.data_type()).and_then(|()| chunk.numbers(convert)).map_err(fault)?;
                column.rows.only(left.as_ref().filter(|_| kind != NumberKind::Customer));
                Ok(column)
            }
            Self::Batch(batch) => {
                let column = column(batch, name)?;
                kind.check(column.data_type()).and_then(|()| kind.numbers(column, convert)).map_err(fault)
            }
        }
    }

    /// Reads the texts of a column, of the rows that are left.
    ///
    /// # Errors
    /// The column is missing, has another type, or does not decode.
    pub(super) fn texts(&self, name: &str) -> Result<StoredColumn<'_, &str>, ColumnFault> {
        let fault = |fault| ColumnFault::new(name, fault);
        match self {
            Self::Chunks { chunks, left } => {
                let chunk = find(chunks, name)?;
                if !chunk.has_texts() {
                    return Err(fault(NO_TEXTS));
                }
                let mut column = chunk.texts().map_err(fault)?;
                column.rows.only(left.as_ref());
                Ok(column)
            }
            Self::Batch(batch) => {
                let column = column(batch, name)?;
                let texts = column.as_string_opt::<i32>().ok_or_else(|| fault(NO_TEXTS))?;
                Ok(StoredColumn::in_row_order(texts.iter().flatten().collect(), validity(column)))
            }
        }
    }
}

fn find<'s, 'a>(chunks: &'s [ColumnChunk<'a>], name: &str) -> Result<&'s ColumnChunk<'a>, ColumnFault> {
    chunks.iter().find(|chunk| chunk.name() == name).ok_or_else(|| ColumnFault::new(name, MISSING))
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, ColumnFault> {
    batch.column_by_name(name).ok_or_else(|| ColumnFault::new(name, MISSING))
}

impl NumberKind {
    /// Checks that a column has the type of the kind.
    fn check(self, data_type: &DataType) -> Result<(), &'static str> {
        match (self, data_type) {
            (Self::Customer, DataType::Int32)
            | (Self::Day, DataType::Date32)
            | (Self::Time, DataType::Timestamp(TimeUnit::Microsecond, _))
            | (Self::Amount, DataType::Decimal128(_, 6))
            | (Self::Count, DataType::Int64) => Ok(()),
            (Self::Amount, DataType::Decimal128(..)) => Err("amounts are not in millionths"),
            (Self::Count, _) => Err("expected whole numbers"),
            _ => Err("the type is not that of the layout"),
        }
    }

    /// Reads the numbers of a column of this kind.
    fn numbers<T>(
        self,
        column: &ArrayRef,
        convert: impl Fn(i64) -> Result<T, &'static str>,
    ) -> Result<StoredColumn<'static, T>, &'static str> {
        let numbers = match self {
            Self::Customer => numbers::<Int32Type, T>(column, convert),
            Self::Day => numbers::<Date32Type, T>(column, convert),
            Self::Time => numbers::<TimestampMicrosecondType, T>(column, convert),
            Self::Count => numbers::<Int64Type, T>(column, convert),
            Self::Amount => numbers::<Decimal128Type, T>(column, convert),
        };
        Ok(StoredColumn::in_row_order(numbers?, validity(column)))
    }
}

fn numbers<A: ArrowPrimitiveType, T>(
    column: &ArrayRef,
    convert: impl Fn(i64) -> Result<T, &'static str>,
) -> Result<Vec<T>, &'static str>
where
    i64: TryFrom<A::Native>,
{
    let numbers = column.as_primitive::<A>().iter().flatten();
    numbers.map(|number| i64::try_from(number).map_err(|_| OUT_OF_RANGE).and_then(&convert)).collect()
}

fn validity(column: &ArrayRef) -> Validity {
    match column.null_count() {
        0 => Validity::All(column.len()),
        _ => Validity::Some((0..column.len()).map(|row| column.is_valid(row)).collect()),
    }
}
