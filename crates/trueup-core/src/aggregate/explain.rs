//! What each event adds to the measures of one group, for itself or for its customer.
//!
//! The filter of the plan selects the events of the group, so that steps 1 and 2 of [`aggregate`](super) find its rows.
//! What a row adds is what the [accumulators](super::accumulators) say that add it in step 4.

use super::accumulators::{BoundState, ExplainedRow};
use super::context::QueryContext;
use super::event_rows::for_each_batch;
use super::segment::{LeadHistories, SegmentBatch, SegmentCache};
use crate::dictionary::Measure;
use crate::scan::EventColumns;
use crate::{Interrupt, Interruption};

/// What an event adds to a measure, for itself or for its customer. An event stands for its customer if it is the state
/// event or, for [`Measure::Opportunities`], the customer's first event in the group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contribution {
    /// The index of the event in the row group.
    pub(crate) event: u32,
    /// The index of the customer in the row group.
    pub(crate) customer: u32,
    /// The index of the customer's first event in the sub-range.
    pub(crate) first: u32,
    /// The number of events of the customer in the sub-range.
    pub(crate) length: u32,
    /// What is added: a number, or money in millionths.
    pub(crate) adds: i128,
}

/// The contributions of the events of a row group.
#[derive(Debug)]
pub(crate) struct Contributions {
    /// The number of events that pass the filter.
    pub(crate) rows: u64,
    /// The contributions to each measure in the order of the rows. Each state event with an agent contributes to
    /// [`Measure::OpportunityAgents`], which counts one of the events of each agent.
    pub(crate) by_measure: Vec<Vec<Contribution>>,
}

impl Contributions {
    /// Returns what the events of a row group contribute to `measures`, none of which is one of spend. They must be
    /// among the measures that the plan aggregates, so that their columns are read.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn new(
        context: &QueryContext<'_>,
        columns: &EventColumns,
        measures: &[Measure],
        interrupt: &Interrupt,
    ) -> Result<Self, Interruption> {
        let selected = context.selected(columns.customers.account_keys());
        let blocks = context.blocks(columns, &selected);
        let leads = LeadHistories::select(context.plan, columns, blocks.clone());
        let leads = leads.as_ref();
        let columns = leads.map_or(columns, LeadHistories::columns);
        let bound = BoundState::bind(context, columns);
        let mut found = Self { rows: 0, by_measure: vec![Vec::new(); measures.len()] };
        let mut add = |batch: &SegmentBatch, cache: &SegmentCache| {
            found.add(&bound, measures, batch, cache);
            Ok(())
        };
        for_each_batch(context, columns, leads, blocks, interrupt, &mut add)?;
        Ok(found)
    }

    /// Adds the contributions of the rows of a batch.
    fn add(&mut self, bound: &BoundState<'_>, measures: &[Measure], batch: &SegmentBatch, cache: &SegmentCache) {
        let SegmentBatch { segments, rows } = batch;
        self.rows += rows.events.len() as u64;
        let mut last_segment = None;
        for (event, segment) in rows.events.iter().zip(&rows.segments) {
            let at = *segment as usize;
            let (customer, first, length) = (segments.customers[at], segments.events[at], segments.lengths[at]);
            let outcome = cache.outcome(segments.classes[at]);
            let row = ExplainedRow {
                event: *event as usize,
                customer: customer as usize,
                first: first as usize,
                state: (*event == first + outcome.state_row).then_some(outcome),
                // There is one sub-range, so that a customer has one segment.
                is_first_of_customer: last_segment.replace(*segment) != Some(*segment),
            };
            for (measure, into) in measures.iter().zip(&mut self.by_measure) {
                if let Some(adds) = bound.explain(&row, *measure) {
                    into.push(Contribution { event: *event, customer, first, length, adds });
                }
            }
        }
    }
}
