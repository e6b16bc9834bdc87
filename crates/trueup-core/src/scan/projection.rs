//! The columns of a table that a query reads.

use crate::model::{CUSTOMER_COLUMN, SPEND_MEASURES, SPEND_TEXTS};
use std::collections::BTreeSet;

/// The event columns that a query reads in addition to customer, account, stage and date, which every query reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventProjection {
    /// The names of text columns.
    pub(crate) texts: BTreeSet<String>,
    /// Whether the column `total` is read.
    pub(crate) totals: bool,
    /// Whether the column `dateTime` is read.
    pub(crate) date_times: bool,
}

impl EventProjection {
    /// Returns the names of the columns. If `with_basic` is set, the columns that every query reads come first.
    pub(crate) fn columns(&self, with_basic: bool) -> Vec<&str> {
        const BASIC: [&str; 4] = ["account", CUSTOMER_COLUMN, "type", "date"];
        let mut columns = if with_basic { BASIC.to_vec() } else { Vec::new() };
        columns.extend(self.totals.then_some("total"));
        columns.extend(self.date_times.then_some("dateTime"));
        columns.extend(self.texts.iter().map(String::as_str));
        columns
    }
}

/// The spend columns that a query reads in addition to account and date, which every query that needs spend reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpendProjection(BTreeSet<&'static str>);

impl SpendProjection {
    /// Returns a projection of these columns.
    pub(crate) fn new(columns: impl IntoIterator<Item = &'static str>) -> Self {
        Self(columns.into_iter().collect())
    }

    /// Returns a projection of every column.
    pub(crate) fn all() -> Self {
        Self::new(SPEND_MEASURES.into_iter().chain(SPEND_TEXTS))
    }

    /// Returns whether a column is read.
    pub(crate) fn reads(&self, column: &str) -> bool {
        self.0.contains(column)
    }

    /// Adds columns.
    pub(crate) fn add(&mut self, columns: impl Iterator<Item = &'static str>) {
        self.0.extend(columns);
    }

    /// Returns the projection without the columns of another.
    pub(crate) fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Returns the names of the columns. If `with_basic` is set, account and date come first.
    pub(crate) fn columns(&self, with_basic: bool) -> Vec<&'static str> {
        let basic: &[&str] = if with_basic { &["account", "date"] } else { &[] };
        basic.iter().copied().chain(self.0.iter().copied()).collect()
    }
}
