//! How segments, which are cuts out of their customers' histories, end, and what their state rows count for.

use super::facts::{StateFacts, state_facts};
use crate::scan::{EventFlags, stage};
use std::ops::Range;

/// What a segment counts for beside its rows, whatever the columns are that a query reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentOutcome {
    /// The state row, the last row in the state, counted from the segment's first.
    pub(crate) state_row: u32,
    /// The first row that no cancellation or further stage has undone, counted likewise.
    pub(crate) first_live_row: u32,
    /// The furthest stage that no cancellation undid, or canceled.
    pub(crate) state: u8,
    /// The facts of the state row, but for those of other columns and of groups.
    pub(crate) facts: StateFacts,
}

/// By stage: how far it is, cancellations being no way at all.
#[expect(clippy::cast_possible_truncation, reason = "there are six stages")]
const RANKS: [u8; 8] = {
    let mut ranks = [0; 8];
    let mut code = 0;
    while code < stage::COUNT {
        ranks[code] = if code == stage::CANCELED as usize { 0 } else { code as u8 + 1 };
        code += 1;
    }
    ranks
};

impl SegmentOutcome {
    /// The cut that has the `rows` of a customer's history, whose events are as in [`StageHistories`](crate::scan::StageHistories).
    ///
    /// The state is the furthest stage so far: a further one takes its place, and so does a cancellation, unless it follows closed work,
    /// which is never undone. What was live before no longer is then.
    pub(crate) fn new(history: &[EventFlags], rows: Range<usize>) -> Self {
        const CLOSED: u8 = RANKS[stage::CLOSED as usize];
        let mut cut = Self::default();
        let (mut furthest, mut met_here, mut booked) = (0, 0_u8, None);
        for (row, event) in (0..).zip(&history[rows.clone()]) {
            let stage = event.stage();
            let rank = RANKS[usize::from(stage)];
            let cancels = stage == stage::CANCELED && furthest != CLOSED;
            if row == 0 || rank > furthest || cancels {
                (furthest, cut.first_live_row, cut.state) = (rank, row, stage);
            }
            if rank == furthest {
                cut.state_row = row;
            }
            if stage == stage::BOOKED && booked.is_none() {
                booked = Some(rows.start + row as usize);
            }
            met_here |= 1 << stage;
        }
        let is_canceled = |event: &EventFlags| event.stage() == stage::CANCELED;
        let canceled_after = booked.is_some_and(|booked| history[booked..].iter().any(is_canceled));
        cut.facts = state_facts(cut.state, met_here, canceled_after);
        cut
    }
}
