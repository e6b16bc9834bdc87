//! `Field`: a metric or a dimension, as the dictionary and a dataset describe it.

use crate::error::Failure;
use pyo3::prelude::*;
use std::collections::BTreeSet;
use trueup::dictionary::{self, DimensionSource, FieldKind, Metric};
use trueup::{Dataset, QueryError, UnknownField};

/// A metric or a dimension.
#[pyclass(frozen, module = "trueup", get_all)]
pub(crate) struct Field {
    /// The name in queries.
    name: String,
    /// "metric" or "dimension".
    kind: &'static str,
    /// The name for people.
    display_name: String,
    /// What it means.
    definition: &'static str,
    /// How a value is shown to people: "number", "currency", "percent", "text", "date", ...
    format: &'static str,
    /// Of a metric: "count", "currency", "ratio" or "currency per count".
    unit: Option<&'static str>,
    /// Of a metric: the sum, or the ratio of sums, by which it is computed.
    formula: Option<String>,
    /// Of a metric: the splits along which its values add up to the value of the whole.
    adds_up: Option<&'static str>,
    /// Of a metric: which values are better: "higher", "lower" or "neither".
    better: Option<&'static str>,
    /// Whether only queries of a cohort have it.
    only_in_cohorts: bool,
    /// All values of a dimension that has a fixed set of values; empty for any other field.
    values: Vec<&'static str>,
}

/// Returns all metrics, and the dimensions that trueup knows, whether or not a dataset has them. With a name, returns
/// that field; UnknownFieldError if there is none.
#[pyfunction]
#[pyo3(signature = (name = None))]
pub(crate) fn fields(py: Python<'_>, name: Option<&str>) -> PyResult<Py<PyAny>> {
    Ok(match name {
        Some(name) => Py::new(py, Field::named(name, None)?)?.into_any(),
        None => Field::all(None).into_pyobject(py)?.unbind(),
    })
}

#[pymethods]
impl Field {
    fn __repr__(&self) -> String {
        format!("<Field {}, a {}: {}>", self.name, self.kind, self.definition)
    }
}

impl Field {
    /// Returns the field of a name.
    ///
    /// # Errors
    /// Neither the dictionary nor the dataset has it.
    pub(crate) fn named(name: &str, dataset: Option<&Dataset>) -> Result<Self, Failure> {
        let no_columns = BTreeSet::new();
        let columns = dataset.map_or(&no_columns, Dataset::columns);
        if dictionary::field(name).is_none() && !columns.contains(name) {
            let unknown = UnknownField { name: name.to_owned(), similar: dictionary::similar_names(name, columns) };
            return Err(QueryError::UnknownFields { fields: vec![unknown] }.into());
        }
        Ok(Self::of(name))
    }

    /// Returns the fields of the dictionary, without the ones that a dataset has no column for, and then the columns
    /// that only the dataset has.
    pub(crate) fn all(dataset: Option<&Dataset>) -> Vec<Self> {
        let in_dataset = |field: &&dictionary::Field| match (&field.kind, dataset) {
            (FieldKind::Dimension(dimension), Some(dataset)) if dimension.source == DimensionSource::Stored => {
                dataset.columns().contains(field.name)
            }
            _ => true,
        };
        let known = dictionary::fields()
            .chain(dictionary::cohort_fields())
            .filter(in_dataset)
            .map(|field| Self::of(field.name));
        let columns = dataset.into_iter().flat_map(|dataset| dataset.columns());
        let own = columns.filter(|name| dictionary::field(name).is_none()).map(|name| Self::of(name));
        known.chain(own).collect()
    }

    fn of(name: &str) -> Self {
        let field = dictionary::field(name);
        let metric = match field.map(|field| &field.kind) {
            Some(FieldKind::Metric(metric)) => Some(metric),
            _ => None,
        };
        Self {
            name: name.to_owned(),
            kind: if metric.is_some() { "metric" } else { "dimension" },
            display_name: field.map_or(name, |field| field.display_name).to_owned(),
            definition: field.map_or("A column of the events of this dataset.", |field| field.definition),
            format: field.map_or("text", |field| field.format.name()),
            unit: metric.map(|metric| metric.unit.name()),
            formula: metric.map(|metric| metric.formula.to_string()),
            adds_up: metric.map(Metric::adds_up),
            better: metric.map(|metric| metric.direction.name()),
            only_in_cohorts: dictionary::cohort_fields().any(|known| known.name == name),
            values: field.map_or_else(Vec::new, |field| field.values.to_vec()),
        }
    }
}
