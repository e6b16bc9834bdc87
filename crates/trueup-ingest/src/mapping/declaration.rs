//! What a mapping file may say, as it is written.

mod join;
mod source;
mod table;

pub(super) use join::{Join, Unmatched};
pub(super) use source::{Constant, Unmapped, ValueMap, ValueSource};
pub(super) use table::{Conditions, EventTableDeclaration, TableDeclaration};

use serde::Deserialize;
use std::collections::BTreeMap;

/// A mapping file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MappingFile {
    #[serde(default)]
    pub(super) input: BTreeMap<String, InputDeclaration>,
    #[serde(default)]
    pub(super) map: BTreeMap<String, BTreeMap<String, Constant>>,
    #[serde(default)]
    pub(super) events: Vec<EventTableDeclaration>,
    #[serde(default)]
    pub(super) spend: Vec<TableDeclaration>,
    #[serde(default)]
    pub(super) accounts: Vec<TableDeclaration>,
    pub(super) first_touch: Option<FirstTouch>,
}

/// Files that are read as one table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputDeclaration {
    /// A file name, in which `*` stands for any characters and `?` for one.
    pub(super) file: String,
    pub(super) format: Option<FileFormat>,
    pub(super) separator: Option<char>,
    /// The columns of a CSV file that has no header.
    pub(super) header: Option<Vec<String>>,
    /// Cells of a CSV file that mean no value.
    #[serde(default)]
    pub(super) empty: Vec<String>,
    /// From the file's name of a column to the mapping's.
    #[serde(default)]
    pub(super) rename: BTreeMap<String, String>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileFormat {
    Csv,
    Parquet,
}

/// Columns that a customer's events take from its first conversion.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FirstTouch {
    pub(super) copy: Vec<String>,
}
