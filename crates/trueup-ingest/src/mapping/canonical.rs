//! The canonical tables and the types of their columns.

use crate::table::Table;
use trueup_core::model::{RECORD_COLUMN, Stage};

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
    /// Returns the type of a column.
    pub(super) fn column_type(self, column: &str) -> ColumnType {
        match (self, column) {
            (Self::Events, "type") => ColumnType::Stage,
            (Self::Events, "dateTime") => ColumnType::Instant,
            (Self::Events | Self::Spend, "date") => ColumnType::Day,
            (Self::Targets, "value") => ColumnType::Amount,
            _ if self.amounts().contains(&column) => ColumnType::Amount,
            (Self::Spend, "clicks" | "impressions") => ColumnType::Count,
            (Self::Accounts, "leadGrading") => ColumnType::Truth,
            _ if self.required().contains(&column) => ColumnType::Key,
            (Self::Events, "eventId" | RECORD_COLUMN) => ColumnType::Text,
            (Self::Events, _) => ColumnType::Dimension,
            _ => ColumnType::Text,
        }
    }
}
