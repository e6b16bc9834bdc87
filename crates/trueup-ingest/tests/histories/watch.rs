//! What is seen of a store while a history happens: each version is whole when it appears, and a file of a version is
//! removed only once no version names it and the grace period of a record that lists it is over.

use object_store::PutPayload;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};
use trueup_core::dataset::expiry::RECORD_PREFIX;
use trueup_core::dataset::manifest_file;

/// What is seen of the store of one dataset.
#[derive(Default)]
pub(crate) struct Watch {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The latest time of the clock, which may be set back.
    latest: Option<SystemTime>,
    /// The numbers of manifests that were written since the last look, and the data files that were removed.
    written: Vec<u64>,
    removed: Vec<(String, SystemTime)>,
    /// The files that each version has named.
    named: BTreeMap<u64, HashSet<String>>,
    /// The records of expiries, and when their grace period is over.
    records: Vec<(String, SystemTime)>,
    /// The actors in a purge without a grace period, which also ends that of versions that have expired by then.
    end_grace: HashSet<usize>,
    /// The data files that such a purge asks to remove. The request may arrive later.
    purged: HashSet<String>,
    /// The data files that were removed at any time.
    gone: HashSet<String>,
    faults: Vec<String>,
}

impl Watch {
    /// Notes whether an actor is in a purge without a grace period.
    pub(crate) fn ends_grace(&self, actor: usize, ends: bool) {
        let mut seen = self.seen.lock().unwrap();
        if ends {
            seen.end_grace.insert(actor);
        } else {
            seen.end_grace.remove(&actor);
        }
    }

    /// Notes that an actor asks to remove a file. A path begins with the name of the folder of the dataset.
    pub(crate) fn removes(&self, actor: usize, path: &str) {
        let Some((_, name)) = path.split_once('/') else { return };
        let mut seen = self.seen.lock().unwrap();
        if seen.end_grace.contains(&actor) && seen.records.iter().any(|(record, _)| lists(record, name)) {
            seen.purged.insert(name.to_owned());
        }
    }

    /// Notes that a file was written.
    pub(crate) fn written(&self, path: &str, payload: &PutPayload, now: SystemTime) {
        let Some((_, name)) = path.split_once('/') else { return };
        let mut seen = self.seen.lock().unwrap();
        seen.latest = seen.latest.max(Some(now));
        let bytes: Vec<u8> = payload.iter().flatten().copied().collect();
        let number = name.strip_prefix("manifest-").and_then(|name| name.strip_suffix(".json"));
        if let Some(number) = number.and_then(|number| number.parse().ok())
            && bytes.starts_with(b"{")
        {
            seen.written.push(number);
        }
        if name.starts_with(RECORD_PREFIX) {
            let record = String::from_utf8(bytes).unwrap();
            let grace = record.lines().find_map(|line| line.strip_prefix("grace ")?.parse().ok());
            seen.records.push((record, now + Duration::from_secs(grace.unwrap())));
        }
    }

    /// Notes that a file is removed.
    pub(crate) fn removed(&self, path: &str, now: SystemTime) {
        let Some((_, name)) = path.split_once('/').filter(|(_, name)| name.contains('/')) else { return };
        let mut seen = self.seen.lock().unwrap();
        let latest = seen.latest.map_or(now, |latest| latest.max(now));
        seen.removed.push((name.to_owned(), latest));
        seen.gone.insert(name.to_owned());
    }

    /// Checks what was written and removed since the last time.
    pub(crate) fn observe(&self, dataset: &Path) {
        let (written, removed) = {
            let mut seen = self.seen.lock().unwrap();
            (std::mem::take(&mut seen.written), std::mem::take(&mut seen.removed))
        };
        if written.is_empty() && removed.is_empty() {
            return;
        }
        let versions = manifest_file::versions(dataset).unwrap();
        let mut faults = Vec::new();
        let mut seen = self.seen.lock().unwrap();
        // A manifest that is late may be behind the floor, where it counts for nothing.
        for version in written.into_iter().filter(|version| versions.contains(version)) {
            match manifest_file::read(dataset, version) {
                Ok(manifest) => {
                    let named = manifest.files().map(|file| file.path.clone()).collect();
                    if seen.named.insert(version, named).is_some() {
                        faults.push(format!("version {version} appears a second time"));
                    }
                }
                Err(error) => faults.push(format!("version {version} is not whole when it appears: {error}")),
            }
        }
        for (name, now) in removed {
            let namers: Vec<u64> =
                seen.named.iter().filter(|(_, named)| named.contains(&name)).map(|(version, _)| *version).collect();
            if let Some(version) = namers.iter().find(|version| versions.contains(version)) {
                faults.push(format!("{name} of version {version} is removed"));
            }
            let is_due = seen.records.iter().any(|(record, end)| *end <= now && lists(record, &name));
            if !namers.is_empty() && !is_due && !seen.purged.contains(&name) {
                faults.push(format!("{name} of versions {namers:?} is removed before its grace period is over"));
            }
        }
        seen.faults.append(&mut faults);
    }

    /// Returns what was wrong.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.seen.lock().unwrap().faults.clone()
    }

    /// Returns which of these files no version of the dataset names, except for files that were removed, and that a
    /// request has brought back which arrived later.
    pub(crate) fn unnamed(&self, files: Vec<String>, dataset: &Path) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let versions = manifest_file::versions(dataset).unwrap();
        let is_named = |file: &String| versions.iter().any(|version| seen.named[version].contains(file));
        files.into_iter().filter(|file| file.contains('/') && !is_named(file) && !seen.gone.contains(file)).collect()
    }
}

/// Returns whether a record of an expiry lists a file.
fn lists(record: &str, name: &str) -> bool {
    record.contains(&format!(" {name}\n"))
}
