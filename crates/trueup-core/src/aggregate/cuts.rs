//! How segments end, and what their state rows count for.
//!
//! A segment is a cut out of its customer's history. Most histories are short, and so there are few of them: all cuts out of one are found
//! when it is first met, and looked up from then on.

use super::facts::{StateFacts, state_facts};
use crate::scan::{Histories, Shape, stage};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// What a segment counts for beside its rows, whatever the columns are that a query reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    /// The state row, the last row in the state, counted from the segment's first.
    pub(crate) state_row: u32,
    /// The first row that no cancellation or further stage has undone, counted likewise.
    pub(crate) live_from: u32,
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

impl Cut {
    /// The cut that has the `rows` of a customer's history, whose events and stages are as [`Histories`] has them.
    ///
    /// The state is the furthest stage so far: a further one takes its place, and so does a cancellation, unless it follows closed work,
    /// which is never undone. What was live before no longer is then.
    pub(crate) fn new(history: &[u8], rows: Range<usize>) -> Self {
        const CLOSED: u8 = RANKS[stage::CLOSED as usize];
        let mut cut = Self::default();
        let (mut furthest, mut met_here, mut booked) = (0, 0_u8, None);
        for (row, event) in (0..).zip(&history[rows.clone()]) {
            let stage = Histories::stage(*event);
            let rank = RANKS[usize::from(stage)];
            let cancels = stage == stage::CANCELED && furthest != CLOSED;
            if row == 0 || rank > furthest || cancels {
                (furthest, cut.live_from, cut.state) = (rank, row, stage);
            }
            if rank == furthest {
                cut.state_row = row;
            }
            if stage == stage::BOOKED && booked.is_none() {
                booked = Some(rows.start + row as usize);
            }
            met_here |= 1 << stage;
        }
        let is_canceled = |event: &u8| Histories::stage(*event) == stage::CANCELED;
        let canceled_after = booked.is_some_and(|booked| history[booked..].iter().any(is_canceled));
        cut.facts = state_facts(cut.state, met_here, canceled_after);
        cut
    }
}

/// What is known of the histories that have a shape.
#[derive(Debug)]
pub(crate) struct Known {
    /// The events, as [`Histories::events`] has them.
    pub(crate) history: Vec<u8>,
    /// The whole history, and then all cuts out of it, by how many events are before them and how many they have; those that go beyond
    /// its end are of no meaning.
    cuts: Box<[Cut]>,
}

impl Known {
    /// What is known of a shape, found when it is first asked for, for all queries.
    pub(crate) fn of(shape: Shape) -> &'static Self {
        static KNOWN: LazyLock<Box<[OnceLock<Known>]>> =
            LazyLock::new(|| std::iter::repeat_with(OnceLock::new).take(Shape::COUNT).collect());
        KNOWN[shape.number()].get_or_init(|| Self::new(shape.history()))
    }

    fn new(history: Vec<u8>) -> Self {
        let lengths = 1..=Shape::EVENTS;
        let cuts = (0..history.len()).flat_map(|start| lengths.clone().map(move |length| start..start + length));
        let cut =
            |rows: Range<usize>| if rows.end <= history.len() { Cut::new(&history, rows) } else { Cut::default() };
        let cuts = std::iter::once(0..history.len()).chain(cuts).map(cut).collect();
        Self { history, cuts }
    }

    /// The cut that is the whole history.
    pub(crate) fn whole(&self) -> &Cut {
        &self.cuts[0]
    }

    /// The cut of so many rows that has `before` events before it.
    pub(crate) fn part(&self, before: usize, rows: usize) -> &Cut {
        &self.cuts[before * Shape::EVENTS + rows]
    }
}
