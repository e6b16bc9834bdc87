//! What the jobs files of `trueup batch` and `trueup report` share: how they are read, and some of their values.

use crate::exit::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Component, Path, PathBuf};
use trueup::versions::AsOf;
use trueup::{Shown, is_url};

/// Reads a jobs file.
///
/// # Errors
/// If the file cannot be read, is not TOML, or has an unknown key or a value of a wrong type.
pub(super) fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::path(path, &error))?;
    toml::from_str(&text).map_err(|error| Failure::request(format!("`{}`: {error}", path.display())))
}

/// A text, or a list of texts.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// A version: its number, or a time, which may be in a string.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the number of a version, or a time such as 2026-01-31T18:00:00Z")]
pub(super) enum TomlAsOf {
    Version(u64),
    Time(toml::value::Datetime),
    Text(String),
}

impl TomlAsOf {
    /// Returns which version the key `as-of` means; `None` if it is not given.
    ///
    /// # Errors
    /// If it is neither a version nor a time with an offset.
    pub(super) fn parse(as_of: Option<&Self>) -> Result<Option<AsOf>, Failure> {
        let parse = |text: &str| text.parse().map_err(|error| Failure::request(format!("`as-of`: {error}")));
        match as_of {
            None => Ok(None),
            Some(Self::Version(version)) => Ok(Some(AsOf::Version(*version))),
            Some(Self::Time(time)) => parse(&time.to_string()).map(Some),
            Some(Self::Text(text)) => parse(text).map(Some),
        }
    }
}

/// A TOML date, or a date in a string.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a date such as 2025-01-31")]
pub(super) enum TomlDate {
    Plain(toml::value::Datetime),
    Text(String),
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

/// Returns where a dataset is. A relative path starts at `folder`, that of the jobs file.
pub(super) fn located(dataset: &Path, folder: &Path) -> PathBuf {
    if is_url(dataset) { dataset.to_owned() } else { folder.join(dataset) }
}

/// Checks the name of a file that a job writes.
///
/// # Errors
/// If it has a folder, or is no name.
pub(super) fn check_file_name(output: &str) -> Result<(), Failure> {
    let mut components = Path::new(output).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(name)), None) if name == output => Ok(()),
        _ => Err(Failure::request(format!(
            "expected the name of a file, without a folder, but found `{}`",
            Shown(output)
        ))),
    }
}
