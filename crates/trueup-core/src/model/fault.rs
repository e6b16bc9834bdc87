//! What is wrong with a table, a row, or a value.

use crate::Shown;
use arrow_schema::{ArrowError, DataType};
use chrono::NaiveDate;
use std::collections::BTreeMap;
use std::fmt;

/// A row that breaks a rule, and the value that does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellFault {
    /// The row in the batch that was given, from 0.
    pub row: usize,
    /// The column of the value.
    pub column: String,
    /// The value as text, as [`Shown`] shows it; empty for a null.
    pub value: String,
    /// The rule.
    pub reason: Reason,
}

impl fmt::Display for CellFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, value, reason, .. } = self;
        let column = Shown(column);
        if value.is_empty() {
            write!(f, "column `{column}`: {reason}, but found nothing")
        } else {
            write!(f, "column `{column}`: {reason}, but found `{value}`")
        }
    }
}

impl std::error::Error for CellFault {}

/// The rule that a value breaks, as what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// An `account` or `opportunityId` is null or empty.
    #[error("expected a value")]
    Empty,
    /// The account key cannot be told apart in a list or a path.
    #[error("expected an account key without `,` and `/`")]
    AccountKey,
    /// The `type` is no stage.
    #[error("expected a stage (`lead-originated`, `booked`, `estimated`, `sold`, `closed` or `canceled`)")]
    Stage,
    /// The `date` is no day that trueup can hold.
    #[error("expected a date as YYYY-MM-DD from 1970-01-01 to 2149-06-06")]
    Date,
    /// The `date` has a time of day.
    #[error("expected a date without a time of day")]
    TimeOfDay,
    /// The `dateTime` is no point in time.
    #[error("expected a point in time as RFC 3339, such as `2025-01-31T09:30:00Z`")]
    DateTime,
    /// The calendar date of `dateTime` is no day that trueup can hold.
    #[error("expected a point in time from 1970-01-01 to 2149-06-06 in the account's time zone")]
    DateTimeRange,
    /// The row has neither a `date` nor a `dateTime`.
    #[error("expected a date or a dateTime")]
    NoDate,
    /// `date` and `dateTime` contradict each other.
    #[error("expected a date at most a day from the dateTime, which falls on {local} in the time zone `{zone}`")]
    Apart {
        /// The calendar date of `dateTime` in the account's time zone.
        local: NaiveDate,
        /// The account's time zone.
        zone: &'static str,
    },
    /// The amount is no plain decimal number.
    #[error("expected an amount as a plain decimal number, such as `1234.5`")]
    Amount,
    /// The amount is too large.
    #[error("expected an amount from -9000000000000 to 9000000000000")]
    AmountRange,
    /// The count is no whole number, negative, or too large.
    #[error("expected a whole number from 0 to 9223372036854775807")]
    Count,
    /// The `timeZone` is unknown.
    #[error("expected an IANA time zone, such as `America/New_York`")]
    TimeZone,
    /// The boolean is neither `true` nor `false`.
    #[error("expected `true` or `false`")]
    Boolean,
    /// The account was there before.
    #[error("expected each account once")]
    DuplicateAccount,
    /// A date or a timestamp lies beyond the calendar.
    #[error("expected a date of the calendar")]
    Calendar,
}

/// Columns that no row could make right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// A required column is absent.
    #[error("expected a column `{column}`, but found {}", ColumnList(.found))]
    MissingColumn {
        /// The column.
        column: &'static str,
        /// The columns that there are.
        found: Vec<String>,
    },
    /// Events have neither a `date` nor a `dateTime`.
    #[error("expected a column `date` or `dateTime`, but found {}", ColumnList(.found))]
    NoDate {
        /// The columns that there are.
        found: Vec<String>,
    },
    /// Two columns have one name.
    #[error("expected each column name once, but found `{}` again", Shown(.column))]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// A column's name differs from a known one in letter case alone.
    #[error("expected the column `{meant}` in this very spelling, but found `{}`", Shown(.column))]
    LetterCase {
        /// The name given.
        column: String,
        /// The name that must be meant.
        meant: &'static str,
    },
    /// A table of spend has nothing that could be summed.
    #[error(
        "expected a column `adSpend`, `managementFee`, `clicks` or `impressions`, but found {}", ColumnList(.found)
    )]
    NoSpend {
        /// The columns that there are.
        found: Vec<String>,
    },
    /// A column holds lists, structs or maps.
    #[error("expected single values in column `{}`, but found nested ones ({data_type})", Shown(.column))]
    Nested {
        /// The column.
        column: String,
        /// Its type.
        data_type: DataType,
    },
    /// A column's type cannot be read as what the column means.
    #[error("expected {expected} in column `{}`, but found {data_type}", Shown(.column))]
    WrongType {
        /// The column.
        column: String,
        /// What the column may hold.
        expected: &'static str,
        /// Its type.
        data_type: DataType,
    },
}

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableFault {
    /// Its columns are wrong.
    #[error(transparent)]
    Schema(#[from] SchemaFault),
    /// A row is wrong.
    #[error("row {}, {_0}", .0.row)]
    Row(#[from] CellFault),
    /// It could not be held or computed with.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// Returns the error of a batch with more rows than a `u32` can number.
pub(super) fn too_many_rows(rows: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("expected at most {} rows in a batch, but found {rows}", u32::MAX))
}

struct ColumnList<'a>(&'a [String]);

impl fmt::Display for ColumnList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// A table may have thousands.
        const LISTED: usize = 50;
        if self.0.is_empty() {
            return f.write_str("no column");
        }
        for (at, name) in self.0.iter().take(LISTED).enumerate() {
            write!(f, "{}`{}`", if at == 0 { "" } else { ", " }, Shown(name))?;
        }
        match self.0.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The faults of one batch: for each row the first that was met.
#[derive(Debug, Default)]
pub(super) struct RowFaults(BTreeMap<usize, CellFault>);

impl RowFaults {
    pub(super) fn add(&mut self, row: usize, column: &str, value: &str, reason: Reason) {
        self.0.entry(row).or_insert_with(|| CellFault {
            row,
            column: column.to_owned(),
            value: Shown(value).to_string(),
            reason,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, row: usize) -> bool {
        !self.0.is_empty() && self.0.contains_key(&row)
    }

    /// By row.
    pub(super) fn into_faults(self) -> Vec<CellFault> {
        self.0.into_values().collect()
    }
}
