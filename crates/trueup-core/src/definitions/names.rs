//! The names that definitions may have.

use super::DefinitionError;
use crate::dictionary;
use crate::model::{ACCOUNT_COLUMNS, SPEND_COLUMNS};
use std::collections::BTreeSet;

/// Names that requests and answers use for something else.
const RESERVED: [&str; 14] = [
    "start",
    "end",
    "fields",
    "interval",
    "accounts",
    "filter",
    "cohort",
    "within",
    "compare",
    "attribution",
    "why",
    "row",
    "lines",
    "rowType",
];

/// The most characters of a name.
const MAX_CHARS: usize = 100;

/// Checks a name, and adds it to the names `seen`.
pub(super) fn check(name: &str, seen: &mut BTreeSet<String>) -> Result<(), DefinitionError> {
    let refused = |reason: String| Err(DefinitionError::of_value("name", name, reason));
    let is_name_char = |char: char| char.is_ascii_alphanumeric() || char == '_';
    if !name.starts_with(|char: char| char.is_ascii_alphabetic()) || !name.chars().all(is_name_char) {
        return refused("expected a letter, and then letters, digits or `_`, without accents".to_owned());
    }
    if name.len() > MAX_CHARS {
        return refused(format!("expected at most {MAX_CHARS} characters"));
    }
    if dictionary::field(name).is_some() {
        return refused("the dictionary has a field of this name; choose another one".to_owned());
    }
    if RESERVED.contains(&name) || SPEND_COLUMNS.contains(&name) || ACCOUNT_COLUMNS.contains(&name) {
        return refused("this name has another meaning in requests, answers or tables; choose another one".to_owned());
    }
    if !seen.insert(name.to_owned()) {
        return refused("another definition has this name".to_owned());
    }
    Ok(())
}
