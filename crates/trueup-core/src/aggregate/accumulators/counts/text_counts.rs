//! Counts that depend on a text column: conversions by grade, customers by status.

use super::Counts;
use crate::aggregate::accumulators::{ContiguousRows, ExplainedRow, SlotRuns};
use crate::aggregate::context::QueryContext;
use crate::aggregate::facts::{IncrementTable, grade_facts, status_facts};
use crate::aggregate::segment::SegmentBatch;
use crate::aggregate::types::GroupSlot;
use crate::dictionary::{GRADE_COLUMN, STATUS_COLUMN};
use crate::plan::MeasureLayout;
use crate::scan::{EventColumns, TextColumn, stage};
use std::ops::Range;

/// The grades of conversions, bound to the columns of a row group.
#[derive(Debug)]
pub(super) struct GradeColumn<'a> {
    columns: &'a EventColumns,
    column: &'a TextColumn,
    /// What a conversion adds to the counters, by the code of its grade.
    increments: IncrementTable,
    /// For each account, whether its conversions are graded.
    graded_accounts: Vec<bool>,
    /// The conversions to count, each with its slot and the code of its grade.
    conversions: Vec<(GroupSlot, u32)>,
}

/// The statuses of customers, bound to the columns of a row group.
#[derive(Debug)]
pub(super) struct StatusColumn<'a> {
    /// `None` if all statuses are empty.
    column: Option<&'a TextColumn>,
    /// What a state row adds to the counters, by the code of its status.
    increments: IncrementTable,
    /// The codes of the state rows.
    codes: Vec<u32>,
}

/// Returns whether any count depends on a conversion's grade.
pub(super) fn needs_grades(layout: &MeasureLayout) -> bool {
    reads(layout, GRADE_COLUMN)
}

/// Returns whether any count depends on a customer's status.
pub(super) fn needs_statuses(layout: &MeasureLayout) -> bool {
    reads(layout, STATUS_COLUMN)
}

fn reads(layout: &MeasureLayout, column: &str) -> bool {
    layout.counts().iter().any(|measure| measure.columns().contains(&column))
}

impl<'a> GradeColumn<'a> {
    /// Returns `None` if no count depends on grades, or the row group has none.
    pub(super) fn bind(context: &QueryContext<'_>, columns: &'a EventColumns) -> Option<Self> {
        let layout = &context.plan.layout;
        let column = columns.text(GRADE_COLUMN).filter(|_| needs_grades(layout))?;
        Some(Self {
            columns,
            column,
            increments: IncrementTable::from_facts(layout, column.dictionary().iter().map(grade_facts)),
            graded_accounts: context.graded(columns.customers.account_keys()),
            conversions: Vec::new(),
        })
    }

    /// Returns whether a customer's conversions all have the same grade.
    pub(super) const fn is_per_customer(&self) -> bool {
        self.column.is_per_customer()
    }

    /// Counts the conversions among contiguous rows. If grades are
    /// [per customer](Self::is_per_customer), each run must be of one customer.
    pub(super) fn count_runs(&mut self, runs: &[ContiguousRows], slot_runs: SlotRuns, state: &mut Counts) {
        self.conversions.clear();
        for ContiguousRows { slot, customer, events } in runs {
            self.push_conversions(*slot, *customer as usize, events.clone());
        }
        state.count(&self.increments, slot_runs, self.conversions.iter().copied());
    }

    /// Counts the conversions among single rows.
    pub(super) fn count_rows(
        &mut self,
        batch: &SegmentBatch,
        slots: &[GroupSlot],
        slot_runs: SlotRuns,
        state: &mut Counts,
    ) {
        self.conversions.clear();
        for ((slot, segment), event) in slots.iter().zip(&batch.rows.segments).zip(&batch.rows.events) {
            let (customer, event) = (batch.segments.customers[*segment as usize] as usize, *event as usize);
            self.push_conversions(*slot, customer, event..event + 1);
        }
        state.count(&self.increments, slot_runs, self.conversions.iter().copied());
    }

    /// Returns what a row adds, for its grade, to the count at `place` of the layout.
    pub(super) fn explain(&self, row: &ExplainedRow<'_>, place: usize) -> u32 {
        let Self { columns, column, graded_accounts, .. } = self;
        let is_graded = graded_accounts[columns.customers.accounts().get(row.customer).index()]
            && columns.histories.events().get(row.event).stage() == stage::LEAD_ORIGINATED;
        if is_graded { self.increments.at(place, column.code(row.customer, row.event).index()) } else { 0 }
    }

    /// Appends the conversions among events of one account, unless conversions of the account are not graded.
    #[inline]
    fn push_conversions(&mut self, slot: GroupSlot, customer: usize, events: Range<usize>) {
        let Self { columns, column, graded_accounts, conversions, .. } = self;
        if !graded_accounts[columns.customers.accounts().get(customer).index()] {
            return;
        }
        let mut found = conversions.len();
        conversions.resize(found + events.len(), (GroupSlot::NONE, 0));
        for (event, flags) in events.clone().zip(columns.histories.events().slice(events).iter()) {
            // The next event overwrites one that is no conversion. There is no branch, because it is unpredictable
            // which events are conversions.
            conversions[found] = (slot, column.code(customer, event).0);
            found += usize::from(flags.stage() == stage::LEAD_ORIGINATED);
        }
        conversions.truncate(found);
    }
}

impl<'a> StatusColumn<'a> {
    /// Returns `None` if no count depends on statuses.
    pub(super) fn bind(context: &QueryContext<'_>, columns: &'a EventColumns) -> Option<Self> {
        let layout = &context.plan.layout;
        let column = needs_statuses(layout).then(|| columns.text(STATUS_COLUMN))?;
        let empty = std::iter::once("");
        let others = column.into_iter().flat_map(|column| column.dictionary().iter().skip(1));
        let increments = IncrementTable::from_facts(layout, empty.chain(others).map(status_facts));
        Some(Self { column, increments, codes: Vec::new() })
    }

    /// Counts state rows, given as their customers, their events and their slots.
    pub(super) fn count(
        &mut self,
        customers: &[u32],
        events: &[u32],
        slots: &[GroupSlot],
        slot_runs: SlotRuns,
        state: &mut Counts,
    ) {
        self.codes.clear();
        match self.column {
            Some(column) => column.gather(customers, events, &mut self.codes),
            None => self.codes.resize(slots.len(), 0),
        }
        state.count(&self.increments, slot_runs, slots.iter().copied().zip(self.codes.iter().copied()));
    }

    /// Returns what a state row adds, for its status, to the count at `place` of the layout.
    pub(super) fn explain(&self, row: &ExplainedRow<'_>, place: usize) -> u32 {
        let code = self.column.map_or(0, |column| column.code(row.customer, row.event).index());
        self.increments.at(place, code)
    }
}
