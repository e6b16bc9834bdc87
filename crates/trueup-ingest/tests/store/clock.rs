//! The clock of the store decides what is old, and not the one of the machine.

use crate::assert_sound;
use crate::case::with_store;
use std::fs::File;
use std::time::{Duration, SystemTime};
use trueup_core::Dataset;
use trueup_core::dataset::VersionSummary;
use trueup_ingest::Expire;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// An ingest that began an hour ago, and its file.
const RUNNING: [&str; 2] = [
    ".trueup-pending-0123456789abcdef0123456789abcdef",
    "events/00000001-0000-0123456789abcdef0123456789abcdef.parquet",
];

/// Checks what a machine removes whose clock is some seconds ahead of the store's.
fn check(test: &str, machine_ahead: i64) {
    with_store(test, |store| {
        let url = store.url("acme");
        store.server().set_clock(-machine_ahead);
        store.first(&url).run().unwrap();
        store.second(&url).run().unwrap();
        RUNNING.iter().for_each(|name| store.object(name, 1));
        // Versions have times of the store.
        let expected = SystemTime::now().checked_sub(Duration::from_secs(machine_ahead.unsigned_abs()));
        let expected = if machine_ahead > 0 { expected.unwrap() } else { SystemTime::now() + 3 * DAY };
        for version in VersionSummary::of_all(&url).unwrap() {
            let committed = SystemTime::from(version.committed);
            let apart = committed.duration_since(expected).unwrap_or_else(|before| before.duration());
            assert!(apart < Duration::from_secs(600), "{committed:?}");
        }
        // No version is a day old.
        assert_eq!(Expire::new(&url).older_than(DAY).run().unwrap().expired, [0_u64; 0]);
        let opened = Dataset::open_as_of(&url, 1).unwrap();
        let expired = Expire::new(&url).grace(DAY).run().unwrap();
        assert_eq!((expired.expired.as_slice(), expired.removed.files), ([1].as_slice(), 0));
        assert!(expired.waiting.files > 0, "{expired:?}");
        // A reader goes on, whatever is written meanwhile.
        store.one(&url, 7).run().unwrap();
        assert_eq!(Expire::new(&url).vacuum().run().unwrap().removed.files, 0);
        opened.read_footers(&trueup_core::Interrupt::default()).unwrap();
        assert!(RUNNING.iter().all(|name| store.names("acme").contains(&(*name).to_owned())));
        // A day later, by the clock of the store, the files go.
        let names = store.names("acme");
        let record = names.iter().find(|name| name.starts_with(".trueup-expired-")).unwrap();
        let record = File::options().write(true).open(store.served("acme").join(record)).unwrap();
        record.set_modified(SystemTime::now() - DAY).unwrap();
        assert_eq!(Expire::new(&url).vacuum().run().unwrap().removed, expired.waiting);
        assert_sound(&url, "");
    });
}

#[test]
fn a_machine_that_is_three_days_ahead_removes_nothing_early() {
    check("clock::a_machine_that_is_three_days_ahead_removes_nothing_early", 3 * 24 * 3_600);
}

#[test]
fn a_machine_that_is_three_days_behind_removes_nothing_early_or_late() {
    check("clock::a_machine_that_is_three_days_behind_removes_nothing_early_or_late", -3 * 24 * 3_600);
}
