//! The filters of a request: on rows, on finished rows, across fields, and now and then invalid ones.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::expressions::{joined, on_number, on_text, quoted};
use super::pools::{ACCOUNTS, FILTERED, OPERANDS};
use crate::oracle::METRICS;

/// The two ways in which a request filters: pairs of the query string, and texts of `filter=`.
pub(super) type Filters = (Vec<(String, String)>, Vec<String>);

/// About half of the requests filter nothing.
pub(super) fn filters() -> impl Strategy<Value = Filters> {
    prop_oneof![
        14 => Just((Vec::new(), Vec::new())),
        4 => parameters().prop_map(|pairs| (pairs, Vec::new())),
        5 => across().prop_map(|texts| (Vec::new(), texts)),
        2 => (parameters(), across()),
        1 => invalid(),
    ]
}

/// One to three parameters, some given twice.
fn parameters() -> impl Strategy<Value = Vec<(String, String)>> {
    let parameter = prop_oneof![
        5 => Union::new(FILTERED.map(|(field, pool)| values(Just(field), text_value(pool)))),
        1 => values(Just("total"), number_value()),
        2 => values(select(&METRICS[..]), number_value()),
    ]
    .boxed();
    let parameters = prop_oneof![
        3 => proptest::collection::vec(parameter.clone(), 1),
        1 => proptest::collection::vec(parameter, 2..=3),
    ];
    parameters.prop_map(|parameters| parameters.concat())
}

fn values(
    field: impl Strategy<Value = &'static str> + 'static,
    value: BoxedStrategy<String>,
) -> BoxedStrategy<Vec<(String, String)>> {
    let values = prop_oneof![
        3 => proptest::collection::vec(value.clone(), 1),
        1 => proptest::collection::vec(value, 2..=3),
    ];
    (field, values)
        .prop_map(|(field, values)| values.into_iter().map(|value| (field.to_owned(), value)).collect())
        .boxed()
}

/// A literal, or an expression; one that is no array is a literal too, quotes and all.
fn text_value(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    prop_oneof![1 => select(pool).prop_map(str::to_owned), 2 => on_text(pool)].boxed()
}

/// A literal must be a decimal number here.
fn number_value() -> BoxedStrategy<String> {
    let literal = select(OPERANDS.iter().copied().filter(|number| !number.contains('e')).collect::<Vec<_>>());
    let literal = literal.prop_map(str::to_owned);
    prop_oneof![1 => literal, 2 => on_number().prop_map(|text| array(&text))].boxed()
}

/// The same expression as an array.
fn array(text: &str) -> String {
    if text.starts_with('[') { text.to_owned() } else { format!("[\"eq\", {text}]") }
}

/// None, one, or two texts for `filter=`.
fn across() -> impl Strategy<Value = Vec<String>> {
    let (rows, having) = (on_rows(), on_finished_rows());
    prop_oneof![
        4 => rows.clone().prop_map(|text| vec![text]),
        2 => having.clone().prop_map(|text| vec![text]),
        2 => (rows.clone(), having.clone()).prop_map(|(rows, having)| vec![format!("[\"and\",{rows},{having}]")]),
        1 => (condition_on_rows(), condition_on_finished_rows()).prop_map(|(a, b)| vec![object(vec![a, b])]),
        1 => proptest::collection::vec(rows.clone(), 2),
        1 => proptest::collection::vec(having.clone(), 2),
        1 => (rows.clone(), having.clone(), rows.clone())
            .prop_map(|(a, b, c)| vec![format!("[\"and\", [\"and\", {a}, {b}], {c}]")]),
        // Cannot be decided together.
        1 => (rows, having).prop_map(|(rows, having)| vec![format!("[\"or\",{rows},{having}]")]),
    ]
}

fn on_rows() -> BoxedStrategy<String> {
    joined(proptest::collection::vec(condition_on_rows(), 1..=2).prop_map(object).boxed())
}

fn on_finished_rows() -> BoxedStrategy<String> {
    joined(proptest::collection::vec(condition_on_finished_rows(), 1..=2).prop_map(object).boxed())
}

fn condition_on_rows() -> BoxedStrategy<(String, String)> {
    let named = |(field, pool): (&'static str, &'static [&'static str])| {
        on_text(pool).prop_map(move |text| (field.to_owned(), text)).boxed()
    };
    prop_oneof![
        5 => Union::new(FILTERED.map(named)),
        1 => on_text(&ACCOUNTS).prop_map(|text| ("account".to_owned(), text)),
        1 => on_number().prop_map(|text| ("total".to_owned(), text)),
    ]
    .boxed()
}

fn condition_on_finished_rows() -> BoxedStrategy<(String, String)> {
    let metrics: Vec<&str> = METRICS.into_iter().filter(|metric| *metric != "total").collect();
    (select(metrics), on_number()).prop_map(|(metric, text)| (metric.to_owned(), text)).boxed()
}

/// An object of conditions, the last one of a field.
fn object(conditions: Vec<(String, String)>) -> String {
    let conditions: BTreeMap<String, String> = conditions.into_iter().collect();
    let entries: Vec<String> = conditions.iter().map(|(field, text)| format!("{}: {text}", quoted(field))).collect();
    format!("{{{}}}", entries.join(", "))
}

/// One filter that must be refused, or that only looks like one.
pub(super) fn invalid() -> impl Strategy<Value = Filters> {
    let parameter = vec![
        ("campaign", "[]"),
        ("campaign", "[\"or\"]"),
        ("campaign", "[\"not\", \"x\", \"X\"]"),
        ("campaign", "[\"EQ\", \"x\"]"),
        ("campaign", "[\"eq\"]"),
        ("campaign", "[\"eq\", \"x\", \"X\"]"),
        ("campaign", "[\"gt\", null]"),
        ("campaign", "[\"empty\", \"x\"]"),
        ("campaign", "[\"regex\", \"(\"]"),
        ("campaign", "[\"regex\", \"(?=x)\"]"),
        ("campaign", "[\"regex\", \"x\", \"g\"]"),
        ("campaign", "[\"regex\"]"),
        ("campaign", "[\"eq\", {\"a\": 1}]"),
        ("noSuchField", "[1, 2]"),
        ("total", "1e2"),
        ("total", "[\"empty\"]"),
        ("leads", "many"),
        ("leads", ""),
        ("leads", "[\"eq\", null]"),
        ("bookRate", "[\"regex\", \"1\"]"),
        // Literals.
        ("campaign", "[Va] Drain"),
        ("campaign", "[\"or\", \"x\""),
        ("campaign", "[\"eq\", \"\\ud800\"]"),
        ("campaign", "{\"campaign\": \"x\"}"),
    ];
    let across = vec![
        "",
        "x",
        "[]",
        "{}",
        "null",
        "\"campaign\"",
        "{\"campaign\": \"\\udc00\"}",
        "{\"campaign\": \"x\", \"campaign\": \"X\"}",
        "[\"or\", {}]",
        "[\"and\"]",
        "[\"eq\", {\"campaign\": \"x\"}]",
        "[\"not\", {\"campaign\": \"x\"}, {\"campaign\": \"X\"}]",
        "[\"or\", {\"campaign\": \"x\"}, \"X\"]",
        "[\"or\", {\"leads\": 1, \"campaign\": \"x\"}]",
        "[\"not\", [\"and\", {\"leads\": 1}, {\"total\": 1}]]",
        "{\"campaign\": {\"eq\": \"x\"}}",
    ];
    prop_oneof![
        select(parameter).prop_map(|(field, value)| (vec![(field.to_owned(), value.to_owned())], Vec::new())),
        select(across).prop_map(|text| (Vec::new(), vec![text.to_owned()])),
    ]
}
