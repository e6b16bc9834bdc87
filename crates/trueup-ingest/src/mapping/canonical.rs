//! The canonical tables and the types of their columns.

use crate::table::Table;
use trueup_core::model::{ACCOUNT_COLUMNS, RECORD_COLUMN, SPEND_COLUMNS, Stage, TARGET_COLUMNS};

/// A table that a mapping makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CanonicalTable {
    Events,
    Spend,
    Accounts,
    Targets,
}

/// What the values of a canonical column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// Text that every row needs.
    Key,
    /// A stage, which every row needs.
    Stage,
    /// A date.
    Day,
    /// A point in time.
    Instant,
    /// Money, in currency units.
    Amount,
    /// A whole number that is not negative.
    Count,
    /// `true` or `false`.
    Truth,
    Text,
    /// A dimension: text, or a column of Parquet or of record batches that has another type, as it is.
    Dimension,
}

/// Returns the names of the stages, as the column `type` holds them.
pub(super) fn stage_names() -> [&'static str; 6] {
    Stage::ALL.map(Stage::name)
}

impl CanonicalTable {
    /// Returns the table of the dataset.
    pub(super) const fn table(self) -> Table {
        match self {
            Self::Events => Table::Events,
            Self::Spend => Table::Spend,
            Self::Accounts => Table::Accounts,
            Self::Targets => Table::Targets,
        }
    }

    /// Returns the key of the mapping for such tables.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Spend => "spend",
            Self::Accounts => "accounts",
            Self::Targets => "targets",
        }
    }

    /// Returns the columns that such a table may have; `None` if it may have any.
    pub(super) const fn columns(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Events => None,
            Self::Spend => Some(&SPEND_COLUMNS),
            Self::Accounts => Some(&ACCOUNT_COLUMNS),
            Self::Targets => Some(&TARGET_COLUMNS),
        }
    }

    /// Returns the columns that such a table needs, except for its dates and the stage of events.
    pub(super) const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Events => &["account", "opportunityId"],
            Self::Spend | Self::Accounts => &["account"],
            Self::Targets => TARGET_COLUMNS.split_at(4).0,
        }
    }

    /// Returns the type of a column.
    pub(super) fn column_type(self, column: &str) -> ColumnType {
        match (self, column) {
            (_, "account") | (Self::Events, "opportunityId") | (Self::Targets, "month" | "metric") => ColumnType::Key,
            (Self::Events, "type") => ColumnType::Stage,
            (Self::Events, "dateTime") => ColumnType::Instant,
            (Self::Events | Self::Spend, "date") => ColumnType::Day,
            (Self::Events, "total") | (Self::Spend, "adSpend" | "managementFee") | (Self::Targets, "value") => {
                ColumnType::Amount
            }
            (Self::Spend, "clicks" | "impressions") => ColumnType::Count,
            (Self::Accounts, "leadGrading") => ColumnType::Truth,
            (Self::Events, "eventId" | RECORD_COLUMN) | (Self::Spend | Self::Accounts | Self::Targets, _) => {
                ColumnType::Text
            }
            (Self::Events, _) => ColumnType::Dimension,
        }
    }
}
