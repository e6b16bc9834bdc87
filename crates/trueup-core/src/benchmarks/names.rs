//! The distinct texts of a column.

use crate::Texts;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Distinct texts in order, byte by byte; the code of a text is its place among them.
#[derive(Debug)]
pub(super) struct SortedTexts(Vec<Arc<str>>);

impl SortedTexts {
    /// Every text that the columns' dictionaries hold.
    pub(super) fn of(columns: &[&Texts]) -> Self {
        let texts: BTreeSet<&str> = columns.iter().flat_map(|texts| texts.dictionary().iter()).collect();
        Self(texts.into_iter().map(Arc::from).collect())
    }

    /// The code of a text; `None` if it is not among them.
    pub(super) fn code(&self, text: &str) -> Option<usize> {
        self.0.binary_search_by(|name| (**name).cmp(text)).ok()
    }

    /// The codes of a column's rows, whose texts are all among them.
    pub(super) fn codes(&self, column: &Texts) -> Vec<usize> {
        let place = |text: &str| self.0.partition_point(|name| **name < *text);
        let shared: Vec<usize> = column.dictionary().iter().map(place).collect();
        column.codes().iter().map(|code| shared[*code as usize]).collect()
    }

    /// The text of a code.
    pub(super) fn text(&self, code: usize) -> &Arc<str> {
        &self.0[code]
    }

    /// The texts, in the order of their codes.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}
