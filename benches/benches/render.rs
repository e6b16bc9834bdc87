//! Rendering of a result table as JSON: one row for each customer id and channel in the last 90 days of 200,000 events
//! of 12 accounts over 24 months, the default seed of the generator. Accounts have customers with the same ids. A row
//! has an id, a repeated text, counts, money and a ratio.
//!
//! Throughput is in bytes of JSON. `cargo bench -p trueup-benches --bench render`
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::hint::black_box;
use std::io::Write;
use trueup::json;
use trueup_benches::{dataset, last_90_days};
use trueup_core::ResultTable;
use trueup_core::query::EventsQuery;

const FIELDS: [&str; 7] =
    ["opportunityId", "attributionChannel", "eventCount", "leads", "closedRevenue", "bookRate", "total"];

fn json_of(table: &ResultTable) -> Vec<u8> {
    let mut out = Vec::new();
    json::write_rows(table, &mut out).unwrap();
    out
}

fn render(criterion: &mut Criterion) {
    let dataset = dataset(200_000, 12).unwrap();
    let (start, end) = last_90_days(&dataset).unwrap();
    let table = dataset.query(&EventsQuery::new(FIELDS, start, end)).unwrap();
    assert!(table.len() > 5_000, "{}", table.len());
    let body = json_of(&table);
    let mut group = criterion.benchmark_group("render");
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("json", |bencher| {
        let mut out = Vec::with_capacity(body.len());
        bencher.iter(|| {
            out.clear();
            json::write_rows(black_box(&table), &mut out).unwrap();
            assert_eq!(out.len(), body.len());
        });
    });
    group.bench_function("gzip", |bencher| {
        bencher.iter(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(black_box(&body)).unwrap();
            let packed = encoder.finish().unwrap();
            assert!(packed.len() < body.len() / 2);
            packed
        });
    });
    group.finish();
}

criterion_group!(benches, render);
criterion_main!(benches);
