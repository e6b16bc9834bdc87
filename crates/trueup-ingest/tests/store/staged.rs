//! Distributed ingests into a store.

use crate::assert_sound;
use crate::case::{Store, answers, with_store};
use std::fs::{self, File};
use std::mem;
use std::path::Path;
use std::time::{Duration, SystemTime};
use trueup_core::dataset::manifest_file;
use trueup_ingest::{ErrorKind, Ingest, StageFault, StagePlan, Staged, StagedIngest, part_of};

const PARTS: u32 = 3;

impl Store {
    /// Begins an ingest of the second version.
    fn begin(&self, url: &Path) -> StagedIngest {
        let ingest = Ingest::into(url).row_group_rows(8).threads(1).spend(self.dir().join("spend2.csv"));
        ingest.insights(self.dir().join("insights.ndjson")).begin_staged(PARTS, None).unwrap()
    }

    /// Stages a part of the second version's events.
    fn stage(&self, url: &Path, plan: &StagePlan, part: u32) -> Result<Staged, trueup_ingest::IngestError> {
        let text = fs::read_to_string(self.dir().join("2.csv")).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        let of_part = rows.lines().filter(|row| part_of(row.split(',').next().unwrap(), PARTS) == part);
        let rows = of_part.fold(format!("{header}\n"), |text, row| text + row + "\n");
        let name = format!("part-{part}.csv");
        self.write(&name, &rows);
        Ingest::into(url).threads(1).events(self.dir().join(name)).stage(plan, part)
    }

    fn stage_all(&self, url: &Path, plan: &StagePlan) -> Vec<Staged> {
        (0..PARTS).map(|part| self.stage(url, plan, part).unwrap()).collect()
    }

    /// Makes everything below the dataset look a day and an hour old.
    fn age(&self) {
        let time = SystemTime::now() - Duration::from_secs(25 * 3600);
        for name in self.names("acme") {
            let file = File::options().write(true).open(self.served("acme").join(name)).unwrap();
            file.set_modified(time).unwrap();
        }
    }

    /// Returns what is left over, except for the records of ingests.
    fn left_files(&self) -> Vec<String> {
        let mut left = self.leftovers("acme");
        left.retain(|name| !name.starts_with(".trueup-pending-"));
        left
    }
}

#[test]
fn a_dataset_that_is_ingested_in_parts_answers_as_one_that_is_not() {
    with_store("staged::a_dataset_that_is_ingested_in_parts_answers_as_one_that_is_not", |store| {
        let (url, local) = (store.url("acme"), store.dir().join("local"));
        store.first(&local).run().unwrap();
        let expected = store.second(&local).run().unwrap();
        store.first(&url).run().unwrap();
        let ingest = store.begin(&url);
        let staged = store.stage_all(&url, ingest.plan());
        // A second attempt of a part, whose files nobody takes over.
        store.stage(&url, ingest.plan(), 1).unwrap();
        let found = ingest.commit(staged).unwrap();
        assert_eq!((found.version, found.events, found.spend), (2, expected.events, expected.spend));
        assert_eq!(answers(&url), answers(&local));
        assert_sound(&url, "");
        // An attempt may upload a file at any time, so the record stays for a day.
        assert_eq!((store.left_files().len(), store.leftovers("acme").len()), (0, 1));
        store.age();
        store.one(&url, 1).run().unwrap();
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        assert_sound(&url, "");
    });
}

#[test]
fn a_first_version_is_published_in_parts() {
    with_store("staged::a_first_version_is_published_in_parts", |store| {
        let url = store.url("acme");
        let ingest = store.begin(&url);
        let staged = store.stage_all(&url, ingest.plan());
        assert_eq!(ingest.commit(staged).unwrap().version, 1);
        assert_sound(&url, "");
    });
}

#[test]
fn an_ingest_that_is_given_up_leaves_the_old_dataset() {
    with_store("staged::an_ingest_that_is_given_up_leaves_the_old_dataset", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let before = answers(&url);
        let ingest = store.begin(&url);
        let plan = ingest.plan().clone();
        let mut staged = store.stage_all(&url, &plan);
        staged.pop();
        let error = ingest.commit(staged).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Stage(StageFault::Missing { .. })), "{error}");
        assert_eq!((manifest_file::versions(&url).unwrap(), answers(&url)), (vec![1], before));
        assert_eq!(store.left_files(), Vec::<String>::new());
        // An attempt that ends late uploads its files, and a later ingest removes them.
        store.stage(&url, &plan, 0).unwrap();
        assert_eq!(store.left_files().len(), 1);
        store.age();
        store.second(&url).run().unwrap();
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        assert_sound(&url, "");
        let error = store.stage(&url, &plan, 0).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Stage(StageFault::Ended { .. })), "{error}");
    });
}

#[test]
fn the_files_of_an_ingest_that_runs_are_not_removed() {
    with_store("staged::the_files_of_an_ingest_that_runs_are_not_removed", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let ingest = store.begin(&url);
        let staged = store.stage_all(&url, ingest.plan());
        // Even if it runs for more than a day: an ingest that publishes nothing removes nothing of it.
        store.age();
        store.begin_and_fail(&url);
        assert_eq!(ingest.commit(staged).unwrap().version, 2);
        assert_sound(&url, "");

        // Of two ingests, one publishes, and the other fails.
        let ingest = store.begin(&url);
        let staged = store.stage_all(&url, ingest.plan());
        store.one(&url, 1).run().unwrap();
        let before = answers(&url);
        let error = ingest.commit(staged).unwrap_err();
        assert!(!error.may_be_published(), "{error}");
        assert_eq!((manifest_file::versions(&url).unwrap(), answers(&url)), (vec![1, 2, 3], before));
        assert_eq!(store.left_files(), Vec::<String>::new());
        assert_sound(&url, "");
    });
}

#[test]
fn a_file_that_is_missing_or_another_is_not_published() {
    with_store("staged::a_file_that_is_missing_or_another_is_not_published", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let changes: [fn(&Path); 2] = [|path| fs::remove_file(path).unwrap(), |path| fs::write(path, "cut").unwrap()];
        for change in changes {
            let ingest = store.begin(&url);
            let staged = store.stage_all(&url, ingest.plan());
            let name = store.left_files().into_iter().find(|name| name.starts_with("events/")).unwrap();
            change(&store.served("acme").join(name));
            let error = ingest.commit(staged).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Stage(StageFault::File { .. })), "{error}");
            assert_eq!(manifest_file::versions(&url).unwrap(), [1]);
        }
    });
}

#[test]
fn what_a_killed_ingest_has_staged_is_removed_a_day_later() {
    with_store("staged::what_a_killed_ingest_has_staged_is_removed_a_day_later", |store| {
        let url = store.url("acme");
        store.first(&url).run().unwrap();
        let ingest = store.begin(&url);
        store.stage_all(&url, ingest.plan());
        let left = store.leftovers("acme").len();
        // The local folder of the process, which is not killed here.
        let local = fs::read_dir(std::env::temp_dir()).unwrap().map(|entry| entry.unwrap().path()).next().unwrap();
        mem::forget(ingest);
        store.second(&url).run().unwrap();
        assert_eq!(store.leftovers("acme").len(), left);
        store.age();
        store.one(&url, 1).run().unwrap();
        assert_eq!(store.leftovers("acme"), Vec::<String>::new());
        assert_sound(&url, "");
        fs::remove_dir_all(local).unwrap();
    });
}
