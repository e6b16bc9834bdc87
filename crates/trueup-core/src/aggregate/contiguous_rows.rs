//! Segments that are read as one: sums and grades of many events take less time than those of as many histories.

use super::segments::Segments;
use crate::scan::Codes;
use std::ops::Range;

/// Events of segments that follow each other, of one slot and one account.
#[derive(Debug)]
pub(crate) struct ContiguousRows {
    pub(crate) slot: u32,
    /// The first of the customers.
    pub(crate) customer: u32,
    pub(crate) events: Range<usize>,
}

/// Writes the stretches of segments, of which each has its slot, to `stretches`: of one segment each if they `are_apart`.
pub(crate) fn find(
    segments: &Segments,
    slots: &[u32],
    accounts: &Codes,
    are_apart: bool,
    stretches: &mut Vec<ContiguousRows>,
) {
    stretches.clear();
    for (segment, (slot, customer)) in slots.iter().zip(&segments.customers).enumerate() {
        let events = segments.rows(segment);
        let goes_on = |last: &&mut ContiguousRows| {
            !are_apart
                && last.slot == *slot
                && last.events.end == events.start
                && accounts.get(last.customer as usize) == accounts.get(*customer as usize)
        };
        match stretches.last_mut().filter(goes_on) {
            Some(last) => last.events.end = events.end,
            None => stretches.push(ContiguousRows { slot: *slot, customer: *customer, events }),
        }
    }
}
