//! Splits the histories of consecutive customers at sub-range borders.
//!
//! Whether an event lies in the range, or begins a segment, is unpredictable. Therefore the loops have no branches that
//! depend on it: they write each candidate to the next free entry, and advance only if it was one.
//!
//! | fast path | when | what it saves |
//! |---|---|---|
//! | `split_one_sub_range` | all events of the block are in one sub-range | reading any day or event |
//! | `scan_events_inside` | all events of the block are in the range | counting rows |
//!
//! Neither is taken where customers are skipped. `scan_events` alone would give the same segments.

use super::{LeadHistories, Segments};
use crate::plan::DayTables;
use crate::scan::{CustomerBlock, EventColumns, MAX_BLOCK_EVENTS, PatternId};
use std::ops::Range;

/// Splits histories into segments.
#[derive(Debug)]
pub(crate) struct SegmentSplitter {
    scan: Box<BlockScan>,
    /// For each segment that was found event by event, the number of rows before it or, if all events are rows, its
    /// first event.
    starts: Vec<u32>,
    /// The patterns of the leads of a block.
    patterns: Vec<PatternId>,
}

/// The number of events that one scan reads: all events of most blocks.
const SCAN_EVENTS: usize = MAX_BLOCK_EVENTS;

/// The segments that one scan finds, column by column. There are never more segments than events, and at most
/// `SCAN_EVENTS` events, so an index modulo `SCAN_EVENTS` is the index.
#[derive(Debug)]
struct BlockScan {
    events: [u32; SCAN_EVENTS],
    customers: [u32; SCAN_EVENTS],
    sub_ranges: [u32; SCAN_EVENTS],
    /// The number of rows before each segment; not written if all events are rows.
    rows_before: [u32; SCAN_EVENTS],
}

/// The progress of a scan.
#[derive(Clone, Copy, Debug)]
struct SegmentCursor {
    /// The number of segments found.
    segments: usize,
    /// The number of rows found.
    rows: u32,
    /// The customer that begins next.
    next_customer: u32,
    /// The sub-range of the previous event.
    sub_range: u32,
}

impl BlockScan {
    /// Finds the segments of consecutive events. Customers for which `passes` is false are skipped.
    fn scan_events(
        &mut self,
        cursor: &mut SegmentCursor,
        columns: &EventColumns,
        events: Range<usize>,
        days: &DayTables,
        passes: impl Fn(u32) -> bool,
    ) {
        #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer than 2^32 rows")]
        let first_event = events.start as u32;
        let SegmentCursor { mut segments, mut rows, mut next_customer, sub_range: mut previous } = *cursor;
        let flags = columns.histories.events().slice(events.clone());
        for (event, (flags, day)) in (first_event..).zip(flags.iter().zip(&columns.days[events])) {
            let (sub_range, _) = days.sub_range(*day);
            let is_first = flags.is_first();
            next_customer += u32::from(is_first);
            let is_inside = (sub_range != DayTables::OUTSIDE) & passes(next_customer - 1);
            let begins = is_inside & (is_first | (sub_range != previous));
            // The next event overwrites one that begins no segment.
            let at = segments % SCAN_EVENTS;
            self.events[at] = event;
            self.customers[at] = next_customer - 1;
            self.sub_ranges[at] = sub_range;
            self.rows_before[at] = rows;
            segments += usize::from(begins);
            rows += u32::from(is_inside);
            previous = sub_range;
        }
        // Written field by field, as the next call reads them: loads of single fields would wait for one wide store.
        cursor.segments = segments;
        cursor.rows = rows;
        cursor.next_customer = next_customer;
        cursor.sub_range = previous;
    }

    /// Finds the segments of consecutive events that are all in the range, without their lengths.
    fn scan_events_inside(
        &mut self,
        cursor: &mut SegmentCursor,
        columns: &EventColumns,
        events: Range<usize>,
        days: &DayTables,
    ) {
        #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer than 2^32 rows")]
        let first_event = events.start as u32;
        let SegmentCursor { mut segments, mut next_customer, sub_range: mut previous, .. } = *cursor;
        let flags = columns.histories.events().slice(events.clone());
        for (event, (flags, day)) in (first_event..).zip(flags.iter().zip(&columns.days[events])) {
            let (sub_range, _) = days.sub_range(*day);
            let is_first = flags.is_first();
            next_customer += u32::from(is_first);
            let at = segments % SCAN_EVENTS;
            self.events[at] = event;
            self.customers[at] = next_customer - 1;
            self.sub_ranges[at] = sub_range;
            segments += usize::from(is_first | (sub_range != previous));
            previous = sub_range;
        }
        cursor.segments = segments;
        cursor.next_customer = next_customer;
        cursor.sub_range = previous;
    }
}

impl SegmentSplitter {
    pub(crate) fn new() -> Self {
        let zeros = [0; SCAN_EVENTS];
        Self {
            starts: Vec::new(),
            patterns: Vec::new(),
            scan: Box::new(BlockScan { events: zeros, customers: zeros, sub_ranges: zeros, rows_before: zeros }),
        }
    }

    /// Appends the segments of a block to `segments`, without their classes. If `passing` is given, customers for which
    /// it is false are skipped. For a cohort, `leads` are those of the row group, and `columns` have their histories.
    ///
    /// If the new segments are known to be whole histories, returns the patterns of these.
    pub(crate) fn split<'s>(
        &'s mut self,
        columns: &'s EventColumns,
        leads: Option<&LeadHistories>,
        block: &CustomerBlock,
        days: &DayTables,
        passing: Option<&[bool]>,
        segments: &mut Segments,
    ) -> Option<&'s [PatternId]> {
        if let Some(leads) = leads {
            leads.split(block, days, passing, segments, &mut self.patterns);
            return Some(&self.patterns);
        }
        let (sub_range, last_inside) = days.sub_range(block.first_day);
        if passing.is_none() && sub_range != DayTables::OUTSIDE && block.last_day <= last_inside {
            return Some(split_one_sub_range(columns, block, sub_range, segments));
        }
        self.split_events(columns, block, days, passing, segments);
        None
    }

    /// Appends the segments of a block, event by event.
    fn split_events(
        &mut self,
        columns: &EventColumns,
        block: &CustomerBlock,
        days: &DayTables,
        passing: Option<&[bool]>,
        segments: &mut Segments,
    ) {
        let mut events = columns.customers.events_of(&block.customers);
        #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer than 2^32 rows")]
        let next_customer = block.customers.start as u32;
        let mut cursor = SegmentCursor { segments: 0, rows: 0, next_customer, sub_range: 0 };
        let are_all_rows = passing.is_none()
            && days.sub_range(block.first_day).0 != DayTables::OUTSIDE
            && block.last_day <= days.end();
        #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer than 2^32 rows")]
        let end = events.end as u32;
        while !events.is_empty() {
            let step = events.start..events.end.min(events.start + SCAN_EVENTS);
            events.start = step.end;
            if are_all_rows {
                self.scan.scan_events_inside(&mut cursor, columns, step, days);
                self.starts.extend_from_slice(&self.scan.events[..cursor.segments]);
            } else {
                match passing {
                    None => self.scan.scan_events(&mut cursor, columns, step, days, |_| true),
                    Some(passing) => {
                        self.scan.scan_events(&mut cursor, columns, step, days, |customer| passing[customer as usize]);
                    }
                }
                self.starts.extend_from_slice(&self.scan.rows_before[..cursor.segments]);
            }
            self.append(cursor.segments, segments);
            cursor.segments = 0;
        }
        self.append_lengths(if are_all_rows { end } else { cursor.rows }, segments);
    }

    /// Appends the first `found` segments of the scan, without their lengths.
    fn append(&self, found: usize, segments: &mut Segments) {
        segments.events.extend_from_slice(&self.scan.events[..found]);
        segments.customers.extend_from_slice(&self.scan.customers[..found]);
        segments.sub_ranges.extend_from_slice(&self.scan.sub_ranges[..found]);
    }

    /// Appends the lengths of the segments that were found event by event. The last one ends at `end`, in the unit of
    /// `starts`.
    fn append_lengths(&mut self, end: u32, segments: &mut Segments) {
        self.starts.push(end);
        segments.lengths.extend(self.starts.windows(2).map(|ends| ends[1] - ends[0]));
        self.starts.clear();
    }
}

/// Appends the segments of a block whose events are all in one sub-range, and returns the patterns of its customers.
fn split_one_sub_range<'s>(
    columns: &'s EventColumns,
    block: &CustomerBlock,
    sub_range: u32,
    segments: &mut Segments,
) -> &'s [PatternId] {
    segments.push_customers(columns, block);
    let Segments { events, lengths, sub_ranges, .. } = segments;
    lengths.extend(columns.customers.ends(&block.customers).windows(2).map(|ends| ends[1] - ends[0]));
    sub_ranges.resize(events.len(), sub_range);
    &columns.histories.pattern_ids()[block.customers.clone()]
}
