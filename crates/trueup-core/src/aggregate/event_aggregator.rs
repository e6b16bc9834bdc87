//! Aggregates the events of row groups: leads each batch of segments through the four steps.

use super::context::QueryContext;
use super::count::{Counting, GroupedState, LastSegments};
use super::filter::EventFilter;
use super::group::Grouping;
use super::memo::{AggregationMemo, SegmentMemo};
use super::partial_result::PartialResult;
use super::segment::{LeadHistories, SegmentBatch, SegmentSplitter, Segments};
use super::types::Granularity;
use crate::memory::MemoryLease;
use crate::scan::{EventColumns, MAX_BLOCK_EVENTS, Prefetch};
use crate::{Error, Interrupt, Interruption};

/// A batch is filtered and encoded when it has at least this number of segments. A batch holds whole blocks, so it may
/// have more segments; the last batch of a row group may have fewer.
pub(super) const BATCH_SEGMENTS: usize = 2_048;

/// The number of blocks by which the prefetch is ahead.
const PREFETCH_BLOCKS: usize = 4;

/// Aggregates the events of row groups, one after the other, into a partial result.
#[derive(Debug)]
pub(crate) struct EventAggregator<'a> {
    context: &'a QueryContext<'a>,
    pub(crate) partial: PartialResult,
    splitter: SegmentSplitter,
    /// Where the memo of this thread is taken from, and given back to.
    shared_memo: &'a AggregationMemo,
    memo: SegmentMemo,
    batch: SegmentBatch,
    last_segments: LastSegments,
}

/// The steps after the first one, bound to the columns of a row group.
struct BoundQuery<'a> {
    filter: EventFilter<'a>,
    grouping: Grouping<'a>,
    counting: Counting<'a>,
    /// The units that are grouped: rows or segments.
    granularity: Granularity,
}

impl<'a> BoundQuery<'a> {
    /// Binds the query to the columns of a row group; `customers` is the number of customers that the query reads.
    ///
    /// # Errors
    /// The interrupt ends the query.
    fn new(
        context: &'a QueryContext<'a>,
        columns: &'a EventColumns,
        customers: usize,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let filter = EventFilter::bind(context, columns, interrupt)?;
        let grouping = Grouping::bind(context, columns, customers, interrupt)?;
        let granularity = grouping.granularity().min(filter.granularity());
        let are_rows_filtered = filter.granularity() == Granularity::Row;
        let counting = Counting::bind(context, columns, granularity, are_rows_filtered);
        Ok(Self { filter, grouping, counting, granularity })
    }
}

impl<'a> EventAggregator<'a> {
    /// Prepares the aggregation in one thread; `memo` must be one of the query's plan.
    pub(crate) fn new(context: &'a QueryContext<'a>, memo: &'a AggregationMemo) -> Self {
        Self {
            context,
            partial: PartialResult::new(&context.shape),
            splitter: SegmentSplitter::new(),
            shared_memo: memo,
            memo: memo.take(),
            batch: SegmentBatch {
                segments: Segments::with_capacity(BATCH_SEGMENTS + MAX_BLOCK_EVENTS),
                ..SegmentBatch::default()
            },
            last_segments: LastSegments::default(),
        }
    }

    /// Returns what has been aggregated, and leaves the classes of segments to other splits of the query.
    pub(crate) fn into_partial(self) -> PartialResult {
        self.shared_memo.give_back(self.memo);
        self.partial
    }

    /// Returns the number of bytes held. The buffers of a batch and the classes of segments are not included, because
    /// they do not grow with groups.
    pub(crate) fn bytes(&self) -> usize {
        self.partial.bytes() + self.last_segments.bytes()
    }

    /// Adds the events of a row group. The memory of what is aggregated is counted in `share` before it is taken.
    ///
    /// # Errors
    /// There is no room, or the interrupt ends the query.
    pub(crate) fn add(
        &mut self,
        columns: &EventColumns,
        share: &mut MemoryLease,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        let plan = self.context.plan;
        let selected = self.context.selected(columns.customers.account_keys());
        let blocks = self.context.blocks(columns, &selected);
        let customers = blocks.clone().map(|block| block.customers.len()).sum();
        if customers == 0 {
            return Ok(());
        }
        let leads = LeadHistories::select(plan, columns, blocks.clone());
        let leads = leads.as_ref();
        let columns = leads.map_or(columns, LeadHistories::columns);
        let mut query = BoundQuery::new(self.context, columns, customers, interrupt)?;
        let dense_key_bits = query.grouping.dense_key_bits();
        let SegmentMemo { cache, histogram } = &mut self.memo;
        let passing = query.filter.passing_customers(blocks.clone(), cache)?;
        let is_cleared = cache.begin_row_group(query.granularity);
        histogram.begin_row_group(self.context, query.granularity, is_cleared, dense_key_bits);
        let histogram_groups = histogram.max_groups();
        share.raise(|| self.bytes_while_adding(histogram_groups, &query))?;
        let reads_events = query.counting.reads_events() || plan.sub_ranges.len() > 1;
        let prefetch = Prefetch::new(columns, &plan.projection, reads_events);
        let mut ahead = blocks.clone();
        ahead.by_ref().take(PREFETCH_BLOCKS).for_each(|block| prefetch.fetch(&block.customers));
        for block in blocks {
            ahead.by_ref().take(1).for_each(|block| prefetch.fetch(&block.customers));
            let segments = &mut self.batch.segments;
            let whole_patterns = self.splitter.split(columns, leads, block, &plan.days, passing.as_deref(), segments);
            self.memo.cache.classify(columns, segments, whole_patterns);
            if segments.len() >= BATCH_SEGMENTS {
                interrupt.check()?;
                self.add_batch(&mut query, share)?;
            }
        }
        self.add_batch(&mut query, share)?;
        self.memo.histogram.flush(&mut query.grouping, &mut self.partial.grouped);
        Ok(())
    }

    /// Returns the number of bytes that may be held while `units` more units are added, each of which may be in a new
    /// group.
    fn bytes_while_adding(&self, units: usize, query: &BoundQuery<'_>) -> usize {
        let GroupedState { groups, state } = &self.partial.grouped;
        let new_groups = query.grouping.max_groups(units);
        query.grouping.bytes_while_adding(units, groups)
            + query.counting.bytes_while_adding(units, new_groups, state)
            + self.last_segments.bytes_while_adding(new_groups)
            + self.partial.spend_bytes()
    }

    /// Adds the segments of the batch, and clears it.
    fn add_batch(&mut self, query: &mut BoundQuery<'_>, share: &mut MemoryLease) -> Result<(), Error> {
        let Self { partial, memo: SegmentMemo { cache, histogram }, batch, .. } = self;
        let BoundQuery { filter, grouping, counting, granularity } = query;
        let segments = batch.segments.len();
        if segments == 0 {
            return Ok(());
        }
        filter.apply(batch, cache, *granularity == Granularity::Row)?;
        let rows = match granularity {
            Granularity::Row => batch.rows.events.len(),
            _ => batch.segments.lengths.iter().map(|length| *length as usize).sum(),
        };
        partial.rows += rows as u64;
        // The groups of the histogram are counted at the beginning of the row group.
        if histogram.expect_batch(rows, cache, grouping, &mut partial.grouped) {
            histogram.add_batch(batch, cache, counting, grouping, &mut partial.grouped)?;
        } else {
            share.raise(|| self.bytes_while_adding(rows, query))?;
            let Self { partial, memo: SegmentMemo { cache, .. }, batch, last_segments, .. } = self;
            let BoundQuery { grouping, counting, .. } = query;
            counting.add_batch(rows, batch, cache, grouping, &mut partial.grouped, last_segments)?;
        }
        self.last_segments.end_batch(segments);
        self.batch.clear();
        Ok(())
    }
}
