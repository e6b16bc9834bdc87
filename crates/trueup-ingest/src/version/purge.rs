//! Versions that expire, because the newest version purges them, and files whose grace period is over. Every version
//! completes what the one before it began.

use super::file_names::random_id;
use super::{BegunVersion, FileCount};
use crate::IngestError;
use crate::monitor::{Monitor, Phase};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use trueup_core::dataset::expiry::{Expiry, Orphans};
use trueup_core::dataset::manifest::{Manifest, Purge};

impl BegunVersion {
    /// Returns the files of expired versions that were removed when the version was begun.
    pub(crate) const fn removed_at_begin(&self) -> FileCount {
        self.removed
    }

    /// Returns the versions that expired when the version was begun.
    pub(crate) fn expired_at_begin(&self) -> &[u64] {
        &self.expired
    }

    /// Lets earlier versions expire once this one is published: whoever begins the version after it does so.
    pub(crate) fn expire_once_published(&mut self, versions: BTreeSet<u64>, grace: Duration) {
        let purge = self.purge.get_or_insert_with(|| Purge { grace_seconds: u64::MAX, ..Purge::default() });
        purge.versions.extend(versions);
        purge.grace_seconds = purge.grace_seconds.min(grace.as_secs());
    }

    /// Returns whether this version purges all of these.
    pub(crate) fn purges(&self, versions: &BTreeSet<u64>) -> bool {
        versions.iter().all(|version| self.purge.as_ref().is_some_and(|purge| purge.versions.contains(version)))
    }

    /// Lets the versions expire that the newest one purges, unless they have. If that fails, this version purges them.
    pub(super) fn complete_purge(&mut self, dataset: &Path, latest: Option<&Manifest>) {
        let Some(purge) = latest.and_then(|manifest| manifest.purge.as_ref()) else { return };
        match self.expire(dataset, purge) {
            Ok(expired) => self.expired = expired,
            Err(_) => self.purge = Some(purge.clone()),
        }
    }

    fn expire(&self, dataset: &Path, purge: &Purge) -> Result<Vec<u64>, IngestError> {
        let plan = Expiry::of(dataset, &purge.versions)?;
        // Not the id of this version, which the record of another expiry may get.
        plan.commit(&self.files.files, dataset, &random_id()?, Duration::from_secs(purge.grace_seconds), self.now())?;
        Ok(plan.expired)
    }

    /// Removes the files of expired versions whose grace period is over. What cannot be read or removed now is removed
    /// another time.
    pub(super) fn remove_expired(&mut self, dataset: &Path, monitor: &Monitor) {
        let Ok(unnamed) = Orphans::find(dataset, None, self.now()) else { return };
        if !unnamed.due.is_empty() {
            monitor.begin(Phase::RemovingFiles, Some(unnamed.due_bytes()));
        }
        let removed = &mut self.removed;
        drop(unnamed.remove(&self.files.files, dataset, monitor.interrupt(), |file| {
            removed.add(FileCount::of(std::iter::once(file.size)));
            monitor.add(0, file.size);
        }));
    }
}
