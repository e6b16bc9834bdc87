//! Values by which a row of an answer is known, as people and programs write them.

use super::WhyRowFault;
use serde_json::{Map, Value};
use std::str::FromStr;

/// Values of a row of an answer, by column.
///
/// A text is either one value, such as `campaign=Drains`, or the row as JSON. Of a row as JSON, only the texts count:
/// its numbers are what a question about the row asks for.
///
/// ```
/// use trueup_core::query::RowValues;
///
/// let row: RowValues = r#"{"campaign":"Drains","leads":4}"#.parse()?;
/// assert_eq!(row.iter().collect::<Vec<_>>(), [("campaign", "Drains")]);
/// assert_eq!("campaign=Drains".parse(), Ok(row));
/// # Ok::<(), trueup_core::query::WhyRowFault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowValues(Vec<(String, String)>);

impl RowValues {
    /// Returns each column and its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(column, value)| (&**column, &**value))
    }
}

impl FromStr for RowValues {
    type Err = WhyRowFault;

    fn from_str(text: &str) -> Result<Self, WhyRowFault> {
        if text.trim_start().starts_with('{') {
            let row: Map<String, Value> =
                serde_json::from_str(text).map_err(|error| WhyRowFault::NotJson { fault: error.to_string() })?;
            let text_of = |(column, value)| match value {
                Value::String(value) => Some((column, value)),
                _ => None,
            };
            return Ok(Self(row.into_iter().filter_map(text_of).collect()));
        }
        match text.split_once('=') {
            Some((column, value)) => Ok(Self(vec![(column.trim().to_owned(), value.to_owned())])),
            None => Err(WhyRowFault::NotAValue { text: text.to_owned() }),
        }
    }
}
