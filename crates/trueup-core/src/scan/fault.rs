//! A column that does not hold what the layout promises.

/// Which column, and what was found instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnFault {
    pub(crate) column: String,
    pub(crate) fault: &'static str,
}

impl ColumnFault {
    pub(crate) fn new(column: impl Into<String>, fault: &'static str) -> Self {
        Self { column: column.into(), fault }
    }
}
