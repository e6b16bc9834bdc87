//! `Why`: the events, customers and rows of spend behind the numbers of one row of an answer.

use crate::arguments::{Keywords, names};
use crate::error::Failure;
use crate::table::{Table, to_python};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDate, PyDict, PyString};
use trueup::Value;
use trueup::query::{EventsQuery, LineOrder, WhyQuery};

/// Why the numbers of one row of an answer are what they are. `Dataset.why` makes it.
///
/// Each metric is a sum of measures, or one such sum over another. Each measure has lines that add up to it: an event
/// that it counts, a customer (shown on its state event) or a row of spend.
#[pyclass(frozen, module = "trueup")]
pub(crate) struct Why(pub(crate) trueup::Why);

#[pymethods]
impl Why {
    /// The first day of the row.
    #[getter]
    fn start(&self) -> chrono::NaiveDate {
        self.0.range.start.date()
    }

    /// The last day of the row.
    #[getter]
    fn end(&self) -> chrono::NaiveDate {
        self.0.range.end.date()
    }

    /// The values of the metrics, by name: those of the answer.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values(py, self.0.metrics.iter().map(|metric| (metric.name.as_str(), metric.value)))
    }

    /// The formulas of the metrics over measures, by name, such as "bookedCustomers / customers".
    #[getter]
    fn formulas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.metrics.iter().map(|metric| (&metric.name, &metric.formula)).into_py_dict(py)
    }

    /// The first and the last day of the earlier range; `None` if the query does not compare.
    #[getter]
    fn previous(&self) -> Option<(chrono::NaiveDate, chrono::NaiveDate)> {
        self.0.previous.map(|range| (range.start.date(), range.end.date()))
    }

    /// How much each metric changed, by name; empty if the query does not compare.
    #[getter]
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metrics = self.0.metrics.iter();
        values(py, metrics.filter_map(|metric| Some((metric.name.as_str(), metric.change.as_ref()?.change))))
    }

    /// What the lines of each measure add up to, by name, those of an earlier range left out.
    #[getter]
    fn measures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values(py, self.0.measures.iter().map(|measure| (measure.measure.name(), measure.sum)))
    }

    /// The lines that are listed, by measure: account, customer, event, day and stage, what the line adds, and the rule
    /// by which it counts. If the query compares, also the class (`current`, `previous` or `changed`) and the range;
    /// lines of the earlier range subtract.
    #[getter]
    fn lines(&self) -> Table {
        Table::new(self.0.lines().clone())
    }

    /// The number of all lines, whether listed or not.
    #[getter]
    fn total_lines(&self) -> u64 {
        self.0.total_lines()
    }

    fn __repr__(&self) -> String {
        let metrics: Vec<&str> = self.0.metrics.iter().map(|metric| metric.name.as_str()).collect();
        format!("<Why of {}, {} lines>", metrics.join(", "), self.0.total_lines())
    }
}

/// Returns values by name.
fn values<'py, 'a>(
    py: Python<'py>,
    mut values: impl Iterator<Item = (&'a str, Value<'a>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    values.try_for_each(|(name, value)| dict.set_item(name, to_python(py, value)?))?;
    Ok(dict)
}

/// The arguments of `Dataset.why` that are not those of its query.
pub(crate) struct WhyArguments {
    row: Vec<(String, String)>,
    metrics: Vec<String>,
    order: LineOrder,
    limit: Option<usize>,
}

impl WhyArguments {
    pub(crate) fn read(keywords: &Keywords<'_>) -> Result<Self, Failure> {
        let metrics = keywords.any("metrics")?.map(|value| names("metrics", &value)).transpose()?.unwrap_or_default();
        let order = match keywords.value::<String>("order", "oldest, newest or largest")?.as_deref() {
            None | Some("oldest") => LineOrder::Oldest,
            Some("newest") => LineOrder::Newest,
            Some("largest") => LineOrder::Largest,
            Some(other) => {
                return Err(Failure::Value(format!(
                    "`order`: expected oldest, newest or largest, but found `{other}`"
                )));
            }
        };
        let mut row = Vec::new();
        if let Some(values) = keywords.value::<Bound<'_, PyDict>>("row", "a dict of the values of the row")? {
            for (name, value) in values.iter() {
                // The numbers of a row of an answer are what is asked about. Values of dimensions are texts, and days.
                if value.is_instance_of::<PyString>() || value.is_instance_of::<PyDate>() {
                    row.push((name.extract()?, value.str()?.to_string()));
                }
            }
        }
        Ok(Self { row, metrics, order, limit: keywords.value("limit", "a number of lines")? })
    }

    /// Returns the question for a row of the answer to a query.
    pub(crate) fn question(self, query: EventsQuery) -> WhyQuery {
        let mut question = WhyQuery::new(query).order(self.order);
        for (column, value) in self.row {
            question = question.value(column, value);
        }
        question = self.metrics.into_iter().fold(question, WhyQuery::metric);
        self.limit.into_iter().fold(question, WhyQuery::limit)
    }
}
