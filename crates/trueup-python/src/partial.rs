//! `Split` and `Partial`: parts of a query, which run in any process, and what they give.

use crate::arguments::Keywords;
use crate::dataset::{Dataset, limited_execution};
use crate::error::Failure;
use crate::query::Query;
use crate::run::{CallInterrupt, run};
use crate::table::Table;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

/// A part of a query, which `Dataset.plan_splits` makes and `Dataset.run_split` runs, in any process. It can be
/// pickled.
#[pyclass(frozen, module = "trueup", eq)]
#[derive(PartialEq)]
pub(crate) struct Split(pub(crate) trueup::Split);

#[pymethods]
impl Split {
    /// Reads what `to_json` has written.
    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, text: &str) -> Result<Self, Failure> {
        let split = serde_json::from_str(text);
        split.map(Self).map_err(|error| Failure::Query(format!("the text is not a split: {error}")))
    }

    /// Returns the split as JSON, for another process.
    fn to_json(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.0).map_err(|error| Failure::Internal(error.to_string()))
    }

    /// The number of rows that running the split reads.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn __repr__(&self) -> String {
        format!("<Split of {} rows>", self.0.rows())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, (String,)), Failure> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json()?,)))
    }
}

/// What one split of a query gives, or several whose partial results were merged: counts and sums, all integers, and a
/// control total of the rows that they cover. It is a value: merging makes a new one. It can be pickled.
///
/// `finish` refuses what does not cover every row of the query exactly once: a partial result that is lost, repeated,
/// altered, or of another query or version is a `PartialError`, and never a number.
#[pyclass(frozen, module = "trueup")]
pub(crate) struct Partial {
    /// The form that goes from process to process, checked when it was made.
    bytes: Vec<u8>,
    #[pyo3(get)]
    /// The version of the dataset.
    dataset_version: u64,
    /// The number of row groups that it covers.
    #[pyo3(get)]
    row_groups: usize,
    /// The number of rows that it covers.
    #[pyo3(get)]
    rows_read: u64,
}

impl Partial {
    pub(crate) fn new(partial: &trueup::Partial) -> Result<Self, Failure> {
        Ok(Self {
            bytes: partial.to_bytes()?,
            dataset_version: partial.dataset_version(),
            row_groups: partial.row_groups(),
            rows_read: partial.rows_read(),
        })
    }
}

#[pymethods]
impl Partial {
    /// Reads what `to_bytes` has returned.
    #[classmethod]
    fn from_bytes(class: &Bound<'_, PyType>, data: Vec<u8>) -> Result<Self, Failure> {
        let partial = run(class.py(), &CallInterrupt::new(None, None), || trueup::Partial::from_bytes(&data))?;
        Ok(Self {
            dataset_version: partial.dataset_version(),
            row_groups: partial.row_groups(),
            rows_read: partial.rows_read(),
            bytes: data,
        })
    }

    /// Returns the bytes of the partial result, for another process.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    /// Returns this partial result merged with the one of other splits of the same query.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> Result<Self, Failure> {
        merge(slf.py(), &[slf.get(), other.get()])
    }

    /// Merges partial results of the same query, given in any order, into one. Raises a ValueError if there are none.
    #[classmethod]
    fn merge_all(class: &Bound<'_, PyType>, partials: &Bound<'_, PyAny>) -> Result<Self, Failure> {
        let partials: Vec<Bound<'_, Self>> =
            partials.try_iter()?.map(|partial| Ok(partial?.cast_into()?)).collect::<PyResult<_>>()?;
        merge(class.py(), &partials.iter().map(Bound::get).collect::<Vec<_>>())
    }

    /// Turns the merged partial results of all splits of a query into its answer, which is that of `Dataset.query`.
    /// TooManyRowsError if it has more than `max_rows` rows.
    #[pyo3(
        signature = (dataset, query, **options),
        text_signature = "($self, dataset, query, *, max_rows=None, threads=None, timeout=None, \
                          interrupt=None)"
    )]
    fn finish(
        &self,
        py: Python<'_>,
        dataset: &Bound<'_, Dataset>,
        query: &Bound<'_, Query>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Table, Failure> {
        let keywords = Keywords::new("finish", options)?;
        let (call, execution) = limited_execution(&keywords)?;
        keywords.finish()?;
        let (dataset, query) = (&dataset.get().dataset, &query.get().0);
        let finish = || trueup::Partial::from_bytes(&self.bytes)?.finish(dataset, query, &execution);
        Ok(Table::new(run(py, &call, finish)?))
    }

    fn __repr__(&self) -> String {
        format!("<Partial of {} rows in {} row groups>", self.rows_read, self.row_groups)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }
}

fn merge(py: Python<'_>, partials: &[&Partial]) -> Result<Partial, Failure> {
    run(py, &CallInterrupt::new(None, None), || {
        let mut read = partials.iter().map(|partial| trueup::Partial::from_bytes(&partial.bytes));
        let first = read.next().ok_or_else(|| Failure::Value("expected at least one partial result".to_owned()))?;
        Partial::new(&read.try_fold(first?, |merged, next| merged.merge(next?))?)
    })
}
