//! What must hold of a dataset, by what its writers have learned and its readers have read.

use super::actor::{Contents, Ledger, Outcome, SHARED, contents, ingest};
use super::store::Store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueup_core::Dataset;
use trueup_core::dataset::expiry::GRACE;
use trueup_core::dataset::{AsOf, Verification, manifest_file};
use trueup_ingest::Expire;

pub(crate) struct Check<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) store: &'a Store,
    pub(crate) inputs: &'a Path,
}

/// Fails with a message unless something holds.
fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

impl Check<'_> {
    /// Checks everything.
    pub(crate) fn all(&self) -> Result<(), String> {
        // A version that expires while it is restored may lose its files once its grace period is over.
        if self.ledger.takes_long && (self.ledger.is_restored_unknown || !self.ledger.restored.is_empty()) {
            return Ok(());
        }
        self.versions_are_right()?;
        if self.store.late() > 0 {
            self.store.let_all_arrive();
            self.versions_are_right()?;
        }
        self.goes_on()
    }

    fn dataset(&self) -> PathBuf {
        self.store.location(None)
    }

    /// Checks every version that is there.
    fn versions_are_right(&self) -> Result<(), String> {
        let faults = [self.store.watch().faults(), self.ledger.faults.clone()].concat();
        ensure(faults.is_empty(), || faults.join("; "))?;
        let versions = self.versions()?;
        let newest = versions.keys().next_back().copied().unwrap_or(0);
        // What readers have read of versions that have expired since is also compared.
        let mut answers = versions.clone();
        for (version, read) in &self.ledger.reads {
            let found = answers.entry(*version).or_insert_with(|| read.clone());
            ensure(found == read, || format!("a reader read {read:?} of version {version}"))?;
        }
        for (batch, outcome) in &self.ledger.ingests {
            if let Outcome::Done(version) = outcome {
                ensure(*version <= newest, || format!("version {version} of batch {batch} is not there"))?;
            }
            self.batch(*batch, *outcome, &answers, &versions)?;
        }
        if self.ledger.is_restored_unknown {
            return Ok(());
        }
        answers.iter().try_for_each(|(version, found)| self.shared(*version, found))
    }

    /// Reads what every version holds. Each must be whole.
    fn versions(&self) -> Result<BTreeMap<u64, Contents>, String> {
        let versions = manifest_file::versions(&self.dataset()).map_err(|error| error.to_string())?;
        let mut found = BTreeMap::new();
        for version in versions {
            let fault = |error: &dyn std::fmt::Display| format!("version {version}: {error}");
            let dataset = Dataset::open_as_of(self.dataset(), version).map_err(|error| fault(&error))?;
            found.insert(version, contents(&dataset).map_err(|error| fault(&error))?);
            let verified = Verification::of(self.dataset(), Some(AsOf::Version(version)));
            let verified = verified.map_err(|error| fault(&error))?;
            ensure(verified.faults.is_empty(), || format!("version {version}: {:?}", verified.faults))?;
        }
        Ok(found)
    }

    /// Checks in which versions the customer of a batch is, or was if the version is not `there` any more.
    fn batch(
        &self,
        batch: u64,
        outcome: Outcome,
        versions: &BTreeMap<u64, Contents>,
        there: &BTreeMap<u64, Contents>,
    ) -> Result<(), String> {
        let forgotten = self.ledger.forgotten.get(&batch).copied();
        let customer = batch.to_string();
        // Whether the last version before had it that has what the batch brought.
        let mut was_there = None;
        for (version, contents) in versions {
            let is_there = match contents.get(&customer) {
                None => false,
                Some(found) => {
                    let whole = (2, i128::from(batch) * 1_000_000);
                    ensure(*found == whole, || format!("batch {batch} is {found:?} in version {version}"))?;
                    true
                }
            };
            let fault = || format!("batch {batch}, {outcome:?}, {forgotten:?}: version {version} has it: {is_there}");
            let has = |brought| self.ledger.has(*version, brought);
            let holds = match (outcome, forgotten) {
                (Outcome::Failed, _) => !is_there,
                (_, Some((true, Outcome::Done(_)))) if there.contains_key(version) => !is_there,
                _ if self.ledger.is_restored_unknown => true,
                (Outcome::Done(published), _) if !has(published) => !is_there,
                (_, Some((_, Outcome::Done(forgotten)))) if *version >= forgotten => !is_there,
                (Outcome::Done(_), None | Some((_, Outcome::Failed) | (false, Outcome::Done(_)))) => is_there,
                // It may have been forgotten, but then for good. A purge that another writer has overtaken since says a
                // later version than the one that it has published.
                (Outcome::Done(_), Some(_)) => is_there <= was_there.unwrap_or(true),
                (Outcome::Unknown, _) => {
                    is_there || was_there != Some(true) || self.ledger.restored.contains_key(version)
                }
            };
            ensure(holds, fault)?;
            if !matches!(outcome, Outcome::Done(published) if !has(published)) {
                was_there = Some(is_there);
            }
        }
        Ok(())
    }

    /// Checks that the event which each batch replaces is that of the last batch.
    fn shared(&self, version: u64, contents: &Contents) -> Result<(), String> {
        let last = self.ledger.ingests.iter().filter_map(|(batch, outcome)| match outcome {
            Outcome::Done(published) if self.ledger.has(version, *published) => Some((*published, *batch)),
            _ => None,
        });
        let unknown = self
            .ledger
            .ingests
            .iter()
            .any(|(batch, outcome)| *outcome == Outcome::Unknown && contents.contains_key(&batch.to_string()));
        let expected = last.max().map(|(_, batch)| (1, i128::from(batch) * 1_000_000));
        let found = contents.get(SHARED).copied();
        ensure(unknown || found == expected, || {
            format!("the shared event is {found:?} in version {version}, and not {expected:?}")
        })
    }

    /// Checks that the dataset can be written and read, and that nothing stays of versions that have expired and of
    /// writers that were killed.
    fn goes_on(&self) -> Result<(), String> {
        const LAST: u64 = 1_000;
        let dataset = self.dataset();
        self.store.scheduler.advance(2 * GRACE);
        let last = ingest(LAST, &dataset, self.inputs).run();
        let last = last.map_err(|error| format!("the last ingest: {error}"))?;
        let newest = Dataset::open(&dataset).and_then(|newest| contents(&newest)).map_err(|error| error.to_string())?;
        let newest = BTreeMap::from([(last.version, newest)]);
        self.batch(LAST, Outcome::Done(last.version), &newest, &newest)?;
        self.store.scheduler.advance(2 * GRACE);
        Expire::new(&dataset).vacuum().run().map_err(|error| format!("the last vacuum: {error}"))?;
        self.store.watch().observe(&dataset);
        let left = self.store.watch().unnamed(self.store.files(), &dataset);
        // The record of an expiry that takes longer may be removed before the versions have expired.
        ensure(left.is_empty() || self.ledger.takes_long, || format!("no version names {left:?}"))
    }
}
