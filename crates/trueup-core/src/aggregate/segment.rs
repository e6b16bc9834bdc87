//! Step 1: the events of each customer that lie in the range, split into segments, and the class of each segment.
//!
//! | file | what it does |
//! |---|---|
//! | `lead_histories` | selects the leads of a cohort, and cuts their histories |
//! | `splitter` | splits the histories of a block of customers at sub-range borders |
//! | `outcome` | derives a segment's state from its stages |
//! | `segment_cache` | finds the class of each segment, so that an outcome is derived once per class |

mod lead_histories;
mod outcome;
mod segment_cache;
mod splitter;

pub(crate) use lead_histories::LeadHistories;
pub(crate) use outcome::SegmentOutcome;
pub(crate) use segment_cache::SegmentCache;
pub(crate) use splitter::SegmentSplitter;

use super::types::{Granularity, select_indexes};
use crate::scan::{CustomerBlock, EventColumns};
use std::borrow::Cow;
use std::ops::Range;

/// Segments, column by column. A segment is the events of one customer in one sub-range, which are consecutive.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// The index of the first event in the row group.
    pub(crate) events: Vec<u32>,
    /// The number of events.
    pub(crate) lengths: Vec<u32>,
    /// The index of the customer in the row group.
    pub(crate) customers: Vec<u32>,
    pub(crate) sub_ranges: Vec<u32>,
    /// The class. Segments that are not classified yet have no entry.
    pub(crate) classes: Vec<SegmentClass>,
}

/// The class of a segment. Segments of a class have the same event flags and the same outcome, mostly because they are
/// at the same place of histories with the same stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct SegmentClass(u32);

impl SegmentClass {
    /// No class: what a table of classes holds for a history, or a part of one, that has not been seen yet.
    pub(crate) const NONE: Self = Self(0);

    /// Returns the number of the class, which is its kind in an [`IncrementTable`](super::facts::IncrementTable).
    #[inline]
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// Returns the index in columns by class, which have an entry for `NONE`.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The rows of segments one by one, column by column.
#[derive(Debug, Default)]
pub(crate) struct SegmentRows {
    /// The index of the event in the row group.
    pub(crate) events: Vec<u32>,
    /// The index of the segment in its batch.
    pub(crate) segments: Vec<u32>,
}

/// The segments that are aggregated together.
#[derive(Debug, Default)]
pub(crate) struct SegmentBatch {
    pub(crate) segments: Segments,
    /// The rows of the segments, if they are filtered or grouped one by one.
    pub(crate) rows: SegmentRows,
}

/// What is filtered or grouped, column by column: rows, segments or customers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupingUnits<'a> {
    /// For each unit, its first event.
    pub(crate) events: &'a [u32],
    /// For each row, its segment; `None` if units are not rows.
    rows: Option<&'a [u32]>,
    /// The segments. If units are customers, there is one for each.
    segments: &'a Segments,
    /// The outcomes by class.
    outcomes: &'a [SegmentOutcome],
}

impl Segments {
    /// Returns no segments, with room for some.
    pub(crate) fn with_capacity(segments: usize) -> Self {
        let numbers = || Vec::with_capacity(segments);
        let classes = Vec::with_capacity(segments);
        Self { events: numbers(), lengths: numbers(), customers: numbers(), sub_ranges: numbers(), classes }
    }

    /// Returns one segment for each customer of some blocks, with nothing but its customer and its first event.
    pub(crate) fn of_customers<'a>(columns: &EventColumns, blocks: impl Iterator<Item = &'a CustomerBlock>) -> Self {
        let mut segments = Self::default();
        blocks.for_each(|block| segments.push_customers(columns, block));
        segments
    }

    /// Appends the first event and the index of each customer of a block.
    fn push_customers(&mut self, columns: &EventColumns, block: &CustomerBlock) {
        self.events.extend_from_slice(&columns.customers.ends(&block.customers)[..block.customers.len()]);
        #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer than 2^32 rows")]
        self.customers.extend(block.customers.start as u32..block.customers.end as u32);
    }

    pub(crate) const fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns all columns but the classes.
    fn numbers(&mut self) -> [&mut Vec<u32>; 4] {
        [&mut self.events, &mut self.lengths, &mut self.customers, &mut self.sub_ranges]
    }

    fn clear(&mut self) {
        self.numbers().into_iter().for_each(Vec::clear);
        self.classes.clear();
    }

    /// Keeps the segments at `indexes`.
    pub(crate) fn retain(&mut self, indexes: &[u32]) {
        retain(self.numbers(), indexes);
        retain([&mut self.classes], indexes);
    }

    /// Returns the events of a segment.
    pub(crate) fn events_of(&self, segment: usize) -> Range<usize> {
        let first = self.events[segment] as usize;
        first..first + self.lengths[segment] as usize
    }
}

impl SegmentRows {
    /// Replaces the rows by those of segments.
    ///
    /// The number of rows of a segment is unpredictable. Therefore only the first row of each segment is written in a
    /// loop over segments, as the step from the row before, and a loop without branches then sums up the steps.
    fn expand(&mut self, segments: &Segments) {
        let rows = segments.lengths.iter().map(|length| *length as usize).sum();
        self.events.clear();
        self.events.resize(rows, 1);
        self.segments.clear();
        self.segments.resize(rows, 0);
        let (mut at, mut last) = (0, 0);
        for (first, length) in segments.events.iter().zip(&segments.lengths) {
            self.events[at] = first.wrapping_sub(last);
            self.segments[at] = 1;
            at += *length as usize;
            last = first + length - 1;
        }
        let (mut event, mut segment) = (0_u32, u32::MAX);
        for (events, segments) in self.events.iter_mut().zip(&mut self.segments) {
            event = event.wrapping_add(*events);
            segment = segment.wrapping_add(*segments);
            (*events, *segments) = (event, segment);
        }
    }

    /// Keeps the rows at `indexes`.
    pub(crate) fn retain(&mut self, indexes: &[u32]) {
        retain([&mut self.events, &mut self.segments], indexes);
    }
}

impl SegmentBatch {
    /// Replaces the rows by those of the segments.
    pub(crate) fn expand_rows(&mut self) {
        self.rows.expand(&self.segments);
    }

    /// Returns what is filtered or grouped at a granularity.
    pub(crate) fn units<'a>(&'a self, granularity: Granularity, cache: &'a SegmentCache) -> GroupingUnits<'a> {
        match granularity {
            Granularity::Row => GroupingUnits {
                events: &self.rows.events,
                rows: Some(&self.rows.segments),
                segments: &self.segments,
                outcomes: cache.outcomes(),
            },
            Granularity::Segment | Granularity::Customer => GroupingUnits::of_segments(&self.segments, cache),
        }
    }

    /// Writes to `of_segments`, for each segment, the value of its state row, given the value of each row. If rows were
    /// filtered one by one, first drops the segments whose state row did not pass.
    pub(crate) fn state_row_values<T: Copy>(
        &mut self,
        cache: &SegmentCache,
        are_rows_filtered: bool,
        of_rows: &[T],
        of_segments: &mut Vec<T>,
    ) {
        let Self { segments, rows } = self;
        of_segments.clear();
        if are_rows_filtered {
            let is_state_row = |(event, segment): (&u32, &u32)| {
                let segment = *segment as usize;
                *event == segments.events[segment] + cache.outcome(segments.classes[segment]).state_row
            };
            let mut kept = Vec::new();
            select_indexes(&mut kept, rows.events.iter().zip(&rows.segments).map(is_state_row));
            of_segments.extend(kept.iter().map(|row| of_rows[*row as usize]));
            kept.iter_mut().for_each(|row| *row = rows.segments[*row as usize]);
            segments.retain(&kept);
        } else {
            let mut first = 0;
            of_segments.extend(segments.lengths.iter().zip(&segments.classes).map(|(length, class)| {
                let row = first + cache.outcome(*class).state_row;
                first += length;
                of_rows[row as usize]
            }));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }
}

impl<'a> GroupingUnits<'a> {
    /// Returns segments as units. If there is one segment per customer, the units are customers.
    pub(crate) fn of_segments(segments: &'a Segments, cache: &'a SegmentCache) -> Self {
        Self { events: &segments.events, rows: None, segments, outcomes: cache.outcomes() }
    }

    pub(crate) const fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns the segment of each unit.
    fn segments(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.len()).map(move |unit| self.rows.map_or(unit, |rows| rows[unit] as usize))
    }

    /// Returns the customer of each unit.
    pub(crate) fn customers(self) -> Cow<'a, [u32]> {
        let all = &self.segments.customers;
        self.rows.map_or(Cow::Borrowed(all), |rows| rows.iter().map(|segment| all[*segment as usize]).collect())
    }

    /// Returns for each unit the first event of its segment, and the segment's outcome.
    pub(crate) fn outcomes(self) -> impl Iterator<Item = (u32, &'a SegmentOutcome)> {
        self.segments()
            .map(move |segment| (self.segments.events[segment], &self.outcomes[self.segments.classes[segment].index()]))
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

/// Keeps the values at `indexes`.
fn retain<T: Copy, const COLUMNS: usize>(columns: [&mut Vec<T>; COLUMNS], indexes: &[u32]) {
    let mut kept = Vec::new();
    for column in columns {
        kept.clear();
        kept.extend(indexes.iter().map(|index| column[*index as usize]));
        std::mem::swap(column, &mut kept);
    }
}
