//! Both are asked, and both must say the same.

use super::frame::frame;
use super::funnel::enriched;
use super::metrics::{COUNTS, MONEY, RATIOS, aggregates, gathered, ratios, sums};
use super::question::{Cut, Question};
use super::rows;
use super::spend::{beside, spend};
use arrow_array::RecordBatch;
use polars::prelude::*;
use std::collections::BTreeSet;
use trueup_core::dataset::{Dataset, Tables};
use trueup_core::dictionary::{FieldKind, fields};
use trueup_core::query::{EventsQuery, Filter, Interval};
use trueup_core::{Day, Execution};

/// The tables, as each of the two holds them.
#[derive(Debug)]
pub(crate) struct Both {
    dataset: Dataset,
    events: DataFrame,
    spend: DataFrame,
    accounts: DataFrame,
    /// Amounts are small enough that turning them to doubles needs no rounding, so that ratios of money can be
    /// compared.
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
        let is_of_counts = |(_, above, below): &(&str, &str, &str)| {
            !MONEY.contains(above) && !MONEY.contains(below) && *above != "earned"
        };
        let ratios =
            RATIOS.into_iter().filter(|ratio| self.exact_doubles || is_of_counts(ratio)).map(|(name, ..)| name);
        COUNTS.into_iter().chain(MONEY).chain(ratios).collect()
    }

    /// The events of the question's range, whatever its dimensions and filter are.
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
        let zeros: Vec<Expr> = gathered().into_iter().map(|name| col(name).fill_null(lit(0))).collect();
        let texts: Vec<Expr> = question.dimensions.iter().map(|name| col(*name).fill_null(lit(""))).collect();
        let shown: Vec<Expr> = question.keys().into_iter().chain(self.metrics().into_iter().map(col)).collect();
        beside(groups, spend(&self.spend, question), question)?
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
        rows::of_table(&self.dataset.run(&query, Execution::default()).unwrap())
    }

    /// The number of rows, if both answer alike, and the first row that differs otherwise.
    pub(crate) fn agree(&self, enriched: &DataFrame, question: &Question) -> Result<usize, String> {
        let polars = rows::of_frame(&self.polars(enriched, question).unwrap());
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
fn no_metric_of_the_dictionary_is_left_out() {
    let known: BTreeSet<&str> =
        fields().filter(|field| matches!(field.kind, FieldKind::Metric(_))).map(|field| field.name).collect();
    let here = COUNTS.into_iter().chain(MONEY).chain(RATIOS.into_iter().map(|(name, ..)| name));
    assert_eq!(here.collect::<BTreeSet<_>>(), known);
}
