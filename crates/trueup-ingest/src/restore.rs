//! Makes the content of an earlier version that of the newest one.

use crate::CREATED_BY;
use crate::error::{ErrorKind, IngestError};
use crate::events::forgotten_rows;
use crate::forget::stored_forgotten;
use crate::monitor::{Monitor, Phase, Progress, ReportProgress};
use crate::version::VersionBuilder;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use trueup_core::Interrupt;
use trueup_core::dataset::manifest::{DataFile, Manifest};
use trueup_core::dataset::{CommitOperation, DeletionVector, ForgottenCustomers, manifest_file};

/// The restoration of an earlier version: a new version with its content, and with the batches that it was made from,
/// so that what was ingested since can be ingested again. Customers who were forgotten since stay forgotten: all their
/// events are left out. No file is written again. The folder is locked as by an ingest; below a URL, the version is
/// committed only if no other one was committed meanwhile.
///
/// The version must not expire without a grace period meanwhile, because its files may then be removed.
///
/// ```
/// use trueup_ingest::{Ingest, Restore};
///
/// # let dir = tempfile::tempdir()?;
/// # let (dataset, good, bad) = (dir.path().join("d"), dir.path().join("good.csv"), dir.path().join("bad.csv"));
/// # std::fs::write(&good, "account,opportunityId,type,date\nacme,1,sold,2025-01-31\n")?;
/// # std::fs::write(&bad, "account,opportunityId,type,date\nacme,2,sold,2025-01-31\n")?;
/// Ingest::into(&dataset).events(&good).run()?;
/// Ingest::into(&dataset).events(&bad).run()?;
/// assert_eq!(Restore::of(&dataset, 1).run()?.version, 3);
/// # assert_eq!(trueup_core::Dataset::open(&dataset)?.event_rows(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until it is run"]
pub struct Restore<'a> {
    dataset: &'a Path,
    to: u64,
    report: Option<ReportProgress>,
    interrupt: Interrupt,
    wait: Duration,
}

/// What was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreSummary {
    /// The newest version, which has the content of the version to restore.
    pub version: u64,
    /// The events that it does not have, because their customers were forgotten since.
    pub forgotten: u64,
}

impl<'a> Restore<'a> {
    /// Prepares the restoration of a version of a dataset, in a folder or below a URL.
    pub fn of<P: AsRef<Path> + ?Sized>(dataset: &'a P, to: u64) -> Self {
        let (report, interrupt, wait) = (None, Interrupt::default(), Duration::ZERO);
        Self { dataset: dataset.as_ref(), to, report, interrupt, wait }
    }

    /// Lets the restoration wait at most this long, from its start, for others that write to the dataset. If not set,
    /// it fails at once with [`ErrorKind::Busy`].
    pub fn wait(self, time: Duration) -> Self {
        Self { wait: time, ..self }
    }

    /// Calls `report` when a phase begins, as [`Ingest::progress`](crate::Ingest::progress).
    pub fn progress(self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        Self { report: Some(ReportProgress::new(report)), ..self }
    }

    /// Stops the restoration when this interrupt is canceled, or at its deadline, unless the version is published.
    pub fn interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Restores the version. If it is the newest one, nothing changes.
    ///
    /// # Errors
    /// There is no such dataset, the version never existed or has expired, it is damaged, another command is writing to
    /// the dataset or has published a version meanwhile, the call is interrupted, or the file system or the store
    /// refuses. The dataset is unchanged, unless [`may_be_published`](IngestError::may_be_published) returns `true`.
    pub fn run(mut self) -> Result<RestoreSummary, IngestError> {
        let monitor = Monitor::new(self.report.take(), self.interrupt.clone()).waiting(self.wait);
        VersionBuilder::after_newest(self.dataset, &monitor, |version, latest| self.publish(version, latest, &monitor))
    }

    fn publish(
        &self,
        mut version: VersionBuilder,
        latest: Manifest,
        monitor: &Monitor,
    ) -> Result<RestoreSummary, IngestError> {
        if self.to == latest.version {
            return Ok(RestoreSummary { version: latest.version, forgotten: 0 });
        }
        // A version whose purge is not complete yet must not come back.
        let is_purged = version.purges(&[self.to].into());
        if is_purged || !manifest_file::versions(self.dataset)?.contains(&self.to) {
            let is_taken = (1..version.number()).contains(&self.to);
            return Err(ErrorKind::NotRestored { version: self.to, newest: latest.version, is_taken }.into());
        }
        let mut manifest = manifest_file::read(self.dataset, self.to)?;
        version.restore(&manifest);
        let mut summary = RestoreSummary { version: version.number(), forgotten: 0 };
        if let Some(file) = latest.forgotten.filter(|file| Some(file) != manifest.forgotten.as_ref()) {
            let forgotten = stored_forgotten(self.dataset, &file)?;
            let before = manifest.forgotten.as_ref().map(|file| stored_forgotten(self.dataset, file)).transpose()?;
            let forgotten = if let Some(before) = before { forgotten.since(&before) } else { forgotten };
            let rows = self.forgotten_rows(&manifest, &forgotten, monitor)?;
            summary.forgotten = rows.values().map(DeletionVector::rows).sum();
            version.supersede(rows);
            manifest.forgotten = Some(file);
        }
        manifest.version = version.number();
        CREATED_BY.clone_into(&mut manifest.created_by);
        version.publish(&mut manifest, CommitOperation::Restore, monitor)?;
        Ok(summary)
    }

    /// Finds the events of a version that customers have who were forgotten since.
    fn forgotten_rows(
        &self,
        manifest: &Manifest,
        forgotten: &ForgottenCustomers,
        monitor: &Monitor,
    ) -> Result<BTreeMap<String, DeletionVector>, IngestError> {
        monitor.begin(Phase::FindingCustomers, Some(manifest.events.iter().map(|file| file.size).sum()));
        let find = |file: &DataFile| {
            let rows = forgotten_rows(file, &manifest.superseded, forgotten, self.dataset, monitor)?;
            monitor.add(0, file.size);
            Ok((file.path.clone(), rows))
        };
        let found = manifest.events.par_iter().map(find).collect::<Result<Vec<_>, IngestError>>()?;
        Ok(found.into_iter().filter(|(_, rows)| rows.rows() > 0).collect())
    }
}
