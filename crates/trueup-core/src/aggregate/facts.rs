//! What one row counts for.

use crate::dictionary::Measure;
use crate::scan::{EventFlags, stage};

/// Facts of a row, one bit each; a count of rows is the number of rows with its bit.
pub(crate) type Facts = u32;

/// Those that only state rows have, the first of which is that they are one.
pub(crate) type StateFacts = u8;

// They come last, and one bit is left that is none.
const _: () = assert!((Measure::Opportunities as u32) < Facts::BITS - 1);
const _: () = assert!(Measure::Opportunities as u32 - Measure::Customers as u32 == StateFacts::BITS - 1);

/// Facts of state rows among all.
pub(crate) const fn of_state(facts: StateFacts) -> Facts {
    (facts as Facts) << Measure::Customers as u32
}

/// The bit of a measure that counts rows.
pub(crate) const fn fact(measure: Measure) -> Facts {
    1 << measure as u32
}

/// The facts of a row, grades apart, by what its event is in its customer's history.
pub(crate) const fn row_facts(event: EventFlags) -> Facts {
    let of = event.stage();
    let mut facts = fact(Measure::Rows);
    if of == stage::LEAD_ORIGINATED {
        facts |= fact(Measure::Conversions);
        if event.is_first() {
            facts |= fact(Measure::Leads)
                | when(event, stage::BOOKED, Measure::BookedLeads)
                | when(event, stage::SOLD, Measure::SoldLeads)
                | when(event, stage::CLOSED, Measure::ClosedLeads);
        }
    }
    if event.is_first_of_stage() {
        facts |= match of {
            stage::BOOKED => fact(Measure::FirstBooked) | when(event, stage::ESTIMATED, Measure::FirstBookedEstimated),
            stage::ESTIMATED => fact(Measure::FirstEstimated) | when(event, stage::SOLD, Measure::FirstEstimatedSold),
            stage::SOLD => fact(Measure::FirstSold) | when(event, stage::CLOSED, Measure::FirstSoldClosed),
            _ => 0,
        };
    }
    facts
}

const fn when(event: EventFlags, stage: u8, measure: Measure) -> Facts {
    if event.reaches(stage) { fact(measure) } else { 0 }
}

/// The facts of a conversion with a grade.
pub(crate) fn grade(label: &str) -> Facts {
    let graded = fact(Measure::GradedConversions);
    match label {
        "" => 0,
        "Bookable - Booked" => graded | fact(Measure::BookedConversions),
        "Bookable - Didn't Book" => graded | fact(Measure::BookableUnbookedConversions),
        "Unbookable" => graded | fact(Measure::UnbookableConversions),
        _ => graded,
    }
}

/// The facts of a state row with a customer status.
pub(crate) fn matches(status: &str) -> Facts {
    fact(if matches!(status, "" | "Unmatched") { Measure::UnmatchedCustomers } else { Measure::MatchedCustomers })
}

/// The facts of a state row, by its segment's state and the stages met in it, but for those of other columns and of groups.
pub(crate) const fn state_facts(state: u8, met: u8, canceled_after_booking: bool) -> StateFacts {
    let paying = state == stage::SOLD || state == stage::CLOSED;
    state_fact(Measure::Customers, true)
        | state_fact(Measure::PayingCustomers, paying)
        | state_fact(Measure::BookedCustomers, met >> stage::BOOKED & 1 == 1)
        | state_fact(Measure::CanceledCustomers, met >> stage::CANCELED & 1 == 1)
        | state_fact(Measure::CanceledAfterBooking, canceled_after_booking)
}

/// The bit of a measure that counts state rows, if it does.
pub(crate) const fn state_fact(measure: Measure, counts: bool) -> StateFacts {
    (counts as StateFacts) << (measure as u32 - Measure::Customers as u32)
}
