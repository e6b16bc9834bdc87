//! Columns to state per group, customer by customer, and the merging of such states.
//!
//! A split, to which `bound` binds the query, is read in chunks of whole customers. `segments` cuts them by sub-range; `kinds` are the few ways
//! in which they are cut, and what each counts for, by the `facts` of its rows and by how it ends (`cuts`). `coder` turns dimensions to
//! codes, `mask` holds the filter (of amounts an `amount_test`) against rows or, where they do not differ inside a segment or a customer,
//! against those (`units`), `interner` makes the codes of splits ones that all share, `groups` numbers the combinations, which `slots`
//! remembers by the codes of the split, `state` adds up (`stretches` of events at once), and `histogram` counts for it where little is different;
//! `merge` joins what several threads have gathered.

mod amount_range;
mod bound_query;
mod contiguous_rows;
mod day_tables;
mod events;
mod facts;
mod field_predicate;
mod group_state;
mod group_table;
mod grouping_units;
mod histogram;
mod interner;
mod key_encoder;
mod local_group_cache;
mod outcome;
mod partial_result;
mod predicate;
mod segment_cache;
mod segments;
mod spend;
mod spend_keys;

pub(crate) use day_tables::DayTables;
pub(crate) use events::EventAggregator;
pub(crate) use group_state::MeasureLayout;
pub(crate) use partial_result::PartialResult;
pub(crate) use predicate::Ternary;
pub(crate) use spend::{SpendSums, aggregate_spend};

use crate::TextList;
use crate::dictionary::Computed;
use crate::model::Accounts;
use crate::plan::{Condition, DimensionRef, Origin, Plan, RowPredicate};
use crate::scan::{EventFlags, TextDictionary};
use facts::{of_state, row_facts};
use field_predicate::FieldPredicate;
use group_state::{CounterQuad, by_bank};
use hashbrown::DefaultHashBuilder;
use std::sync::Arc;

/// What every split of one query shares.
#[derive(Debug)]
pub(crate) struct QueryContext<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) accounts: &'a Accounts,
    pub(crate) calendar: DayTables,
    pub(crate) layout: MeasureLayout,
    /// Per bank, what a row adds to it, by what its event is in its customer's history.
    row_lanes: Vec<Vec<CounterQuad>>,
    /// Per bank, what a state row adds to it, by its facts.
    state_lanes: Vec<Vec<CounterQuad>>,
    /// Hashes the texts of dimensions, the same way in all threads.
    hasher: DefaultHashBuilder,
    /// Whether a measure or a dimension hangs on the states of customers.
    needs_states: bool,
    condition: Option<Condition<FieldPredicate>>,
}

impl<'a> QueryContext<'a> {
    pub(crate) fn new(plan: &'a Plan, accounts: &'a Accounts) -> Self {
        let layout = MeasureLayout::new(&plan.measures);
        let tests = plan.row_condition.iter().flat_map(Condition::leaves);
        let mut dimensions = plan.dimensions.iter().chain(tests.filter_map(RowPredicate::dimension));
        let is_of_state = |dimension: &DimensionRef| {
            matches!(dimension.origin, Origin::Computed(Computed::AdjustedType | Computed::TypeIsLast))
        };
        Self {
            plan,
            row_lanes: by_bank(&layout, (0..=u8::MAX).map(|bits| row_facts(EventFlags::new(bits)))),
            state_lanes: by_bank(&layout, (0..=u8::MAX).map(of_state)),
            needs_states: layout.needs_states() || dimensions.any(is_of_state),
            accounts,
            calendar: DayTables::new(plan),
            layout,
            hasher: DefaultHashBuilder::default(),
            condition: plan.row_condition.as_ref().map(FieldPredicate::gather),
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
