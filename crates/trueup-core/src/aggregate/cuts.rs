//! What segments count for.
//!
//! A segment is a cut out of its customer's history. Most histories are short, and so there are few of them: what each cut out of one counts
//! for is found when it is first met, and looked up from then on.

use super::facts::{BANKS, LANES, Lanes, STATE_BANK, add, lanes, row_facts, state_facts};
use super::segments::Chunk;
use crate::scan::{Histories, Shape, Split, stage};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// What a segment counts for, whatever the columns are that a query reads beside it.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Cut {
    /// What it adds to each bank. Its rows, in all banks but the last, only if there are at most [`MOST_ROWS`].
    pub(crate) counts: [Lanes; BANKS],
    /// The state row, the last row in the state, counted from the segment's first.
    pub(crate) state_row: u32,
    /// The first row that no cancellation or further stage has undone, counted likewise.
    pub(crate) live_from: u32,
    /// The furthest stage that no cancellation undid, or canceled.
    pub(crate) state: u8,
}

/// The most rows that lanes can count.
pub(crate) const MOST_ROWS: u32 = u16::MAX as u32;

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
    /// Whether it is one, and not [`NO_CUT`].
    #[inline]
    pub(crate) fn is_found(&self) -> bool {
        !std::ptr::eq(self, &raw const NO_CUT)
    }

    /// The cut that has the `rows` of a customer's history, whose events and stages are as [`Histories`] has them.
    ///
    /// The state is the furthest stage so far: a further one takes its place, and so does a cancellation, unless it follows closed work,
    /// which is never undone. What was live before no longer is then.
    fn new(history: &[u8], rows: Range<usize>) -> Self {
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
        cut.counts[STATE_BANK] = *lanes(state_facts(cut.state, met_here, canceled_after));
        if rows.len() <= MOST_ROWS as usize {
            for event in &history[rows] {
                for (counts, facts) in cut.counts.iter_mut().zip(row_facts(*event).to_le_bytes()) {
                    add(counts, lanes(facts));
                }
            }
        }
        cut
    }
}

/// Stands where a cut has not been found yet.
pub(crate) static NO_CUT: Cut = Cut { counts: [[0; LANES]; BANKS], state_row: 0, live_from: 0, state: 0 };

/// By the number of a shape, its cuts, the whole history first; found when they are first asked for.
#[derive(Debug)]
pub(crate) struct Known(Box<[OnceLock<Box<[Cut]>>]>);

/// What is known of shapes, for all queries.
pub(crate) fn known() -> &'static Known {
    static KNOWN: LazyLock<Known> =
        LazyLock::new(|| Known(std::iter::repeat_with(OnceLock::new).take(Shape::COUNT).collect()));
    &KNOWN
}

impl Known {
    /// The cut that is a whole history, if it is known already; else [`NO_CUT`].
    #[inline]
    pub(crate) fn whole(&self, shape: Shape) -> &Cut {
        self.0[shape.number()].get().and_then(|cuts| cuts.first()).unwrap_or(&NO_CUT)
    }

    /// The cut of so many rows out of a history that has a shape and `before` events before them.
    #[inline]
    fn get(&self, shape: Shape, before: usize, rows: usize) -> &Cut {
        &self.0[shape.number()].get_or_init(|| all(shape))[before * Shape::EVENTS + rows]
    }
}

/// The whole history, and then all cuts out of it, by how many events are before them and how many they have; those that go beyond its
/// end are of no meaning.
fn all(shape: Shape) -> Box<[Cut]> {
    let history = shape.history();
    let lengths = 1..=Shape::EVENTS;
    let cuts = (0..history.len()).flat_map(|start| lengths.clone().map(move |length| start..start + length));
    let cut = |rows: Range<usize>| if rows.end <= history.len() { Cut::new(&history, rows) } else { Cut::default() };
    std::iter::once(0..history.len()).chain(cuts).map(cut).collect()
}

/// The cuts that the segments of a chunk are; those out of histories of no shape are written to `own`, each with its segment.
pub(crate) fn find<'a>(split: &Split, chunk: &Chunk, own: &'a mut Vec<(usize, Cut)>) -> Vec<&'a Cut> {
    let (known, segments) = (known(), &chunk.segments);
    let shapes = split.histories.shapes();
    let mut cuts: Vec<&Cut> = chunk.cuts.clone();
    own.clear();
    for unknown in &chunk.unknown {
        let firsts = segments.events[unknown.clone()].iter().zip(&segments.lengths[unknown.clone()]);
        let places = firsts.zip(&segments.customers[unknown.clone()]).zip(&mut cuts[unknown.clone()]);
        for (segment, (((first, length), customer), cut)) in unknown.clone().zip(places) {
            let customer = *customer as usize;
            let history = split.runs.events(customer);
            let before = *first as usize - history.start;
            let shape = shapes[customer];
            if shape.is_some() {
                *cut = known.get(shape, before, *length as usize);
            } else {
                let rows = before..before + *length as usize;
                own.push((segment, Cut::new(&split.histories.events()[history], rows)));
            }
        }
    }
    for (segment, cut) in own {
        cuts[*segment] = cut;
    }
    cuts
}
