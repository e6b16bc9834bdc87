//! The tables of a dataset.

use trueup_core::model::{SPEND_AMOUNTS, TARGET_COLUMNS, TOTAL};

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
    /// Returns the name of the table in manifests, and of its folder.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Spend => "spend",
            Self::Accounts => "accounts",
            Self::Insights => "insights",
            Self::Targets => "targets",
        }
    }

    /// Returns the columns that NDJSON has even if no object has such a member, so that a missing value is a fault of
    /// its row and not of the file.
    pub(crate) const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Events => &["account", "opportunityId", "type", "date"],
            Self::Spend => &["account", "date"],
            Self::Accounts | Self::Insights => &["account"],
            Self::Targets => TARGET_COLUMNS.split_at(4).0,
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
