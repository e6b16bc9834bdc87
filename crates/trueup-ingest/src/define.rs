//! Stores the definitions of metrics and dimensions with a dataset.

use crate::CREATED_BY;
use crate::error::IngestError;
use crate::monitor::{Monitor, Progress, ReportProgress};
use crate::version::VersionBuilder;
use std::path::Path;
use std::time::Duration;
use trueup_core::Interrupt;
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::{CommitOperation, read_definitions};
use trueup_core::definitions::Definitions;

/// The replacement of the metrics and dimensions that a dataset defines, in a new version. Later ingests keep them.
/// Definitions that define nothing remove those of the dataset. The folder is locked as by an ingest; below a URL, the
/// version is committed only if no other one was committed meanwhile.
///
/// ```no_run
/// use trueup_core::definitions::Definitions;
/// use trueup_ingest::Define;
///
/// let definitions = Definitions::parse(&std::fs::read_to_string("definitions.toml")?)?;
/// let version = Define::of("acme", &definitions).run()?;
/// println!("version {version}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until it is run"]
pub struct Define<'a> {
    dataset: &'a Path,
    definitions: &'a Definitions,
    report: Option<ReportProgress>,
    interrupt: Interrupt,
    wait: Duration,
}

impl<'a> Define<'a> {
    /// Prepares the replacement of the definitions of a dataset, in a folder or below a URL.
    pub fn of<P: AsRef<Path> + ?Sized>(dataset: &'a P, definitions: &'a Definitions) -> Self {
        Self {
            dataset: dataset.as_ref(),
            definitions,
            report: None,
            interrupt: Interrupt::default(),
            wait: Duration::ZERO,
        }
    }

    /// Lets the replacement wait at most this long, from its start, for others that write to the dataset. If not set,
    /// the replacement fails at once with [`Busy`](crate::ErrorKind::Busy). In an object store, it begins again from
    /// the newest version if another writer was faster, unless this time is over.
    pub fn wait(self, time: Duration) -> Self {
        Self { wait: time, ..self }
    }

    /// Calls `report` when a phase begins, and each time some of its bytes are done, as
    /// [`Ingest::progress`](crate::Ingest::progress).
    pub fn progress(self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        Self { report: Some(ReportProgress::new(report)), ..self }
    }

    /// Stops the replacement when this interrupt or a clone of it is canceled, or at its deadline, unless the version
    /// is published by then.
    pub fn interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Replaces the definitions. Returns the number of the new version, or that of the newest one if its definitions
    /// are the same already.
    ///
    /// # Errors
    /// There is no such dataset, a definition does not suit its columns, another command is writing to it or has
    /// published a version meanwhile, the call is interrupted, or the file system or the store refuses. The dataset is
    /// unchanged, unless [`may_be_published`](IngestError::may_be_published) returns `true`.
    pub fn run(mut self) -> Result<u64, IngestError> {
        let monitor = Monitor::new(self.report.take(), self.interrupt.clone()).waiting(self.wait);
        VersionBuilder::after_newest(self.dataset, &monitor, |version, latest| self.publish(version, latest, &monitor))
    }

    fn publish(
        &self,
        mut version: VersionBuilder,
        mut manifest: Manifest,
        monitor: &Monitor,
    ) -> Result<u64, IngestError> {
        let stored = match &manifest.definitions {
            None => Some(Definitions::default()),
            // Definitions that cannot be read are replaced.
            Some(file) => read_definitions(self.dataset, file).ok(),
        };
        let new = self.definitions;
        let is_same = |stored: &Definitions| stored == new || stored.is_empty() && new.is_empty();
        if stored.as_ref().is_some_and(is_same) {
            return Ok(manifest.version);
        }
        version.write_definitions(new, &mut manifest)?;
        manifest.version = version.number();
        CREATED_BY.clone_into(&mut manifest.created_by);
        version.publish(&mut manifest, CommitOperation::Define, monitor)?;
        Ok(manifest.version)
    }
}
