use super::{Evict, MemoryBudget, MemoryLease, NoRoom};
use crate::dataset::{Dataset, Tables};
use crate::query::{EventsQuery, Interval};
use crate::{Error, Execution, Interrupt};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

#[test]
fn a_query_may_take_half_of_what_the_others_leave() {
    let budget = MemoryBudget::new(1_000);
    let no_room = |bytes| NoRoom { bytes, limit: 1_000 };
    assert_eq!(budget.reserve(501).unwrap_err(), no_room(501));
    let mut held = Vec::new();
    for bytes in [500, 250, 125, 62, 31, 16, 8, 4, 2, 1] {
        assert_eq!(budget.reserve(bytes + 1).unwrap_err(), no_room(bytes + 1));
        held.push(budget.reserve(bytes).unwrap());
    }
    assert_eq!((budget.held(), budget.peak()), (999, 999));
    assert!(budget.reserve(1).is_err() && budget.reserve(0).is_ok());
    assert!(no_room(501).is_too_large() && !no_room(500).is_too_large());
    assert_eq!(
        [501, 500].map(|bytes| no_room(bytes).to_string()),
        [
            "the query needs at least 501 bytes of memory, and one may take 500; reduce the fields, the accounts or \
             the range",
            "the query needs at least 500 bytes of memory, but other queries and answers leave too few of the 1000 \
             bytes; try again when they are done"
        ]
    );
    held.remove(0);
    assert_eq!((budget.held(), budget.peak(), budget.reserve(250).is_ok()), (499, 999, true));
    held.clear();
    assert_eq!(budget.held(), 0);
}

#[test]
fn a_user_may_take_half_of_what_the_others_leave() {
    let budget = MemoryBudget::new(1_000);
    let [anna, ben, carl] = ["anna", "ben", "carl"].map(|user| budget.for_user(user));
    let mut held: Vec<_> = (0..5).map(|_| anna.reserve(100).unwrap()).collect();
    let refused = anna.reserve(1).unwrap_err();
    assert_eq!((refused, refused.is_too_large()), (NoRoom { bytes: 1, limit: 1_000 }, false));
    assert!(anna.reserve(0).is_ok());
    // Another budget for the same user has the same share; every other user has half of the rest.
    assert!(budget.for_user("anna").reserve(1).is_err());
    assert_eq!(ben.reserve(251).unwrap_err().bytes, 251);
    held.push(ben.reserve(250).unwrap());
    assert!(carl.reserve(126).is_err());
    held.push(carl.reserve(125).unwrap());
    // The process itself has no share of its own.
    held.push(budget.reserve(62).unwrap());
    assert_eq!((budget.held(), budget.peak()), (937, 937));
    held.remove(0);
    assert!(anna.reserve(1).is_err(), "the others hold 437 bytes, of which half is 281");
    held.drain(..2);
    drop(anna.reserve(81).unwrap());
    held.clear();
    assert_eq!((budget.held(), anna.reserve(500).is_ok()), (0, true));
}

#[test]
fn a_reservation_grows_and_shrinks() {
    let budget = MemoryBudget::new(1_000);
    let anna = budget.for_user("anna");
    let (mut first, _second) = (anna.reserve(100).unwrap(), anna.reserve(100).unwrap());
    assert_eq!(first.resize(401).unwrap_err(), NoRoom { bytes: 401, limit: 1_000 });
    assert_eq!((first.bytes(), budget.held()), (100, 200));
    first.resize(400).unwrap();
    assert!(anna.reserve(1).is_err() && budget.for_user("ben").reserve(250).is_ok());
    first.resize(10).unwrap();
    assert_eq!((first.bytes(), budget.held()), (10, 110));
    drop(first);
    assert_eq!(budget.held(), 100);
}

#[test]
fn a_query_uses_its_reserved_bytes_before_it_takes_more() {
    let budget = MemoryBudget::new(1_000);
    let reservation = Arc::new(budget.reserve(100).unwrap());
    let [mut one, mut other] = [(); 2].map(|()| MemoryLease::new(Some(reservation.clone())));
    one.set(|| 60).unwrap();
    other.set(|| 40).unwrap();
    assert_eq!(budget.held(), 100);
    other.set(|| 440).unwrap();
    assert_eq!(budget.held(), 500);
    assert_eq!(one.set(|| 61).unwrap_err(), NoRoom { bytes: 501, limit: 1_000 });
    drop(other);
    assert_eq!(budget.held(), 500);
    one.set(|| 300).unwrap();
    one.raise(|| 100).unwrap();
    assert_eq!((one.raise(|| 501).unwrap_err().bytes, budget.held()), (501, 500));
    one.settle();
    one.raise(|| 300).unwrap();
    let more = one.more(100).unwrap();
    assert_eq!(budget.held(), 400);
    drop((more, one));
    assert_eq!(Arc::into_inner(reservation).map(|reservation| reservation.bytes()), Some(400));
    assert_eq!(budget.held(), 0);
}

#[test]
fn a_query_without_a_reservation_is_not_counted() {
    let mut share = MemoryLease::new(None);
    share.set(|| usize::MAX).unwrap();
    share.more(usize::MAX).unwrap();
}

#[test]
fn a_request_waits_for_memory() {
    let budget = MemoryBudget::new(1_000);
    let interrupt = Interrupt::default();
    let held = budget.reserve(400).unwrap();
    assert!(budget.reserve_within(400, &Interrupt::after(Duration::ZERO)).is_err());
    thread::scope(|scope| {
        let waits = scope.spawn(|| budget.reserve_within(400, &interrupt).map(|reserved| reserved.bytes()));
        thread::sleep(Duration::from_millis(50));
        drop(held);
        assert_eq!(waits.join().unwrap(), Ok(400));
        // A request does not wait for bytes that can never be free, nor after it was canceled.
        assert!(budget.reserve_within(501, &interrupt).is_err());
        let _held = budget.reserve(400).unwrap();
        let waits = scope.spawn(|| budget.reserve_within(400, &interrupt).is_err());
        interrupt.cancel();
        assert!(waits.join().unwrap());
    });
}

/// A cache that drops 100 bytes at a time. While it first does, another thread adds more than that.
struct RefilledCache {
    budget: MemoryBudget,
    bytes: Mutex<usize>,
    refill: Mutex<usize>,
}

impl Evict for RefilledCache {
    fn evict(&self, _: usize) -> usize {
        let (mut bytes, refill) = (self.bytes.lock().unwrap(), std::mem::take(&mut *self.refill.lock().unwrap()));
        let dropped = 100.min(*bytes);
        assert!(self.budget.count_columns(dropped, 0) && self.budget.count_columns(0, refill));
        *bytes = *bytes - dropped + refill;
        dropped
    }
}

#[test]
fn columns_are_dropped_while_another_thread_adds_some() {
    let budget = MemoryBudget::new(1_000);
    assert!(budget.count_columns(0, 800));
    let cache = Arc::new(RefilledCache { budget: budget.clone(), bytes: Mutex::new(800), refill: Mutex::new(200) });
    let watched: Weak<RefilledCache> = Arc::downgrade(&cache);
    budget.watch(watched);
    let reserved = budget.reserve(400).unwrap();
    assert_eq!((reserved.bytes(), *cache.bytes.lock().unwrap(), budget.held()), (400, 600, 1_000));
}

/// Makes a dataset of row groups of at most `row_group_rows` rows, one for each customer.
fn dataset(customers: usize, row_group_rows: usize) -> Dataset {
    let column = |text: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..customers).map(text)))
    };
    let events = RecordBatch::try_from_iter([
        ("account", column(&|row| ["east", "west"][row % 2].to_owned())),
        ("opportunityId", column(&|row| format!("customer-{row:06}"))),
        ("type", column(&|_| "lead-originated".to_owned())),
        ("date", column(&|row| format!("2025-{:02}-{:02}", row % 3 + 1, row % 28 + 1))),
        ("campaign", column(&|row| format!("campaign {}", row % 70))),
    ]);
    Dataset::from_tables(&Tables { events: vec![events.unwrap()], row_group_rows, ..Tables::default() }).unwrap()
}

#[test]
fn a_query_gives_back_the_memory_that_it_took() {
    let dataset = dataset(5_000, 500);
    let day = |text: &str| text.parse().unwrap();
    for fields in
        [&["leads"][..], &["campaign", "leads", "total"], &["opportunityId", "campaign", "noSuchField", "bookRate"]]
    {
        let query = EventsQuery::new(fields.to_vec(), day("2025-01-01"), day("2025-03-31"));
        let query = query.interval(Interval::Month).allow_unknown(true);
        let table = dataset.query(&query).unwrap();
        for threads in [1, 3] {
            let run = |budget: &MemoryBudget| {
                let memory = Some(Arc::new(budget.reserve(0).unwrap()));
                let threads = NonZeroUsize::new(threads);
                dataset.run(&query, Execution { memory, threads, ..Execution::default() })
            };
            let roomy = MemoryBudget::new(1 << 30);
            let counted = run(&roomy).unwrap();
            let peak = roomy.peak();
            assert!(counted == table && counted.bytes() > 0);
            assert_eq!(roomy.held(), counted.bytes());
            let more = counted.reserve_more(1_000).unwrap();
            assert_eq!(roomy.held(), counted.bytes() + 1_000);
            drop((counted, more));
            assert_eq!(roomy.held(), 0);
            assert!(peak >= table.bytes(), "{fields:?}: {peak} {}", table.bytes());
            // The bytes of the table follow from its columns and texts.
            let least = table.len() * 4 * fields.len().min(2);
            assert!((least..64 * (table.len() + 1_000) * fields.len()).contains(&table.bytes()), "{}", table.bytes());
            // A query may take half of a budget.
            let narrow = MemoryBudget::new(table.bytes());
            assert!(matches!(run(&narrow), Err(Error::NoRoom(missing)) if missing.is_too_large()));
            assert_eq!(narrow.held(), 0);
            // Memory is counted before each batch: without any room, the first batch is too much.
            let Err(Error::NoRoom(first)) = run(&MemoryBudget::new(2)) else { panic!("there was room") };
            assert!(first.bytes < peak && (table.len() < 5_000 || first.bytes < peak / 3), "{first:?} {peak}");
            if threads == 1 {
                let enough = MemoryBudget::new(2 * peak);
                assert!(run(&enough).unwrap() == table);
                assert!(run(&MemoryBudget::new(2 * peak - 2)).is_err());
            }
        }
    }
}

#[test]
fn a_query_counts_what_a_batch_may_add_before_it_adds_it() {
    let day = |text: &str| text.parse().unwrap();
    let of_customers = |row_group_rows| {
        let dataset = dataset(20_000, row_group_rows);
        let query = EventsQuery::new(["opportunityId", "leads"], day("2025-01-01"), day("2025-03-31"));
        move |budget: &MemoryBudget| {
            let memory = Some(Arc::new(budget.reserve(0).unwrap()));
            dataset.run(&query, Execution { memory, threads: NonZeroUsize::new(1), ..Execution::default() })
        }
    };
    // All rows are in one row group, which has several batches.
    let run = of_customers(20_000);
    let roomy = MemoryBudget::new(1 << 30);
    let table = run(&roomy).unwrap();
    let Err(Error::NoRoom(first)) = run(&MemoryBudget::new(2)) else { panic!("there was room") };
    assert!(first.bytes < roomy.peak() / 4, "{first:?} {}", roomy.peak());
    // The query needs about as much in 40 row groups, which have a batch each.
    let in_batches = MemoryBudget::new(1 << 30);
    assert!(of_customers(500)(&in_batches).unwrap() == table);
    assert!(in_batches.peak() * 3 > roomy.peak() * 2 && roomy.peak() * 3 > in_batches.peak() * 2);
}
