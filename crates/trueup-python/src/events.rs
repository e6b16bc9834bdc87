//! `EventReader`: the events that a query aggregates, as record batches of pyarrow.

use crate::error::Failure;
use crate::run::{CallInterrupt, run};
use arrow_pyarrow::{PyArrowType, ToPyArrow};
use arrow_schema::Schema;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The events of a split with their computed fields, in batches: an iterator of `pyarrow.RecordBatch`.
///
/// `Dataset.read_events` makes it. It returns each batch once: threads that share it get different batches.
#[pyclass(frozen, module = "trueup")]
pub(crate) struct EventReader {
    reader: Mutex<trueup::EventReader<Arc<trueup::Dataset>>>,
    call: CallInterrupt,
}

impl EventReader {
    pub(crate) const fn new(reader: trueup::EventReader<Arc<trueup::Dataset>>, call: CallInterrupt) -> Self {
        Self { reader: Mutex::new(reader), call }
    }
}

#[pymethods]
impl EventReader {
    /// The names and types of the columns, as a `pyarrow.Schema`.
    #[getter]
    fn schema(&self) -> PyArrowType<Schema> {
        let schema = self.reader.lock().unwrap_or_else(PoisonError::into_inner).schema();
        PyArrowType(Schema::clone(&schema))
    }

    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>, Failure> {
        let next = || self.reader.lock().unwrap_or_else(PoisonError::into_inner).next().transpose();
        let batch = run(py, &self.call, next)?;
        Ok(batch.map(|batch| batch.to_pyarrow(py)).transpose()?)
    }
}
