//! A table that the mapping makes.

use super::{Join, ValueSource};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Rows picked by the values of columns: each column with the values that it may have.
pub(in crate::mapping) type Conditions = BTreeMap<String, OneOrMore>;

/// A table of spend or of accounts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mapping) struct TableDeclaration {
    pub(in crate::mapping) from: Option<String>,
    #[serde(default)]
    pub(in crate::mapping) join: Vec<Join>,
    #[serde(default, rename = "where")]
    pub(in crate::mapping) only: Conditions,
    #[serde(default)]
    pub(in crate::mapping) unless: Conditions,
    #[serde(default)]
    pub(in crate::mapping) columns: BTreeMap<String, ValueSource>,
}

/// A table of events: long, a row being an event, or wide, a row having a date for each of several stages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mapping) struct EventTableDeclaration {
    pub(in crate::mapping) from: String,
    #[serde(default)]
    pub(in crate::mapping) join: Vec<Join>,
    #[serde(default, rename = "where")]
    pub(in crate::mapping) only: Conditions,
    #[serde(default)]
    pub(in crate::mapping) unless: Conditions,
    /// Columns of the input that are kept as dimensions under their own names.
    #[serde(default)]
    pub(in crate::mapping) keep: Vec<String>,
    #[serde(default)]
    pub(in crate::mapping) columns: BTreeMap<String, ValueSource>,
    /// For wide data: what each stage's events have besides, or instead of, the columns above.
    #[serde(default)]
    pub(in crate::mapping) stages: BTreeMap<String, BTreeMap<String, ValueSource>>,
}

impl EventTableDeclaration {
    /// The part that it shares with the other tables.
    pub(in crate::mapping) fn table(&self) -> TableDeclaration {
        TableDeclaration {
            from: Some(self.from.clone()),
            join: self.join.clone(),
            only: self.only.clone(),
            unless: self.unless.clone(),
            columns: self.columns.clone(),
        }
    }
}

/// One text, or several of which any will do.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(in crate::mapping) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(in crate::mapping) fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::More(texts) => texts,
        }
    }
}
