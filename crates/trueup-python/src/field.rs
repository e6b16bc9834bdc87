//! `Field`: a metric or a dimension, as the dictionary and a dataset describe it.

use crate::error::Failure;
use pyo3::prelude::*;
use std::collections::BTreeSet;
use trueup::dictionary;
use trueup::field::FieldDescription;
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
        Ok(Self::from(&FieldDescription::of(name, dataset)))
    }

    /// Returns the fields of the dictionary, without the ones that a dataset has no column for, then its
    /// definitions, and then the columns that only it has.
    pub(crate) fn all(dataset: Option<&Dataset>) -> Vec<Self> {
        FieldDescription::all(dataset).iter().map(Self::from).collect()
    }
}

impl From<&FieldDescription<'_>> for Field {
    fn from(field: &FieldDescription<'_>) -> Self {
        let metric = field.metric();
        let metric = metric.as_ref();
        Self {
            name: field.name.to_owned(),
            kind: field.kind(),
            display_name: field.display_name().to_owned(),
            definition: field.definition().to_owned(),
            format: field.format(),
            unit: metric.map(|metric| metric.unit.name()),
            formula: metric.map(|metric| metric.formula.clone()),
            adds_up: metric.map(|metric| metric.adds_up),
            better: metric.map(|metric| metric.direction.name()),
            only_in_cohorts: field.is_only_in_cohorts(),
            values: field.values().into_iter().map(str::to_owned).collect(),
        }
    }
}
