//! A column as it is stored: its values, and which row has which value.

use crate::encoding::{NOT_IN_DICTIONARY, decode_hybrid};
use crate::live_rows::LiveRows;

/// The values of a column, and which of them each row has.
#[derive(Debug)]
pub struct StoredColumn<'a, V> {
    /// The values in the order of the pages; a value may occur more than once.
    pub values: Vec<V>,
    /// Which of the values each row has.
    pub rows: ValueOfRow<'a>,
}

/// Which value each row of a column has.
#[derive(Debug, Default)]
pub struct ValueOfRow<'a> {
    spans: Vec<RowSpan<'a>>,
    /// The rows that are left; `None` if all are.
    left: Option<&'a LiveRows>,
}

/// Consecutive rows; the rows of a page are one span.
#[derive(Debug)]
pub(crate) struct RowSpan<'a> {
    pub(crate) validity: Validity,
    pub(crate) indexes: ValueIndexes<'a>,
}

/// Which rows have a value.
#[derive(Debug)]
pub enum Validity {
    /// All rows; the number is how many there are.
    All(usize),
    /// For each row, whether it has a value.
    Some(Vec<bool>),
}

/// The index of the value of each row that has one.
#[derive(Debug)]
pub(crate) enum ValueIndexes<'a> {
    /// Consecutive indexes, of which this is the first.
    From(usize),
    /// Indexes into the dictionary of `width` bits each, in Parquet's hybrid encoding.
    Encoded { bytes: &'a [u8], width: u8 },
}

impl<V> StoredColumn<'_, V> {
    /// Makes a column whose values belong, in order, to the rows that have one.
    #[must_use]
    pub fn in_row_order(values: Vec<V>, validity: Validity) -> Self {
        let spans = vec![RowSpan { validity, indexes: ValueIndexes::From(0) }];
        Self { values, rows: ValueOfRow { spans, left: None } }
    }
}

impl<'a> ValueOfRow<'a> {
    pub(crate) fn push(&mut self, span: RowSpan<'a>) {
        self.spans.push(span);
    }

    /// Leaves out all rows but these; `None` leaves out no row.
    pub const fn only(&mut self, left: Option<&'a LiveRows>) {
        self.left = left;
    }

    /// Returns whether rows are left out, so that some values may belong to none of the others.
    #[must_use]
    pub const fn are_selected(&self) -> bool {
        self.left.is_some()
    }

    /// Returns whether some stored row has no value.
    #[must_use]
    pub fn have_gaps(&self) -> bool {
        self.spans.iter().any(|span| matches!(&span.validity, Validity::Some(has_value) if has_value.contains(&false)))
    }

    /// Returns for each row that is left the entry of `table` at the index of its value, and `none` for a row without a
    /// value.
    ///
    /// # Errors
    /// The indexes do not decode, or an index is not in the table.
    pub fn expand<T: Copy>(&self, table: Vec<T>, none: T) -> Result<Vec<T>, &'static str> {
        let mut expanded = if self.are_in_order(table.len()) { table } else { self.expand_spans(&table, none)? };
        if let Some(left) = self.left {
            left.select(&mut expanded);
        }
        Ok(expanded)
    }

    /// Returns whether each row has the value at its own index, and the number of rows is `values`, that of the values.
    fn are_in_order(&self, values: usize) -> bool {
        let mut rows = 0;
        let in_order = self.spans.iter().all(|span| match span {
            RowSpan { validity: Validity::All(more), indexes: ValueIndexes::From(first) } if *first == rows => {
                rows += more;
                true
            }
            _ => false,
        });
        in_order && rows == values
    }

    /// Returns what [`expand`](Self::expand) returns, for all rows.
    fn expand_spans<T: Copy>(&self, table: &[T], none: T) -> Result<Vec<T>, &'static str> {
        let mut expanded = Vec::with_capacity(self.spans.iter().map(|span| span.validity.rows()).sum());
        let mut values = Vec::new();
        for RowSpan { validity, indexes } in &self.spans {
            match validity {
                Validity::All(rows) => indexes.expand(*rows, table, &mut expanded)?,
                Validity::Some(rows) => {
                    values.clear();
                    indexes.expand(validity.values(), table, &mut values)?;
                    // Every row loads the next value, whether it has one or not, because a branch would often be
                    // mispredicted.
                    let mut next = 0;
                    expanded.extend(rows.iter().map(|has_value| {
                        let value = values.get(next).copied().unwrap_or(none);
                        next += usize::from(*has_value);
                        if *has_value { value } else { none }
                    }));
                }
            }
        }
        Ok(expanded)
    }
}

impl Validity {
    /// Makes the validity of rows from whether each has a value.
    #[must_use]
    pub fn new(has_value: Vec<bool>) -> Self {
        if has_value.contains(&false) { Self::Some(has_value) } else { Self::All(has_value.len()) }
    }

    /// Returns the number of rows.
    fn rows(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Some(has_value) => has_value.len(),
        }
    }

    /// Returns the number of rows that have a value.
    pub(crate) fn values(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Some(has_value) => has_value.iter().filter(|has_value| **has_value).count(),
        }
    }
}

impl ValueIndexes<'_> {
    /// Appends the entries of `table` at the first `count` indexes.
    fn expand<T: Copy>(&self, count: usize, table: &[T], into: &mut Vec<T>) -> Result<(), &'static str> {
        match *self {
            Self::From(first) => {
                let values = table.get(first..first.saturating_add(count)).ok_or(NOT_IN_DICTIONARY)?;
                into.extend_from_slice(values);
                Ok(())
            }
            Self::Encoded { bytes, width } => decode_hybrid(bytes, width, count, table, into),
        }
    }
}
