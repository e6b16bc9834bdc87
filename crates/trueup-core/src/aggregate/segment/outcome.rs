//! The outcome of a segment: the state that its customer reaches in it, and what its state row counts for.

use crate::aggregate::facts::{StateFacts, state_facts};
use crate::scan::{FlagsSlice, stage};
use std::ops::Range;

/// What a segment counts for in addition to its rows. It depends only on the stages of the customer's history and on
/// the segment's position in it.
///
/// The segment lead, booked, canceled, booked has the state booked. Its row 3, counted from 0, is the first live row of
/// that state and the state row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentOutcome {
    /// The last live row of the state or, if the state is canceled, the last cancellation; counted from the first row
    /// of the segment.
    pub(crate) state_row: u32,
    /// The first live row of the state or, if the state is canceled, the last cancellation; counted from the first row
    /// of the segment.
    pub(crate) first_live_row: u32,
    /// The code of the state: the furthest stage that no cancellation undid, or canceled.
    pub(crate) state: u8,
    /// The facts of the state row that follow from stages: neither those of its status nor whether its customer is new
    /// in its group.
    pub(crate) facts: StateFacts,
}

/// The progress of each stage. A cancellation is no progress.
#[expect(clippy::cast_possible_truncation, reason = "there are six stages")]
const PROGRESS: [u8; 8] = {
    let mut progress = [0; 8];
    let mut code = 0;
    while code < stage::COUNT {
        progress[code] = if code == stage::CANCELED as usize { 0 } else { code as u8 + 1 };
        code += 1;
    }
    progress
};

impl SegmentOutcome {
    /// Derives the outcome of the segment that has the `rows` of a customer's history.
    ///
    /// The state is the furthest stage so far. A further stage replaces it, and so does a cancellation, except after
    /// closed work, which is never undone. Rows before the replacement do not count for the new state.
    pub(crate) fn new(history: FlagsSlice<'_>, rows: Range<usize>) -> Self {
        const CLOSED: u8 = PROGRESS[stage::CLOSED as usize];
        let mut outcome = Self::default();
        let (mut furthest, mut stages, mut booked) = (0, 0_u8, None);
        for (row, event) in (0..).zip(history.slice(rows.clone()).iter()) {
            let stage = event.stage();
            let progress = PROGRESS[usize::from(stage)];
            let cancels = stage == stage::CANCELED && furthest != CLOSED;
            if row == 0 || progress > furthest || cancels {
                (furthest, outcome.first_live_row, outcome.state) = (progress, row, stage);
            }
            if progress == furthest {
                outcome.state_row = row;
            }
            if stage == stage::BOOKED && booked.is_none() {
                booked = Some(rows.start + row as usize);
            }
            stages |= 1 << stage;
        }
        let canceled_after_booking =
            booked.is_some_and(|booked| history.slice(booked..history.len()).has_stage(stage::CANCELED));
        outcome.facts = state_facts(outcome.state, stages, canceled_after_booking);
        outcome
    }
}
