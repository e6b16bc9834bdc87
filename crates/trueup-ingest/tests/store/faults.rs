//! A store that fails at any request of an ingest: the dataset is then the old one or the new one, as a whole.

use crate::assert_sound;
use crate::case::{Store, answers, with_store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use trueup_core::message_with_causes;
use trueup_ingest::{Expire, Ingest};
use trueup_testkit::exhaustive::{is_exhaustive, step};
use trueup_testkit::object_server::Fault;

/// Fails one request of the second ingest, or all from it on, at every position that is a multiple of `step`.
/// Checks each time what is left. Returns how many ingests failed, and how many were run.
fn fail_each(store: &Store, fault: Fault, ever_after: bool, step: usize) -> (usize, usize) {
    let (old_url, new_url) = (store.url("old"), store.url("new"));
    for url in [&old_url, &new_url] {
        store.first(url).run().unwrap();
    }
    drop(store.server().take_log());
    store.second(&new_url).run().unwrap();
    let requests = store.server().take_log().len();
    let (old, new) = (answers(&old_url), answers(&new_url));
    assert_ne!(old, new);
    let (mut failed, mut tried) = (0, 0);
    for first in (0..requests).step_by(step) {
        let name = format!("at-{first}");
        let url = store.url(&name);
        trueup_testkit::damage::copy_folder(&store.served("old"), &store.served(&name)).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        store.server().fail(move |_| {
            let number = count.fetch_add(1, Ordering::Relaxed);
            (number == first || ever_after && number > first).then_some(fault)
        });
        let run = store.second(&url).run();
        store.server().heal();
        let what =
            format!("{fault:?} of request {first}: {:?}", run.as_ref().map_err(|error| message_with_causes(error)));
        check(&url, &run.map(drop), &old, &new, &what);
        tried += 1;
        failed += usize::from(what.contains("Err("));
        // When the store works again, the same ingest makes the new dataset.
        store.second(&url).run().unwrap();
        assert_eq!(answers(&url), new, "{what}");
        assert_sound(&url, &what);
        // What could not be removed is of ingests whose records are there.
        let left = store.leftovers(&name);
        let records: Vec<&String> = left.iter().filter(|name| name.starts_with(".trueup-pending-")).collect();
        let has_record =
            |name: &&String| records.iter().any(|record| name.contains(&record[".trueup-pending-".len()..]));
        assert_eq!(left.iter().filter(|name| !has_record(name)).collect::<Vec<_>>(), Vec::<&String>::new(), "{what}");
    }
    println!("{fault:?}: {failed} of {tried} ingests failed");
    (failed, tried)
}

type Answers = (trueup_core::ResultTable, usize);

fn check(url: &Path, run: &Result<(), trueup_ingest::IngestError>, old: &Answers, new: &Answers, what: &str) {
    let found = answers(url);
    match run {
        Ok(()) => assert_eq!(found, *new, "{what}"),
        Err(error) if error.may_be_published() => assert!(found == *new || found == *old, "{what}"),
        Err(error) => {
            assert_eq!(found, *old, "{what}");
            let text = message_with_causes(error);
            assert!(text.contains("s3://bucket/") && !text.contains("SECRET") && !text.contains('\n'), "{text}");
        }
    }
    assert_sound(url, what);
}

/// Checks that a fault of one request is not noticed: each ingest makes the new dataset.
fn check_unnoticed(store: &Store, fault: Fault) {
    let (failed, tried) = fail_each(store, fault, false, step(3));
    assert!(failed == 0 && tried > 4, "{fault:?}: {failed} of {tried}");
}

#[test]
fn an_ingest_survives_a_store_that_fails_once() {
    with_store("faults::an_ingest_survives_a_store_that_fails_once", |store| {
        check_unnoticed(store, Fault::Status(500))
    });
}

#[test]
fn an_ingest_survives_an_overloaded_store() {
    with_store("faults::an_ingest_survives_an_overloaded_store", |store| check_unnoticed(store, Fault::Status(503)));
}

#[test]
fn an_ingest_survives_a_cut_connection() {
    with_store("faults::an_ingest_survives_a_cut_connection", |store| check_unnoticed(store, Fault::Close));
}

#[test]
fn an_ingest_survives_a_lost_answer() {
    with_store("faults::an_ingest_survives_a_lost_answer", |store| check_unnoticed(store, Fault::Lost));
}

#[test]
fn an_ingest_survives_a_failure_after_the_effect() {
    with_store("faults::an_ingest_survives_a_failure_after_the_effect", |store| {
        check_unnoticed(store, Fault::StatusAfter(500))
    });
}

#[test]
fn an_ingest_survives_a_slow_store() {
    with_store("faults::an_ingest_survives_a_slow_store", |store| {
        check_unnoticed(store, Fault::Slow(Duration::from_millis(20)))
    });
}

#[test]
fn an_answer_that_is_cut_short_leaves_the_old_dataset_or_the_new_one() {
    with_store("faults::an_answer_that_is_cut_short_leaves_the_old_dataset_or_the_new_one", |store| {
        fail_each(store, Fault::Cut, false, step(4));
    });
}

#[test]
fn a_list_that_is_cut_short_is_requested_again() {
    with_store("faults::a_list_that_is_cut_short_is_requested_again", |store| {
        let (url, folder) = (store.url("acme"), store.dir().join("expected"));
        std::fs::create_dir_all(store.served("in")).unwrap();
        std::fs::copy(store.dir().join("2.csv"), store.served("in/2.csv")).unwrap();
        for dataset in [&url, &folder] {
            store.first(dataset).run().unwrap();
        }
        let cut = Arc::new(AtomicUsize::new(0));
        let count = cut.clone();
        let mut is_next = false;
        store.server().fail(move |request| {
            // A list is a request for the bucket.
            let is_list = request.method == "GET" && request.path.trim_end_matches('/') == "bucket";
            is_next ^= is_list;
            (is_list && is_next).then(|| {
                count.fetch_add(1, Ordering::Relaxed);
                Fault::Cut
            })
        });
        // The list of inputs, and those of versions before and after the publication.
        let second = |dataset: &Path, input: &Path| Ingest::into(dataset).events(input).threads(1).run();
        second(&url, Path::new("s3://bucket/in/*.csv")).unwrap();
        second(&folder, &store.dir().join("2.csv")).unwrap();
        assert_eq!(answers(&url), answers(&folder));
        let lists = cut.swap(0, Ordering::Relaxed);
        assert!(lists > 2, "{lists} lists");
        assert_eq!(Expire::new(&url).grace(Duration::ZERO).run().unwrap().expired, [1]);
        assert!(cut.load(Ordering::Relaxed) > 0);
        // One that stays cut off is an error that says how often it was requested.
        store.server().fail(|request| (request.path.trim_end_matches('/') == "bucket").then_some(Fault::Cut));
        let error = message_with_causes(&store.second(&url).run().unwrap_err());
        assert!(error.contains("cannot list `s3://bucket/acme`") && error.contains("(8 repetitions in "), "{error}");
        store.server().heal();
        assert_sound(&url, "");
    });
}

#[test]
fn a_changed_byte_leaves_the_old_dataset_or_the_new_one() {
    with_store("faults::a_changed_byte_leaves_the_old_dataset_or_the_new_one", |store| {
        fail_each(store, Fault::Flip, false, step(4));
    });
}

#[test]
fn a_token_that_expires_leaves_the_old_dataset_or_the_new_one() {
    with_store("faults::a_token_that_expires_leaves_the_old_dataset_or_the_new_one", |store| {
        let (failed, tried) = fail_each(store, Fault::Status(403), true, step(2));
        // After the publication only the record is removed.
        assert!(failed + 3 > tried && failed > 5, "{failed} of {tried}");
    });
}

#[test]
fn a_store_that_is_lost_leaves_the_old_dataset_or_the_new_one() {
    with_store("faults::a_store_that_is_lost_leaves_the_old_dataset_or_the_new_one", |store| {
        // Each request is repeated for many seconds, so trying every position would take too long.
        let steps = if is_exhaustive() { 1 } else { 25 };
        let (failed, _) = fail_each(store, Fault::Close, true, steps);
        assert!(failed > 0, "{failed}");
    });
}
