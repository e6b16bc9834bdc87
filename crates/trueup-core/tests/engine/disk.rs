//! Checks that neither the way a dataset is ingested nor the way it is read changes an answer.

use crate::run::{dataset, json, run};
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Execution};
use trueup_ingest::Ingest;
use trueup_testkit::cases::{account_batches, case, event_batches, spend_batches};
use trueup_testkit::oracle::{SpendRow, Tables};

/// How tables are ingested.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// Event rows per input file.
    file_rows: usize,
    /// Rows per row group of an input file.
    input_group_rows: usize,
    /// Whether the files are given in reverse order.
    reversed: bool,
    /// Whether each file is ingested by itself.
    one_by_one: bool,
    batch_rows: usize,
    row_group_rows: usize,
    stored_file_rows: usize,
    memory: usize,
    threads: usize,
}

pub(crate) fn way() -> impl Strategy<Value = Way> {
    let size = prop_oneof![Just(1_usize), 2_usize..20, Just(65_536)];
    let memory = prop_oneof![Just(1_usize), Just(1 << 30)];
    (size.clone(), size.clone(), any::<bool>(), any::<bool>(), size.clone(), size.clone(), size, memory, 1_usize..=2)
        .prop_map(
            |(
                file_rows,
                input_group_rows,
                reversed,
                one_by_one,
                batch_rows,
                row_group_rows,
                stored_file_rows,
                memory,
                threads,
            )| Way {
                file_rows: file_rows.max(4),
                input_group_rows,
                reversed,
                one_by_one,
                batch_rows,
                row_group_rows,
                stored_file_rows,
                memory,
                threads,
            },
        )
}

/// Removes events that share an id, so that the order of the input does not matter, and events that are the same, so
/// that no file is a batch that was ingested before.
pub(crate) fn with_distinct_events(mut tables: Tables) -> Tables {
    let mut seen = BTreeSet::new();
    tables.events.retain(|event| {
        seen.insert(match event.event_id.as_deref() {
            None | Some("") => format!("{event:?}"),
            Some(id) => format!("{} {id}", event.account),
        })
    });
    tables
}

fn write(path: &Path, batch: &RecordBatch, row_group_rows: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(row_group_rows)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Ingests the tables and opens the dataset.
pub(crate) fn on_disk(folder: &Path, tables: &Tables, way: &Way) -> Dataset {
    let into = folder.join("dataset");
    let ingest = || {
        Ingest::into(&into)
            .batch_rows(way.batch_rows)
            .row_group_rows(way.row_group_rows)
            .file_rows(way.stored_file_rows)
            .memory(way.memory)
            .threads(way.threads)
    };
    let single = |name: &str, batches: &[RecordBatch]| -> Vec<PathBuf> {
        let path = folder.join(name);
        let Some(batch) = batches.first() else { return Vec::new() };
        write(&path, batch, way.input_group_rows);
        vec![path]
    };
    // Accounts go first: an account's time zone decides the dates of its events.
    let mut first = ingest();
    first =
        single("accounts.parquet", &account_batches(tables)).iter().fold(first, |ingest, path| ingest.accounts(path));
    first = single("spend.parquet", &spend_batches(tables)).iter().fold(first, |ingest, path| ingest.spend(path));
    let mut files = Vec::new();
    for batch in event_batches(tables) {
        for from in (0..batch.num_rows().max(1)).step_by(way.file_rows) {
            let path = folder.join(format!("events-{}.parquet", files.len()));
            write(&path, &batch.slice(from, way.file_rows.min(batch.num_rows() - from)), way.input_group_rows);
            files.push(path);
        }
    }
    if way.reversed {
        files.reverse();
    }
    if way.one_by_one {
        first.run(&()).unwrap();
        for path in files {
            ingest().events(path).run(&()).unwrap();
        }
    } else {
        files.iter().fold(first, |ingest, path| ingest.events(path)).run(&()).unwrap();
    }
    Dataset::open(into).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn the_way_of_ingest_changes_no_byte((tables, request) in case(), way in way()) {
        let tables = with_distinct_events(tables);
        let folder = tempfile::tempdir().unwrap();
        let stored = on_disk(folder.path(), &tables, &way);
        let expected = run(&dataset(&tables, 65_536), &request, Execution::default());
        for pruning in [true, false] {
            let answer = run(&stored, &request, Execution { pruning, ..Execution::default() });
            prop_assert_eq!(answer.map(|table| json(&table)), expected.clone().map(|table| json(&table)));
        }
    }
}

#[test]
fn spend_without_events_has_a_row_next_to_a_blank_dimension() {
    let row = SpendRow {
        account: "acme".to_owned(),
        date: "2025-01-20".parse().unwrap(),
        attribution_category: None,
        attribution_channel: None,
        campaign: None,
        ad_spend: None,
        management_fee: None,
        clicks: None,
        impressions: Some(1),
    };
    let tables = Tables { spend: vec![row], ..Tables::default() };
    let way = Way {
        file_rows: 4,
        input_group_rows: 4,
        reversed: false,
        one_by_one: false,
        batch_rows: 4,
        row_group_rows: 4,
        stored_file_rows: 4,
        memory: 1 << 30,
        threads: 1,
    };
    let day = "2025-01-20".parse().unwrap();
    for fields in [["noSuchField", "roasClosed"], ["campaign", "roasClosed"]] {
        let query = EventsQuery::new(fields, day, day);
        let folder = tempfile::tempdir().unwrap();
        for dataset in [&dataset(&tables, 65_536), &on_disk(folder.path(), &tables, &way)] {
            assert_eq!(dataset.query(&query).unwrap().len(), 1, "{fields:?}");
        }
    }
}
