//! Which columns the events in a scope fill: what one tenant is told of a name must not depend on the columns of another.

use super::{Service, ServiceError};
use crate::access::Scope;
use crate::query::{EventsQuery, Filter, Test};
use crate::{Execution, Interrupt, Value, dictionary};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What was found before. A dataset never changes, so neither does what is found: there is one entry for each column that a scope
/// asked for.
#[derive(Debug, Default)]
pub(super) struct Filled(Mutex<HashMap<(Scope, String), bool>>);

impl Service {
    /// Those of the names that neither the dictionary nor any event in scope knows, in order, each once.
    pub(super) fn unknown(
        &self,
        scope: &Scope,
        names: Vec<String>,
        interrupt: &Interrupt,
    ) -> Result<Vec<String>, ServiceError> {
        let mut unknown = Vec::new();
        for name in names {
            if dictionary::field(&name).is_none() && !unknown.contains(&name) && !self.fills(scope, &name, interrupt)? {
                unknown.push(name);
            }
        }
        Ok(unknown)
    }

    /// Whether an event in scope, of any day, has a value in the column.
    fn fills(&self, scope: &Scope, column: &str, interrupt: &Interrupt) -> Result<bool, ServiceError> {
        let Some(range) = self.dataset.date_range().filter(|_| self.dataset.columns().contains(column)) else {
            return Ok(false);
        };
        let key = (scope.clone(), column.to_owned());
        let before = self.filled.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if let Some(is_filled) = before {
            return Ok(is_filled);
        }
        let query = EventsQuery::new(["eventCount"], range.start, range.end)
            .accounts(scope.accounts())
            .allow_long_total()
            .filter(Filter::field(column, Test::NotEmpty));
        let execution = Execution { interrupt: interrupt.clone(), ..Execution::default() };
        let table = self.dataset.run(&query, execution).map_err(ServiceError::query)?;
        let is_filled = table.value(0, "eventCount") != Some(Value::Count(0));
        self.filled.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, is_filled);
        Ok(is_filled)
    }
}
