//! The publication of a version: of two writers one wins, and if the answer of the store is lost, the outcome is found
//! out.

use crate::case::{Store, answers, with_store};
use crate::{assert_sound, local_leftovers};
use std::collections::HashSet;
use std::fs;
use std::io::{self, Cursor, Read};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use trueup_core::dataset::manifest_file;
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_ingest::{ErrorKind, Expire, FileFormat, Ingest, IngestError, IngestSummary, Phase, Source};
use trueup_testkit::exhaustive::is_exhaustive;
use trueup_testkit::object_server::{Fault, Requested};

fn is_commit(request: &Requested) -> bool {
    request.method == "PUT" && request.path.contains("/manifest-")
}

/// Lets two ingests write to a dataset at the same time, each of which may wait for the other until `wait` is over.
fn race(store: &Store, round: usize, wait: Duration) -> [Result<IngestSummary, IngestError>; 2] {
    let (url, start) = (store.url("acme"), Barrier::new(2));
    let ingest = |writer: usize| {
        let ingest = store.one(&url, 1000 + 2 * round + writer).wait(wait);
        start.wait();
        ingest.run()
    };
    thread::scope(|scope| {
        let threads = [0, 1].map(|writer| {
            let ingest = &ingest;
            scope.spawn(move || ingest(writer))
        });
        threads.map(|thread| thread.join().unwrap())
    })
}

#[test]
fn of_two_writers_that_may_wait_one_begins_again() {
    with_store("commit::of_two_writers_that_may_wait_one_begins_again", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let mut records = HashSet::new();
        store.server().fail(move |request| {
            if request.method == "PUT" && request.path.contains("/.trueup-pending-") {
                records.insert(request.path.clone());
            }
            (is_commit(request) && records.len() < 2).then_some(Fault::Status(503))
        });
        let outcomes = race(store, 0, Duration::from_secs(600));
        let mut versions = outcomes.map(|outcome| outcome.unwrap().version);
        let last = usize::from(versions[1] > versions[0]);
        versions.sort_unstable();
        assert_eq!(versions, [2, 3]);
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        // The same event is in both inputs, and the later version has the event of its own input.
        let expected = store.dir().join("expected");
        store.first(&expected).run().unwrap();
        store.one(&expected, 1000 + last).run().unwrap();
        assert_eq!(answers(&url), answers(&expected));
        assert_sound(&url, "");
        assert_eq!(local_leftovers(), Vec::<String>::new());
    });
}

#[test]
fn an_input_that_can_be_read_once_is_not_read_again() {
    with_store("commit::an_input_that_can_be_read_once_is_not_read_again", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let (other, other_url) = (store.one(&url, 7), url.clone());
        let text = fs::read(store.dir().join("one-7.csv")).unwrap();
        let mut other = Some(other);
        // While this ingest receives its rows, another one is published.
        let reader = BeforeEnd { rest: Cursor::new(text), run: move || drop(other.take().map(|other| other.run())) };
        let ingest = Ingest::into(&url).events(Source::reader(FileFormat::CSV, reader)).wait(Duration::from_secs(600));
        let error = ingest.run().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Manifest(ManifestError::Conflict { .. })), "{error}");
        assert_eq!(manifest_file::versions(&other_url).unwrap(), [1, 2]);
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
    });
}

#[cfg(unix)]
#[test]
fn rejects_in_a_pipe_are_not_written_again() {
    with_store("commit::rejects_in_a_pipe_are_not_written_again", |store| {
        let (url, pipe) = (store.url("acme"), store.dir().join("pipe"));
        store.first(&url).run().unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let rows = "a01,one,sold,2025-02-01,one\na01,two,sold,never,two\n";
        store.write("faulty.csv", &format!("account,opportunityId,type,date,eventId\n{rows}"));
        // Another ingest publishes the version while the files of this one are uploaded.
        let mut other = Some(store.one(&url, 7));
        let ingest = Ingest::into(&url).events(store.dir().join("faulty.csv")).rejects(&pipe);
        let ingest = ingest.wait(Duration::from_secs(600)).progress(move |now| {
            if let Some(other) = other.take_if(|_| now.phase == Phase::Uploading) {
                other.run().unwrap();
            }
        });
        let reader = thread::spawn(move || fs::read_to_string(pipe).unwrap());
        let error = ingest.run().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Manifest(ManifestError::Conflict { .. })), "{error}");
        let rejects = reader.join().unwrap();
        assert_eq!(rejects.lines().count(), 1, "{rejects}");
        assert_eq!(manifest_file::versions(&url).unwrap(), [1, 2]);
    });
}

#[test]
fn the_number_of_an_expired_version_is_not_published_again() {
    with_store("commit::the_number_of_an_expired_version_is_not_published_again", |store| {
        let (url, expected) = (store.url("acme"), store.dir().join("expected"));
        for dataset in [&expected, &url] {
            store.first(dataset).run().unwrap();
        }
        let text = fs::read(store.dir().join("2.csv")).unwrap();
        let mut others = Some([store.one(&url, 7), store.one(&url, 8)]);
        let expired = url.clone();
        // While this ingest of version 2 receives its rows, versions 2 and 3 are published, and version 2 expires.
        let run = move || {
            for other in others.take().into_iter().flatten() {
                other.run().unwrap();
            }
            Expire::new(&expired).run().unwrap();
        };
        let reader = BeforeEnd { rest: Cursor::new(text), run };
        let error = Ingest::into(&url).events(Source::reader(FileFormat::CSV, reader)).run().unwrap_err();
        let taken = matches!(error.kind(), ErrorKind::Manifest(ManifestError::Conflict { version: 2, .. }));
        assert!(taken && !error.may_be_published(), "{error}");
        assert_eq!(manifest_file::versions(&url).unwrap(), [3]);
        for total in [7, 8] {
            store.one(&expected, total).run().unwrap();
        }
        assert_eq!(answers(&url), answers(&expected));
        assert_sound(&url, "");
    });
}

/// A reader that calls a function at its end.
struct BeforeEnd<F> {
    rest: Cursor<Vec<u8>>,
    run: F,
}

impl<F: FnMut()> Read for BeforeEnd<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        if read == 0 {
            (self.run)();
        }
        Ok(read)
    }
}

#[test]
fn of_two_writers_exactly_one_wins() {
    with_store("commit::of_two_writers_exactly_one_wins", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let rounds = if is_exhaustive() { 200 } else { 12 };
        for round in 0..rounds {
            let version = u64::try_from(round).unwrap() + 2;
            // Nobody can publish before both have read the version and made their records.
            let mut records = HashSet::new();
            store.server().fail(move |request| {
                if request.method == "PUT" && request.path.contains("/.trueup-pending-") {
                    records.insert(request.path.clone());
                }
                (is_commit(request) && records.len() < 2).then_some(Fault::Status(503))
            });
            let outcomes = race(store, round, Duration::ZERO);
            let winner = outcomes.iter().position(Result::is_ok).unwrap();
            assert_eq!(outcomes[winner].as_ref().unwrap().version, version);
            let error = outcomes[1 - winner].as_ref().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Manifest(ManifestError::Conflict { .. })), "{error}");
            assert_eq!(
                error.to_string(),
                format!(
                    "another writer published version {version} of `s3://bucket/acme` first; try again, or pass `--wait 5m`, \
                     with which the command begins again by itself"
                )
            );
            assert_eq!(manifest_file::versions(&url).unwrap().last(), Some(&version));
            assert_eq!(store.leftovers("acme"), Vec::<String>::new());
            // The dataset is the winner's.
            let expected = store.dir().join(format!("expected-{round}"));
            store.first(&expected).run().unwrap();
            store.one(&expected, 1000 + 2 * round + winner).run().unwrap();
            assert_eq!(answers(&url), answers(&expected));
        }
        assert_sound(&url, "");
        assert_eq!(local_leftovers(), Vec::<String>::new());
    });
}

#[test]
fn a_lost_answer_to_the_publication_is_found_out() {
    with_store("commit::a_lost_answer_to_the_publication_is_found_out", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        for (round, fault) in
            [Fault::Lost, Fault::StatusAfter(500), Fault::StatusAfter(503), Fault::Close, Fault::Status(500)]
                .into_iter()
                .enumerate()
        {
            let mut is_first = true;
            store.server().fail(move |request| (is_commit(request) && std::mem::take(&mut is_first)).then_some(fault));
            let summary = store.one(&url, round).run().unwrap();
            assert_eq!(summary.version, u64::try_from(round).unwrap() + 2, "{fault:?}");
            assert_eq!(store.leftovers("acme"), Vec::<String>::new(), "{fault:?}");
        }
        assert_sound(&url, "");
    });
}

#[test]
fn a_publication_whose_outcome_stays_unknown_keeps_its_files() {
    with_store("commit::a_publication_whose_outcome_stays_unknown_keeps_its_files", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        // The answer is lost, and from then on the store refuses every request.
        let mut is_over = false;
        store.server().fail(move |request| {
            let fault = if is_over { Some(Fault::Status(403)) } else { is_commit(request).then_some(Fault::Lost) };
            is_over |= is_commit(request);
            fault
        });
        let error = store.second(&url).run().unwrap_err();
        assert!(error.may_be_published(), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with("it is unknown whether version 2 is published: cannot create `s3://bucket/acme/"),
            "{text}"
        );
        assert!(text.ends_with("check the store, then run `trueup verify`") && !text.contains("SECRET"), "{text}");
        store.server().heal();
        // It was published, and the files are there.
        assert_eq!(manifest_file::versions(&url).unwrap(), [1, 2]);
        assert_sound(&url, "");
        assert_eq!(store.second(&url).run().unwrap().version, 3);
    });
}

#[test]
fn a_refused_publication_leaves_the_old_dataset() {
    with_store("commit::a_refused_publication_leaves_the_old_dataset", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let old = (store.names("acme"), answers(&url));
        store.server().fail(|request| is_commit(request).then_some(Fault::Status(403)));
        let error = store.second(&url).run().unwrap_err();
        assert!(!error.may_be_published(), "{error}");
        let text = trueup_core::message_with_causes(&error);
        assert!(
            text.starts_with("cannot create `s3://bucket/acme/manifest-00000002.json`: access is denied"),
            "{text}"
        );
        store.server().heal();
        assert_eq!((store.names("acme"), answers(&url)), old);
    });
}

#[test]
fn writers_of_the_same_store_do_not_disturb_each_other() {
    with_store("commit::writers_of_the_same_store_do_not_disturb_each_other", |store| {
        let start = Arc::new(Barrier::new(4));
        thread::scope(|scope| {
            for writer in 0..4 {
                let start = start.clone();
                scope.spawn(move || {
                    let url = store.url(&format!("of-{writer}"));
                    start.wait();
                    for round in 0..3 {
                        store.one(&url, 10 * writer + round).run().unwrap();
                    }
                    assert_sound(&url, "");
                    assert_eq!(store.leftovers(&format!("of-{writer}")), Vec::<String>::new());
                });
            }
        });
        assert_eq!(local_leftovers(), Vec::<String>::new());
    });
}
