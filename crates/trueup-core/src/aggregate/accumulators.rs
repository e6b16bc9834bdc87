//! The state of groups. Each accumulator is one kind of state, whole in one file: how a query's measures become columns
//! of state, how rows are added, how two states are merged, what they take, how they travel, what value a measure has,
//! and what an event adds to it and by which rule.
//!
//! | file | state |
//! |---|---|
//! | `counts` with `text_counts`, `open_leads`, `rules` | counts of rows and of state rows |
//! | `money` | sums of totals and of revenues |
//! | `agents` | distinct agents |
//! | `durations` | numbers and sums of days between stages |
//! | `spend` | sums of spend, in groups of their own |
//! | `arrow_columns` | what all need to travel as Arrow columns |
//! | `counted_event` | an event that a measure counts, with the history that its rule speaks of |
//!
//! A measure with new state is an accumulator more: a file here, and a line in the list of [`GroupState`]. All calls
//! are static: one per batch and accumulator, and none per row.

mod agents;
mod arrow_columns;
mod counted_event;
mod counts;
mod durations;
mod money;
mod spend;

pub(crate) use agents::agent_rule;
pub(crate) use arrow_columns::{ArrowColumns, column, invalid, values};
pub(crate) use counted_event::CountedEvent;
pub(crate) use durations::{DayCount, PairDurations};
pub(crate) use spend::Spend;

use super::context::QueryContext;
use super::segment::{SegmentBatch, SegmentCache, SegmentOutcome, Segments};
use super::types::{Granularity, GroupSlot};
use crate::dictionary::Measure;
use crate::plan::MeasureLayout;
use crate::scan::EventColumns;
use crate::{Interrupt, Interruption};
use agents::DistinctAgents;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use counts::Counts;
use durations::Durations;
use money::Money;
use std::fmt::Debug;
use std::ops::Range;

/// One kind of state, held for all groups in columns by slot. Every column has an entry for [`GroupSlot::NONE`], which
/// stays 0.
pub(crate) trait Accumulator: Sized {
    /// Returns whether the state holds a measure.
    fn holds(measure: Measure) -> bool;

    /// Returns the state of no groups, for the measures of `layout` that it holds.
    fn new(layout: &MeasureLayout) -> Self;

    /// Returns the number of bytes held.
    fn bytes(&self) -> usize;

    /// Adds entries so that there are `slots` slots.
    fn grow(&mut self, slots: usize);

    /// Adds another state. `slots` has for each of its groups the slot here.
    fn merge(&mut self, other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption>;

    /// Returns the sum over all groups of each column that adds up, for the control total of a partial result.
    fn sums(&self) -> Vec<i128> {
        Vec::new()
    }

    /// Appends the state of the first `groups` groups as Arrow columns.
    ///
    /// # Errors
    /// A sum has more than 38 digits.
    fn to_arrow(&self, groups: usize, columns: &mut ArrowColumns) -> Result<(), ArrowError>;

    /// Adds what [`to_arrow`](Self::to_arrow) has written, given the slot of each group.
    ///
    /// # Errors
    /// The columns are not those of this state.
    fn add_arrow(&mut self, batch: &RecordBatch, slots: &[GroupSlot]) -> Result<(), ArrowError>;

    /// Returns the function from a slot to the value of a measure; `None` if the query does not aggregate the measure.
    fn value(&self, measure: Measure) -> Option<impl Fn(GroupSlot) -> i128>;
}

/// State that events are added to.
pub(crate) trait EventAccumulator: Accumulator {
    /// The measures, bound to the columns of a row group.
    type Bound<'a>: BoundAccumulator<State = Self>;

    /// Binds the measures to the columns of a row group; `None` if the row group adds nothing.
    fn bind<'a>(context: &'a QueryContext<'a>, columns: &'a EventColumns) -> Option<Self::Bound<'a>>;

    /// Returns the number of bytes that may be held while `units` units are added, and at most `groups` groups.
    fn bytes_while_adding(&self, units: usize, groups: usize, bound: Option<&Self::Bound<'_>>) -> usize;

    /// Returns whether what a segment adds follows from its class alone, so that the [histogram](super::Histogram) may
    /// count it. By default, only if there are no measures.
    fn is_of_classes(layout: &MeasureLayout, _granularity: Granularity) -> bool {
        !layout.measures().iter().any(|measure| Self::holds(*measure))
    }

    /// Returns whether the state is made of sums and counts, so that what some rows have added can be subtracted.
    fn is_subtractable(_layout: &MeasureLayout) -> bool {
        true
    }

    /// Subtracts the state of rows that this state has, which must be [subtractable](Self::is_subtractable). `slots`
    /// has for each group of the other state the slot here.
    fn subtract(&mut self, other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption>;

    /// Returns whether a measure is the sum of what single events add, so that its lines explain it.
    fn is_sum(_measure: Measure) -> bool {
        true
    }

    /// Returns the rule by which a measure counts an event, or a customer on its state event.
    fn rule(measure: Measure, event: &CountedEvent<'_>) -> String;
}

/// Adds the rows of a row group to the state. A batch is added as segments or as rows, as they are grouped, and then,
/// if a measure or a dimension depends on states, as state rows.
pub(crate) trait BoundAccumulator: Debug {
    type State;

    /// Returns whether events are read one by one even if segments are grouped.
    fn reads_events(&self) -> bool {
        false
    }

    /// Returns which runs of rows are summed up if segments are grouped.
    fn runs(&self) -> Runs {
        Runs::None
    }

    /// Returns whether the events of state rows are read.
    fn reads_state_events(&self) -> bool {
        false
    }

    /// Adds segments. All rows of a segment are in one group.
    fn add_segments(&mut self, _segments: &SegmentUnits<'_>, _state: &mut Self::State) {}

    /// Adds rows one by one.
    fn add_rows(&mut self, _rows: &RowUnits<'_>, _state: &mut Self::State) {}

    /// Adds what only state rows have.
    fn add_state_rows(&mut self, _rows: &StateRows<'_>, _state: &mut Self::State) {}

    /// Returns what a row adds to a measure; `None` if the measure does not count it.
    fn explain(&self, row: &ExplainedRow<'_>, measure: Measure) -> Option<i128>;
}

/// How the slots of a batch follow each other. Sums within a run of equal slots are accumulated locally, because
/// consecutive additions to one memory location would wait for each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotRuns {
    /// Whether slots come in runs.
    pub(super) in_runs: bool,
    /// Whether all slots are equal.
    pub(super) is_one_slot: bool,
}

/// Consecutive rows of one slot that are summed up together.
#[derive(Debug)]
pub(crate) struct ContiguousRows {
    pub(super) slot: GroupSlot,
    /// The customer of the first row.
    pub(super) customer: u32,
    pub(super) events: Range<usize>,
}

/// Which rows make one run of [`ContiguousRows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Runs {
    /// No runs are needed.
    None,
    /// The rows of an account.
    Account,
    /// The rows of a segment.
    Segment,
}

/// The segments of a batch, each with its slot.
#[derive(Debug)]
pub(crate) struct SegmentUnits<'a> {
    pub(super) segments: &'a Segments,
    pub(super) cache: &'a SegmentCache,
    pub(super) slots: &'a [GroupSlot],
    pub(super) slot_runs: SlotRuns,
    /// The rows in runs, if an accumulator sums them up.
    pub(super) runs: &'a [ContiguousRows],
}

/// The rows of a batch, each with its slot.
#[derive(Debug)]
pub(crate) struct RowUnits<'a> {
    pub(super) batch: &'a SegmentBatch,
    pub(super) slots: &'a [GroupSlot],
    pub(super) slot_runs: SlotRuns,
    /// The slots of the rows whose customer is new in the group, if the query counts them.
    pub(super) new_customers: &'a [GroupSlot],
}

/// The state rows of the segments of a batch, each with its slot.
#[derive(Debug)]
pub(crate) struct StateRows<'a> {
    pub(super) segments: &'a Segments,
    pub(super) cache: &'a SegmentCache,
    pub(super) slots: &'a [GroupSlot],
    pub(super) slot_runs: SlotRuns,
    /// Whether rows are grouped, so that the segments have not been added yet.
    pub(super) are_rows_grouped: bool,
    /// For each segment, the event of its state row, if an accumulator reads it.
    pub(super) events: &'a [u32],
}

/// A row that is explained.
#[derive(Debug)]
pub(crate) struct ExplainedRow<'a> {
    /// The index of the event in the row group.
    pub(super) event: usize,
    /// The index of the customer in the row group.
    pub(super) customer: usize,
    /// The index of the customer's first event in the sub-range.
    pub(super) first: usize,
    /// What the customer's state event counts for; `None` if the row is another event.
    pub(super) state: Option<&'a SegmentOutcome>,
    /// Whether no earlier event of the customer is in the group.
    pub(super) is_first_of_customer: bool,
}

/// Slots come in runs if on average at least `MIN_RUN` consecutive ones are equal.
const MIN_RUN: usize = 4;

impl SlotRuns {
    pub(super) fn new(slots: &[GroupSlot]) -> Self {
        let changes = slots.windows(2).filter(|pair| pair[0] != pair[1]).count();
        Self { in_runs: changes * MIN_RUN < slots.len(), is_one_slot: changes == 0 }
    }
}

/// Makes the state of groups, and the measures of a query bound to a row group, of a list of accumulators.
macro_rules! group_state {
    ($($name:ident: $accumulator:ident,)*) => {
        /// The state of groups.
        #[derive(Clone, Debug)]
        pub(crate) struct GroupState {
            /// The number of entries of a column.
            slots: usize,
            $(pub(crate) $name: $accumulator,)*
        }

        /// A query's measures, bound to the columns of a row group.
        #[derive(Debug)]
        pub(crate) struct BoundState<'a> {
            $(pub(super) $name: Option<<$accumulator as EventAccumulator>::Bound<'a>>,)*
        }

        impl GroupState {
            pub(crate) fn new(layout: &MeasureLayout) -> Self {
                let mut state = Self { slots: 0, $($name: $accumulator::new(layout),)* };
                state.grow(0);
                state
            }

            /// Returns the number of bytes held.
            pub(crate) fn bytes(&self) -> usize {
                [$(self.$name.bytes()),*].into_iter().sum()
            }

            /// Returns the number of bytes that may be held while `units` units are added, and at most `groups` groups.
            pub(crate) fn bytes_while_adding(&self, units: usize, groups: usize, bound: &BoundState<'_>) -> usize {
                [$(self.$name.bytes_while_adding(units, groups, bound.$name.as_ref())),*].into_iter().sum()
            }

            #[cold]
            fn grow_to(&mut self, slots: usize) {
                self.slots = slots;
                $(self.$name.grow(slots);)*
            }

            /// Adds another state. `slots` has for each of its groups the slot here.
            pub(crate) fn merge(
                &mut self,
                other: Self,
                slots: &[GroupSlot],
                interrupt: &Interrupt,
            ) -> Result<(), Interruption> {
                $(self.$name.merge(other.$name, slots, interrupt)?;)*
                Ok(())
            }

            /// Returns whether what some rows have added can be subtracted.
            pub(crate) fn is_subtractable(layout: &MeasureLayout) -> bool {
                $($accumulator::is_subtractable(layout))&&*
            }

            /// Subtracts the state of rows that this state has. `slots` has for each of its groups the slot here.
            pub(crate) fn subtract(
                &mut self,
                other: Self,
                slots: &[GroupSlot],
                interrupt: &Interrupt,
            ) -> Result<(), Interruption> {
                $(self.$name.subtract(other.$name, slots, interrupt)?;)*
                Ok(())
            }

            /// Returns the sum over all groups of each column that adds up.
            pub(crate) fn sums(&self) -> Vec<i128> {
                [$(self.$name.sums()),*].concat()
            }

            /// Appends the state of the first `groups` groups as Arrow columns.
            pub(crate) fn to_arrow(&self, groups: usize, columns: &mut ArrowColumns) -> Result<(), ArrowError> {
                $(self.$name.to_arrow(groups, columns)?;)*
                Ok(())
            }

            /// Adds what [`to_arrow`](Self::to_arrow) has written, given the slot of each group.
            pub(crate) fn add_arrow(&mut self, batch: &RecordBatch, slots: &[GroupSlot]) -> Result<(), ArrowError> {
                $(self.$name.add_arrow(batch, slots)?;)*
                Ok(())
            }

            /// Calls `add` with the function from a slot to the value of a measure, unless the query does not aggregate
            /// the measure.
            pub(crate) fn with_value(&self, measure: Measure, add: &mut impl AddValues) {
                $(if $accumulator::holds(measure) {
                    if let Some(value) = self.$name.value(measure) {
                        add.add(value);
                    }
                })*
            }

            /// Returns whether what a segment adds to any measure follows from its class alone.
            pub(crate) fn is_of_classes(layout: &MeasureLayout, granularity: Granularity) -> bool {
                $($accumulator::is_of_classes(layout, granularity))&&*
            }
        }

        impl<'a> BoundState<'a> {
            pub(crate) fn bind(context: &'a QueryContext<'a>, columns: &'a EventColumns) -> Self {
                Self { $($name: $accumulator::bind(context, columns),)* }
            }

            /// Returns whether any accumulator reads events one by one even if segments are grouped.
            pub(crate) fn reads_events(&self) -> bool {
                $(self.$name.as_ref().is_some_and(BoundAccumulator::reads_events))||*
            }

            /// Returns which runs of rows are summed up if segments are grouped.
            pub(crate) fn runs(&self) -> Runs {
                [$(self.$name.as_ref().map_or(Runs::None, BoundAccumulator::runs)),*].into_iter().fold(Runs::None, Ord::max)
            }

            /// Returns whether any accumulator reads the events of state rows.
            pub(crate) fn reads_state_events(&self) -> bool {
                $(self.$name.as_ref().is_some_and(BoundAccumulator::reads_state_events))||*
            }

            /// Adds segments. All rows of a segment are in one group.
            pub(crate) fn add_segments(&mut self, segments: &SegmentUnits<'_>, state: &mut GroupState) {
                $(if let Some(bound) = &mut self.$name {
                    bound.add_segments(segments, &mut state.$name);
                })*
            }

            /// Adds rows one by one.
            pub(crate) fn add_rows(&mut self, rows: &RowUnits<'_>, state: &mut GroupState) {
                $(if let Some(bound) = &mut self.$name {
                    bound.add_rows(rows, &mut state.$name);
                })*
            }

            /// Adds what only state rows have.
            pub(crate) fn add_state_rows(&mut self, rows: &StateRows<'_>, state: &mut GroupState) {
                $(if let Some(bound) = &mut self.$name {
                    bound.add_state_rows(rows, &mut state.$name);
                })*
            }

            /// Returns what a row adds to a measure other than one of several [terms](Measure::terms).
            fn explain_term(&self, row: &ExplainedRow<'_>, measure: Measure) -> Option<i128> {
                $(if $accumulator::holds(measure) {
                    return self.$name.as_ref()?.explain(row, measure);
                })*
                None
            }
        }

        /// Returns whether a measure of events is the sum of what single events add.
        pub(crate) fn is_sum(measure: Measure) -> bool {
            $((!$accumulator::holds(measure) || $accumulator::is_sum(measure)))&&*
        }

        /// Returns the rule by which a measure of events counts an event, or a customer on its state event.
        pub(crate) fn rule(measure: Measure, event: &CountedEvent<'_>) -> String {
            $(if $accumulator::holds(measure) {
                return $accumulator::rule(measure, event);
            })*
            String::new()
        }
    };
}

group_state! {
    counts: Counts,
    money: Money,
    agents: DistinctAgents,
    durations: Durations,
}

/// Receives the values of a measure. It is a trait and no closure, because each accumulator has a function of its own.
pub(crate) trait AddValues {
    /// Adds the value of each group, given by its slot.
    fn add(&mut self, value: impl Fn(GroupSlot) -> i128);
}

impl GroupState {
    /// Adds entries so that there are `groups` groups.
    #[inline]
    pub(crate) fn grow(&mut self, groups: usize) {
        if groups >= self.slots {
            self.grow_to(groups + 1);
        }
    }
}

impl BoundState<'_> {
    /// Returns what a row adds to a measure; `None` if the measure does not count it.
    pub(crate) fn explain(&self, row: &ExplainedRow<'_>, measure: Measure) -> Option<i128> {
        let mut terms = measure.terms();
        let (first, _) = terms.next()?;
        let added = self.explain_term(row, first)?;
        // A measure that subtracts does not count what it subtracts.
        let is_counted = |(term, _): (Measure, bool)| self.explain_term(row, term).is_none();
        terms.all(is_counted).then_some(added)
    }
}
