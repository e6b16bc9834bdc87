//! Which version of a dataset is meant: one by its number, or the one that was the newest at some time.

use super::commit::CommitTime;
use super::error::DatasetError;
use super::manifest::Manifest;
use super::manifest_file::{self, ManifestError};
use super::storage::Storage;
use super::version_numbers::{VersionNumbers, read_newest};
use crate::Shown;
use crate::model::{UtcMicros, format_date_time};
use chrono::{DateTime, NaiveDate};
use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::time::SystemTime;
use trueup_store::without_credentials;

/// A version of a dataset, by its number or by a time.
///
/// As of a time, a dataset is the last version that was committed at that time or before, by the clock of its store.
/// [`Commit::after`](super::Commit::after) says what that means if a clock is set back.
///
/// As a text it is a number, or a date and time of RFC 3339, in UTC (`Z`) or with an offset. A date without a time, and
/// a time without an offset, are refused, because they leave open which version is meant.
///
/// ```
/// use trueup_core::dataset::AsOf;
///
/// assert_eq!("12".parse(), Ok(AsOf::Version(12)));
/// assert_eq!("2026-01-31T18:00:00-05:00".parse::<AsOf>(), "2026-01-31T23:00:00Z".parse());
/// assert_eq!(
///     "2026-01-31".parse::<AsOf>().unwrap_err().to_string(),
///     "expected a version or a time, but `2026-01-31` is a date; add the time, such as `2026-01-31T23:59:59Z`"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsOf {
    /// The version with this number.
    Version(u64),
    /// The newest version at this time.
    Time(UtcMicros),
}

/// A text that is no [`AsOf`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAsOf {
    /// A date without a time of day.
    #[error("expected a version or a time, but `{0}` is a date; add the time, such as `{0}T23:59:59Z`")]
    Date(NaiveDate),
    /// A time without an offset, or anything else.
    #[error(
        "expected the number of a version, such as `12`, or a time with its offset, such as `2026-01-31T18:00:00Z` or \
         `2026-01-31T18:00:00-05:00`, but found `{}`", Shown(.0)
    )]
    Other(String),
}

impl FromStr for AsOf {
    type Err = InvalidAsOf;

    fn from_str(text: &str) -> Result<Self, InvalidAsOf> {
        if let Ok(version) = text.parse() {
            return Ok(Self::Version(version));
        }
        if let Ok(date) = text.parse() {
            return Err(InvalidAsOf::Date(date));
        }
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| InvalidAsOf::Other(text.to_owned()))?;
        Ok(Self::Time(UtcMicros(time.timestamp_micros())))
    }
}

impl From<u64> for AsOf {
    fn from(version: u64) -> Self {
        Self::Version(version)
    }
}

impl From<SystemTime> for AsOf {
    /// Rounds down to a millisecond, which is the resolution of the times of versions.
    fn from(time: SystemTime) -> Self {
        Self::Time(CommitTime::from(time).micros())
    }
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "version {version}"),
            Self::Time(time) => f.write_str(&format_date_time(*time).unwrap_or_default()),
        }
    }
}

/// Reads the newest manifest of a dataset, or the one that `as_of` means.
pub(super) fn manifest(folder: &Path, as_of: Option<AsOf>) -> Result<Manifest, DatasetError> {
    if folder.is_file() {
        return Err(DatasetError::NotFolder(folder.to_owned()));
    }
    let version = match as_of {
        None => return manifest_file::read_latest(folder)?.ok_or_else(|| missing(folder)),
        Some(AsOf::Version(version)) => version,
        Some(AsOf::Time(time)) => newest_at(folder, time)?,
    };
    let storage = Storage::open(folder)?;
    let is_gone = match VersionNumbers::list(&storage) {
        Ok(numbers) => version <= numbers.floor(),
        // A web server may have versions and not list them.
        Err(_) if !storage.is_writable() => false,
        Err(error) => return Err(error.into()),
    };
    let versions = || manifest_file::versions(folder);
    let path = || without_credentials(folder);
    if is_gone {
        return Err(DatasetError::ExpiredVersion { path: path(), version, versions: versions()? });
    }
    manifest_file::read(folder, version).map_err(|error| match error {
        ManifestError::Expired { .. } => {
            DatasetError::ExpiredVersion { path: path(), version, versions: versions().unwrap_or_default() }
        }
        ManifestError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => match versions() {
            Ok(versions) if versions.is_empty() => missing(folder),
            Ok(versions) => DatasetError::NoVersion { path: path(), version, versions },
            Err(_) => DatasetError::NoVersion { path: path(), version, versions: Vec::new() },
        },
        error => error.into(),
    })
}

/// Returns the manifest of the newest version; `None` if it is `open`.
pub(super) fn newer(folder: &Path, open: &Manifest) -> Result<Option<Manifest>, DatasetError> {
    let read = |version| manifest_file::read_unless(folder, version, open);
    let (newest, _) = read_newest(&Storage::open(folder)?, read)?;
    newest.ok_or_else(|| missing(folder))
}

/// Returns the number of the last version that was committed at `time` or before.
fn newest_at(folder: &Path, time: UtcMicros) -> Result<u64, DatasetError> {
    let versions = manifest_file::versions(folder)?;
    let first = *versions.first().ok_or_else(|| missing(folder))?;
    let mut failed = None;
    let after = versions.partition_point(|version| match manifest_file::commit(folder, *version) {
        Ok(commit) => commit.time.micros() <= time,
        Err(error) => {
            failed.get_or_insert(error);
            false
        }
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    for (at, version) in versions.iter().copied().enumerate().take(after).rev() {
        let committed = manifest_file::commit(folder, version)?.time.micros();
        if committed <= time {
            return match versions.get(at + 1) {
                // A version between them may have been committed since then.
                Some(next) if committed < time && has_expired_between(folder, version, *next)? => {
                    let (path, time) = (without_credentials(folder), AsOf::Time(time));
                    Err(DatasetError::RemovedAsOf { path, time, before: version, after: *next })
                }
                _ => Ok(version),
            };
        }
    }
    let committed = manifest_file::commit(folder, first)?.time;
    Err(DatasetError::NoneAsOf { path: without_credentials(folder), time: AsOf::Time(time), first, committed })
}

/// Returns whether there was a version between two others.
fn has_expired_between(folder: &Path, before: u64, after: u64) -> Result<bool, DatasetError> {
    for version in before.saturating_add(1)..after {
        if !manifest_file::is_fence(folder, version)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the error of a folder that holds no dataset.
fn missing(folder: &Path) -> DatasetError {
    DatasetError::Missing { path: without_credentials(folder) }
}

/// Returns numbers of versions, ascending, as a text, such as `versions 1 to 3, 7`. Only the last few ranges are
/// listed.
#[must_use]
pub fn version_ranges(versions: &[u64]) -> String {
    const MAX_RANGES: usize = 5;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for version in versions {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*version) => *last = *version,
            _ => ranges.push((*version, *version)),
        }
    }
    let texts = ranges.iter().rev().take(MAX_RANGES).rev().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    let texts = texts.collect::<Vec<_>>().join(", ");
    let earlier = if ranges.len() > MAX_RANGES { ", and earlier ones" } else { "" };
    let noun = if versions.len() == 1 { "version" } else { "versions" };
    format!("{noun} {texts}{earlier}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_an_offset() {
        let time = |text: &str| text.parse::<AsOf>();
        assert_eq!(time("1970-01-01T00:00:01Z"), Ok(AsOf::Time(UtcMicros(1_000_000))));
        assert_eq!(time("1970-01-01T01:00:01.5+01:00"), Ok(AsOf::Time(UtcMicros(1_500_000))));
        for text in ["", "-1", "1.5", "2026-01-31T18:00:00", "2026-01-31T18:00Z", "yesterday", "2026-02-30T00:00:00Z"] {
            assert!(matches!(time(text), Err(InvalidAsOf::Other(_))), "{text}");
        }
        assert!(matches!(time("2026-02-28"), Err(InvalidAsOf::Date(_))));
    }

    #[test]
    fn adjacent_versions_are_a_range() {
        assert_eq!(version_ranges(&[4]), "version 4");
        assert_eq!(version_ranges(&[1, 2]), "versions 1, 2");
        assert_eq!(version_ranges(&[1, 2, 3, 7, u64::MAX]), format!("versions 1 to 3, 7, {}", u64::MAX));
        assert_eq!(version_ranges(&[1, 3, 5, 7, 9, 11]), "versions 3, 5, 7, 9, 11, and earlier ones");
    }
}
