//! Answers whose columns are finished, which are those of comparisons with benchmarks and targets: checks the names of
//! the columns, and sorts the rows.

use super::comparison::ordered;
use super::order::map_interruptible;
use super::sort::{sort_by_keys, sort_key};
use super::{Column, ResultTable, StringColumn, Values};
use crate::error::{Error, QueryError};
use crate::query::SortKey;
use crate::{Interrupt, Interruption};

/// Checks that each field is one of the columns, and each key of an order, too.
///
/// # Errors
/// A field has the name of another column, or there is no column to sort by.
pub(crate) fn check_columns<'f>(
    mut fields: impl Iterator<Item = &'f String>,
    columns: Vec<String>,
    sort: &[SortKey],
) -> Result<(), QueryError> {
    if let Some(name) = fields.find(|name| columns.iter().filter(|column| column == name).count() > 1) {
        return Err(QueryError::ReservedComparisonField { name: name.clone() });
    }
    match sort.iter().find(|key| !columns.contains(&key.field)) {
        Some(key) => Err(QueryError::UnknownSortColumn { name: key.field.clone(), columns }),
        None => Ok(()),
    }
}

impl ResultTable {
    /// Returns the table with other columns, in an order and up to a limit, and with other totals. Its memory must have
    /// room for each column twice.
    pub(crate) fn with_finished(
        self,
        columns: Vec<Column>,
        totals: Option<Vec<Column>>,
        (sort, limit): (&[SortKey], Option<usize>),
        interrupt: &Interrupt,
    ) -> Result<Self, Error> {
        let place = |key: &SortKey| columns.iter().position(|column| column.name == key.field);
        let keys: Vec<_> = sort.iter().filter_map(|key| Some((place(key)?, key.is_descending))).collect();
        let rows = Self::from_columns(sort_columns(columns, &keys, limit, interrupt)?);
        let totals = totals.map(|columns| Box::new(Self::from_columns(columns)));
        let mut finished = Self { columns: rows.columns, rows: rows.rows, totals, ..self };
        finished.memory.set(finished.bytes())?;
        Ok(finished)
    }
}

/// Returns the columns with their rows sorted by some of them, up to a limit. Each key is the place of a column, and
/// whether larger values come first; the first key decides first. Rows without a value come last, and rows that are
/// equal in all keys stay in their order.
fn sort_columns(
    columns: Vec<Column>,
    keys: &[(usize, bool)],
    limit: Option<usize>,
    interrupt: &Interrupt,
) -> Result<Vec<Column>, Interruption> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let limit = limit.unwrap_or(rows).min(rows);
    if keys.is_empty() && limit == rows {
        return Ok(columns);
    }
    let values = |(place, is_descending): &(usize, bool)| {
        let values = ordered(&columns[*place].values).into_iter();
        values.map(|value| sort_key(value, *is_descending)).collect()
    };
    let keys: Vec<Vec<i128>> = keys.iter().map(values).collect();
    let all: Vec<u32> = (0_u32..).take(rows).collect();
    let mut order = sort_by_keys(&all, &keys, interrupt)?;
    order.truncate(limit);
    let picked = |Column { name, values }| Ok(Column { name, values: values.picked(&order, interrupt)? });
    columns.into_iter().map(picked).collect()
}

impl Values {
    /// Returns the values of some rows, in their order.
    fn picked(&self, rows: &[u32], interrupt: &Interrupt) -> Result<Self, Interruption> {
        fn of<T: Copy>(values: &[T], rows: &[u32], interrupt: &Interrupt) -> Result<Vec<T>, Interruption> {
            map_interruptible(rows, interrupt, |row| values[row as usize])
        }
        Ok(match self {
            Self::Days(days) => Self::Days(of(days, rows, interrupt)?),
            Self::Strings(StringColumn { codes, dictionary }) => Self::Strings(StringColumn {
                codes: of(codes, rows, interrupt)?.into(),
                dictionary: dictionary.clone(),
            }),
            Self::Counts(counts) => Self::Counts(of(counts, rows, interrupt)?),
            Self::Money(amounts) => Self::Money(of(amounts, rows, interrupt)?),
            Self::Ratios(ratios) => {
                let ratios = map_interruptible(rows, interrupt, |row| ratios.get(row as usize))?;
                Self::Ratios(ratios.into_iter().collect())
            }
            Self::Integers(integers) => Self::Integers(of(integers, rows, interrupt)?),
            Self::Numbers(numbers) => Self::Numbers(of(numbers, rows, interrupt)?),
        })
    }
}
