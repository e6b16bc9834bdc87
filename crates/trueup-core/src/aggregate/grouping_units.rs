//! What is grouped and filtered: rows, or whole segments or customers where all their rows have the same values.

use super::outcome::SegmentOutcome;
use super::segment_cache::SegmentCache;
use super::segments::{SegmentRows, Segments};
use std::borrow::Cow;

/// What a unit is; each is a whole number of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Granularity {
    Row,
    Segment,
    Customer,
}

/// GroupingUnits, column by column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupingUnits<'a> {
    /// The event in the split; of a segment or a customer, its first.
    pub(crate) events: &'a [u32],
    /// Of rows, their segments.
    rows: Option<&'a [u32]>,
    /// The segments; where units are customers, one for each of them.
    segments: &'a Segments,
    kinds: &'a SegmentCache<'a>,
}

impl<'a> GroupingUnits<'a> {
    pub(crate) fn new(
        granularity: Granularity,
        segments: &'a Segments,
        rows: &'a SegmentRows,
        kinds: &'a SegmentCache<'a>,
    ) -> Self {
        match granularity {
            Granularity::Row => Self { events: &rows.events, rows: Some(&rows.segments), segments, kinds },
            Granularity::Segment | Granularity::Customer => {
                Self { events: &segments.events, rows: None, segments, kinds }
            }
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.events.len()
    }

    /// The segment of each unit.
    fn places(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.len()).map(move |unit| self.rows.map_or(unit, |rows| rows[unit] as usize))
    }

    /// The customer of each unit, in the split.
    pub(crate) fn customers(self) -> Cow<'a, [u32]> {
        let all = &self.segments.customers;
        self.rows.map_or(Cow::Borrowed(all), |rows| rows.iter().map(|segment| all[*segment as usize]).collect())
    }

    /// For each unit, the first event of its segment, and the cut that it is.
    pub(crate) fn cuts(self) -> impl Iterator<Item = (u32, &'a SegmentOutcome)> {
        self.places().map(move |place| (self.segments.events[place], self.kinds.cut(self.segments.kinds[place])))
    }

    /// Writes the sub-range of each unit to `sub_ranges`.
    pub(crate) fn sub_ranges(self, sub_ranges: &mut Vec<u32>) {
        sub_ranges.clear();
        match self.rows {
            None => sub_ranges.extend_from_slice(&self.segments.sub_ranges),
            Some(rows) => sub_ranges.extend(rows.iter().map(|segment| self.segments.sub_ranges[*segment as usize])),
        }
    }
}
