//! What all row groups of one query share.

use super::facts::Increments;
use super::shape::ResultShape;
use crate::dictionary::Computed;
use crate::model::{Accounts, Zone};
use crate::plan::Plan;
use crate::query::CohortWindow;
use crate::scan::{CustomerBlock, EventColumns, TextDictionary};
use crate::{Day, StringList};
use std::sync::Arc;

/// What all row groups of one query share.
#[derive(Debug)]
pub(crate) struct QueryContext<'a> {
    pub(crate) plan: &'a Plan,
    accounts: &'a Accounts,
    pub(crate) shape: ResultShape,
    /// What rows add to the counters.
    pub(super) increments: &'a Arc<Increments>,
    /// The last day whose leads have a window that is over; negative if there is none.
    pub(super) open_after_day: i64,
}

impl<'a> QueryContext<'a> {
    /// Returns the context of a plan. `increments` must be those of the memo of this plan, and `last_event` the last
    /// day of the events of the accounts that are read: the window of a lead is over if it ends on that day or before.
    pub(crate) fn new(
        plan: &'a Plan,
        accounts: &'a Accounts,
        increments: &'a Arc<Increments>,
        last_event: Option<Day>,
    ) -> Self {
        let open_after_day = match (plan.cohort, last_event) {
            (Some(CohortWindow::Days(days)), Some(last)) => i64::from(last.number()) - i64::from(days),
            _ => -1,
        };
        Self { plan, accounts, shape: ResultShape::new(plan), increments, open_after_day }
    }

    /// Returns for each account of a row group whether the query selects it.
    pub(super) fn selected(&self, keys: &StringList) -> Vec<bool> {
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
        columns.blocks.iter().filter(is_read)
    }

    /// Returns the texts of a computed dimension that each account of a row group has one of.
    pub(super) fn texts_of_accounts(&self, computed: Computed, keys: &TextDictionary) -> TextDictionary {
        match computed {
            Computed::AccountName => Arc::new(keys.iter().map(|key| self.accounts.name(key)).collect()),
            Computed::Currency => Arc::new(keys.iter().map(|key| self.accounts.currency_code(key)).collect()),
            _ => keys.clone(),
        }
    }

    /// Returns the time zones of a row group's accounts.
    pub(super) fn time_zones(&self, keys: &StringList) -> impl Iterator<Item = Zone> {
        keys.iter().map(|key| self.accounts.time_zone(key))
    }

    /// Returns for each account of a row group whether it has lead grading.
    pub(super) fn graded(&self, keys: &StringList) -> Vec<bool> {
        keys.iter().map(|key| self.accounts.lead_grading(key)).collect()
    }
}
