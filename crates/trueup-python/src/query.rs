//! `Query`: a query of a dataset, read from keyword arguments.

use crate::arguments::{Keywords, day, names, texts, unexpected};
use crate::error::Failure;
use crate::filter::Filter;
use crate::run::{CallInterrupt, run};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use trueup::Dataset;
use trueup::filter::TypedCondition;
use trueup::query::{self, EventsQuery, SortKey};
use trueup::request::{PARAMETERS, Parameter, PreparedQuery, QueryRequest, Today, ValueType};

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
    Ok(read(py, dataset, fields, keywords, Use::Other)?.events().clone())
}

/// Reads a query for a dataset: a `Query` that was prepared, or fields and the keyword arguments that say the rest.
pub(crate) fn ready(
    py: Python<'_>,
    dataset: &Dataset,
    fields: &Bound<'_, PyAny>,
    keywords: &Keywords<'_>,
) -> Result<PreparedQuery, Failure> {
    read(py, dataset, fields, keywords, Use::Answer)
}

/// What a query is for. Nothing but an answer is compared with benchmarks, and refused for values that are unseen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Answer,
    Other,
}

fn read(
    py: Python<'_>,
    dataset: &Dataset,
    fields: &Bound<'_, PyAny>,
    keywords: &Keywords<'_>,
    purpose: Use,
) -> Result<PreparedQuery, Failure> {
    if let Ok(query) = fields.cast::<Query>() {
        return Ok(query.get().0.clone().into());
    }
    let today = Today::new(keywords.day("today")?);
    let (mut given, mut filters) = (Vec::new(), Vec::new());
    // A name in a list is whole, also one with a comma; texts of a request would be divided there.
    let fields = names("fields", fields)?;
    let sort = keywords.any("sort")?.map(|value| names("sort", &value)).transpose()?.unwrap_or_default();
    let sort = sort.into_iter().map(SortKey::from).collect();
    for parameter in PARAMETERS.iter().filter(|parameter| purpose == Use::Answer || parameter.name != "strict") {
        let Some(value) = keywords.any(&keyword(parameter.name))? else { continue };
        given.push((parameter, argument_texts(parameter, &value, &mut filters)?));
    }
    let request = QueryRequest { fields, sort, filters, ..QueryRequest::from_texts(given)? };
    if purpose == Use::Other {
        request.of_events_alone()?;
    }
    run(py, &CallInterrupt::new(None, None), || request.prepare(dataset, &today))
}

/// Returns the keyword argument for a part of a request.
fn keyword(name: &str) -> String {
    match name {
        // Here a list is usual.
        "account" => "accounts".to_owned(),
        name => name.replace('-', "_"),
    }
}

/// Returns the texts that spell an argument. Conditions that Python has built go to `built`.
fn argument_texts(
    parameter: &Parameter,
    value: &Bound<'_, PyAny>,
    built: &mut Vec<query::Filter>,
) -> Result<Vec<String>, Failure> {
    let name = keyword(parameter.name);
    let expected = |expected| unexpected(&name, expected, value);
    Ok(match parameter.value {
        ValueType::Names => names(&name, value)?,
        ValueType::Strings if name == "where" => conditions(value, built)?,
        ValueType::Strings => texts(&name, value)?,
        ValueType::Date => vec![day(&name, value)?.to_string()],
        // The year may be a number.
        ValueType::Range => vec![value.str()?.to_string()],
        ValueType::Flag => vec![value.extract::<bool>().map_err(|_| expected("True or False"))?.to_string()],
        ValueType::Rows => vec![value.extract::<usize>().map_err(|_| expected("a number of rows"))?.to_string()],
        ValueType::Filter if value.is_instance_of::<Filter>() => {
            return Err(expected("JSON (`where` takes conditions)"));
        }
        ValueType::Filter if !value.is_instance_of::<PyString>() => {
            vec![value.py().import("json")?.call_method1("dumps", (value,))?.extract()?]
        }
        _ => vec![value.extract().map_err(|_| expected("a text"))?],
    })
}

/// What `where` takes.
const EXPECTED_CONDITION: &str =
    "a condition such as \"total >= 500\" or trueup.col(\"total\") >= 500, or a list of such";

/// Returns the conditions that are texts; the others go to `built`.
fn conditions(value: &Bound<'_, PyAny>, built: &mut Vec<query::Filter>) -> Result<Vec<String>, Failure> {
    let mut texts = Vec::new();
    let mut add = |value: &Bound<'_, PyAny>| {
        if let Ok(filter) = value.cast::<Filter>() {
            built.push(filter.get().filter.clone());
        } else if let Ok(text) = value.cast::<PyString>() {
            let text: String = text.extract()?;
            // The error names the column of the fault.
            text.parse::<TypedCondition>()?;
            texts.push(text);
        } else {
            return Err(unexpected("where", EXPECTED_CONDITION, value));
        }
        Ok(())
    };
    if value.is_instance_of::<PyString>() || value.is_instance_of::<Filter>() {
        add(value)?;
    } else {
        let mut items = value.try_iter().map_err(|_| unexpected("where", EXPECTED_CONDITION, value))?;
        items.try_for_each(|item| add(&item?))?;
    }
    Ok(texts)
}
