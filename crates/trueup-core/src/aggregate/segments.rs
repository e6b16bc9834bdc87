//! The events of consecutive customers that lie in the range, cut into segments: a customer in a sub-range.
//!
//! Whether an event lies in the range or begins a segment is as good as random to a processor, so the loops here have no branches
//! that depend on it.

use super::DayTables;
use super::day_tables::OUTSIDE;
use super::segment_cache::SegmentCache;
use crate::scan::{CustomerBlock, EventColumns, MAX_BLOCK_EVENTS, PatternId};
use std::ops::Range;

/// Segments, column by column.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// The first event in the split; the others follow it.
    pub(crate) events: Vec<u32>,
    /// How many events.
    pub(crate) lengths: Vec<u32>,
    /// The customer in the split.
    pub(crate) customers: Vec<u32>,
    pub(crate) sub_ranges: Vec<u32>,
    /// The kind in the split; those that were not found yet have none.
    pub(crate) kinds: Vec<u32>,
}

/// The events of segments one by one, column by column.
#[derive(Debug, Default)]
pub(crate) struct SegmentRows {
    /// The event in the split.
    pub(crate) events: Vec<u32>,
    /// The segment.
    pub(crate) segments: Vec<u32>,
}

/// What gathers until it is worth counting.
#[derive(Debug)]
pub(crate) struct SegmentBatch {
    pub(crate) segments: Segments,
    found: Box<BlockScan>,
    /// Where each segment begins that is cut event by event, counted in rows or, where all events are rows, in events.
    starts: Vec<u32>,
    /// So many blocks that come next are cut event by event, as those before them had to be.
    parted_blocks: usize,
}

/// Events that are looked at in one go: all of most blocks.
const STEP: usize = MAX_BLOCK_EVENTS;

/// What one go finds. There is never more than it looks at, so that the low bits of a count are all of it.
#[derive(Debug)]
struct BlockScan {
    events: [u32; STEP],
    customers: [u32; STEP],
    sub_ranges: [u32; STEP],
    /// How long each segment is, or how many rows are before it.
    lengths: [u32; STEP],
    /// The numbers of the shapes of customers that lie in one sub-range.
    numbers: [PatternId; STEP],
    /// Customers that do not lie in one sub-range.
    parted: [u32; STEP],
}

/// How much has been found, and what the next event continues.
#[derive(Clone, Copy, Debug)]
struct SegmentCursor {
    /// Segments that have been found.
    segments: usize,
    /// SegmentRows that have been counted.
    rows: u32,
    /// The customer that begins next.
    next_customer: u32,
    /// The sub-range of the event before.
    sub_range: u32,
}

impl BlockScan {
    /// Finds the customers of a block that lie in one sub-range, and those of which some events do; of those that pass. Tells how many of
    /// either there are.
    fn find_whole(
        &mut self,
        split: &EventColumns,
        block: &CustomerBlock,
        calendar: &DayTables,
        passes: impl Fn(u32) -> bool,
    ) -> (usize, usize) {
        let [first, ends @ ..] = split.customers.ends(&block.customers) else { return (0, 0) };
        #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
        let first_customer = block.customers.start as u32;
        let (mut first, mut found, mut parted) = (*first, 0, 0);
        let numbers = &split.histories.pattern_ids()[block.customers.clone()];
        for (customer, (end, number)) in (first_customer..).zip(ends.iter().zip(numbers)) {
            let first_day = split.days[first as usize];
            let (sub_range, last_inside) = calendar.sub_range(first_day);
            let is_whole = split.days[*end as usize - 1] <= last_inside;
            let passes = passes(customer);
            let at = found % STEP;
            self.events[at] = first;
            self.customers[at] = customer;
            self.sub_ranges[at] = sub_range;
            self.lengths[at] = *end - first;
            self.numbers[at] = *number;
            found += usize::from(is_whole & (sub_range != OUTSIDE) & passes);
            self.parted[parted % STEP] = customer;
            parted += usize::from(!is_whole & (first_day <= calendar.end()) & passes);
            first = *end;
        }
        (found, parted)
    }

    /// Finds the segments of events, of customers that pass.
    fn cut(
        &mut self,
        cursor: &mut SegmentCursor,
        split: &EventColumns,
        events: Range<usize>,
        calendar: &DayTables,
        passes: impl Fn(u32) -> bool,
    ) {
        #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
        let first_event = events.start as u32;
        let SegmentCursor { mut segments, mut rows, mut next_customer, sub_range: mut previous } = *cursor;
        let histories = &split.histories.events()[events.clone()];
        for (event, (history, day)) in (first_event..).zip(histories.iter().zip(&split.days[events])) {
            let (sub_range, _) = calendar.sub_range(*day);
            let is_first = history.is_first();
            next_customer += u32::from(is_first);
            let is_inside = (sub_range != OUTSIDE) & passes(next_customer - 1);
            let begins = is_inside & (is_first | (sub_range != previous));
            // What begins nothing is overwritten by what comes next.
            let at = segments % STEP;
            self.events[at] = event;
            self.customers[at] = next_customer - 1;
            self.sub_ranges[at] = sub_range;
            self.lengths[at] = rows;
            segments += usize::from(begins);
            rows += u32::from(is_inside);
            previous = sub_range;
        }
        // One by one: the next call reads them so.
        cursor.segments = segments;
        cursor.rows = rows;
        cursor.next_customer = next_customer;
        cursor.sub_range = previous;
    }

    /// Finds the segments of events that all lie in the range, lengths aside.
    fn cut_inside(
        &mut self,
        cursor: &mut SegmentCursor,
        split: &EventColumns,
        events: Range<usize>,
        calendar: &DayTables,
    ) {
        #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
        let first_event = events.start as u32;
        let SegmentCursor { mut segments, mut next_customer, sub_range: mut previous, .. } = *cursor;
        let histories = &split.histories.events()[events.clone()];
        for (event, (history, day)) in (first_event..).zip(histories.iter().zip(&split.days[events])) {
            let (sub_range, _) = calendar.sub_range(*day);
            let is_first = history.is_first();
            next_customer += u32::from(is_first);
            let at = segments % STEP;
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

/// Of so many customers of a block one may not lie in one sub-range; where more do not, all are cut event by event.
const PARTED: usize = 4;

/// Where one block has so many, so do the next ones: it is not tried with them.
const PARTED_BLOCKS: usize = 16;

impl SegmentBatch {
    pub(crate) fn new() -> Self {
        let none = [0; STEP];
        Self {
            segments: Segments::default(),
            starts: Vec::new(),
            parted_blocks: 0,
            found: Box::new(BlockScan {
                events: none,
                customers: none,
                sub_ranges: none,
                lengths: none,
                numbers: [PatternId::NONE; STEP],
                parted: none,
            }),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }

    /// Appends the segments of a block; if only some customers pass, by their numbers in the split, of those.
    pub(crate) fn push(
        &mut self,
        split: &EventColumns,
        block: &CustomerBlock,
        calendar: &DayTables,
        passing: Option<&[bool]>,
        kinds: &mut SegmentCache<'_>,
    ) {
        let (sub_range, last_inside) = calendar.sub_range(block.first_day);
        if passing.is_none() && sub_range != OUTSIDE && block.last_day <= last_inside {
            self.push_whole(split, block, sub_range, kinds);
        } else if self.parted_blocks > 0 {
            self.parted_blocks -= 1;
            self.push_events(split, block, calendar, passing, kinds);
        } else {
            self.push_customers(split, block, calendar, passing, kinds);
        }
    }

    /// Appends the segments of a block that lies in one sub-range.
    fn push_whole(
        &mut self,
        split: &EventColumns,
        block: &CustomerBlock,
        sub_range: u32,
        kinds: &mut SegmentCache<'_>,
    ) {
        let ends = split.customers.ends(&block.customers);
        self.segments.push_customers(split, block);
        let Segments { events, lengths, sub_ranges, .. } = &mut self.segments;
        lengths.extend(ends.windows(2).map(|ends| ends[1] - ends[0]));
        sub_ranges.resize(events.len(), sub_range);
        kinds.find_whole(split, &mut self.segments, &split.histories.pattern_ids()[block.customers.clone()]);
    }

    /// Appends the segments of a block. Most customers lie in one sub-range, as their first and last day tell.
    fn push_customers(
        &mut self,
        split: &EventColumns,
        block: &CustomerBlock,
        calendar: &DayTables,
        passing: Option<&[bool]>,
        kinds: &mut SegmentCache<'_>,
    ) {
        let places = &mut *self.found;
        let (found, parted) = match passing {
            None => places.find_whole(split, block, calendar, |_| true),
            Some(passing) => places.find_whole(split, block, calendar, |customer| passing[customer as usize]),
        };
        if parted * PARTED > block.customers.len() {
            self.parted_blocks = PARTED_BLOCKS;
            return self.push_events(split, block, calendar, passing, kinds);
        }
        self.segments.lengths.extend_from_slice(&places.lengths[..found]);
        let mut cursor = SegmentCursor { segments: found, rows: 0, next_customer: 0, sub_range: 0 };
        for at in 0..parted {
            cursor.next_customer = places.parted[at];
            let events = split.customers.events(cursor.next_customer as usize);
            places.cut(&mut cursor, split, events, calendar, |_| true);
        }
        self.starts.extend_from_slice(&places.lengths[found..cursor.segments]);
        self.take(cursor.segments);
        self.measure(cursor.rows);
        kinds.find_whole(split, &mut self.segments, &self.found.numbers[..found]);
        kinds.find(split, &mut self.segments);
    }

    /// Appends the segments of a block, event by event.
    fn push_events(
        &mut self,
        split: &EventColumns,
        block: &CustomerBlock,
        calendar: &DayTables,
        passing: Option<&[bool]>,
        kinds: &mut SegmentCache<'_>,
    ) {
        let mut events = split.customers.events_of(&block.customers);
        #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
        let next_customer = block.customers.start as u32;
        let mut cursor = SegmentCursor { segments: 0, rows: 0, next_customer, sub_range: 0 };
        // All events are rows.
        let is_inside =
            passing.is_none() && calendar.sub_range(block.first_day).0 != OUTSIDE && block.last_day <= calendar.end();
        #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
        let end = events.end as u32;
        while !events.is_empty() {
            let step = events.start..events.end.min(events.start + STEP);
            events.start = step.end;
            if is_inside {
                self.found.cut_inside(&mut cursor, split, step, calendar);
                self.starts.extend_from_slice(&self.found.events[..cursor.segments]);
            } else {
                match passing {
                    None => self.found.cut(&mut cursor, split, step, calendar, |_| true),
                    Some(passing) => {
                        self.found.cut(&mut cursor, split, step, calendar, |customer| passing[customer as usize]);
                    }
                }
                self.starts.extend_from_slice(&self.found.lengths[..cursor.segments]);
            }
            self.take(cursor.segments);
            cursor.segments = 0;
        }
        self.measure(if is_inside { end } else { cursor.rows });
        kinds.find(split, &mut self.segments);
    }

    /// Appends the first so many segments that were found, lengths and kinds aside.
    fn take(&mut self, found: usize) {
        self.segments.events.extend_from_slice(&self.found.events[..found]);
        self.segments.customers.extend_from_slice(&self.found.customers[..found]);
        self.segments.sub_ranges.extend_from_slice(&self.found.sub_ranges[..found]);
    }

    /// Appends the lengths of segments that were cut event by event; the last ends at `end`, counted as they are.
    fn measure(&mut self, end: u32) {
        self.starts.push(end);
        self.segments.lengths.extend(self.starts.windows(2).map(|ends| ends[1] - ends[0]));
        self.starts.clear();
    }
}

impl Segments {
    /// A segment for each customer of some blocks, of which only that and the first event are known.
    pub(crate) fn of_customers<'a>(split: &EventColumns, blocks: impl Iterator<Item = &'a CustomerBlock>) -> Self {
        let mut segments = Self::default();
        blocks.for_each(|block| segments.push_customers(split, block));
        segments
    }

    /// Appends the first event and the number of each customer of a block.
    fn push_customers(&mut self, split: &EventColumns, block: &CustomerBlock) {
        self.events.extend_from_slice(&split.customers.ends(&block.customers)[..block.customers.len()]);
        #[expect(clippy::cast_possible_truncation, reason = "a split has fewer than 2^32 rows")]
        self.customers.extend(block.customers.start as u32..block.customers.end as u32);
    }

    pub(crate) const fn len(&self) -> usize {
        self.events.len()
    }

    fn columns(&mut self) -> [&mut Vec<u32>; 5] {
        [&mut self.events, &mut self.lengths, &mut self.customers, &mut self.sub_ranges, &mut self.kinds]
    }

    /// Makes room for so many.
    pub(crate) fn reserve(&mut self, segments: usize) {
        self.columns().into_iter().for_each(|column| column.reserve(segments));
    }

    fn clear(&mut self) {
        self.columns().into_iter().for_each(Vec::clear);
    }

    /// Keeps those at some places.
    pub(crate) fn retain(&mut self, places: &[u32]) {
        retain(self.columns(), places);
    }

    /// The events of a segment.
    pub(crate) fn rows(&self, segment: usize) -> Range<usize> {
        let first = self.events[segment] as usize;
        first..first + self.lengths[segment] as usize
    }
}

impl SegmentRows {
    /// Takes the rows of segments. Where a segment begins, the steps from the row before are written down, and then all are added up: how
    /// many rows a segment has is as good as random.
    pub(crate) fn expand(&mut self, segments: &Segments) {
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

    /// Keeps those at some places.
    pub(crate) fn retain(&mut self, places: &[u32]) {
        retain([&mut self.events, &mut self.segments], places);
    }
}

/// Keeps what is at some places.
fn retain<const COLUMNS: usize>(columns: [&mut Vec<u32>; COLUMNS], places: &[u32]) {
    let mut kept = Vec::new();
    for column in columns {
        kept.clear();
        kept.extend(places.iter().map(|at| column[*at as usize]));
        std::mem::swap(column, &mut kept);
    }
}

/// Writes the places of those that pass to `places`, without branches that depend on it.
pub(crate) fn select(places: &mut Vec<u32>, passes: impl ExactSizeIterator<Item = bool>) {
    places.resize(passes.len(), 0);
    let mut found = 0;
    for (at, passes) in (0..).zip(passes) {
        places[found] = at;
        found += usize::from(passes);
    }
    places.truncate(found);
}
