//! How events are arranged in row groups and files. Little memory, and spilled events, change nothing.

use crate::dataset::{Case, HEADER, random_events, write_csv, write_parquet};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::column::page::Page;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::time::UNIX_EPOCH;
use trueup_core::Day;
use trueup_core::dataset::manifest::{FileLists, Manifest};
use trueup_core::dataset::{Commit, CommitOperation, Verification};
use trueup_core::model::QuarterSpan;

/// A customer of a row group.
#[derive(Debug)]
struct Customer {
    number: i32,
    account: String,
    id: String,
    days: Vec<u16>,
}

/// Checks that row groups hold whole customers in order, all of the same period, and at most `group_rows` rows, and
/// that customers are numbered in order. The case must have periods of every kind.
fn check_layout(case: &Case, group_rows: usize) {
    let mut seen = BTreeSet::new();
    let mut periods = BTreeMap::new();
    for file in case.manifest().events {
        let mut next = 0;
        for group in row_groups(&case.dataset().join(&file.path)) {
            assert!(group.iter().map(|customer| customer.days.len()).sum::<usize>() <= group_rows);
            let key = |customer: &Customer| (customer.account.clone(), customer.days[0], customer.id.clone());
            assert!(group.is_sorted_by_key(key), "{group:?}");
            let period = period(&group[0]);
            *periods.entry(period).or_insert(0) += 1;
            for customer in group {
                assert_eq!(customer.number, next);
                next += 1;
                assert_eq!(self::period(&customer), period, "{customer:?}");
                assert!(customer.days.is_sorted());
                assert!(seen.insert((customer.account, customer.id)));
            }
        }
    }
    let crosses = |period: &QuarterSpan| matches!(period, QuarterSpan::Near { first, last } if first != last);
    let stays = |period: &QuarterSpan| matches!(period, QuarterSpan::Near { first, last } if first == last);
    assert!(periods.keys().filter(|period| stays(period)).count() > 2);
    assert!(periods.keys().any(crosses) && periods.contains_key(&QuarterSpan::Far));
    assert_eq!(Verification::of(case.dataset(), None).unwrap().faults, Vec::<String>::new());
}

fn period(customer: &Customer) -> QuarterSpan {
    QuarterSpan::of(Day::from_number(customer.days[0]), Day::from_number(*customer.days.last().unwrap()))
}

/// Returns the customers of each row group of a file.
fn row_groups(path: &Path) -> Vec<Vec<Customer>> {
    let open = || ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let read = |group| {
        let reader = open().with_row_groups(vec![group]).build().unwrap();
        customers(&reader.map(Result::unwrap).collect::<Vec<_>>())
    };
    (0..open().metadata().num_row_groups()).map(read).collect()
}

fn customers(batches: &[RecordBatch]) -> Vec<Customer> {
    let mut customers: Vec<Customer> = Vec::new();
    for batch in batches {
        let text = |name| batch.column_by_name(name).unwrap().as_string::<i32>();
        let (accounts, ids) = (text("account"), text("opportunityId"));
        let days = batch.column_by_name("date").unwrap().as_primitive::<Date32Type>();
        for (row, number) in batch.column(0).as_primitive::<Int32Type>().values().iter().copied().enumerate() {
            let (account, id) = (accounts.value(row).to_owned(), ids.value(row).to_owned());
            let day = u16::try_from(days.value(row)).unwrap();
            match customers.last_mut() {
                Some(last) if last.number == number => {
                    assert_eq!((&last.account, &last.id), (&account, &id));
                    last.days.push(day);
                }
                _ => customers.push(Customer { number, account, id, days: vec![day] }),
            }
        }
    }
    customers
}

#[test]
fn a_row_group_has_customers_of_one_period() {
    let case = Case::new();
    let header = "account,opportunityId,type,date\n";
    let first =
        "a,1,sold,2025-01-31\na,2,sold,2025-02-01\na,3,sold,2025-01-01\na,4,sold,2025-03-31\nb,1,sold,2025-01-05\n";
    case.events("1.csv", &format!("{header}{first}"));
    let shown = |case: &Case| {
        let path = case.dataset().join(&case.manifest().events[0].path);
        let name = |customer: &Customer| format!("{}{}", customer.account, customer.id);
        row_groups(&path).iter().map(|group| group.iter().map(name).collect()).collect::<Vec<Vec<_>>>()
    };
    assert_eq!(shown(&case), [["a3", "a1", "a2", "a4", "b1"]]);
    // Later events may move a customer to another period, though its start remains.
    let later = "a,1,closed,2025-03-31\na,2,closed,2025-04-01\na,3,closed,2025-07-01\nb,2,sold,2024-12-31\n";
    case.events("2.csv", &format!("{header}{later}"));
    assert_eq!(shown(&case), [vec!["b2"], vec!["a1", "a4", "b1"], vec!["a2"], vec!["a3"]]);
}

#[test]
fn a_full_row_group_is_written_before_open_ones() {
    let case = Case::new();
    let rows: String = ["01-02", "05-02", "05-03", "01-03", "05-04", "05-05"]
        .iter()
        .zip(["a,1", "a,2", "a,3", "b,1", "b,2", "b,3"])
        .map(|(day, customer)| format!("{customer},sold,2025-{day}\n"))
        .collect();
    let path = case.file("a.csv", format!("account,opportunityId,type,date\n{rows}"));
    case.ingest().events(path).row_group_rows(4).run().unwrap();
    assert_eq!(
        case.stored_events().iter().map(|row| &row[..3]).collect::<Vec<_>>(),
        // First the row group of May that ended with account `a`, because it was half full; then January; then the
        // other customers of May.
        ["a|2", "a|3", "a|1", "b|1", "b|2", "b|3"]
    );
}

#[test]
fn a_dictionary_has_each_text_once() {
    let case = Case::new();
    let accounts = ["a", "b", "c"].map(|account| format!("{account},1,sold,2025-01-31\n{account},2,sold,2025-01-31\n"));
    case.events("1.csv", &format!("account,opportunityId,type,date\n{}", accounts.concat()));
    let file = SerializedFileReader::new(File::open(case.dataset().join(&case.manifest().events[0].path)).unwrap());
    let file = file.unwrap();
    let group = file.get_row_group(0).unwrap();
    let is_id = |column: &usize| group.metadata().column(*column).column_path().string() == "opportunityId";
    let column = (0..group.num_columns()).find(is_id).unwrap();
    let first = group.get_column_page_reader(column).unwrap().get_next_page().unwrap();
    // The six customers have two ids.
    assert!(matches!(first, Some(Page::DictionaryPage { num_values: 2, .. })), "{first:?}");
}

/// Removes the random ids from the names of event files. Also removes the lists of files, which hold these names, those
/// of batches, and the time of the commit.
fn without_ids(mut manifest: Manifest) -> Manifest {
    manifest.lists = FileLists::default();
    manifest.batches.clear();
    manifest.commit = Commit { time: UNIX_EPOCH.into(), operation: CommitOperation::Ingest, duration_ms: 0 };
    for file in &mut manifest.events {
        file.path.truncate("events/00000001-0000".len());
    }
    manifest
}

#[test]
fn events_that_are_spilled_make_the_same_files() {
    // The second ingest touches nearly all customers and therefore writes all files again, whatever its memory.
    let (first, second) = (random_events(1_000, 1), random_events(2_500, 2));
    let ingest = |memory: usize, threads: usize| {
        let case = Case::new();
        write_csv((&HEADER, &first), &case.path("1.csv"));
        write_parquet((&HEADER, &second), 100, &case.path("2.parquet"));
        // Only this row has the column `agent`.
        let later = "{\"account\":\"account-01\",\"opportunityId\":\"customer-7\",\"type\":\"sold\",\"date\":\"2025-03-01\",\"agent\":\"x\"}\n";
        let later = case.file("3.ndjson", later);
        let sized = |ingest: trueup_ingest::Ingest| {
            ingest.memory(memory).threads(threads).batch_rows(64).row_group_rows(100).file_rows(700)
        };
        let one = sized(case.ingest().events(case.path("1.csv"))).run().unwrap();
        let two = sized(case.ingest().events(case.path("2.parquet")).events(later)).run().unwrap();
        (case, one.events, two.events)
    };
    let (whole, ..) = ingest(1 << 30, 1);
    assert!(whole.manifest().events.len() > 2);
    check_layout(&whole, 100);
    for (memory, threads) in [(1, 2), (30_000, 2), (200_000, 1), (600_000, 2)] {
        let (spilled, one, two) = ingest(memory, threads);
        let (_, one_whole, two_whole) = ingest(1 << 30, 2);
        assert_eq!((one, two), (one_whole, two_whole));
        assert_eq!(spilled.stored_events(), whole.stored_events(), "{memory}");
        assert_eq!(without_ids(spilled.manifest()), without_ids(whole.manifest()), "{memory}");
    }
}
