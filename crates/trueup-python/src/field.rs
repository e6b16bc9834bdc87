//! `Field`: a metric or a dimension, as the dictionary and a dataset describe it.

use crate::error::Failure;
use pyo3::prelude::*;
use std::collections::BTreeSet;
use trueup::definitions::{DefinedDimension, DefinedMetric};
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
    definition: String,
    /// How a value is shown to people: "number", "currency", "percent", "text", "date", ...
    format: &'static str,
    /// Of a metric: "count", "currency", "ratio", "currency per count", "count per currency" or "days".
    unit: Option<&'static str>,
    /// Of a metric: the sum, the ratio of sums, or the percentile by which it is computed.
    formula: Option<String>,
    /// Of a metric: across what its values add up to the value of the whole, such as "across dimensions and intervals".
    adds_up: Option<&'static str>,
    /// Of a metric: which values are better: "higher", "lower" or "neither".
    better: Option<&'static str>,
    /// Whether only queries of a cohort have it.
    only_in_cohorts: bool,
    /// All values of a dimension that has a fixed set of values; empty for any other field.
    values: Vec<String>,
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
        let is_known = match dataset {
            Some(dataset) => dataset.has_field(name),
            None => dictionary::field(name).is_some(),
        };
        if !is_known {
            let in_dictionary = || dictionary::similar_names(name, &BTreeSet::new());
            let similar = dataset.map_or_else(in_dictionary, |dataset| dataset.similar_names(name));
            let unknown = UnknownField { name: name.to_owned(), similar };
            let message = format!("the dictionary does not know {unknown}");
            let error = QueryError::UnknownFields { fields: vec![unknown] }.into();
            return Err(if dataset.is_some() {
                Failure::Engine(error)
            } else {
                Failure::Worded(Box::new(error), message)
            });
        }
        Ok(Self::of(name, dataset))
    }

    /// Returns the fields of the dictionary, without the ones that a dataset has no column for, then its
    /// definitions, and then the columns that only it has.
    pub(crate) fn all(dataset: Option<&Dataset>) -> Vec<Self> {
        let in_dataset = |field: &&dictionary::Field| match (&field.kind, dataset) {
            (FieldKind::Dimension(dimension), Some(dataset)) if dimension.source == DimensionSource::Stored => {
                dataset.columns().contains(field.name)
            }
            _ => true,
        };
        let known = dictionary::all_fields().filter(in_dataset).map(|field| Self::of(field.name, dataset));
        let defined = dataset.into_iter().flat_map(|dataset| dataset.definitions().names());
        let defined = defined.map(|name| Self::of(name, dataset));
        let columns = dataset.into_iter().flat_map(|dataset| dataset.columns());
        let own = columns.filter(|name| dictionary::field(name).is_none()).map(|name| Self::of(name, dataset));
        known.chain(defined).chain(own).collect()
    }

    fn of(name: &str, dataset: Option<&Dataset>) -> Self {
        let field = dictionary::field(name);
        if let (None, Some(definitions)) = (field, dataset.map(Dataset::definitions)) {
            if let Some(metric) = definitions.metric(name) {
                return Self::of_metric(metric);
            }
            if let Some(dimension) = definitions.dimension(name) {
                return Self::of_dimension(dimension);
            }
        }
        let metric = match field.map(|field| &field.kind) {
            Some(FieldKind::Metric(metric)) => Some(metric),
            _ => None,
        };
        Self {
            name: name.to_owned(),
            kind: if metric.is_some() { "metric" } else { "dimension" },
            display_name: field.map_or(name, |field| field.display_name).to_owned(),
            definition: field.map_or("A column of the events of this dataset.", |field| field.definition).to_owned(),
            format: field.map_or("text", |field| field.format.name()),
            unit: metric.map(|metric| metric.unit.name()),
            formula: metric.map(|metric| metric.formula.to_string()),
            adds_up: metric.map(Metric::adds_up),
            better: metric.map(|metric| metric.direction.name()),
            only_in_cohorts: dictionary::cohort_fields().any(|known| known.name == name),
            values: field.into_iter().flat_map(|field| field.values).map(|value| (*value).to_owned()).collect(),
        }
    }

    fn of_metric(metric: &DefinedMetric) -> Self {
        let is_of_cohorts = |name| dictionary::cohort_fields().any(|known| known.name == name);
        Self {
            name: metric.name.clone(),
            kind: "metric",
            display_name: metric.display_name.clone(),
            definition: metric.definition.clone(),
            format: metric.format.name(),
            unit: Some(metric.unit.name()),
            formula: Some(metric.formula.to_string()),
            adds_up: Some(metric.adds_up()),
            better: Some(metric.direction.name()),
            only_in_cohorts: metric.formula.metrics().any(is_of_cohorts),
            values: Vec::new(),
        }
    }

    fn of_dimension(dimension: &DefinedDimension) -> Self {
        Self {
            name: dimension.name.clone(),
            kind: "dimension",
            display_name: dimension.display_name.clone(),
            definition: dimension.definition.clone(),
            format: "text",
            unit: None,
            formula: None,
            adds_up: None,
            better: None,
            only_in_cohorts: false,
            values: dimension.values.clone(),
        }
    }
}
