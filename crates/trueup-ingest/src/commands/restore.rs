//! Makes the content of an earlier version that of the newest one.

use super::forget::stored_forgotten;
use super::{Action, Command, Run};
use crate::error::{ErrorKind, IngestError};
use crate::events::forgotten_rows;
use crate::monitor::Phase;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use trueup_core::dataset::manifest::{DataFile, FORGOTTEN_FOLDER, Manifest};
use trueup_core::dataset::{CommitOperation, DeletionVector, ForgottenCustomers, manifest_file};

/// The restoration of an earlier version: a new version with its content, and with the batches that it was made from,
/// so that what was ingested since can be ingested again. Customers who were forgotten since stay forgotten: all their
/// events are left out. No file is written again. If the version is the newest one, nothing changes.
///
/// [`run`](Command::run) fails if the version never existed or has expired. The version must not expire without a grace
/// period meanwhile, because its files may then be removed.
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
/// assert_eq!(Restore::new(&dataset, 1).run()?.version, 3);
/// # assert_eq!(trueup_core::Dataset::open(&dataset)?.event_rows(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Restore = Command<Restoration>;

/// What [`Restore`] does.
#[derive(Debug)]
pub struct Restoration {
    to: u64,
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

impl Restore {
    /// Prepares the restoration of a version of a dataset, in a folder or below a URL.
    pub fn new(dataset: impl AsRef<Path>, to: u64) -> Self {
        Self::prepare(dataset, Restoration { to })
    }
}

impl Action for Restoration {
    type Summary = RestoreSummary;

    fn perform(self, run: &Run) -> Result<RestoreSummary, IngestError> {
        run.attempts(|| self.restore(run).map(Some))
    }
}

impl Restoration {
    fn restore(&self, run: &Run) -> Result<RestoreSummary, IngestError> {
        let (mut version, latest) = run.begin_after_newest()?;
        if self.to == latest.version {
            return Ok(RestoreSummary { version: latest.version, forgotten: 0 });
        }
        // A version whose purge is not complete yet must not come back.
        let is_purged = version.purges(&[self.to].into());
        if is_purged || !manifest_file::versions(run.dataset())?.contains(&self.to) {
            let is_taken = (1..version.number()).contains(&self.to);
            return Err(ErrorKind::NotRestored { version: self.to, newest: latest.version, is_taken }.into());
        }
        let mut manifest = manifest_file::read(run.dataset(), self.to)?;
        version.restore(&manifest);
        let mut summary = RestoreSummary { version: version.number(), forgotten: 0 };
        let before = manifest.named(FORGOTTEN_FOLDER);
        if let Some(file) = latest.named(FORGOTTEN_FOLDER).filter(|file| Some(*file) != before) {
            let forgotten = stored_forgotten(run.dataset(), file)?.since(self.to);
            let rows = rows_of(&forgotten, &manifest, run)?;
            summary.forgotten = rows.values().map(DeletionVector::rows).sum();
            version.supersede(rows);
            manifest.set_named(file.clone());
        }
        version.publish(manifest, CommitOperation::Restore, &run.monitor)?;
        Ok(summary)
    }
}

/// Finds the events that forgotten customers have in a version.
fn rows_of(
    forgotten: &ForgottenCustomers,
    manifest: &Manifest,
    run: &Run,
) -> Result<BTreeMap<String, DeletionVector>, IngestError> {
    let monitor = &run.monitor;
    monitor.begin(Phase::FindingCustomers, Some(manifest.events.iter().map(|file| file.size).sum()));
    let find = |file: &DataFile| {
        let rows = forgotten_rows(file, &manifest.superseded, forgotten, run.dataset(), monitor)?;
        monitor.add(0, file.size);
        Ok((file.path.clone(), rows))
    };
    let found = manifest.events.par_iter().map(find).collect::<Result<Vec<_>, IngestError>>()?;
    Ok(found.into_iter().filter(|(_, rows)| rows.rows() > 0).collect())
}
