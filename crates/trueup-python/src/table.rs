//! `Table`: an answer, as Arrow and as Python values.

use crate::display;
use crate::error::Failure;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::{PyImportError, PyKeyError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyList, PyType};
use std::sync::OnceLock;
use trueup::{ResultTable, Value, json, money};

/// The answer to a query: finished rows, one column for each field.
///
/// pyarrow, polars and DuckDB read it without a copy, because it has the Arrow PyCapsule interface:
/// `pyarrow.table(table)`, `polars.DataFrame(table)`, `duckdb.from_arrow(table)`. Days are `date32`, dimensions
/// dictionaries of texts, counts `uint64` (`int64` where they may be negative), money `decimal128(38, 6)` in currency
/// units, and ratios `float64`. A dimension without a value is the empty text, and a ratio whose denominator is 0 is 0.
/// Only a comparison and `Dataset.diff` have nulls: in `float64` columns that they add to a metric `m`, such as
/// `m.ratio`, `m.benchmark` and the `m.change` of a ratio, where there is no such number.
#[pyclass(frozen, module = "trueup")]
pub(crate) struct Table {
    table: ResultTable,
    /// The table as Arrow, once it was asked for. All readers share its memory.
    batch: OnceLock<RecordBatch>,
}

impl Table {
    pub(crate) fn new(table: ResultTable) -> Self {
        Self { table, batch: OnceLock::new() }
    }

    pub(crate) const fn result(&self) -> &ResultTable {
        &self.table
    }

    fn batch(&self, py: Python<'_>) -> Result<&RecordBatch, Failure> {
        if self.batch.get().is_none() {
            let batch = py.detach(|| self.table.record_batch());
            let batch =
                batch.map_err(|error| Failure::Internal(format!("the answer does not fit into Arrow: {error}")))?;
            // Another thread may have set an equal one.
            let _ = self.batch.set(batch);
        }
        self.batch.get().ok_or_else(|| Failure::Internal("the answer is not set".to_owned()))
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.table.columns().iter().map(|column| column.name.as_str()).collect()
    }

    /// The number of rows and of columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.table.len(), self.table.columns().len())
    }

    /// The totals, if the query asked for them: a table of one row, in which every metric is computed for the whole
    /// range. They are not among the rows.
    #[getter]
    fn totals(&self) -> Option<Self> {
        self.table.totals().map(|totals| Self::new(totals.clone()))
    }

    /// Returns the same answer with its totals as the last row, and with a first column `rowType`, which is `total` in
    /// that row and `group` in every other. An answer without totals stays as it is.
    fn with_totals_row(&self) -> Self {
        Self::new(self.table.clone().with_totals_row())
    }

    /// Returns the rows as dicts: days as `datetime.date`, dimensions as `str`, counts as `int`, money as
    /// `decimal.Decimal`, ratios as `float`, and null as None.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for row in self.table.rows() {
            let dict = PyDict::new(py);
            row.values().try_for_each(|(name, value)| dict.set_item(name, to_python(py, value)?))?;
            rows.append(dict)?;
        }
        Ok(rows)
    }

    /// Returns the rows as the JSON array that the API answers, byte for byte.
    fn to_json(&self, py: Python<'_>) -> Result<String, Failure> {
        let written = py.detach(|| {
            let mut out = Vec::new();
            json::write_rows(&self.table, &mut out).map(|()| out)
        });
        let text = written.map_err(|error| error.to_string());
        let text = text.and_then(|bytes| String::from_utf8(bytes).map_err(|error| error.to_string()));
        text.map_err(Failure::Internal)
    }

    /// Returns the answer as a `pyarrow.Table`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        optional_import(slf.py(), "pyarrow", "to_pyarrow")?.call_method1("table", (slf,))
    }

    /// Returns the answer as a `polars.DataFrame`.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        optional_import(slf.py(), "polars", "to_polars")?.call_method1("DataFrame", (slf,))
    }

    /// Returns the answer as a `pandas.DataFrame`, which pyarrow converts: dimensions are categories, and money is
    /// `decimal.Decimal`. Keyword arguments are those of `pyarrow.Table.to_pandas`; `types_mapper=pandas.ArrowDtype`
    /// keeps the types of Arrow.
    #[pyo3(signature = (**options))]
    fn to_pandas<'py>(slf: &Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        optional_import(py, "pandas", "to_pandas")?;
        let table = optional_import(py, "pyarrow", "to_pandas")?.call_method1("table", (slf,))?;
        table.call_method("to_pandas", (), options)
    }

    /// Returns the answer as a stream of the Arrow C interface. The requested schema is ignored, which the
    /// interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        let _ = requested_schema;
        let batch = self.batch(py)?.clone();
        let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        Ok(PyCapsule::new_with_value(py, stream, c"arrow_array_stream")?)
    }

    /// Returns the types of the columns as a schema of the Arrow C interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>, Failure> {
        let schema = FFI_ArrowSchema::try_from(self.batch(py)?.schema_ref().as_ref());
        let schema = schema.map_err(|error| Failure::Internal(error.to_string()))?;
        Ok(PyCapsule::new_with_value(py, schema, c"arrow_schema")?)
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }

    /// Returns the values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(column) = self.table.column(name) else {
            let known = self.columns().join(", ");
            return Err(PyKeyError::new_err(format!("the answer has no column {name:?}; it has {known}")));
        };
        let values = (0..self.table.len()).filter_map(|row| column.value(row));
        PyList::new(py, values.map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?)
    }

    fn __contains__(&self, name: &str) -> bool {
        self.table.column(name).is_some()
    }

    fn __repr__(&self) -> String {
        display::text(&self.table)
    }

    fn _repr_html_(&self) -> String {
        display::html(&self.table)
    }
}

/// Returns a value as Python has it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(match value {
        Value::Day(day) => day.date().into_pyobject(py)?.into_any(),
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
        Value::Count(count) => count.into_pyobject(py)?.into_any(),
        Value::Money(micros) => DECIMAL.import(py, "decimal", "Decimal")?.call1((money::format_micros(micros),))?,
        Value::Ratio(number) | Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Integer(integer) => integer.into_pyobject(py)?.into_any(),
        Value::Null => py.None().into_bound(py),
    })
}

/// Imports a package that trueup does not depend on.
fn optional_import<'py>(py: Python<'py>, package: &str, method: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(package).map_err(|error| {
        if !error.is_instance_of::<PyImportError>(py) {
            return error;
        }
        let missing = PyImportError::new_err(format!(
            "Table.{method}() needs the package `{package}`, which cannot be imported: pip install {package}"
        ));
        missing.set_cause(py, Some(error));
        missing
    })
}
