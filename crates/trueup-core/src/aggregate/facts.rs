//! What one row counts for, and what it therefore adds to the counters of its group.

use super::types::{CounterQuad, QUAD};
use crate::dictionary::Measure;
use crate::plan::MeasureLayout;
use crate::scan::{EventFlags, stage};

/// The facts of a row, one bit per measure that counts rows or state rows. A measure's count is the number of rows with
/// the measure's bit.
pub(crate) type Facts = u32;

/// The facts that only state rows have, and [`Measure::Opportunities`], which counts a customer once per group. The
/// lowest bit says that the row is a state row.
pub(crate) type StateFacts = u8;

// The facts of state rows are the highest ones, and at least one bit above them is no fact.
const _: () = assert!(bit(Measure::Opportunities) < NO_FACT);
const _: () = assert!(bit(Measure::Opportunities) - FIRST_STATE_FACT == StateFacts::BITS - 1);

/// A bit of [`Facts`] that no measure has.
const NO_FACT: u32 = Facts::BITS - 1;

/// The lowest of the bits of [`Facts`] that are [`StateFacts`].
const FIRST_STATE_FACT: u32 = bit(Measure::Customers);

/// Returns the number of a measure's bit in [`Facts`]; `NO_FACT` if the measure counts no facts.
const fn bit(measure: Measure) -> u32 {
    match measure {
        Measure::Rows => 0,
        Measure::Conversions => 1,
        Measure::Leads => 2,
        Measure::SoldLeads => 3,
        Measure::ClosedLeads => 4,
        Measure::BookedLeads => 5,
        Measure::GradedConversions => 6,
        Measure::BookedConversions => 7,
        Measure::BookableUnbookedConversions => 8,
        Measure::UnbookableConversions => 9,
        Measure::FirstBooked => 10,
        Measure::FirstBookedEstimated => 11,
        Measure::FirstEstimated => 12,
        Measure::FirstEstimatedSold => 13,
        Measure::FirstSold => 14,
        Measure::FirstSoldClosed => 15,
        Measure::OpenLeads => 16,
        Measure::Customers => 17,
        Measure::MatchedCustomers => 18,
        Measure::UnmatchedCustomers => 19,
        Measure::PayingCustomers => 20,
        Measure::BookedCustomers => 21,
        Measure::CanceledCustomers => 22,
        Measure::CanceledAfterBooking => 23,
        Measure::Opportunities => 24,
        _ => NO_FACT,
    }
}

/// What each kind of row or segment adds to the counters of its group: for each quad of counters, the increments by
/// kind. A kind is a number, such as the bits of event flags or the code of a grade.
#[derive(Clone, Debug)]
pub(crate) struct IncrementTable {
    pub(crate) quads: Vec<Vec<CounterQuad>>,
}

impl IncrementTable {
    /// Returns a table without kinds, for the counters of a layout. It has room for `kinds`.
    pub(crate) fn with_capacity(layout: &MeasureLayout, kinds: usize) -> Self {
        Self { quads: (0..quads(layout)).map(|_| Vec::with_capacity(kinds)).collect() }
    }

    /// Returns the increments of rows with each of `facts`.
    pub(crate) fn from_facts(layout: &MeasureLayout, facts: impl Iterator<Item = Facts> + Clone) -> Self {
        let quad = |measures: &[Measure]| {
            // A counter without a measure gets the bit that is no fact.
            let mut bits = [NO_FACT; QUAD];
            bits.iter_mut().zip(measures).for_each(|(number, measure)| *number = bit(*measure));
            facts.clone().map(|facts| bits.map(|bit| facts >> bit & 1)).collect()
        };
        Self { quads: layout.counts().chunks(QUAD).map(quad).collect() }
    }

    /// Returns what a kind adds to the count at `place` of the layout.
    pub(crate) fn at(&self, place: usize, kind: usize) -> u32 {
        self.quads[place / QUAD][kind][place % QUAD]
    }
}

/// What rows add to the counters of a query.
#[derive(Debug)]
pub(crate) struct Increments {
    pub(super) layout: MeasureLayout,
    /// What a row adds, by the flags of its event; without what depends on its grade, and without open leads.
    pub(super) of_rows: IncrementTable,
    /// What a state row adds in addition, by its facts; without what depends on its status.
    pub(super) of_states: IncrementTable,
}

impl Increments {
    pub(super) fn new(layout: &MeasureLayout) -> Self {
        let row_facts = (0..=u8::MAX).map(|bits| row_facts(EventFlags::new(bits)));
        Self {
            of_rows: IncrementTable::from_facts(layout, row_facts),
            of_states: IncrementTable::from_facts(layout, (0..=StateFacts::MAX).map(facts_of_state)),
            layout: layout.clone(),
        }
    }
}

/// Returns the number of quads that hold the counts of a layout.
fn quads(layout: &MeasureLayout) -> usize {
    layout.counts().len().div_ceil(QUAD)
}

/// Returns the facts of a state row as facts of a row.
pub(crate) const fn facts_of_state(facts: StateFacts) -> Facts {
    (facts as Facts) << FIRST_STATE_FACT
}

/// Returns the bit of a measure that counts rows.
const fn fact(measure: Measure) -> Facts {
    1 << bit(measure)
}

/// Returns the facts of a row that follow from its flags: all but those of grades, open leads and state rows.
pub(crate) const fn row_facts(event: EventFlags) -> Facts {
    let event_stage = event.stage();
    let mut facts = fact(Measure::Rows);
    if event_stage == stage::LEAD_ORIGINATED {
        facts |= fact(Measure::Conversions);
        if event.is_first() {
            facts |= fact(Measure::Leads)
                | fact_if_reached(event, stage::BOOKED, Measure::BookedLeads)
                | fact_if_reached(event, stage::SOLD, Measure::SoldLeads)
                | fact_if_reached(event, stage::CLOSED, Measure::ClosedLeads);
        }
    }
    if event.is_first_of_stage() {
        facts |= match event_stage {
            stage::BOOKED => {
                fact(Measure::FirstBooked) | fact_if_reached(event, stage::ESTIMATED, Measure::FirstBookedEstimated)
            }
            stage::ESTIMATED => {
                fact(Measure::FirstEstimated) | fact_if_reached(event, stage::SOLD, Measure::FirstEstimatedSold)
            }
            stage::SOLD => fact(Measure::FirstSold) | fact_if_reached(event, stage::CLOSED, Measure::FirstSoldClosed),
            _ => 0,
        };
    }
    facts
}

/// Returns the bit of a measure, or 0 if the event's customer never has an event of the stage.
const fn fact_if_reached(event: EventFlags, stage: u8, measure: Measure) -> Facts {
    if event.reaches(stage) { fact(measure) } else { 0 }
}

/// Returns the fact that a lead of a cohort has if its window is not over.
pub(crate) const fn open_lead_facts() -> Facts {
    fact(Measure::OpenLeads)
}

/// Returns the facts of a conversion that follow from its grade. The empty text is no grade.
pub(crate) fn grade_facts(grade: &str) -> Facts {
    let graded = fact(Measure::GradedConversions);
    match grade {
        "" => 0,
        "Bookable - Booked" => graded | fact(Measure::BookedConversions),
        "Bookable - Didn't Book" => graded | fact(Measure::BookableUnbookedConversions),
        "Unbookable" => graded | fact(Measure::UnbookableConversions),
        _ => graded,
    }
}

/// Returns the facts of a state row that follow from the customer's status.
pub(crate) fn status_facts(status: &str) -> Facts {
    fact(if matches!(status, "" | "Unmatched") { Measure::UnmatchedCustomers } else { Measure::MatchedCustomers })
}

/// Returns the facts of a state row that follow from its segment: its state, the stages in it (one bit each), and
/// whether the history has a cancellation after the segment's first booking.
pub(crate) const fn state_facts(state: u8, stages: u8, canceled_after_booking: bool) -> StateFacts {
    let paying = state == stage::SOLD || state == stage::CLOSED;
    state_fact(Measure::Customers, true)
        | state_fact(Measure::PayingCustomers, paying)
        | state_fact(Measure::BookedCustomers, stages >> stage::BOOKED & 1 == 1)
        | state_fact(Measure::CanceledCustomers, stages >> stage::CANCELED & 1 == 1)
        | state_fact(Measure::CanceledAfterBooking, canceled_after_booking)
}

/// Returns the bit of a measure among [`StateFacts`], or 0 if it does not count the row.
pub(crate) const fn state_fact(measure: Measure, counts: bool) -> StateFacts {
    (counts as StateFacts) << (bit(measure) - FIRST_STATE_FACT)
}
