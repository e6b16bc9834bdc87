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

// The facts of state rows are the highest ones, and one bit remains that is no fact.
const _: () = assert!((Measure::Opportunities as u32) < Facts::BITS - 1);
const _: () = assert!(Measure::Opportunities as u32 - Measure::Customers as u32 == StateFacts::BITS - 1);

/// What each kind of row or segment adds to the counters of its group: for each quad of counters, the increments by
/// kind. A kind is a number, such as the bits of event flags or the code of a grade.
#[derive(Clone, Debug)]
pub(crate) struct IncrementTable {
    pub(crate) quads: Vec<Vec<CounterQuad>>,
}

impl IncrementTable {
    /// Returns a table without kinds, for the counters of a layout.
    pub(crate) fn empty(layout: &MeasureLayout) -> Self {
        Self { quads: vec![Vec::new(); quads(layout)] }
    }

    /// Returns the increments of rows with each of `facts`.
    pub(crate) fn from_facts(layout: &MeasureLayout, facts: impl Iterator<Item = Facts> + Clone) -> Self {
        let quad = |measures: &[Measure]| {
            // A counter without a measure gets the bit that is no fact.
            let mut bits = [Facts::BITS - 1; QUAD];
            bits.iter_mut().zip(measures).for_each(|(bit, measure)| *bit = *measure as u32);
            facts.clone().map(|facts| bits.map(|bit| facts >> bit & 1)).collect()
        };
        Self { quads: layout.counts().chunks(QUAD).map(quad).collect() }
    }
}

/// Returns the number of quads that hold the counts of a layout.
pub(crate) fn quads(layout: &MeasureLayout) -> usize {
    layout.counts().len().div_ceil(QUAD)
}

/// Returns the facts of a state row as facts of a row.
pub(crate) const fn facts_of_state(facts: StateFacts) -> Facts {
    (facts as Facts) << Measure::Customers as u32
}

/// Returns the bit of a measure that counts rows.
const fn fact(measure: Measure) -> Facts {
    1 << measure as u32
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

/// Returns the bit of a measure if the event's customer ever has an event of the stage.
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
    (counts as StateFacts) << (measure as u32 - Measure::Customers as u32)
}
