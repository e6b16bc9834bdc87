//! Where a dataset is, and how its files are read and written: what all commands have in common.

use crate::IngestError;
use crate::error::ErrorContext;
use crate::monitor::Monitor;
use crate::read::TableReader;
use crate::rejects::FaultyRows;
use crate::source::ReadLimits;
use std::path::{Path, PathBuf};
use trueup_core::files::Files;

/// Bytes of memory per row of a batch. Several batches are decoded in parallel, and each exists in several forms before
/// its rows are buffered.
const ROW_BYTES: usize = 4_096;

/// The settings that commands have in common. [`Command`](crate::Command) documents them.
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
}

impl CommonSettings {
    /// Returns the defaults for a dataset.
    pub(crate) fn new(dataset: &Path) -> Self {
        Self {
            dir: dataset.to_owned(),
            memory: 1 << 30,
            group_rows: 65_536,
            file_rows: 1 << 20,
            batch_rows: 65_536,
            max_columns: 2_000,
            max_text_bytes: 1 << 20,
            threads: None,
            files: Files::default(),
        }
    }

    /// Returns the reader of all tables.
    pub(crate) fn reader<'a>(&'a self, faulty_rows: FaultyRows, monitor: &'a Monitor) -> TableReader<'a> {
        TableReader::new(&self.files, self.limits(), monitor, faulty_rows)
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

    /// Runs `run` on the number of threads that was set; without one, on the current thread pool.
    pub(crate) fn on_threads<T: Send>(
        &self,
        run: impl FnOnce() -> Result<T, IngestError> + Send,
    ) -> Result<T, IngestError> {
        let Some(threads) = self.threads else { return run() };
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().doing("start threads")?.install(run)
    }
}
