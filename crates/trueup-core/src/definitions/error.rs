//! Why definitions are refused.

use crate::Shown;
use std::fmt;

/// Why definitions are refused. The [`Display`](fmt::Display) names the line, the definition, the key and the value,
/// where there is one: ``line 12, metric `net`, `numerator`: `bookRate`: this is a ratio ...``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError(Box<Fault>);

/// What an error says, in a box because errors of all kinds are passed on by value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    /// The line in the TOML, from 1; `None` if the definitions were made in Rust, or the fault is in no single line.
    line: Option<usize>,
    /// The column in the line, from 1, of a text that is not TOML.
    column: Option<usize>,
    /// The kind of the definition, and its name.
    entry: Option<(&'static str, String)>,
    key: Option<&'static str>,
    value: Option<String>,
    reason: String,
}

impl DefinitionError {
    /// Returns the error of a whole file.
    pub(super) fn new(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self(Box::new(Fault { line: None, column: None, entry: None, key: None, value: None, reason }))
    }

    /// Returns the error of a key.
    pub(super) fn of_key(key: &'static str, reason: impl Into<String>) -> Self {
        Self::new(reason).with(|fault| fault.key = Some(key))
    }

    /// Returns the error of a value.
    pub(super) fn of_value(key: &'static str, value: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::of_key(key, reason).with(|fault| fault.value = Some(value.into()))
    }

    /// Adds the definition.
    pub(super) fn of(self, kind: &'static str, name: &str, line: Option<usize>) -> Self {
        self.with(|fault| (fault.entry, fault.line) = (Some((kind, name.to_owned())), line))
    }

    /// Adds the place in the text.
    pub(super) fn at(self, line: usize, column: usize) -> Self {
        self.with(|fault| (fault.line, fault.column) = (Some(line), Some(column)))
    }

    fn with(mut self, change: impl FnOnce(&mut Fault)) -> Self {
        change(&mut self.0);
        self
    }

    /// Returns the line in the TOML, from 1; `None` if the definitions were made in Rust, or the fault is in no single
    /// line.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        self.0.line
    }
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { line, column, entry, key, value, reason } = &*self.0;
        let mut place = Vec::new();
        place.extend(line.map(|line| format!("line {line}")));
        place.extend(column.map(|column| format!("column {column}")));
        place.extend(entry.as_ref().map(|(kind, name)| format!("{kind} `{}`", Shown(name))));
        place.extend(key.map(|key| format!("`{key}`")));
        if !place.is_empty() {
            write!(f, "{}: ", place.join(", "))?;
        }
        if let Some(value) = value {
            write!(f, "`{}`: ", Shown(value))?;
        }
        f.write_str(reason)
    }
}

impl std::error::Error for DefinitionError {}
