//! Lists of what is no answer of a query, in the same formats as answers.

use super::{Format, OutputWriter};
use crate::exit::Failure;
use trueup_core::{Column, ResultTable, TextList, Texts, Values};

/// A table that is put together column by column; each must have as many rows.
#[derive(Debug, Default)]
pub(crate) struct TableBuilder {
    columns: Vec<Column>,
}

impl TableBuilder {
    /// Adds a column of texts.
    pub(crate) fn texts(self, name: &str, texts: impl IntoIterator<Item = String>) -> Self {
        let dictionary: TextList = texts.into_iter().collect();
        let codes = (0..).take(dictionary.len()).collect();
        // Each code is the place of a text.
        let Some(texts) = Texts::new(codes, dictionary) else { return self };
        self.column(name, Values::Texts(texts))
    }

    /// Adds a column of counts.
    pub(crate) fn counts(self, name: &str, counts: impl IntoIterator<Item = usize>) -> Self {
        self.column(name, Values::Counts(counts.into_iter().map(|count| count as u64).collect()))
    }

    fn column(mut self, name: &str, values: Values) -> Self {
        self.columns.push(Column { name: name.to_owned(), values });
        self
    }

    /// Writes it to stdout.
    pub(crate) fn write(self, format: Format) -> Result<(), Failure> {
        super::write(&ResultTable::from_columns(self.columns), format, &mut OutputWriter::stdout())
    }
}
