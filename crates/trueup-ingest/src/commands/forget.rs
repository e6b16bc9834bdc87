//! Forgetting: removes the events of customers from a dataset.
//!
//! The newest version without the events is a version like any other: `events::Forgotten` finds them, and deletion
//! vectors leave them out. To purge means that no file has them any more. Files with events of the customers, even
//! superseded ones, are then written again for the new version, and all other versions that name such files expire. The
//! manifest of the new version says which, so that whoever writes next completes a purge that was stopped. Therefore a
//! purge makes a new version even if only earlier ones have events of the customers: in a store, somebody may restore
//! one of these meanwhile, and only one of both gets the number.

mod customers;
mod rejects;

use super::{Action, Command, Run, WritesRows};
use crate::error::{ErrorContext, ErrorKind};
use crate::events::{Forgotten, ForgottenRows};
use crate::live_rows::{Superseded, count_left};
use crate::monitor::Phase;
use crate::read::TableReader;
use crate::rejects::FaultyRows;
use crate::version::{BegunVersion, FileCount};
use crate::{Customer, IngestError, events, held};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use trueup_core::dataset::expiry::{Expiry, GRACE, Orphans};
use trueup_core::dataset::manifest::{DEFINITIONS_FOLDER, DataFile, FORGOTTEN_FOLDER, Manifest};
use trueup_core::dataset::{
    CommitOperation, FORGOTTEN_KEY_BYTES, ForgottenCustomers, manifest_file, read_definitions, read_forgotten,
};
use trueup_core::query::{AccountFilter, current_day};

/// The forgetting of customers: their events are removed from the newest version of a dataset, in a new version.
///
/// Earlier versions still have the events, and so may files of the new version, among superseded rows, which no query
/// counts. With [`purge`](Self::purge), nothing that trueup keeps has them in the end.
///
/// Forgotten customers stay forgotten: the dataset keeps a hash of each, with a random key of its own, and the day of
/// the call in the time zone of the account. Later ingests leave events of the customer out up to that day, and count
/// them ([`RowCounts::forgotten`](crate::RowCounts::forgotten)); they take later events. So does a dataset that has no
/// event of the customer yet. A call on a later day raises the day.
///
/// A call that fails, is interrupted or is killed leaves the old version or the new one. Once the new one is there, the
/// next command that writes completes a purge, before which earlier versions may be there or not; otherwise the same
/// call does. A call fails if a list of customers or a file of rejected rows cannot be read, or if a definition needs a
/// column that only these customers have. On the same day, calling it again changes nothing.
///
/// ```
/// use trueup_ingest::{Forget, Ingest};
///
/// # let dir = tempfile::tempdir()?;
/// # let (dataset, events) = (dir.path().join("acme"), dir.path().join("events.csv"));
/// # std::fs::write(&events, "account,opportunityId,type,date\na,1,booked,2025-01-31\na,2,booked,2025-01-31\n")?;
/// # Ingest::into(&dataset).events(&events).run()?;
/// let summary = Forget::new(&dataset).customer("a", "1").run()?;
/// assert_eq!((summary.version, summary.customers, summary.events), (2, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Forget = Command<Forgetting>;

/// What [`Forget`] does.
#[derive(Debug, Default)]
pub struct Forgetting {
    customers: BTreeSet<Customer>,
    lists: Vec<PathBuf>,
    purges: bool,
    grace: Option<Duration>,
    rejects: Vec<PathBuf>,
    now: Option<SystemTime>,
}

/// What was forgotten. `docs/command-line.md` documents it as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ForgetSummary {
    /// The newest version, which has no event of the customers.
    pub version: u64,
    /// The number of customers that had events in the version before.
    pub customers: u64,
    /// The events that the newest version does not have any more.
    pub events: u64,
    /// The customers that the dataset had not forgotten before, or not up to this day.
    pub recorded: u64,
    /// The customers of whom nothing was found: in the newest version or, for a purge, in any version.
    pub absent: Vec<Customer>,
    /// The rows that were removed from files of rejected rows.
    #[serde(rename = "rejectedRows")]
    pub rejects: u64,
    /// The versions that expired during the call, ascending. In a purge, these are the versions that name files with
    /// events of the customers. Versions that an earlier purge left because it was stopped expire, too.
    pub expired: Vec<u64>,
    /// The files of expired versions that were removed during the call.
    pub removed: FileCount,
    /// The files that wait for the end of their grace period. They may have events of the customers until a later call,
    /// a vacuum or an ingest removes them.
    pub waiting: FileCount,
}

impl Forget {
    /// Prepares to forget customers of the dataset in a folder or below the URL of an object store.
    pub fn new(dataset: impl AsRef<Path>) -> Self {
        Self::prepare(dataset, Forgetting::default())
    }

    /// Adds a customer to forget. It may be one that the dataset does not have.
    pub fn customer(self, account: impl Into<String>, opportunity_id: impl Into<String>) -> Self {
        let (account, opportunity_id) = (account.into(), opportunity_id.into());
        self.with(|action| {
            action.customers.insert(Customer { account, opportunity_id });
        })
    }

    /// Adds the customers of a file with the columns `account` and `opportunityId`, in any format of an ingest. Other
    /// columns do not matter.
    pub fn customers_in(self, path: impl AsRef<Path>) -> Self {
        self.with(|action| action.lists.push(path.as_ref().to_owned()))
    }

    /// Also removes what earlier versions have of the customers. All versions that name a file with an event of them
    /// expire, whatever else they have, and of the newest version these files are written again.
    ///
    /// Files of expired versions stay for the [`grace`](Self::grace) period. Until it is over and an [`Expire`], an
    /// ingest or the same call again has removed them, they still have the events.
    ///
    /// [`Expire`]: crate::Expire
    pub fn purge(self) -> Self {
        self.with(|action| action.purges = true)
    }

    /// Sets how long files of a purge stay for readers that have opened an earlier version, as
    /// [`Expire::grace`](crate::Expire::grace); 24 hours by default. A period that is set also applies to versions that
    /// have expired before, whose files may have events of the customers, too. With 0, the events are gone when the
    /// call returns.
    pub fn grace(self, grace: Duration) -> Self {
        self.with(|action| action.grace = Some(grace))
    }

    /// Also removes rows of the customers from a file that [`Ingest::rejects`](crate::Ingest::rejects) has written. The
    /// file is replaced, unless it has no such row, before the dataset changes.
    ///
    /// A row is of a customer if its cells `account` and `opportunityId` say so; a row without an account may be of any
    /// account. A row whose cell `opportunityId` is missing or empty, such as one that a mapping reads, is of a
    /// customer if any of its texts has the id as a word, whatever account it names.
    pub fn rejects(self, path: impl AsRef<Path>) -> Self {
        self.with(|action| action.rejects.push(path.as_ref().to_owned()))
    }

    /// Sets the moment of the call, from which the day follows up to which events are left out; by default that of the
    /// store's or the file system's clock.
    pub fn now(self, now: SystemTime) -> Self {
        self.with(|action| action.now = Some(now))
    }
}

impl WritesRows for Forgetting {}

impl Action for Forgetting {
    type Summary = ForgetSummary;

    fn perform(self, run: &Run) -> Result<ForgetSummary, IngestError> {
        run.settings.on_threads(|| self.forget(run))
    }
}

impl Forgetting {
    /// Forgets the customers. Doing it again on the same day changes nothing, but completes a call that failed.
    fn forget(mut self, run: &Run) -> Result<ForgetSummary, IngestError> {
        let mut reader = run.settings.reader(FaultyRows::Stop, &run.monitor);
        for list in &self.lists {
            customers::read(list, &mut self.customers, &mut reader)?;
        }
        if self.customers.is_empty() {
            return Err(ErrorKind::NobodyToForget.into());
        }
        let mut summary = ForgetSummary::default();
        for file in &self.rejects {
            summary.rejects += rejects::remove(file, run.dataset(), &self.customers, &run.monitor)?;
        }
        let mut call = ForgetCall {
            action: &self,
            run,
            forgotten: Forgotten::new(&self.customers),
            reader: &reader,
            found: BTreeSet::new(),
            current: BTreeSet::new(),
            clean: HashSet::new(),
            published: None,
            summary,
        };
        let attempted = run.attempts(|| Ok(call.step()?.then_some(())));
        match (attempted, call.published) {
            (Err(error), Some(version)) if !error.may_be_published() => {
                Err(ErrorKind::UnfinishedPurge { version, error }.into())
            }
            (attempted, _) => attempted.map(|()| call.finish()),
        }
    }
}

/// What a call has done so far.
struct ForgetCall<'a> {
    action: &'a Forgetting,
    run: &'a Run,
    forgotten: Forgotten<'a>,
    reader: &'a TableReader<'a>,
    /// The customers of whom something was found, and those of whom the newest version had events.
    found: BTreeSet<&'a Customer>,
    current: BTreeSet<&'a Customer>,
    /// The paths of files of events without any event of the customers.
    clean: HashSet<String>,
    /// The last version that the call has published.
    published: Option<u64>,
    summary: ForgetSummary,
}

impl<'a> ForgetCall<'a> {
    /// Removes the events from the newest version or, once it has none, ends the call. Returns whether the call is
    /// complete.
    fn step(&mut self) -> Result<bool, IngestError> {
        let Forgetting { purges, grace, .. } = self.action;
        let (mut version, mut manifest) = self.run.begin_after_newest()?;
        self.summary.version = manifest.version;
        self.summary.removed.add(version.removed_at_begin());
        self.summary.expired.extend(version.expired_at_begin());
        let mut held = self.find(&manifest.events, &manifest.superseded)?;
        if !purges {
            held.retain(|_, held| held.vector.rows() > 0);
        }
        let mut expired = if *purges { self.find_versions(manifest.version)? } else { BTreeSet::new() };
        let current: BTreeSet<&Customer> = held.values().flat_map(|held| &held.current).copied().collect();
        let recorded = self.recorded(&manifest, &version, !current.is_empty())?;
        if held.is_empty() && recorded.is_none() && version.purges(&expired) {
            if *purges {
                self.purge(&expired, &version)?;
            }
            return Ok(true);
        }
        if !held.is_empty() && *purges {
            expired.insert(manifest.version);
        }
        if !expired.is_empty() {
            version.expire_once_published(expired, grace.unwrap_or(GRACE));
        }
        let (forgotten, customers) = recorded.unzip();
        if let Some(forgotten) = forgotten {
            version.write_forgotten(&forgotten, &mut manifest)?;
        }
        let events = held.values().map(|held| held.vector.rows()).sum::<u64>();
        let written = self.write(held, &mut manifest, &mut version)?;
        let manifest = version.publish(manifest, CommitOperation::Forget, &self.run.monitor)?;
        self.published = Some(manifest.version);
        self.clean.extend(written);
        self.current.extend(current);
        self.summary.events += events;
        self.summary.recorded += customers.unwrap_or(0);
        self.summary.version = manifest.version;
        Ok(!purges)
    }

    /// Returns the forgotten customers of the next version, and how many of them are new or have a later day than in
    /// the version of `manifest`; `None` if that version has them all, and the next one removes none of their events.
    /// Otherwise a [restored](crate::Restore) version would have these again.
    fn recorded(
        &self,
        manifest: &Manifest,
        next: &BegunVersion,
        removes_events: bool,
    ) -> Result<Option<(ForgottenCustomers, u64)>, IngestError> {
        let dir = self.run.dataset();
        let mut forgotten = match manifest.named(FORGOTTEN_FOLDER) {
            Some(file) => stored_forgotten(dir, file)?,
            None => {
                let mut key = [0; FORGOTTEN_KEY_BYTES];
                getrandom::fill(&mut key).doing("find a random number")?;
                ForgottenCustomers::new(&key)
            }
        };
        let accounts = held::stored_accounts(Some(manifest), dir)?;
        let now = self.action.now.unwrap_or_else(|| next.now());
        let mut days = BTreeMap::new();
        let mut recorded = 0;
        for Customer { account, opportunity_id } in &self.action.customers {
            let day = days.entry(account).or_insert_with(|| {
                let read = AccountFilter::Only([account.clone()].into());
                current_day(&accounts, &read, now)
            });
            recorded += u64::from(forgotten.forget(account, opportunity_id, *day, next.number()));
        }
        Ok((recorded > 0 || removes_events).then_some((forgotten, recorded)))
    }

    /// Finds what files have of the customers, by their paths.
    fn find<'f>(
        &mut self,
        files: impl IntoIterator<Item = &'f DataFile>,
        superseded: &Superseded,
    ) -> Result<BTreeMap<String, ForgottenRows<'a>>, IngestError> {
        let files: Vec<&DataFile> = files.into_iter().filter(|file| !self.clean.contains(&file.path)).collect();
        let (dir, reader) = (self.run.dataset(), self.reader);
        reader.monitor.begin(Phase::FindingCustomers, Some(files.iter().map(|file| file.size).sum()));
        let find = |file: &&DataFile| {
            let found = self.forgotten.find(file, superseded, dir, reader);
            reader.monitor.add(0, file.size);
            found
        };
        let found = files.par_iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let mut held = BTreeMap::new();
        for (file, found) in files.into_iter().zip(found) {
            match found {
                Some(found) => {
                    self.found.extend(&found.customers);
                    held.insert(file.path.clone(), found);
                }
                None => drop(self.clean.insert(file.path.clone())),
            }
        }
        Ok(held)
    }

    /// Leaves the events out of the files of a manifest. In a purge, and where less than half of a file would be left,
    /// writes the other events of the file again. Returns the paths of the new files.
    fn write(
        &self,
        mut held: BTreeMap<String, ForgottenRows<'_>>,
        manifest: &mut Manifest,
        version: &mut BegunVersion,
    ) -> Result<Vec<String>, IngestError> {
        let (dir, purges) = (self.run.dataset(), self.action.purges);
        let columns = columns(manifest);
        let (mut kept, mut rewritten, mut marked) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut superseded = Superseded::new();
        for file in std::mem::take(&mut manifest.events) {
            let Some(ForgottenRows { vector, .. }) = held.remove(&file.path) else {
                kept.push(file);
                continue;
            };
            let left = count_left(std::slice::from_ref(&file), &manifest.superseded).saturating_sub(vector.rows());
            if purges || left.saturating_mul(2) < file.rows {
                let mut all = manifest.superseded.get(&file.path).cloned().unwrap_or_default();
                Arc::make_mut(&mut all).merge(&vector);
                superseded.insert(file.path.clone(), all);
                rewritten.push(file);
            } else {
                marked.insert(file.path.clone(), vector);
                kept.push(file);
            }
        }
        manifest.events = kept;
        let mut written = Vec::new();
        if !rewritten.is_empty() {
            let settings = &self.run.settings;
            let files = events::merge((&rewritten, &superseded), settings, &mut version.files, self.reader)?;
            written.extend(files.iter().map(|file| file.path.clone()));
            manifest.events.extend(files);
        }
        version.supersede(marked);
        check_definitions(manifest, &columns, dir)?;
        Ok(written)
    }

    /// Finds all versions but the newest one that name a file with events of the customers.
    fn find_versions(&mut self, newest: u64) -> Result<BTreeSet<u64>, IngestError> {
        let (dir, monitor) = (self.run.dataset(), &self.run.monitor);
        monitor.begin(Phase::ReadingManifests, None);
        let mut files: BTreeMap<String, DataFile> = BTreeMap::new();
        let mut named: Vec<(u64, Vec<String>)> = Vec::new();
        for number in manifest_file::versions(dir)?.into_iter().filter(|number| *number != newest) {
            monitor.check()?;
            let manifest = match manifest_file::read(dir, number) {
                Ok(manifest) => manifest,
                // In a store, another command may complete this purge meanwhile.
                Err(_) if !manifest_file::versions(dir)?.contains(&number) => continue,
                Err(error) => return Err(error.into()),
            };
            named.push((number, manifest.events.iter().map(|file| file.path.clone()).collect()));
            files.extend(manifest.events.into_iter().map(|file| (file.path.clone(), file)));
        }
        let held = self.find(files.values(), &Superseded::new())?;
        let is_held = |paths: &[String]| paths.iter().any(|path| held.contains_key(path));
        Ok(named.iter().filter(|(_, paths)| is_held(paths)).map(|(number, _)| *number).collect())
    }

    /// Lets versions expire, and removes the files whose grace period is over.
    fn purge(&mut self, expired: &BTreeSet<u64>, version: &BegunVersion) -> Result<(), IngestError> {
        let (dir, monitor, grace) = (self.run.dataset(), &self.run.monitor, self.action.grace);
        let files = &self.run.settings.files;
        let plan = Expiry::of(dir, expired)?;
        plan.commit(files, dir, version.id(), grace.unwrap_or(GRACE), version.now())?;
        self.summary.expired.extend(plan.expired);
        let unnamed = Orphans::find(dir, grace, version.now())?;
        monitor.begin(Phase::RemovingFiles, Some(unnamed.due_bytes()));
        unnamed.remove(files, dir, monitor.interrupt(), |file| monitor.add(0, file.size))?;
        self.summary.removed.add(FileCount::of(unnamed.due.iter().map(|file| file.size)));
        self.summary.waiting = FileCount::of(unnamed.waiting.iter().map(|file| file.size));
        Ok(())
    }

    fn finish(self) -> ForgetSummary {
        let Self { action, found, current, mut summary, .. } = self;
        summary.customers = current.len() as u64;
        summary.expired.sort_unstable();
        let known = if action.purges { &found } else { &current };
        summary.absent = action.customers.iter().filter(|customer| !known.contains(customer)).cloned().collect();
        summary
    }
}

/// Reads the customers that a version has forgotten.
pub(crate) fn stored_forgotten(dir: &Path, file: &DataFile) -> Result<ForgottenCustomers, IngestError> {
    read_forgotten(dir, file).of_dataset(&dir.join(&file.path))
}

/// Returns the columns of the events of a version.
fn columns(manifest: &Manifest) -> BTreeSet<String> {
    manifest.events.iter().flat_map(|file| &*file.columns).cloned().collect()
}

/// Checks that the definitions still have the columns that they are derived from. Otherwise nobody could open the
/// version.
fn check_definitions(manifest: &Manifest, before: &BTreeSet<String>, dir: &Path) -> Result<(), IngestError> {
    let columns = columns(manifest);
    match manifest.named(DEFINITIONS_FOLDER) {
        Some(file) if columns != *before => {
            let definitions = read_definitions(dir, file).of_dataset(&dir.join(&file.path))?;
            definitions.check_columns(&columns).map_err(|fault| ErrorKind::ForgottenColumn(fault).into())
        }
        _ => Ok(()),
    }
}
