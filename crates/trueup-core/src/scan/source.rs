//! Where the columns of a part come from.

use super::{ColumnFault, StoredColumn};
use arrow_schema::{DataType, TimeUnit};

/// Columns of the same rows.
pub(crate) trait ColumnSource {
    /// Whether there is a column of that name.
    fn has(&self, name: &str) -> bool;

    /// What `convert` makes of the numbers of a column.
    ///
    /// # Errors
    /// There is no such column, it is not of that kind, it does not decode, or a number does not convert.
    fn numbers<T>(
        &self,
        name: &str,
        kind: Kind,
        convert: impl Fn(i64) -> Result<T, &'static str>,
    ) -> Result<StoredColumn<'_, T>, ColumnFault>;

    /// The texts of a column.
    ///
    /// # Errors
    /// There is no such column, it has no texts, or it does not decode.
    fn texts(&self, name: &str) -> Result<StoredColumn<'_, &str>, ColumnFault>;
}

/// What the numbers of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A customer's number.
    Customer,
    /// Days since 1970.
    Day,
    /// Microseconds since 1970 in UTC.
    Time,
    /// Millionths.
    Amount,
    Count,
}

pub(super) const MISSING: &str = "the column is missing";
pub(super) const NO_TEXTS: &str = "expected a dictionary of texts";

impl Kind {
    /// What is wrong with the type of a column, if anything is.
    pub(super) fn check(self, data_type: &DataType) -> Result<(), &'static str> {
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
}
