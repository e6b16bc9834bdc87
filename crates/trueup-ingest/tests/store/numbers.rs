//! The number of a version that has expired is never free again, whenever a request reaches the store; and what a
//! writer does that cannot find out whether it has published.

use crate::assert_sound;
use crate::case::{Store, answers, with_store};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime};
use trueup_core::Dataset;
use trueup_core::dataset::manifest_file::{self, ManifestError};
use trueup_core::query::EventsQuery;
use trueup_ingest::{ErrorKind, Expire, Forget, Ingest, IngestError, IngestSummary, Restore};
use trueup_testkit::damage::copy_folder;
use trueup_testkit::object_server::{Fault, Requested};
use trueup_testkit::random::Random;
use trueup_testkit::search::files_with;

/// The customer to forget; no other text has its id.
const ANN: &str = "ann-7c1f";

/// The name of the manifest of version 2.
const SECOND: &str = "manifest-00000002.json";

fn is_second(request: &Requested, method: &str) -> bool {
    request.method == method && request.path.ends_with(SECOND)
}

fn is_publication(request: &Requested, version: u64) -> bool {
    request.method == "PUT" && request.path.ends_with(&manifest_file::file_name(version))
}

fn is_conflict(error: &IngestError) -> bool {
    !error.may_be_published() && matches!(error.kind(), ErrorKind::Manifest(ManifestError::Conflict { .. }))
}

/// Runs an ingest of version 2 whose publication is held back while `meanwhile` runs.
fn held_back(store: &Store, ingest: Ingest, meanwhile: impl FnOnce()) -> Result<IngestSummary, IngestError> {
    writer_held_back(store, 2, || ingest.run(), meanwhile)
}

/// Runs a writer whose publication of a version is held back while `meanwhile` runs.
fn writer_held_back<T: Send>(
    store: &Store,
    version: u64,
    writer: impl FnOnce() -> T + Send,
    meanwhile: impl FnOnce(),
) -> T {
    let (arrived, arrives) = channel();
    let mut arrived: Option<Sender<()>> = Some(arrived);
    store.server().fail(move |request| {
        // Only the first one: others publish versions meanwhile.
        let held = arrived.take_if(|_| is_publication(request, version))?;
        held.send(()).unwrap();
        Some(Fault::Held)
    });
    thread::scope(|scope| {
        let writer = scope.spawn(writer);
        arrives.recv().unwrap();
        meanwhile();
        store.server().release();
        writer.join().unwrap()
    })
}

/// Publishes versions 2 and 3, and lets all but the newest expire.
fn two_more_and_expire(store: &Store, url: &Path) {
    for total in [7, 8] {
        store.one(url, total).run().unwrap();
    }
    assert_eq!(Expire::new(url).grace(Duration::ZERO).run().unwrap().kept, [3]);
}

/// Checks that a dataset is the one that [`two_more_and_expire`] has made.
fn check_third(store: &Store, url: &Path) {
    assert_eq!(manifest_file::versions(url).unwrap(), [3]);
    let expected = store.dir().join("expected");
    if !expected.exists() {
        store.first(&expected).run().unwrap();
        [7, 8].into_iter().for_each(|total| drop(store.one(&expected, total).run().unwrap()));
    }
    assert_eq!(answers(url), answers(&expected));
    assert_sound(url, "");
    let error = Dataset::open_as_of(url, 2).unwrap_err().to_string();
    assert_eq!(error, format!("version 2 of `{}` has expired; the dataset has version 3", url.display()));
}

/// Makes all manifests and tombstones of a dataset two hours older.
fn age(store: &Store, dataset: &str) {
    for name in store.names(dataset).iter().filter(|name| name.starts_with("manifest-")) {
        let file = File::options().write(true).open(store.served(dataset).join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(2 * 3_600)).unwrap();
    }
}

#[test]
fn a_slow_publication_does_not_get_the_number_of_an_expired_version() {
    with_store("numbers::a_slow_publication_does_not_get_the_number_of_an_expired_version", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let late = held_back(store, store.second(&url), || two_more_and_expire(store, &url));
        assert!(is_conflict(late.as_ref().unwrap_err()), "{late:?}");
        check_third(store, &url);
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        // With a wait, the same ingest begins again, and has the next number.
        assert_eq!(store.second(&url).run().unwrap().version, 4);
    });
}

#[test]
fn a_publication_that_is_repeated_does_not_get_the_number_of_an_expired_version() {
    with_store("numbers::a_publication_that_is_repeated_does_not_get_the_number_of_an_expired_version", |store| {
        let (url, other) = (store.url("acme"), store.url("other"));
        store.first(&url).run().unwrap();
        copy_folder(&store.served("acme"), &store.served("other")).unwrap();
        two_more_and_expire(store, &other);
        // The store answers 503 six times. By then, others have published versions, and the first has expired.
        let (from, to) = (store.served("other"), store.served("acme"));
        let mut puts = 0;
        store.server().fail(move |request| {
            puts += usize::from(is_second(request, "PUT"));
            if puts == 6 && is_second(request, "PUT") {
                copy_folder(&from, &to).unwrap();
            }
            (is_second(request, "PUT") && puts <= 6).then_some(Fault::Status(503))
        });
        let error = store.second(&url).run().unwrap_err();
        assert!(is_conflict(&error), "{error}");
        store.server().heal();
        check_third(store, &url);
    });
}

#[test]
fn a_slow_restoration_does_not_bring_a_purged_customer_back() {
    with_store("numbers::a_slow_restoration_does_not_bring_a_purged_customer_back", |store| {
        let url = store.url("acme");
        let rows = |kind: &str| format!("a01,{ANN},{kind},2025-01-05,{ANN}-{kind}\na01,x,{kind},2025-01-06,x-{kind}\n");
        let text = ["booked", "estimated", "sold"].map(rows).concat();
        store.write("ann.csv", &format!("account,opportunityId,type,date,eventId\n{text}"));
        Ingest::into(&url).events(store.dir().join("ann.csv")).run().unwrap();
        let forget = || Forget::new(&url).customer("a01", ANN);
        forget().run().unwrap();
        store.one(&url, 7).run().unwrap();
        // Only earlier versions have files with the customer, except for rows that no query counts.
        let late = writer_held_back(
            store,
            4,
            || Restore::new(&url, 1).run(),
            || {
                assert!(forget().purge().grace(Duration::ZERO).run().unwrap().expired.contains(&1));
            },
        );
        assert!(is_conflict(late.as_ref().unwrap_err()), "{late:?}");
        Expire::new(&url).grace(Duration::ZERO).vacuum().run().unwrap();
        assert_eq!(files_with(&store.served("acme"), &[ANN]).unwrap(), Vec::<PathBuf>::new());
        assert_sound(&url, "");
    });
}

#[test]
fn a_version_whose_purge_is_not_complete_is_not_restored() {
    with_store("numbers::a_version_whose_purge_is_not_complete_is_not_restored", |store| {
        let url = store.url("acme");
        store.write(
            "ann.csv",
            &format!("account,opportunityId,type,date\na01,{ANN},sold,2025-01-05\na01,x,sold,2025-01-06\n"),
        );
        Ingest::into(&url).events(store.dir().join("ann.csv")).run().unwrap();
        // Nobody may replace manifests, so the purge stops once its version is published.
        store.server().fail(|request| is_publication(request, 1).then_some(Fault::Status(403)));
        Forget::new(&url).customer("a01", ANN).purge().run().unwrap_err();
        assert_eq!(manifest_file::versions(&url).unwrap(), [1, 2]);
        let error = Restore::new(&url, 1).run().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotRestored { version: 1, .. }), "{error}");
        store.server().heal();
        assert_eq!(Expire::new(&url).grace(Duration::ZERO).vacuum().run().unwrap().expired, [1]);
        assert_eq!(files_with(&store.served("acme"), &[ANN]).unwrap(), Vec::<PathBuf>::new());
    });
}

#[test]
fn a_damaged_answer_says_nothing_of_who_has_a_number() {
    with_store("numbers::a_damaged_answer_says_nothing_of_who_has_a_number", |store| {
        // The answer to a publication is lost, and the manifest is damaged when its writer reads it back. From then on,
        // the store refuses.
        for (dataset, fault) in [("flip", Fault::Flip), ("cut", Fault::Cut)] {
            let url = store.url(dataset);
            store.first(&url).run().unwrap();
            let mut lost = Some(Fault::StatusAfter(502));
            store.server().fail(move |request| match request.method.as_str() {
                "PUT" if is_second(request, "PUT") => lost.take().or(Some(Fault::Status(403))),
                "GET" if is_second(request, "GET") => Some(fault),
                _ => None,
            });
            let error = store.second(&url).run().unwrap_err();
            assert!(error.may_be_published(), "{error}");
            store.server().heal();
            assert_eq!(manifest_file::versions(&url).unwrap(), [1, 2]);
            assert_sound(&url, "");
        }
        // One damaged answer does no harm to the writer of a version, nor to whoever reads it or lets it expire.
        let url = store.url("once");
        store.first(&url).run().unwrap();
        let mut faults = vec![("GET", Fault::Flip), ("PUT", Fault::StatusAfter(502))];
        store
            .server()
            .fail(move |request| faults.pop_if(|(method, _)| is_second(request, method)).map(|(_, fault)| fault));
        assert_eq!(store.second(&url).run().unwrap().version, 2);
        for _ in 0..2 {
            let mut damaged = true;
            store.server().fail(move |request| {
                (is_second(request, "GET") && std::mem::take(&mut damaged)).then_some(Fault::Flip)
            });
            answers(&url);
        }
        store.server().heal();
        store.one(&url, 5).run().unwrap();
        let mut reads = 0;
        store.server().fail(move |request| {
            reads += usize::from(is_second(request, "GET"));
            (is_second(request, "GET") && reads == 2).then_some(Fault::Flip)
        });
        assert_eq!(Expire::new(&url).grace(Duration::ZERO).run().unwrap().kept, [3]);
        store.server().heal();
        assert_sound(&url, "");
    });
}

#[test]
fn a_slow_publication_does_not_bring_a_purged_customer_back() {
    with_store("numbers::a_slow_publication_does_not_bring_a_purged_customer_back", |store| {
        let url = store.url("acme");
        let header = "account,opportunityId,type,date,eventId";
        store.write("ann.csv", &format!("{header}\na01,{ANN},sold,2025-01-05,{ANN}-1\na01,x,sold,2025-01-06,x-1\n"));
        Ingest::into(&url).events(store.dir().join("ann.csv")).run().unwrap();
        let late = held_back(store, store.one(&url, 5), || {
            store.one(&url, 7).run().unwrap();
            let forget = Forget::new(&url).customer("a01", ANN).purge().grace(Duration::ZERO);
            assert_eq!(forget.run().unwrap().expired, [1, 2]);
        });
        assert!(is_conflict(late.as_ref().unwrap_err()), "{late:?}");
        for _ in 0..2 {
            Expire::new(&url).grace(Duration::ZERO).vacuum().run().unwrap();
        }
        assert_eq!(manifest_file::versions(&url).unwrap(), [3]);
        assert_eq!(files_with(&store.served("acme"), &[ANN]).unwrap(), Vec::<PathBuf>::new());
        assert!(Dataset::open_as_of(&url, 2).unwrap_err().to_string().contains("version 2 of"));
        assert_sound(&url, "");
    });
}

#[test]
fn tombstones_go_behind_the_floor_and_numbers_stay_taken() {
    with_store("numbers::tombstones_go_behind_the_floor_and_numbers_stay_taken", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let stray = fs::read(store.served("acme").join("manifest-00000001.json")).unwrap();
        let late = held_back(store, store.second(&url), || {
            two_more_and_expire(store, &url);
            assert!(store.names("acme").contains(&SECOND.to_owned()));
            // An hour later, the next writer removes the tombstones. Then nothing has the name.
            age(store, "acme");
            Expire::new(&url).vacuum().run().unwrap();
            let names = store.names("acme");
            assert!(names.contains(&"expired-to-00000002".to_owned()), "{names:?}");
            assert!(!names.iter().any(|name| name == SECOND || name == "manifest-00000001.json"), "{names:?}");
        });
        // The store has taken the publication, and the writer cannot tell whether it was the version that has expired.
        // Its files stay for as long as those of an ingest that was killed.
        assert!(late.as_ref().unwrap_err().may_be_published(), "{late:?}");
        check_third(store, &url);
        // Nor does it count for a web server with the same files.
        let web = format!("{}/bucket/acme", store.server().url());
        let error = Dataset::open_as_of(&web, 2).unwrap_err().to_string();
        assert_eq!(error, format!("version 2 of `{web}` has expired; the dataset has version 3"));
        // What lands there later does not count, and the next writer removes it.
        fs::write(store.served("acme").join("manifest-00000001.json"), stray).unwrap();
        check_third(store, &url);
        let error = Dataset::open_as_of(&url, 1).unwrap_err().to_string();
        assert_eq!(error, "version 1 of `s3://bucket/acme` has expired; the dataset has version 3");
        assert_eq!(store.second(&url).run().unwrap().version, 4);
        assert!(!store.names("acme").contains(&"manifest-00000001.json".to_owned()));
        // Old versions need no tombstones, and an earlier floor goes.
        age(store, "acme");
        assert_eq!(Expire::new(&url).run().unwrap().expired, [3]);
        let names = store.names("acme");
        let taken: Vec<&String> =
            names.iter().filter(|name| name.starts_with("manifest-") || name.starts_with("expired-to-")).collect();
        assert_eq!(taken, ["expired-to-00000003", "manifest-00000004.json"]);
    });
}

/// Answers requests to publish version 2 with 504: those whose place is below `count`. They have their effect once they
/// are released.
fn gateway_times_out(store: &Store, count: usize) {
    let mut puts = 0;
    store.server().fail(move |request| {
        puts += usize::from(is_second(request, "PUT"));
        (is_second(request, "PUT") && puts <= count).then_some(Fault::HeldAfterStatus(504))
    });
}

#[test]
fn a_writer_that_gives_up_takes_the_number_before_it_removes_its_files() {
    with_store("numbers::a_writer_that_gives_up_takes_the_number_before_it_removes_its_files", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let before = (store.names("acme"), answers(&url));
        // All attempts to publish time out; the one to take the number does not.
        gateway_times_out(store, 9);
        let error = store.second(&url).run().unwrap_err();
        assert!(!error.may_be_published() && error.to_string().contains(SECOND), "{error}");
        assert!(trueup_core::message_with_causes(&error).contains("504"), "{error}");
        // The requests land after the files were removed.
        let landed = store.server().release();
        assert_eq!(landed, ["412 Precondition Failed"; 9]);
        store.server().heal();
        assert_eq!((manifest_file::versions(&url).unwrap(), answers(&url)), (vec![1], before.1));
        let mut names = before.0;
        names.push(SECOND.to_owned());
        names.sort();
        assert_eq!(store.names("acme"), names);
        assert_sound(&url, "");
        // The number is gone, and no version was there at any time between the others.
        assert_eq!(store.second(&url).run().unwrap().version, 3);
        assert_eq!(manifest_file::versions(&url).unwrap(), [1, 3]);
        let third = Dataset::open(&url).unwrap().committed().unwrap();
        let between = SystemTime::from(third) - Duration::from_millis(1);
        assert_eq!(Dataset::open_as_of(&url, between).unwrap().manifest().unwrap().version, 1);
    });
}

#[test]
fn a_writer_that_cannot_find_out_keeps_its_files_and_says_so() {
    with_store("numbers::a_writer_that_cannot_find_out_keeps_its_files_and_says_so", |store| {
        for is_published in [true, false] {
            let name = if is_published { "acme" } else { "other" };
            let url = store.url(name);
            store.first(&url).run().unwrap();
            gateway_times_out(store, usize::MAX);
            let error = store.second(&url).run().unwrap_err();
            assert!(error.may_be_published(), "{error}");
            assert!(error.to_string().starts_with("it is unknown whether version 2 is published"), "{error}");
            store.server().heal();
            if is_published {
                // One of the requests lands, and the version is whole.
                let landed = store.server().release();
                assert_eq!((landed[0], landed[1]), ("200 OK", "412 Precondition Failed"));
                assert_eq!(manifest_file::versions(&url).unwrap(), [1, 2]);
                assert_sound(&url, "");
                assert_eq!(store.second(&url).run().unwrap().version, 3);
            } else {
                // The next writer takes the number, and none of the requests can publish any more.
                assert_eq!(store.one(&url, 7).run().unwrap().version, 2);
                let expected = answers(&url);
                assert!(store.server().release().iter().all(|status| *status == "412 Precondition Failed"));
                assert_eq!(answers(&url), expected);
                assert_sound(&url, "");
            }
        }
    });
}

#[test]
fn a_version_that_has_expired_before_its_writer_knows_was_published() {
    with_store("numbers::a_version_that_has_expired_before_its_writer_knows_was_published", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let (arrived, arrives) = channel();
        let mut arrived = Some(arrived);
        let mut is_first = true;
        store.server().fail(move |request| {
            if is_second(request, "PUT") && std::mem::take(&mut is_first) {
                return Some(Fault::Lost);
            }
            let held: Sender<()> = arrived.take_if(|_| !is_first && is_second(request, "GET"))?;
            held.send(()).unwrap();
            Some(Fault::Held)
        });
        let summary = thread::scope(|scope| {
            let ingest = scope.spawn(|| store.second(&url).run());
            arrives.recv().unwrap();
            assert_eq!(store.one(&url, 7).run().unwrap().version, 3);
            assert_eq!(Expire::new(&url).run().unwrap().expired, [1, 2]);
            store.server().release();
            ingest.join().unwrap()
        });
        assert_eq!(summary.unwrap().version, 2);
        assert_sound(&url, "");
    });
}

#[test]
fn writers_that_wait_and_an_expiry_in_a_loop_lose_nothing() {
    with_store("numbers::writers_that_wait_and_an_expiry_in_a_loop_lose_nothing", |store| {
        const WRITERS: usize = 4;
        const ROUNDS: usize = 4;
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        // Publications take up to 400 ms, and each third one is answered by a gateway that has given up.
        let mut random = Random::new(1);
        store.server().fail(move |request| {
            let is_commit = request.method == "PUT" && request.path.contains("/manifest-");
            match random.below(3) {
                _ if !is_commit => None,
                0 => Some(Fault::StatusAfter(504)),
                _ => Some(Fault::Slow(Duration::from_millis(random.below(400)))),
            }
        });
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let expiry = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // Another one may expire the same versions.
                    drop(Expire::new(&url).grace(Duration::ZERO).run());
                }
            });
            let writer = |writer: usize| {
                for round in 0..ROUNDS {
                    let (name, id) = (format!("w-{writer}-{round}.csv"), format!("w{writer}r{round}"));
                    let header = "account,opportunityId,type,date,eventId";
                    store.write(&name, &format!("{header}\nw,{id},sold,2025-02-01,{id}\n"));
                    let ingest = Ingest::into(&url).events(store.dir().join(name)).threads(1);
                    ingest.wait(Duration::from_secs(600)).run().unwrap();
                }
            };
            let writers: Vec<_> = (0..WRITERS).map(|number| scope.spawn(move || writer(number))).collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            is_over.store(true, Ordering::Relaxed);
            expiry.join().unwrap();
        });
        store.server().heal();
        let [from, to] = ["2025-02-01", "2025-02-01"].map(|day| day.parse().unwrap());
        let query = EventsQuery::new(["opportunityId", "eventCount"], from, to);
        let rows = Dataset::open(&url).unwrap().query(&query).unwrap().rows().count();
        assert_eq!(rows, WRITERS * ROUNDS);
        assert_sound(&url, "");
    });
}
