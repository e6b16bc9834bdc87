//! The engine and polars must return the same rows.

use super::frame::{frame, frame_rows, table_rows};
use super::funnel::enriched;
use super::metrics::{COUNTS, MONEY, RATIOS, aggregate_names, aggregates, ratios, sums};
use super::question::{Cut, Question};
use super::spend::{spend, with_spend};
use arrow_array::RecordBatch;
use polars::prelude::*;
use std::collections::BTreeSet;
use trueup_core::dataset::{Dataset, Tables};
use trueup_core::dictionary::{FieldKind, fields};
use trueup_core::query::{EventsQuery, Filter, Interval};
use trueup_core::{Day, Execution};

/// The tables in the forms of the engine and of polars.
#[derive(Debug)]
pub(crate) struct Both {
    dataset: Dataset,
    events: DataFrame,
    spend: DataFrame,
    accounts: DataFrame,
    /// Whether all amounts are exact as doubles, so that ratios of money can be compared.
    pub(crate) exact_doubles: bool,
}

impl Both {
    pub(crate) fn new(events: Vec<RecordBatch>, spend: Vec<RecordBatch>, accounts: Vec<RecordBatch>) -> Self {
        let frames = (frame(&events).unwrap(), frame(&spend).unwrap(), frame(&accounts).unwrap());
        let tables = Tables { events, spend, accounts, row_group_rows: 1_000 };
        let dataset = Dataset::from_tables(&tables).unwrap();
        Self { dataset, events: frames.0, spend: frames.1, accounts: frames.2, exact_doubles: true }
    }

    fn metrics(&self) -> Vec<&'static str> {
        let is_of_counts = |(_, numerator, denominator): &(&str, &str, &str)| {
            !MONEY.contains(numerator) && !MONEY.contains(denominator) && *numerator != "earned"
        };
        let ratios =
            RATIOS.into_iter().filter(|ratio| self.exact_doubles || is_of_counts(ratio)).map(|(name, ..)| name);
        COUNTS.into_iter().chain(MONEY).chain(ratios).collect()
    }

    /// Returns the enriched events of the question's range. Its dimensions and its filter do not matter.
    pub(crate) fn enriched(&self, question: &Question) -> DataFrame {
        enriched((&self.events, &self.accounts), question).unwrap().collect().unwrap()
    }

    fn polars(&self, enriched: &DataFrame, question: &Question) -> PolarsResult<DataFrame> {
        let events = enriched.clone().lazy();
        let events = match question.filter {
            Some((dimension, value)) => events.filter(col(dimension).eq(lit(value))),
            None => events,
        };
        let groups = events.group_by(question.keys()).agg(aggregates());
        let zeros: Vec<Expr> = aggregate_names().into_iter().map(|name| col(name).fill_null(lit(0))).collect();
        let texts: Vec<Expr> = question.dimensions.iter().map(|name| col(*name).fill_null(lit(""))).collect();
        let shown: Vec<Expr> = question.keys().into_iter().chain(self.metrics().into_iter().map(col)).collect();
        with_spend(groups, spend(&self.spend, question), question)?
            .with_columns(zeros)
            .with_columns(texts)
            .with_columns(sums())
            .with_columns(ratios())
            .sort_by_exprs(question.keys(), SortMultipleOptions::default())
            .select(shown)
            .collect()
    }

    fn engine(&self, question: &Question) -> Vec<String> {
        let day = |date| Day::from_date(date).unwrap();
        let fields = question.dimensions.iter().copied().chain(self.metrics());
        let query = EventsQuery::new(fields, day(question.days.0), day(question.days.1)).allow_long_total();
        let query = query.interval(if question.cut == Cut::Month { Interval::Month } else { Interval::Total });
        let query = match question.filter {
            Some((dimension, value)) => query.filter(Filter::equals(dimension, value)),
            None => query,
        };
        table_rows(&self.dataset.run(&query, Execution::default()).unwrap())
    }

    /// Returns the number of rows if the answers are equal, or else the first difference.
    pub(crate) fn agree(&self, enriched: &DataFrame, question: &Question) -> Result<usize, String> {
        let polars = frame_rows(&self.polars(enriched, question).unwrap());
        let engine = self.engine(question);
        if let Some((engine, polars)) = engine.iter().zip(&polars).find(|(engine, polars)| engine != polars) {
            return Err(format!("{question:?}\nengine {engine}\npolars {polars}"));
        }
        if engine.len() != polars.len() {
            return Err(format!("{question:?}\nengine {} rows, polars {}", engine.len(), polars.len()));
        }
        Ok(engine.len())
    }
}

#[test]
fn every_metric_of_the_dictionary_is_covered() {
    let known: BTreeSet<&str> =
        fields().filter(|field| matches!(field.kind, FieldKind::Metric(_))).map(|field| field.name).collect();
    let here = COUNTS.into_iter().chain(MONEY).chain(RATIOS.into_iter().map(|(name, ..)| name));
    assert_eq!(here.collect::<BTreeSet<_>>(), known);
}
