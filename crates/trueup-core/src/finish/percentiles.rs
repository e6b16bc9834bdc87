//! Percentiles of durations, computed exactly from the number of durations for each number of days.

use super::order::sort;
use crate::aggregate::{DayCount, PairDurations};
use crate::{Interrupt, Interruption};

/// The durations of each group between two stages.
pub(super) struct SortedDurations {
    /// By group, and then by days.
    counts: Vec<DayCount>,
    /// The index in `counts` of the first entry of each group, and the number of entries.
    starts: Vec<usize>,
}

impl SortedDurations {
    /// Returns the largest number of bytes that [`new`](Self::new) takes for `counts` counts of `groups` groups.
    pub(super) const fn bytes(counts: usize, groups: usize) -> usize {
        // Sorting moves the counts from one buffer to another.
        2 * counts * size_of::<DayCount>() + (groups + 1) * size_of::<usize>()
    }

    /// Sorts the durations of `groups` groups; `None` if they are not counted by day.
    pub(super) fn new(
        durations: &PairDurations,
        groups: usize,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>, Interruption> {
        let Some(by_day) = durations.by_day() else { return Ok(None) };
        let counts = sort(by_day.collect(), interrupt, |a: DayCount, b: DayCount| a.cmp(&b))?;
        let mut starts = vec![0; groups + 1];
        counts.iter().for_each(|count| starts[count.group as usize + 1] += 1);
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        Ok(Some(Self { counts, starts }))
    }

    /// Returns the value below which `percent` percent of the durations of a group are; `None` without durations.
    pub(super) fn percentile(&self, group: u32, percent: u8) -> Option<f64> {
        self.hundredths(group, percent).map(|hundredths| f64::from(hundredths) / 100.0)
    }

    /// Returns the [percentile](Self::percentile) in hundredths of a day. Of n durations in order it is the one at the
    /// position (n - 1) * `percent` / 100, counted from 0, or in proportion between the two next to it (Hyndman and
    /// Fan's type 7).
    pub(super) fn hundredths(&self, group: u32, percent: u8) -> Option<u32> {
        let group = group as usize;
        let counts = &self.counts[self.starts[group]..self.starts[group + 1]];
        let last = counts.iter().map(|count| u128::from(count.count)).sum::<u128>().checked_sub(1)?;
        let position = last * u128::from(percent);
        let (place, part) = (position / 100, position % 100);
        let days = |place: u128| {
            let mut before = 0;
            let is_there = |count: &&DayCount| {
                before += u128::from(count.count);
                place < before
            };
            counts.iter().find(is_there).map_or(0, |count| u128::from(count.days))
        };
        let hundredths = days(place) * (100 - part) + days((place + 1).min(last)) * part;
        // A number of days has 16 bits.
        u32::try_from(hundredths).ok()
    }
}
