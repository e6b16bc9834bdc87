//! Versions of a dataset in a store expire.

use crate::assert_sound;
use crate::case::with_store;
use std::fs::File;
use std::time::{Duration, SystemTime};
use trueup_core::Dataset;
use trueup_core::dataset::manifest_file;
use trueup_ingest::Expire;

#[test]
fn versions_expire_and_their_files_go_after_the_grace_period() {
    with_store("expire::versions_expire_and_their_files_go_after_the_grace_period", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        store.second(&url).run().unwrap();
        let opened = Dataset::open_as_of(&url, 1).unwrap();
        let before = store.names("acme");
        let summary = Expire::new(&url).run().unwrap();
        assert_eq!((summary.expired.as_slice(), summary.kept.as_slice()), ([1].as_slice(), [2].as_slice()));
        assert!(summary.removed.files == 0 && summary.waiting.files > 0, "{summary:?}");
        assert_eq!(manifest_file::versions(&url).unwrap(), [2]);
        // A reader of the version goes on.
        opened.read_footers(&trueup_core::Interrupt::default()).unwrap();
        let waiting = store.names("acme");
        let record = waiting.iter().find(|name| name.contains(".trueup-expired-")).unwrap();
        // A tombstone has the place of the manifest, and there is a record.
        assert_eq!(waiting.len(), before.len() + 1);
        let record = File::options().write(true).open(store.served("acme").join(record)).unwrap();
        record.set_modified(SystemTime::now() - Duration::from_secs(25 * 3_600)).unwrap();
        let removed = Expire::new(&url).vacuum().run().unwrap();
        assert_eq!((removed.removed, removed.waiting.files), (summary.waiting, 0));
        assert_eq!(store.names("acme").len() as u64, before.len() as u64 - summary.waiting.files);
        assert_sound(&url, "");
    });
}
