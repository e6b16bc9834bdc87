//! Removes old versions of a dataset, and files that nobody needs any more.

use crate::error::{ErrorKind, IngestError};
use crate::monitor::{Monitor, Phase, Progress, ReportProgress};
use crate::version::{FileCount, VersionBuilder};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;
use trueup_core::Interrupt;
use trueup_core::dataset::expiry::{self, Expiry, GRACE, Retention, Unnamed};
use trueup_core::dataset::{manifest_file, without_credentials};
use trueup_core::files::Files;

/// The removal of old versions of a dataset, and of the files that no version names any more.
///
/// A file of an expired version is removed once its grace period is over, which begins when the version expires:
/// readers that have opened the version by then, in any process or on any machine, can go on reading until the period
/// is over. Later ingests remove what is due, too.
///
/// The folder is locked as by an ingest. A process that is killed leaves each version whole or not there, and the next
/// command goes on where it ended.
///
/// ```no_run
/// use std::time::Duration;
/// use trueup_ingest::Expire;
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// let summary = Expire::of("acme").keep_last(10).older_than(30 * day).run()?;
/// println!("expired {:?}, removed {} bytes", summary.expired, summary.removed.bytes);
/// # Ok::<(), trueup_ingest::IngestError>(())
/// ```
#[derive(Debug)]
pub struct Expire<'a> {
    dataset: &'a Path,
    keep_last: NonZeroUsize,
    older_than: Duration,
    grace: Option<Duration>,
    dry_run: bool,
    report: Option<ReportProgress>,
    interrupt: Interrupt,
    wait: Duration,
}

/// What was removed or, in a dry run, what would have been.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

impl<'a> Expire<'a> {
    /// Prepares to remove all versions but the newest of the dataset in a folder or below a URL.
    #[must_use]
    pub fn of<P: AsRef<Path> + ?Sized>(dataset: &'a P) -> Self {
        Self {
            dataset: dataset.as_ref(),
            keep_last: NonZeroUsize::MIN,
            older_than: Duration::ZERO,
            grace: None,
            dry_run: false,
            report: None,
            interrupt: Interrupt::default(),
            wait: Duration::ZERO,
        }
    }

    /// Also keeps the newest `versions` versions. 0 counts as 1, because the newest version never expires.
    #[must_use]
    pub fn keep_last(self, versions: usize) -> Self {
        Self { keep_last: NonZeroUsize::new(versions).unwrap_or(NonZeroUsize::MIN), ..self }
    }

    /// Also keeps the versions that were the newest one at some time during the last `age`, so that each
    /// [`AsOf::Time`](trueup_core::dataset::AsOf::Time) in it can still be read.
    #[must_use]
    pub fn older_than(self, age: Duration) -> Self {
        Self { older_than: age, ..self }
    }

    /// Sets how long files stay after their version has expired, in whole seconds; 24 hours by default. A
    /// [`vacuum`](Self::vacuum) applies a period that is set to all expired versions; otherwise, each version keeps the
    /// period with which it expired. With 0, a reader of an expired version fails when it needs a file that is gone; it
    /// never answers from other data.
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace: Some(grace), ..self }
    }

    /// Only finds out what would be removed. The leftovers of killed ingests and purges are not counted. Because
    /// nothing is written, the clock of this machine stands in for the one of the store or of the file system.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Stops the removal when this interrupt or a clone of it is canceled, or at its deadline.
    #[must_use]
    pub fn interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Lets the removal wait at most this long, from its start, for an ingest that writes to the dataset in the folder.
    /// If not set, the removal fails at once with [`ErrorKind::Busy`]. In an object store, it has nothing to wait for.
    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        Self { wait: time, ..self }
    }

    /// Calls `report` when a phase begins, and after each file that is removed.
    #[must_use]
    pub fn progress(self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        Self { report: Some(ReportProgress::new(report)), ..self }
    }

    /// Lets versions expire, and removes the files whose grace period is over.
    ///
    /// # Errors
    /// There is no such dataset, another command is writing to it, a manifest is damaged, the removal is interrupted,
    /// or the file system or the store refuses.
    pub fn run(self) -> Result<ExpireSummary, IngestError> {
        let retention = Retention { keep_last: self.keep_last, older_than: self.older_than };
        self.remove(Some(&retention))
    }

    /// Removes the files of versions that have expired before, if their grace period is over, and leftovers of killed
    /// ingests.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn vacuum(self) -> Result<ExpireSummary, IngestError> {
        self.remove(None)
    }

    fn remove(mut self, retention: Option<&Retention>) -> Result<ExpireSummary, IngestError> {
        let monitor = Monitor::new(self.report.take(), self.interrupt.clone()).waiting(self.wait);
        monitor.check()?;
        // A folder without a dataset must not become one.
        if manifest_file::versions(self.dataset)?.is_empty() {
            return Err(ErrorKind::NoDataset(without_credentials(self.dataset)).into());
        }
        let removed = if self.dry_run { self.find(retention, &monitor) } else { self.locked(retention, &monitor) };
        removed.map_err(|error| monitor.explain(error))
    }

    fn find(&self, retention: Option<&Retention>, monitor: &Monitor) -> Result<ExpireSummary, IngestError> {
        monitor.begin(Phase::ReadingManifests, None);
        let now = expiry::estimate_now(self.dataset)?;
        let plan = retention.map(|retention| Expiry::plan(self.dataset, retention, now)).transpose()?;
        let unnamed = Unnamed::find(self.dataset, self.grace.filter(|_| plan.is_none()), now)?;
        let plan = match plan {
            Some(plan) => plan,
            None => Expiry { kept: manifest_file::versions(self.dataset)?, ..Expiry::default() },
        };
        let mut summary = ExpireSummary::new(&plan, &unnamed);
        let expired = FileCount::of(plan.files.iter().map(|file| file.size));
        if self.grace.is_some_and(|grace| grace.is_zero()) {
            summary.removed.add(expired);
        } else {
            summary.waiting.add(expired);
        }
        Ok(summary)
    }

    fn locked(&self, retention: Option<&Retention>, monitor: &Monitor) -> Result<ExpireSummary, IngestError> {
        let files = monitor.stoppable(Files::default());
        // Removes the leftovers of killed ingests, and what was due before.
        let (version, _) = VersionBuilder::begin(&files, self.dataset, monitor)?;
        monitor.begin(Phase::ReadingManifests, None);
        let plan = match retention {
            Some(retention) => {
                let plan = Expiry::plan(self.dataset, retention, version.now())?;
                let grace = self.grace.unwrap_or(GRACE);
                plan.commit(&files, self.dataset, version.id(), grace, version.now())?;
                plan
            }
            None => Expiry { kept: manifest_file::versions(self.dataset)?, ..Expiry::default() },
        };
        let unnamed = Unnamed::find(self.dataset, self.grace.filter(|_| retention.is_none()), version.now())?;
        monitor.begin(Phase::RemovingFiles, Some(unnamed.due_bytes()));
        unnamed.remove(&files, self.dataset, monitor.interrupt(), |file| monitor.add(0, file.size))?;
        let mut summary = ExpireSummary::new(&plan, &unnamed);
        summary.removed.add(version.removed_at_begin());
        summary.expired.extend(version.expired_at_begin());
        summary.expired.sort_unstable();
        Ok(summary)
    }
}

impl ExpireSummary {
    fn new(plan: &Expiry, unnamed: &Unnamed) -> Self {
        Self {
            expired: plan.expired.clone(),
            kept: plan.kept.clone(),
            removed: FileCount::of(unnamed.due.iter().map(|file| file.size)),
            waiting: FileCount::of(unnamed.waiting.iter().map(|file| file.size)),
        }
    }
}
