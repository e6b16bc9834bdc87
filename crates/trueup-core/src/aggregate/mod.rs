//! Columns to state per group, customer by customer, and the merging of such states.
//!
//! A split is read in chunks of whole customers: `enrich` finds each customer's state in each sub-range, `mask` holds the filter
//! against the rows, `coder` turns dimensions to codes, `groups` numbers the combinations, `state` adds up.

mod calendar;
mod coder;
mod enrich;
mod events;
mod groups;
mod history;
mod mask;
mod merge;
mod spend;
mod state;

pub(crate) use calendar::Calendar;
pub(crate) use events::aggregate_events;
pub(crate) use merge::Merged;
pub(crate) use spend::{SpendSums, aggregate_spend};
pub(crate) use state::MeasureLayout;

use crate::model::Accounts;
use crate::plan::Plan;
use std::sync::Arc;

/// What every split of one query shares.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) accounts: &'a Accounts,
    pub(crate) calendar: Calendar,
    pub(crate) layout: MeasureLayout,
}

impl<'a> Context<'a> {
    pub(crate) fn new(plan: &'a Plan, accounts: &'a Accounts) -> Self {
        Self { plan, accounts, calendar: Calendar::new(plan), layout: MeasureLayout::new(&plan.measures) }
    }

    /// Which of a split's accounts the query reads.
    fn selected(&self, keys: &[Arc<str>]) -> Vec<bool> {
        keys.iter().map(|key| self.plan.accounts.contains(key)).collect()
    }

    /// The names of a split's accounts.
    fn account_names(&self, keys: &[Arc<str>]) -> Vec<Arc<str>> {
        keys.iter()
            .map(|key| self.accounts.get(key).map_or_else(|| key.clone(), |account| Arc::from(account.name.as_str())))
            .collect()
    }

    /// Which of a split's accounts subscribe to lead grading.
    fn graded(&self, keys: &[Arc<str>]) -> Vec<bool> {
        keys.iter().map(|key| self.accounts.get(key).is_some_and(|account| account.lead_grading)).collect()
    }
}
