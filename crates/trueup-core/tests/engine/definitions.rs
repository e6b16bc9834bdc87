//! Metrics and dimensions that users define: answers are those of the naive oracle, and laws hold.

use crate::run::{ask, dataset, defined, json, refused, requested_of, same_refusal};
use proptest::prelude::*;
use std::num::NonZeroUsize;
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::definitions::{Case, Definitions, DimensionDefinition, MetricDefinition, Otherwise};
use trueup_core::dictionary::{self, Formula};
use trueup_core::query::{EventsQuery, Filter, SortKey, WhyQuery};
use trueup_core::{Execution, Partial, QueryError, Value};
use trueup_testkit::cases::{case, definitions_case};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{Request, answer_with, sorted_answer, totals};

/// Events per row group: few, so that most cases have several row groups.
const ROW_GROUP_ROWS: usize = 7;

proptest! {
    #![proptest_config(cases(2_500))]

    #[test]
    fn definitions_agree_with_the_naive_oracle((tables, request, definitions) in definitions_case()) {
        let dataset = defined(&tables, &definitions, ROW_GROUP_ROWS);
        let engine = requested_of(dataset.definitions(), &request).and_then(|query| ask(&dataset, &query, Execution::default()));
        match (engine, answer_with(&tables, &request, &definitions)) {
            (Ok(found), Ok(expected)) => prop_assert_eq!(json(&found), expected),
            (Err(engine), Err(oracle)) => {
                prop_assert!(same_refusal(&engine, &oracle), "{:?} but {:?}", engine, oracle);
            }
            (engine, oracle) => return Err(TestCaseError::fail(format!("engine {engine:?}, oracle {oracle:?}"))),
        }
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn sorted_answers_and_totals_of_definitions_agree_with_the_naive_oracle(
        (tables, request, definitions) in definitions_case(),
        descending in any::<bool>(),
        limit in 0_usize..9,
    ) {
        let dataset = defined(&tables, &definitions, ROW_GROUP_ROWS);
        let Ok(query) = requested_of(dataset.definitions(), &request) else { return Ok(()) };
        let named = |name: &String| name.starts_with("net") || name.starts_with("own");
        let keys: Vec<(String, bool)> =
            request.fields.iter().filter(|name| named(name)).map(|name| (name.clone(), descending)).collect();
        let key = |(name, is_descending): &(String, bool)| {
            if *is_descending { SortKey::descending(name) } else { SortKey::ascending(name) }
        };
        let query = keys.iter().map(key).fold(query, EventsQuery::sort).limit(limit).totals();
        let Ok(found) = ask(&dataset, &query, Execution::default()) else { return Ok(()) };
        let expected = sorted_answer(&tables, &request, &definitions, &keys, Some(limit)).unwrap();
        prop_assert_eq!(json(&found), expected);
        let found = found.totals().unwrap();
        let metrics = found.columns().iter().filter(|column| dataset.is_metric(&column.name)).cloned().collect();
        let found = trueup_core::ResultTable::from_columns(metrics);
        prop_assert_eq!(json(&found), totals(&tables, &request, &definitions).unwrap());
    }

    #[test]
    fn lines_add_up_to_each_number_of_a_definition((tables, request, definitions) in definitions_case()) {
        let dataset = defined(&tables, &definitions, ROW_GROUP_ROWS);
        let Ok(query) = requested_of(dataset.definitions(), &request) else { return Ok(()) };
        let Ok(answer) = ask(&dataset, &query, Execution::default()) else { return Ok(()) };
        for row in answer.rows() {
            let (metrics, keys): (Vec<_>, Vec<_>) = row.values().partition(|(name, _)| dataset.is_metric(name));
            let why = keys.iter().fold(WhyQuery::new(query.clone()), |why, (name, value)| match value {
                Value::Text(text) => why.value(*name, *text),
                Value::Day(day) => why.value(*name, day.to_string()),
                other => panic!("{name}: {other:?}"),
            });
            // The engine compares the sums of the lines with the row.
            let why = dataset.why(&why, Execution::default()).unwrap();
            let explained: Vec<_> = why.metrics.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
            prop_assert_eq!(explained, metrics);
        }
    }

    #[test]
    fn splits_of_definitions_give_the_same_answer(
        (tables, request, definitions) in definitions_case(),
        size in 1_usize..4,
    ) {
        let dataset = defined(&tables, &definitions, ROW_GROUP_ROWS);
        let Ok(query) = requested_of(dataset.definitions(), &request) else { return Ok(()) };
        let Ok(whole) = ask(&dataset, &query, Execution::default()) else { return Ok(()) };
        let mut merged: Option<Partial> = None;
        for split in dataset.plan_splits(&query, NonZeroUsize::new(size).unwrap()).unwrap() {
            let bytes = dataset.run_split(&query, &split, &Execution::default()).unwrap().to_bytes().unwrap();
            let partial = Partial::from_bytes(&bytes).unwrap();
            merged = Some(match merged {
                None => partial,
                Some(before) => before.merge(partial).unwrap(),
            });
        }
        prop_assert_eq!(merged.unwrap().finish(&dataset, &query, &Execution::default()).unwrap(), whole);
    }

    #[test]
    fn a_metric_that_repeats_a_built_in_one_returns_its_numbers((tables, request) in case()) {
        let sums: Vec<&str> = dictionary::fields()
            .filter(|field| matches!(dictionary::metric(field.name), Some((_, metric)) if matches!(metric.formula, Formula::Amount(_))))
            .map(|field| field.name)
            .collect();
        let repeated = |name: &&str| MetricDefinition {
            name: format!("own_{name}"),
            numerator: vec![(*name).to_owned()],
            ..MetricDefinition::default()
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let ratio = |name: &str, numerator: &[&str], denominator: &str| MetricDefinition {
            name: format!("own_{name}"),
            numerator: names(numerator),
            denominator: Some(names(&[denominator])),
            ..MetricDefinition::default()
        };
        let ratios = [
            ratio("bookRate", &["bookedCustomers"], "customers"),
            ratio("avgTicket", &["soldRevenue", "closedRevenue"], "payingCustomers"),
            ratio("roasPotential", &["revenuePotential"], "spend"),
            ratio("avgCostPerLead", &["spend"], "leads"),
        ];
        let own = sums.iter().map(repeated).chain(ratios).collect();
        let dataset = dataset(&tables, ROW_GROUP_ROWS).with_definitions(Definitions::new(own, Vec::new()).unwrap()).unwrap();
        let Ok(query) = requested_of(dataset.definitions(), &request) else { return Ok(()) };
        let built_in = ask(&dataset, &query, Execution::default());
        let renamed = |name: &String| {
            if dataset.is_metric(&format!("own_{name}")) { format!("own_{name}") } else { name.clone() }
        };
        let request = Request { fields: request.fields.iter().map(renamed).collect(), ..request };
        let own = ask(&dataset, &requested_of(dataset.definitions(), &request).unwrap(), Execution::default());
        prop_assert_eq!(
            own.map(|table| json(&table).replace("\"own_", "\"")),
            built_in.map(|table| json(&table))
        );
    }

    #[test]
    fn a_dimension_that_keeps_every_value_equals_its_source((tables, request) in case()) {
        let own = |name: &&str| DimensionDefinition {
            name: format!("own_{name}"),
            from: (*name).to_owned(),
            cases: Some(vec![Case { equals: Some(vec!["no such text".to_owned()]), ..Case::default() }]),
            otherwise: Some(Otherwise::Keep { keep: true }),
            ..DimensionDefinition::default()
        };
        let sources = [
            "campaign", "account", "customerStatus", "date", "week", "month", "adjustedType", "type", "typeIsLast",
            "attributionCategory", "opportunityId", "accountName", "dateTime", "firstBooked", "opportunityStartDate",
            "opportunityBooked", "eventId", "conversionDetailedLabel", "zip",
        ];
        let own = sources.iter().map(own).collect();
        let dataset = dataset(&tables, ROW_GROUP_ROWS).with_definitions(Definitions::new(Vec::new(), own).unwrap()).unwrap();
        let Ok(query) = requested_of(dataset.definitions(), &request) else { return Ok(()) };
        let built_in = ask(&dataset, &query, Execution::default());
        let renamed =
            |name: &String| if sources.contains(&&**name) { format!("own_{name}") } else { name.clone() };
        let request = Request { fields: request.fields.iter().map(renamed).collect(), ..request };
        let own = ask(&dataset, &requested_of(dataset.definitions(), &request).unwrap(), Execution::default());
        prop_assert_eq!(
            own.map(|table| json(&table).replace("\"own_", "\"")),
            built_in.map(|table| json(&table))
        );
    }
}

/// Returns an empty dataset that defines two metrics and one dimension.
fn empty() -> Dataset {
    let definitions = Definitions::parse(
        "[[metric]]\nname = \"netRevenue\"\nnumerator = [\"closedRevenue\", \"-spend\"]\n\
         [[metric]]\nname = \"stillOpen\"\nnumerator = [\"openLeads\"]\n\
         [[dimension]]\nname = \"brand\"\nfrom = \"campaign\"\ncases = []\notherwise = \"Other\"",
    );
    Dataset::from_tables(&CanonicalTables::default()).unwrap().with_definitions(definitions.unwrap()).unwrap()
}

fn query(fields: &[&str]) -> EventsQuery {
    EventsQuery::new(fields.iter().copied(), "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap())
}

#[test]
fn names_of_definitions_are_known_and_suggested() {
    let dataset = empty();
    assert_eq!(dataset.check(&query(&["brand", "netRevenue"])), Ok(()));
    let message = refused(&dataset, &query(&["leads", "brands", "netRevnue"])).to_string();
    assert_eq!(
        message,
        "neither the dictionary nor the dataset knows `brands` (did you mean `brand`?), `netRevnue` (did you mean \
         `netRevenue`?)"
    );
    assert_eq!(refused(&dataset, &query(&["brand"])), QueryError::MissingMetric);
    assert_eq!(refused(&dataset, &query(&["stillOpen"])), QueryError::NotACohort { name: "openLeads" });
    let mixed = Filter::Any(vec![Filter::equals("brand", "x"), Filter::equals("netRevenue", "1")]);
    assert!(matches!(refused(&dataset, &query(&["leads"]).filter(mixed)), QueryError::Filter { .. }));
}

#[test]
fn a_sum_is_0_without_rows_and_a_dimension_is_explained_as_defined() {
    let dataset = empty();
    assert_eq!(json(&dataset.query(&query(&["netRevenue"])).unwrap()), r#"[{"netRevenue":0}]"#);
    let explained = dataset.explain(&query(&["brand", "netRevenue"])).unwrap();
    assert_eq!(explained.groups[0].source, "defined");
}
