//! The rows that a query aggregates: the events of a row group that pass its filter, with their computed fields.

use super::context::QueryContext;
use super::event_aggregator::BATCH_SEGMENTS;
use super::filter::EventFilter;
use super::key_encoder::KeyEncoder;
use super::segment::{LeadHistories, SegmentBatch, SegmentCache, SegmentSplitter};
use super::types::Granularity;
use crate::dictionary::Computed;
use crate::plan::{DimensionRef, Origin};
use crate::scan::{CustomerBlock, EventColumns, TextDictionary};
use crate::{Interrupt, Interruption};

/// The events of a row group that a query selects, column by column.
#[derive(Debug, Default)]
pub(crate) struct EventRows {
    /// The index of each event in the row group.
    pub(crate) events: Vec<u32>,
    /// The sub-range of each event.
    pub(crate) sub_ranges: Vec<u32>,
    /// The dimensions of the plan. A dimension of points in time is empty: its values are read from the column itself.
    pub(crate) dimensions: Vec<EncodedDimension>,
}

/// The values of a dimension.
#[derive(Debug, Default)]
pub(crate) struct EncodedDimension {
    /// The code of each event.
    pub(crate) codes: Vec<u32>,
    /// The texts by code.
    pub(crate) texts: TextDictionary,
}

impl EventRows {
    /// Splits, filters and encodes the events of a row group.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn new(
        context: &QueryContext<'_>,
        columns: &EventColumns,
        interrupt: &Interrupt,
    ) -> Result<Self, Interruption> {
        let mut rows = Self::default();
        let selected = context.selected(columns.customers.account_keys());
        let blocks = context.blocks(columns, &selected);
        let leads = LeadHistories::select(context.plan, columns, blocks.clone());
        let leads = leads.as_ref();
        let columns = leads.map_or(columns, LeadHistories::columns);
        let is_encoded = |dimension: &&DimensionRef| {
            dimension.mapping.is_some() || dimension.origin != Origin::Computed(Computed::DateTime)
        };
        let bind = |dimension| {
            let encoded = Some(dimension).filter(is_encoded);
            encoded.map(|dimension| KeyEncoder::bind(context, columns, dimension, interrupt)).transpose()
        };
        let mut encoders: Vec<_> = context.plan.dimensions.iter().map(bind).collect::<Result<_, _>>()?;
        rows.dimensions.resize_with(encoders.len(), EncodedDimension::default);
        let mut add = |batch: &SegmentBatch, cache: &SegmentCache| rows.add(batch, cache, &mut encoders);
        for_each_batch(context, columns, leads, blocks, interrupt, &mut add)?;
        for (dimension, encoder) in rows.dimensions.iter_mut().zip(encoders) {
            dimension.texts = encoder.map(KeyEncoder::into_texts).unwrap_or_default();
        }
        Ok(rows)
    }

    /// Adds the rows of a batch.
    fn add(
        &mut self,
        batch: &SegmentBatch,
        cache: &SegmentCache,
        encoders: &mut [Option<KeyEncoder<'_>>],
    ) -> Result<(), Interruption> {
        let units = batch.units(Granularity::Row, cache);
        let mut column = Vec::new();
        units.sub_ranges(&mut column);
        self.sub_ranges.append(&mut column);
        self.events.extend_from_slice(units.events);
        for (encoder, dimension) in encoders.iter_mut().zip(&mut self.dimensions) {
            if let Some(encoder) = encoder {
                encoder.encode(&units, &mut column)?;
                dimension.codes.append(&mut column);
            }
        }
        Ok(())
    }
}

/// Splits the events of a row group into segments, and hands the rows that pass the filter to `add`, batch by batch.
/// In a cohort, `columns` are those of `leads`.
///
/// # Errors
/// The interrupt ends the query, or `add` returns an error.
pub(super) fn for_each_batch<'b>(
    context: &QueryContext<'_>,
    columns: &EventColumns,
    leads: Option<&LeadHistories>,
    blocks: impl Iterator<Item = &'b CustomerBlock> + Clone,
    interrupt: &Interrupt,
    add: &mut impl FnMut(&SegmentBatch, &SegmentCache) -> Result<(), Interruption>,
) -> Result<(), Interruption> {
    let mut filter = EventFilter::bind(context, columns, interrupt)?;
    let mut cache = SegmentCache::new(context.increments);
    cache.begin_row_group(Granularity::Row);
    let passing = filter.passing_customers(blocks.clone(), &cache)?;
    let (mut splitter, mut batch) = (SegmentSplitter::new(), SegmentBatch::default());
    let mut add_batch = |batch: &mut SegmentBatch, cache: &SegmentCache| {
        filter.apply(batch, cache, true)?;
        add(batch, cache)?;
        batch.clear();
        Ok(())
    };
    for block in blocks {
        let patterns =
            splitter.split(columns, leads, block, &context.plan.days, passing.as_deref(), &mut batch.segments);
        cache.classify(columns, &mut batch.segments, patterns);
        if batch.segments.len() >= BATCH_SEGMENTS {
            interrupt.check()?;
            add_batch(&mut batch, &cache)?;
        }
    }
    add_batch(&mut batch, &cache)
}
