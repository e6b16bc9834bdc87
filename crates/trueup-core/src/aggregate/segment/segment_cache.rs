//! A memo table of segments: the outcome and the increments of each class of segments, derived once.

use super::{SegmentClass, SegmentOutcome, Segments};
use crate::aggregate::facts::{IncrementTable, Increments, state_fact};
use crate::aggregate::types::{Granularity, add_quad};
use crate::dictionary::Measure;
use crate::scan::{EventColumns, FlagsSlice, PackedFlags, PatternId, StagePattern, stage};
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The classes of segments that one thread of a query has seen.
///
/// The class of a history that has a stage pattern is found in an array; that of a part of such a history in a second
/// array, by its position. Other histories are longer or rare. The classes of their segments are found by the events of
/// the segment and by whether a cancellation after the segment follows a booking in it, because these decide the
/// outcome.
#[derive(Debug)]
pub(crate) struct SegmentCache {
    /// What the rows of the query add.
    of_query: Arc<Increments>,
    /// The units that are grouped; `None` before the first row group. If segments are grouped, they count with all of
    /// their rows; if rows are grouped, segments count for their state rows alone.
    granularity: Option<Granularity>,
    /// What a segment adds to the counters, by class.
    increments: IncrementTable,
    /// The outcomes by class.
    outcomes: Vec<SegmentOutcome>,
    /// By class, whether its segments may have a revenue that the query needs.
    has_revenue: Vec<bool>,
    patterns: HashMap<StagePattern, PatternEntry>,
    /// The entries of the patterns of the current row group. A pattern that has not been seen in it has none.
    by_pattern_id: Box<[PatternEntry; PatternId::COUNT]>,
    /// By [range](PatternEntry::range_index), the class of a part of a history that has a pattern. `NONE` means not
    /// seen yet.
    by_range: Vec<SegmentClass>,
    /// The classes of segments whose history has no pattern, by their flags: first those without a canceled booking,
    /// which is a booking in the segment with a cancellation after the segment; then those with one.
    packed: [HashMap<PackedFlags, SegmentClass>; 2],
    /// The same for segments with more events than [`PackedFlags`] can hold.
    long: [HashMap<Box<[u8]>, SegmentClass>; 2],
}

/// Where the classes of a history with a pattern are found.
#[derive(Clone, Copy, Debug)]
struct PatternEntry {
    /// The class of the whole history.
    whole: SegmentClass,
    /// The index in [`SegmentCache::by_range`] of the first part of the history; beyond its end if no part has been
    /// seen yet.
    first_range: u32,
}

/// The number of classes above which the cache is cleared before the next row group.
const MAX_SEGMENT_CLASSES: usize = 1 << 14;

/// The number of classes for which there is room at once: about as many as a row group has in a query of one sub-range.
const EXPECTED_CLASSES: usize = 1 << 8;

impl PatternEntry {
    /// The entry of a history without a pattern, or of one that has not been seen yet.
    const NONE: Self = Self { whole: SegmentClass::NONE, first_range: u32::MAX };

    /// The number of entries for the parts of one history: one for each number of events before a part and each length.
    const RANGES: usize = StagePattern::MAX_EVENTS * StagePattern::MAX_EVENTS;

    /// Returns the index in [`SegmentCache::by_range`] of the part with `rows` events after the first `before` ones.
    #[inline]
    fn range_index(self, before: u32, rows: u32) -> usize {
        self.first_range as usize + before as usize * StagePattern::MAX_EVENTS + rows as usize - 1
    }
}

impl SegmentCache {
    pub(crate) fn new(increments: &Arc<Increments>) -> Self {
        Self {
            of_query: increments.clone(),
            granularity: None,
            increments: IncrementTable::with_capacity(&increments.layout, EXPECTED_CLASSES),
            outcomes: Vec::with_capacity(EXPECTED_CLASSES),
            has_revenue: Vec::with_capacity(EXPECTED_CLASSES),
            patterns: HashMap::with_capacity(EXPECTED_CLASSES / 2),
            by_pattern_id: Box::new([PatternEntry::NONE; PatternId::COUNT]),
            by_range: Vec::new(),
            packed: std::array::from_fn(|_| HashMap::with_capacity(EXPECTED_CLASSES / 2)),
            long: [HashMap::new(), HashMap::new()],
        }
    }

    /// Begins a row group, in which units of `granularity` are grouped. Returns whether the classes of previous row
    /// groups are dropped.
    pub(crate) fn begin_row_group(&mut self, granularity: Granularity) -> bool {
        let is_cleared = self.granularity != Some(granularity) || self.outcomes.len() > MAX_SEGMENT_CLASSES;
        if is_cleared {
            if self.granularity.is_some() {
                *self = Self::new(&self.of_query);
            }
            self.granularity = Some(granularity);
            // The entry of `SegmentClass::NONE`.
            self.push_class(SegmentOutcome::default(), FlagsSlice::default());
        }
        self.by_pattern_id.fill(PatternEntry::NONE);
        is_cleared
    }

    /// Appends the classes of the segments that have none yet. If these segments are whole histories, `whole_patterns`
    /// are their patterns.
    pub(crate) fn classify(
        &mut self,
        columns: &EventColumns,
        segments: &mut Segments,
        whole_patterns: Option<&[PatternId]>,
    ) {
        match whole_patterns {
            Some(patterns) => self.classify_whole(columns, segments, patterns),
            None => self.classify_parts(columns, segments),
        }
    }

    /// Appends the classes of the next segments, which are whole histories with these patterns.
    fn classify_whole(&mut self, columns: &EventColumns, segments: &mut Segments, patterns: &[PatternId]) {
        let first = segments.classes.len();
        segments.classes.extend(patterns.iter().map(|pattern| self.by_pattern_id[pattern.index()].whole));
        for segment in first..segments.classes.len() {
            if segments.classes[segment] == SegmentClass::NONE {
                let customer = segments.customers[segment] as usize;
                segments.classes[segment] = self.class_of_new_history(columns, customer, segments.lengths[segment]);
            }
        }
    }

    /// Appends the classes of the next segments, which may be parts of histories.
    fn classify_parts(&mut self, columns: &EventColumns, segments: &mut Segments) {
        let Segments { events, lengths, customers, classes, .. } = segments;
        let (patterns, offsets) = (columns.histories.pattern_ids(), columns.customers.offsets());
        let new = classes.len()..events.len();
        let new = customers[new.clone()].iter().zip(&events[new.clone()]).zip(&lengths[new]);
        classes.extend(new.map(|((customer, first), rows)| {
            let customer = *customer as usize;
            let (pattern, before) = (patterns[customer], first - offsets[customer]);
            match self.by_range.get(self.by_pattern_id[pattern.index()].range_index(before, *rows)) {
                Some(class) if *class != SegmentClass::NONE => *class,
                _ => self.class_of_new_part(columns, customer, before, *rows),
            }
        }));
    }

    /// Returns the class of a whole history that has not been seen in the row group yet.
    #[cold]
    fn class_of_new_history(&mut self, columns: &EventColumns, customer: usize, rows: u32) -> SegmentClass {
        match columns.histories.pattern_ids()[customer] {
            PatternId::NONE => self.class_without_pattern(columns, customer, 0, rows),
            pattern => self.entry(columns, pattern, customer).whole,
        }
    }

    /// Returns the class of a part of a history that has not been seen in the row group yet.
    #[cold]
    fn class_of_new_part(&mut self, columns: &EventColumns, customer: usize, before: u32, rows: u32) -> SegmentClass {
        let pattern = columns.histories.pattern_ids()[customer];
        if pattern == PatternId::NONE {
            return self.class_without_pattern(columns, customer, before, rows);
        }
        let mut entry = self.entry(columns, pattern, customer);
        if entry.first_range == PatternEntry::NONE.first_range {
            // There are fewer than 2^16 patterns.
            entry.first_range = u32::try_from(self.by_range.len()).unwrap_or(PatternEntry::NONE.first_range);
            self.by_range.resize(self.by_range.len() + PatternEntry::RANGES, SegmentClass::NONE);
            self.by_pattern_id[pattern.index()] = entry;
            self.patterns.insert(columns.histories.pattern(pattern), entry);
        }
        let at = entry.range_index(before, rows);
        if self.by_range[at] == SegmentClass::NONE {
            let (history, events) = (columns.history(customer), before as usize..(before + rows) as usize);
            self.by_range[at] =
                if rows as usize == history.len() { entry.whole } else { self.push_segment(history, events) };
        }
        self.by_range[at]
    }

    /// Returns the entry of a pattern, given a customer whose history has it.
    fn entry(&mut self, columns: &EventColumns, id: PatternId, customer: usize) -> PatternEntry {
        let pattern = columns.histories.pattern(id);
        let entry = match self.patterns.get(&pattern) {
            Some(entry) => *entry,
            None => {
                // The events of a cut history after its pattern do not count.
                let whole = self.push_segment(columns.history(customer), 0..pattern.len());
                let entry = PatternEntry { whole, ..PatternEntry::NONE };
                self.patterns.insert(pattern, entry);
                entry
            }
        };
        self.by_pattern_id[id.index()] = entry;
        entry
    }

    /// Returns the class of a segment whose history has no pattern.
    fn class_without_pattern(
        &mut self,
        columns: &EventColumns,
        customer: usize,
        before: u32,
        rows: u32,
    ) -> SegmentClass {
        let history = columns.history(customer);
        let range = before as usize..(before + rows) as usize;
        let (events, rest) = (history.slice(range.clone()), history.slice(range.end..history.len()));
        let has_canceled_booking = events.has_stage(stage::BOOKED) && rest.has_stage(stage::CANCELED);
        let known = usize::from(has_canceled_booking);
        let first = columns.customers.events(customer).start + range.start;
        let packed = columns.histories.packed(first..first + events.len());
        let class = match packed {
            Some(packed) => self.packed[known].get(&packed),
            None => self.long[known].get(events.as_bytes()),
        };
        if let Some(class) = class {
            return *class;
        }
        let class = self.push_segment(history, range);
        match packed {
            Some(packed) => self.packed[known].insert(packed, class),
            None => self.long[known].insert(events.as_bytes().into(), class),
        };
        class
    }

    /// Appends the class of a segment that has some events of a history.
    fn push_segment(&mut self, history: FlagsSlice<'_>, events: Range<usize>) -> SegmentClass {
        self.push_class(SegmentOutcome::new(history, events.clone()), history.slice(events))
    }

    /// Appends the class of segments with an outcome and events.
    fn push_class(&mut self, outcome: SegmentOutcome, events: FlagsSlice<'_>) -> SegmentClass {
        let Self { of_query, granularity, increments, outcomes, has_revenue, .. } = self;
        let (events, facts) = match granularity {
            // The segment as a whole is in one group, so its customer counts there once.
            Some(Granularity::Segment) => (events, outcome.facts | state_fact(Measure::Opportunities, true)),
            _ => (FlagsSlice::default(), outcome.facts),
        };
        for (quad, by_class) in increments.quads.iter_mut().enumerate() {
            let mut sum = of_query.of_states.quads[quad][usize::from(facts)];
            let of_rows = &of_query.of_rows.quads[quad];
            events.iter().for_each(|event| add_quad(&mut sum, &of_rows[event.index()]));
            by_class.push(sum);
        }
        outcomes.push(outcome);
        has_revenue.push(of_query.layout.revenues[usize::from(outcome.state)].is_some());
        // A row group adds at most one class per event.
        SegmentClass(u32::try_from(outcomes.len() - 1).unwrap_or(u32::MAX))
    }

    /// Returns for each class whether its segments may have a revenue that the query needs.
    pub(crate) fn has_revenue(&self) -> &[bool] {
        &self.has_revenue
    }

    /// Returns what a segment adds to the counters, by class.
    pub(crate) const fn increments(&self) -> &IncrementTable {
        &self.increments
    }

    /// Returns the outcomes by class.
    pub(crate) fn outcomes(&self) -> &[SegmentOutcome] {
        &self.outcomes
    }

    /// Returns the outcome of a class.
    #[inline]
    pub(crate) fn outcome(&self, class: SegmentClass) -> &SegmentOutcome {
        &self.outcomes[class.index()]
    }
}
