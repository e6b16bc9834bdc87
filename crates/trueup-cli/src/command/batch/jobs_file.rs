//! What a file of jobs says, as it is written.

use crate::exit::Failure;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use trueup_core::Dataset;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct JobsFile {
    dataset: PathBuf,
    as_of: Option<u64>,
    #[serde(default)]
    pub(super) defaults: JobDefaults,
    #[serde(default)]
    pub(super) query: Vec<DeclaredQuery>,
}

/// What holds for each query that does not say otherwise. A key that a query has takes the place of the one here; lists are not united.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct JobDefaults {
    pub(super) fields: Option<OneOrMany>,
    pub(super) start: Option<TomlDate>,
    pub(super) end: Option<TomlDate>,
    pub(super) interval: Option<String>,
    pub(super) account: Option<OneOrMany>,
    pub(super) r#where: Option<OneOrMany>,
    pub(super) filter: Option<String>,
    pub(super) format: Option<String>,
    pub(super) allow_long_total: Option<bool>,
}

/// One query.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DeclaredQuery {
    pub(super) name: Option<String>,
    pub(super) output: Option<String>,
    pub(super) fields: Option<OneOrMany>,
    pub(super) start: Option<TomlDate>,
    pub(super) end: Option<TomlDate>,
    pub(super) interval: Option<String>,
    pub(super) account: Option<OneOrMany>,
    pub(super) r#where: Option<OneOrMany>,
    pub(super) filter: Option<String>,
    pub(super) format: Option<String>,
    pub(super) allow_long_total: Option<bool>,
}

/// One text, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// A date as TOML has them, or as text.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a date such as 2025-01-31")]
pub(super) enum TomlDate {
    Plain(toml::value::Datetime),
    Text(String),
}

impl JobsFile {
    /// The folder of the dataset; a relative path begins at `folder`.
    pub(super) fn dataset(&self, folder: &Path) -> PathBuf {
        folder.join(&self.dataset)
    }

    /// The dataset, whose folder is at `path`.
    pub(super) fn open(&self, path: &Path) -> Result<Dataset, Failure> {
        Ok(match self.as_of {
            Some(version) => Dataset::open_version(path, version)?,
            None => Dataset::open(path)?,
        })
    }
}

impl DeclaredQuery {
    /// What it is told by; it is the one of this number.
    pub(super) fn label(&self, number: usize) -> String {
        match self.name.as_ref().or(self.output.as_ref()) {
            Some(name) => format!("query `{name}`"),
            None => format!("query {number}"),
        }
    }
}

impl OneOrMany {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

impl std::fmt::Display for TomlDate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(date) => date.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}
