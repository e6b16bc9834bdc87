//! Answers that get further columns once they are finished, which are those of comparisons with benchmarks and targets:
//! checks the names of the columns, and sorts the rows.

use super::comparison::ordered;
use super::order::map_interruptible;
use super::sort::{sort_by_keys, sort_key};
use super::{Column, ResultTable, StringColumn, Values};
use crate::error::{Error, QueryError};
use crate::query::{EventsQuery, SortKey};
use crate::{Interrupt, Interruption};

/// A query whose finished answer gets further columns of numbers, after each field that has an extension.
#[derive(Clone, Debug)]
pub(crate) struct ExtendedQuery<T> {
    /// The fields of the answer without duplicates, and what the further columns of each are made from, if it has any.
    fields: Vec<(String, Option<T>)>,
    /// What the name of each further column has after the name of its field.
    suffixes: &'static [&'static str],
    /// The query with exact ratios and without an order.
    query: EventsQuery,
    sort: Vec<SortKey>,
    limit: Option<usize>,
}

impl<T> ExtendedQuery<T> {
    /// Extends a query by what `extension` returns for its fields.
    pub(crate) fn new(
        query: &EventsQuery,
        suffixes: &'static [&'static str],
        extension: impl Fn(&str) -> Option<T>,
    ) -> Self {
        let mut fields: Vec<(String, Option<T>)> = Vec::new();
        for name in &query.fields {
            if !fields.iter().any(|(known, _)| known == name) {
                fields.push((name.clone(), extension(name)));
            }
        }
        let unsorted = EventsQuery { sort: Vec::new(), limit: None, ..query.clone() };
        Self { fields, suffixes, query: unsorted.exact_ratios(), sort: query.sort.clone(), limit: query.limit }
    }

    /// Returns the query whose answer is extended.
    pub(crate) const fn query(&self) -> &EventsQuery {
        &self.query
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.fields.iter().map(|(name, _)| name)
    }

    pub(crate) fn extensions(&self) -> impl Iterator<Item = &T> {
        self.fields.iter().filter_map(|(_, extension)| extension.as_ref())
    }

    /// Returns the names of the columns of the extended answer.
    pub(crate) fn column_names(&self) -> Vec<String> {
        let mut names = self.query.day_columns();
        for (name, extension) in &self.fields {
            names.push(name.clone());
            let suffixes = extension.iter().flat_map(|_| self.suffixes);
            names.extend(suffixes.map(|suffix| format!("{name}{suffix}")));
        }
        names
    }

    /// Checks that each field is one of the columns, and each key of the order, too.
    ///
    /// # Errors
    /// A field has the name of another column, or there is no column to sort by.
    pub(crate) fn check_columns(&self) -> Result<(), QueryError> {
        let columns = self.column_names();
        if let Some(name) = self.names().find(|name| columns.iter().filter(|column| column == name).count() > 1) {
            return Err(QueryError::ReservedComparisonField { name: name.clone() });
        }
        match self.sort.iter().find(|key| !columns.contains(&key.field)) {
            Some(key) => Err(QueryError::UnknownSortColumn { name: key.field.clone(), columns }),
            None => Ok(()),
        }
    }

    /// Returns the columns of an answer with the further ones. `numbers` returns those of a field, given its name, its
    /// values and its extension.
    pub(crate) fn columns<N: IntoIterator<Item = Vec<Option<f64>>>>(
        &self,
        answer: &ResultTable,
        mut numbers: impl FnMut(&str, &Values, &T) -> Result<N, Error>,
    ) -> Result<Vec<Column>, Error> {
        let days = self.query.day_columns();
        let mut columns: Vec<Column> = days.iter().filter_map(|name| answer.column(name).cloned()).collect();
        for (name, extension) in &self.fields {
            let Some(column) = answer.column(name) else { continue };
            columns.push(column.clone());
            let Some(extension) = extension else { continue };
            for (suffix, numbers) in self.suffixes.iter().zip(numbers(name, &column.values, extension)?) {
                columns.push(Column { name: format!("{name}{suffix}"), values: Values::Numbers(numbers) });
            }
        }
        Ok(columns)
    }

    /// Returns the answer with further columns, in the order and up to the limit of the query. `columns` returns those
    /// of the rows, and those of the totals if its second argument is true.
    ///
    /// # Errors
    /// One of `columns`, the interrupt ends the query, or there is no room for the columns.
    pub(crate) fn finish(
        &self,
        mut answer: ResultTable,
        interrupt: &Interrupt,
        mut columns: impl FnMut(&ResultTable, bool) -> Result<Vec<Column>, Error>,
    ) -> Result<ResultTable, Error> {
        let added = answer.len() * self.extensions().count() * self.suffixes.len() * size_of::<Option<f64>>();
        // While rows are sorted, each column exists twice.
        answer.memory.set(2 * (answer.bytes() + added))?;
        let extended = columns(&answer, false)?;
        let totals = answer.totals.take().map(|totals| columns(&totals, true)).transpose()?;
        let place = |key: &SortKey| extended.iter().position(|column| column.name == key.field);
        let keys: Vec<_> = self.sort.iter().filter_map(|key| Some((place(key)?, key.is_descending))).collect();
        let rows = ResultTable::from_columns(sort_columns(extended, &keys, self.limit, interrupt)?);
        let totals = totals.map(|columns| Box::new(ResultTable::from_columns(columns)));
        let mut finished = ResultTable { columns: rows.columns, rows: rows.rows, totals, ..answer };
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
