//! Whole queries on a dataset in memory: 1,000,000 events of 200 accounts over 24 months, the default seed of the
//! generator.
//!
//! Comments state the share of events in the range. `cargo bench -p trueup-benches --bench query`
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Duration;
use trueup_benches::last_90_days;
use trueup_core::query::{EventsQuery, Filter, Interval, Predicate};
use trueup_core::{Dataset, Execution, Value};

const EVENTS: u64 = 1_000_000;
const ACCOUNTS: u32 = 200;

/// Returns the queries with their names.
fn cases(dataset: &Dataset) -> Vec<(&'static str, EventsQuery)> {
    let (start, end) = last_90_days(dataset).unwrap();
    let whole = dataset.date_range().unwrap();
    let account = dataset.accounts().iter().next().unwrap().key.clone();
    let last_days = |fields: &[&str]| EventsQuery::new(fields.to_vec(), start, end);
    vec![
        // 90 days have about an eighth of the events.
        ("five metrics, 90 days", last_days(&["leads", "customers", "bookRate", "closedRevenue", "conversions"])),
        ("by channel, 90 days", last_days(&["attributionChannel", "leads", "customers", "bookRate", "closedRevenue"])),
        ("by campaign with spend, 90 days", last_days(&["campaign", "leads", "spend", "roasClosed"])),
        (
            "by channel, one category, 90 days",
            last_days(&["attributionChannel", "leads"]).filter(Filter::equals("attributionCategory", "Advertising")),
        ),
        // The regular expression is matched against each distinct campaign of a row group.
        (
            "by business unit, campaigns by regex, 90 days",
            last_days(&["normalizedBusinessUnit", "leads"]).filter(Filter::field(
                "campaign",
                Predicate::Matches { pattern: "a.*e".to_owned(), flags: "i".to_owned() },
            )),
        ),
        // A dimension that differs between the events of a customer: grouped row by row.
        ("by date, 90 days", last_days(&["date", "leads", "customers", "closedRevenue"])),
        // One group per customer: most of the time goes to numbering, merging and sorting groups.
        ("by customer, 90 days", last_days(&["account", "opportunityId", "leads", "closedRevenue"])),
        // 24 months have all events.
        (
            "channel x day, 24 months",
            EventsQuery::new(["attributionChannel", "leads", "customers"], whole.start, whole.end)
                .interval(Interval::Day),
        ),
        (
            "account x month, 24 months",
            EventsQuery::new(["account", "leads", "customers", "bookRate"], whole.start, whole.end)
                .interval(Interval::Month),
        ),
        // About one event of 1,600.
        ("one account, 90 days", last_days(&["leads", "customers", "bookRate"]).accounts([account])),
    ]
}

/// Measures merging the partial results of two threads, without the rest of the query. Each thread has about half of
/// all events.
fn merge(criterion: &mut Criterion, dataset: &Dataset) {
    let range = dataset.date_range().unwrap();
    let mut group = criterion.benchmark_group("merge");
    for (name, dimensions, least_groups) in [
        // The events of a customer are in one row group, so nearly all groups are in only one partial result.
        ("groups of one thread: account x customer", &["account", "opportunityId"][..], 400_000),
        // Nearly all groups are in both partial results.
        ("groups of both threads: campaign x date", &["campaign", "date"], 200_000),
    ] {
        let fields = [dimensions, &["leads", "customers", "closedRevenue"]].concat();
        let query = EventsQuery::new(fields, range.start, range.end).allow_long_total();
        let threads = NonZeroUsize::new(2);
        let measured = || {
            let execution = Execution { threads, ..Execution::default() };
            dataset.analyze(black_box(&query), execution).unwrap().statistics.unwrap()
        };
        let expected = dataset.query(&query).unwrap().len();
        assert!(expected > least_groups, "{name}: {expected} rows");
        group.throughput(Throughput::Elements(expected as u64)).sample_size(10);
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                let mut merging = Duration::ZERO;
                for _ in 0..iterations {
                    let measured = measured();
                    assert_eq!(measured.result_rows, expected);
                    merging += measured.merging;
                }
                merging
            });
        });
    }
    group.finish();
}

fn queries(criterion: &mut Criterion, dataset: &Dataset) {
    let mut group = criterion.benchmark_group("query");
    group.throughput(Throughput::Elements(dataset.event_rows()));
    for (name, query) in cases(dataset) {
        let expected = dataset.query(&query).unwrap();
        let leads = |row| match expected.value(row, "leads") {
            Some(Value::Count(leads)) => leads,
            _ => 0,
        };
        assert!((0..expected.len()).map(leads).sum::<u64>() > 0, "{name} finds leads");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let table = dataset.query(black_box(&query)).unwrap();
                assert_eq!(table.len(), expected.len());
                table
            });
        });
        assert_eq!(dataset.query(&query).unwrap(), expected, "{name} answers the same each time");
    }
    group.finish();
}

fn suite(criterion: &mut Criterion) {
    let dataset = trueup_benches::dataset(EVENTS, ACCOUNTS).unwrap();
    queries(criterion, &dataset);
    merge(criterion, &dataset);
}

criterion_group!(benches, suite);
criterion_main!(benches);
