//! Targets: random ones against an oracle that walks over days, values computed on paper, and what has none.

use chrono::{Datelike, NaiveDate};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueup_core::dataset::{Dataset, Tables as CanonicalTables};
use trueup_core::query::{CohortWindow, ComparisonRange, EventsQuery, Filter, Interval};
use trueup_core::targets::TargetComparison;
use trueup_core::{Error, Execution, QueryError, ResultTable, Value};
use trueup_testkit::cases::{account_batches, event_batches, spend_batches, tables};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{AccountRow, EventRow, SpendRow, Tables, nearest_quotient};

/// Account, month, metric and channel of a target; an empty channel is all of them.
type Key = (String, String, String, String);

fn of_tables(tables: &Tables, targets: &BTreeMap<Key, i64>) -> Dataset {
    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    let amount = |micros: &i64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let texts = |text: &dyn Fn(&Key) -> &String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(targets.keys().map(text)))
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("account", texts(&|key| &key.0)),
        ("month", texts(&|key| &key.1)),
        ("metric", texts(&|key| &key.2)),
        ("attributionChannel", texts(&|key| &key.3)),
        ("value", Arc::new(StringArray::from_iter_values(targets.values().map(amount)))),
    ];
    let canonical = CanonicalTables {
        events: event_batches(tables),
        spend: spend_batches(tables),
        accounts: account_batches(tables),
        targets: vec![RecordBatch::try_from_iter(columns).unwrap()],
        row_group_rows: 7,
    };
    Dataset::from_tables(&canonical).unwrap()
}

fn run(dataset: &Dataset, query: &EventsQuery) -> Result<ResultTable, Error> {
    TargetComparison::new(query, dataset)?.run(dataset, &Execution::default())
}

/// A multiple of the days of every month.
const PARTS: i128 = 28 * 29 * 30 * 31;

const METRICS: [&str; 4] = ["spend", "leads", "bookRate", "opportunityCount"];
const ACCOUNTS: [&str; 3] = ["acme", "Acme", "spend only"];
const CHANNELS: [&str; 3] = ["", "Paid Search", "Radio"];

/// What the oracle knows of a row.
struct Row<'a> {
    days: (NaiveDate, NaiveDate),
    accounts: Vec<&'a str>,
    /// `None` if the row is of all channels.
    channels: Option<Vec<String>>,
}

/// Returns the target of a row as a fraction: the sum over its days of each day's part of its month.
fn expected(targets: &BTreeMap<Key, i64>, metric: &str, row: &Row<'_>) -> Option<(i128, i128)> {
    let channels = row.channels.clone().unwrap_or_else(|| vec![String::new()]);
    if row.channels.is_some() && channels.iter().any(String::is_empty) {
        return None;
    }
    let (mut sum, mut values, mut days) = (0, BTreeSet::new(), 0);
    let mut cells = BTreeSet::new();
    for account in &row.accounts {
        for channel in &channels {
            for day in row.days.0.iter_days().take_while(|day| *day <= row.days.1) {
                let month = day.format("%Y-%m").to_string();
                let key = ((*account).to_owned(), month, metric.to_owned(), channel.clone());
                let value = i128::from(*targets.get(&key)?);
                let of_month = (28..=31).rfind(|last| day.with_day(*last).is_some()).unwrap();
                sum += value * (PARTS / i128::from(of_month));
                values.insert(value);
                days += 1;
                cells.insert((key, of_month));
            }
        }
    }
    let cells: Vec<_> = cells.into_iter().collect();
    match (metric, cells.as_slice()) {
        (_, []) => None,
        ("spend" | "leads", _) => Some((sum, PARTS * 1_000_000)),
        ("bookRate", _) => values.first().copied().filter(|_| values.len() == 1).map(|value| (value, 1_000_000)),
        (_, [(_, of_month)]) if days == *of_month => values.first().map(|value| (*value, 1_000_000)),
        _ => None,
    }
}

#[derive(Clone, Debug)]
struct RandomRequest {
    groups: Vec<&'static str>,
    scope: Vec<&'static str>,
    channels: Option<Vec<&'static str>>,
    start: NaiveDate,
    days: u64,
    interval: Interval,
}

fn request() -> impl Strategy<Value = RandomRequest> {
    let channels = proptest::option::of(prop_oneof![
        Just(vec!["Radio"]),
        Just(vec!["Radio", "Paid Search"]),
        Just(vec!["Radio", ""]),
    ]);
    let intervals = select(vec![Interval::Total, Interval::Total, Interval::Month, Interval::Week, Interval::Day]);
    let days = prop_oneof![1..80_u64, select(vec![28, 31, 59])];
    let first = prop_oneof![0..60_i64, select(vec![12, 40])];
    let groups = subsequence(vec!["account", "attributionChannel", "accountKey"], 0..=2);
    (groups, subsequence(ACCOUNTS.to_vec(), 1..=2), channels, first, days, intervals).prop_map(
        |(groups, scope, channels, first, days, interval)| {
            let start: NaiveDate = "2025-01-20".parse().unwrap();
            let start = start + chrono::TimeDelta::days(first);
            RandomRequest { groups, scope, channels, start, days, interval }
        },
    )
}

fn random_targets() -> impl Strategy<Value = BTreeMap<Key, i64>> {
    let months = ["2025-01", "2025-02", "2025-03", "2025-04", "2025-05", "2025-06"];
    let mut keys: Vec<Key> = Vec::new();
    for account in ACCOUNTS {
        for month in months {
            for metric in METRICS {
                keys.extend(
                    CHANNELS
                        .map(|channel| (account.to_owned(), month.to_owned(), metric.to_owned(), channel.to_owned())),
                );
            }
        }
    }
    let value = prop_oneof![4 => select(vec![250_000_i64, 31_000_000]), 2 => 0..10_000_000_000_i64, 1 => Just(0)];
    // Some are missing.
    let values = proptest::collection::vec(proptest::option::weighted(0.95, value), keys.len());
    values.prop_map(move |values| {
        keys.iter().cloned().zip(values).filter_map(|(key, value)| Some((key, value?))).collect()
    })
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn targets_agree_with_the_oracle(tables in tables(), targets in random_targets(), request in request()) {
        prop_assume!(METRICS.iter().all(|metric| {
            targets.keys().any(|key| key.2 == *metric && request.scope.contains(&key.0.as_str()))
        }));
        // Currencies have a test of their own.
        let accounts = tables.accounts.iter().map(|account| AccountRow { currency: None, ..account.clone() }).collect();
        let dataset = of_tables(&Tables { accounts, ..tables }, &targets);
        let end = request.start + chrono::TimeDelta::days(i64::try_from(request.days).unwrap() - 1);
        let [start, end] = [request.start, end].map(|date| trueup_core::Day::from_date(date).unwrap());
        let fields = request.groups.iter().copied().chain(METRICS).chain(["bookedCustomers", "customers"]);
        let mut query = EventsQuery::new(fields, start, end)
            .interval(request.interval)
            .accounts(request.scope.clone())
            .allow_unknown(true)
            .allow_long_total()
            .totals();
        if let Some(channels) = &request.channels {
            let parts = channels.iter().map(|channel| Filter::equals("attributionChannel", *channel));
            query = query.filter(Filter::Any(parts.collect()));
        }
        let answer = run(&dataset, &query).unwrap();
        let plain = dataset.query(&query).unwrap();
        prop_assert_eq!(plain.len(), answer.len());
        let tables = (0..answer.len()).map(|row| (&answer, row, false)).chain([(answer.totals().unwrap(), 0, true)]);
        for (table, row, is_total) in tables {
            let text = |name: &str| match table.value(row, name) {
                Some(Value::Text(text)) if !is_total => Some(text.to_owned()),
                _ => None,
            };
            let day = |name: &str| match table.value(row, name) {
                Some(Value::Day(day)) => Some(day.date()),
                _ => None,
            };
            let account = text("account").or_else(|| text("accountKey"));
            let accounts = request.scope.iter().copied().filter(|key| account.as_ref().is_none_or(|own| own == key));
            let kept = request.channels.clone().map(|kept| kept.into_iter().map(str::to_owned).collect());
            let of_row = Row {
                days: (day("start").unwrap_or(start.date()), day("end").unwrap_or(end.date())),
                accounts: accounts.collect(),
                channels: text("attributionChannel").map(|channel| vec![channel]).or(kept),
            };
            for metric in METRICS {
                let target = expected(&targets, metric, &of_row);
                let count = |name: &str| match table.value(row, name) {
                    Some(Value::Count(count)) => (i128::from(count), 1),
                    Some(Value::Money(micros)) => (micros, 1_000_000),
                    other => unreachable!("{other:?}"),
                };
                let value = match metric {
                    "bookRate" => (count("bookedCustomers").0, count("customers").0),
                    name => count(name),
                };
                let pace = target
                    .filter(|target| target.0 != 0 && value.1 != 0)
                    .map(|target| nearest_quotient(value.0 * target.1, value.1 * target.0));
                let number = |number: Option<f64>| number.map_or(Value::Null, Value::Number);
                let column = |part: &str| table.value(row, &format!("{metric}{part}")).unwrap();
                let target = number(target.map(|(above, below)| nearest_quotient(above, below)));
                prop_assert_eq!(column(".target"), target, "{} in row {} of {:?}", metric, row, request);
                prop_assert_eq!(column(".pace"), number(pace), "{} in row {} of {:?}", metric, row, request);
            }
        }
    }
}

fn event(account: &str, customer: &str, kind: &str, date: &str) -> EventRow {
    EventRow {
        account: account.to_owned(),
        opportunity_id: customer.to_owned(),
        kind: kind.to_owned(),
        date: Some(date.parse().unwrap()),
        date_time: None,
        event_id: None,
        total: None,
        other: Default::default(),
    }
}

fn spend(account: &str, date: &str, channel: &str, units: i64) -> SpendRow {
    SpendRow {
        account: account.to_owned(),
        date: date.parse().unwrap(),
        attribution_category: None,
        attribution_channel: Some(channel.to_owned()),
        campaign: None,
        ad_spend: Some(units * 1_000_000),
        management_fee: None,
        clicks: None,
        impressions: None,
    }
}

/// Two accounts: `n` has a budget of 3,100 in January and of 280 in February, for Radio one of 310 in January, and the
/// target 0.5 of its book rate in both; `s` has a budget of 62 in January alone.
fn north_and_south(currencies: [Option<&str>; 2]) -> Dataset {
    let account = |key: &str, currency: Option<&str>| AccountRow {
        currency: currency.map(str::to_owned),
        ..AccountRow::defaults(key)
    };
    let tables = Tables {
        events: vec![
            event("n", "1", "lead-originated", "2025-01-10"),
            event("n", "2", "lead-originated", "2025-01-10"),
            event("n", "2", "booked", "2025-01-11"),
            event("n", "3", "lead-originated", "2025-01-12"),
        ],
        spend: vec![
            spend("n", "2025-01-10", "Radio", 20),
            spend("n", "2025-01-10", "Print", 180),
            spend("s", "2025-01-10", "Radio", 31),
        ],
        accounts: vec![account("n", currencies[0]), account("s", currencies[1])],
    };
    let target = |account: &str, month: &str, metric: &str, channel: &str, micros: i64| {
        ((account.to_owned(), month.to_owned(), metric.to_owned(), channel.to_owned()), micros)
    };
    let targets = [
        target("n", "2025-01", "spend", "", 3_100_000_000),
        target("n", "2025-02", "spend", "", 280_000_000),
        target("n", "2025-01", "spend", "Radio", 310_000_000),
        target("n", "2025-01", "bookRate", "", 500_000),
        target("n", "2025-02", "bookRate", "", 500_000),
        target("s", "2025-01", "spend", "", 62_000_000),
    ];
    of_tables(&tables, &BTreeMap::from(targets))
}

fn query<'a>(fields: impl IntoIterator<Item = &'a str>, start: &str, end: &str) -> EventsQuery {
    EventsQuery::new(fields, start.parse().unwrap(), end.parse().unwrap()).allow_mixed_currencies(true)
}

fn shown(answer: &ResultTable, row: usize, column: &str) -> Option<f64> {
    answer.value(row, column).unwrap().as_f64()
}

#[test]
fn by_hand() {
    let dataset = north_and_south([None, None]);
    // 10 of 31 days are 1,000, of which 200 were spent; a third of the customers is two thirds of the half.
    let answer = run(&dataset, &query(["spend", "bookRate"], "2025-01-10", "2025-01-19").accounts(["n"])).unwrap();
    assert_eq!((shown(&answer, 0, "spend.target"), shown(&answer, 0, "spend.pace")), (Some(1_000.0), Some(0.2)));
    assert_eq!(
        (shown(&answer, 0, "bookRate.target"), shown(&answer, 0, "bookRate.pace")),
        (Some(0.5), Some(2.0 / 3.0))
    );
    // Ten days of January and one of February.
    let answer = run(&dataset, &query(["spend", "bookRate"], "2025-01-22", "2025-02-01").accounts(["n"])).unwrap();
    assert_eq!((shown(&answer, 0, "spend.target"), shown(&answer, 0, "spend.pace")), (Some(1_010.0), Some(0.0)));
    // No customer, and so no rate, which has a target nevertheless.
    assert_eq!((shown(&answer, 0, "bookRate.target"), shown(&answer, 0, "bookRate.pace")), (Some(0.5), None));
    // A sum over both accounts, but the book rate has a target for one of them alone.
    let january = || query(["spend", "bookRate"], "2025-01-01", "2025-01-31");
    let answer = run(&dataset, &january()).unwrap();
    assert_eq!(shown(&answer, 0, "spend.target"), Some(3_162.0));
    assert_eq!(shown(&answer, 0, "bookRate.target"), None);
    assert_eq!(
        answer.notes(),
        [
            "`bookRate.target` is null in 1 of 1 rows; the first of them has no target of account `s`, 2025-01: a row shows a \
          target if each of its accounts, months and values has one"
        ]
    );
    // A channel has its own target, and none that is only a part of the account's.
    let by_channel = query(["attributionChannel", "spend"], "2025-01-01", "2025-01-31").accounts(["n"]).totals();
    let answer = run(&dataset, &by_channel.sort("spend.target:desc")).unwrap();
    assert_eq!(answer.value(0, "attributionChannel"), Some(Value::Text("Radio")));
    assert_eq!((shown(&answer, 0, "spend.target"), shown(&answer, 1, "spend.target")), (Some(310.0), None));
    assert_eq!(answer.totals().unwrap().value(0, "spend.target"), Some(Value::Number(3_100.0)));
}

#[test]
fn parts_of_targets_have_none() {
    let dataset = north_and_south([None, None]);
    let january = |fields: &[&'static str]| query(fields.iter().copied(), "2025-01-01", "2025-01-31").accounts(["n"]);
    let notes = |query: &EventsQuery| {
        let answer = run(&dataset, query).unwrap();
        assert!((0..answer.len()).all(|row| shown(&answer, row, "spend.target").is_none()));
        answer.notes().to_vec()
    };
    let rest =
        "; whole targets are by account, attributionCategory, attributionChannel, campaign, in equalities and groups";
    let by_stage = january(&["type", "spend"]).totals();
    assert_eq!(notes(&by_stage), [format!("targets are null: rows grouped by `type` are parts of targets{rest}")]);
    let totals = run(&dataset, &by_stage).unwrap();
    assert_eq!(totals.totals().unwrap().value(0, "spend.target"), Some(Value::Number(3_100.0)));
    assert_eq!(
        notes(&january(&["month", "spend"])),
        [format!(
            "targets are null: rows grouped by `month` are parts of targets; the interval `month` splits them, too{rest}"
        )]
    );
    let not_radio = Filter::Not(Box::new(Filter::equals("attributionChannel", "Radio")));
    assert_eq!(
        notes(&january(&["spend"]).filter(not_radio)),
        [format!("targets are null: the filter on `attributionChannel` selects parts of targets{rest}")]
    );
    // A condition on a metric chooses rows, and leaves them whole.
    let answer = run(&dataset, &january(&["spend"]).filter(Filter::equals("spend", "200"))).unwrap();
    assert_eq!(shown(&answer, 0, "spend.target"), Some(3_100.0));
}

#[test]
fn currencies_are_never_added_up() {
    let dataset = north_and_south([Some("USD"), Some("CAD")]);
    let answer = run(&dataset, &query(["spend"], "2025-01-01", "2025-01-31")).unwrap();
    assert_eq!(shown(&answer, 0, "spend.target"), None);
    assert_eq!(
        answer.notes(),
        ["`spend.target` is null in 1 of 1 rows: targets in different currencies are never added up"]
    );
    let answer = run(&dataset, &query(["accountName", "spend"], "2025-01-01", "2025-01-31")).unwrap();
    assert_eq!([0, 1].map(|row| shown(&answer, row, "spend.target")), [Some(3_100.0), Some(62.0)]);
}

#[test]
fn queries_that_cannot_have_targets_are_refused() {
    let dataset = north_and_south([None, None]);
    let january = |fields: &[&'static str]| query(fields.iter().copied(), "2025-01-01", "2025-01-31");
    let refused = |query: &EventsQuery| match run(&dataset, query) {
        Err(Error::Query(error)) => error,
        other => panic!("{other:?}"),
    };
    let message = |query: &EventsQuery| refused(query).to_string();
    assert_eq!(
        message(&january(&["leads"])),
        "none of the metrics has a target; metrics with targets are `bookRate`, `spend`"
    );
    assert_eq!(
        message(&january(&["bookRate"]).accounts(["s"])),
        "none of the metrics has a target; metrics with targets are `spend`"
    );
    assert_eq!(
        message(&january(&["spend"]).accounts(["x"])),
        "none of the metrics has a target, and nor has any other metric of these accounts"
    );
    assert_eq!(
        message(&january(&["spend"]).compare(ComparisonRange::PreviousPeriod)),
        "an answer has either targets or a comparison; leave one of the two out"
    );
    assert_eq!(
        message(&january(&["spend"]).cohort(CohortWindow::All)),
        "targets are of the days of a month, and not of a cohort of leads; leave the cohort out"
    );
    assert!(matches!(refused(&january(&["spend"]).sort("leads.pace")), QueryError::UnknownSortColumn { .. }));
    let reserved = january(&["spend.pace", "spend"]).allow_unknown(true);
    assert!(matches!(refused(&reserved), QueryError::ReservedComparisonField { .. }));
}
