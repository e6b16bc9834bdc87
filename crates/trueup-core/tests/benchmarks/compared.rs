//! Comparisons of answers with benchmarks, checked against the oracle, against values computed on paper, and for what
//! is refused.

use crate::by_hand::eleven;
use crate::oracle::{self, Segments, figures, ratio};
use crate::platform::{Platform, RandomRequest, key, month, platform, request};
use proptest::prelude::*;
use std::collections::BTreeSet;
use trueup_core::benchmarks::{BenchmarkComparison, BenchmarkData, BenchmarkMetric, Privacy};
use trueup_core::dataset::Dataset;
use trueup_core::definitions::Definitions;
use trueup_core::query::{CohortWindow, EventsQuery, Filter, Interval};
use trueup_core::{Error, Execution, Interrupt, QueryError, ResultTable, Value};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::nearest_quotient;

fn compared(
    dataset: &Dataset,
    query: &EventsQuery,
    reach: &BTreeSet<String>,
    privacy: Privacy,
) -> Result<ResultTable, Error> {
    let data = BenchmarkData::gather(dataset, month(), &Execution::default())?;
    let comparison = BenchmarkComparison::new(query)?;
    let answer = dataset.query(comparison.query())?;
    comparison.finish(answer, &data, reach, privacy, &Interrupt::default())
}

/// Returns the benchmark, the difference and the ratio of a value, given its numerator and denominator.
fn columns((numerator, denominator): (i128, i128), benchmark: Option<f64>) -> [Option<f64>; 3] {
    let Some(benchmark) = benchmark else { return [None; 3] };
    if denominator == 0 {
        return [Some(benchmark), None, None];
    }
    let text = benchmark.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let above: i128 = format!("{whole}{fraction}").parse().unwrap();
    let below = 10_i128.pow(u32::try_from(fraction.len()).unwrap());
    let difference = numerator * below - above * denominator;
    let ratio = (above != 0).then(|| nearest_quotient(difference, above * denominator));
    [Some(benchmark), Some(nearest_quotient(difference, denominator * below)), ratio]
}

/// Returns the columns of each row that the oracle computes, with the texts of the row.
fn expected(dataset: &Dataset, request: &RandomRequest, own: &Segments, account: Option<&str>) -> Vec<String> {
    let figures = figures(dataset, request);
    let row = |(segment, amounts): (&Vec<String>, &std::collections::BTreeMap<String, i128>)| {
        let of_metric = |(at, metric): (usize, &BenchmarkMetric)| {
            let benchmark = figures.get(segment).and_then(|figures| figures.metrics[at].as_ref());
            columns(ratio(*metric, amounts), benchmark.map(|series| series[0]))
        };
        let columns: Vec<_> = request.selection.metrics().iter().enumerate().map(of_metric).collect();
        format!("{account:?} {segment:?} {columns:?}")
    };
    own.iter().map(row).collect()
}

/// Returns the columns of each row of an answer, with the texts of the row.
fn found(answer: &ResultTable, request: &RandomRequest) -> Vec<String> {
    let number = |value: Option<Value<'_>>| match value {
        Some(Value::Number(number)) => Some(number),
        Some(Value::Null) => None,
        other => unreachable!("{other:?}"),
    };
    let line = |row: usize| {
        let text = |name: &str| match answer.value(row, name) {
            Some(Value::Text(text)) => Some(text.to_owned()),
            _ => None,
        };
        let segment = request.selection.dimensions().iter();
        let segment: Vec<String> = segment.map(|dimension| text(dimension.name()).unwrap()).collect();
        let of_metric = |metric: &BenchmarkMetric| {
            [".benchmark", ".difference", ".ratio"].map(|part| number(answer.value(row, &format!("{metric}{part}"))))
        };
        let columns: Vec<_> = request.selection.metrics().iter().map(of_metric).collect();
        format!("{:?} {segment:?} {columns:?}", text("account"))
    };
    (0..answer.len()).map(line).collect()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn comparisons_agree_with_the_oracle(platform in platform(), request in request(), is_by_account in any::<bool>()) {
        let dataset = platform.dataset();
        let account = is_by_account.then_some("account");
        let dimensions = request.selection.dimensions().iter().map(|dimension| dimension.name());
        let fields = account.into_iter().chain(dimensions);
        let fields = fields.chain(request.selection.metrics().iter().map(|metric| metric.name()));
        let query = EventsQuery::new(fields, month().start, month().end).accounts(request.scope.iter().cloned());
        let query = request.selection.filters().iter().fold(query, |query, (dimension, text)| {
            query.filter(Filter::equals(dimension.name(), text.clone()))
        });
        // As in the service: the row adds amounts of different currencies up, and has no benchmark.
        let query = query.totals().allow_mixed_currencies(true);
        let answer = compared(&dataset, &query, &request.reach, request.query().privacy).unwrap();
        let keys: Vec<&str> = request.scope.iter().map(String::as_str).collect();
        let rows = if is_by_account {
            let of_account = |account: &&str| {
                let alone = RandomRequest { scope: BTreeSet::from([(*account).to_owned()]), ..request.clone() };
                let mut own = oracle::segments(&dataset, &[account], &alone);
                if request.selection.dimensions().is_empty() {
                    // An account without events and spend has no row.
                    let spend = EventsQuery::new(["account", "eventCount"], month().start, month().end);
                    let spend = alone.selection.filters().iter().fold(spend, |query, (dimension, text)| {
                        query.filter(Filter::equals(dimension.name(), text.clone()))
                    });
                    let has_events = !dataset.query(&spend.accounts([*account])).unwrap().is_empty();
                    let is_paid = alone.selection.metrics().iter().any(|metric| {
                        metric.name().starts_with("avgCost") || metric.name().starts_with("roas")
                    });
                    own.retain(|_, amounts| has_events || is_paid && amounts["spend"] != 0);
                }
                expected(&dataset, &alone, &own, Some(account))
            };
            keys.iter().flat_map(of_account).collect()
        } else {
            expected(&dataset, &request, &oracle::segments(&dataset, &keys, &request), None)
        };
        // The oracle always asks for spend, which may have rows of its own.
        let found_rows = found(&answer, &request);
        let mut rest = rows.iter();
        for row in &found_rows {
            prop_assert!(rest.any(|expected| expected == row), "{} is not among {:?}", row, rows);
        }
        if request.selection.metrics().len() == BenchmarkMetric::ALL.len() {
            prop_assert_eq!(&found_rows, &rows);
        }
    }
}

/// Returns a dataset of eleven accounts.
fn dataset() -> Dataset {
    Platform(eleven()).dataset()
}

fn query_of(fields: &[&str], accounts: &[usize]) -> EventsQuery {
    EventsQuery::new(fields.iter().copied(), month().start, month().end).accounts(accounts.iter().map(|at| key(*at)))
}

fn rows(query: &EventsQuery) -> Vec<String> {
    let reach = [3, 7].map(key).into_iter().collect();
    let answer = compared(&dataset(), query, &reach, Privacy::of_accounts(9)).unwrap();
    let line = |row: trueup_core::Row<'_>| {
        row.values().map(|(name, value)| format!("{name} {value:?}")).collect::<Vec<_>>().join(", ")
    };
    answer.rows().chain(answer.totals().into_iter().flat_map(ResultTable::rows)).map(line).collect()
}

#[test]
fn columns_have_the_values_computed_on_paper() {
    // 55 of 110 customers are booked. With 3 and 7 in reach, nine accounts are of others.
    assert_eq!(
        rows(&query_of(&["account", "customers", "bookRate"], &[3, 7]).sort("bookRate.difference:desc").totals()),
        [
            r#"account Text("a07"), customers Count(10), bookRate Ratio(0.7), bookRate.benchmark Number(0.5), bookRate.difference Number(0.2), bookRate.ratio Number(0.4)"#,
            r#"account Text("a03"), customers Count(10), bookRate Ratio(0.3), bookRate.benchmark Number(0.5), bookRate.difference Number(-0.2), bookRate.ratio Number(-0.4)"#,
            r#"account Text(""), customers Count(20), bookRate Ratio(0.5), bookRate.benchmark Number(0.5), bookRate.difference Number(0.0), bookRate.ratio Number(0.0)"#,
        ]
    );
    // Nobody has such customers, and so nobody has a benchmark.
    let nobody = query_of(&["bookRate"], &[3]).filter(Filter::equals("customerStatus", "x"));
    assert_eq!(
        rows(&nobody),
        ["bookRate Ratio(0.0), bookRate.benchmark Null, bookRate.difference Null, bookRate.ratio Null"]
    );
    // A condition on a metric chooses rows, and a limit follows the order.
    let chosen = query_of(&["account", "bookRate"], &[3, 7]).filter(Filter::equals("bookRate", "0.3"));
    assert_eq!(rows(&chosen).len(), 1);
    assert!(rows(&query_of(&["account", "bookRate"], &[3, 7]).sort("bookRate:desc").limit(1))[0].contains("a07"));
}

#[test]
fn a_defined_metric_has_the_benchmark_of_the_metric_that_it_repeats() {
    let metric = |(name, numerator, denominator): (&str, &str, &str)| {
        format!("[[metric]]\nname = \"{name}\"\nnumerator = [{numerator}]\ndenominator = [{denominator}]\n")
    };
    let defined = [
        ("booked", r#""bookedCustomers""#, r#""customers""#),
        ("ticket", r#""closedRevenue", "soldRevenue""#, r#""payingCustomers""#),
        // The other way round, with a part subtracted, and of other amounts.
        ("perBooked", r#""customers""#, r#""bookedCustomers""#),
        ("net", r#""bookedCustomers", "-matchedCustomers""#, r#""customers""#),
        ("leadShare", r#""leads""#, r#""customers""#),
    ];
    let definitions = Definitions::parse(&defined.map(metric).concat()).unwrap();
    let fields = ["account", "booked", "ticket", "perBooked", "net", "leadShare", "avgTicket", "bookRate"];
    let own = query_of(&fields, &[3, 7]).definitions(&definitions).sort("booked.difference:desc").totals();
    let (dataset, reach) = (dataset().with_definitions(definitions).unwrap(), [3, 7].map(key).into_iter().collect());
    let answer = compared(&dataset, &own, &reach, Privacy::of_accounts(9)).unwrap();
    let columns: Vec<&str> = answer.columns().iter().map(|column| &*column.name).collect();
    let with_benchmarks = ["booked", "ticket", "avgTicket", "bookRate"];
    let expected = fields.iter().flat_map(|name| {
        let suffixes = with_benchmarks.contains(name).then_some([".benchmark", ".difference", ".ratio"]);
        let further = suffixes.into_iter().flatten().map(move |suffix| format!("{name}{suffix}"));
        std::iter::once((*name).to_owned()).chain(further)
    });
    assert_eq!(columns, expected.collect::<Vec<_>>());
    for suffix in ["", ".benchmark", ".difference", ".ratio"] {
        for (own, built_in) in [("booked", "bookRate"), ("ticket", "avgTicket")] {
            let [own, built_in] = [own, built_in].map(|name| format!("{name}{suffix}"));
            for table in [Some(&answer), answer.totals()].into_iter().flatten() {
                assert!((0..table.len()).all(|row| table.value(row, &own) == table.value(row, &built_in)), "{own}");
            }
        }
    }
    assert_eq!(answer.value(0, "booked.difference"), Some(Value::Number(0.2)));
}

#[test]
fn what_has_no_benchmark_is_refused() {
    let refused = |query: &EventsQuery| BenchmarkComparison::new(query).unwrap_err().to_string();
    let plain = || query_of(&["bookRate"], &[3]);
    let of = |fields: &[&str]| query_of(fields, &[3]);
    let all = EventsQuery::new(["bookRate"], month().start, month().end);
    let earlier = plain().compare(trueup_core::query::ComparisonRange::PreviousPeriod);
    let own = Definitions::parse("[[metric]]\nname = \"own\"\nnumerator = [\"leads\"]").unwrap();
    for (query, message) in [
        (all, "benchmarks compare some accounts with others; name the accounts"),
        (earlier, "an answer is compared either with another range or with benchmarks; leave one of the two out"),
        (plain().cohort(CohortWindow::All), "not of a cohort of leads"),
        (plain().interval(Interval::Week), "not of each week of a range; leave the interval out"),
        (of(&["leads"]), "none of the metrics has benchmarks; metrics with benchmarks are `bookRate`, `matchRate`"),
        (of(&["own"]).definitions(&own), "and metrics that the dataset defines as a ratio of the same amounts"),
        (
            of(&["campaign", "bookRate"]),
            "there are no benchmarks by `campaign`, but by `account`, `attributionCategory`",
        ),
        (of(&["bookRate", "bookRate.ratio"]), "there are no benchmarks by `bookRate.ratio`"),
        (plain().filter(Filter::equals("campaign", "x")), "benchmarks cannot have the filter on `campaign`"),
        (plain().filter(Filter::equals("total", "5")), "benchmarks cannot have the filter on `total`"),
        (
            plain().filter(Filter::Not(Box::new(Filter::equals("customerStatus", "x")))),
            "benchmarks cannot have the filter on `customerStatus`",
        ),
        (
            plain().sort("bookRate.change"),
            "expected to sort by a column of the answer (`bookRate`, `bookRate.benchmark`",
        ),
    ] {
        assert!(refused(&query).contains(message), "{}", refused(&query));
    }
    assert_eq!(refused(&of(&["campaign"])), QueryError::MissingMetric.to_string());
    let day = EventsQuery::new(["bookRate"], month().start, month().start).accounts([key(3)]);
    let error = compared(&dataset(), &day, &BTreeSet::new(), Privacy::default()).unwrap_err().to_string();
    assert!(error.contains("found 2025-01-01 to 2025-01-01"), "{error}");
}
