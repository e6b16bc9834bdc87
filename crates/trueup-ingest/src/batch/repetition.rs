//! The comparison of the events of an ingest with those of earlier ingests, and what differs.

use super::reading::{ALL_ZONES, JOINED, STORED, all_zones, zone_of};
use crate::error::{Difference, Repetition};
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::Shown;
use trueup_core::dataset::{Batch, ReadFile, Reading};
use trueup_core::model::Accounts;

/// What becomes of the events of an ingest.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They are applied.
    New,
    /// They are not applied, because they became this version, and some have no id.
    Repeated(u64),
}

/// The earlier ingests with which the events of an ingest are compared.
#[derive(Default)]
pub(super) struct EarlierBatches {
    /// Those with events, the oldest first, without the files whose events were all removed with their sources.
    pub(super) batches: Vec<Batch>,
    /// What was removed of their files.
    removed: Vec<RemovedEvents>,
}

/// The events of a source, which were removed from a file.
struct RemovedEvents {
    /// The version that the ingest of the file made.
    of: u64,
    blake3: String,
    name: String,
    source: String,
    /// The version that removed them; `None` if the ingest does that is compared.
    version: Option<u64>,
    /// Whether the file had such events. Nobody knows it of a file with many sources.
    is_known: bool,
}

impl EarlierBatches {
    /// Returns the batches of earlier ingests, the oldest first, without the events of sources that were removed since,
    /// the last of them now.
    pub(super) fn new(mut batches: Vec<Batch>, removed_now: Option<&str>) -> Self {
        // Each source with the first version that removed it after the batch at hand.
        let mut removals: BTreeMap<String, Option<u64>> =
            removed_now.into_iter().map(|source| (source.to_owned(), None)).collect();
        let mut removed = Vec::new();
        for batch in batches.iter_mut().rev() {
            let of = batch.version;
            if let Some(reading) = &mut batch.reading {
                reading.files.retain(|file| {
                    let sources = file.sources.as_ref();
                    let may_have = |source: &String| sources.is_none_or(|sources| sources.contains(source));
                    let from_file = removals.iter().filter(|(source, _)| may_have(source));
                    let from_file = from_file.map(|(source, version)| RemovedEvents {
                        of,
                        blake3: file.blake3.clone(),
                        name: file.name.clone(),
                        source: source.clone(),
                        version: *version,
                        is_known: sources.is_some(),
                    });
                    let before = removed.len();
                    removed.extend(from_file);
                    sources.is_none_or(|sources| sources.is_empty() || removed.len() - before < sources.len())
                });
            }
            // A source is removed before the events of its batch are added.
            removals.extend(batch.removed_source.take().map(|source| (source, Some(of))));
        }
        batches.retain(|batch| batch.reading.as_ref().is_some_and(|reading| !reading.files.is_empty()));
        Self { batches, removed }
    }

    /// Compares events that are still to be read.
    pub(super) fn judge(&self, reading: &Reading, accounts: &Accounts) -> Result<Verdict, Repetition> {
        let sums = checksums(reading);
        let would_repeat = |file: &ReadFile| file.without_id > 0 && sums.contains(file.blake3.as_str());
        let repeated = || self.batches.iter().rev().filter(|batch| files(batch).any(would_repeat));
        let same = |batch: &&Batch| rejected(batch) == 0 && self.differences(batch, reading, accounts).is_empty();
        match (repeated().find(same), repeated().next()) {
            (Some(same), _) => Ok(Verdict::Repeated(same.version)),
            (None, Some(other)) => Err(self.repetition(other, reading, accounts)),
            (None, None) => Ok(Verdict::New),
        }
    }

    /// Compares events that were read, some of which have no id. The events of the same files may have had ids before,
    /// because they were read in another way.
    pub(super) fn judge_written(&self, reading: &Reading, accounts: &Accounts) -> Result<(), Repetition> {
        let without_id = reading.files.iter().filter(|file| file.without_id > 0);
        let sums: BTreeSet<&str> = without_id.map(|file| file.blake3.as_str()).collect();
        let repeated = |batch: &&Batch| files(batch).any(|file| sums.contains(file.blake3.as_str()));
        match self.batches.iter().rev().find(repeated) {
            Some(other) => Err(self.repetition(other, reading, accounts)),
            None => Ok(()),
        }
    }

    /// Returns what an ingest repeats of an earlier one.
    fn repetition(&self, batch: &Batch, reading: &Reading, accounts: &Accounts) -> Repetition {
        let sums = checksums(reading);
        let mut repeated = files(batch).filter(|file| sums.contains(file.blake3.as_str()));
        let file = repeated.next().map(|file| file.name.clone()).unwrap_or_default();
        let others = repeated.count();
        let differences = self.differences(batch, reading, accounts);
        Repetition { version: batch.version, file, others, rejected: rejected(batch), differences }
    }

    /// Returns what differs between the events of an earlier ingest and those of a new one.
    fn differences(&self, batch: &Batch, now: &Reading, accounts: &Accounts) -> Vec<Difference> {
        let Some(before) = &batch.reading else { return Vec::new() };
        let mut found = Vec::new();
        let (mut missing, mut added) = (by_checksum(before), by_checksum(now));
        let is_given = |events: &&RemovedEvents| events.of == batch.version && added.contains_key(&*events.blake3);
        let removed: Vec<&RemovedEvents> = self.removed.iter().filter(is_given).collect();
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
        found.extend(parts(&before.parts, &now.parts));
        for (account, before) in &before.zones {
            let now = zone_of(accounts, account);
            if now != before {
                let (account, before, now) = (account.clone(), before.clone(), now.to_owned());
                found.push(Difference::Zone { account, before, now });
            }
        }
        if before.parts.get(ALL_ZONES).is_some_and(|checksum| *checksum != all_zones(accounts)) {
            let what = "the time zones of the accounts".to_owned();
            found.push(Difference::Content { what, before: true, now: true });
        }
        // The batch had these files.
        added.retain(|blake3, _| removed.iter().all(|events| events.blake3 != **blake3));
        let mut removals: BTreeMap<(Option<u64>, &str, bool), Vec<String>> = BTreeMap::new();
        for RemovedEvents { name, source, version, is_known, .. } in removed {
            removals.entry((*version, source.as_str(), *is_known)).or_default().push(name.clone());
        }
        let removal = |((version, source, is_known), files): ((_, &str, _), _)| {
            let source = source.to_owned();
            Difference::Removed { files, source, version, is_known }
        };
        found.extend(removals.into_iter().map(removal));
        let names = |files: BTreeMap<&str, Vec<&ReadFile>>| -> Vec<String> {
            files.into_values().flatten().map(|file| file.name.clone()).collect()
        };
        let [missing, added] = [missing, added].map(names);
        found.extend(Some(missing).filter(|names| !names.is_empty()).map(Difference::Missing));
        found.extend(Some(added).filter(|names| !names.is_empty()).map(Difference::Added));
        found
    }
}

/// Returns the files of the events of a batch.
pub(super) fn files(batch: &Batch) -> impl Iterator<Item = &ReadFile> {
    batch.reading.iter().flat_map(|reading| &reading.files)
}

fn checksums(reading: &Reading) -> BTreeSet<&str> {
    reading.files.iter().map(|file| file.blake3.as_str()).collect()
}

fn rejected(batch: &Batch) -> u64 {
    batch.protocol.get(Table::Events.name()).map_or(0, |events| events.rejected().rows)
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
                let stored = other.strip_prefix(STORED);
                let stored = stored.map(|join| format!("what the dataset holds for the join `{}`", Shown(join)));
                let what = joined.or(stored).unwrap_or_else(|| format!("the {other}"));
                return Difference::Content { what, before: before.is_some(), now: now.is_some() };
            }
        };
        Difference::Option { name: option, before, now }
    };
    differs.map(difference).collect()
}
