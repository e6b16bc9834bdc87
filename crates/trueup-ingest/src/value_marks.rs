//! The columns that say of the cells of other columns whether the file has them as texts.

/// Returns the name of the column of booleans that marks the cells of another column: true if the file has the cell as
/// a number, a date, a boolean or JSON's null, and not as a text. Of the inputs of mappings, XLSX has it for each
/// column, and NDJSON for each column with such a cell in the batch.
pub(crate) fn value_marks(column: &str) -> String {
    format!("{column}{MARK}")
}

/// Returns whether a column is one of [`value_marks`].
pub(crate) fn is_value_marks(column: &str) -> bool {
    column.ends_with(MARK)
}

/// Returns the column that a column of [`value_marks`] is about; any other column is its own.
pub(crate) fn marked(column: &str) -> &str {
    column.strip_suffix(MARK).unwrap_or(column)
}

/// The end of the names of columns that [`value_marks`] names. No name in a file ends like this.
const MARK: &str = "\0values";
