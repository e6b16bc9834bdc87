//! `Version`, an entry of `Dataset.versions`; what was restated between two versions; `expire` and `vacuum`.

use crate::arguments::{self, Keywords};
use crate::dataset::Dataset;
use crate::error::Failure;
use crate::run::run_command;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use trueup::ingest::{Expire, ExpireSummary};
use trueup::query::EventsQuery;
use trueup::versions::{AsOf, VersionSummary};
use trueup::{DatasetError, Execution, ResultTable};

/// A version of a dataset.
#[pyclass(frozen, module = "trueup", get_all, skip_from_py_object)]
#[derive(Clone)]
pub(crate) struct Version {
    /// The number of the version.
    version: u64,
    /// When it was committed, as a `datetime` in UTC.
    committed: SystemTime,
    /// What made it, such as "ingest".
    operation: String,
    /// The program that made it.
    created_by: String,
    /// The number of its events.
    events: u64,
    /// The number of its rows of spend.
    spend: u64,
    /// The number of its files, without the manifest.
    files: u64,
    /// The bytes of its files.
    bytes: u64,
    /// The number of its files that no other version names.
    own_files: u64,
    /// The bytes of the files that no other version names. They are freed when the version has expired and its grace
    /// period is over.
    own_bytes: u64,
}

#[pymethods]
impl Version {
    fn __repr__(&self) -> String {
        format!("<Version {}: {}, {} events>", self.version, self.operation, self.events)
    }
}

impl From<VersionSummary> for Version {
    fn from(summary: VersionSummary) -> Self {
        Self {
            version: summary.version,
            committed: summary.committed.into(),
            operation: summary.operation.name().to_owned(),
            created_by: summary.created_by,
            events: summary.events,
            spend: summary.spend,
            files: summary.files,
            bytes: summary.bytes,
            own_files: summary.own_files,
            own_bytes: summary.own_bytes,
        }
    }
}

/// Returns the versions of the dataset at a path.
pub(crate) fn of(path: &Path) -> Result<Vec<Version>, Failure> {
    let versions = VersionSummary::of_all(path).map_err(DatasetError::from)?;
    Ok(versions.into_iter().map(Version::from).collect())
}

/// The version that a dataset is compared with.
pub(crate) struct EarlierVersion {
    path: PathBuf,
    as_of: AsOf,
}

impl EarlierVersion {
    /// Reads an argument: another open dataset; or a version of the dataset at `path`, by its number or a time.
    pub(crate) fn read(value: &Bound<'_, PyAny>, path: &Path) -> Result<Self, Failure> {
        Ok(match value.cast::<Dataset>() {
            Ok(dataset) => Self { path: dataset.get().folder().into(), as_of: dataset.get().version().into() },
            Err(_) => Self { path: path.into(), as_of: arguments::as_of("before", value)? },
        })
    }
}

/// Answers a query on `after` and on an earlier version, and returns the rows that differ.
pub(crate) fn restated(
    before: &EarlierVersion,
    after: &trueup::Dataset,
    query: &EventsQuery,
    execution: &Execution,
) -> Result<ResultTable, Failure> {
    // A column or a definition may be newer than the earlier version, in which such a field is then empty.
    let opened = trueup::Dataset::open_as_of(&before.path, before.as_of)?;
    let opened = opened.with_definitions_of(after).map_err(|fault| {
        let before = before.as_of;
        Failure::Query(format!("{before} cannot be answered with the definitions of the later version: {fault}"))
    })?;
    let query = &query.clone().exact_ratios();
    let earlier = opened.run(&query.clone().allow_unknown(true), execution.clone())?.with_totals_row();
    let later = after.run(query, execution.clone())?.with_totals_row();
    later.changes_since(&earlier).map_err(|fault| Failure::Query(fault.to_string()))
}

/// A number of files, and their bytes.
#[pyclass(frozen, module = "trueup", get_all, eq, skip_from_py_object)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct FileCount {
    /// The number of files.
    files: u64,
    /// Their bytes.
    bytes: u64,
}

#[pymethods]
impl FileCount {
    fn __repr__(&self) -> String {
        format!("<FileCount: {} files, {} bytes>", self.files, self.bytes)
    }
}

impl From<trueup::ingest::FileCount> for FileCount {
    fn from(count: trueup::ingest::FileCount) -> Self {
        Self { files: count.files, bytes: count.bytes }
    }
}

/// What was removed; of a dry run, what would have been.
#[pyclass(frozen, module = "trueup", get_all)]
pub(crate) struct ExpireReport {
    /// The numbers of the versions that have expired now, ascending.
    expired: Vec<u64>,
    /// The numbers of the versions that stay, ascending.
    kept: Vec<u64>,
    /// The files that were removed.
    removed: FileCount,
    /// The files of expired versions that wait for the end of their grace period.
    waiting: FileCount,
}

#[pymethods]
impl ExpireReport {
    fn __repr__(&self) -> String {
        let (expired, kept) = (self.expired.len(), self.kept.len());
        format!("<ExpireReport: {expired} expired, {kept} kept; {} files removed>", self.removed.files)
    }
}

impl From<ExpireSummary> for ExpireReport {
    fn from(summary: ExpireSummary) -> Self {
        let ExpireSummary { expired, kept, removed, waiting, .. } = summary;
        Self { expired, kept, removed: removed.into(), waiting: waiting.into() }
    }
}

/// Lets old versions of a dataset expire, and removes the files that no other version needs.
///
/// A version expires if neither `keep_last` nor `older_than` keeps it; the newest one never does. Nobody can
/// open an expired version any more, but its files stay for a grace period, for processes that have opened it before.
/// `expire`, `vacuum` and every ingest remove files whose grace period is over.
///
/// keep_last: keep at least this many of the newest versions. older_than: keep the versions that were the newest one at
///     some time in a period of this length, a `datetime.timedelta`, that ends now. At least one of the two is needed.
/// grace: a `timedelta`, 24 hours by default. A process that has opened an expired version fails when it needs a file
///     that is gone.
/// dry_run: only find out what would be removed. wait: as in `trueup.ingest`. timeout: in seconds. interrupt: a
///     `trueup.Interrupt`.
#[pyfunction]
#[pyo3(
    signature = (dataset, **options),
    text_signature = "(dataset, *, keep_last=None, older_than=None, grace=None, dry_run=False, wait=None, \
                      timeout=None, interrupt=None)"
)]
pub(crate) fn expire(
    py: Python<'_>,
    dataset: PathBuf,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<ExpireReport, Failure> {
    let keywords = Keywords::new("expire", options)?;
    let keep_last: Option<usize> = keywords.value("keep_last", "a number of versions")?;
    let older_than: Option<Duration> = keywords.value("older_than", AGE)?;
    if keep_last.is_none() && older_than.is_none() {
        return Err(Failure::Type("expire() needs `keep_last` or `older_than`, or both".to_owned()));
    }
    if keep_last == Some(0) {
        return Err(Failure::Value("`keep_last`: the newest version never expires, so expected at least 1".to_owned()));
    }
    let expire = Expire::new(&dataset).keep_last(keep_last.unwrap_or(1)).older_than(older_than.unwrap_or_default());
    remove(py, keywords, expire)
}

/// Removes the files of expired versions whose grace period is over, and the leftovers of killed ingests.
///
/// Every ingest does the same before it begins.
///
/// grace: a `datetime.timedelta` that replaces the grace period of versions that have expired before.
/// dry_run: only find out what would be removed. wait: as in `trueup.ingest`. timeout: in seconds. interrupt: a
///     `trueup.Interrupt`.
#[pyfunction]
#[pyo3(
    signature = (dataset, **options),
    text_signature = "(dataset, *, grace=None, dry_run=False, wait=None, timeout=None, interrupt=None)"
)]
pub(crate) fn vacuum(
    py: Python<'_>,
    dataset: PathBuf,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<ExpireReport, Failure> {
    remove(py, Keywords::new("vacuum", options)?, Expire::new(&dataset).vacuum())
}

/// What an age is.
pub(crate) const AGE: &str = "a datetime.timedelta that is not negative";

fn remove(py: Python<'_>, keywords: Keywords<'_>, expire: Expire) -> Result<ExpireReport, Failure> {
    let expire = keywords.value("grace", AGE)?.into_iter().fold(expire, Expire::grace);
    let expire = if keywords.flag("dry_run")? { expire.dry_run() } else { expire };
    let removed = run_command(py, keywords, expire)?.unless_signaled()?;
    Ok(removed.map_err(Failure::Removal)?.into())
}
