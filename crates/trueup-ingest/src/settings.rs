//! Where a dataset is, and how its files are read and written: what ingests, compactions and forgetting have in common.

use crate::IngestError;
use crate::error::ErrorContext;
use crate::monitor::{Monitor, Progress, ReportProgress};
use crate::read::TableReader;
use crate::rejected_rows::RejectedRows;
use crate::rejects::FaultyRows;
use crate::source::ReadLimits;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueup_core::Interrupt;
use trueup_core::files::Files;

/// Bytes of memory per row of a batch. Several batches are decoded in parallel, and each exists in several forms before
/// its rows are buffered.
const ROW_BYTES: usize = 4_096;

/// The settings that ingests, compactions and forgetting have in common. [`Ingest`](crate::Ingest) documents them.
#[derive(Debug)]
pub(crate) struct CommonSettings {
    pub(crate) dir: PathBuf,
    pub(crate) memory: usize,
    pub(crate) group_rows: usize,
    pub(crate) file_rows: usize,
    pub(crate) batch_rows: usize,
    pub(crate) max_columns: usize,
    pub(crate) max_text_bytes: usize,
    pub(crate) threads: Option<usize>,
    pub(crate) files: Files,
    report: Option<ReportProgress>,
    interrupt: Interrupt,
    wait: Duration,
}

impl CommonSettings {
    /// Returns the defaults for a dataset.
    pub(crate) fn of(dataset: impl AsRef<Path>) -> Self {
        Self {
            dir: dataset.as_ref().to_owned(),
            memory: 1 << 30,
            group_rows: 65_536,
            file_rows: 1 << 20,
            batch_rows: 65_536,
            max_columns: 2_000,
            max_text_bytes: 1 << 20,
            threads: None,
            files: Files::default(),
            report: None,
            interrupt: Interrupt::default(),
            wait: Duration::ZERO,
        }
    }

    pub(crate) fn memory(self, bytes: usize) -> Self {
        Self { memory: bytes.max(1), ..self }
    }

    pub(crate) fn row_group_rows(self, rows: usize) -> Self {
        Self { group_rows: rows.max(1), ..self }
    }

    pub(crate) fn file_rows(self, rows: usize) -> Self {
        Self { file_rows: rows.max(1), ..self }
    }

    pub(crate) fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads.max(1)), ..self }
    }

    pub(crate) fn progress(self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        Self { report: Some(ReportProgress::new(report)), ..self }
    }

    pub(crate) fn interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    pub(crate) fn wait(self, time: Duration) -> Self {
        Self { wait: time, ..self }
    }

    pub(crate) fn files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// Returns the monitor of a run, whose interrupt also ends file operations from now on. `may_wait` says whether the
    /// run may wait for others, for the time that was set.
    pub(crate) fn monitor(&mut self, may_wait: bool) -> Monitor {
        let wait = if may_wait { self.wait } else { Duration::ZERO };
        let monitor = Monitor::new(self.report.take(), self.interrupt.clone()).waiting(wait);
        self.files = monitor.stoppable(std::mem::take(&mut self.files));
        monitor
    }

    /// Returns the reader of all tables.
    pub(crate) fn reader<'a>(&'a self, faulty_rows: FaultyRows, monitor: &'a Monitor) -> TableReader<'a> {
        TableReader {
            files: &self.files,
            limits: self.limits(),
            monitor,
            faulty_rows,
            rejected: RejectedRows::default(),
            warnings: Vec::new(),
            shared_ids: None,
        }
    }

    /// Returns the limits of what is read.
    pub(crate) fn limits(&self) -> ReadLimits {
        ReadLimits {
            rows: self.batch_rows.min((self.memory / ROW_BYTES).max(1)),
            decoded_bytes: self.memory / 8,
            max_columns: self.max_columns,
            max_text_bytes: self.max_text_bytes,
        }
    }
}

/// Runs `run` on a number of threads; without one, on the current thread pool.
pub(crate) fn on_threads<T: Send>(
    threads: Option<usize>,
    run: impl FnOnce() -> Result<T, IngestError> + Send,
) -> Result<T, IngestError> {
    let Some(threads) = threads else { return run() };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().doing("start threads")?.install(run)
}
