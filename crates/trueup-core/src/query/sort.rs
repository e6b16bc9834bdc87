//! The order in which an answer shows its rows.

use serde::{Deserialize, Serialize};

/// A column of the answer to sort by, and the direction.
///
/// The text form is `field`, `field:asc` or `field:desc`. Any other ending belongs to the name of the field.
///
/// # Order
/// Counts, money, ratios and percentiles are compared as numbers, days by the calendar, and dimensions byte by byte.
/// Whatever the direction, a row without a value comes last: one whose dimension is empty, whose ratio has the
/// denominator 0, or whose percentile has no durations.
///
/// ```
/// use trueup_core::query::SortKey;
///
/// assert_eq!(SortKey::from("leads:desc"), SortKey::descending("leads"));
/// assert_eq!(SortKey::from("utm:source"), SortKey::ascending("utm:source"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct SortKey {
    pub(crate) field: String,
    pub(crate) is_descending: bool,
}

impl SortKey {
    /// Returns the key that sorts from the smallest to the largest value.
    pub fn ascending(field: impl Into<String>) -> Self {
        Self { field: field.into(), is_descending: false }
    }

    /// Returns the key that sorts from the largest to the smallest value.
    pub fn descending(field: impl Into<String>) -> Self {
        Self { field: field.into(), is_descending: true }
    }
}

impl From<&str> for SortKey {
    fn from(text: &str) -> Self {
        match text.rsplit_once(':') {
            Some((field, "asc")) => Self::ascending(field),
            Some((field, "desc")) => Self::descending(field),
            _ => Self::ascending(text),
        }
    }
}

impl From<String> for SortKey {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<SortKey> for String {
    fn from(key: SortKey) -> Self {
        key.to_string()
    }
}

impl std::fmt::Display for SortKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.field, if self.is_descending { "desc" } else { "asc" })
    }
}
