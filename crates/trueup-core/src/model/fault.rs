//! Faults of a table, of a row, and of a value.

use crate::Shown;
use crate::text::quoted;
use arrow_schema::{ArrowError, DataType};
use chrono::NaiveDate;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A bad value, with its row and column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellFault {
    /// The row in the given batch, from 0.
    pub row: usize,
    /// The name of the column.
    pub column: String,
    /// The value as text, shortened by [`Shown`]; empty for null.
    pub value: String,
    /// The reason why the value is bad.
    pub reason: Reason,
}

impl CellFault {
    /// Returns what was found, as the rest of the sentence that [`Reason::rule`] begins.
    #[must_use]
    pub fn found(&self) -> String {
        let found = match self.value.as_str() {
            "" => ", but found nothing".to_owned(),
            value => format!(", but found `{value}`"),
        };
        match &self.reason {
            Reason::Apart { local, zone } => format!(", which falls on {local} in the time zone `{zone}`{found}"),
            Reason::SharedId { event, .. } => format!("{found} on {event}"),
            _ => found,
        }
    }
}

impl fmt::Display for CellFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column `{}`: {}{}", Shown(&self.column), self.reason.rule(), self.found())
    }
}

impl std::error::Error for CellFault {}

/// The reason why a value is bad. Its message states what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// An `account` or `opportunityId` is null or empty.
    #[error("expected a value")]
    Empty,
    /// The account key contains a character that separates keys in a list or a path.
    #[error("expected an account key without `,` and `/`")]
    AccountKey,
    /// The `type` is not a stage.
    #[error("expected a stage (`lead-originated`, `booked`, `estimated`, `sold`, `closed` or `canceled`)")]
    Stage,
    /// The `date` is not a [`Day`](crate::Day).
    #[error("expected a date as YYYY-MM-DD from 1970-01-01 to 2149-06-06")]
    Date,
    /// The `date` has a time of day with an offset, so that its day depends on a time zone.
    #[error("expected a date, or a time without an offset; a point in time belongs in the column `dateTime`")]
    TimeOfDay,
    /// The `dateTime` is not a point in time.
    #[error("expected a point in time as ISO 8601, such as `2025-01-31T09:30:00Z`")]
    DateTime,
    /// The `dateTime` has no offset, and nothing says what time zone it is in.
    #[error(
        "expected a point in time with an offset, such as `2025-01-31T09:30:00-05:00`, or one of `--time-zone account` (the \
         time zone of each account), `--time-zone UTC` and `--time-zone America/New_York` (or any other)"
    )]
    NoOffset,
    /// Clocks of the time zone skip the `dateTime`.
    #[error("expected a time that exists in the time zone `{zone}`, where clocks skip this one")]
    SkippedTime {
        /// The time zone.
        zone: &'static str,
    },
    /// The calendar date of `dateTime` in the account's time zone is not a [`Day`](crate::Day), or a timestamp is too
    /// far away for its number of microseconds to fit into 64 bits.
    #[error("expected a point in time from 1970-01-01 to 2149-06-06 in the account's time zone")]
    DateTimeRange,
    /// The row has neither a `date` nor a `dateTime`.
    #[error("expected a date or a dateTime")]
    NoDate,
    /// `date` and `dateTime` are more than a day apart.
    #[error("{}, which falls on {local} in the time zone `{zone}`", APART)]
    Apart {
        /// The calendar date of `dateTime` in the account's time zone.
        local: NaiveDate,
        /// The account's time zone.
        zone: &'static str,
    },
    /// The amount is not a plain decimal number.
    #[error("expected an amount as a plain decimal number, such as `1234.5`")]
    Amount,
    /// The amount is too large.
    #[error("expected an amount from -9000000000000 to 9000000000000")]
    AmountRange,
    /// The count is not an integer, or is negative or too large.
    #[error("expected a whole number from 0 to 9223372036854775807")]
    Count,
    /// The `timeZone` is unknown.
    #[error("expected an IANA time zone, such as `America/New_York`")]
    TimeZone,
    /// The boolean is neither `true` nor `false`.
    #[error("expected `true` or `false`")]
    Boolean,
    /// The currency has not the form of a code of ISO 4217.
    #[error("{}", super::currency::ParseCurrencyError)]
    Currency,
    /// The month is neither `YYYY-MM` nor its first day.
    #[error("expected a month as YYYY-MM from 1970-01 to 2149-06")]
    Month,
    /// The metric is none of the dictionary, and none that the dataset defines.
    #[error("expected the name of a metric of the dictionary or of the dataset's definitions, such as `spend`")]
    Metric,
    /// The account occurred before.
    #[error("expected each account once")]
    DuplicateAccount,
    /// The `eventId` is that of several events of one ingest, which differ in `type` or `opportunityId`.
    #[error(
        "expected an `eventId` of one event alone, because rows with the same one replace each other; make it of several \
         columns, such as the record and its stage"
    )]
    SharedId {
        /// The number of the id among all such ids of the ingest.
        id: usize,
        /// The row's event, for the message.
        event: String,
    },
    /// A date or a timestamp is more than 260,000 years away, where the calendar ends.
    #[error("expected a date at most 260,000 years from 1970")]
    Calendar,
}

const APART: &str = "expected a date at most a day from the dateTime";

impl Reason {
    /// Returns the rule, in the same words for every value that breaks it.
    #[must_use]
    pub fn rule(&self) -> Cow<'static, str> {
        match self {
            Self::Apart { .. } => APART.into(),
            other => other.to_string().into(),
        }
    }
}

/// A fault of a table's columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// Required columns are absent.
    #[error("expected {}, but found {}", MissingList(.columns), column_list(.found))]
    MissingColumns {
        /// The columns, each as the names that it may have.
        columns: Vec<&'static [&'static str]>,
        /// The columns of the table.
        found: Vec<String>,
    },
    /// Two columns have the same name.
    #[error("expected each column name once, but found `{}` again", Shown(.column))]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// A column's name begins with [`OWN_PREFIX`](super::OWN_PREFIX), but trueup does not write a column of that name.
    #[error("expected no column whose name begins with `trueup.`, but found `{}`; rename it, or leave it out", Shown(.column))]
    OwnPrefix {
        /// The name given.
        column: String,
    },
    /// A column's name differs from a known one only in letter case, in blanks at its ends, or in invisible characters.
    #[error("expected the column `{meant}` in this very spelling, but found `{}`", .column.escape_debug())]
    OtherSpelling {
        /// The name given.
        column: String,
        /// The known name.
        meant: &'static str,
    },
    /// A table of spend has neither amounts nor counts.
    #[error(
        "expected a column `adSpend`, `managementFee`, `clicks` or `impressions`, but found {}", column_list(.found)
    )]
    NoSpend {
        /// The columns of the table.
        found: Vec<String>,
    },
    /// A table of accounts has the columns of spend, and none that describes an account.
    #[error("expected accounts, but found spend, with the columns {}; give the file as `--spend`", column_list(.found))]
    SpendAsAccounts {
        /// The columns of the table.
        found: Vec<String>,
    },
    /// A table of events has the columns of spend, and neither customers nor stages.
    #[error("expected events, but found spend, with the columns {}; give the file as `--spend`", column_list(.found))]
    SpendAsEvents {
        /// The columns of the table.
        found: Vec<String>,
    },
    /// A table of spend has the columns of events, and neither amounts nor counts of spend.
    #[error(
        "expected spend, but found events, with the columns {}; give the file without `--spend`", column_list(.found)
    )]
    EventsAsSpend {
        /// The columns of the table.
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
    /// A column cannot be read from its type.
    #[error("expected {expected} in column `{}`, but found {data_type}", Shown(.column))]
    WrongType {
        /// The column.
        column: String,
        /// The values that the column may have.
        expected: &'static str,
        /// Its type.
        data_type: DataType,
    },
}

/// The reason why a table cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableFault {
    /// A column is wrong.
    #[error(transparent)]
    Schema(#[from] SchemaFault),
    /// A row is wrong.
    #[error("row {}, {_0}", .0.row)]
    Row(#[from] CellFault),
    /// Arrow cannot represent the table, or cannot compute with it.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// Returns the error of a batch with more rows than a `u32` can number.
pub(super) fn too_many_rows(rows: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("expected at most {} rows in a batch, but found {rows}", u32::MAX))
}

/// Returns the names of columns for a message.
fn column_list(columns: &[String]) -> String {
    /// A limit, because a table may have thousands of columns.
    const LISTED: usize = 50;

    if columns.is_empty() {
        return "no column".to_owned();
    }
    let listed = quoted(columns.iter().take(LISTED));
    match columns.len().saturating_sub(LISTED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// A list of missing columns for a message.
struct MissingList<'a>(&'a [&'static [&'static str]]);

impl fmt::Display for MissingList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "a column " } else { "the columns " })?;
        for (at, column) in self.0.iter().enumerate() {
            let before = match at {
                0 => "",
                _ if at + 1 == self.0.len() => " and ",
                _ => ", ",
            };
            write!(f, "{before}`{}`", column.join("` or `"))?;
        }
        Ok(())
    }
}

/// The faults of one batch. A row has at most one, the first one found.
#[derive(Debug, Default)]
pub(super) struct CellFaults(BTreeMap<usize, CellFault>);

impl CellFaults {
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

    /// Returns the faults by row.
    pub(super) fn into_faults(self) -> Vec<CellFault> {
        self.0.into_values().collect()
    }
}
