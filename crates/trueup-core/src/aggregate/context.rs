//! What all row groups of one query share.

use super::facts::{IncrementTable, StateFacts, facts_of_state, row_facts};
use super::shape::ResultShape;
use crate::model::Accounts;
use crate::plan::Plan;
use crate::query::Within;
use crate::scan::{CustomerBlock, EventColumns, EventFlags, TextDictionary};
use crate::{Day, TextList};
use std::sync::Arc;

/// What all row groups of one query share.
#[derive(Debug)]
pub(crate) struct QueryContext<'a> {
    pub(crate) plan: &'a Plan,
    accounts: &'a Accounts,
    pub(crate) shape: ResultShape,
    /// What a row adds to the counters, by the flags of its event; without what depends on its grade.
    pub(super) row_increments: IncrementTable,
    /// What a state row adds to the counters in addition, by its facts; without what depends on its status.
    pub(super) state_increments: IncrementTable,
    /// The last day whose leads have a window that is over; negative if there is none.
    pub(super) last_closed_day: i64,
}

impl<'a> QueryContext<'a> {
    pub(crate) fn new(plan: &'a Plan, accounts: &'a Accounts) -> Self {
        Self {
            plan,
            accounts,
            shape: ResultShape::new(plan),
            row_increments: IncrementTable::from_facts(
                &plan.layout,
                (0..=u8::MAX).map(|bits| row_facts(EventFlags::new(bits))),
            ),
            state_increments: IncrementTable::from_facts(&plan.layout, (0..=StateFacts::MAX).map(facts_of_state)),
            last_closed_day: -1,
        }
    }

    /// Returns the context of a cohort, given the last day of the events of the accounts that are read: the window of a
    /// lead is over if it ends on that day or before.
    pub(crate) fn with_last_event(mut self, day: Day) -> Self {
        if let Some(Within::Days(days)) = self.plan.cohort {
            self.last_closed_day = i64::from(day.number()) - i64::from(days);
        }
        self
    }

    /// Returns for each account of a row group whether the query selects it.
    pub(super) fn selected(&self, keys: &TextList) -> Vec<bool> {
        keys.iter().map(|key| self.plan.accounts.contains(key)).collect()
    }

    /// Returns the blocks of a row group that may have events of the query. For each account, `selected` says whether
    /// the query selects it.
    pub(super) fn blocks<'c>(
        &self,
        columns: &'c EventColumns,
        selected: &'c [bool],
    ) -> impl Iterator<Item = &'c CustomerBlock> + Clone + use<'c> {
        let (start, end) = (self.plan.range.start.number(), self.plan.range.end.number());
        let is_read = move |block: &&CustomerBlock| {
            selected[block.account.index()] && block.last_day >= start && block.first_day <= end
        };
        columns.customers.blocks().iter().filter(is_read)
    }

    /// Returns the names of a row group's accounts.
    pub(super) fn account_names(&self, keys: &TextList) -> TextDictionary {
        Arc::new(keys.iter().map(|key| self.accounts.name(key)).collect())
    }

    /// Returns for each account of a row group whether it has lead grading.
    pub(super) fn graded(&self, keys: &TextList) -> Vec<bool> {
        keys.iter().map(|key| self.accounts.lead_grading(key)).collect()
    }
}
