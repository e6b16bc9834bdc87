//! Customers of a dataset in a store are forgotten.

use crate::assert_sound;
use crate::case::{answers, with_store};
use std::path::PathBuf;
use std::time::Duration;
use trueup_core::Dataset;
use trueup_core::dataset::manifest_file;
use trueup_core::dataset::manifest_file::ManifestError;
use trueup_ingest::{ErrorKind, Expire, Forget, Ingest};
use trueup_testkit::object_server::Fault;
use trueup_testkit::search::files_with;

/// The customer to forget; no other text has its id.
const ANN: &str = "ann-7c1f";

#[test]
fn a_purge_removes_a_customer_from_all_objects() {
    with_store("forget::a_purge_removes_a_customer_from_all_objects", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let rows = |kind: &str| format!("a01,{ANN},{kind},2025-01-05,ann-{kind}\na02,2,{kind},2025-01-05,two-{kind}\n");
        for kind in ["lead-originated", "sold"] {
            store.write("more.csv", &format!("account,opportunityId,type,date,eventId\n{}", rows(kind)));
            Ingest::into(&url).events(store.dir().join("more.csv")).run().unwrap();
        }
        let (before, opened) = (answers(&url), Dataset::open(&url).unwrap());
        let forget = || Forget::new(&url).customer("a01", ANN);
        // Without the permission to write, nothing changes.
        store.server().fail(|request| {
            (request.method == "PUT" && request.path.contains("/events/")).then_some(Fault::Status(403))
        });
        assert!(forget().purge().run().unwrap_err().to_string().contains("cannot upload"));
        store.server().heal();
        assert_eq!((manifest_file::versions(&url).unwrap(), answers(&url)), (vec![1, 2, 3], before.clone()));
        let summary = forget().run().unwrap();
        assert_eq!((summary.version, summary.customers, summary.events), (4, 1, 2));
        let after = answers(&url);
        assert!(after != before && !files_with(&store.served("acme"), &[ANN]).unwrap().is_empty());
        // The files stay for readers that have opened them.
        let summary = forget().purge().run().unwrap();
        assert_eq!((summary.expired.as_slice(), summary.removed.files), ([2, 3, 4].as_slice(), 0));
        opened.read_footers(&trueup_core::Interrupt::default()).unwrap();
        assert!(!files_with(&store.served("acme"), &[ANN]).unwrap().is_empty());
        let ended = forget().purge().grace(Duration::ZERO).run().unwrap();
        assert_eq!((ended.removed, ended.waiting.files), (summary.waiting, 0));
        assert_eq!(files_with(&store.served("acme"), &[ANN]).unwrap(), Vec::<PathBuf>::new());
        assert_eq!((manifest_file::versions(&url).unwrap()[0], answers(&url)), (1, after));
        assert_sound(&url, "");
        // The record of the failed call stays, because its upload might still arrive.
        assert!(store.leftovers("acme").iter().all(|name| name.starts_with(".trueup-pending-")));
    });
}

#[test]
fn the_next_command_completes_a_purge_that_failed_after_its_version_was_published() {
    with_store("forget::the_next_command_completes_a_purge_that_failed_after_its_version_was_published", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let rows = format!("account,opportunityId,type,date,eventId\na01,{ANN},sold,2025-01-05,ann-sold\n");
        store.write("more.csv", &rows);
        Ingest::into(&url).events(store.dir().join("more.csv")).run().unwrap();
        store.server().fail(|request| {
            let is_record = request.method == "PUT" && request.path.contains("/.trueup-expired-");
            is_record.then_some(Fault::Status(403))
        });
        let purge = || Forget::new(&url).customer("a01", ANN).purge().grace(Duration::ZERO);
        let error = purge().run().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UnfinishedPurge { version: 3, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(".trueup-expired-") && text.ends_with("is complete; run it again"), "{text}");
        assert!(text.contains("; version 3 has nothing of the customers, but earlier versions may"), "{text}");
        store.server().heal();
        let after = answers(&url);
        assert_eq!(manifest_file::versions(&url).unwrap(), [1, 2, 3]);
        let summary = Expire::new(&url).vacuum().run().unwrap();
        assert_eq!((summary.expired, summary.kept, summary.waiting.files), (vec![2], vec![1, 3], 0));
        assert_eq!(files_with(&store.served("acme"), &[ANN]).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(answers(&url), after);
        assert_sound(&url, "");
        // Nothing is left to purge.
        assert_eq!(purge().run().unwrap().expired, Vec::<u64>::new());
    });
}

#[test]
fn of_two_writers_one_begins_again() {
    with_store("forget::of_two_writers_one_begins_again", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        // An ingest publishes the version while the files of the call are uploaded.
        let overtake = |wait| {
            let (other, mut is_first) = (store.one(&url, wait), true);
            let mut other = Some(other);
            Forget::new(&url).customer("a01", "c0").wait(Duration::from_secs(wait as u64)).progress(move |now| {
                if now.phase == trueup_ingest::Phase::Uploading && std::mem::take(&mut is_first) {
                    other.take().unwrap().run().unwrap();
                }
            })
        };
        let error = overtake(0).run().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Manifest(ManifestError::Conflict { .. })), "{error}");
        let summary = overtake(60).run().unwrap();
        assert_eq!((summary.version, summary.customers, summary.events), (4, 1, 2));
        assert_sound(&url, "");
    });
}
