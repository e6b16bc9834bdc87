//! `restore`: makes the content of an earlier version that of the newest one.

use crate::arguments::Keywords;
use crate::error::Failure;
use crate::run::run_command;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use trueup::ingest::{Restore, RestoreSummary};

/// What was restored.
#[pyclass(frozen, get_all, module = "trueup")]
pub(crate) struct RestoreReport {
    /// The newest version, which has the content of the version to restore.
    version: u64,
    /// The events that it does not have, because their customers were forgotten since.
    forgotten: u64,
}

#[pymethods]
impl RestoreReport {
    fn __repr__(&self) -> String {
        format!("<RestoreReport: version {}>", self.version)
    }
}

impl From<RestoreSummary> for RestoreReport {
    fn from(RestoreSummary { version, forgotten, .. }: RestoreSummary) -> Self {
        Self { version, forgotten }
    }
}

/// Makes a new version of a dataset with the content of an earlier one.
///
/// The versions in between stay as they are, and files that were ingested since can be ingested again. Customers who
/// were forgotten since stay forgotten.
///
/// to: the number of the version. wait: as in `trueup.ingest`. timeout: in seconds. interrupt: a `trueup.Interrupt`.
#[pyfunction]
#[pyo3(
    signature = (dataset, to, **options),
    text_signature = "(dataset, to, *, wait=None, timeout=None, interrupt=None)"
)]
pub(crate) fn restore(
    py: Python<'_>,
    dataset: PathBuf,
    to: u64,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<RestoreReport, Failure> {
    let keywords = Keywords::new("restore", options)?;
    let summary = run_command(py, keywords, Restore::new(&dataset, to))?.unless_signaled()?;
    summary.map(RestoreReport::from).map_err(Failure::Removal)
}
