//! A fast path of counting: how often each distinct increment occurs per dense key of a row group.
//!
//! Most segments add one of few distinct increments to the counters. Where all that a query aggregates are counts and
//! revenues that follow from event flags and classes, adding 1 to one number replaces finding a group and adding to all
//! of its quads of counters. The histogram is added to the groups at the end of the row group.

use super::{Counting, GroupedState};
use crate::Interruption;
use crate::aggregate::accumulators::GroupState;
use crate::aggregate::context::QueryContext;
use crate::aggregate::facts::IncrementTable;
use crate::aggregate::group::Grouping;
use crate::aggregate::segment::{SegmentBatch, SegmentCache};
use crate::aggregate::types::{Granularity, select_indexes};
use crate::scan::EventFlags;
use hashbrown::HashTable;

/// Counts occurrences of distinct increments in the row groups where that is faster.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// `None` before the first row group, and if the query has no counts, or aggregates more than counts and revenues
    /// that follow from event flags and classes.
    increments: Option<DistinctIncrements>,
    /// The number of bits of a dense key; `None` if the current row group is not counted here.
    key_bits: Option<u32>,
    /// The number of occurrences, by distinct increment and dense key.
    times: Vec<u32>,
    /// The number of rows counted.
    rows: usize,
    /// The dense keys of units.
    dense_keys: Vec<u32>,
    /// If rows are grouped: for each segment, the dense key of its state row.
    state_dense_keys: Vec<u32>,
    /// The indexes of the segments that may have a revenue.
    with_revenue: Vec<u32>,
}

/// The largest number of bits of a dense key: with more, the histogram has more entries than there are segments to
/// count.
const MAX_KEY_BITS: u32 = 9;

/// The largest number of distinct increments.
const MAX_INCREMENTS: usize = 32;

/// The bit next to the number of a distinct increment that is set if the segments of the class may have a revenue that
/// the query needs.
const HAS_REVENUE: u8 = 1 << 7;

/// The distinct increments of rows and segments, numbered in the order in which they appear.
#[derive(Debug)]
struct DistinctIncrements {
    /// The increments by number.
    increments: IncrementTable,
    /// The numbers by increment.
    numbers: HashTable<u8>,
    /// The number of the increment of a row, by its flags, if rows are counted one by one.
    by_event: [u8; EventFlags::COUNT],
    /// The number of the increment of a segment, and [`HAS_REVENUE`], by its class.
    by_class: Vec<u8>,
    /// Whether the segments of any class may have a revenue.
    has_revenue: bool,
    /// Whether there are more than [`MAX_INCREMENTS`]. An increment beyond these has no number.
    is_full: bool,
}

impl Histogram {
    /// Begins a row group. `is_cache_cleared` says that the cache has dropped the classes of previous row groups;
    /// `key_bits` is `None` if units have no dense keys.
    pub(crate) fn begin_row_group(
        &mut self,
        context: &QueryContext<'_>,
        granularity: Granularity,
        is_cache_cleared: bool,
        key_bits: Option<u32>,
    ) {
        if is_cache_cleared {
            self.increments = DistinctIncrements::new(context, granularity);
        }
        let has_numbers = self.increments.as_ref().is_some_and(|all| !all.is_full);
        self.key_bits = key_bits.filter(|bits| has_numbers && *bits <= MAX_KEY_BITS);
        self.times.clear();
        self.rows = 0;
    }

    /// Returns the most groups that the histogram adds for the row group.
    pub(crate) fn max_groups(&self) -> usize {
        self.key_bits.map_or(0, |bits| 1 << bits)
    }

    /// Prepares for a batch of `rows` rows: finds the increments of the classes of segments that are new in the cache.
    /// Returns whether the batch is counted here. If there are too many distinct increments, adds the histogram to the
    /// groups instead.
    pub(crate) fn expect_batch(
        &mut self,
        rows: usize,
        cache: &SegmentCache,
        grouping: &mut Grouping<'_>,
        grouped: &mut GroupedState,
    ) -> bool {
        let Some(increments) = &mut self.increments else { return false };
        increments.update(cache);
        if increments.is_full {
            self.flush(grouping, grouped);
        } else if let Some(key_bits) = self.key_bits {
            self.rows += rows;
            self.times.resize(increments.numbers.len() << key_bits, 0);
        }
        self.key_bits.is_some()
    }

    /// Counts a batch. Only revenues are added to groups immediately.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn add_batch(
        &mut self,
        batch: &mut SegmentBatch,
        cache: &SegmentCache,
        counting: &Counting<'_>,
        grouping: &mut Grouping<'_>,
        grouped: &mut GroupedState,
    ) -> Result<(), Interruption> {
        let Self { increments, key_bits, times, dense_keys, state_dense_keys, with_revenue, .. } = self;
        let (Some(increments), Some(key_bits)) = (increments, *key_bits) else { return Ok(()) };
        grouping.dense_keys(&batch.units(counting.granularity, cache), dense_keys)?;
        // Slices, as the fields of a struct would be loaded again for each row.
        let (times, by_event, by_class) = (&mut **times, &increments.by_event, &*increments.by_class);
        let mut count = |dense_key: u32, number: u8| times[(u32::from(number) << key_bits | dense_key) as usize] += 1;
        if counting.granularity == Granularity::Row {
            let flags = counting.columns.histories.events();
            for (dense_key, event) in dense_keys.iter().zip(&batch.rows.events) {
                count(*dense_key, by_event[flags.get(*event as usize).index()]);
            }
            if !counting.context.plan.needs_states {
                return Ok(());
            }
            batch.state_row_values(cache, counting.are_rows_filtered, dense_keys, state_dense_keys);
            std::mem::swap(dense_keys, state_dense_keys);
        }
        let counted = dense_keys.iter().zip(&batch.segments.classes).map(|(dense_key, class)| {
            let number = by_class[class.index()];
            count(*dense_key, number & !HAS_REVENUE);
            number & HAS_REVENUE != 0
        });
        if increments.has_revenue {
            select_indexes(with_revenue, counted);
        } else {
            with_revenue.clear();
            counted.for_each(drop);
        }
        let Some(amounts) = &counting.bound.money else { return Ok(()) };
        for segment in with_revenue.iter().map(|segment| *segment as usize) {
            let slot = grouped.slot_of_dense_key(dense_keys[segment], grouping);
            amounts.add_revenue(&batch.segments, segment, cache, slot, &mut grouped.state.money);
        }
        Ok(())
    }

    /// Adds the histogram to the groups, and ends its use for the row group. A unit that adds nothing makes a group
    /// too.
    pub(crate) fn flush(&mut self, grouping: &mut Grouping<'_>, grouped: &mut GroupedState) {
        let (Some(increments), Some(key_bits)) = (&self.increments, self.key_bits.take()) else { return };
        grouped.state.counts.expect_rows(self.rows);
        for (number, times) in self.times.chunks_exact(1 << key_bits).enumerate() {
            for (dense_key, times) in (0..).zip(times).filter(|(_, times)| **times > 0) {
                let slot = grouped.slot_of_dense_key(dense_key, grouping);
                for (quad, by_number) in increments.increments.quads.iter().enumerate() {
                    grouped.state.counts.add_increment(
                        slot,
                        quad,
                        &by_number[number].map(|increment| increment * times),
                    );
                }
            }
        }
    }
}

impl DistinctIncrements {
    /// Returns `None` if the query has no counts, or if it aggregates more than counts and revenues that follow from
    /// event flags and classes.
    fn new(context: &QueryContext<'_>, granularity: Granularity) -> Option<Self> {
        let layout = &context.plan.layout;
        if layout.counts().is_empty() || !GroupState::is_of_classes(layout, granularity) {
            return None;
        }
        let mut increments = Self {
            increments: IncrementTable::with_capacity(layout, MAX_INCREMENTS),
            numbers: HashTable::new(),
            by_event: [0; EventFlags::COUNT],
            by_class: Vec::new(),
            has_revenue: false,
            is_full: false,
        };
        if granularity == Granularity::Row {
            for event in 0..EventFlags::COUNT {
                increments.by_event[event] = increments.number(&context.increments.of_rows, event);
            }
        }
        Some(increments)
    }

    /// Finds the increments of the classes that are new in the cache.
    fn update(&mut self, cache: &SegmentCache) {
        for (class, has_revenue) in cache.has_revenue().iter().enumerate().skip(self.by_class.len()) {
            let number = self.number(cache.increments(), class);
            self.by_class.push(number | if *has_revenue { HAS_REVENUE } else { 0 });
            self.has_revenue |= has_revenue;
        }
    }

    /// Returns the number of the increment of a kind in a table. The result is meaningless if the increment would be
    /// one too many: then `is_full` is set.
    fn number(&mut self, table: &IncrementTable, kind: usize) -> u8 {
        let Self { increments, numbers, is_full, .. } = self;
        let is_same = |number: &u8| {
            increments.quads.iter().zip(&table.quads).all(|(known, quad)| known[usize::from(*number)] == quad[kind])
        };
        let hash = hash(table, kind);
        if let Some(number) = numbers.find(hash, is_same) {
            return *number;
        }
        *is_full |= numbers.len() == MAX_INCREMENTS;
        let Some(number) = u8::try_from(numbers.len()).ok().filter(|_| !*is_full) else { return 0 };
        increments.quads.iter_mut().zip(&table.quads).for_each(|(known, quad)| known.push(quad[kind]));
        numbers.insert_unique(hash, number, |number| self::hash(increments, usize::from(*number)));
        number
    }
}

/// Returns a hash of an increment. It uses all 64 bits, because the hash table uses the highest ones too.
fn hash(table: &IncrementTable, kind: usize) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let counts = table.quads.iter().flat_map(|quad| quad[kind]);
    counts.fold(0, |hash: u64, count| (hash.rotate_left(5) ^ u64::from(count)).wrapping_mul(FACTOR))
}
