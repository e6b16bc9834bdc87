//! What is wrong with a mapping.

use super::ErrorKind;
use crate::IngestError;
use std::fmt;
use std::path::Path;
use trueup_core::Shown;
use trueup_core::dataset::without_credentials;

/// A key of a mapping that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MappingFault {
    /// The key with dots, tables of a list counted from 0: `events[0].columns.date`.
    pub key: String,
    /// The value or the name at fault, if it is a single one.
    pub value: Option<String>,
    /// The reason.
    pub reason: String,
}

impl MappingFault {
    pub(crate) fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), value: None, reason: reason.into() }
    }

    pub(crate) fn with_value(self, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..self }
    }

    /// Adds the path of the mapping.
    pub(crate) fn at(self, path: &Path) -> IngestError {
        ErrorKind::Mapping { path: without_credentials(path), fault: self }.into()
    }
}

impl fmt::Display for MappingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key `{}`", Shown(&self.key))?;
        if let Some(value) = &self.value {
            write!(f, ", value `{}`", Shown(value))?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl IngestError {
    /// Names the dataset in place of a file, if the fault is in the mapping that the dataset keeps.
    pub(crate) fn of_stored_mapping(self, dataset: &Path) -> Self {
        match *self.0 {
            ErrorKind::Mapping { fault, .. } => {
                ErrorKind::StoredMapping { dataset: without_credentials(dataset), fault }.into()
            }
            other => other.into(),
        }
    }
}

/// Adds the path of the mapping to a fault.
pub(crate) trait OfMapping<T> {
    fn of_mapping(self, path: &Path) -> Result<T, IngestError>;
}

impl<T> OfMapping<T> for Result<T, MappingFault> {
    fn of_mapping(self, path: &Path) -> Result<T, IngestError> {
        self.map_err(|fault| fault.at(path))
    }
}
