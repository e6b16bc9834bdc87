//! What the canonical tables want of a column.

/// One of the three tables that a mapping makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CanonicalTable {
    Events,
    Spend,
    Accounts,
}

/// How the values of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// A text that every row must have.
    Key,
    /// One of the stages, on every row.
    Stage,
    Day,
    Instant,
    Amount,
    Count,
    Truth,
    Text,
    /// A dimension: text, or a column of another type as it is.
    Dimension,
}

/// The stages of the funnel.
pub(super) const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];

/// The stage that is a conversion.
pub(super) const CONVERSION: &str = STAGES[0];

/// The columns of the event table that are no dimension.
pub(super) const EVENT_COLUMNS: [&str; 7] =
    ["account", "opportunityId", "type", "date", "dateTime", "eventId", "total"];

const SPEND_COLUMNS: [&str; 9] = [
    "account",
    "date",
    "attributionCategory",
    "attributionChannel",
    "campaign",
    "adSpend",
    "managementFee",
    "clicks",
    "impressions",
];

const ACCOUNT_COLUMNS: [&str; 5] = ["account", "accountName", "industry", "timeZone", "leadGrading"];

impl CanonicalTable {
    /// The key of the mapping under which its tables stand.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Spend => "spend",
            Self::Accounts => "accounts",
        }
    }

    /// The columns that it may have; `None`: any.
    pub(super) const fn columns(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Events => None,
            Self::Spend => Some(&SPEND_COLUMNS),
            Self::Accounts => Some(&ACCOUNT_COLUMNS),
        }
    }

    /// The columns without which it is none, dates apart.
    pub(super) const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Events => &["account", "opportunityId"],
            Self::Spend | Self::Accounts => &["account"],
        }
    }

    /// How a column of it is read.
    pub(super) fn field(self, column: &str) -> ColumnType {
        match (self, column) {
            (_, "account") | (Self::Events, "opportunityId") => ColumnType::Key,
            (Self::Events, "type") => ColumnType::Stage,
            (Self::Events, "dateTime") => ColumnType::Instant,
            (Self::Events | Self::Spend, "date") => ColumnType::Day,
            (Self::Events, "total") | (Self::Spend, "adSpend" | "managementFee") => ColumnType::Amount,
            (Self::Spend, "clicks" | "impressions") => ColumnType::Count,
            (Self::Accounts, "leadGrading") => ColumnType::Truth,
            (Self::Events, "eventId") | (Self::Spend | Self::Accounts, _) => ColumnType::Text,
            (Self::Events, _) => ColumnType::Dimension,
        }
    }
}
