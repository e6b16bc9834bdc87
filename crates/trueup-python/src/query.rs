//! `Query`: a query of a dataset, read from keyword arguments.

use crate::arguments::{Keywords, names, texts, unexpected};
use crate::error::Failure;
use crate::filter::Filter;
use crate::run::{CallInterrupt, run};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::time::SystemTime;
use trueup::filter::{InvalidRequest, TypedCondition, apply_typed};
use trueup::query::{self, AccountFilter, DateRange, EventsQuery, Interval, NamedRange, SortKey};
use trueup::{ComparedWith, Dataset, Day, QueryError, ReadyQuery};

/// A query that was prepared for a dataset: its names are checked, and its days are fixed.
///
/// `Dataset.prepare` makes it. `Dataset.query`, `Dataset.why`, `Dataset.explain`, `Dataset.unseen_values`,
/// `Dataset.plan_splits`, `Dataset.run_split`, `Dataset.read_events` and `Partial.finish` take it. It can be pickled.
#[pyclass(frozen, module = "trueup", eq)]
#[derive(PartialEq)]
pub(crate) struct Query(pub(crate) EventsQuery);

#[pymethods]
impl Query {
    /// The first day.
    #[getter]
    fn start(&self) -> chrono::NaiveDate {
        self.0.range().start.date()
    }

    /// The last day.
    #[getter]
    fn end(&self) -> chrono::NaiveDate {
        self.0.range().end.date()
    }

    /// The names of the fields, then of the fields in conditions.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.names()
    }

    /// Reads what `to_json` has written.
    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, text: &str) -> Result<Self, Failure> {
        let query = serde_json::from_str(text);
        query.map(Self).map_err(|error| Failure::Query(format!("the text is not a query: {error}")))
    }

    /// Returns the query as JSON, for another process.
    fn to_json(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.0).map_err(|error| Failure::Internal(error.to_string()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, (String,)), Failure> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json()?,)))
    }

    fn __repr__(&self) -> String {
        format!("<Query of {}, {}>", self.0.names().join(", "), self.0.range())
    }
}

/// Reads a query as [`ready`] does, for a method that compares with nothing but an earlier range.
pub(crate) fn prepare(
    py: Python<'_>,
    dataset: &Dataset,
    fields: &Bound<'_, PyAny>,
    keywords: &Keywords<'_>,
) -> Result<EventsQuery, Failure> {
    match ready(py, dataset, fields, keywords)? {
        ReadyQuery::Events(query) => Ok(*query),
        ReadyQuery::WithBenchmarks(_) => {
            Err(Failure::Query("only `Dataset.query` has `compare=\"benchmarks\"`".to_owned()))
        }
    }
}

/// Reads a query for a dataset: a `Query` that was prepared, or fields and the keyword arguments that say the rest.
pub(crate) fn ready(
    py: Python<'_>,
    dataset: &Dataset,
    fields: &Bound<'_, PyAny>,
    keywords: &Keywords<'_>,
) -> Result<ReadyQuery, Failure> {
    if let Ok(query) = fields.cast::<Query>() {
        return Ok(ReadyQuery::Events(Box::new(query.get().0.clone())));
    }
    read(py, dataset, fields, keywords).map_err(|failure| match failure {
        Failure::Value(message) => Failure::Query(message),
        Failure::Engine(error @ trueup::Error::Query(QueryError::UnknownFields { .. })) => {
            let advice = "`allow_unknown=True` takes a field that is unknown as empty on every row";
            let message = format!("{error}; {advice}");
            Failure::Worded(Box::new(error), message)
        }
        other => other,
    })
}

fn read(
    py: Python<'_>,
    dataset: &Dataset,
    fields: &Bound<'_, PyAny>,
    keywords: &Keywords<'_>,
) -> Result<ReadyQuery, Failure> {
    let accounts = keywords.any("accounts")?.map(|value| texts("accounts", &value)).transpose()?;
    let read = accounts.as_ref().map_or(AccountFilter::All, |keys| AccountFilter::Only(keys.iter().cloned().collect()));
    let given = keywords.day("today")?;
    let today = || given.unwrap_or_else(|| query::current_day(dataset.accounts(), &read, SystemTime::now()));
    let range = days(today, keywords)?;
    let allow_unknown = keywords.flag("allow_unknown")?;
    let mut query = EventsQuery::new(names("fields", fields)?, range.start, range.end)
        .interval(keywords.parsed("interval")?.unwrap_or(Interval::Total))
        .allow_unknown(allow_unknown)
        .definitions(dataset.definitions());
    if let Some(attribution) = keywords.parsed("attribution")? {
        query = query.attribution(attribution);
    }
    query = match (keywords.flag("cohort")?, keywords.parsed("within")?) {
        (true, Some(within)) => query.cohort(within),
        (false, None) => query,
        (true, None) => return Err(Failure::Query("a cohort needs its window, such as `within=\"90d\"`".to_owned())),
        (false, Some(_)) => {
            return Err(Failure::Query("`within` is the window of a cohort; `cohort=True` asks for one".to_owned()));
        }
    };
    let compare = keywords.parsed("compare")?;
    if let Some(ComparedWith::Earlier(earlier)) = compare {
        query = query.compare(earlier);
    }
    if let Some(keys) = accounts {
        run(py, &CallInterrupt::new(None, None), || check_accounts(dataset, &keys))?.unless_signaled()??;
        query = query.accounts(keys);
    }
    let order = Order::read(keywords)?;
    if keywords.flag("totals")? {
        query = query.totals();
    }
    if keywords.flag("allow_long_total")? {
        query = query.allow_long_total();
    }
    let conditions = Conditions::read(keywords)?;
    if compare == Some(ComparedWith::Benchmarks) {
        // Ordered after the checks, which would refuse a column that only the comparison has.
        let query = order.apply(checked(dataset, query, conditions)?);
        return Ok(ReadyQuery::with_benchmarks(&query, today())?);
    }
    Ok(ReadyQuery::Events(Box::new(checked(dataset, order.apply(query), conditions)?)))
}

/// Adds the conditions to a query, and checks its names.
fn checked(dataset: &Dataset, query: EventsQuery, conditions: Conditions) -> Result<EventsQuery, Failure> {
    if let Err(fault @ QueryError::MissingMetric) = query.check() {
        // An unknown name is probably meant as a metric.
        dataset.check_names(&query.clone().allow_unknown(false))?;
        return Err(Failure::Query(format!("{fault}, such as `leads`; `trueup.fields()` lists all")));
    }
    let filtered = conditions.apply(query.clone());
    if let Err(InvalidRequest::Filter(_)) = filtered {
        // Unknown fields come before the faults of filters.
        dataset.check_names(&query)?;
    }
    let query = filtered?;
    dataset.check_names(&query)?;
    Ok(query)
}

/// The order of the rows, and how many there are.
struct Order {
    keys: Vec<SortKey>,
    limit: Option<usize>,
}

impl Order {
    fn read(keywords: &Keywords<'_>) -> Result<Self, Failure> {
        let keys = keywords.any("sort")?.map(|value| names("sort", &value)).transpose()?.unwrap_or_default();
        let keys = keys.iter().map(|key| SortKey::from(key.as_str())).collect();
        Ok(Self { keys, limit: keywords.value("limit", "a number of rows")? })
    }

    fn apply(self, query: EventsQuery) -> EventsQuery {
        let query = self.keys.into_iter().fold(query, EventsQuery::sort);
        match self.limit {
            Some(rows) => query.limit(rows),
            None => query,
        }
    }
}

/// The conditions of `where=` and `filter=`.
#[derive(Default)]
struct Conditions {
    typed: Vec<TypedCondition>,
    built: Vec<query::Filter>,
    /// An expression across fields, as JSON.
    across: Option<String>,
}

impl Conditions {
    fn read(keywords: &Keywords<'_>) -> Result<Self, Failure> {
        let mut conditions = Self::default();
        if let Some(value) = keywords.any("where")? {
            if value.is_instance_of::<PyString>() || value.is_instance_of::<Filter>() {
                conditions.add(&value)?;
            } else {
                let mut items = value.try_iter().map_err(|_| unexpected("where", EXPECTED_CONDITION, &value))?;
                items.try_for_each(|item| conditions.add(&item?))?;
            }
        }
        if let Some(value) = keywords.any("filter")? {
            conditions.across = Some(match value.cast::<PyString>() {
                Ok(text) => text.extract()?,
                Err(_) if value.is_instance_of::<Filter>() => {
                    return Err(unexpected("filter", "JSON (`where` takes conditions)", &value));
                }
                Err(_) => value.py().import("json")?.call_method1("dumps", (value,))?.extract()?,
            });
        }
        Ok(conditions)
    }

    fn add(&mut self, value: &Bound<'_, PyAny>) -> Result<(), Failure> {
        if let Ok(filter) = value.cast::<Filter>() {
            self.built.push(filter.get().filter.clone());
        } else if let Ok(text) = value.cast::<PyString>() {
            self.typed.push(text.extract::<String>()?.parse()?);
        } else {
            return Err(unexpected("where", EXPECTED_CONDITION, value));
        }
        Ok(())
    }

    fn apply(self, query: EventsQuery) -> Result<EventsQuery, InvalidRequest> {
        let query = apply_typed(query, &self.typed, self.across.as_deref())?;
        Ok(self.built.into_iter().fold(query, EventsQuery::filter))
    }
}

/// What `where` takes.
const EXPECTED_CONDITION: &str =
    "a condition such as \"total >= 500\" or trueup.col(\"total\") >= 500, or a list of such";

/// Returns the days that the keyword arguments name. Relative ones count from `today`.
fn days(today: impl Fn() -> Day, keywords: &Keywords<'_>) -> Result<DateRange, Failure> {
    const EXPECTED: &str =
        "expected either `start` and `end`, or one of `month`, `quarter`, `year`, `last` and `range`";
    let (start, end) = (keywords.day("start")?, keywords.day("end")?);
    let mut named = Vec::new();
    type Parse = fn(&str) -> Result<NamedRange, query::NotARange>;
    let forms: [(&str, Parse); 5] = [
        ("month", NamedRange::month),
        ("quarter", NamedRange::quarter),
        ("year", NamedRange::year),
        ("last", NamedRange::last),
        ("range", str::parse),
    ];
    for (name, parse) in forms {
        if let Some(value) = keywords.any(name)? {
            // The year may be a number.
            let range =
                parse(&value.str()?.to_string()).map_err(|error| Failure::Query(format!("`{name}`: {error}")))?;
            named.push(range);
        }
    }
    match (start, end, named.as_slice()) {
        (Some(start), Some(end), []) => Ok(DateRange { start, end }),
        (None, None, [named]) => {
            let today = if named.is_relative() { today() } else { Day::MIN };
            named.days(today).map_err(|error| Failure::Query(error.to_string()))
        }
        _ => Err(Failure::Query(EXPECTED.to_owned())),
    }
}

/// Checks that the dataset has every account.
fn check_accounts(dataset: &Dataset, keys: &[String]) -> Result<(), Failure> {
    const MAX_LISTED: usize = 8;
    let missing = dataset.missing_accounts(keys)?;
    let Some(missing) = missing.first() else { return Ok(()) };
    let known = dataset.account_keys()?;
    let listed: Vec<String> = known.iter().take(MAX_LISTED).map(|key| format!("`{key}`")).collect();
    let has = match (listed.is_empty(), known.len().saturating_sub(MAX_LISTED)) {
        (true, _) => "no account at all".to_owned(),
        (false, 0) => listed.join(", "),
        (false, more) => format!("{} and {more} more", listed.join(", ")),
    };
    Err(Failure::Query(format!("the dataset has no account `{missing}`; it has {has}")))
}
