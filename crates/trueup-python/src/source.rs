//! The inputs of an ingest: paths, Arrow tables and data frames.

use crate::error::Failure;
use arrow_array::RecordBatch;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::FromPyArrow;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::path::PathBuf;
use trueup::ingest::Source;

/// Reads the inputs of a table: one, a list of several, or a dict of several by the names that a mapping has for them.
pub(crate) fn sources(table: &str, value: &Bound<'_, PyAny>) -> Result<Vec<Source>, Failure> {
    if let Ok(named) = value.cast::<PyDict>() {
        return named.iter().map(|(name, input)| Ok(source(table, &input)?.named(name.extract::<String>()?))).collect();
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.try_iter()?.map(|input| source(table, &input?)).collect();
    }
    Ok(vec![source(table, value)?])
}

fn source(table: &str, value: &Bound<'_, PyAny>) -> Result<Source, Failure> {
    // A data frame of polars, pandas or pyarrow has this method, and so has a reader of record batches.
    if value.hasattr("__arrow_c_stream__")? {
        return Ok(Source::batch_reader(RecordBatchStreamReader::from_pyarrow_bound(value)?));
    }
    if value.hasattr("__arrow_c_array__")? {
        return Ok(Source::batches([RecordBatch::from_pyarrow_bound(value)?]));
    }
    if value.is_instance_of::<PyString>() || value.hasattr("__fspath__")? {
        return Ok(Source::path(value.extract::<PathBuf>()?));
    }
    let found = value.get_type().fully_qualified_name()?;
    Err(Failure::Type(format!(
        "`{table}`: expected a path, an Arrow table, or a data frame that has the Arrow PyCapsule interface (pandas from 2.2 \
         on, polars, pyarrow, DuckDB), or a list or dict of such, but found a value of the type `{found}`"
    )))
}
