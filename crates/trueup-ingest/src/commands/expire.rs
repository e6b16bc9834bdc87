//! Removes old versions of a dataset, and files that nobody needs any more.

use super::{Action, Command, Run};
use crate::error::IngestError;
use crate::monitor::Phase;
use crate::version::FileCount;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, SystemTime};
use trueup_core::dataset::expiry::{self, Expiry, GRACE, Orphans, Retention};
use trueup_core::dataset::manifest_file;

/// The removal of old versions of a dataset, and of the files that no version names any more.
///
/// A file of an expired version is removed once its grace period is over, which begins when the version expires:
/// readers that have opened the version by then, in any process or on any machine, can go on reading until the period
/// is over. Later ingests remove what is due, too.
///
/// A process that is killed leaves each version whole or not there, and the next command goes on where it ended.
///
/// ```no_run
/// use std::time::Duration;
/// use trueup_ingest::Expire;
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// let summary = Expire::new("acme").keep_last(10).older_than(30 * day).run()?;
/// println!("expired {:?}, removed {} bytes", summary.expired, summary.removed.bytes);
/// # Ok::<(), trueup_ingest::IngestError>(())
/// ```
pub type Expire = Command<Expiration>;

/// What [`Expire`] does.
#[derive(Debug)]
pub struct Expiration {
    /// What is kept; `None` if no version expires.
    retention: Option<Retention>,
    grace: Option<Duration>,
    dry_run: bool,
}

/// What was removed or, in a dry run, what would have been. `docs/command-line.md` documents it as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ExpireSummary {
    /// The versions that have expired now, ascending.
    pub expired: Vec<u64>,
    /// The versions that stay, ascending.
    pub kept: Vec<u64>,
    /// Files that were removed.
    pub removed: FileCount,
    /// Files of expired versions that wait for the end of their grace period.
    pub waiting: FileCount,
}

impl Expire {
    /// Prepares to remove all versions but the newest of the dataset in a folder or below a URL.
    pub fn new(dataset: impl AsRef<Path>) -> Self {
        let retention = Retention { keep_last: NonZeroUsize::MIN, older_than: Duration::ZERO };
        Self::prepare(dataset, Expiration { retention: Some(retention), grace: None, dry_run: false })
    }

    /// Also keeps the newest `versions` versions. 0 counts as 1, because the newest version never expires.
    pub fn keep_last(self, versions: usize) -> Self {
        self.with_retention(|retention| retention.keep_last = NonZeroUsize::new(versions).unwrap_or(NonZeroUsize::MIN))
    }

    /// Also keeps the versions that were the newest one at some time during the last `age`, so that each
    /// [`AsOf::Time`](trueup_core::dataset::AsOf::Time) in it can still be read.
    pub fn older_than(self, age: Duration) -> Self {
        self.with_retention(|retention| retention.older_than = age)
    }

    /// Sets how long files stay after their version has expired, in whole seconds; 24 hours by default. A
    /// [`vacuum`](Self::vacuum) applies a period that is set to all expired versions; otherwise, each version keeps the
    /// period with which it expired. With 0, a reader of an expired version fails when it needs a file that is gone; it
    /// never answers from other data.
    pub fn grace(self, grace: Duration) -> Self {
        self.with(|action| action.grace = Some(grace))
    }

    /// Only finds out what would be removed. The leftovers of killed ingests and purges are not counted. Because
    /// nothing is written, the clock of this machine stands in for the one of the store or of the file system.
    pub fn dry_run(self) -> Self {
        self.with(|action| action.dry_run = true)
    }

    /// Lets no version expire: only removes the files of versions that have expired before, if their grace period is
    /// over, and leftovers of killed ingests.
    pub fn vacuum(self) -> Self {
        self.with(|action| action.retention = None)
    }

    fn with_retention(self, change: impl FnOnce(&mut Retention)) -> Self {
        self.with(|action| {
            if let Some(retention) = &mut action.retention {
                change(retention);
            }
        })
    }
}

impl Action for Expiration {
    type Summary = ExpireSummary;

    fn perform(self, run: &Run) -> Result<ExpireSummary, IngestError> {
        if self.dry_run { self.find(run) } else { self.remove(run) }
    }
}

impl Expiration {
    /// Finds what would be removed.
    fn find(&self, run: &Run) -> Result<ExpireSummary, IngestError> {
        run.monitor.begin(Phase::ReadingManifests, None);
        let now = expiry::estimate_now(run.dataset())?;
        let plan = self.plan(run.dataset(), now)?;
        let unnamed = self.unnamed(run.dataset(), now)?;
        let mut summary = ExpireSummary::new(&plan, &unnamed);
        let expired = FileCount::of(plan.files.iter().map(|file| file.size));
        if self.grace.is_some_and(|grace| grace.is_zero()) {
            summary.removed.add(expired);
        } else {
            summary.waiting.add(expired);
        }
        Ok(summary)
    }

    /// Lets versions expire, and removes the files whose grace period is over.
    fn remove(&self, run: &Run) -> Result<ExpireSummary, IngestError> {
        let (dataset, monitor, files) = (run.dataset(), &run.monitor, &run.settings.files);
        // Removes the leftovers of killed ingests, and what was due before.
        let (version, _) = run.begin()?;
        monitor.begin(Phase::ReadingManifests, None);
        let plan = self.plan(dataset, version.now())?;
        plan.commit(files, dataset, version.id(), self.grace.unwrap_or(GRACE), version.now())?;
        let unnamed = self.unnamed(dataset, version.now())?;
        monitor.begin(Phase::RemovingFiles, Some(unnamed.due_bytes()));
        unnamed.remove(files, dataset, monitor.interrupt(), |file| monitor.add(0, file.size))?;
        let mut summary = ExpireSummary::new(&plan, &unnamed);
        summary.removed.add(version.removed_at_begin());
        summary.expired.extend(version.expired_at_begin());
        summary.expired.sort_unstable();
        Ok(summary)
    }

    /// Returns which versions expire.
    fn plan(&self, dataset: &Path, now: SystemTime) -> Result<Expiry, IngestError> {
        match &self.retention {
            Some(retention) => Ok(Expiry::plan(dataset, retention, now)?),
            None => Ok(Expiry { kept: manifest_file::versions(dataset)?, ..Expiry::default() }),
        }
    }

    /// Finds the files that no version names. A period that is set replaces that of versions that have expired before
    /// only if none expires now.
    fn unnamed(&self, dataset: &Path, now: SystemTime) -> Result<Orphans, IngestError> {
        Ok(Orphans::find(dataset, self.grace.filter(|_| self.retention.is_none()), now)?)
    }
}

impl ExpireSummary {
    fn new(plan: &Expiry, unnamed: &Orphans) -> Self {
        Self {
            expired: plan.expired.clone(),
            kept: plan.kept.clone(),
            removed: FileCount::of(unnamed.due.iter().map(|file| file.size)),
            waiting: FileCount::of(unnamed.waiting.iter().map(|file| file.size)),
        }
    }
}
