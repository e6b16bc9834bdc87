//! Row groups in memory, and the cache of decoded columns.

use super::counted_cache::CountedCache;
use super::*;
use crate::error::Error;
use crate::model::TableFault;
use crate::query::WhyQuery;
use crate::{Execution, QueryProgress};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use rayon::ThreadPoolBuilder;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::thread;

fn events(rows: usize) -> RecordBatch {
    let texts = |text: fn(usize) -> String| Arc::new(StringArray::from_iter_values((0..rows).map(text))) as ArrayRef;
    let columns = [
        ("account", texts(|_| "a".to_owned())),
        ("opportunityId", texts(|row| format!("{row:06}"))),
        ("type", texts(|_| "sold".to_owned())),
        ("date", texts(|_| "2025-01-31".to_owned())),
        ("eventId", texts(|row| format!("id {row}"))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn a_row_group_holds_only_its_own_texts() {
    let tables = Tables { events: vec![events(100)], row_group_rows: 10, ..Tables::default() };
    let dataset = Dataset::from_tables(&tables).unwrap();
    assert_eq!(dataset.event_row_groups(), 10);
    for (row_group, columns) in dataset.events.iter().zip(read_each(dataset.events(), &EventProjection::default())) {
        let columns = columns.unwrap();
        // The empty text has a code too.
        assert_eq!((row_group.rows(), columns.text("eventId").unwrap().dictionary().len()), (10, 11));
    }
}

/// Passes a dataset of 10 row groups with 10 rows each, a query on it, and a number of threads to `ask`. Returns the
/// progress that is reported, without repetitions: the row group of spend has no rows.
fn reported(threads: usize, ask: impl FnOnce(&Dataset, EventsQuery, Execution)) -> Vec<(u64, u64)> {
    let tables = Tables { events: vec![events(100)], row_group_rows: 10, ..Tables::default() };
    let dataset = Dataset::from_tables(&tables).unwrap();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let reported = reports.clone();
    let progress = QueryProgress::new(move |rows, total| reported.lock().unwrap().push((rows, total)));
    let days = ["2025-01-01", "2025-01-31"].map(|day| day.parse().unwrap());
    let query = EventsQuery::new(["customers"], days[0], days[1]);
    let execution = Execution { progress: Some(progress), threads: NonZeroUsize::new(threads), ..Execution::default() };
    ask(&dataset, query, execution);
    let mut reports = reports.lock().unwrap().clone();
    reports.dedup();
    reports
}

#[test]
fn a_query_reports_each_row_group_that_it_has_read() {
    let mut reports = reported(3, |dataset, query, execution| drop(dataset.run(&query, execution).unwrap()));
    reports.sort_unstable();
    assert_eq!(reports, (1..=10).map(|row_group| (10 * row_group, 100)).collect::<Vec<_>>());
}

#[test]
fn a_query_with_a_pool_reads_on_its_threads() {
    let pool = ThreadPoolBuilder::new().num_threads(2).thread_name(|number| format!("own-{number}")).build().unwrap();
    let dataset = Dataset::from_tables(&Tables { events: vec![events(100)], ..Tables::default() }).unwrap();
    let query = EventsQuery::new(["customers"], "2025-01-01".parse().unwrap(), "2025-01-31".parse().unwrap());
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = names.clone();
    let progress =
        QueryProgress::new(move |_, _| seen.lock().unwrap().push(thread::current().name().map(str::to_owned)));
    let execution = Execution { pool: Some(Arc::new(pool)), progress: Some(progress), ..Execution::default() };
    let answer = dataset.run(&query, execution).unwrap();
    assert_eq!(answer.value(0, "customers"), dataset.query(&query).unwrap().value(0, "customers"));
    let names = names.lock().unwrap();
    assert!(!names.is_empty());
    assert!(names.iter().flatten().all(|name| name.starts_with("own-")), "{names:?}");
}

#[test]
fn an_explanation_reports_the_row_groups_of_the_answer_and_then_those_of_the_lines() {
    let why = |dataset: &Dataset, query, execution| drop(dataset.why(&WhyQuery::new(query), execution).unwrap());
    let once = (1..=10).map(|row_group| (10 * row_group, 100));
    assert_eq!(reported(1, why), once.clone().chain(once).collect::<Vec<_>>());
}

#[test]
fn a_table_without_a_required_column_is_refused() {
    let spend = RecordBatch::try_from_iter([("account", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]).unwrap();
    let tables = Tables { spend: vec![spend], ..Tables::default() };
    let error = Dataset::from_tables(&tables).unwrap_err();
    assert!(matches!(error, Error::Table(TableFault::Schema(_))), "{error:?}");
}

#[test]
fn the_columns_not_read_for_the_longest_time_are_dropped_first() {
    let cache = CountedCache::new(10);
    let held = |row_group| cache.get::<u8>(row_group).is_some();
    for row_group in 0..3 {
        cache.put(row_group, Arc::new(0_u8), 4);
    }
    assert_eq!((held(0), held(1), held(2), cache.bytes()), (false, true, true, 8));
    cache.get::<u8>(1);
    cache.put(3, Arc::new(0_u8), 4);
    assert_eq!((held(1), held(2), held(3)), (true, false, true));
    cache.put(3, Arc::new(0_u8), 6);
    assert_eq!((held(1), held(3), cache.bytes()), (true, true, 10));
    cache.put(4, Arc::new(0_u8), 11);
    assert_eq!((held(1), held(4), cache.bytes()), (false, false, 0));
    cache.put(5, Arc::new(0_u8), 3);
    cache.set_budget(2);
    assert_eq!(cache.bytes(), 0);
}

#[test]
fn columns_give_way_to_queries_and_never_displace_them() {
    let memory = MemoryBudget::new(100);
    let [first, second] = [80, 80].map(|budget| Arc::new(CountedCache::new(budget)));
    // Columns that are already held count.
    (0..4).for_each(|row_group| first.put(row_group, Arc::new(0_u8), 20));
    first.count_against(&memory);
    assert_eq!((first.bytes(), memory.held()), (80, 80));
    second.count_against(&memory);
    (0..2).for_each(|row_group| second.put(row_group, Arc::new(0_u8), 20));
    // The second cache drops its own columns, never those of the first.
    assert_eq!((first.bytes(), second.bytes(), memory.held()), (80, 20, 100));
    let query = memory.reserve(50);
    assert!(query.is_ok());
    assert_eq!((first.bytes(), second.bytes(), memory.held()), (20, 20, 90));
    second.put(2, Arc::new(0_u8), 20);
    assert_eq!((second.get::<u8>(2).is_some(), second.bytes(), memory.held()), (true, 20, 90));
    drop(query);
    assert_eq!(memory.held(), 40);
    drop(first);
    assert_eq!(memory.held(), 20);
}
