//! The columns of a table that a query reads.

use crate::attribution::Attribution;
use crate::model::{CUSTOMER_COLUMN, SPEND_MEASURES, SPEND_TEXTS};
use std::collections::BTreeSet;

/// The event columns that a query reads in addition to customer, account, stage and date, which every query reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventProjection {
    /// The names of text columns.
    pub(crate) texts: BTreeSet<String>,
    /// The text columns that are read by an attribution. They are made of recorded ones, which are among `texts`.
    pub(crate) attributed: BTreeSet<AttributedText>,
    /// Whether the column `total` is read.
    pub(crate) totals: bool,
    /// Whether the column `dateTime` is read.
    pub(crate) date_times: bool,
}

/// A text column by the values of other events than the row's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AttributedText {
    pub(crate) name: String,
    /// Not [`Attribution::Recorded`].
    pub(crate) attribution: Attribution,
}

impl EventProjection {
    /// Adds a text column, read by an attribution.
    pub(crate) fn add_text(&mut self, name: &str, attribution: Attribution) {
        self.texts.insert(name.to_owned());
        if attribution != Attribution::Recorded {
            self.attributed.insert(AttributedText { name: name.to_owned(), attribution });
        }
    }

    /// Returns the text columns as a query reads them. Whatever reads a column of attribution, reads it by the same
    /// attribution.
    pub(crate) fn read_texts(&self) -> impl Iterator<Item = (&str, Attribution)> {
        let is_attributed = |name: &String| self.attributed.iter().any(|text| text.name == *name);
        let recorded = self.texts.iter().filter(move |name| !is_attributed(name));
        let attributed = self.attributed.iter().map(|text| (text.name.as_str(), text.attribution));
        recorded.map(|name| (name.as_str(), Attribution::Recorded)).chain(attributed)
    }

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
