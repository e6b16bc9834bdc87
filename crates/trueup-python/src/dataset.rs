//! `Dataset`: one version of a dataset, and its queries.

use crate::arguments::{self, Keywords};
use crate::error::Failure;
use crate::events::EventReader;
use crate::field::Field;
use crate::partial::{Partial, Split};
use crate::query::{self, Query};
use crate::run::{CallInterrupt, run};
use crate::table::Table;
use crate::versions::{self, EarlierVersion, Version};
use crate::why::{Why, WhyArguments};
use chrono::NaiveDate;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup::query::EventsQuery;
use trueup::request::RequestError;
use trueup::{Error, Execution, UnseenValue, is_url};

/// One version of a dataset, opened for queries. It never changes, and threads can share it; `trueup.open` opens it.
#[pyclass(frozen, module = "trueup")]
pub(crate) struct Dataset {
    pub(crate) dataset: Arc<trueup::Dataset>,
    path: PathBuf,
    version: u64,
}

/// Opens the newest version of the dataset in a folder or below a URL such as "s3://bucket/acme"; with `as_of`, an
/// earlier one. `as_of` is the number of a version, or a time, for the last version that was committed at that time or
/// before. A time is a `datetime` with a time zone, or a text with an offset, such as "2026-01-31T18:00:00Z".
#[pyfunction]
#[pyo3(signature = (path, *, as_of = None))]
pub(crate) fn open(py: Python<'_>, path: PathBuf, as_of: Option<Bound<'_, PyAny>>) -> Result<Dataset, Failure> {
    let as_of = as_of.as_ref().map(|value| arguments::as_of("as_of", value)).transpose()?;
    let open = || match as_of {
        Some(as_of) => trueup::Dataset::open_as_of(&path, as_of),
        None => trueup::Dataset::open(&path),
    };
    Ok(Dataset::new(run(py, &CallInterrupt::new(None, None), open)?, path))
}

/// Returns the path of a dataset; the text of its URL, if it has one.
pub(crate) fn location<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    // A path of Python would make one slash of the two in a URL.
    match path.to_str().filter(|_| is_url(path)) {
        Some(url) => Ok(url.into_pyobject(py)?.into_any()),
        None => path.into_bound_py_any(py),
    }
}

#[pymethods]
impl Dataset {
    /// The folder of the dataset; the text of its URL, if it has one.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        location(py, &self.path)
    }

    /// The number of the version that is open.
    #[getter]
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// Returns the newest version of the dataset; this `Dataset` if it is the newest.
    ///
    /// What is in memory for files that both versions have is not read again, so that a query after an update takes
    /// about as long as one before it. Both versions can be used.
    fn reopen(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>, Failure> {
        let (py, this) = (slf.py(), slf.get());
        match run(py, &CallInterrupt::new(None, None), || this.dataset.reopen())? {
            Some(newest) => Ok(Bound::new(py, Self::new(newest, this.path.clone()))?),
            None => Ok(slf),
        }
    }

    /// Every account that has an event, spend, or an entry in the account table, sorted.
    #[getter]
    fn accounts(&self, py: Python<'_>) -> Result<Vec<String>, Failure> {
        let keys = run(py, &CallInterrupt::new(None, None), || self.dataset.account_keys())?;
        Ok(keys.into_iter().collect())
    }

    /// The first and the last day with an event or spend; None without any.
    #[getter]
    fn date_range(&self) -> Option<(NaiveDate, NaiveDate)> {
        self.dataset.date_range().map(|range| (range.start.date(), range.end.date()))
    }

    /// The number of events.
    #[getter]
    fn event_rows(&self) -> u64 {
        self.dataset.event_rows()
    }

    /// The number of rows of spend.
    #[getter]
    fn spend_rows(&self) -> u64 {
        self.dataset.spend_rows()
    }

    /// Answers a query: metrics, grouped by dimensions, for these days.
    ///
    /// The result has one row for each combination of the dimensions' values, in each sub-range of the interval.
    ///
    /// fields: metrics and dimensions, as a list or as a text with commas; or a `Query` that was prepared, with no
    ///     other arguments than `strict`, `max_rows`, `threads`, `timeout` and `interrupt`.
    /// start, end: the first and the last day, both included, as `datetime.date` or YYYY-MM-DD. In their place one of
    ///     month ("2026-05"), quarter ("2026-Q2"), year ("2026"), last ("90d", "12w"; today is the last day) and range
    ///     ("last-month", "month-to-date", ...). `today` is the day that last and range count from, by default that
    ///     of the clock in the time zone of the accounts, the earliest if their days differ.
    /// interval: "total" (one sub-range), "month", "week" or "day".
    /// cohort: select leads by the day of their first event, and count what becomes of them. within: the window of a
    ///     cohort, a number of days after the first event, such as "90d", or "all".
    /// compare: an earlier range, "previous-period", "previous-year" or "2025-01-01..2025-01-31". After each metric m
    ///     come m.previous, m.change, m.ratio and, for a ratio, m.rateEffect and m.mixEffect. Or "benchmarks", which
    ///     compares one month of the given `accounts` with other accounts: after each metric m that has benchmarks
    ///     come m.benchmark, m.difference and m.ratio. Only with the interval "total".
    /// attribution: the event from which attributionCategory, attributionChannel, campaign, and columns whose names
    ///     begin with attribution, are taken: "recorded" (the event itself), "first" (the customer's first conversion)
    ///     or "last" (the last one at or before the event, or else the first one). Spend keeps its own.
    /// accounts: only these accounts, as a list, or one account as a text; by default all.
    /// where: a condition, or a list of which all must hold: "total >= 500" as at the shell, or `col("total") >= 500`.
    ///     Texts for equality on the same field are alternatives.
    /// filter: an expression across fields, as the API takes it: JSON as a text, or a list or dict.
    /// sort: columns to sort by, such as "leads:desc". limit: keep only the first rows, at most this many.
    /// targets: after each metric m that has a target, add m.target and m.pace, which is m divided by m.target.
    /// totals: also compute every metric for the whole range: `Table.totals`.
    /// allow_long_total: allow the interval total, and totals, of `start` and `end` to span more than 90 days, the
    ///     attribution window. A named range may without it.
    /// allow_unknown: take a field that is unknown as empty on every row.
    /// strict: refuse a value in a condition that no event and no spend has, in place of a warning.
    /// max_rows: the most rows that the answer may have before `limit`; TooManyRowsError if there are more.
    /// threads: by default one per core. timeout: in seconds. interrupt: a `trueup.Interrupt`.
    #[pyo3(
        signature = (fields, **options),
        text_signature = "($self, fields, *, start=None, end=None, month=None, quarter=None, year=None, last=None, \
                          range=None, today=None, interval='total', cohort=False, within=None, compare=None, \
                          attribution='recorded', accounts=None, where=None, filter=None, sort=None, limit=None, totals=False, targets=False, \
                          allow_long_total=False, allow_unknown=False, strict=False, max_rows=None, threads=None, timeout=None, \
                          interrupt=None)"
    )]
    fn query(
        &self,
        py: Python<'_>,
        fields: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Table, Failure> {
        let keywords = Keywords::new("query", options)?;
        let query = query::ready(py, &self.dataset, fields, &keywords)?;
        let (call, execution) = limited_execution(&keywords)?;
        keywords.finish()?;
        let (table, unseen, empty) = run(py, &call, || {
            let unseen = messages(&query.unseen_values(&self.dataset, &execution)?);
            let empty = empty_ranges(&self.dataset, query.events(), &execution)?;
            Ok::<_, RequestError>((query.run(&self.dataset, execution)?, unseen, empty))
        })?;
        unseen.iter().chain(table.notes()).chain(&empty).try_for_each(|message| warn(py, message))?;
        Ok(Table::new(table))
    }

    /// Explains the numbers of one row of an answer: the events, customers and rows of spend behind them.
    ///
    /// fields and the days, conditions and other options are those of `query`, except `strict`, `max_rows`, `targets`
    ///     and the comparison with benchmarks; with `compare`, the change is explained.
    /// row: the value of each dimension of the query and, with an interval, the first day as `start`; a dict of
    ///     `Table.to_dicts` is such a row, because numbers in it are ignored.
    /// metrics: only these metrics of the query. order: "oldest" day first, "newest" day first, or "largest" number or
    ///     amount first. limit: the most lines of each measure, of a change for each class.
    #[pyo3(signature = (fields, **options))]
    fn why(
        &self,
        py: Python<'_>,
        fields: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Why, Failure> {
        let keywords = Keywords::new("why", options)?;
        let arguments = WhyArguments::read(&keywords)?;
        let question = arguments.question(query::prepare(py, &self.dataset, fields, &keywords)?);
        let (call, execution) = execution(&keywords)?;
        keywords.finish()?;
        Ok(Why(run(py, &call, || self.dataset.why(&question, execution))?))
    }

    /// Returns every version of the dataset that can be opened, in the order of their numbers. There may be newer ones
    /// than this one.
    fn versions(&self, py: Python<'_>) -> Result<Vec<Version>, Failure> {
        run(py, &CallInterrupt::new(None, None), || versions::of(&self.path))
    }

    /// Shows what was restated since an earlier version: the rows of an answer that differ.
    ///
    /// Answers a query on both versions, and compares the answers row by row. The column `status` says whether a row is
    /// "added", "removed" or "changed". Each metric m has the value in this version; m.previous and m.change come after
    /// it. Rows that are equal are left out. Both answers use the definitions of this version.
    ///
    /// before: the number of the earlier version; a time, as in `open`; or another `Dataset`.
    /// fields and the days, conditions and other options are those of `query`, except `sort`, `limit`, `compare`,
    ///     `strict` and `max_rows`. With `totals` the totals are a row, and a column `rowType` after `status` marks it.
    #[pyo3(signature = (before, fields, **options))]
    fn diff(
        &self,
        py: Python<'_>,
        before: &Bound<'_, PyAny>,
        fields: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Table, Failure> {
        let keywords = Keywords::new("diff", options)?;
        for name in ["sort", "limit", "compare"] {
            if keywords.any(name)?.is_some() {
                return Err(Failure::Query(format!(
                    "`{name}` cannot be used here, because all rows of both answers are compared"
                )));
            }
        }
        if fields.is_instance_of::<Query>() {
            return Err(arguments::unexpected("fields", "metrics and dimensions", fields));
        }
        let before = EarlierVersion::read(before, &self.path)?;
        let query = query::prepare(py, &self.dataset, fields, &keywords)?;
        let (call, execution) = execution(&keywords)?;
        keywords.finish()?;
        Ok(Table::new(run(py, &call, || versions::restated(&before, &self.dataset, &query, &execution))?))
    }

    /// Returns a query for this dataset without running it. Takes what `query` takes, except `strict`,
    /// `max_rows`, `threads`, `timeout`, `interrupt`, `targets` and the comparison with benchmarks.
    #[pyo3(signature = (fields, **options))]
    fn prepare(
        &self,
        py: Python<'_>,
        fields: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Query, Failure> {
        let keywords = Keywords::new("prepare", options)?;
        let query = query::prepare(py, &self.dataset, fields, &keywords)?;
        keywords.finish()?;
        Ok(Query(query))
    }

    /// Explains the plan of a query: sub-ranges, columns to read, row groups kept and skipped. Takes what `query`
    /// takes, except `strict`, `max_rows`, `targets` and the comparison with benchmarks; with `analyze=True` it also
    /// runs the query, and adds times and counts. Without it, `threads`, `timeout` and `interrupt` have no effect.
    #[pyo3(signature = (fields, *, analyze = false, **options))]
    fn explain(
        &self,
        py: Python<'_>,
        fields: &Bound<'_, PyAny>,
        analyze: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<String, Failure> {
        let keywords = Keywords::new("explain", options)?;
        let query = query::prepare(py, &self.dataset, fields, &keywords)?;
        let (call, execution) = execution(&keywords)?;
        keywords.finish()?;
        let explained = run(py, &call, || match analyze {
            true => self.dataset.analyze(&query, execution),
            false => self.dataset.explain(&query),
        })?;
        Ok(explained.to_string())
    }

    /// Returns what `query` warns about and `strict` refuses: a sentence for each value in a condition that no event
    /// and no spend has.
    ///
    /// With `answer`, nothing is read here but one row group, in which most values are found. For the other values,
    /// `answer` is called with a `Query` and the most rows that its answer may have. It returns a `Table`, for example
    /// from a cluster, or None if there are more rows.
    #[pyo3(
        signature = (query, *, answer = None, **options),
        text_signature = "($self, query, *, answer=None, threads=None, timeout=None, interrupt=None)"
    )]
    fn unseen_values(
        &self,
        py: Python<'_>,
        query: &Bound<'_, Query>,
        answer: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Vec<String>, Failure> {
        let keywords = Keywords::new("unseen_values", options)?;
        let (call, execution) = execution(&keywords)?;
        keywords.finish()?;
        let query = &query.get().0;
        let Some(answer) = answer else {
            return Ok(messages(&run(py, &call, || self.dataset.unseen_values(query, &execution))?));
        };
        let search = run(py, &call, || self.dataset.search_values(query, &execution))?;
        let unseen = search.finish(|query, max_rows| {
            let answered = answer.call1((Query(query.clone()), max_rows))?;
            let table: Option<Bound<'_, Table>> = answered.extract()?;
            Ok::<_, PyErr>(table.map(|table| table.get().result().clone()))
        })?;
        Ok(messages(&unseen))
    }

    /// Returns what `query` warns about: ranges in which the dataset has nothing.
    #[pyo3(name = "_empty_ranges")]
    fn empty_ranges(&self, py: Python<'_>, query: &Bound<'_, Query>) -> Result<Vec<String>, Failure> {
        let query = &query.get().0;
        let call = CallInterrupt::new(None, None);
        let execution = Execution { interrupt: call.interrupt(), ..Execution::default() };
        run(py, &call, || empty_ranges(&self.dataset, query, &execution))
    }

    /// Divides a query into at most `splits` parts of about equal numbers of rows; there is at least one. Each can be
    /// run in another process.
    fn plan_splits(&self, py: Python<'_>, query: &Bound<'_, Query>, splits: usize) -> Result<Vec<Split>, Failure> {
        let splits = NonZeroUsize::new(splits)
            .ok_or_else(|| Failure::Value("`splits`: expected a number above 0, but found 0".to_owned()))?;
        let query = &query.get().0;
        let planned = run(py, &CallInterrupt::new(None, None), || self.dataset.plan_splits(query, splits))?;
        Ok(planned.into_iter().map(Split).collect())
    }

    /// Runs a part of a query. `Partial.merge_all` joins what all parts give, and `Partial.finish` makes the answer.
    /// TooManyRowsError if the part alone has more than `max_rows` rows.
    #[pyo3(
        signature = (query, split, **options),
        text_signature = "($self, query, split, *, max_rows=None, threads=None, timeout=None, interrupt=None)"
    )]
    fn run_split(
        &self,
        py: Python<'_>,
        query: &Bound<'_, Query>,
        split: &Bound<'_, Split>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Partial, Failure> {
        let keywords = Keywords::new("run_split", options)?;
        let (call, execution) = limited_execution(&keywords)?;
        keywords.finish()?;
        let (query, split) = (&query.get().0, &split.get().0);
        run(py, &call, || Partial::new(&self.dataset.run_split(query, split, &execution)?))
    }

    /// Reads the events that a part of a query aggregates, with their computed fields, in batches of `pyarrow`.
    ///
    /// The columns are the fields of the query: dimensions, and `total`, the only metric that an event has a value for;
    /// with an interval `start` and `end` come first. Conditions pick events, and change no customer's state. Dates are
    /// `date32`, `dateTime` is a timestamp in UTC, and `total` is `decimal128(19, 6)`; all of these are null where
    /// there is none. `typeIsLast` and `opportunityBooked` are booleans. Other dimensions are texts, the empty text
    /// where there is none. `timeout` is in seconds, from this call to the last batch.
    #[pyo3(
        signature = (query, split, **options),
        text_signature = "($self, query, split, *, timeout=None, interrupt=None)"
    )]
    fn read_events(
        &self,
        py: Python<'_>,
        query: &Bound<'_, Query>,
        split: &Bound<'_, Split>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<EventReader, Failure> {
        let keywords = Keywords::new("read_events", options)?;
        let call = CallInterrupt::read(&keywords)?;
        keywords.finish()?;
        let execution = Execution { interrupt: call.interrupt(), ..Execution::default() };
        let (query, split) = (&query.get().0, &split.get().0);
        let reader = run(py, &call, || trueup::EventReader::new(self.dataset.clone(), query, split, execution))?;
        Ok(EventReader::new(reader, call))
    }

    /// Returns the fields of the dataset: the metrics, and the dimensions that its events have or that are computed
    /// from them. With a name, returns that field, even if only the dictionary has it; UnknownFieldError if neither has
    /// it.
    #[pyo3(signature = (name = None))]
    fn fields(&self, py: Python<'_>, name: Option<&str>) -> PyResult<Py<PyAny>> {
        Ok(match name {
            Some(name) => Py::new(py, Field::named(name, Some(&self.dataset))?)?.into_any(),
            None => Field::all(Some(&self.dataset)).into_pyobject(py)?.unbind(),
        })
    }

    fn __repr__(&self) -> String {
        let days = self.dataset.date_range().map_or_else(String::new, |days| format!(", {days}"));
        let (path, version) = (self.path.display(), self.version);
        format!("<Dataset {path}, version {version}, {} events{days}>", self.dataset.event_rows())
    }

    /// A dataset is pickled as its folder or URL and its version, and opened again there.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let this = slf.get();
        let reopen = py.import("trueup")?.getattr("_open_version")?;
        Ok((reopen, (this.path(py)?, this.version).into_pyobject(py)?))
    }
}

impl Dataset {
    fn new(dataset: trueup::Dataset, path: PathBuf) -> Self {
        let version = dataset.manifest().map_or(0, |manifest| manifest.version);
        Self { dataset: Arc::new(dataset), path, version }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.path
    }
}

fn messages(unseen: &[UnseenValue]) -> Vec<String> {
    unseen.iter().map(UnseenValue::to_string).collect()
}

/// Returns what is said about ranges of a query in which the dataset has nothing.
fn empty_ranges(dataset: &trueup::Dataset, query: &EventsQuery, execution: &Execution) -> Result<Vec<String>, Error> {
    Ok(dataset.empty_ranges(query, execution)?.iter().map(ToString::to_string).collect())
}

/// Returns how a query is run, and what ends the call early.
pub(crate) fn execution(keywords: &Keywords<'_>) -> Result<(CallInterrupt, Execution), Failure> {
    let call = CallInterrupt::read(keywords)?;
    let execution = Execution { threads: keywords.threads()?, interrupt: call.interrupt(), ..Execution::default() };
    Ok((call, execution))
}

/// As `execution`, with a limit of rows.
pub(crate) fn limited_execution(keywords: &Keywords<'_>) -> Result<(CallInterrupt, Execution), Failure> {
    let (call, execution) = execution(keywords)?;
    Ok((call, Execution { max_rows: keywords.value("max_rows", "a number of rows")?, ..execution }))
}

/// Issues a `TrueupWarning`, which Python attributes to the line that called trueup.
pub(crate) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let category = py.import("trueup._errors")?.getattr("TrueupWarning")?;
    py.import("warnings")?.call_method1("warn", (message, category))?;
    Ok(())
}
