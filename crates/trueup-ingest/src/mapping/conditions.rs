//! The conditions that pick rows of a table, and the warning about values that no row has.

use super::columns::ColumnRef;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use trueup_core::Shown;

/// A condition on the text of a column.
pub(super) struct Condition {
    pub(super) key: Arc<str>,
    /// The name of the column's input in the table.
    input: String,
    pub(super) column: ColumnRef,
    values: Vec<String>,
    /// Whether the column must have one of the values, or must have none.
    wanted: bool,
    /// Whether a row has had one of the values.
    is_found: AtomicBool,
    /// What rows had instead. Several threads add to it.
    others: Mutex<FirstTexts>,
}

impl Condition {
    pub(super) fn new(key: String, input: &str, column: ColumnRef, values: &[String], wanted: bool) -> Self {
        let (is_found, others) = (AtomicBool::new(false), Mutex::default());
        Self { key: key.into(), input: input.to_owned(), column, values: values.to_vec(), wanted, is_found, others }
    }

    /// Returns whether a row with this text meets the condition. If a warning may be due, adds the text to `others`.
    pub(super) fn is_met(&self, text: &str, others: &mut FirstTexts) -> bool {
        let has = self.values.iter().any(|value| value == text);
        if !self.is_found.load(Ordering::Relaxed) {
            if has {
                self.is_found.store(true, Ordering::Relaxed);
            } else if self.wanted || !text.is_empty() {
                others.add(text);
            }
        }
        has == self.wanted
    }

    /// Adds what the rows of a batch had instead of the values.
    pub(super) fn add(&self, others: &FirstTexts) {
        let mut all = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.0.iter().for_each(|text| all.add(text));
    }

    /// Returns a warning if rows of the input were read or joined, but none had one of the values. A condition of
    /// `unless` has none if all cells are empty, or if it is about empty cells, because nothing is then another
    /// spelling of a value.
    pub(super) fn warning(&self) -> Option<String> {
        let Self { key, input, column, values, .. } = self;
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let is_about_none = !self.wanted && values.iter().any(String::is_empty);
        if is_about_none || self.is_found.load(Ordering::Relaxed) || others.0.is_empty() {
            return None;
        }
        let quoted = |text: &String| format!("`{}`", Shown(text));
        // Only rows that were joined are known not to have the value.
        let joined = if column.input > 0 { "joined " } else { "" };
        let effect = if self.wanted { "the table has no rows" } else { "the condition leaves out none" };
        let values: Vec<String> = values.iter().map(quoted).collect();
        let found: Vec<String> = others.0.iter().take(SHOWN_TEXTS).map(quoted).collect();
        let (found, more) = (found.join(", "), if others.0.len() > SHOWN_TEXTS { " and others" } else { "" });
        Some(format!(
            "key `{}`: no {joined}row of the input `{}` has the value {}, so that {effect}; the column has {found}{more}",
            Shown(key),
            Shown(input),
            values.join(" or ")
        ))
    }
}

/// The most texts that a warning shows.
const SHOWN_TEXTS: usize = 5;

/// The first texts of a column in byte order, one more than a warning shows. They do not depend on the order of the
/// rows.
#[derive(Clone, Default)]
pub(super) struct FirstTexts(BTreeSet<String>);

impl FirstTexts {
    fn add(&mut self, text: &str) {
        let is_full = self.0.len() > SHOWN_TEXTS;
        if self.0.contains(text) || (is_full && self.0.last().is_some_and(|last| last.as_str() < text)) {
            return;
        }
        self.0.insert(text.to_owned());
        if is_full {
            self.0.pop_last();
        }
    }
}
