//! The errors of trueup as the exceptions of `python/trueup/_errors.py`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use std::error::Error;
use trueup::filter::{InvalidFilter, ParseConditionError};
use trueup::ingest::IngestError;
use trueup::request::{InvalidParameter, RequestError};
use trueup::{Interruption, QueryError, UnknownField, message_with_causes};

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Python has raised an exception already.
    Raised(PyErr),
    /// A query, a dataset or a partial result is at fault, or the call was interrupted.
    Engine(trueup::Error),
    /// As [`Engine`](Self::Engine), in words that only this call has.
    Worded(Box<trueup::Error>, String),
    /// A condition as people type it is at fault.
    Condition(ParseConditionError),
    /// A filter is at fault.
    Filter(InvalidFilter),
    /// Another part of a query is at fault.
    Query(String),
    /// An ingest failed.
    Ingest(IngestError),
    /// An expiry of versions or the removal of customers failed.
    Removal(IngestError),
    /// An argument has a value of another type than it takes.
    Type(String),
    /// An argument has a value that it does not take.
    Value(String),
    /// trueup itself, or the machine, is at fault.
    Internal(String),
}

/// Makes `Failure` from errors by their type.
macro_rules! from {
    ($($error:ty => $variant:ident),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::$variant(error.into())
            }
        })*
    };
}
from!(PyErr => Raised, ParseConditionError => Condition, InvalidFilter => Filter, IngestError => Ingest);
from!(trueup::Error => Engine, QueryError => Engine, trueup::PartialError => Engine, trueup::DatasetError => Engine);

impl From<InvalidParameter> for Failure {
    fn from(error: InvalidParameter) -> Self {
        Self::Query(error.to_string())
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::MissingMetric(Some(error)) => Self::refused(*error),
            RequestError::MissingMetric(_) => Self::Query(format!("{error}; `trueup.fields()` lists all")),
            RequestError::Engine(error) => Self::refused(error),
            RequestError::Filter(error) => error.into(),
            RequestError::Benchmarks => Self::Query("only `Dataset.query` has `compare=\"benchmarks\"`".to_owned()),
            other => Self::Query(other.to_string()),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| failure.raise(py).unwrap_or_else(|error| error))
    }
}

impl Failure {
    /// Returns the failure of a request that a dataset refuses.
    fn refused(error: trueup::Error) -> Self {
        if !matches!(error, trueup::Error::Query(QueryError::UnknownFields { .. })) {
            return error.into();
        }
        let message = format!("{error}; `allow_unknown=True` takes a field that is unknown as empty on every row");
        Self::Worded(Box::new(error), message)
    }

    /// Returns the exception.
    fn raise(self, py: Python<'_>) -> PyResult<PyErr> {
        match self {
            Self::Raised(error) => Ok(error),
            Self::Engine(error) => engine(py, &error, &message_with_causes(&error)),
            Self::Worded(error, message) => engine(py, &error, &message),
            Self::Condition(fault) => {
                let attributes = [("column", fault.column())].into_py_dict(py)?;
                exception(py, "FilterError", &fault.to_string(), Some(&attributes))
            }
            Self::Filter(fault) => match fault.interruption() {
                Some(interruption) => interrupted(py, interruption, &fault),
                None => {
                    let attributes = [("at", fault.at())].into_py_dict(py)?;
                    exception(py, "FilterError", &fault.to_string(), Some(&attributes))
                }
            },
            Self::Query(message) => exception(py, "QueryError", &message, None),
            Self::Ingest(error) => ingest(py, &error),
            Self::Removal(error) => match error.interruption() {
                Some(interruption) => interrupted(py, interruption, &error),
                None => exception(py, "DatasetError", &message_with_causes(&error), None),
            },
            Self::Type(message) => Ok(PyTypeError::new_err(message)),
            Self::Value(message) => Ok(PyValueError::new_err(message)),
            Self::Internal(message) => exception(py, "Error", &message, None),
        }
    }
}

/// Returns an exception of the package by the name of its class.
fn exception(py: Python<'_>, class: &str, message: &str, attributes: Option<&Bound<'_, PyDict>>) -> PyResult<PyErr> {
    let class = py.import("trueup._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((message,), attributes)?))
}

/// Returns the exception for an error of a query or of a dataset.
fn engine(py: Python<'_>, error: &trueup::Error, message: &str) -> PyResult<PyErr> {
    use trueup::Error::{Dataset, Interrupted, Partial, Query};
    match error {
        Query(QueryError::UnknownFields { fields }) => {
            let similar = |field: &UnknownField| (field.name.clone(), field.similar.clone());
            let fields = fields.iter().map(similar).into_py_dict(py)?;
            exception(py, "UnknownFieldError", message, Some(&[("fields", fields)].into_py_dict(py)?))
        }
        Query(QueryError::Filter { field, .. }) => {
            exception(py, "FilterError", message, Some(&[("at", field)].into_py_dict(py)?))
        }
        Query(QueryError::SpanTooLong { .. } | QueryError::TotalsTooLong { .. }) => {
            exception(py, "QueryError", &format!("{message}, or lift the limit with `allow_long_total=True`"), None)
        }
        Query(QueryError::TooManyRows { .. }) => exception(py, "TooManyRowsError", message, None),
        Query(_) => exception(py, "QueryError", message, None),
        Dataset(_) => exception(py, "DatasetError", message, None),
        Partial(_) => exception(py, "PartialError", message, None),
        Interrupted(interruption) => interrupted(py, *interruption, error),
        _ => exception(py, "Error", message, None),
    }
}

/// Returns the exception of a query or an ingest that was interrupted.
fn interrupted(py: Python<'_>, interruption: Interruption, error: &dyn Error) -> PyResult<PyErr> {
    let class = match interruption {
        Interruption::Deadline => "Timeout",
        Interruption::Canceled => "Cancelled",
    };
    exception(py, class, &message_with_causes(error), None)
}

/// Returns the exception of an ingest, with the first row that breaks a rule.
fn ingest(py: Python<'_>, error: &IngestError) -> PyResult<PyErr> {
    if let Some(interruption) = error.interruption() {
        return interrupted(py, interruption, error);
    }
    let attributes = PyDict::new(py);
    attributes.set_item("may_be_published", error.may_be_published())?;
    attributes.set_item("rejected_rows", error.rejected_rows().map_or(0, |rows| rows.rows()))?;
    if let Some((file, row)) = error.row() {
        attributes.set_item("file", file.to_string_lossy())?;
        attributes.set_item("line", row.location().line())?;
        attributes.set_item("location", row.location().to_string())?;
        attributes.set_item("column", row.column())?;
        attributes.set_item("value", row.value())?;
        attributes.set_item("rule", row.rule().to_string())?;
    }
    exception(py, "IngestError", &message_with_causes(error), Some(&attributes))
}
