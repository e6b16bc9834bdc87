//! The values of a column as they are stored: once each, or one by one, beside what says which row has which.

use super::encoding::{NOT_IN_DICTIONARY, decode_codes};

/// StoredColumn, and which of them each row has.
pub(crate) struct StoredColumn<'a, V> {
    /// Two may be the same.
    pub(super) values: Vec<V>,
    pub(super) rows: RowValues<'a>,
}

/// Which value each row of a column has.
#[derive(Default)]
pub(crate) struct RowValues<'a>(Vec<RowSpan<'a>>);

/// Consecutive rows.
pub(super) struct RowSpan<'a> {
    pub(super) filled: Validity,
    pub(super) places: ValueIndexes<'a>,
}

/// Which rows have a value.
pub(super) enum Validity {
    /// So many rows, and all do.
    All(usize),
    /// For each row whether it does.
    Some(Vec<bool>),
}

/// Where the values of those rows that have one stand.
pub(super) enum ValueIndexes<'a> {
    /// Each has the next value; the first has this one.
    InTurn(usize),
    /// As Parquet encodes numbers of so many bits.
    Encoded { bytes: &'a [u8], width: u8 },
}

impl<'a> RowValues<'a> {
    pub(super) fn push(&mut self, stretch: RowSpan<'a>) {
        self.0.push(stretch);
    }

    /// Whether a row has no value.
    pub(super) fn have_gaps(&self) -> bool {
        self.0.iter().any(|stretch| matches!(&stretch.filled, Validity::Some(filled) if filled.contains(&false)))
    }

    /// For each row what stands in `table` at the place of its value; `none` for those that have none.
    ///
    /// # Errors
    /// The places do not decode, or one is not in the table.
    pub(super) fn expand<T: Copy>(&self, table: Vec<T>, none: T) -> Result<Vec<T>, &'static str> {
        if let [RowSpan { filled: Validity::All(rows), places: ValueIndexes::InTurn(0) }] = &*self.0
            && *rows == table.len()
        {
            return Ok(table);
        }
        let mut expanded = Vec::with_capacity(self.0.iter().map(|stretch| stretch.filled.rows()).sum());
        let mut met = Vec::new();
        for RowSpan { filled, places } in &self.0 {
            match filled {
                Validity::All(rows) => places.expand(*rows, &table, &mut expanded)?,
                Validity::Some(rows) => {
                    met.clear();
                    places.expand(filled.values(), &table, &mut met)?;
                    // Every row looks at the next value, whether it takes it or not: a branch would be guessed wrong too often.
                    let mut next = 0;
                    expanded.extend(rows.iter().map(|filled| {
                        let value = met.get(next).copied().unwrap_or(none);
                        next += usize::from(*filled);
                        if *filled { value } else { none }
                    }));
                }
            }
        }
        Ok(expanded)
    }
}

impl Validity {
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Some(filled) => filled.len(),
        }
    }

    /// The rows that have a value.
    pub(super) fn values(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Some(filled) => filled.iter().filter(|filled| **filled).count(),
        }
    }
}

impl ValueIndexes<'_> {
    fn expand<T: Copy>(&self, count: usize, table: &[T], into: &mut Vec<T>) -> Result<(), &'static str> {
        match *self {
            Self::InTurn(first) => {
                let values = table.get(first..first.saturating_add(count)).ok_or(NOT_IN_DICTIONARY)?;
                into.extend_from_slice(values);
                Ok(())
            }
            Self::Encoded { bytes, width } => decode_codes(bytes, width, count, table, into),
        }
    }
}
