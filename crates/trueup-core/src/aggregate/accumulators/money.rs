//! Sums of money: the totals of rows, and the revenues of customers by state.

use super::arrow_columns::sum_name;
use super::{
    Accumulator, ArrowColumns, BoundAccumulator, ContiguousRows, CountedEvent, EventAccumulator, ExplainedRow,
    RowUnits, Runs, SegmentUnits, SlotRuns, StateRows, values,
};
use crate::aggregate::context::QueryContext;
use crate::aggregate::segment::{SegmentBatch, SegmentCache, SegmentOutcome, Segments};
use crate::aggregate::types::{Granularity, GroupSlot, INTERRUPT_CHECK_GROUPS, select_indexes};
use crate::dictionary::{Measure, MeasureKind};
use crate::memory::column_bytes_while_adding;
use crate::model::Stage;
use crate::plan::MeasureLayout;
use crate::scan::{Amounts, EventColumns, FlagsSlice, stage};
use crate::{Interrupt, Interruption, money};
use arrow_array::RecordBatch;
use arrow_array::types::Decimal128Type;
use arrow_schema::ArrowError;
use std::ops::Range;

/// The sums of money of each group, in millionths.
#[derive(Clone, Debug)]
pub(crate) struct Money {
    /// The sums of a slot, by place.
    measures: Vec<Measure>,
    /// The sums, by slot and then by place.
    sums: Vec<i128>,
}

/// The amounts of events, bound to the columns of a row group.
#[derive(Debug)]
pub(crate) struct AmountColumn<'a> {
    amounts: &'a Amounts,
    flags: FlagsSlice<'a>,
    layout: &'a MeasureLayout,
    /// The place of the sum of `total`; `None` if the query does not need it.
    total_place: Option<usize>,
    /// The indexes of the segments that may have a revenue.
    with_revenue: Vec<u32>,
}

impl Money {
    /// Adds amounts, in millionths, each to the sum of its slot at `place` of the layout.
    fn add_amounts(&mut self, place: usize, slot_runs: SlotRuns, amounts: impl Iterator<Item = (GroupSlot, i128)>) {
        let (mut open, mut sum) = (GroupSlot::NONE, 0);
        for (slot, micros) in amounts {
            if !slot_runs.in_runs || slot != open {
                self.add(open, place, std::mem::take(&mut sum));
                open = slot;
            }
            sum += micros;
        }
        self.add(open, place, sum);
    }

    /// Adds an amount, in millionths, to the sum of a slot at `place` of the layout.
    #[inline]
    fn add(&mut self, slot: GroupSlot, place: usize, micros: i128) {
        let width = self.measures.len();
        self.sums[slot.index() * width + place] += micros;
    }

    fn sum_at(&self, slot: GroupSlot, place: usize) -> i128 {
        self.sums[slot.index() * self.measures.len() + place]
    }
}

impl Accumulator for Money {
    fn holds(measure: Measure) -> bool {
        matches!(measure.kind(), MeasureKind::RowMoney | MeasureKind::StateMoney)
    }

    fn new(layout: &MeasureLayout) -> Self {
        Self { measures: layout.money().to_vec(), sums: Vec::new() }
    }

    fn bytes(&self) -> usize {
        self.sums.capacity() * size_of::<i128>()
    }

    fn grow(&mut self, slots: usize) {
        self.sums.resize(slots * self.measures.len(), 0);
    }

    fn merge(&mut self, other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption> {
        let width = self.measures.len();
        // The sums of `GroupSlot::NONE` are skipped.
        for (at, (slot, more)) in slots.iter().zip(other.sums.chunks(width.max(1)).skip(1)).enumerate() {
            if at.is_multiple_of(INTERRUPT_CHECK_GROUPS) {
                interrupt.check()?;
            }
            let sums = &mut self.sums[slot.index() * width..];
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        Ok(())
    }

    fn sums(&self) -> Vec<i128> {
        let width = self.measures.len();
        (0..width).map(|place| self.sums.iter().skip(place).step_by(width).sum()).collect()
    }

    fn to_arrow(&self, groups: usize, columns: &mut ArrowColumns) -> Result<(), ArrowError> {
        for (place, measure) in self.measures.iter().enumerate() {
            columns.push_sums(*measure, GroupSlot::first(groups).map(|slot| self.sum_at(slot, place)))?;
        }
        Ok(())
    }

    fn add_arrow(&mut self, batch: &RecordBatch, slots: &[GroupSlot]) -> Result<(), ArrowError> {
        for place in 0..self.measures.len() {
            let sums = values::<Decimal128Type>(batch, &sum_name(self.measures[place]))?;
            slots.iter().zip(sums).for_each(|(slot, sum)| self.add(*slot, place, *sum));
        }
        Ok(())
    }

    fn value(&self, measure: Measure) -> Option<impl Fn(GroupSlot) -> i128> {
        let place = self.measures.iter().position(|sum| *sum == measure)?;
        Some(move |slot| self.sum_at(slot, place))
    }
}

impl EventAccumulator for Money {
    type Bound<'a> = AmountColumn<'a>;

    /// Returns `None` if the amounts of the row group are not decoded: then the query needs none.
    fn bind<'a>(context: &'a QueryContext<'a>, columns: &'a EventColumns) -> Option<AmountColumn<'a>> {
        let layout = &context.plan.layout;
        Some(AmountColumn {
            amounts: columns.totals.as_deref()?,
            flags: columns.histories.events(),
            layout,
            total_place: layout.money().iter().position(|sum| *sum == Measure::Total),
            with_revenue: Vec::new(),
        })
    }

    fn bytes_while_adding(&self, _units: usize, groups: usize, _bound: Option<&AmountColumn<'_>>) -> usize {
        column_bytes_while_adding(&self.sums, groups * self.measures.len())
    }

    fn subtract(&mut self, mut other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption> {
        other.sums.iter_mut().for_each(|sum| *sum = -*sum);
        self.merge(other, slots, interrupt)
    }

    /// The histogram adds revenues, segment by segment.
    fn is_of_classes(layout: &MeasureLayout, _granularity: Granularity) -> bool {
        !layout.has(Measure::Total)
    }

    fn rule(measure: Measure, event: &CountedEvent<'_>) -> String {
        match measure.revenue_state() {
            None => "the amount of an event".to_owned(),
            Some(state) => format!("{}; {}", event.state(), revenue_rule(state, event)),
        }
    }
}

impl AmountColumn<'_> {
    /// Adds the revenue of a segment to a slot, if the query needs revenues of its state.
    #[expect(clippy::inline_always, reason = "the call takes as long as the sum of a customer's few amounts")]
    #[inline(always)]
    pub(in crate::aggregate) fn add_revenue(
        &self,
        segments: &Segments,
        segment: usize,
        cache: &SegmentCache,
        slot: GroupSlot,
        state: &mut Money,
    ) {
        let (first, outcome) = (segments.events[segment] as usize, cache.outcome(segments.classes[segment]));
        if let Some(place) = self.layout.revenues[usize::from(outcome.state)] {
            state.add(slot, place, self.revenue(first, outcome));
        }
    }

    /// Returns the revenue of a segment, given its first event.
    #[inline]
    fn revenue(&self, first: usize, outcome: &SegmentOutcome) -> i128 {
        let rows = first + outcome.first_live_row as usize..first + outcome.state_row as usize + 1;
        state_revenue(self.amounts, self.flags, outcome.state, rows)
    }
}

impl BoundAccumulator for AmountColumn<'_> {
    type State = Money;

    fn runs(&self) -> Runs {
        if self.total_place.is_some() { Runs::Account } else { Runs::None }
    }

    fn add_segments(&mut self, segments: &SegmentUnits<'_>, state: &mut Money) {
        if let Some(place) = self.total_place {
            let amount = |run: &ContiguousRows| (run.slot, self.amounts.sum(run.events.clone()));
            state.add_amounts(place, segments.slot_runs, segments.runs.iter().map(amount));
        }
    }

    fn add_rows(&mut self, RowUnits { batch, slots, slot_runs, .. }: &RowUnits<'_>, state: &mut Money) {
        if let Some(place) = self.total_place {
            let amount = |event: &u32| self.amounts.get(*event as usize).map_or(0, i128::from);
            let SegmentBatch { rows, .. } = batch;
            state.add_amounts(place, *slot_runs, slots.iter().copied().zip(rows.events.iter().map(amount)));
        }
    }

    fn add_state_rows(&mut self, rows: &StateRows<'_>, state: &mut Money) {
        // Few segments may have a revenue, so they are selected first.
        let has_revenue = rows.cache.has_revenue();
        let mut with_revenue = std::mem::take(&mut self.with_revenue);
        select_indexes(&mut with_revenue, rows.segments.classes.iter().map(|class| has_revenue[class.index()]));
        for segment in with_revenue.iter().map(|segment| *segment as usize) {
            self.add_revenue(rows.segments, segment, rows.cache, rows.slots[segment], state);
        }
        self.with_revenue = with_revenue;
    }

    fn explain(&self, row: &ExplainedRow<'_>, measure: Measure) -> Option<i128> {
        match measure.revenue_state() {
            None => self.amounts.get(row.event).map(i128::from),
            Some(state) => {
                let outcome = row.state.filter(|outcome| outcome.state == state.code())?;
                Some(self.revenue(row.first, outcome))
            }
        }
    }
}

/// The most amounts that a rule lists.
const MAX_LISTED: usize = 8;

/// Returns which amounts make up the revenue of a customer in a state.
fn revenue_rule(state: Stage, event: &CountedEvent<'_>) -> String {
    let SegmentOutcome { first_live_row, state_row, .. } = event.outcome;
    let rows = event.segment.start + first_live_row as usize..event.segment.start + state_row as usize + 1;
    let amount = |row: usize| Some((row, event.columns.totals.as_ref()?.get(row)?));
    let amounts: Vec<(usize, i64)> = rows.filter(|row| event.stage_of(*row) == state).filter_map(amount).collect();
    let (what, things) = match state {
        Stage::Estimated => ("the average", "live estimated events"),
        Stage::Sold => ("the sum", "live sold events"),
        _ => ("the sum", "closed events"),
    };
    match amounts.as_slice() {
        [] => format!("none of its {things} has an amount"),
        [(row, amount)] => {
            format!("the amount of {}, {}", event.reference(*row), money::format_micros((*amount).into()))
        }
        amounts => {
            let listed = amounts.iter().take(MAX_LISTED);
            let mut list: Vec<String> = listed
                .map(|(row, amount)| format!("{} {}", event.short(*row), money::format_micros((*amount).into())))
                .collect();
            if amounts.len() > MAX_LISTED {
                list.push(format!("and {} more", amounts.len() - MAX_LISTED));
            }
            format!("{what} of {} {things} with an amount: {}", amounts.len(), list.join(", "))
        }
    }
}

/// Returns the revenue of a customer in a state, in millionths. `rows` begin with the first live row of the state and
/// end with the state row; only rows of the state's stage count. Estimates are averaged; other amounts are summed.
#[inline]
fn state_revenue(amounts: &Amounts, flags: FlagsSlice<'_>, state: u8, rows: Range<usize>) -> i128 {
    if rows.len() == 1 {
        // The state row is most often the only live row, and is of the state.
        return amounts.get(rows.start).map_or(0, i128::from);
    }
    let of_state = rows.filter(|event| flags.get(*event).stage() == state);
    let amounts = of_state.filter_map(|event| amounts.get(event));
    let (sum, count) = amounts.fold((0, 0), |(sum, count), amount| (sum + i128::from(amount), count + 1));
    if state == stage::ESTIMATED && count > 1 { money::average(sum, count) } else { sum }
}
