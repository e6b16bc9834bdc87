//! Columns to state per group, customer by customer, and the merging of such states.
//!
//! A split, to which `bound` binds the query, is read in chunks of whole customers. `segments` cuts them by sub-range; `kinds` are the few ways
//! in which they are cut, and what each counts for, by the `facts` of its rows and by how it ends (`cuts`). `coder` turns dimensions to
//! codes, `mask` holds the filter (of amounts an `amount_test`) against rows or, where they do not differ inside a segment or a customer,
//! against those (`units`), `interner` makes the codes of splits ones that all share, `groups` numbers the combinations, which `slots`
//! remembers by the codes of the split, `state` adds up (`stretches` of events at once), and `tally` counts for it where little is different;
//! `merge` joins what several threads have gathered.

mod amount_test;
mod bound;
mod calendar;
mod coder;
mod condition;
mod cuts;
mod events;
mod facts;
mod groups;
mod interner;
mod kinds;
mod mask;
mod merge;
mod segments;
mod slots;
mod spend;
mod spend_coder;
mod state;
mod stretches;
mod tally;
mod units;

pub(crate) use calendar::Calendar;
pub(crate) use events::Aggregation;
pub(crate) use mask::Truth;
pub(crate) use merge::Merged;
pub(crate) use spend::{SpendSums, aggregate_spend};
pub(crate) use state::MeasureLayout;

use crate::TextList;
use crate::dictionary::Computed;
use crate::model::Accounts;
use crate::plan::{Condition, DimensionRef, Origin, Plan, RowTest};
use crate::scan::{EventFlags, TextDictionary};
use condition::FieldTest;
use facts::{of_state, row_facts};
use hashbrown::DefaultHashBuilder;
use state::{Lanes, by_bank};
use std::sync::Arc;

/// What every split of one query shares.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) accounts: &'a Accounts,
    pub(crate) calendar: Calendar,
    pub(crate) layout: MeasureLayout,
    /// Per bank, what a row adds to it, by what its event is in its customer's history.
    row_lanes: Vec<Vec<Lanes>>,
    /// Per bank, what a state row adds to it, by its facts.
    state_lanes: Vec<Vec<Lanes>>,
    /// Hashes the texts of dimensions, the same way in all threads.
    hasher: DefaultHashBuilder,
    /// Whether a measure or a dimension hangs on the states of customers.
    needs_states: bool,
    condition: Option<Condition<FieldTest>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(plan: &'a Plan, accounts: &'a Accounts) -> Self {
        let layout = MeasureLayout::new(&plan.measures);
        let tests = plan.row_condition.iter().flat_map(Condition::leaves);
        let mut dimensions = plan.dimensions.iter().chain(tests.filter_map(RowTest::dimension));
        let is_of_state = |dimension: &DimensionRef| {
            matches!(dimension.origin, Origin::Computed(Computed::AdjustedType | Computed::TypeIsLast))
        };
        Self {
            plan,
            row_lanes: by_bank(&layout, (0..=u8::MAX).map(|bits| row_facts(EventFlags::new(bits)))),
            state_lanes: by_bank(&layout, (0..=u8::MAX).map(of_state)),
            needs_states: layout.needs_states() || dimensions.any(is_of_state),
            accounts,
            calendar: Calendar::new(plan),
            layout,
            hasher: DefaultHashBuilder::default(),
            condition: plan.row_condition.as_ref().map(FieldTest::gather),
        }
    }

    /// Which of a split's accounts the query reads.
    fn selected(&self, keys: &TextList) -> Vec<bool> {
        keys.iter().map(|key| self.plan.accounts.contains(key)).collect()
    }

    /// The names of a split's accounts.
    fn account_names(&self, keys: &TextList) -> TextDictionary {
        Arc::new(keys.iter().map(|key| self.accounts.name(key)).collect())
    }

    /// Which of a split's accounts subscribe to lead grading.
    fn graded(&self, keys: &TextList) -> Vec<bool> {
        keys.iter().map(|key| self.accounts.lead_grading(key)).collect()
    }
}
