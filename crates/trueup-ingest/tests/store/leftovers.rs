//! The leftovers of killed ingests in a store, and which of them the next ingest removes.

use crate::assert_sound;
use crate::case::{Store, with_store};
use std::fs;
use std::fs::File;
use std::time::{Duration, SystemTime};

const ID: &str = "0123456789abcdef0123456789abcdef";

impl Store {
    /// Writes an object below the dataset `acme`, as if it had been written some hours ago.
    pub(crate) fn object(&self, name: &str, hours: u64) {
        let path = self.served("acme").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "left").unwrap();
        let time = SystemTime::now() - Duration::from_secs(hours * 3600);
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
}

#[test]
fn the_next_ingest_removes_what_a_killed_one_left() {
    with_store("leftovers::the_next_ingest_removes_what_a_killed_one_left", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        store.object(&format!(".trueup-pending-{ID}"), 25);
        let left = [format!("events/00000002-0000-{ID}.parquet"), format!("insights/00000001-0003-{ID}.ndjson")];
        left.iter().for_each(|name| store.object(name, 25));
        // An ingest that fails removes what nobody can publish any more.
        store.begin_and_fail(&url);
        assert_eq!(store.leftovers("acme"), [format!(".trueup-pending-{ID}"), left[0].clone()]);
        // The others go once their version exists.
        store.second(&url).run().unwrap();
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        assert_sound(&url, "");
    });
}

#[test]
fn an_ingest_removes_nothing_else() {
    with_store("leftovers::an_ingest_removes_nothing_else", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let other = "f".repeat(32);
        store.object(&format!(".trueup-pending-{ID}"), 25);
        let kept = [
            // Without a record, or with one that may be of an ingest that runs.
            format!("events/00000001-0000-{other}.parquet"),
            format!(".trueup-pending-{}", "a".repeat(32)),
            format!("events/00000001-0000-{}.parquet", "a".repeat(32)),
            // Not as an ingest names its files.
            format!("events/00000001-0000-{ID}.csv"),
            format!("events/{ID}.parquet"),
            format!("events/more/00000001-0000-{ID}.parquet"),
            format!("other/00000001-0000-{ID}.parquet"),
            ".trueup-pending-x".to_owned(),
            "readme.txt".to_owned(),
        ];
        for (at, name) in kept.iter().enumerate() {
            store.object(name, if at == 1 { 23 } else { 100 });
        }
        // Of a version that could still be published.
        let later = format!("events/00000009-0000-{}.parquet", "b".repeat(32));
        let record = format!(".trueup-pending-{}", "b".repeat(32));
        [&later, &record].into_iter().for_each(|name| store.object(name, 100));
        store.second(&url).run().unwrap();
        let mut expected = [&kept[..], &[later, record]].concat();
        expected.sort();
        assert_eq!(store.leftovers("acme"), expected);
        assert_sound(&url, "");
    });
}

#[test]
fn a_file_that_a_version_names_is_never_removed() {
    with_store("leftovers::a_file_that_a_version_names_is_never_removed", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        // As if the ingest had been killed between the publication and the removal of its record.
        let name = store.names("acme").into_iter().find(|name| name.starts_with("events/")).unwrap();
        let id = name.trim_end_matches(".parquet").rsplit_once('-').unwrap().1.to_owned();
        store.object(&format!(".trueup-pending-{id}"), 25);
        store.second(&url).run().unwrap();
        assert_sound(&url, "");
        assert_eq!(trueup_core::Dataset::open_as_of(&url, 1).unwrap().event_rows(), 144);
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        // While a manifest cannot be read, nothing is removed.
        store.object(&format!(".trueup-pending-{ID}"), 25);
        store.object(&format!("events/00000001-0000-{ID}.parquet"), 25);
        let manifest = store.served("acme").join("manifest-00000001.json");
        let bytes = fs::read(&manifest).unwrap();
        fs::write(&manifest, "{}").unwrap();
        store.one(&url, 1).run().unwrap();
        fs::write(&manifest, bytes).unwrap();
        assert_eq!(store.leftovers("acme").len(), 2);
    });
}
