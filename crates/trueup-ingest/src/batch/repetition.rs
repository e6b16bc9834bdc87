//! The comparison of the events of an ingest with those of earlier ingests, and what differs.

use super::reading::{ALL_ZONES, JOINED, all_zones, zone_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use trueup_core::Shown;
use trueup_core::dataset::{Batch, ReadFile, Reading};
use trueup_core::model::Accounts;

/// The most files that a message names.
const MAX_NAMED: usize = 3;

/// Events that cannot be ingested, because their files, or some of them, were ingested before in another way, and
/// events without an `eventId` would count twice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repetition {
    /// The version that the earlier ingest made.
    pub version: u64,
    /// The name of a file that was ingested before.
    pub file: String,
    /// The number of other files that were ingested before, too.
    pub others: usize,
    /// The number of rows that the earlier ingest rejected.
    pub rejected: u64,
    /// What differs between the two ingests. Empty if nothing does, and rows were rejected.
    pub differences: Vec<Difference>,
}

/// What was different when files were ingested before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// An option, with its values; `None` if it was not given.
    Option {
        /// The option, such as `--time-zone`.
        name: &'static str,
        /// Its value before.
        before: Option<String>,
        /// Its value now.
        now: Option<String>,
    },
    /// The time zone of an account, in which clock times are read.
    Zone {
        /// The account.
        account: String,
        /// Its time zone before.
        before: String,
        /// Its time zone now.
        now: String,
    },
    /// Something whose content is only known by its checksum.
    Content {
        /// What it is, such as `the mapping`.
        what: String,
        /// Whether it was there before.
        before: bool,
        /// Whether it is there now.
        now: bool,
    },
    /// Files that were ingested together with the others before, and are not there now.
    Missing(Vec<String>),
    /// Files that were not among the others before.
    Added(Vec<String>),
}

/// What becomes of the events of an ingest.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They are applied.
    New,
    /// They are not applied, because they became this version, and some have no id.
    Repeated(u64),
}

/// Leaves out the batches without events, and of the others the files whose events were all removed with their sources,
/// the last of them now.
pub(super) fn leave_out_removed(batches: &mut Vec<Batch>, removed_now: Option<&str>) {
    let mut removed: BTreeSet<String> = removed_now.map(str::to_owned).into_iter().collect();
    for batch in batches.iter_mut().rev() {
        if let Some(reading) = &mut batch.reading {
            reading.files.retain(|file| {
                let sources = file.sources.as_ref().filter(|sources| !sources.is_empty());
                !sources.is_some_and(|sources| sources.is_subset(&removed))
            });
        }
        // A source is removed before the events of its batch are added.
        removed.extend(batch.removed_source.take());
    }
    batches.retain(|batch| batch.reading.as_ref().is_some_and(|reading| !reading.files.is_empty()));
}

/// Returns the files of the events of a batch.
pub(super) fn files(batch: &Batch) -> impl Iterator<Item = &ReadFile> {
    batch.reading.iter().flat_map(|reading| &reading.files)
}

/// Compares events that are still to be read with those of earlier ingests, the oldest first.
pub(super) fn judge(reading: &Reading, earlier: &[Batch], accounts: &Accounts) -> Result<Verdict, Repetition> {
    let sums = checksums(reading);
    let would_repeat = |file: &ReadFile| file.without_id > 0 && sums.contains(file.blake3.as_str());
    let repeated = || earlier.iter().rev().filter(|batch| files(batch).any(would_repeat));
    let same = |batch: &&Batch| rejected(batch) == 0 && differences(batch, reading, accounts).is_empty();
    match (repeated().find(same), repeated().next()) {
        (Some(same), _) => Ok(Verdict::Repeated(same.version)),
        (None, Some(other)) => Err(Repetition::of(other, reading, accounts)),
        (None, None) => Ok(Verdict::New),
    }
}

/// Compares events that were read, some of which have no id, with those of earlier ingests. The events of the same
/// files may have had ids then, because they were read in another way.
pub(super) fn judge_written(reading: &Reading, earlier: &[Batch], accounts: &Accounts) -> Result<(), Repetition> {
    let without_id = reading.files.iter().filter(|file| file.without_id > 0);
    let sums: BTreeSet<&str> = without_id.map(|file| file.blake3.as_str()).collect();
    let repeated = |batch: &&Batch| files(batch).any(|file| sums.contains(file.blake3.as_str()));
    match earlier.iter().rev().find(repeated) {
        Some(other) => Err(Repetition::of(other, reading, accounts)),
        None => Ok(()),
    }
}

fn checksums(reading: &Reading) -> BTreeSet<&str> {
    reading.files.iter().map(|file| file.blake3.as_str()).collect()
}

fn rejected(batch: &Batch) -> u64 {
    batch.tables.get("events").map_or(0, |table| table.rejected)
}

/// Returns what differs between the events of an earlier ingest and those of a new one.
fn differences(batch: &Batch, now: &Reading, accounts: &Accounts) -> Vec<Difference> {
    let Some(before) = &batch.reading else { return Vec::new() };
    let mut found = Vec::new();
    let (mut missing, mut added) = (by_checksum(before), by_checksum(now));
    for (blake3, new) in &mut added {
        let Some(old) = missing.get_mut(blake3) else { continue };
        // A file may be there more than once.
        while let (Some(one), Some(other)) = (old.last(), new.last()) {
            for difference in parts(&one.parts, &other.parts) {
                if !found.contains(&difference) {
                    found.push(difference);
                }
            }
            old.pop();
            new.pop();
        }
    }
    let names = |files: BTreeMap<&str, Vec<&ReadFile>>| -> Vec<String> {
        files.into_values().flatten().map(|file| file.name.clone()).collect()
    };
    let [missing, added] = [missing, added].map(names);
    found.extend(parts(&before.parts, &now.parts));
    for (account, before) in &before.zones {
        let now = zone_of(accounts, account);
        if now != before {
            let (account, before, now) = (account.clone(), before.clone(), now.to_owned());
            found.push(Difference::Zone { account, before, now });
        }
    }
    if before.parts.get(ALL_ZONES).is_some_and(|checksum| *checksum != all_zones(accounts)) {
        found.push(Difference::Content { what: "the time zones of the accounts".to_owned(), before: true, now: true });
    }
    found.extend(Some(missing).filter(|names| !names.is_empty()).map(Difference::Missing));
    found.extend(Some(added).filter(|names| !names.is_empty()).map(Difference::Added));
    found
}

/// Returns the files of events by their checksums, each with the same order of equal ones.
fn by_checksum(reading: &Reading) -> BTreeMap<&str, Vec<&ReadFile>> {
    let mut files: BTreeMap<&str, Vec<&ReadFile>> = BTreeMap::new();
    for file in &reading.files {
        files.entry(&file.blake3).or_default().push(file);
    }
    files.values_mut().for_each(|files| files.sort_by(|one, other| one.parts.cmp(&other.parts)));
    files
}

/// Returns what differs between the parts of two readings.
fn parts(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<Difference> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).filter(|name| *name != ALL_ZONES).collect();
    let differs = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    let difference = |name: &String| {
        let (before, now) = (before.get(name).cloned(), now.get(name).cloned());
        let option = match name.as_str() {
            "timeZone" => "--time-zone",
            "ignore" => "--ignore",
            "format" => "--format",
            "delimiter" => "--delimiter",
            "encoding" => "--encoding",
            "sheet" => "--sheet",
            "source" => "source",
            other => {
                let joined = other.strip_prefix(JOINED).map(|name| format!("the joined input `{}`", Shown(name)));
                let what = joined.unwrap_or_else(|| format!("the {other}"));
                return Difference::Content { what, before: before.is_some(), now: now.is_some() };
            }
        };
        Difference::Option { name: option, before, now }
    };
    differs.map(difference).collect()
}

impl Repetition {
    fn of(batch: &Batch, reading: &Reading, accounts: &Accounts) -> Self {
        let sums = checksums(reading);
        let mut repeated = files(batch).filter(|file| sums.contains(file.blake3.as_str()));
        let file = repeated.next().map(|file| file.name.clone()).unwrap_or_default();
        let others = repeated.count();
        let differences = differences(batch, reading, accounts);
        Self { version: batch.version, file, others, rejected: rejected(batch), differences }
    }
}

impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, file, others, rejected, differences } = self;
        write!(f, "`{}`", Shown(file))?;
        match others {
            0 => write!(f, " was")?,
            1 => write!(f, " and another file were")?,
            others => write!(f, " and {others} other files were")?,
        }
        write!(f, " ingested before, as version {version}")?;
        let mut separator = ": ";
        match rejected {
            0 => {}
            1 => write!(f, "{separator}a row was rejected then")?,
            rows => write!(f, "{separator}{rows} rows were rejected then")?,
        }
        for (at, difference) in differences.iter().enumerate() {
            separator = if at == 0 && *rejected == 0 { ": " } else { "; " };
            write!(f, "{separator}{difference}")?;
        }
        f.write_str(
            "; events without an `eventId` would count twice: remove what came in then, by its source with \
             `--replace-source` or by going back with `trueup restore`, or add all of these files once more with \
             `--again`",
        )
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option { name, before, now } => match (before, now) {
                (Some(before), Some(now)) => {
                    write!(f, "`{name}` was `{}` and is now `{}`", Shown(before), Shown(now))
                }
                (Some(before), None) => write!(f, "`{name}` was `{}` and is not given now", Shown(before)),
                (None, now) => {
                    write!(f, "`{name}` was not given and is now `{}`", Shown(now.as_deref().unwrap_or_default()))
                }
            },
            Self::Zone { account, before, now } => {
                write!(f, "the time zone of account `{}` was `{before}` and is now `{now}`", Shown(account))
            }
            Self::Content { what, before: true, now: true } => write!(f, "{what} changed"),
            Self::Content { what, before: true, .. } => write!(f, "{what} is not given now"),
            Self::Content { what, .. } => write!(f, "{what} was not given then"),
            Self::Missing(names) => write!(f, "it was ingested together with {}", Names(names)),
            Self::Added(names) => write!(f, "it was ingested without {}", Names(names)),
        }
    }
}

/// The names of files, in words.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().take(MAX_NAMED).enumerate() {
            write!(f, "{}`{}`", if at == 0 { "" } else { ", " }, Shown(name))?;
        }
        match self.0.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            1 => write!(f, " and another file"),
            more => write!(f, " and {more} other files"),
        }
    }
}
