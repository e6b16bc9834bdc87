//! Random requests and their filters (section 8), valid and invalid. A filter picks events or rows of the result.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::Union;

use super::definitions::{OWN_DIMENSIONS, OWN_METRICS, OWN_TEXTS};
use super::pools::{self, ACCOUNTS, DIMENSIONS, FILTERED, OPERANDS, SPAN, value};
use crate::oracle::{Attribution, Earlier, METRICS, OPEN_LEADS, Request, Tables, Window, duration_metrics};

/// A request whose days are offsets from a base, and whose accounts are not yet restricted to those of the tables.
#[derive(Clone, Debug)]
pub(super) struct RelativeRequest {
    fields: Vec<String>,
    /// Offset of the first day.
    start: i64,
    /// Number of days; negative for a range that ends before it starts.
    days: i64,
    interval: &'static str,
    /// For each of [`ACCOUNTS`], whether the request names it; `None` for all accounts.
    accounts: Option<Vec<bool>>,
    filters: FilterParameters,
    cohort: Option<Window>,
    attribution: Attribution,
}

/// Generates a request. Most requests are valid.
pub(super) fn request() -> impl Strategy<Value = RelativeRequest> {
    let start = prop_oneof![3 => Just(0), 2 => pools::offset(), 1 => -20..0_i64];
    let days = prop_oneof![3 => Just(SPAN), 2 => select(vec![1, 7, 31, 90]), 3 => 1..SPAN + 30, 1 => Just(400)];
    let interval = prop_oneof![4 => Just("total"), 2 => Just("month"), 2 => Just("week"), 1 => Just("day")];
    let accounts = prop_oneof![
        3 => Just(None),
        1 => proptest::collection::vec(any::<bool>(), ACCOUNTS.len()).prop_map(Some),
    ];
    (fields(), start, days, interval, accounts, filters(), attribution()).prop_map(
        |(fields, start, days, interval, accounts, filters, attribution)| RelativeRequest {
            fields,
            start,
            days,
            interval,
            accounts,
            filters,
            cohort: None,
            attribution,
        },
    )
}

/// Generates a request in cohort mode.
pub(super) fn cohort() -> impl Strategy<Value = RelativeRequest> {
    with_metrics(vec![OPEN_LEADS.to_owned()], window().prop_map(Some))
}

/// Generates a request with metrics of days between stages, a third of them in cohort mode.
pub(super) fn durations() -> impl Strategy<Value = RelativeRequest> {
    with_metrics(duration_metrics(), prop_oneof![2 => Just(None), 1 => window().prop_map(Some)])
}

/// Generates a request with metrics and dimensions that users define, a third of them in cohort mode.
pub(super) fn defined() -> impl Strategy<Value = RelativeRequest> {
    let metrics = OWN_METRICS.map(str::to_owned).to_vec();
    let request = with_metrics(metrics, prop_oneof![2 => Just(None), 1 => window().prop_map(Some)]).boxed();
    let dimensions = prop_oneof![
        1 => Just(Vec::new()),
        4 => subsequence(OWN_DIMENSIONS.to_vec(), 1..=3),
    ];
    let condition = (select(&OWN_DIMENSIONS[..]), text_value(&OWN_TEXTS));
    let condition = prop_oneof![2 => Just(None), 1 => condition.prop_map(Some)];
    (request, dimensions, condition, any::<prop::sample::Index>()).prop_map(
        |(mut request, dimensions, condition, place)| {
            let place = place.index(request.fields.len() + 1);
            request.fields.splice(place..place, dimensions.into_iter().map(str::to_owned));
            request.filters.0.extend(condition.map(|(name, text)| (name.to_owned(), text)));
            request
        },
    )
}

/// An earlier range whose days are offsets from a base.
#[derive(Clone, Copy, Debug)]
pub(super) enum RelativeEarlier {
    PreviousPeriod,
    PreviousYear,
    /// Offset of the first day, and number of days.
    Range(i64, i64),
}

/// Generates a range to compare with. It may overlap the range of the request, and follow it.
pub(super) fn earlier() -> impl Strategy<Value = RelativeEarlier> {
    let range = (pools::offset(), 1..60_i64).prop_map(|(start, days)| RelativeEarlier::Range(start, days));
    prop_oneof![3 => Just(RelativeEarlier::PreviousPeriod), 1 => Just(RelativeEarlier::PreviousYear), 3 => range]
}

impl RelativeEarlier {
    pub(super) fn at(self, base: NaiveDate) -> Earlier {
        match self {
            Self::PreviousPeriod => Earlier::PreviousPeriod,
            Self::PreviousYear => Earlier::PreviousYear,
            Self::Range(start, days) => Earlier::Range(pools::day(base, start), pools::day(base, start + days - 1)),
        }
    }
}

/// Generates the event that is credited, mostly the one that is recorded.
fn attribution() -> impl Strategy<Value = Attribution> {
    prop_oneof![3 => Just(Attribution::Recorded), 1 => Just(Attribution::First), 1 => Just(Attribution::Last)]
}

/// Generates windows that end on days with other events, and windows that end on days without.
fn window() -> impl Strategy<Value = Window> {
    let days = prop_oneof![3 => select(vec![0, 1, 7, 30, 90]), 3 => 0..130_u32, 1 => Just(u32::MAX)];
    prop_oneof![5 => days.prop_map(Window::Days), 2 => Just(Window::All)]
}

/// Generates a request that has some of these metrics as fields, and at times a condition on one of them.
fn with_metrics(
    metrics: Vec<String>,
    cohort: impl Strategy<Value = Option<Window>>,
) -> impl Strategy<Value = RelativeRequest> {
    let some = subsequence(metrics.clone(), 0..=metrics.len().min(8));
    let condition = (select(metrics), on_number()).prop_map(|(metric, text)| (metric, array(&text)));
    let condition = prop_oneof![5 => Just(None), 1 => condition.prop_map(Some)];
    (request(), cohort, some, condition, any::<prop::sample::Index>()).prop_map(
        |(mut request, cohort, some, condition, place)| {
            let place = place.index(request.fields.len() + 1);
            request.fields.splice(place..place, some);
            request.filters.0.extend(condition);
            RelativeRequest { cohort, ..request }
        },
    )
}

/// Generates a request with additional faults, mostly two or more.
pub(super) fn faulty() -> impl Strategy<Value = RelativeRequest> {
    let faults = prop_oneof![1 => subsequence(RequestFault::ALL.to_vec(), 1), 3 => subsequence(RequestFault::ALL.to_vec(), 2..=4)];
    (request(), faults, any::<prop::sample::Index>(), invalid()).prop_map(|(mut request, faults, place, invalid)| {
        for fault in faults {
            match fault {
                RequestFault::NoMetric => request.fields.retain(|name| !METRICS.contains(&name.as_str())),
                RequestFault::ReservedName => {
                    request.fields.insert(place.index(request.fields.len() + 1), "end".to_owned())
                }
                RequestFault::Reversed => request.days = -request.days,
                RequestFault::Filter => {
                    request.filters.0.extend(invalid.0.clone());
                    request.filters.1.extend(invalid.1.clone());
                }
            }
        }
        request
    })
}

/// A fault that a request is given.
#[derive(Clone, Copy, Debug)]
enum RequestFault {
    /// No field is a metric.
    NoMetric,
    /// A field is named `end`, which is the key of a sub-range's last day.
    ReservedName,
    /// The range ends before it starts.
    Reversed,
    /// A filter is invalid, or only looks so.
    Filter,
}

impl RequestFault {
    const ALL: [Self; 4] = [Self::NoMetric, Self::ReservedName, Self::Reversed, Self::Filter];
}

/// Generates metrics and dimensions in any order, some twice; sometimes no metric, or a reserved name.
fn fields() -> impl Strategy<Value = Vec<String>> {
    // Each metric is chosen independently, so that a failing case shrinks to the few metrics that matter.
    let most = proptest::collection::vec(proptest::bool::weighted(0.8), METRICS.len()).prop_map(|chosen| {
        let chosen = METRICS.into_iter().zip(chosen).filter(|(_, chosen)| *chosen);
        chosen.map(|(metric, _)| metric).collect::<Vec<_>>()
    });
    let metrics = prop_oneof![1 => subsequence(METRICS.to_vec(), 1..=4), 1 => most];
    let some = || DIMENSIONS.to_vec();
    let dimensions = prop_oneof![
        3 => Just(Vec::new()),
        4 => subsequence(some(), 1..=2),
        1 => subsequence(some(), 3..=6),
    ];
    // The usual dimensions are chosen more often than the others.
    let usual = prop_oneof![2 => Just(Vec::new()), 1 => subsequence(DIMENSIONS[..9].to_vec(), 1..=3)];
    let further = prop_oneof![
        20 => Just(Vec::new()),
        3 => subsequence(vec!["leads", "campaign", "total"], 1..=3),
        1 => Just(vec!["start"]),
    ];
    let valid = (metrics, dimensions, usual, further)
        .prop_map(|(metrics, dimensions, usual, further)| [metrics, dimensions, usual, further].concat())
        .prop_shuffle();
    let fields = prop_oneof![60 => valid, 1 => subsequence(some(), 0..=2)];
    fields.prop_map(|fields: Vec<&str>| fields.into_iter().map(str::to_owned).collect())
}

impl RelativeRequest {
    /// Returns the request. It names only accounts of the tables, and reads all accounts if it names none.
    pub(super) fn at(self, base: NaiveDate, tables: &Tables) -> Request {
        let known = tables.account_keys();
        let chosen = |chosen: Vec<bool>| {
            let named = ACCOUNTS.iter().zip(chosen).filter(|(key, chosen)| *chosen && known.contains(**key));
            let named: Vec<String> = named.map(|(key, _)| (*key).to_owned()).collect();
            if named.is_empty() { None } else { Some(named) }
        };
        let (filters, filter) = self.filters;
        Request {
            fields: self.fields,
            start: pools::day(base, self.start),
            end: pools::day(base, self.start + self.days - 1),
            interval: self.interval.to_owned(),
            accounts: self.accounts.and_then(chosen),
            filters,
            filter,
            cohort: self.cohort,
            attribution: self.attribution,
        }
    }
}

/// The filters of a request: pairs of the query string, and values of the parameter `filter`.
type FilterParameters = (Vec<(String, String)>, Vec<String>);

/// Generates the filters of a request. About half of the requests have none.
fn filters() -> impl Strategy<Value = FilterParameters> {
    prop_oneof![
        14 => Just((Vec::new(), Vec::new())),
        4 => parameters().prop_map(|pairs| (pairs, Vec::new())),
        5 => across().prop_map(|texts| (Vec::new(), texts)),
        2 => (parameters(), across()),
        1 => invalid(),
    ]
}

/// Generates one to three parameters, some of them repeated.
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

/// Generates one to three values of a field, each as a pair.
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

/// Generates a literal or an expression. An expression that is not an array is a literal too, with its quotes.
fn text_value(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    prop_oneof![1 => select(pool).prop_map(str::to_owned), 2 => on_text(pool)].boxed()
}

/// Generates a value for a number, whose literals must be decimal numbers.
fn number_value() -> BoxedStrategy<String> {
    let literal = select(OPERANDS.iter().copied().filter(|number| !number.contains('e')).collect::<Vec<_>>());
    let literal = literal.prop_map(str::to_owned);
    prop_oneof![1 => literal, 2 => on_number().prop_map(|text| array(&text))].boxed()
}

/// Returns an expression as an array, which is the only form that a parameter reads as an expression.
fn array(text: &str) -> String {
    if text.starts_with('[') { text.to_owned() } else { format!("[\"eq\", {text}]") }
}

/// Generates one or two values of the parameter `filter`.
fn across() -> impl Strategy<Value = Vec<String>> {
    let (events, rows) = (on_events(), on_result_rows());
    prop_oneof![
        4 => events.clone().prop_map(|text| vec![text]),
        2 => rows.clone().prop_map(|text| vec![text]),
        2 => (events.clone(), rows.clone()).prop_map(|(events, rows)| vec![format!("[\"and\",{events},{rows}]")]),
        1 => (condition_on_events(), condition_on_result_rows()).prop_map(|(a, b)| vec![object(vec![a, b])]),
        1 => proptest::collection::vec(events.clone(), 2),
        1 => proptest::collection::vec(rows.clone(), 2),
        1 => (events.clone(), rows.clone(), events.clone())
            .prop_map(|(a, b, c)| vec![format!("[\"and\", [\"and\", {a}, {b}], {c}]")]),
        // Refused, because the two cannot be decided together.
        1 => (events, rows).prop_map(|(events, rows)| vec![format!("[\"or\",{events},{rows}]")]),
    ]
}

/// Generates conditions that pick events.
fn on_events() -> BoxedStrategy<String> {
    joined(proptest::collection::vec(condition_on_events(), 1..=2).prop_map(object).boxed())
}

/// Generates conditions that pick rows of the result.
fn on_result_rows() -> BoxedStrategy<String> {
    joined(proptest::collection::vec(condition_on_result_rows(), 1..=2).prop_map(object).boxed())
}

fn condition_on_events() -> BoxedStrategy<(String, String)> {
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

fn condition_on_result_rows() -> BoxedStrategy<(String, String)> {
    let metrics: Vec<&str> = METRICS.into_iter().filter(|metric| *metric != "total").collect();
    (select(metrics), on_number()).prop_map(|(metric, text)| (metric.to_owned(), text)).boxed()
}

/// Returns an object of conditions. Of two conditions on a field, the last one stays.
fn object(conditions: Vec<(String, String)>) -> String {
    let conditions: BTreeMap<String, String> = conditions.into_iter().collect();
    let entries: Vec<String> = conditions.iter().map(|(field, text)| format!("{}: {text}", quoted(field))).collect();
    format!("{{{}}}", entries.join(", "))
}

/// Generates a filter that must be refused, or a valid one that looks invalid.
fn invalid() -> impl Strategy<Value = FilterParameters> {
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
        // Valid: these are literals.
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

/// Returns a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Generates an expression on a dimension with the values of the pool. It is not always an array.
fn on_text(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    let word = || value(pool).prop_map(quoted);
    let number = || select(&OPERANDS[..]).prop_map(str::to_owned);
    let scalar = || {
        prop_oneof![
            6 => word(),
            2 => number(),
            1 => select(vec!["null", "true", "false"]).prop_map(str::to_owned),
        ]
    };
    let equality = (select(vec!["eq", "ne"]), scalar()).prop_map(operation);
    let order = (select(vec!["gt", "gte", "lt", "lte"]), prop_oneof![3 => word(), 1 => number()]).prop_map(operation);
    let pattern = prop_oneof![
        2 => select(vec!["", "^$", "e", "^[a-c]", "\\d+$", ".", "X|é", "a b", "^line$", "k.b"]).prop_map(str::to_owned),
        1 => select(pool).prop_map(regex::escape),
    ];
    let flags = prop_oneof![2 => Just(None), 1 => select(vec!["", "i", "m", "s", "u", "x", "ims"]).prop_map(Some)];
    let matching = (pattern, flags).prop_map(|(pattern, flags)| match flags {
        None => format!("[\"regex\",{}]", quoted(&pattern)),
        Some(flags) => format!("[\"regex\", {}, {}]", quoted(&pattern), quoted(flags)),
    });
    let emptiness = select(vec!["[\"empty\"]", "[\"notEmpty\"]"]).prop_map(str::to_owned);
    // Most events pass these.
    let generous = prop_oneof![
        2 => word().prop_map(|text| format!("[\"ne\",{text}]")),
        1 => word().prop_map(|text| format!("[\"not\", {text}]")),
        2 => proptest::collection::vec(word(), 3..=6).prop_map(|texts| format!("[\"or\", {}]", texts.join(","))),
    ];
    joined(prop_oneof![2 => scalar(), 2 => equality, 3 => order, 2 => matching, 2 => emptiness, 5 => generous].boxed())
}

/// Generates an expression on `total` or a metric. It is not always an array.
fn on_number() -> BoxedStrategy<String> {
    let number = || {
        prop_oneof![
            3 => select(&OPERANDS[..]).prop_map(str::to_owned),
            1 => select(vec!["\"0\"", "\"1\"", "\"-7.50\"", "\"0.5\"", "\"007\""]).prop_map(str::to_owned),
        ]
    };
    let operators = vec!["gt", "gte", "lt", "lte", "eq", "ne"];
    let comparison = (select(operators), number()).prop_map(operation);
    let generous = select(vec!["[\"gte\",0]", "[\"gte\", \"-1\"]", "[\"ne\",0.5]", "[\"lt\",1e15]"]);
    joined(prop_oneof![1 => number(), 3 => comparison, 2 => generous.prop_map(str::to_owned)].boxed())
}

fn operation((operator, operand): (&str, String)) -> String {
    format!("[\"{operator}\",{operand}]")
}

/// Generates leaves, or joins of them by `or`, `and` and `not`, a few levels deep.
fn joined(leaf: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let join = |inner: BoxedStrategy<String>| {
        let several = (select(vec!["or", "and"]), proptest::collection::vec(inner.clone(), 1..=3));
        prop_oneof![
            2 => several.prop_map(|(operator, parts)| format!("[\"{operator}\", {}]", parts.join(", "))),
            1 => inner.prop_map(|part| format!("[\"not\",{part}]")),
        ]
    };
    prop_oneof![2 => leaf.clone(), 1 => leaf.prop_recursive(3, 8, 3, join)].boxed()
}
