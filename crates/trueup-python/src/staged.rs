//! `begin_ingest`, `stage` and `StagedIngest`: an ingest whose events several processes write.

use crate::arguments::{Keywords, texts};
use crate::dataset::location;
use crate::error::Failure;
use crate::ingest::{IngestReport, with_options, with_other_tables, with_reading_options};
use crate::run::{CallInterrupt, run_apart};
use crate::source::sources;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use trueup::ingest::{self as engine, Ingest};

/// Begins an ingest whose events several processes write, each for a part of the accounts, and which is published all
/// or nothing: the ingest of a cluster.
///
///     with trueup.begin_ingest("s3://lake/acme", parts=8, spend="spend.csv") as ingest:
///         staged = [...]  # in any process: trueup.stage(ingest.plan, part, events_of_that_part)
///         report = ingest.commit(staged)
///
/// Until the ingest is committed or given up, a dataset in a folder is locked, so that nobody else can write to it. In
/// an object store another ingest can write, and then only one of the two is published.
///
/// parts: the number of parts. `trueup.part_of(account, parts)` is the part of an account.
/// event_accounts: the accounts that have new events. Event files that hold none of them, and no account whose time
///     zone this ingest changes, stay as they are; without this list, the parts write all event files of the dataset
///     again.
/// spend, accounts, insights, targets, source, format, sheet, delimiter, encoding, time_zone, ignore, memory,
///     max_columns, max_text_bytes, max_customer_events, threads: as in `trueup.ingest`. `source`, `time_zone`,
///     `ignore`, `max_columns`, `max_text_bytes` and `max_customer_events` hold for the parts, too.
/// wait: as in `trueup.ingest`, for others that write to the dataset; only for a dataset in a folder.
/// timeout: in seconds, until the commit. interrupt: a `trueup.Interrupt`.
#[pyfunction]
#[pyo3(
    signature = (into, parts, **options),
    text_signature = "(into, parts, *, event_accounts=None, spend=None, accounts=None, insights=None, targets=None, source=None, \
                      time_zone=None, ignore=None, format=None, sheet=None, delimiter=None, encoding=None, memory=None, max_columns=None, \
                      max_text_bytes=None, max_customer_events=None, threads=None, wait=None, timeout=None, \
                      interrupt=None)"
)]
pub(crate) fn begin_ingest(
    py: Python<'_>,
    into: PathBuf,
    parts: u32,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<StagedIngest, Failure> {
    let keywords = Keywords::new("begin_ingest", options)?;
    let ingest = with_other_tables(Ingest::into(&into), &keywords)?;
    let accounts = keywords.any("event_accounts")?;
    let accounts = accounts.map(|accounts| texts("event_accounts", &accounts)).transpose()?;
    let ingest = with_options(ingest, &keywords)?.wait(keywords.wait()?);
    let call = CallInterrupt::read(&keywords)?;
    keywords.finish()?;
    let ingest = ingest.interrupt(call.interrupt());
    let begun =
        run_apart(py, &call, || ingest.begin_staged(parts, accounts.map(|accounts| accounts.into_iter().collect())))?;
    let begun = begun.unless_signaled()??;
    let plan = StagePlan { into, plan: begun.plan().clone() };
    Ok(StagedIngest { plan, begun: Mutex::new(Some(begun)), call })
}

/// Returns the part of an account in an ingest of several parts: the CRC-32 of the account's key, modulo `parts`. In
/// Spark SQL it is `crc32(account) % parts`.
#[pyfunction]
pub(crate) fn part_of(account: &str, parts: u32) -> Result<u32, Failure> {
    match parts {
        0 => Err(Failure::Value("`parts`: expected a number above 0, but found 0".to_owned())),
        parts => Ok(engine::part_of(account, parts)),
    }
}

/// Reads, checks and writes the events of a part of an ingest that `begin_ingest` has begun, in any process that
/// reaches the dataset at the same place. Nothing of it is visible until the ingest is committed with what this
/// returns.
///
/// A part may be staged any number of times, even at the same time; commit what one of the attempts has returned.
///
/// events: as in `trueup.ingest`: all new events of the accounts of the part, which may be none. Of several events of
///     an account with the same `eventId`, the last one counts.
/// format, sheet, delimiter, encoding, memory, threads: as in `trueup.ingest`.
/// timeout: in seconds. interrupt: a `trueup.Interrupt`.
#[pyfunction]
#[pyo3(
    signature = (plan, part, events, **options),
    text_signature = "(plan, part, events, *, format=None, sheet=None, delimiter=None, encoding=None, memory=None, \
                      threads=None, timeout=None, interrupt=None)"
)]
pub(crate) fn stage(
    py: Python<'_>,
    plan: &Bound<'_, StagePlan>,
    part: u32,
    events: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<Staged, Failure> {
    let keywords = Keywords::new("stage", options)?;
    let StagePlan { into, plan } = plan.get();
    let ingest = sources("events", events)?.into_iter().fold(Ingest::into(into), Ingest::events);
    let ingest = with_reading_options(ingest, &keywords)?;
    let call = CallInterrupt::read(&keywords)?;
    keywords.finish()?;
    let ingest = ingest.interrupt(call.interrupt());
    let staged = run_apart(py, &call, || ingest.stage(plan, part))?.unless_signaled()??;
    Ok(Staged(staged))
}

/// What every part of an ingest needs to know. It can be pickled.
#[pyclass(frozen, module = "trueup", eq, skip_from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct StagePlan {
    into: PathBuf,
    plan: engine::StagePlan,
}

#[pymethods]
impl StagePlan {
    /// Reads what `to_json` has written, for a dataset at a path or URL.
    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, into: PathBuf, text: &str) -> Result<Self, Failure> {
        Ok(Self { into, plan: engine::StagePlan::from_json(text)? })
    }

    /// Returns the plan as JSON, for another process.
    fn to_json(&self) -> Result<String, Failure> {
        Ok(self.plan.to_json()?)
    }

    /// The path or URL of the dataset.
    #[getter]
    fn into<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        location(py, &self.into)
    }

    /// The number of parts, which are numbered from 0.
    #[getter]
    fn parts(&self) -> u32 {
        self.plan.parts()
    }

    /// The version that the ingest makes.
    #[getter]
    fn version(&self) -> u64 {
        self.plan.version()
    }

    /// Returns the part of an account.
    fn part_of(&self, account: &str) -> u32 {
        self.plan.part_of(account)
    }

    fn __repr__(&self) -> String {
        format!("<StagePlan: version {} of `{}` in {} parts>", self.version(), self.into.display(), self.parts())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, Bound<'py, PyTuple>), Failure> {
        let (py, this) = (slf.py(), slf.get());
        let arguments = (this.into(py)?, this.to_json()?).into_pyobject(py)?;
        Ok((slf.get_type().getattr("from_json")?, arguments))
    }
}

/// What a part of an ingest has written. It can be pickled.
#[pyclass(frozen, module = "trueup", eq)]
#[derive(PartialEq)]
pub(crate) struct Staged(engine::Staged);

#[pymethods]
impl Staged {
    /// Reads what `to_bytes` has returned.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, data: &[u8]) -> Result<Self, Failure> {
        Ok(Self(engine::Staged::from_bytes(data)?))
    }

    /// Returns the bytes for another process.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        Ok(PyBytes::new(py, &self.0.to_bytes()?))
    }

    /// The number of the part.
    #[getter]
    fn part(&self) -> u32 {
        self.0.part()
    }

    /// The number of events that the part has read.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// The bytes of the files that the part has written.
    #[getter]
    fn file_bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn __repr__(&self) -> String {
        format!("<Staged: part {}, {} events>", self.part(), self.rows())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,)), Failure> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }
}

/// An ingest that `begin_ingest` has begun. It belongs to its process.
#[pyclass(frozen, module = "trueup")]
pub(crate) struct StagedIngest {
    plan: StagePlan,
    /// `None` once it is committed or given up.
    begun: Mutex<Option<engine::StagedIngest>>,
    call: CallInterrupt,
}

#[pymethods]
impl StagedIngest {
    /// What every part needs to know.
    #[getter]
    fn plan(&self) -> StagePlan {
        self.plan.clone()
    }

    /// Publishes what the parts have written, if each of them is there once and nothing of it is missing. Otherwise
    /// raises an error that says what is missing, and gives the ingest up.
    fn commit(&self, py: Python<'_>, staged: &Bound<'_, PyAny>) -> Result<IngestReport, Failure> {
        let staged = staged.try_iter()?.map(|part| Ok(part?.cast::<Staged>()?.get().0.clone()));
        let staged: Vec<engine::Staged> = staged.collect::<PyResult<_>>()?;
        let begun = self.take().ok_or_else(|| Failure::Value("the ingest has ended already".to_owned()))?;
        IngestReport::of(py, run_apart(py, &self.call, || begun.commit(staged))?)
    }

    /// Gives the ingest up, unless it is committed: removes what it has written, and lets others write.
    fn abort(&self, py: Python<'_>) {
        py.detach(|| drop(self.take()));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyAny>) {
        self.abort(py);
    }

    fn __repr__(&self) -> String {
        format!("<StagedIngest: version {} in {} parts>", self.plan.version(), self.plan.parts())
    }
}

impl StagedIngest {
    fn take(&self) -> Option<engine::StagedIngest> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
