//! Datasets that are ingested into an object store, and inputs that come from one or from a web server.

#![expect(clippy::unwrap_used, reason = "tests")]

mod case;
mod clock;
mod commit;
mod compact;
mod expire;
mod faults;
mod forget;
mod leftovers;
mod numbers;
mod real;
mod spend;
mod staged;
mod urls;

use case::{Store, with_store};
use std::path::Path;
use trueup_core::Dataset;
use trueup_core::dataset::Verification;
use trueup_core::dataset::manifest_file;
use trueup_ingest::ErrorKind;

#[test]
fn an_ingest_into_a_store_writes_the_same_bytes_as_into_a_folder() {
    with_store("an_ingest_into_a_store_writes_the_same_bytes_as_into_a_folder", |store| {
        let (url, folder) = (store.url("acme"), store.dir().join("local"));
        for dataset in [&url, &folder] {
            store.first(dataset).file_rows(1).run().unwrap();
            let summary = store.second(dataset).file_rows(1).run().unwrap();
            assert_eq!((summary.version, summary.events.replaced > 0), (2, true));
        }
        assert_eq!(case::files(&url), case::files(&folder));
        // More than the server lists at a time.
        assert!(case::files(&url).len() > 20);
        assert_eq!(case::answers(&url), case::answers(&folder));
        assert_eq!(Verification::of(&url, None).unwrap(), Verification::of(&folder, None).unwrap());
        assert_eq!(Verification::of(&url, None).unwrap().faults, Vec::<String>::new());
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        // Events with ids are applied again, and change no answer.
        let again = store.second(&url).run().unwrap();
        assert_eq!((again.version, again.changed), (3, true));
        assert_eq!(case::answers(&url), case::answers(&folder));
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
    });
}

#[test]
fn a_long_file_is_uploaded_in_parts() {
    with_store("a_long_file_is_uploaded_in_parts", |store| {
        store.write("long.ndjson", &case::insights(&["a01", "a02"], 9 << 20));
        let url = store.url("acme");
        store.first(&url).insights(store.dir().join("long.ndjson")).run().unwrap();
        let requested = store.server().take_log();
        let is_part = |path: &str, method: &str| path.contains("/insights/") && method == "PUT";
        assert_eq!(requested.iter().filter(|request| is_part(&request.path, &request.method)).count(), 3);
        assert_eq!(store.server().open_uploads(), 0);
        assert_eq!(Verification::of(&url, None).unwrap().faults, Vec::<String>::new());
        // The next ingest reads the file, too.
        store.second(&url).run().unwrap();
        assert_eq!(Dataset::open(&url).unwrap().manifest().unwrap().named("insights").unwrap().rows, 2);
    });
}

#[test]
fn a_store_that_ignores_conditions_is_refused() {
    with_store("a_store_that_ignores_conditions_is_refused", |store| {
        store.server().ignore_conditions();
        let error = store.first(&store.url("acme")).run().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UnconditionalStore(_)), "{error}");
        assert!(error.to_string().starts_with("the store of `s3://bucket/acme` ignores the condition"), "{error}");
        assert_eq!(store.names("acme"), Vec::<String>::new());
    });
}

#[test]
fn an_interrupted_ingest_leaves_the_old_dataset() {
    with_store("an_interrupted_ingest_leaves_the_old_dataset", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let before = store.names("acme");
        let interrupt = trueup_core::Interrupt::default();
        let cancel = interrupt.clone();
        // While the store keeps the upload of a file waiting.
        store.server().fail(move |request| {
            let is_upload = request.method == "PUT" && request.path.contains("/events/");
            is_upload.then(|| {
                cancel.cancel();
                trueup_testkit::object_server::Fault::Slow(std::time::Duration::from_secs(20))
            })
        });
        let start = std::time::Instant::now();
        let error = store.second(&url).interrupt(interrupt).run().unwrap_err();
        assert!(error.interruption().is_some(), "{error}");
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
        store.server().heal();
        assert_eq!(manifest_file::versions(&url).unwrap(), [1]);
        // The upload may still arrive, so the record stays for a later ingest.
        let left: Vec<String> = store.names("acme").into_iter().filter(|name| !before.contains(name)).collect();
        assert!(
            left.iter().all(|name| name.starts_with(".trueup-pending-") || name.starts_with("events/")),
            "{left:?}"
        );
        store.second(&url).run().unwrap();
    });
}

/// Lists what ingests have left in the folder of temporary files.
fn local_leftovers() -> Vec<String> {
    let names = std::fs::read_dir(std::env::temp_dir()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("trueup-ingest-")).collect()
}

/// Checks that a dataset has no fault.
fn assert_sound(url: &Path, what: &str) {
    assert_eq!(Verification::of(url, None).unwrap().faults, Vec::<String>::new(), "{what}");
}

impl Store {
    /// Returns the names of the objects below a dataset that belong to no version, and are not there so that the number
    /// of one stays taken.
    fn leftovers(&self, dataset: &str) -> Vec<String> {
        let url = self.url(dataset);
        let mut named: Vec<String> = Vec::new();
        for version in manifest_file::versions(&url).unwrap() {
            named.push(manifest_file::file_name(version));
            let manifest = manifest_file::read(&url, version).unwrap();
            named.extend(manifest.files().map(|file| file.path.clone()));
        }
        let takes_number = |name: &String| {
            let is_manifest = name.starts_with("manifest-");
            let text = is_manifest.then(|| std::fs::read(self.served(dataset).join(name)).unwrap_or_default());
            name.starts_with("expired-to-") || text.is_some_and(|text| text.starts_with(b"Tombstone of a version"))
        };
        let is_left = |name: &String| !named.contains(name) && !takes_number(name);
        self.names(dataset).into_iter().filter(is_left).collect()
    }
}
