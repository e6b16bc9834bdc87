//! Checks that a reopened dataset answers as one that was opened, that it reads nothing again that both versions have,
//! and that versions share the memory of columns.

use crate::disk::{demo, demo_settings, ingest_settings, on_disk, supersede, with_distinct_events, write};
use crate::run::{requested, run};
use proptest::prelude::*;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;
use trueup_core::dataset::{Tables, manifest_file};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Error, Execution, MemoryBudget, ResultTable};
use trueup_demo::Generator;
use trueup_ingest::Ingest;
use trueup_testkit::cases::case;
use trueup_testkit::exhaustive::cases;
use trueup_testkit::oracle::Request;

/// Returns a number that depends on a customer, or on a day of spend.
fn number(account: &str, key: &str) -> u32 {
    account.bytes().chain(key.bytes()).fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
}

/// Returns all that a dataset says about some requests.
fn answers(dataset: &Dataset, requests: &[Request], threads: usize) -> Vec<String> {
    let execution = || Execution { threads: NonZeroUsize::new(threads), ..Execution::default() };
    let mut answers = vec![
        format!("{:?} {:?}", dataset.account_keys().unwrap(), dataset.date_range()),
        format!("{} {}", dataset.event_rows(), dataset.spend_rows()),
    ];
    for request in requests {
        answers.push(format!("{:?}", run(dataset, request, execution())));
        if let Ok(query) = requested(request)
            && let Ok(unseen) = dataset.unseen_values(&query, &execution())
        {
            answers.extend(unseen.iter().map(ToString::to_string));
        }
    }
    answers
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_reopened_dataset_answers_as_one_that_is_opened(
        (tables, first) in case(),
        others in prop::collection::vec(case().prop_map(|(_, request)| request), 0..3),
        settings in ingest_settings(),
        updates in prop::collection::vec(any::<(u32, bool)>(), 1..5),
        kinds in prop::sample::select(vec![3, 10, 30]),
        budget in prop::sample::select(vec![0_usize, 700, 5_000, 1 << 30]),
        (threads, keeps_first) in (1_usize..=2, any::<bool>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("dataset");
        drop(on_disk(folder.path(), &with_distinct_events(tables), &settings));
        let requests: Vec<Request> = std::iter::once(first).chain(others).collect();
        let opened = Dataset::open_as_of(&at, 1).unwrap().with_column_budget(budget);
        let expected = answers(&opened, &requests, threads);
        let mut versions = vec![(opened, expected)];
        let mut gone: Vec<u32> = Vec::new();
        for (number_gone, is_asked) in updates {
            gone.push(number_gone % kinds);
            supersede(&at, &|account, key| gone.contains(&(number(account, key) % kinds)));
            let reopened = versions.last().unwrap().0.reopen().unwrap().unwrap();
            prop_assert!(reopened.reopen().unwrap().is_none());
            let expected = answers(&Dataset::open(&at).unwrap(), &requests, 1);
            if is_asked {
                let both = thread::scope(|scope| {
                    let ask = || scope.spawn(|| answers(&reopened, &requests, threads));
                    [ask(), ask()].map(|asked| asked.join().unwrap())
                });
                prop_assert_eq!(&both[0], &expected);
                prop_assert_eq!(&both[1], &expected);
            }
            prop_assert!(reopened.held_column_bytes() <= budget);
            versions.push((reopened, expected));
        }
        if !keeps_first {
            drop(versions.remove(0));
        }
        // Cold, hot, and after the answers of another version.
        for (dataset, expected) in versions.iter().rev().chain(&versions) {
            prop_assert_eq!(&answers(dataset, &requests, threads), expected);
            prop_assert!(dataset.held_column_bytes() <= budget);
        }
    }
}

/// Queries all rows of a dataset.
fn ask(dataset: &Dataset) -> ResultTable {
    try_ask(dataset).unwrap()
}

fn try_ask(dataset: &Dataset) -> Result<ResultTable, Error> {
    let days = dataset.date_range().unwrap();
    let fields = ["account", "campaign", "zip", "leads", "closedRevenue", "spend", "medianDaysLeadToClosed"];
    let query = EventsQuery::new(fields, days.start, days.end).allow_long_total();
    dataset.query(&query)
}

/// Publishes a version in which about `gone` out of every `of` customers and days of spend are superseded.
fn supersede_some(at: &Path, gone: u32, of: u32) {
    supersede(at, &|account, key| number(account, key) % of < gone);
}

#[test]
fn a_first_query_after_an_update_reads_no_file_that_both_versions_have() {
    let folder = demo();
    let at = folder.path().join("dataset");
    let opened = Dataset::open(&at).unwrap();
    let before = ask(&opened);
    let misses = opened.column_cache_counts().misses;
    assert!(misses > 4, "{misses}");
    supersede_some(&at, 1, 100);
    let expected = ask(&Dataset::open(&at).unwrap());
    assert_ne!(expected, before);
    for table in ["events", "spend"] {
        fs::rename(at.join(table), folder.path().join(table)).unwrap();
    }
    let reopened = opened.reopen().unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!((ask(&reopened), ask(&opened)), (expected.clone(), before.clone()));
    }
    assert_eq!(reopened.column_cache_counts().misses, misses);
    let files: Vec<_> = fs::read_dir(folder.path().join("events")).unwrap().collect();
    assert!(files.len() > 1);
    assert!(Dataset::open(&at).unwrap().check_files().is_err() && reopened.check_files().is_err());
}

/// Ingests the first `events` events of the demo again, so that the histories of their customers are in a new file.
fn ingest_again(folder: &Path, events: usize) {
    let rows = Generator::new(demo_settings()).unwrap().events().next().unwrap().unwrap();
    write(&folder.join("again.parquet"), &rows.slice(0, events), 4_096);
    Ingest::into(folder.join("dataset")).events(folder.join("again.parquet")).run().unwrap();
}

#[test]
fn columns_of_a_few_new_rows_are_decoded_when_the_dataset_is_reopened() {
    for (events, is_decoded) in [(20, true), (5_000, false)] {
        let folder = demo();
        let at = folder.path().join("dataset");
        let opened = Dataset::open(&at).unwrap();
        drop(ask(&opened));
        let (bytes, misses) = (opened.held_column_bytes(), opened.column_cache_counts().misses);
        ingest_again(folder.path(), events);
        let reopened = opened.reopen().unwrap().unwrap();
        assert_eq!(reopened.held_column_bytes() > bytes, is_decoded, "{events}");
        assert_eq!(ask(&reopened), ask(&Dataset::open(&at).unwrap()), "{events}");
        assert_eq!(reopened.column_cache_counts().misses == misses, is_decoded, "{events}");
    }
}

#[test]
fn columns_of_a_damaged_new_file_are_left_to_the_query_that_needs_them() {
    let folder = demo();
    let at = folder.path().join("dataset");
    let opened = Dataset::open(&at).unwrap();
    let before = ask(&opened);
    ingest_again(folder.path(), 20);
    let named = manifest_file::read_latest(&at).unwrap().unwrap();
    let new = named.events.iter().find(|file| !opened.manifest().unwrap().events.contains(file)).unwrap();
    fs::write(at.join(&new.path), vec![0; usize::try_from(new.size).unwrap()]).unwrap();
    let reopened = opened.reopen().unwrap().unwrap();
    let fault = try_ask(&reopened).unwrap_err().to_string();
    assert!(fault.contains(&at.join(&new.path).display().to_string()), "{fault}");
    assert_eq!(ask(&opened), before);
}

#[test]
fn columns_with_many_superseded_rows_are_decoded_again() {
    let folder = demo();
    let at = folder.path().join("dataset");
    let opened = Dataset::open(&at).unwrap();
    drop(ask(&opened));
    let (bytes, counts) = (opened.held_column_bytes(), opened.column_cache_counts());
    supersede_some(&at, 50, 100);
    let reopened = opened.reopen().unwrap().unwrap();
    drop(opened);
    assert_eq!(reopened.held_column_bytes(), 0);
    assert_eq!(ask(&reopened), ask(&Dataset::open(&at).unwrap()));
    assert_eq!(reopened.column_cache_counts().misses, 2 * counts.misses);
    assert!(reopened.held_column_bytes() < bytes * 3 / 4);
}

#[test]
fn versions_hold_a_column_once_and_drop_it_with_the_last_of_them() {
    let folder = demo();
    let at = folder.path().join("dataset");
    let memory = MemoryBudget::new(1 << 30);
    let opened = Dataset::open(&at).unwrap();
    opened.count_columns_against(&memory);
    drop(ask(&opened));
    let bytes = opened.held_column_bytes();
    let most = bytes + bytes / 10;
    let (mut newest, mut held) = (opened, Vec::new());
    for update in 1..=20 {
        supersede_some(&at, update, 1_000);
        let reopened = newest.reopen().unwrap().unwrap();
        reopened.count_columns_against(&memory);
        drop(ask(&reopened));
        held.push(std::mem::replace(&mut newest, reopened));
        let now = newest.held_column_bytes();
        assert_eq!(memory.held(), now);
        // What the versions have of their own is which customers are left.
        assert!(bytes < now && now < most * 2, "{now} of {bytes} after {update} updates");
    }
    held.clear();
    let now = newest.held_column_bytes();
    assert!(now < most, "{now} of {bytes}");
    assert_eq!((memory.held(), ask(&newest)), (now, ask(&Dataset::open(&at).unwrap())));
    drop(newest);
    assert_eq!(memory.held(), 0);
}

#[test]
fn a_dataset_that_is_the_newest_or_in_memory_is_not_reopened() {
    let folder = demo();
    let at = folder.path().join("dataset");
    let opened = Dataset::open(&at).unwrap();
    assert!(opened.reopen().unwrap().is_none());
    assert!(Dataset::from_tables(&Tables::default()).unwrap().reopen().unwrap().is_none());
    fs::remove_dir_all(&at).unwrap();
    assert_eq!(opened.reopen().unwrap_err().to_string(), format!("`{}` holds no dataset", at.display()));
}
