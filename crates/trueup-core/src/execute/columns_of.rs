//! Finds the columns in which accounts have values, so that nobody learns which columns other accounts have.

use crate::dictionary::{self, DimensionSource, Field, FieldKind};
use crate::query::{EventsQuery, Filter, Predicate};
use crate::{Dataset, Error, Execution, Value};
use std::collections::BTreeSet;

impl Dataset {
    /// Returns the columns that somebody may name who sees only these accounts: those of the dictionary, whether the
    /// dataset has them or not, and all others in which an event of the accounts, of any day, has a value.
    ///
    /// # Errors
    /// As [`Dataset::run`].
    pub fn columns_of(&self, accounts: &BTreeSet<String>, execution: &Execution) -> Result<BTreeSet<String>, Error> {
        let is_stored = |field: &&Field| match &field.kind {
            FieldKind::Dimension(dimension) => dimension.source == DimensionSource::Stored,
            FieldKind::Metric(_) => false,
        };
        let of_dictionary = dictionary::all_fields().filter(is_stored).map(|field| field.name.to_owned());
        let mut columns: BTreeSet<String> = of_dictionary.collect();
        for column in self.columns() {
            if dictionary::field(column).is_none() && !self.accounts_with(column, accounts, execution)?.is_empty() {
                columns.insert(column.clone());
            }
        }
        Ok(columns)
    }

    /// Returns which of some accounts have an event, of any day, with a value in a column.
    ///
    /// # Errors
    /// As [`Dataset::run`].
    pub fn accounts_with(
        &self,
        column: &str,
        accounts: &BTreeSet<String>,
        execution: &Execution,
    ) -> Result<BTreeSet<String>, Error> {
        let days = self.date_range().filter(|_| self.columns().contains(column) && !accounts.is_empty());
        let Some(days) = days else { return Ok(BTreeSet::new()) };
        let query = EventsQuery::new(["account", "eventCount"], days.start, days.end)
            .accounts(accounts)
            .allow_long_total()
            .filter(Filter::field(column, Predicate::NotEmpty));
        let table = self.run(&query, Execution { max_rows: None, ..execution.clone() })?;
        let account = |row| match table.value(row, "account") {
            Some(Value::Text(account)) => Some(account.to_owned()),
            _ => None,
        };
        Ok((0..table.len()).filter_map(account).collect())
    }
}
