//! What a parameter is: its name, its values, and what it does. Every surface that takes parameters reads it: the query
//! string of a request and its OpenAPI description, the options of the program, jobs files, and keyword arguments.

use crate::Shown;
use serde_json::Value;

/// A parameter of a request.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name. An option of the program is `--` and the name; a keyword argument has `_` for `-`.
    pub name: &'static str,
    /// The type of its value.
    pub value: ValueType,
    /// What stands for a value in a usage text, such as `DATE`.
    pub value_name: &'static str,
    /// An example value.
    pub example: &'static str,
    /// What it does, in whole sentences. The name of another parameter has `@` before it.
    description: &'static str,
    /// Whether a request of the HTTP service without it is refused.
    pub required: bool,
    /// The parameter without which this one is refused.
    pub requires: Option<&'static str>,
}

/// The type of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// One name.
    Name,
    /// Names, separated by commas.
    Names,
    /// Texts, each of them whole; the parameter may be given several times.
    Strings,
    /// A day, `YYYY-MM-DD`.
    Date,
    /// A month, `YYYY-MM`, or `previous-mtd`.
    Month,
    /// The name of a range of days, such as `2026-05`.
    Range,
    /// The name of an interval.
    Interval,
    /// A filter across fields, in JSON.
    Filter,
    /// A text that matches a regular expression.
    Pattern(&'static str),
    /// `true` or `false`.
    Flag,
    /// A number of rows.
    Rows,
    /// A whole number.
    Count {
        /// The value if there is none.
        default: usize,
        /// The largest value.
        most: usize,
    },
}

/// A parameter whose value is refused, or that is given without another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`: {fault}")]
pub struct InvalidParameter {
    /// The name of the parameter.
    pub name: &'static str,
    /// Why it is refused.
    pub fault: String,
}

impl Parameter {
    /// Returns an optional parameter.
    pub(crate) const fn new(
        name: &'static str,
        value: ValueType,
        description: &'static str,
        example: &'static str,
    ) -> Self {
        Self { name, value, value_name: "VALUE", example, description, required: false, requires: None }
    }

    /// Makes the HTTP service refuse requests without the parameter.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// Sets another name, for a query string in which the usual one could be that of a field.
    pub(super) const fn named_over_http(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Sets what stands for a value in a usage text.
    pub(super) const fn value_name(self, value_name: &'static str) -> Self {
        Self { value_name, ..self }
    }

    /// Sets the parameter without which this one is refused.
    pub(super) const fn requires(self, name: &'static str) -> Self {
        Self { requires: Some(name), ..self }
    }

    /// Returns what the parameter does, in whole sentences; `spell` writes the names of other parameters.
    ///
    /// ```
    /// use trueup::request::{PARAMETERS, Parameter};
    ///
    /// let within = Parameter::named("within").unwrap();
    /// assert!(within.description(|name| format!("--{name}")).starts_with("The window of --cohort: "));
    /// ```
    #[must_use]
    pub fn description(&self, spell: impl Fn(&str) -> String) -> String {
        let mut parts = self.description.split('@');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, more) = part.split_at(part.find(|char: char| !char.is_ascii_lowercase()).unwrap_or(part.len()));
            text += &spell(name);
            text += more;
        }
        text
    }

    /// Returns the value that texts spell, as JSON.
    pub(crate) fn json(&self, texts: &[String]) -> Result<Value, InvalidParameter> {
        let fault = |fault: String| InvalidParameter { name: self.name, fault };
        let one = || match texts {
            [text] => Ok(text.as_str()),
            _ => Err(fault(format!("expected one value, but found {}", texts.len()))),
        };
        Ok(match self.value {
            ValueType::Names => {
                let names = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
                names.filter(|name| !name.is_empty()).collect()
            }
            ValueType::Strings => texts.iter().map(String::as_str).collect(),
            ValueType::Flag => match one()? {
                "true" => true.into(),
                "false" => false.into(),
                other => return Err(fault(format!("expected `true` or `false`, but found `{}`", Shown(other)))),
            },
            ValueType::Rows | ValueType::Count { .. } => {
                let text = one()?;
                let number: Result<u64, _> = text.parse();
                number.map_err(|_| fault(format!("expected a whole number, but found `{}`", Shown(text))))?.into()
            }
            _ => one()?.into(),
        })
    }
}
