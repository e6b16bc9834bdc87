//! `ingest`: files, Arrow tables and data frames into a dataset, and the report of it.

use crate::arguments::{Keywords, texts};
use crate::dataset::warn;
use crate::error::Failure;
use crate::run::{Outcome, run_command};
use crate::source::sources;
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use trueup::ingest::{Ingest, IngestError, IngestSummary, Source};
use trueup::versions::ProtocolReport;

/// Rows of one table in an ingest.
#[pyclass(frozen, module = "trueup", get_all, eq, skip_from_py_object)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct RowCounts {
    /// Rows of the inputs that keep the rules.
    taken: u64,
    /// Rows that were replaced: rows of the previous version and, of events and insights, earlier rows of the inputs.
    replaced: u64,
    /// Rows that broke a rule, and are in the rejects file.
    rejected: u64,
    /// Events that were left out because their customers are forgotten.
    forgotten: u64,
    /// Values that `normalize` of a mapping leaves as they are, because they are no phone numbers or addresses.
    not_normal: u64,
}

/// Rows of an ingest that break the same rule in the same column.
#[pyclass(frozen, module = "trueup", get_all, skip_from_py_object)]
#[derive(Clone)]
pub(crate) struct RejectedRows {
    /// The rule: what was expected.
    rule: String,
    /// The column; None if the row as a whole is at fault.
    column: Option<String>,
    /// The number of rows.
    rows: u64,
    /// The first rows: file, location and value of each.
    first: Vec<(PathBuf, String, String)>,
}

/// What an ingest has done.
#[pyclass(frozen, module = "trueup", get_all)]
pub(crate) struct IngestReport {
    /// The version of the dataset that holds the result.
    version: u64,
    /// Whether the ingest made that version. False if all of it was ingested before.
    changed: bool,
    /// Rows of events.
    events: RowCounts,
    /// Rows of spend.
    spend: RowCounts,
    /// What became of each row of the inputs, with control totals, as `trueup ingest --protocol json` writes it.
    /// Amounts are decimal strings.
    protocol: Py<PyAny>,
    /// The numbers of events and of rows of spend that were removed with the replaced source; None if none was given.
    removed: Option<(u64, u64)>,
    /// Accounts.
    accounts: RowCounts,
    /// Insight documents.
    insights: RowCounts,
    /// Targets.
    targets: RowCounts,
    /// The lines of a mapping's files that are no rows: file, title lines, blank lines, and rows with fewer cells than
    /// the header.
    left_out: Vec<(PathBuf, u64, u64, u64)>,
    /// The rows that broke a rule, by rule; they are in the rejects file.
    rejected: Vec<RejectedRows>,
    /// Messages about what did not stop the ingest, such as columns that were left out.
    warnings: Vec<String>,
}

/// Reads events, spend, accounts, insights and targets into the dataset in a folder or at a URL, all or nothing.
///
/// Each input is a path (of a file, a folder, or a pattern such as "events/*.csv"), a URL, an Arrow table, a data frame
/// of pandas or polars, a reader of record batches, or a list of these; insights are paths or URLs. With a mapping,
/// inputs that are not files are in a dict, by the names that the mapping has for them. Events require the columns
/// `account`, `opportunityId`, `type`, and `date` or `dateTime`; `eventId` and `total` are optional; every other column
/// is a dimension. A column with the name of a metric or of a computed dimension is left out, with a warning.
///
/// mapping: a TOML file that describes how to turn the inputs into events, spend, accounts and targets. The dataset
///     keeps it.
/// stored_mapping: read the inputs through the mapping that the dataset has.
/// patch: the inputs have the columns `account` and `eventId` of stored events, and change only the columns of these in
///     which they have a value.
/// source: the source of the events and the spend that do not name theirs in a column `source`. Spend replaces the
///     stored spend of the same account, day and source alone.
/// replace_source: first remove all stored events and all stored spend of this source, in the same version.
/// time_zone: of each `dateTime` without an offset: "account", "UTC", or a name such as "America/New_York". Without it,
///     such a `dateTime` breaks a rule, unless a mapping states its time zone.
/// rejects: write rows that break a rule to this file, and ingest the others.
/// replace_rejects: replace that file if it exists.
/// max_rejects: fail if more rows than this are rejected: a number, or a share such as "0.5%". By default any number,
///     as long as a row of each table remains.
/// format, sheet, delimiter, encoding, ignore: how files are read, as at the shell.
/// again: apply the events although the same files were ingested before; events without an `eventId` then count once
///     for each ingest.
/// memory: bytes for rows, 1 GiB by default. The ingest takes at most a fifth more than that, plus 200 MiB.
/// max_columns, max_text_bytes, max_customer_events: the most columns of an input, bytes of a text, and events of a
///     customer. threads: by default one per core.
/// wait: for others that write to the dataset, in seconds or as a timedelta; by default the ingest fails at once. In an
///     object store, the ingest begins again if another one was first, all inputs are paths or URLs, and rejects is
///     not a pipe or a descriptor.
/// timeout: in seconds. interrupt: a `trueup.Interrupt`.
#[pyfunction]
#[pyo3(
    signature = (into, events = None, **options),
    text_signature = "(into, events=None, *, spend=None, accounts=None, insights=None, targets=None, mapping=None, stored_mapping=False, patch=False, source=None, \
                      replace_source=None, time_zone=None, \
                      rejects=None, replace_rejects=False, max_rejects=None, format=None, sheet=None, delimiter=None, \
                      encoding=None, ignore=None, memory=None, max_columns=None, max_text_bytes=None, \
                      max_customer_events=None, again=False, threads=None, wait=None, timeout=None, interrupt=None)"
)]
pub(crate) fn ingest(
    py: Python<'_>,
    into: PathBuf,
    events: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> Result<IngestReport, Failure> {
    let keywords = Keywords::new("ingest", options)?;
    let mut ingest = Ingest::into(&into);
    if let Some(value) = events {
        ingest = sources("events", value)?.into_iter().fold(ingest, Ingest::events);
    }
    ingest = with_other_tables(ingest, &keywords)?;
    let replaced: Option<String> = keywords.value("replace_source", "the name of a source")?;
    let ingest = replaced.into_iter().fold(ingest, Ingest::replace_source);
    let ingest = with_options(ingest, &keywords)?.again(keywords.flag("again")?);
    let ingest = ingest.stored_mapping(keywords.flag("stored_mapping")?).patch(keywords.flag("patch")?);
    IngestReport::of(py, run_command(py, keywords, ingest)?)
}

/// Adds the inputs of the tables other than events.
pub(crate) fn with_other_tables(mut ingest: Ingest, keywords: &Keywords<'_>) -> Result<Ingest, Failure> {
    type Add = fn(Ingest, Source) -> Ingest;
    let tables: [(&str, Add); 4] = [
        ("spend", Ingest::spend),
        ("accounts", Ingest::accounts),
        ("insights", Ingest::insights),
        ("targets", Ingest::targets),
    ];
    for (table, add) in tables {
        if let Some(value) = keywords.any(table)? {
            ingest = sources(table, &value)?.into_iter().fold(ingest, add);
        }
    }
    Ok(ingest)
}

/// Sets how inputs are read, and what limits the ingest.
pub(crate) fn with_options(ingest: Ingest, keywords: &Keywords<'_>) -> Result<Ingest, Failure> {
    let mapping: Option<PathBuf> = keywords.value("mapping", "the path of a mapping file")?;
    let ingest = mapping.into_iter().fold(ingest, Ingest::mapping);
    let source: Option<String> = keywords.value("source", "the name of a source")?;
    let ingest = source.as_deref().into_iter().fold(ingest, Ingest::source);
    let ingest = keywords.parsed("time_zone")?.into_iter().fold(ingest, Ingest::time_zone);
    let rejects: Option<PathBuf> = keywords.value("rejects", "the path of a file")?;
    let ingest = rejects.into_iter().fold(ingest, Ingest::rejects);
    let mut ingest = ingest.replace_rejects(keywords.flag("replace_rejects")?);
    if let Some(limit) = keywords.any("max_rejects")? {
        let limit = limit.str()?.to_string().parse();
        ingest = ingest.max_rejects(limit.map_err(|error| Failure::Value(format!("`max_rejects`: {error}")))?);
    }
    if let Some(patterns) = keywords.any("ignore")? {
        ingest = texts("ignore", &patterns)?.into_iter().fold(ingest, Ingest::ignore);
    }
    type Limit = fn(Ingest, usize) -> Ingest;
    let limits: [(&str, Limit); 3] = [
        ("max_columns", Ingest::max_columns),
        ("max_text_bytes", Ingest::max_text_bytes),
        ("max_customer_events", Ingest::max_customer_events),
    ];
    for (name, limit) in limits {
        ingest = keywords.value(name, "a whole number")?.into_iter().fold(ingest, limit);
    }
    with_reading_options(ingest, keywords)
}

/// Sets how inputs are read, and the memory and the threads of the ingest.
pub(crate) fn with_reading_options(ingest: Ingest, keywords: &Keywords<'_>) -> Result<Ingest, Failure> {
    let ingest = keywords.parsed("format")?.into_iter().fold(ingest, Ingest::format);
    let sheet: Option<String> = keywords.value("sheet", "the name of a sheet")?;
    let ingest = sheet.into_iter().fold(ingest, Ingest::sheet);
    let ingest = keywords.value("delimiter", "one character")?.into_iter().fold(ingest, Ingest::delimiter);
    let ingest = keywords.parsed("encoding")?.into_iter().fold(ingest, Ingest::encoding);
    let ingest = keywords.value("memory", "a whole number")?.into_iter().fold(ingest, Ingest::memory);
    Ok(keywords.threads()?.into_iter().fold(ingest, |ingest, threads| ingest.threads(threads.get())))
}

/// Adds to the exception of a signal that the ingest was published all the same, if it was.
fn note_publication(py: Python<'_>, signal: &PyErr, result: &Result<IngestSummary, IngestError>) -> PyResult<()> {
    let note = match result {
        Ok(summary) => format!("the ingest was published before it could be canceled, as version {}", summary.version),
        Err(error) if error.may_be_published() => format!("the ingest may be published: {error}"),
        Err(_) => return Ok(()),
    };
    match signal.value(py).call_method1("add_note", (note,)) {
        // Notes came with Python 3.11.
        Err(error) if error.is_instance_of::<PyAttributeError>(py) => Ok(()),
        other => other.map(drop),
    }
}

impl IngestReport {
    /// Returns the report of an ingest that has ended, and gives its warnings to Python.
    ///
    /// # Errors
    /// The ingest failed, or a signal canceled it.
    pub(crate) fn of(py: Python<'_>, outcome: Outcome<Result<IngestSummary, IngestError>>) -> Result<Self, Failure> {
        if let Some(signal) = outcome.signal {
            note_publication(py, &signal, &outcome.result)?;
            return Err(signal.into());
        }
        let summary = outcome.result?;
        summary.warnings.iter().try_for_each(|warning| warn(py, warning))?;
        Self::new(py, summary)
    }

    fn new(py: Python<'_>, summary: IngestSummary) -> Result<Self, Failure> {
        let report = ProtocolReport { version: summary.version, protocol: &summary.protocol };
        let report = serde_json::to_string(&report).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let protocol = py.import("json")?.call_method1("loads", (report,))?.unbind();
        let counts = |counts: trueup::ingest::RowCounts| RowCounts {
            taken: counts.taken,
            replaced: counts.replaced,
            rejected: counts.rejected,
            forgotten: counts.forgotten,
            not_normal: counts.not_normal,
        };
        let left_out = summary.left_out.into_iter();
        let left_out = left_out.map(|file| (file.file, file.title_lines, file.blank_lines, file.short_rows));
        let rejected = summary.rejected.rules().into_iter().map(|rule| RejectedRows {
            rule: rule.rule.to_string(),
            column: rule.column.clone(),
            rows: rule.rows,
            first: rule
                .first
                .iter()
                .map(|row| (row.file.clone(), row.location.to_string(), row.value.clone()))
                .collect(),
        });
        Ok(Self {
            version: summary.version,
            changed: summary.changed,
            events: counts(summary.events),
            spend: counts(summary.spend),
            protocol,
            removed: summary.removed.map(|removed| (removed.events, removed.spend)),
            accounts: counts(summary.accounts),
            insights: counts(summary.insights),
            targets: counts(summary.targets),
            left_out: left_out.collect(),
            rejected: rejected.collect(),
            warnings: summary.warnings,
        })
    }
}

#[pymethods]
impl IngestReport {
    fn __repr__(&self) -> String {
        if !self.changed {
            return format!("<IngestReport: nothing changed, version {}>", self.version);
        }
        let tables = [
            ("events", self.events),
            ("rows of spend", self.spend),
            ("accounts", self.accounts),
            ("insights", self.insights),
            ("targets", self.targets),
        ];
        let counts: Vec<String> =
            tables.into_iter().filter(|(_, counts)| counts.any()).map(|(name, counts)| counts.of(name)).collect();
        format!("<IngestReport: version {}; {}>", self.version, counts.join("; "))
    }
}

#[pymethods]
impl RowCounts {
    fn __repr__(&self) -> String {
        format!("<RowCounts: {}>", self.of("rows"))
    }
}

impl RowCounts {
    const fn any(self) -> bool {
        self.taken + self.replaced + self.rejected + self.forgotten > 0
    }

    fn of(self, what: &str) -> String {
        let mut text = format!("{} {what} taken", self.taken);
        for (count, verb) in [
            (self.replaced, "replaced"),
            (self.rejected, "rejected"),
            (self.forgotten, "of forgotten customers left out"),
        ] {
            if count > 0 {
                text.push_str(&format!(", {count} {verb}"));
            }
        }
        text
    }
}

#[pymethods]
impl RejectedRows {
    fn __repr__(&self) -> String {
        let column = self.column.as_ref().map_or_else(String::new, |column| format!(", column {column}"));
        format!("<RejectedRows: {}{column}: {}>", self.rows, self.rule)
    }
}
