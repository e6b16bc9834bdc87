//! Checks that neither the settings of an ingest, nor the layout of its files, nor cached columns, nor superseded rows
//! change an answer, and that a query leaves most row groups unread.

use crate::run::{dataset, run};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_schema::{DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tempfile::TempDir;
use trueup_core::dataset::manifest::{DataFile, Manifest, VECTORS_FOLDER, checksum};
use trueup_core::dataset::{BlockHasher, DeletionVector, Verification, encode_vectors, manifest_file};
use trueup_core::files::Files;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Day, Execution};
use trueup_demo::{Generator, Settings};
use trueup_ingest::Ingest;
use trueup_testkit::cases::{account_batches, case, event_batches, spend_batches};
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::{SpendRow, Tables};

/// The settings of [`demo`].
pub(crate) fn demo_settings() -> Settings {
    Settings::scale(12_000, 6)
}

/// Makes a dataset of a few row groups.
pub(crate) fn demo() -> TempDir {
    let generator = Generator::new(demo_settings()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let rows: Vec<_> = generator.events().map(Result::unwrap).collect();
    write(&file("events.parquet"), &arrow_select::concat::concat_batches(&rows[0].schema(), &rows).unwrap(), 4_096);
    let rows: Vec<_> = generator.spend().map(Result::unwrap).collect();
    write(&file("spend.parquet"), &arrow_select::concat::concat_batches(&rows[0].schema(), &rows).unwrap(), 4_096);
    let ingest = Ingest::into(file("dataset")).events(file("events.parquet")).spend(file("spend.parquet"));
    ingest.row_group_rows(2_048).file_rows(6_000).run().unwrap();
    folder
}

/// How tables are written to files, and how the files are ingested.
#[derive(Clone, Debug)]
pub(crate) struct IngestSettings {
    /// Event rows per input file.
    file_rows: usize,
    /// Rows per row group of an input file.
    input_group_rows: usize,
    /// Whether the files are given in reverse order.
    reversed: bool,
    /// Whether each file of events is ingested by itself.
    one_by_one: bool,
    /// Rows that ingest decodes at a time.
    batch_rows: usize,
    /// Events per row group of the dataset.
    row_group_rows: usize,
    /// Events per file of the dataset.
    stored_file_rows: usize,
    /// The memory of the ingest in bytes: too little for anything, so that everything spills, or enough.
    memory: usize,
    threads: usize,
}

/// Generates a number of rows: one, a few, or more than there are.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), 2_usize..20, Just(65_536)]
}

prop_compose! {
    pub(crate) fn ingest_settings()(
        (file_rows, input_group_rows, batch_rows) in (size(), size(), size()),
        (row_group_rows, stored_file_rows) in (size(), size()),
        (reversed, one_by_one) in any::<(bool, bool)>(),
        memory in prop::sample::select(vec![1_usize, 1 << 30]),
        threads in 1_usize..=2,
    ) -> IngestSettings {
        // Files of fewer rows would be too many.
        let file_rows = file_rows.max(4);
        IngestSettings {
            file_rows, input_group_rows, reversed, one_by_one, batch_rows, row_group_rows, stored_file_rows, memory, threads,
        }
    }
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

pub(crate) fn write(path: &Path, batch: &RecordBatch, row_group_rows: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(row_group_rows)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Ingests the tables and opens the dataset.
pub(crate) fn on_disk(folder: &Path, tables: &Tables, settings: &IngestSettings) -> Dataset {
    let into = folder.join("dataset");
    let ingest = || {
        Ingest::into(&into)
            .batch_rows(settings.batch_rows)
            .row_group_rows(settings.row_group_rows)
            .file_rows(settings.stored_file_rows)
            .memory(settings.memory)
            .threads(settings.threads)
    };
    let single = |name: &str, batches: &[RecordBatch]| -> Vec<PathBuf> {
        let path = folder.join(name);
        let Some(batch) = batches.first() else { return Vec::new() };
        write(&path, batch, settings.input_group_rows);
        vec![path]
    };
    // Accounts go first: an account's time zone decides the dates of its events.
    let mut first = ingest();
    first =
        single("accounts.parquet", &account_batches(tables)).iter().fold(first, |ingest, path| ingest.accounts(path));
    first = single("spend.parquet", &spend_batches(tables)).iter().fold(first, |ingest, path| ingest.spend(path));
    let mut files = Vec::new();
    for batch in event_batches(tables) {
        for from in (0..batch.num_rows().max(1)).step_by(settings.file_rows) {
            let path = folder.join(format!("events-{}.parquet", files.len()));
            write(
                &path,
                &batch.slice(from, settings.file_rows.min(batch.num_rows() - from)),
                settings.input_group_rows,
            );
            files.push(path);
        }
    }
    if settings.reversed {
        files.reverse();
    }
    if settings.one_by_one {
        first.run().unwrap();
        for path in files {
            ingest().events(path).run().unwrap();
        }
    } else {
        files.iter().fold(first, |ingest, path| ingest.events(path)).run().unwrap();
    }
    Dataset::open(into).unwrap()
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn neither_ingest_settings_nor_files_change_a_byte((tables, request) in case(), settings in ingest_settings()) {
        let tables = with_distinct_events(tables);
        let folder = tempfile::tempdir().unwrap();
        let stored = on_disk(folder.path(), &tables, &settings);
        let expected = run(&dataset(&tables, 65_536), &request, Execution::default());
        for pruning in [true, false] {
            let found = run(&stored, &request, Execution { pruning, ..Execution::default() });
            prop_assert_eq!(&found, &expected);
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn cached_columns_change_no_byte(
        (tables, first) in case(),
        others in prop::collection::vec(case().prop_map(|(_, request)| request), 1..4),
        settings in ingest_settings(),
        budget in prop::sample::select(vec![0_usize, 1, 700, 5_000, 1 << 30]),
    ) {
        let tables = with_distinct_events(tables);
        let folder = tempfile::tempdir().unwrap();
        let stored = on_disk(folder.path(), &tables, &settings).with_column_budget(budget);
        let in_memory = dataset(&tables, 65_536);
        let requests: Vec<_> = std::iter::once(first).chain(others).collect();
        let answers =
            |dataset| requests.iter().map(|request| run(dataset, request, Execution::default())).collect::<Vec<_>>();
        let expected = answers(&in_memory);
        let found = thread::scope(|scope| {
            [(); 2].map(|()| scope.spawn(|| answers(&stored))).map(|thread| thread.join().unwrap())
        });
        prop_assert_eq!(&found[0], &expected);
        prop_assert_eq!(&found[1], &expected);
        prop_assert_eq!(&answers(&stored), &expected);
        prop_assert!(stored.held_column_bytes() <= budget);
    }
}

/// Publishes the next version of a dataset, in which the customers and the days of spend for which `is_gone` returns
/// `true` are superseded, and so are all rows that the version before has superseded.
pub(crate) fn supersede(folder: &Path, is_gone: &dyn Fn(&str, &str) -> bool) {
    let latest = manifest_file::read_latest(folder).unwrap().unwrap();
    let mut superseded: BTreeMap<String, Arc<DeletionVector>> = BTreeMap::new();
    for (files, key) in [(&latest.events, "opportunityId"), (&latest.spend, "date")] {
        for file in files {
            let reader =
                ParquetRecordBatchReaderBuilder::try_new(File::open(folder.join(&file.path)).unwrap()).unwrap();
            let rows: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
            let rows = arrow_select::concat::concat_batches(
                &rows.first().map_or_else(|| Arc::new(Schema::empty()), |rows| rows.schema()),
                &rows,
            )
            .unwrap();
            let texts = |name| arrow_cast::cast(rows.column_by_name(name).unwrap(), &DataType::Utf8).unwrap();
            let (accounts, keys, days) = (texts("account"), texts(key), rows.column_by_name("date").unwrap().clone());
            let (accounts, keys) = (accounts.as_string::<i32>(), keys.as_string::<i32>());
            // A row that the version before has superseded is not left, either.
            let before = latest.superseded.get(&file.path);
            let (mut vector, mut start) = (DeletionVector::default(), 0);
            for (number, entry) in file.row_groups.iter().enumerate() {
                let rows = start..start + usize::try_from(entry.rows).unwrap();
                start = rows.end;
                let was_left = before.and_then(|vector| vector.left_ranges(&file.row_groups, number));
                let was_gone = |row: usize| {
                    was_left.as_ref().is_some_and(|left| !left.iter().any(|left| left.contains(&(row - rows.start))))
                };
                let (gone, left): (Vec<usize>, Vec<usize>) =
                    rows.clone().partition(|row| was_gone(*row) || is_gone(accounts.value(*row), keys.value(*row)));
                let days = left.iter().map(|row| days.as_primitive::<Date32Type>().value(*row));
                let days = days.clone().min().zip(days.max());
                if !gone.is_empty() {
                    let gone = gone.iter().map(|row| (row - rows.start) as u64);
                    vector.supersede(file, number, gone.map(|row| row..row + 1), days);
                }
            }
            if vector.rows() > 0 {
                superseded.insert(file.path.clone(), Arc::new(vector));
            }
        }
    }
    let bytes = encode_vectors(superseded.iter().map(|(path, vector)| (path.as_str(), &**vector))).unwrap();
    fs::create_dir_all(folder.join(VECTORS_FOLDER)).unwrap();
    let version = latest.version + 1;
    let path = format!("{VECTORS_FOLDER}/vectors-{version}.parquet");
    fs::write(folder.join(&path), &bytes).unwrap();
    let mut blocks = BlockHasher::default();
    blocks.add(&bytes);
    let (size, rows, blocks) = (bytes.len() as u64, superseded.len() as u64, blocks.finish());
    let blake3 = checksum(&bytes);
    let file = DataFile { path, size, rows, blake3, blocks, ..DataFile::default() };
    let deletion_vectors = latest.deletion_vectors.iter().cloned().chain([file]).collect();
    let manifest = Manifest { version, deletion_vectors, superseded, ..latest };
    let staging = tempfile::tempdir_in(folder).unwrap();
    manifest_file::publish(&Files::default(), folder, staging.path(), &manifest).unwrap();
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn superseded_rows_change_no_byte(
        (tables, first) in case(),
        others in prop::collection::vec(case().prop_map(|(_, request)| request), 1..3),
        settings in ingest_settings(),
        (gone, kinds) in (any::<u8>(), 1_u8..6),
    ) {
        let tables = with_distinct_events(tables);
        let folder = tempfile::tempdir().unwrap();
        drop(on_disk(folder.path(), &tables, &settings));
        let is_gone = |account: &str, key: &str| {
            let sum = account.bytes().chain(key.bytes()).fold(0, |sum: u8, byte| sum.wrapping_mul(31).wrapping_add(byte));
            sum % kinds == gone % kinds
        };
        supersede(&folder.path().join("dataset"), &is_gone);
        let stored = Dataset::open(folder.path().join("dataset")).unwrap();
        let mut left = tables;
        left.events.retain(|event| !is_gone(&event.account, &event.opportunity_id));
        left.spend.retain(|spend| !is_gone(&spend.account, &spend.date.to_string()));
        let expected = dataset(&left, 65_536);
        prop_assert_eq!(stored.event_rows(), expected.event_rows());
        for request in std::iter::once(first).chain(others) {
            let expected = run(&expected, &request, Execution::default());
            for pruning in [true, false] {
                let found = run(&stored, &request, Execution { pruning, ..Execution::default() });
                prop_assert_eq!(&found, &expected);
            }
        }
        let verified = Verification::of(folder.path().join("dataset"), None).unwrap();
        prop_assert_eq!(verified.faults, Vec::<String>::new());
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
    let settings = IngestSettings {
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
        let query = EventsQuery::new(fields, day, day).allow_unknown(true);
        let folder = tempfile::tempdir().unwrap();
        for dataset in [&dataset(&tables, 65_536), &on_disk(folder.path(), &tables, &settings)] {
            assert_eq!(dataset.query(&query).unwrap().len(), 1, "{fields:?}");
        }
    }
}

#[test]
fn a_query_of_ninety_days_leaves_most_events_unread() {
    let generator = Generator::new(Settings::scale(40_000, 12)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (input, into) = (folder.path().join("events.parquet"), folder.path().join("dataset"));
    let mut writer = ArrowWriter::try_new(File::create(&input).unwrap(), generator.event_schema(), None).unwrap();
    for batch in generator.events() {
        writer.write(&batch.unwrap()).unwrap();
    }
    writer.close().unwrap();
    Ingest::into(&into).events(input).row_group_rows(2_048).run().unwrap();
    let dataset = Dataset::open(into).unwrap();
    let all = dataset.date_range().unwrap();
    // Calendar quarters, and ranges across two of them.
    for before_end in (0..540).step_by(45) {
        let end = Day::from_number(all.end.number() - before_end);
        let query = EventsQuery::new(["leads"], Day::from_number(end.number() - 89), end);
        let read = dataset.analyze(&query, Execution::default()).unwrap();
        let rows = read.statistics.unwrap().rows;
        let share = |of: u64| rows * 100 <= dataset.event_rows() * of;
        assert!(share(35), "{rows} rows read, {before_end} days before the end");
        assert!(before_end > 0 || share(20), "{rows} rows read of the last quarter");
        assert!(read.event_row_groups.kept * 2 < read.event_row_groups.skipped);
        let unpruned = dataset.analyze(&query, Execution { pruning: false, ..Execution::default() }).unwrap();
        assert_eq!(unpruned.statistics.unwrap().kept_rows, read.statistics.unwrap().kept_rows);
    }
}
