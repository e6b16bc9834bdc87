//! The tables of a dataset.

use trueup_core::model::{
    ACCOUNT_COLUMNS, Accounts, HeldTable, SPEND_AMOUNTS, SPEND_COLUMNS, TARGET_COLUMNS, TOTAL, Targets,
};

/// A table of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Events,
    Spend,
    Accounts,
    Insights,
    Targets,
}

impl Table {
    /// The tables, in the order in which an ingest takes them.
    pub(crate) const ALL: [Self; 5] = [Self::Accounts, Self::Events, Self::Spend, Self::Insights, Self::Targets];

    /// Returns the name of the table in manifests, mappings and messages, and of its folder.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Spend => "spend",
            Self::Accounts => "accounts",
            Self::Insights => "insights",
            Self::Targets => "targets",
        }
    }

    /// Returns the columns; `None` if there may be any.
    pub(crate) const fn columns(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Events | Self::Insights => None,
            Self::Spend => Some(&SPEND_COLUMNS),
            Self::Accounts => Some(&ACCOUNT_COLUMNS),
            Self::Targets => Some(&TARGET_COLUMNS),
        }
    }

    /// Returns the columns that NDJSON has even if no object has such a member, so that a missing value is a fault of
    /// its row and not of the file.
    pub(crate) const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Events => &["account", "opportunityId", "type", "date"],
            Self::Spend => &["account", "date"],
            Self::Insights => &["account"],
            Self::Accounts => ACCOUNT_COLUMNS.split_at(Accounts::REQUIRED).0,
            Self::Targets => TARGET_COLUMNS.split_at(Targets::REQUIRED).0,
        }
    }

    /// Returns the columns of amounts of money.
    pub(crate) const fn amounts(self) -> &'static [&'static str] {
        match self {
            Self::Events => &[TOTAL],
            Self::Spend => &SPEND_AMOUNTS,
            Self::Accounts | Self::Insights | Self::Targets => &[],
        }
    }
}
