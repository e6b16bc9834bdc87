//! Which columns the events in a scope fill: what one tenant is told of a name must not depend on the columns of another.

use super::ServiceError;
use super::snapshot::Snapshot;
use crate::access::Scope;
use crate::query::{EventsQuery, Filter, Predicate};
use crate::{Interrupt, Value, dictionary};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was found before: for a column of the dataset, whether an account fills it. A dataset never changes, so neither does what is
/// found; and it holds no more than its columns times the accounts, whatever is requested.
#[derive(Debug, Default)]
pub(super) struct NonEmptyFields(Mutex<HashMap<String, BTreeMap<String, bool>>>);

impl NonEmptyFields {
    fn found(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<String, bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    /// Those of the names that neither the dictionary nor any event in scope knows, in order, each once.
    pub(super) fn unknown_fields(
        &self,
        scope: &Scope,
        names: &[&str],
        interrupt: &Interrupt,
    ) -> Result<Vec<String>, ServiceError> {
        let mut unknown: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for name in names {
            if dictionary::field(name).is_none() && seen.insert(*name) && !self.has_values(scope, name, interrupt)? {
                unknown.push((*name).to_owned());
            }
        }
        Ok(unknown)
    }

    /// Whether an event in scope, of any day, has a value in the column.
    fn has_values(&self, scope: &Scope, column: &str, interrupt: &Interrupt) -> Result<bool, ServiceError> {
        let Some(range) = self.days.filter(|_| self.dataset.columns().contains(column)) else {
            return Ok(false);
        };
        let mut open: BTreeMap<String, bool> = BTreeMap::new();
        {
            let found = self.non_empty_fields.found();
            let known = found.get(column);
            for account in scope.accounts() {
                match known.and_then(|known| known.get(account)) {
                    Some(true) => return Ok(true),
                    Some(false) => (),
                    None => _ = open.insert(account.to_owned(), false),
                }
            }
        }
        if open.is_empty() {
            return Ok(false);
        }
        let query = EventsQuery::new(["account", "eventCount"], range.start, range.end)
            .accounts(open.keys())
            .allow_long_total()
            .filter(Filter::field(column, Predicate::NotEmpty));
        let execution = self.execution(interrupt).map_err(ServiceError::no_room)?;
        let table = self.dataset.run(&query, execution).map_err(ServiceError::query)?;
        for row in 0..table.len() {
            if let Some(Value::Text(account)) = table.value(row, "account")
                && let Some(is_filled) = open.get_mut(account)
            {
                *is_filled = true;
            }
        }
        let is_filled = open.values().any(|is_filled| *is_filled);
        self.non_empty_fields.found().entry(column.to_owned()).or_default().append(&mut open);
        Ok(is_filled)
    }
}
