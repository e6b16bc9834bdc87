//! A running ingest as its caller sees it: the progress that it reports, the interrupt that stops it, and how long it
//! may wait for others.

use crate::error::{ErrorKind, IngestError};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tracing::Span;
use trueup_core::dataset::DatasetError;
use trueup_core::files::{FaultInjector, Files, InjectedFault, Operation};
use trueup_core::{Interrupt, Interruption};

/// How far an ingest or another [`Command`](crate::Command) is. [`Command::progress`](crate::Command::progress) reports
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What the ingest is doing.
    pub phase: Phase,
    /// The rows of the phase that are done.
    pub rows: u64,
    /// The bytes of the phase that are done: of the inputs as they are given, of stored files, of new files that are
    /// uploaded, or of files that are removed; of record batches that are received, the bytes of memory. 0 while files
    /// are written.
    pub bytes: u64,
    /// The bytes of the phase, if they are known in advance.
    pub total_bytes: Option<u64>,
    /// The rows of the phase, if they are known in advance: while files are written.
    pub total_rows: Option<u64>,
}

/// A phase of an ingest. An ingest goes through the phases of the tables that it changes, in this order.
/// [`ReceivingInputs`](Self::ReceivingInputs) begins again for each input that is no file,
/// [`CheckingInputs`](Self::CheckingInputs) for each table that has earlier batches, and
/// [`ReadingStoredEvents`](Self::ReadingStoredEvents) if files are written again after the events of touched customers
/// were read. [`RemovingFiles`](Self::RemovingFiles) follows [`Waiting`](Self::Waiting), if files of expired versions
/// are due. All begin again if another ingest into the object store was first, and this one may
/// [wait](crate::Command::wait). If the ingest merges files when it ends, the phases of a compaction follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Waits for another command that writes to the dataset.
    Waiting,
    /// Receives inputs that are not files.
    ReceivingInputs,
    /// Compares the inputs with those of earlier ingests.
    CheckingInputs,
    /// Reads the list of the customers to forget.
    ReadingCustomers,
    /// Looks for the customers to forget in a file of rejected rows.
    ReadingRejects,
    /// Looks for the customers to forget in the stored event files.
    FindingCustomers,
    /// Reads the inputs of a table, given by its name: `accounts` comes first, then the phases that follow here, and
    /// then `events`, `spend`, `insights` and `targets`, in this order.
    Reading(&'static str),
    /// Reads the events to find the first conversion of each customer, if a mapping gives first-touch credit.
    FindingConversions,
    /// Reading events of a mapping, to find the records that they are of.
    FindingRecords,
    /// Reading a patch, to find the events that it changes.
    FindingPatched,
    /// Reads the stored events of touched customers, and the event files that are written again. A compaction reads the
    /// event files to merge, and a command that forgets customers the files that it writes again.
    ReadingStoredEvents,
    /// Sorts events and writes their files.
    WritingEvents,
    /// Sorts spend and writes its file.
    WritingSpend,
    /// Uploads the new files to the object store of the dataset.
    Uploading,
    /// Reads the manifests of all versions, to find what expires.
    ReadingManifests,
    /// Removes files of expired versions.
    RemovingFiles,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Waiting => "waiting for another writer",
            Self::ReceivingInputs => "receiving inputs",
            Self::CheckingInputs => "checking what is new",
            Self::ReadingCustomers => "reading customers",
            Self::ReadingRejects => "reading rejected rows",
            Self::FindingCustomers => "finding customers",
            Self::FindingConversions => "finding first conversions",
            Self::FindingRecords => "finding records",
            Self::FindingPatched => "finding events to patch",
            Self::Reading(table) => return write!(f, "reading {table}"),
            Self::ReadingStoredEvents => "reading stored events",
            Self::WritingEvents => "writing events",
            Self::WritingSpend => "writing spend",
            Self::Uploading => "uploading files",
            Self::ReadingManifests => "reading manifests",
            Self::RemovingFiles => "removing files",
        };
        f.write_str(name)
    }
}

/// Receives the progress of an ingest.
pub(crate) struct ReportProgress(Box<dyn FnMut(&Progress) + Send>);

impl ReportProgress {
    pub(crate) fn new(report: impl FnMut(&Progress) + Send + 'static) -> Self {
        Self(Box::new(report))
    }
}

impl fmt::Debug for ReportProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReportProgress")
    }
}

/// Reports the progress of an ingest, traces it, and stops it when it is interrupted.
pub(crate) struct Monitor {
    /// `None` if nobody wants to know the progress.
    reporter: Option<Mutex<Reporter>>,
    stop: Arc<Stop>,
    /// The whole ingest in a trace.
    span: Span,
    /// The phase in a trace; none before the first phase.
    phase: Mutex<Span>,
    /// When the ingest began, and how long it may wait for others from then on.
    begun: Instant,
    wait: Duration,
    /// Whether what is left to do is not worth a wait.
    is_impatient: AtomicBool,
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("stop", &self.stop).finish_non_exhaustive()
    }
}

struct Reporter {
    /// `None` before the first phase.
    progress: Option<Progress>,
    report: ReportProgress,
}

/// The interrupt of an ingest, and whether it has stopped the ingest.
#[derive(Debug, Default)]
struct Stop {
    interrupt: Interrupt,
    stopped_by: OnceLock<Interruption>,
}

impl Monitor {
    pub(crate) fn new(report: Option<ReportProgress>, interrupt: Interrupt, wait: Duration) -> Self {
        let reporter = report.map(|report| Mutex::new(Reporter { progress: None, report }));
        let stop = Arc::new(Stop { interrupt, stopped_by: OnceLock::new() });
        let (span, phase) = (tracing::debug_span!("ingest"), Mutex::new(Span::none()));
        Self { reporter, stop, span, phase, begun: Instant::now(), wait, is_impatient: AtomicBool::new(false) }
    }

    /// Returns how long the ingest may wait for others in all.
    pub(crate) const fn wait(&self) -> Duration {
        self.wait
    }

    /// Ends all waits, because what is left to do is not worth one.
    pub(crate) fn stop_waiting(&self) {
        self.is_impatient.store(true, Ordering::Relaxed);
    }

    /// Returns whether the ingest may still wait for others.
    pub(crate) fn may_wait(&self) -> bool {
        !self.is_impatient.load(Ordering::Relaxed) && self.begun.elapsed() < self.wait
    }

    /// Returns file operations that the interrupt makes fail. What cleans up still works.
    pub(crate) fn stoppable(&self, files: Files) -> Files {
        Files::failing(Arc::new(StoppableFiles { files, stop: Arc::clone(&self.stop) }))
    }

    /// Returns the interrupt, for what waits by itself.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.stop.interrupt
    }

    /// Begins a phase.
    pub(crate) fn begin(&self, phase: Phase, total_bytes: Option<u64>) {
        self.trace(phase);
        self.report(|progress| *progress = Some(Progress { phase, rows: 0, bytes: 0, total_bytes, total_rows: None }));
    }

    /// Begins a phase that writes rows.
    pub(crate) fn begin_rows(&self, phase: Phase, rows: u64) {
        self.trace(phase);
        let total_rows = Some(rows);
        self.report(|progress| {
            *progress = Some(Progress { phase, rows: 0, bytes: 0, total_bytes: None, total_rows });
        });
    }

    /// Ends the phase before in a trace, and begins this one.
    fn trace(&self, phase: Phase) {
        let span = tracing::debug_span!(parent: &self.span, "phase", name = %phase);
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = span;
    }

    /// Adds rows and bytes that are done.
    pub(crate) fn add(&self, rows: usize, bytes: u64) {
        self.report(|progress| {
            if let Some(progress) = progress {
                progress.rows += u64::try_from(rows).unwrap_or(0);
                progress.bytes += bytes;
            }
        });
    }

    fn report(&self, change: impl FnOnce(&mut Option<Progress>)) {
        let Some(reporter) = &self.reporter else { return };
        // The caller's function may have panicked before; what it is passed is sound nevertheless.
        let Reporter { progress, report } = &mut *reporter.lock().unwrap_or_else(PoisonError::into_inner);
        change(progress);
        if let Some(progress) = progress {
            (report.0)(progress);
        }
    }

    /// Checks whether the ingest may continue.
    pub(crate) fn check(&self) -> Result<(), IngestError> {
        self.stop.check().map_err(|interruption| ErrorKind::Interrupted(interruption).into())
    }

    /// Names the interrupt as the reason of an error that it has caused: a file operation that it made fail has an
    /// error of its own.
    pub(crate) fn explain(&self, error: IngestError) -> IngestError {
        let stopped_by = self.stop.stopped_by.get().copied().or_else(|| interruption_of(&error));
        match stopped_by {
            Some(interruption) if !error.may_be_published() => ErrorKind::Interrupted(interruption).into(),
            _ => error,
        }
    }
}

/// Returns what interrupted the reading of the dataset or the removal of its files, if that caused the error.
fn interruption_of(error: &IngestError) -> Option<Interruption> {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.find_map(|cause| match cause.downcast_ref() {
        Some(DatasetError::Interrupted(interruption)) => Some(*interruption),
        // The removal of expired files wraps it.
        _ => cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref::<Interruption>().copied(),
    })
}

impl Stop {
    fn check(&self) -> Result<(), Interruption> {
        self.interrupt.check().inspect_err(|interruption| {
            self.stopped_by.get_or_init(|| *interruption);
        })
    }
}

/// The file operations of an ingest. Once it is interrupted, each fails, except for the ones that an ingest needs to
/// leave nothing behind: to remove files, and to sync what has become visible.
#[derive(Debug)]
struct StoppableFiles {
    files: Files,
    stop: Arc<Stop>,
}

impl FaultInjector for StoppableFiles {
    fn before(&self, operation: Operation, path: &Path) -> Option<InjectedFault> {
        let fault = self.files.before(operation, path);
        let cleans_up = matches!(operation, Operation::Remove | Operation::RemoveFolder | Operation::Sync);
        match self.stop.check() {
            Err(interruption) if !cleans_up => Some(InjectedFault::Fail(io::Error::other(interruption))),
            _ => fault,
        }
    }

    fn max_manifest_bytes(&self) -> Option<u64> {
        self.files.max_manifest_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueup_core::dataset::manifest_file::ManifestError;

    #[test]
    fn an_interrupted_removal_is_an_interruption() {
        let failed = |source: io::Error| -> IngestError {
            let path = "events/a.parquet".into();
            ErrorKind::Manifest(ManifestError::Io { action: "remove", path, source }).into()
        };
        let interrupted = failed(io::Error::new(io::ErrorKind::Interrupted, Interruption::Deadline));
        assert_eq!(interruption_of(&interrupted), Some(Interruption::Deadline));
        assert_eq!(interruption_of(&failed(io::ErrorKind::Interrupted.into())), None);
    }
}
