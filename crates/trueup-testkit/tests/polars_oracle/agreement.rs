//! The engine and polars return the same rows: for the demo data of three seeds, and for random small tables with many
//! collisions.

use super::enriched::enriched;
use super::frame::{frame, frame_rows, table_rows};
use super::metrics::{COUNTS, MONEY, RATIOS, aggregate_names, aggregates, ratios, spend, sums, with_spend};
use super::question::Question;
use chrono::{DateTime, NaiveDate};
use polars::prelude::*;
use proptest::prelude::*;
use proptest::sample::subsequence;
use std::collections::BTreeSet;
use trueup_core::dataset::{Dataset, Tables};
use trueup_core::dictionary::{FieldKind, fields};
use trueup_core::query::{EventsQuery, Filter, Interval};
use trueup_core::{Day, Execution};
use trueup_demo::{Generator, Settings};
use trueup_testkit::cases::{account_batches, case, event_batches, spend_batches};
use trueup_testkit::oracle;

/// The same tables for the engine and for polars.
#[derive(Debug)]
struct BothEngines {
    dataset: Dataset,
    events: DataFrame,
    spend: DataFrame,
    accounts: DataFrame,
    /// Whether all amounts in millionths are exact as doubles, so that ratios of money can be compared.
    exact_doubles: bool,
}

impl BothEngines {
    fn new(tables: &Tables, exact_doubles: bool) -> Self {
        Self {
            dataset: Dataset::from_tables(tables).unwrap(),
            events: frame(&tables.events).unwrap(),
            spend: frame(&tables.spend).unwrap(),
            accounts: frame(&tables.accounts).unwrap(),
            exact_doubles,
        }
    }

    /// Returns the metrics to compare.
    fn metrics(&self) -> Vec<&'static str> {
        let is_of_counts = |(_, numerator, denominator): &(&str, &str, &str)| {
            !MONEY.contains(numerator) && !MONEY.contains(denominator) && *numerator != "earned"
        };
        let ratios =
            RATIOS.into_iter().filter(|ratio| self.exact_doubles || is_of_counts(ratio)).map(|(name, ..)| name);
        COUNTS.into_iter().chain(MONEY).chain(ratios).collect()
    }

    /// Returns the enriched events in the question's range. Questions that differ only in dimensions and filters share
    /// them.
    fn enriched(&self, question: &Question) -> DataFrame {
        enriched(&self.events, &self.accounts, question).unwrap().collect().unwrap()
    }

    /// Returns the answer of polars.
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

    /// Returns the rows of the engine's answer, as texts.
    fn engine(&self, question: &Question) -> Vec<String> {
        let day = |date| Day::from_date(date).unwrap();
        let fields = question.dimensions.iter().copied().chain(self.metrics());
        let query = EventsQuery::new(fields, day(question.days.0), day(question.days.1)).allow_long_total();
        let query = query.allow_mixed_currencies(true).interval(if question.by_month {
            Interval::Month
        } else {
            Interval::Total
        });
        let query = match question.filter {
            Some((dimension, value)) => query.filter(Filter::equals(dimension, value)),
            None => query,
        };
        table_rows(&self.dataset.run(&query, Execution::default()).unwrap())
    }

    /// Returns the number of rows if the answers are equal, or else the first difference.
    fn agree(&self, enriched: &DataFrame, question: &Question) -> Result<usize, String> {
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
fn every_metric_but_those_of_durations_and_cohorts_is_covered() {
    let known: BTreeSet<&str> =
        fields().filter(|field| matches!(field.kind, FieldKind::Metric(_))).map(|field| field.name).collect();
    let here = COUNTS.into_iter().chain(MONEY).chain(RATIOS.into_iter().map(|(name, ..)| name));
    assert_eq!(here.collect::<BTreeSet<_>>(), known);
}

/// The dimensions of the questions about demo data.
const GROUPINGS: [&[&str]; 9] = [
    &[],
    &["campaign"],
    &["account"],
    &["attributionChannel"],
    &["customerStatus"],
    &["adjustedType"],
    &["type", "attributionCategory"],
    &["account", "week"],
    &["opportunityAgent", "month"],
];

fn demo(seed: u64) -> BothEngines {
    let generator = Generator::new(Settings { seed, ..Settings::scale(20_000, 8) }).unwrap();
    let events = generator.events().collect::<Result<_, _>>().unwrap();
    let spend = generator.spend().collect::<Result<_, _>>().unwrap();
    let accounts = vec![generator.accounts().unwrap()];
    BothEngines::new(&Tables { events, spend, accounts, row_group_rows: 1_000 }, true)
}

#[track_caller]
fn check_demo(seed: u64) {
    let both = demo(seed);
    let day = |text: &str| text.parse::<NaiveDate>().unwrap();
    // The whole range, and a part that starts and ends inside a month, with history before and after it.
    let ranges = [(day("2024-07-01"), day("2026-06-30")), (day("2025-01-15"), day("2025-04-10"))];
    let filters = [None, Some(("attributionCategory", "Advertising")), Some(("adjustedType", "sold"))];
    let mut rows = 0;
    for days in ranges {
        for by_month in [false, true] {
            let enriched = both.enriched(&Question { dimensions: Vec::new(), days, by_month, filter: None });
            for dimensions in GROUPINGS {
                for filter in filters {
                    let question = Question { dimensions: dimensions.to_vec(), days, by_month, filter };
                    rows += both.agree(&enriched, &question).unwrap_or_else(|difference| panic!("{difference}"));
                }
            }
        }
    }
    assert!(rows > 10_000, "{rows}");
}

#[test]
fn the_engine_agrees_with_polars_on_the_first_seed() {
    check_demo(1);
}

#[test]
fn the_engine_agrees_with_polars_on_the_second_seed() {
    check_demo(2);
}

#[test]
fn the_engine_agrees_with_polars_on_the_third_seed() {
    check_demo(3);
}

/// Replaces what the expressions of polars do not compute: dates in local time (all time zones become UTC), and ties
/// that only further columns break (all events get an id). A date that is then more than a day away from its time is
/// left out.
fn simplify(tables: &mut oracle::Tables) {
    for account in &mut tables.accounts {
        "UTC".clone_into(&mut account.time_zone);
    }
    let ids: BTreeSet<String> = tables.events.iter().filter_map(|event| event.event_id.clone()).collect();
    let unused = (0..).map(|number| format!("unused {number}")).filter(|id| !ids.contains(id));
    for (event, id) in tables.events.iter_mut().zip(unused) {
        if event.event_id.as_ref().is_none_or(String::is_empty) {
            event.event_id = Some(id);
        }
        let day = event.date_time.and_then(DateTime::from_timestamp_micros).map(|instant| instant.date_naive());
        let is_near = |date| day.is_none_or(|day| day.signed_duration_since(date).num_days().abs() <= 1);
        event.date = event.date.filter(|date| is_near(*date));
    }
}

/// Generates the dimensions of a question.
fn grouping() -> impl Strategy<Value = Vec<&'static str>> {
    let known = vec![
        "account",
        "date",
        "week",
        "month",
        "attributionCategory",
        "attributionChannel",
        "campaign",
        "customerStatus",
        "opportunityAgent",
        "zip",
        "type",
        "adjustedType",
        "opportunityId",
    ];
    subsequence(known, 0..=3).prop_shuffle()
}

/// Returns half of the usual number of cases, which `PROPTEST_CASES` sets.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(2), ..usual }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_engine_agrees_with_polars_on_random_tables(
        ((mut tables, request), dimensions, by_month, filtered) in (case(), grouping(), any::<bool>(), 0..4_usize),
    ) {
        simplify(&mut tables);
        let canonical = Tables {
            events: event_batches(&tables),
            spend: spend_batches(&tables),
            accounts: account_batches(&tables),
            row_group_rows: 1_000,
        };
        let both = BothEngines::new(&canonical, false);
        let filters = [
            None,
            Some(("attributionCategory", "Advertising")),
            Some(("adjustedType", "canceled")),
            Some(("customerStatus", "New")),
        ];
        let question = Question { dimensions, days: (request.start, request.end), by_month, filter: filters[filtered] };
        let agreement = both.agree(&both.enriched(&question), &question);
        prop_assert!(agreement.is_ok(), "{}", agreement.unwrap_err());
    }
}
