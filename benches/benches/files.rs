//! Datasets in files: 1,000,000 events of 200 accounts over 24 months, the default seed of the generator, in the page
//! cache.
//!
//! `cargo bench -p trueup-benches --bench files`
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::Path;
use trueup_benches::{last_quarter, stored};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};

const EVENTS: u64 = 1_000_000;
const ACCOUNTS: u32 = 200;

/// Measures reading the footers and the account table.
fn open(criterion: &mut Criterion, dataset: &Path) {
    criterion.bench_function("open", |bencher| {
        bencher.iter(|| {
            let dataset = Dataset::open(black_box(dataset)).unwrap();
            assert!(dataset.event_rows() > 900_000);
            dataset
        });
    });
}

/// Measures pruning row groups for one account, where most are skipped, and for all accounts.
fn prune(criterion: &mut Criterion, dataset: &Dataset) {
    let (start, end) = last_quarter(dataset).unwrap();
    let all = EventsQuery::new(["leads"], start, end);
    let account = dataset.accounts().iter().next().unwrap().key.clone();
    let one = all.clone().accounts([account]);
    for (name, query, skips) in [("prune/one account", one, true), ("prune/all accounts", all, false)] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                let explanation = dataset.explain(black_box(&query)).unwrap();
                assert_eq!(explanation.event_row_groups_skipped > explanation.event_row_groups_kept, skips);
                explanation
            });
        });
    }
}

/// Measures decoding, by type of column: a query over all rows that keeps no decoded columns, and reads one column in
/// addition to the columns that every query reads. The first case has no additional column.
fn decode(criterion: &mut Criterion, dataset: &Path) {
    let dataset = Dataset::open(dataset).unwrap().with_column_budget(0);
    let range = dataset.date_range().unwrap();
    let rows = dataset.event_rows();
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(rows)).sample_size(10);
    for (kind, fields) in [
        ("customer, account, stage, date", &["eventCount"][..]),
        ("money: total", &["eventCount", "total"]),
        ("few texts: attributionChannel", &["eventCount", "attributionChannel"]),
        ("many texts: campaign", &["eventCount", "campaign"]),
        ("distinct per customer: opportunityId", &["eventCount", "opportunityId"]),
        ("distinct: eventId", &["eventCount", "eventId"]),
        ("time: dateTime", &["eventCount", "dateTime"]),
    ] {
        // No row passes this condition, so the time does not include grouping.
        let query = EventsQuery::new(fields.to_vec(), range.start, range.end).allow_long_total();
        let query = query.filter(trueup_core::query::Filter::equals("type", "none"));
        group.bench_function(kind, |bencher| {
            bencher.iter(|| {
                let table = dataset.query(black_box(&query)).unwrap();
                assert!(table.is_empty() || table.value(0, "eventCount") == Some(Value::Count(0)));
            });
        });
    }
    group.finish();
    assert_eq!(dataset.held_column_bytes(), 0);
}

fn files(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = stored(folder.path(), EVENTS, ACCOUNTS).unwrap();
    open(criterion, &path);
    prune(criterion, &Dataset::open(&path).unwrap());
    decode(criterion, &path);
}

criterion_group!(benches, files);
criterion_main!(benches);
