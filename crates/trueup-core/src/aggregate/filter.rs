//! Step 2: the filter on events. It drops rows, segments or customers, whichever are the largest units that pass or
//! fail as a whole.

use super::context::QueryContext;
use super::key_encoder::KeyEncoder;
use super::segment::{GroupingUnits, SegmentBatch, SegmentCache, Segments};
use super::types::{Granularity, select_indexes};
use crate::filter::TextPredicate;
use crate::interrupt::InterruptChecks;
use crate::plan::{AmountRange, Condition, FieldPredicate, Ternary};
use crate::scan::{CustomerBlock, EventColumns};
use crate::{Interrupt, Interruption, StringList};

/// A query's filter on events, bound to the columns of a row group.
#[derive(Debug)]
pub(crate) struct EventFilter<'a> {
    columns: &'a EventColumns,
    /// `None` if the query has no filter on events.
    condition: Option<Condition<BoundPredicate<'a>>>,
    granularity: Granularity,
    interrupt: &'a Interrupt,
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
    /// Binds the filter of a query to the columns of a row group.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn bind(
        context: &'a QueryContext<'a>,
        columns: &'a EventColumns,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Interruption> {
        let mut bind = |predicate: &'a FieldPredicate| match predicate {
            FieldPredicate::Dimension(dimension, predicate) => {
                let encoder = KeyEncoder::bind(context, columns, dimension, interrupt)?;
                Ok(BoundPredicate::Dimension(encoder, CodePredicate::new(predicate)))
            }
            FieldPredicate::Total(range) => Ok(BoundPredicate::Total(range)),
        };
        let condition = context.plan.event_filter.as_ref().map(|condition| condition.try_map(&mut bind)).transpose()?;
        let predicates = condition.iter().flat_map(Condition::leaves);
        let granularity = predicates.map(BoundPredicate::granularity).min().unwrap_or(Granularity::Customer);
        Ok(Self { columns, condition, granularity, interrupt, codes: Vec::new(), passing: Vec::new() })
    }

    /// Returns the largest units that pass or fail as a whole.
    pub(crate) const fn granularity(&self) -> Granularity {
        self.granularity
    }

    /// Returns for each customer of the row group whether it is in one of the blocks and passes. Returns `None` if
    /// every customer passes, or if customers do not pass or fail as a whole.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn passing_customers<'b>(
        &mut self,
        blocks: impl Iterator<Item = &'b CustomerBlock>,
        cache: &SegmentCache,
    ) -> Result<Option<Vec<bool>>, Interruption> {
        if self.condition.is_none() || self.granularity != Granularity::Customer {
            return Ok(None);
        }
        let customers = Segments::of_customers(self.columns, blocks);
        let Some(results) = self.evaluate(&GroupingUnits::of_segments(&customers, cache))? else { return Ok(None) };
        let mut passing = vec![false; self.columns.customers.len()];
        for (customer, result) in customers.customers.iter().zip(results) {
            passing[*customer as usize] = result == Ternary::True;
        }
        Ok(Some(passing))
    }

    /// Drops the segments of a batch that do not pass or, if rows are filtered one by one, the rows. `needs_rows` says
    /// whether the rows of the batch are needed; it must be set if rows are filtered.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn apply(
        &mut self,
        batch: &mut SegmentBatch,
        cache: &SegmentCache,
        needs_rows: bool,
    ) -> Result<(), Interruption> {
        if self.granularity == Granularity::Segment && self.select(batch, cache)? {
            batch.segments.retain(&self.passing);
        }
        if needs_rows {
            batch.expand_rows();
        }
        if self.granularity == Granularity::Row && self.select(batch, cache)? {
            batch.rows.retain(&self.passing);
        }
        Ok(())
    }

    /// Selects the units that pass. Returns false if there is no filter.
    fn select(&mut self, batch: &SegmentBatch, cache: &SegmentCache) -> Result<bool, Interruption> {
        let Some(results) = self.evaluate(&batch.units(self.granularity, cache))? else { return Ok(false) };
        select_indexes(&mut self.passing, results.iter().map(|result| *result == Ternary::True));
        Ok(true)
    }

    /// Returns whether each unit passes; `None` if there is no filter.
    fn evaluate(&mut self, units: &GroupingUnits<'_>) -> Result<Option<Vec<Ternary>>, Interruption> {
        let Self { columns, condition, codes, interrupt, .. } = self;
        let Some(condition) = condition else { return Ok(None) };
        let mut tested = Ok(());
        let mut test = |predicate: &mut BoundPredicate<'_>, results: &mut Vec<Ternary>| match predicate {
            // The results are dropped, so that the other predicates need none.
            _ if tested.is_err() => {}
            BoundPredicate::Dimension(encoder, predicate) => {
                let encoded = encoder.encode(units, codes);
                tested = encoded.and_then(|()| predicate.test(codes, encoder.texts(), interrupt, results));
            }
            BoundPredicate::Total(range) => {
                range.test(columns.totals.as_deref(), units.events, Ternary::from, results);
            }
        };
        let results = condition.evaluate(units.len(), &mut test);
        tested.map(|()| Some(results))
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
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn test(
        &mut self,
        codes: &[u32],
        texts: &StringList,
        interrupt: &Interrupt,
        results: &mut Vec<Ternary>,
    ) -> Result<(), Interruption> {
        let mut checks = InterruptChecks::new(interrupt);
        for code in self.results.len()..texts.len() {
            let text = &texts[code];
            let mut check = |test: &TextPredicate| match test {
                TextPredicate::Matches(_) => checks.before_match(text),
                _ => checks.before_test(),
            };
            self.results.push(Ternary::from(self.predicate.passes(text, &mut check)?));
        }
        results.extend(codes.iter().map(|code| self.results[*code as usize]));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{CompiledPatterns, Predicate};
    use crate::interrupt::INTERRUPT_CHECK_BYTES;

    /// Returns how many texts a canceled query tests before it ends.
    fn tested(test: &Predicate, text: &str) -> usize {
        let test = TextPredicate::new(test, &mut CompiledPatterns::default()).unwrap();
        let condition = Condition::Not(Box::new(Condition::Any(vec![Condition::Test(test)])));
        let texts: StringList = std::iter::repeat_n(text, 2_000).collect();
        let (mut predicate, interrupt, mut results) =
            (CodePredicate::new(&condition), Interrupt::default(), Vec::new());
        interrupt.cancel();
        assert_eq!(predicate.test(&[0, 1_999], &texts, &interrupt, &mut results), Err(Interruption::Canceled));
        assert!(results.is_empty());
        predicate.results.len()
    }

    #[test]
    fn a_canceled_query_tests_few_more_texts() {
        let matches = Predicate::Matches { pattern: "a.*e".to_owned(), flags: String::new() };
        assert_eq!(tested(&matches, &"a".repeat(400)), 0);
        assert_eq!(tested(&matches, "spring!"), INTERRUPT_CHECK_BYTES / 8 - 1);
        assert_eq!(tested(&Predicate::NotEmpty, &"a".repeat(400)), INTERRUPT_CHECK_BYTES - 1);
    }
}
