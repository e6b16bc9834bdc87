//! Step 2: the filter on events. It drops rows, segments or customers, whichever are the largest units that pass or
//! fail as a whole.

use super::context::QueryContext;
use super::key_encoder::KeyEncoder;
use super::segment::{GroupingUnits, SegmentBatch, SegmentCache, Segments};
use super::types::{Granularity, select_indexes};
use crate::TextList;
use crate::filter::TextPredicate;
use crate::plan::{AmountRange, Condition, FieldPredicate, Ternary};
use crate::scan::{CustomerBlock, EventColumns};

/// A query's filter on events, bound to the columns of a row group.
#[derive(Debug)]
pub(crate) struct EventFilter<'a> {
    columns: &'a EventColumns,
    /// `None` if the query has no filter on events.
    condition: Option<Condition<BoundPredicate<'a>>>,
    granularity: Granularity,
    /// The codes of the dimension that is tested.
    codes: Vec<u32>,
    /// The indexes of the units that pass.
    passing: Vec<u32>,
}

/// A predicate, bound to the columns of a row group.
#[derive(Debug)]
enum BoundPredicate<'a> {
    Dimension(KeyEncoder<'a>, CodePredicate<'a>),
    Total(&'a AmountRange),
}

/// A predicate on the texts of codes, evaluated once per code.
#[derive(Debug)]
pub(crate) struct CodePredicate<'a> {
    predicate: &'a Condition<TextPredicate>,
    /// The results of the codes seen so far.
    results: Vec<Ternary>,
}

impl<'a> EventFilter<'a> {
    pub(crate) fn bind(context: &'a QueryContext<'a>, columns: &'a EventColumns) -> Self {
        let mut bind = |predicate: &'a FieldPredicate| match predicate {
            FieldPredicate::Dimension(dimension, predicate) => {
                BoundPredicate::Dimension(KeyEncoder::bind(context, columns, dimension), CodePredicate::new(predicate))
            }
            FieldPredicate::Total(range) => BoundPredicate::Total(range),
        };
        let condition = context.plan.event_filter.as_ref().map(|condition| condition.map(&mut bind));
        let predicates = condition.iter().flat_map(Condition::leaves);
        let granularity = predicates.map(BoundPredicate::granularity).min().unwrap_or(Granularity::Customer);
        Self { columns, condition, granularity, codes: Vec::new(), passing: Vec::new() }
    }

    /// Returns the largest units that pass or fail as a whole.
    pub(crate) const fn granularity(&self) -> Granularity {
        self.granularity
    }

    /// Returns for each customer of the row group whether it is in one of the blocks and passes. Returns `None` if
    /// every customer passes, or if customers do not pass or fail as a whole.
    pub(crate) fn passing_customers<'b>(
        &mut self,
        blocks: impl Iterator<Item = &'b CustomerBlock>,
        cache: &SegmentCache,
    ) -> Option<Vec<bool>> {
        if self.condition.is_none() || self.granularity != Granularity::Customer {
            return None;
        }
        let customers = Segments::of_customers(self.columns, blocks);
        let results = self.evaluate(&GroupingUnits::of_segments(&customers, cache))?;
        let mut passing = vec![false; self.columns.customers.len()];
        for (customer, result) in customers.customers.iter().zip(results) {
            passing[*customer as usize] = result == Ternary::True;
        }
        Some(passing)
    }

    /// Drops the segments of a batch that do not pass or, if rows are filtered one by one, the rows. `needs_rows` says
    /// whether the rows of the batch are needed; it must be set if rows are filtered.
    pub(crate) fn apply(&mut self, batch: &mut SegmentBatch, cache: &SegmentCache, needs_rows: bool) {
        if self.granularity == Granularity::Segment && self.select(batch, cache) {
            batch.segments.retain(&self.passing);
        }
        if needs_rows {
            batch.expand_rows();
        }
        if self.granularity == Granularity::Row && self.select(batch, cache) {
            batch.rows.retain(&self.passing);
        }
    }

    /// Selects the units that pass. Returns false if there is no filter.
    fn select(&mut self, batch: &SegmentBatch, cache: &SegmentCache) -> bool {
        let Some(results) = self.evaluate(&batch.units(self.granularity, cache)) else { return false };
        select_indexes(&mut self.passing, results.iter().map(|result| *result == Ternary::True));
        true
    }

    /// Returns whether each unit passes; `None` if there is no filter.
    fn evaluate(&mut self, units: &GroupingUnits<'_>) -> Option<Vec<Ternary>> {
        let Self { columns, condition, codes, .. } = self;
        let mut test = |predicate: &mut BoundPredicate<'_>, results: &mut Vec<Ternary>| match predicate {
            BoundPredicate::Dimension(encoder, predicate) => {
                encoder.encode(units, codes);
                predicate.test(codes, encoder.texts(), results);
            }
            BoundPredicate::Total(range) => {
                range.test(columns.totals.as_deref(), units.events, Ternary::from, results);
            }
        };
        Some(condition.as_mut()?.evaluate(units.len(), &mut test))
    }
}

impl BoundPredicate<'_> {
    /// Returns the largest units whose rows all have the same result.
    fn granularity(&self) -> Granularity {
        match self {
            Self::Dimension(encoder, _) => encoder.granularity(),
            Self::Total(_) => Granularity::Row,
        }
    }
}

impl<'a> CodePredicate<'a> {
    pub(crate) const fn new(predicate: &'a Condition<TextPredicate>) -> Self {
        Self { predicate, results: Vec::new() }
    }

    /// Appends the result of each code.
    pub(crate) fn test(&mut self, codes: &[u32], texts: &TextList, results: &mut Vec<Ternary>) {
        let known = self.results.len();
        self.results.extend((known..texts.len()).map(|code| Ternary::from(self.predicate.passes(&texts[code]))));
        results.extend(codes.iter().map(|code| self.results[*code as usize]));
    }
}
