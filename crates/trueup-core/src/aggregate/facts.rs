//! What one row counts for.

use crate::dictionary::Measure;
use crate::scan::{Histories, stage};
use std::ops::Add;

/// Facts of a row, one bit each; a count of rows is the number of rows with its bit.
pub(crate) type Facts = u32;

/// Counts are held in banks of so many.
pub(crate) const LANES: usize = 8;

/// Rows have facts of the first two banks, state rows of the last.
pub(crate) const BANKS: usize = 3;

/// The bank of facts that only state rows have.
pub(crate) const STATE_BANK: usize = 2;

/// What a row adds to a bank, 0 or 1 for each count, or a few rows together.
pub(crate) type Lanes = [u16; LANES];

/// The place of a measure that counts rows, over all banks.
pub(crate) const fn lane(measure: Measure) -> usize {
    measure as usize
}

// Every measure that counts rows has a lane; those of state rows, and no others, have theirs in the last bank.
const _: () = assert!(lane(Measure::Opportunities) + 1 == LANES * BANKS);
const _: () = assert!(lane(Measure::Customers) == LANES * STATE_BANK);

/// The bit of a measure that counts rows.
pub(crate) const fn fact(measure: Measure) -> Facts {
    1 << measure as u32
}

/// What a row adds to a bank, by the bits of the facts that it has of it.
#[expect(clippy::cast_possible_truncation, reason = "0 or 1")]
static LANES_OF: [Lanes; 256] = {
    let mut all = [[0; LANES]; 256];
    let mut byte = 0;
    while byte < all.len() {
        let mut lane = 0;
        while lane < LANES {
            all[byte][lane] = (byte >> lane & 1) as u16;
            lane += 1;
        }
        byte += 1;
    }
    all
};

/// What a row with these facts of a bank adds to it.
#[inline]
pub(crate) fn lanes(byte: u8) -> &'static Lanes {
    &LANES_OF[usize::from(byte)]
}

/// Adds to lanes, all at once: what goes to memory one by one is added one by one.
#[inline]
pub(crate) fn add<T: Copy + Add<Output = T>>(sums: &mut [T; LANES], more: &[T; LANES]) {
    let mut all = *sums;
    for lane in 0..LANES {
        all[lane] = all[lane] + more[lane];
    }
    *sums = all;
}

/// The facts of a row, by what its event is in its customer's history.
#[expect(
    clippy::cast_possible_truncation,
    reason = "facts of rows are those of the first two banks, and events are below the table's end"
)]
static FACTS: [u16; 1 << u8::BITS] = {
    let mut all = [0; 1 << u8::BITS];
    let mut event = 0;
    while event < all.len() {
        all[event] = facts(event as u8) as u16;
        event += 1;
    }
    all
};

/// The facts of a row, grades apart; `event` as [`Histories::events`] has it.
#[inline]
pub(crate) fn row_facts(event: u8) -> u16 {
    FACTS[usize::from(event)]
}

const fn facts(event: u8) -> Facts {
    let of = Histories::stage(event);
    let mut facts = fact(Measure::Rows);
    if of == stage::LEAD_ORIGINATED {
        facts |= fact(Measure::Conversions);
        if Histories::is_first(event) {
            facts |= fact(Measure::Leads)
                | when(event, stage::BOOKED, Measure::BookedLeads)
                | when(event, stage::SOLD, Measure::SoldLeads)
                | when(event, stage::CLOSED, Measure::ClosedLeads);
        }
    }
    if Histories::is_first_of_stage(event) {
        facts |= match of {
            stage::BOOKED => fact(Measure::FirstBooked) | when(event, stage::ESTIMATED, Measure::FirstBookedEstimated),
            stage::ESTIMATED => fact(Measure::FirstEstimated) | when(event, stage::SOLD, Measure::FirstEstimatedSold),
            stage::SOLD => fact(Measure::FirstSold) | when(event, stage::CLOSED, Measure::FirstSoldClosed),
            _ => 0,
        };
    }
    facts
}

const fn when(event: u8, stage: u8, measure: Measure) -> Facts {
    if Histories::reaches(event, stage) { fact(measure) } else { 0 }
}

/// The facts of a conversion with a grade.
pub(crate) fn grade(label: &str) -> u16 {
    let graded = fact(Measure::GradedConversions);
    let facts = match label {
        "" => 0,
        "Bookable - Booked" => graded | fact(Measure::BookedConversions),
        "Bookable - Didn't Book" => graded | fact(Measure::BookableUnbookedConversions),
        "Unbookable" => graded | fact(Measure::UnbookableConversions),
        _ => graded,
    };
    let [low, high, ..] = facts.to_le_bytes();
    u16::from_le_bytes([low, high])
}

/// The bits of the last bank that a segment has, by its state and the stages met in it, but for those of other columns and of
/// groups.
pub(crate) const fn state_facts(state: u8, met: u8, canceled_after_booking: bool) -> u8 {
    let paying = state == stage::SOLD || state == stage::CLOSED;
    state_bit(Measure::Customers, true)
        | state_bit(Measure::PayingCustomers, paying)
        | state_bit(Measure::BookedCustomers, met >> stage::BOOKED & 1 == 1)
        | state_bit(Measure::CanceledCustomers, met >> stage::CANCELED & 1 == 1)
        | state_bit(Measure::CanceledAfterBooking, canceled_after_booking)
}

/// The bit of a measure in the last bank, if it counts.
pub(crate) const fn state_bit(measure: Measure, counts: bool) -> u8 {
    (counts as u8) << (lane(measure) - LANES * STATE_BANK)
}
