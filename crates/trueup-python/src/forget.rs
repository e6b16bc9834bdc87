//! `forget`: removes the events of customers from a dataset.

use crate::arguments::{Keywords, unexpected};
use crate::error::Failure;
use crate::run::run_command;
use crate::versions::{AGE, FileCount};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::path::PathBuf;
use trueup::ingest::{Customer, Forget, ForgetSummary};

/// What was forgotten.
#[pyclass(frozen, module = "trueup", get_all)]
pub(crate) struct ForgetReport {
    /// The newest version, which has no event of the customers.
    version: u64,
    /// The number of customers that had events in the version before.
    customers: u64,
    /// The number of events that the newest version does not have any more.
    events: u64,
    /// The number of customers that the dataset had not forgotten before, or not up to this day.
    recorded: u64,
    /// The customers of whom nothing was found, as pairs of account and `opportunityId`: in the newest version or, for
    /// a purge, in any version.
    absent: Vec<(String, String)>,
    /// The numbers of the versions that expired during the call, ascending. In a purge, these are the versions that
    /// name files with events of the customers. Versions that an earlier purge left because it was stopped expire, too.
    expired: Vec<u64>,
    /// The files of expired versions that were removed during the call.
    removed: FileCount,
    /// The files that wait for the end of their grace period. They may have events of the customers until a later call,
    /// a vacuum or an ingest removes them.
    waiting: FileCount,
    /// The number of rows that were removed from files of rejected rows.
    rejected_rows: u64,
}

#[pymethods]
impl ForgetReport {
    fn __repr__(&self) -> String {
        let Self { version, customers, events, .. } = self;
        format!("<ForgetReport: version {version}, {customers} customers, {events} events>")
    }
}

impl From<ForgetSummary> for ForgetReport {
    fn from(summary: ForgetSummary) -> Self {
        let absent = summary.absent.into_iter().map(|Customer { account, opportunity_id }| (account, opportunity_id));
        Self {
            version: summary.version,
            customers: summary.customers,
            events: summary.events,
            recorded: summary.recorded,
            absent: absent.collect(),
            expired: summary.expired,
            removed: summary.removed.into(),
            waiting: summary.waiting.into(),
            rejected_rows: summary.rejects,
        }
    }
}

/// Removes all events of customers from the newest version of a dataset, in a new version.
///
/// Without `purge`, earlier versions still have the events, and so may files of the new version, among superseded rows,
/// which no query counts. Later ingests leave out the events of the customers up to today, in the time zones of their
/// accounts, and count them; later events are taken.
///
/// customers: pairs of account and `opportunityId`, or the path of a file with these two columns.
/// purge: let all earlier versions expire that name a file with an event of the customers, whatever else they have, and
///     write these files again for the new version.
/// grace: of a purge, how long files of expired versions stay, as in `trueup.expire`; also those of versions that have
///     expired before. With `timedelta(0)` the events are gone when the call returns.
/// rejects: also remove rows of the customers from this file, or these files, which `trueup.ingest` has written.
/// memory, threads, wait: as in `trueup.ingest`. timeout: in seconds. interrupt: a `trueup.Interrupt`.
#[pyfunction]
#[pyo3(
    signature = (dataset, customers, **options),
    text_signature = "(dataset, customers, *, purge=False, grace=None, rejects=None, memory=None, threads=None, \
                      wait=None, timeout=None, interrupt=None)"
)]
pub(crate) fn forget(
    py: Python<'_>,
    dataset: PathBuf,
    customers: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<ForgetReport, Failure> {
    let keywords = Keywords::new("forget", options)?;
    let mut forget = with_customers(Forget::new(&dataset), customers)?;
    let purges = keywords.flag("purge")?;
    if purges {
        forget = forget.purge();
    }
    if let Some(grace) = keywords.value("grace", AGE)? {
        if !purges {
            let message = "`grace` is how long files of a purge stay; `purge=True` asks for one";
            return Err(Failure::Value(message.to_owned()));
        }
        forget = forget.grace(grace);
    }
    if let Some(rejects) = keywords.any("rejects")? {
        let paths = match rejects.extract() {
            Ok(path) => vec![path],
            Err(_) => {
                rejects.extract::<Vec<PathBuf>>().map_err(|_| unexpected("rejects", "paths of files", &rejects))?
            }
        };
        forget = paths.iter().fold(forget, Forget::rejects);
    }
    let forget = keywords.value("memory", "a number of bytes")?.into_iter().fold(forget, Forget::memory);
    let forget = keywords.threads()?.into_iter().fold(forget, |forget, threads| forget.threads(threads.get()));
    let forgotten = run_command(py, keywords, forget)?.unless_signaled()?;
    Ok(forgotten.map_err(Failure::Removal)?.into())
}

/// Adds the customers that an argument means: pairs of texts, or the path of a file.
fn with_customers(forget: Forget, value: &Bound<'_, PyAny>) -> Result<Forget, Failure> {
    let expected = || unexpected("customers", "pairs of account and opportunityId, or the path of a file", value);
    if value.is_instance_of::<PyString>() || value.hasattr("__fspath__")? {
        return Ok(forget.customers_in(value.extract::<PathBuf>().map_err(|_| expected())?));
    }
    let pairs: Vec<(String, String)> = value
        .try_iter()
        .map_err(|_| expected())?
        .map(|pair| pair?.extract().map_err(|_| expected()))
        .collect::<Result<_, Failure>>()?;
    Ok(pairs.into_iter().fold(forget, |forget, (account, id)| forget.customer(account, id)))
}
