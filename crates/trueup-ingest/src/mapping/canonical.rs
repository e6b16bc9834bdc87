//! The canonical tables and the types of their columns.

use crate::table::Table;
use trueup_core::model::{ACCOUNT_COLUMNS, RECORD_COLUMN, SPEND_COLUMNS, Stage, TARGET_COLUMNS};

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

impl Table {
    /// Returns the columns that such a table of a mapping may have; `None` if it may have any.
    pub(super) const fn columns(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Events | Self::Insights => None,
            Self::Spend => Some(&SPEND_COLUMNS),
            Self::Accounts => Some(&ACCOUNT_COLUMNS),
            Self::Targets => Some(&TARGET_COLUMNS),
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
            (Self::Events, "eventId" | RECORD_COLUMN) => ColumnType::Text,
            (Self::Events, _) => ColumnType::Dimension,
            _ => ColumnType::Text,
        }
    }
}
