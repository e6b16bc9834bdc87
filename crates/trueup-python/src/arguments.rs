//! Values of arguments, from Python.

use crate::error::Failure;
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateTime, PyDict, PyString};
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;
use trueup::Day;
use trueup::versions::AsOf;

/// Largest number of threads, the same as for the program. No machine benefits from more, and far more take time and
/// memory.
const MAX_THREADS: usize = 1_024;

/// Keyword arguments, from which each is taken by its name. What remains in the end is a mistake of the caller.
pub(crate) struct Keywords<'py> {
    function: &'static str,
    values: Option<Bound<'py, PyDict>>,
}

impl<'py> Keywords<'py> {
    /// Returns the keyword arguments of a function.
    pub(crate) fn new(function: &'static str, values: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        Ok(Self { function, values: values.map(|values| values.copy()).transpose()? })
    }

    /// Returns the value of an argument and forgets it; `None` if it is not given, or is Python's `None`.
    pub(crate) fn any(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(values) = &self.values else { return Ok(None) };
        let Some(value) = values.get_item(name)? else { return Ok(None) };
        values.del_item(name)?;
        Ok(Some(value).filter(|value| !value.is_none()))
    }

    /// Returns the value of an argument of a type that PyO3 converts.
    pub(crate) fn value<T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Failure> {
        let Some(value) = self.any(name)? else { return Ok(None) };
        value.extract().map(Some).map_err(|_| unexpected(name, expected, &value))
    }

    /// Returns whether an argument is `True`.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Failure> {
        Ok(self.value(name, "True or False")?.unwrap_or(false))
    }

    /// Returns what the text of an argument spells.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, Failure> {
        let text: Option<String> = self.value(name, "a text")?;
        text.map(|text| text.parse().map_err(|error| Failure::Value(format!("`{name}`: {error}")))).transpose()
    }

    /// Returns a day.
    pub(crate) fn day(&self, name: &str) -> Result<Option<Day>, Failure> {
        self.any(name)?.map(|value| day(name, &value)).transpose()
    }

    /// Returns the number of threads.
    pub(crate) fn threads(&self) -> Result<Option<NonZeroUsize>, Failure> {
        let threads: Option<usize> = self.value("threads", "a number of threads")?;
        let checked = |threads: usize| {
            let expected =
                || Failure::Value(format!("`threads`: expected a number from 1 to {MAX_THREADS}, but found {threads}"));
            NonZeroUsize::new(threads).filter(|threads| threads.get() <= MAX_THREADS).ok_or_else(expected)
        };
        threads.map(checked).transpose()
    }

    /// Returns the longest time that the call may take.
    pub(crate) fn timeout(&self) -> Result<Option<Duration>, Failure> {
        let seconds: Option<f64> = self.value("timeout", "a number of seconds")?;
        let checked = |seconds: f64| {
            let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            time.ok_or_else(|| Failure::Value(format!("`timeout`: expected seconds above 0, but found {seconds}")))
        };
        seconds.map(checked).transpose()
    }

    /// Returns how long the call may wait for others that write to the dataset; zero if it is not given.
    pub(crate) fn wait(&self) -> Result<Duration, Failure> {
        let Some(value) = self.any("wait")? else { return Ok(Duration::ZERO) };
        if let Ok(seconds) = value.extract() {
            let time = Duration::try_from_secs_f64(seconds);
            return time.map_err(|_| Failure::Value(format!("`wait`: expected seconds, but found {seconds}")));
        }
        value.extract().map_err(|_| unexpected("wait", "a number of seconds or a datetime.timedelta", &value))
    }

    /// Checks that every argument was taken.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let mut names = self.values.iter().flat_map(|values| values.keys().into_iter());
        match names.next() {
            Some(name) => {
                Err(Failure::Type(format!("{}() got an unexpected keyword argument '{name}'", self.function)))
            }
            None => Ok(()),
        }
    }
}

/// Returns the version that an argument means: its number, or a time, as a `datetime` or as a text.
pub(crate) fn as_of(name: &str, value: &Bound<'_, PyAny>) -> Result<AsOf, Failure> {
    if let Ok(version) = value.extract() {
        return Ok(AsOf::Version(version));
    }
    let text: String = match value.call_method0("isoformat") {
        Ok(text) => text.extract()?,
        Err(_) => value.extract().map_err(|_| unexpected(name, "the number of a version, or a time", value))?,
    };
    text.parse().map_err(|error| Failure::Value(format!("`{name}`: {error}")))
}

/// Returns the error of an argument with a value of another type than it takes.
pub(crate) fn unexpected(name: &str, expected: &str, found: &Bound<'_, PyAny>) -> Failure {
    Failure::Type(format!("`{name}`: expected {expected}, but found {}", described(found)))
}

/// Returns a value for a message: its type, and the value if it is short.
fn described(value: &Bound<'_, PyAny>) -> String {
    const MOST_CHARS: usize = 60;
    let name = value.get_type().name().map_or_else(|_| "a value".to_owned(), |name| name.to_string());
    match value.repr().map(|text| text.to_string()) {
        Ok(text) if text.chars().nth(MOST_CHARS).is_none() && !text.contains('\n') => format!("`{text}` ({name})"),
        _ => format!("a value of the type `{name}`"),
    }
}

/// Reads a day: a `datetime.date`, or a text.
pub(crate) fn day(name: &str, value: &Bound<'_, PyAny>) -> Result<Day, Failure> {
    let text: String = match value.cast::<PyString>() {
        Ok(text) => text.extract()?,
        Err(_) => {
            date_text(name, value)?.ok_or_else(|| unexpected(name, "a datetime.date or a text as YYYY-MM-DD", value))?
        }
    };
    text.parse().map_err(|error| Failure::Query(format!("`{name}`: {error}")))
}

/// Returns the text of a `datetime.date`; `None` if the value is not one.
///
/// # Errors
/// The value is a `datetime.datetime`, which is a date to Python.
pub(crate) fn date_text(name: &str, value: &Bound<'_, PyAny>) -> Result<Option<String>, Failure> {
    if value.is_instance_of::<PyDateTime>() {
        return Err(Failure::Type(format!(
            "`{name}`: expected a datetime.date, but found a datetime.datetime; an event's day is that of its account's \
             time zone, so a point in time is no day of all accounts: pass `.date()` of the day that is meant"
        )));
    }
    if !value.is_instance_of::<PyDate>() {
        return Ok(None);
    }
    Ok(Some(value.call_method0("isoformat")?.extract()?))
}

/// Reads names: a text with commas between them, or texts. Blanks around a name, and empty names, are left out.
pub(crate) fn names(name: &str, value: &Bound<'_, PyAny>) -> Result<Vec<String>, Failure> {
    let texts = match value.cast::<PyString>() {
        Ok(text) => text.to_string().split(',').map(str::to_owned).collect(),
        Err(_) => texts(name, value)?,
    };
    Ok(texts.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Reads one text or several, each of them whole.
pub(crate) fn texts(name: &str, value: &Bound<'_, PyAny>) -> Result<Vec<String>, Failure> {
    let expected = || unexpected(name, "a text or a list of texts", value);
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(vec![text.to_string()]);
    }
    let items = value.try_iter().map_err(|_| expected())?;
    items.map(|item| item?.extract().map_err(|_| expected())).collect()
}
