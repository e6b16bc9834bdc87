//! Conditions from Python values: `trueup.col("total") >= 500`.

use crate::arguments::{date_text, unexpected};
use crate::error::Failure;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use std::fmt::Write;
use trueup::query::{self, ComparisonOperator, MAX_FILTER_DEPTH, Operand, Predicate};

/// A field, to be compared with a value: `trueup.col("total") >= 500` is a condition.
#[pyclass(frozen, module = "trueup")]
pub(crate) struct Col {
    name: String,
}

/// Returns a field by its name, to be compared with a value: `trueup.col("total") >= 500` is a condition.
#[pyfunction]
pub(crate) fn col(name: String) -> Col {
    Col { name }
}

#[pymethods]
impl Col {
    #[new]
    fn new(name: String) -> Self {
        Self { name }
    }

    /// The name of the field.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __richcmp__(&self, value: &Bound<'_, PyAny>, comparison: CompareOp) -> Result<Filter, Failure> {
        let operand = operand(value)?;
        let comparison = match comparison {
            CompareOp::Eq => return Ok(self.test(Predicate::Equals(operand))),
            CompareOp::Ne => return Ok(self.test(Predicate::NotEquals(operand))),
            CompareOp::Lt => ComparisonOperator::Less,
            CompareOp::Le => ComparisonOperator::LessOrEqual,
            CompareOp::Gt => ComparisonOperator::Greater,
            CompareOp::Ge => ComparisonOperator::GreaterOrEqual,
        };
        Ok(self.test(Predicate::Compare(comparison, operand)))
    }

    /// Holds if the field is one of the values. Never holds if there are no values.
    fn is_in(&self, values: &Bound<'_, PyAny>) -> Result<Filter, Failure> {
        let expected = "several values, such as a list";
        if values.is_instance_of::<PyString>() {
            return Err(unexpected("is_in", expected, values));
        }
        let items = values.try_iter().map_err(|_| unexpected("is_in", expected, values))?;
        let equals = |value: PyResult<Bound<'_, PyAny>>| -> Result<query::Filter, Failure> {
            Ok(query::Filter::field(self.name.clone(), Predicate::Equals(operand(&value?)?)))
        };
        Ok(Filter { filter: query::Filter::Any(items.map(equals).collect::<Result<_, _>>()?), depth: 1 })
    }

    /// Holds if the field contains a match of the regular expression, in the syntax of Rust's `regex`. `flags` may
    /// contain `i` (ignores case), `m`, `s`, `u` and `x`.
    #[pyo3(signature = (pattern, flags = ""))]
    fn matches(&self, pattern: String, flags: &str) -> Filter {
        self.test(Predicate::Matches { pattern, flags: flags.to_owned() })
    }

    /// Holds if the field is from `low` to `high`, both included.
    fn between(&self, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> Result<Filter, Failure> {
        let low = self.__richcmp__(low, CompareOp::Ge)?;
        low.__and__(&self.__richcmp__(high, CompareOp::Le)?)
    }

    /// Holds if the field has no value.
    fn is_empty(&self) -> Filter {
        self.test(Predicate::Empty)
    }

    /// Holds if the field has a value.
    fn is_not_empty(&self) -> Filter {
        self.test(Predicate::NotEmpty)
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("a field is neither true nor false; compare it with a value"))
    }

    fn __repr__(&self) -> String {
        format!("col({:?})", self.name)
    }
}

impl Col {
    fn test(&self, predicate: Predicate) -> Filter {
        Filter { filter: query::Filter::field(self.name.clone(), predicate), depth: 0 }
    }
}

/// A condition on fields. Join conditions with `&` (and), `|` (or) and `~` (not), each in parentheses.
#[pyclass(frozen, module = "trueup", eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct Filter {
    pub(crate) filter: query::Filter,
    /// How deeply conditions are nested; it is limited, so that no filter overflows the stack.
    depth: usize,
}

#[pymethods]
impl Filter {
    fn __and__(&self, other: &Self) -> Result<Self, Failure> {
        use query::Filter::All;
        let parts = |filter: &query::Filter| match filter {
            All(parts) => parts.clone(),
            other => vec![other.clone()],
        };
        self.join(other, |filter| matches!(filter, All(_)), |one, other| All([parts(one), parts(other)].concat()))
    }

    fn __or__(&self, other: &Self) -> Result<Self, Failure> {
        use query::Filter::Any;
        let parts = |filter: &query::Filter| match filter {
            Any(parts) => parts.clone(),
            other => vec![other.clone()],
        };
        self.join(other, |filter| matches!(filter, Any(_)), |one, other| Any([parts(one), parts(other)].concat()))
    }

    fn __invert__(&self) -> Result<Self, Failure> {
        Self::nested(query::Filter::Not(Box::new(self.filter.clone())), self.depth + 1)
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "a condition is neither true nor false; join conditions with `&`, `|` and `~` in place of `and`, `or` and \
             `not`, each in parentheses, and write `low <= x <= high` as `x.between(low, high)`",
        ))
    }

    fn __repr__(&self) -> String {
        let mut text = String::new();
        write_filter(&self.filter, &mut text);
        text
    }
}

impl Filter {
    /// Joins two conditions. One that `is_joined` in the same way already gives its parts, so that a long chain is
    /// flat.
    fn join(
        &self,
        other: &Self,
        is_joined: impl Fn(&query::Filter) -> bool,
        joined: impl Fn(&query::Filter, &query::Filter) -> query::Filter,
    ) -> Result<Self, Failure> {
        let depth = |side: &Self| side.depth + usize::from(!is_joined(&side.filter));
        Self::nested(joined(&self.filter, &other.filter), depth(self).max(depth(other)))
    }

    fn nested(filter: query::Filter, depth: usize) -> Result<Self, Failure> {
        if depth > MAX_FILTER_DEPTH {
            return Err(Failure::Query(query::FilterFault::TooDeep { limit: MAX_FILTER_DEPTH }.to_string()));
        }
        Ok(Self { filter, depth })
    }
}

/// Reads a value to compare with.
fn operand(value: &Bound<'_, PyAny>) -> Result<Operand, Failure> {
    const EXPECTED: &str = "a text, a number, a datetime.date, True, False or None";
    if value.is_none() {
        return Ok(Operand::Text(String::new()));
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Operand::Text(truth.is_true().to_string()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Operand::Text(text.extract()?));
    }
    if let Some(text) = date_text("value", value)? {
        return Ok(Operand::Text(text));
    }
    if value.is_instance_of::<PyFloat>() {
        return number(value, value.extract()?);
    }
    // An integer of Python or of NumPy.
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        let integer = value.call_method0("__index__")?;
        let number: f64 = integer.extract().map_err(|_| unexpected("value", "a number", value))?;
        return if integer.eq(number)? {
            self::number(value, number)
        } else {
            Err(Failure::Query(format!("expected a number that a double represents exactly, but found {integer}")))
        };
    }
    // A decimal, or a float of NumPy.
    if value.hasattr("__float__")? && !value.is_instance_of::<Col>() {
        return number(value, value.call_method0("__float__")?.extract()?);
    }
    Err(unexpected("value", EXPECTED, value))
}

fn number(value: &Bound<'_, PyAny>, number: f64) -> Result<Operand, Failure> {
    if number.is_finite() { Ok(Operand::Number(number)) } else { Err(unexpected("value", "a finite number", value)) }
}

/// Writes a condition as the Python expression that makes it; `never` for `is_in` without values. Conditions are not
/// deeper than [`MAX_FILTER_DEPTH`].
fn write_filter(filter: &query::Filter, out: &mut String) {
    let join = |parts: &[query::Filter], sign: &str, out: &mut String| {
        for (at, part) in parts.iter().enumerate() {
            out.push_str(if at == 0 { "(" } else { sign });
            write_filter(part, out);
        }
        out.push(')');
    };
    match filter {
        query::Filter::All(parts) => join(parts, ") & (", out),
        query::Filter::Any(parts) if parts.is_empty() => out.push_str("never"),
        query::Filter::Any(parts) => join(parts, ") | (", out),
        query::Filter::Not(part) => {
            out.push_str("~(");
            write_filter(part, out);
            out.push(')');
        }
        query::Filter::Field { name, predicate } => {
            let name = format!("col({name:?})");
            // Writing to a text cannot fail.
            let _ = match predicate {
                Predicate::Equals(operand) => write!(out, "{name} == {}", shown(operand)),
                Predicate::NotEquals(operand) => write!(out, "{name} != {}", shown(operand)),
                Predicate::Compare(comparison, operand) => {
                    write!(out, "{name} {} {}", comparison.symbol(), shown(operand))
                }
                Predicate::Matches { pattern, flags } if flags.is_empty() => write!(out, "{name}.matches({pattern:?})"),
                Predicate::Matches { pattern, flags } => write!(out, "{name}.matches({pattern:?}, flags={flags:?})"),
                Predicate::Empty => write!(out, "{name}.is_empty()"),
                Predicate::NotEmpty => write!(out, "{name}.is_not_empty()"),
            };
        }
    }
}

fn shown(operand: &Operand) -> String {
    match operand {
        Operand::Text(text) => format!("{text:?}"),
        Operand::Number(number) => number.to_string(),
    }
}
