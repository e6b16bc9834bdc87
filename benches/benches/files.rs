//! Datasets in files: 1,000,000 events of 200 accounts over 24 months, the default seed of the generator, in the page
//! cache.
//!
//! `cargo bench -p trueup-benches --bench files`
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fs;
use std::hint::black_box;
use std::path::Path;
use trueup_benches::{last_90_days, stored};
use trueup_core::dataset::manifest::DataFile;
use trueup_core::dataset::{BlockHasher, BlockSums, encode_list, manifest_file};
use trueup_core::files::Files;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};

const EVENTS: u64 = 1_000_000;
const ACCOUNTS: u32 = 200;

/// Measures reading the manifest, its lists of files, and the account table: of the dataset, and of one with as many
/// files as 100 million events have.
fn open(criterion: &mut Criterion, dataset: &Path) {
    let large = tempfile::tempdir().unwrap();
    publish_files(dataset, large.path(), 75);
    criterion.bench_function("open/75 files", |bencher| {
        bencher.iter(|| {
            let dataset = Dataset::open(black_box(large.path())).unwrap();
            assert!(dataset.event_rows() > 60_000_000);
            dataset
        });
    });
    criterion.bench_function("open", |bencher| {
        bencher.iter(|| {
            let dataset = Dataset::open(black_box(dataset)).unwrap();
            assert!(dataset.event_rows() > 900_000);
            dataset
        });
    });
}

/// Publishes a dataset of `count` event files, of which there are only the entries: opening reads no event file.
fn publish_files(from: &Path, to: &Path, count: usize) {
    let mut manifest = manifest_file::read(from, 1).unwrap();
    let file = manifest.events[0].clone();
    let size: u64 = 21 << 20;
    let blocks = usize::try_from(size.div_ceil(1 << 16)).unwrap();
    let entry = |number: usize| DataFile {
        path: format!("events/{number:04}.parquet"),
        size,
        blocks: BlockSums::from_bytes(&format!("{number:016}").repeat(blocks).into_bytes()).unwrap(),
        ..file.clone()
    };
    manifest.events = (0..count).map(entry).collect();
    for file in manifest.files() {
        fs::create_dir_all(to.join(&file.path).parent().unwrap()).unwrap();
    }
    let accounts = &manifest.named("accounts").unwrap().path;
    fs::copy(from.join(accounts), to.join(accounts)).unwrap();
    let bytes = encode_list(&manifest.events).unwrap();
    let mut sums = BlockHasher::default();
    sums.add(&bytes);
    let list = &mut manifest.lists.events[0].file;
    (list.size, list.rows, list.blocks) = (bytes.len() as u64, count as u64, sums.finish());
    fs::write(to.join(&list.path), bytes).unwrap();
    let list = &manifest.lists.spend[0].file;
    fs::copy(from.join(&list.path), to.join(&list.path)).unwrap();
    manifest_file::publish(&Files::default(), to, to, &manifest).unwrap();
}

/// Measures pruning row groups for one account, where most are skipped, and for all accounts.
fn prune(criterion: &mut Criterion, dataset: &Dataset) {
    let (start, end) = last_90_days(dataset).unwrap();
    let all = EventsQuery::new(["leads"], start, end);
    let account = dataset.accounts().iter().next().unwrap().key.clone();
    let one = all.clone().accounts([account]);
    for (name, query, skips) in [("prune/one account", one, true), ("prune/all accounts", all, false)] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                let explanation = dataset.explain(black_box(&query)).unwrap();
                let row_groups = &explanation.event_row_groups;
                assert_eq!(row_groups.skipped > row_groups.kept, skips);
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
        ("distinct per customer in an account: opportunityId", &["eventCount", "opportunityId"]),
        ("distinct in an account: eventId", &["eventCount", "eventId"]),
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
