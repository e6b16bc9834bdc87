//! Random sequences of ingests: the answers of every version stay what they were, until it expires, and of expired
//! versions nothing stays. The differences between two versions are those between their answers.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use trueup_core::dataset::manifest::checksum;
use trueup_core::dataset::{AsOf, Verification, VersionSummary, manifest_file};
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, NotComparable, ResultTable, Value, Values};
use trueup_ingest::{Expire, Ingest, Phase};
use trueup_testkit::random::Random;

fn answers(dataset: &Dataset) -> ResultTable {
    let fields = ["account", "opportunityId", "type", "campaign", "eventCount", "total", "closedRevenue", "spend"];
    dataset.query(&EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-03-31".parse().unwrap())).unwrap()
}

/// Ingests some events, of which later ones may replace earlier ones, and sometimes spend. Returns the new version.
fn ingest(folder: &Path, dataset: &Path, random: &mut Random) -> u64 {
    let mut events = "account,opportunityId,type,date,eventId,total,campaign\n".to_owned();
    // In one ingest, rows with the same id would have to be of the same customer and stage.
    let mut used = BTreeSet::new();
    for _ in 0..=random.below(12) {
        let (account, customer, id) = (random.below(4), random.below(5), random.below(40));
        if !used.insert((account, id)) {
            continue;
        }
        let kind = ["lead-originated", "booked", "sold", "closed"][random.index(4)];
        let (day, total, campaign) = (random.below(28) + 1, random.below(5_000), random.below(3));
        events += &format!("a{account},{customer},{kind},2025-02-{day:02},e{id},{total},c{campaign}\n");
    }
    fs::write(folder.join("events.csv"), events).unwrap();
    let mut ingest = Ingest::into(dataset).events(folder.join("events.csv")).threads(1).row_group_rows(8).file_rows(16);
    if random.below(3) == 0 {
        let (day, amount) = (random.below(28) + 1, random.below(100));
        fs::write(folder.join("spend.csv"), format!("account,date,adSpend\na1,2025-02-{day:02},{amount}\n")).unwrap();
        ingest = ingest.spend(folder.join("spend.csv"));
    }
    ingest.run().unwrap().version
}

/// Returns the paths of all files below a folder, except for manifests, sorted.
fn files(dataset: &Path) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![dataset.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(dataset).unwrap().to_str().unwrap().to_owned();
            match path.is_dir() {
                true => folders.push(path),
                false if !name.starts_with("manifest-") => found.push(name),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// Returns the paths of all files that versions name, sorted.
fn named(dataset: &Path) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for version in manifest_file::versions(dataset).unwrap() {
        let manifest = manifest_file::read(dataset, version).unwrap();
        paths.extend(manifest.files().map(|file| file.path.clone()));
    }
    paths.sort();
    paths.dedup();
    paths
}

/// A dataset of several versions, with what each answered when it was the newest, and when it was committed.
struct Case {
    _dir: tempfile::TempDir,
    folder: PathBuf,
    dataset: PathBuf,
    answers: BTreeMap<u64, (ResultTable, SystemTime)>,
}

impl Case {
    fn new(seed: u64, ingests: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (folder, dataset) = (dir.path().to_owned(), dir.path().join("ds"));
        let mut case = Self { _dir: dir, folder, dataset, answers: BTreeMap::new() };
        let mut random = Random::new(seed);
        (0..ingests).for_each(|_| case.ingest(&mut random));
        case
    }

    fn ingest(&mut self, random: &mut Random) {
        let published = ingest(&self.folder, &self.dataset, random);
        // An ingest may end with a compaction, which publishes a version of its own.
        let versions = manifest_file::versions(&self.dataset).unwrap();
        for version in versions.into_iter().filter(|version| *version >= published) {
            let opened = Dataset::open_as_of(&self.dataset, version).unwrap();
            let committed = opened.committed().unwrap().into();
            self.answers.insert(version, (answers(&opened), committed));
        }
    }

    /// Checks that exactly these versions exist, and answer what they answered.
    fn check(&self, versions: &[u64]) {
        assert_eq!(manifest_file::versions(&self.dataset).unwrap(), versions);
        for version in versions {
            let (answer, committed) = &self.answers[version];
            for as_of in [AsOf::Version(*version), (*committed).into()] {
                let opened = Dataset::open_as_of(&self.dataset, as_of).unwrap();
                assert_eq!(&answers(&opened), answer, "{as_of}");
                let found = Verification::of(&self.dataset, Some(as_of)).unwrap();
                assert_eq!((found.version, found.faults), (*version, Vec::new()), "{as_of}");
            }
        }
    }

    /// Ends the grace period of the expired versions.
    fn age_record(&self) {
        let files = files(&self.dataset);
        let record = files.iter().find(|file| file.starts_with(".trueup-expired-")).unwrap();
        let record = fs::File::options().write(true).open(self.dataset.join(record)).unwrap();
        record.set_modified(SystemTime::now() - Duration::from_secs(25 * 60 * 60)).unwrap();
    }

    /// Checks that the folder has the files that versions name, and no others.
    fn check_files(&self) {
        assert_eq!(files(&self.dataset), named(&self.dataset));
    }
}

#[test]
fn every_version_answers_what_it_answered_and_of_expired_ones_nothing_stays() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let ingests = random.below(7) + 2;
        let mut case = Case::new(seed, ingests);
        let all: Vec<u64> = case.answers.keys().copied().collect();
        case.check(&all);
        let keep = random.index(all.len()) + 1;
        let kept = &all[all.len() - keep..];
        let own = VersionSummary::of_all(&case.dataset).unwrap()[0].own_bytes;
        let planned = Expire::new(&case.dataset).keep_last(keep).grace(Duration::ZERO).dry_run().run().unwrap();
        case.check(&all);
        let summary = Expire::new(&case.dataset).keep_last(keep).grace(Duration::ZERO).run().unwrap();
        assert_eq!(summary, planned, "{seed}");
        assert_eq!((summary.kept.as_slice(), summary.expired.len()), (kept, all.len() - keep));
        assert!(keep == all.len() || summary.removed.bytes >= own, "{seed}");
        case.check(kept);
        case.check_files();
        // The dataset goes on as if nothing had happened.
        case.ingest(&mut random);
        let newer = case.answers.keys().copied().filter(|version| version > kept.last().unwrap());
        case.check(&[kept, &newer.collect::<Vec<_>>()].concat());
        case.check_files();
    }
}

#[test]
fn a_reader_of_an_expired_version_goes_on_until_its_grace_period_is_over() {
    let case = Case::new(7, 4);
    let opened = Dataset::open_as_of(&case.dataset, 1).unwrap();
    let summary = Expire::new(&case.dataset).keep_last(2).run().unwrap();
    assert_eq!((summary.expired.as_slice(), summary.removed.files), ([1, 2].as_slice(), 0));
    assert!(summary.waiting.files > 0);
    assert_eq!(answers(&opened), case.answers[&1].0);
    let gone = Dataset::open_as_of(&case.dataset, 1).unwrap_err().to_string();
    let path = case.dataset.display();
    assert_eq!(gone, format!("version 1 of `{path}` has expired; the dataset has versions 3, 4"));
    // Neither a vacuum nor an ingest removes the files before their time.
    let before = files(&case.dataset);
    assert_eq!(Expire::new(&case.dataset).vacuum().run().unwrap().waiting, summary.waiting);
    ingest(&case.folder, &case.dataset, &mut Random::new(99));
    assert!(before.iter().all(|file| case.dataset.join(file).exists()));
    // A day later an ingest does.
    case.age_record();
    ingest(&case.folder, &case.dataset, &mut Random::new(100));
    case.check_files();
}

#[test]
fn the_removal_of_files_that_were_due_is_reported() {
    let case = Case::new(7, 4);
    let waiting = Expire::new(&case.dataset).keep_last(2).run().unwrap().waiting;
    case.age_record();
    let bytes = Arc::new(AtomicU64::new(0));
    let reported = bytes.clone();
    let vacuum = Expire::new(&case.dataset).progress(move |now| {
        if now.phase == Phase::RemovingFiles {
            reported.fetch_max(now.bytes, Ordering::Relaxed);
        }
    });
    let removed = vacuum.vacuum().run().unwrap().removed;
    assert_eq!((removed, bytes.load(Ordering::Relaxed)), (waiting, waiting.bytes));
}

#[test]
fn the_next_command_removes_a_record_that_was_not_written_to_its_end() {
    let day = Duration::from_secs(24 * 60 * 60);
    for command in 0..3 {
        let mut case = Case::new(11, 3);
        let (all, before) = (manifest_file::versions(&case.dataset).unwrap(), files(&case.dataset));
        let named = named(&case.dataset).iter().map(|path| format!("1 {path}\n")).collect::<String>();
        let record =
            format!("Files of expired versions, which trueup removes when the grace period is over.\ngrace 0\n{named}");
        for (id, length) in [0, 20, record.len()].into_iter().enumerate() {
            fs::write(case.dataset.join(format!(".trueup-expired-{id}")), &record[..length]).unwrap();
        }
        match command {
            0 => drop(Expire::new(&case.dataset).keep_last(3).grace(day).run().unwrap()),
            1 => drop(Expire::new(&case.dataset).grace(day).vacuum().run().unwrap()),
            _ => case.ingest(&mut Random::new(12)),
        }
        let after = files(&case.dataset);
        assert!(before.iter().all(|file| after.contains(file)), "{command}: {after:?}");
        assert!(!after.iter().any(|file| file.starts_with(".trueup-")), "{command}: {after:?}");
        assert!(manifest_file::versions(&case.dataset).unwrap().starts_with(&all), "{command}");
    }
}

#[test]
fn files_that_trueup_did_not_write_stay() {
    let case = Case::new(3, 3);
    let foreign = ["events/readme.txt", "events/00000001-0000-0123456789abcdef0123456789abcdef.parquet", "notes"];
    foreign.iter().for_each(|name| fs::write(case.dataset.join(name), "foreign").unwrap());
    Expire::new(&case.dataset).grace(Duration::ZERO).run().unwrap();
    Expire::new(&case.dataset).grace(Duration::ZERO).vacuum().run().unwrap();
    let mut expected = [named(&case.dataset), foreign.map(str::to_owned).to_vec()].concat();
    expected.sort();
    assert_eq!(files(&case.dataset), expected);
    // A record that names files of a version takes nothing from it.
    let named = named(&case.dataset).iter().map(|path| format!("1 {path}\n")).collect::<String>();
    let record =
        format!("Files of expired versions, which trueup removes when the grace period is over.\ngrace 0\n{named}end ");
    let checksum: String = checksum(&record);
    let path = case.dataset.join(".trueup-expired-x");
    fs::write(&path, format!("{record}{checksum}\n")).unwrap();
    Expire::new(&case.dataset).vacuum().run().unwrap();
    assert_eq!(files(&case.dataset), expected);
    // One that is damaged says nothing.
    let digit = if checksum.starts_with('0') { "1" } else { "0" };
    fs::write(&path, format!("{record}{digit}{}\n", &checksum[1..])).unwrap();
    let error = Expire::new(&case.dataset).vacuum().run().unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("`{}` is damaged: its bytes do not have the checksum", path.display())),
        "{error}"
    );
    fs::remove_file(path).unwrap();
    assert_eq!(manifest_file::versions(&case.dataset).unwrap(), [3]);
}

#[test]
fn what_is_younger_stays_and_a_damaged_version_stops_the_expiry() {
    let case = Case::new(5, 3);
    let day = Duration::from_secs(24 * 60 * 60);
    let kept = Expire::new(&case.dataset).older_than(day).run().unwrap();
    assert_eq!((kept.expired.len(), kept.kept.len()), (0, 3));
    fs::write(case.dataset.join(manifest_file::file_name(2)), "{").unwrap();
    let before = files(&case.dataset);
    let error = Expire::new(&case.dataset).keep_last(2).grace(Duration::ZERO).run().unwrap_err().to_string();
    assert!(error.contains("manifest-00000002.json"), "{error}");
    assert_eq!(files(&case.dataset), before);
    let absent = Expire::new(case.folder.join("absent")).run().unwrap_err().to_string();
    assert!(absent.contains("absent") && !case.folder.join("absent").exists(), "{absent}");
}

/// The dimensions of a row, and its metrics.
type Rows = BTreeMap<Vec<String>, Vec<(String, Option<i128>, Option<f64>)>>;

/// Returns the rows of an answer, read value by value.
fn by_dimensions(answer: &ResultTable) -> Rows {
    let mut rows = Rows::new();
    for (at, row) in answer.rows().enumerate() {
        let (mut key, mut metrics) = (Vec::new(), Vec::new());
        for (name, value) in row.values() {
            match value {
                Value::Text(text) => key.push(text.to_owned()),
                Value::Count(count) => metrics.push((name.to_owned(), Some(i128::from(count)), None)),
                Value::Money(micros) => metrics.push((name.to_owned(), Some(micros), None)),
                Value::Ratio(_) => match &answer.column(name).unwrap().values {
                    // `None` for a ratio over nothing, which is not the ratio 0.
                    Values::Ratios(ratios) => metrics.push((name.to_owned(), None, ratios.get(at))),
                    other => unreachable!("{other:?}"),
                },
                other => unreachable!("{other:?}"),
            }
        }
        assert!(rows.insert(key, metrics).is_none());
    }
    rows
}

fn exact(value: Value<'_>) -> Option<i128> {
    match value {
        Value::Count(count) => Some(count.into()),
        Value::Integer(integer) => Some(integer.into()),
        Value::Money(micros) => Some(micros),
        _ => None,
    }
}

/// The last two are the numerator and the denominator of `bookRate`.
const METRICS: [&str; 6] = ["eventCount", "closedRevenue", "bookRate", "spend", "bookedCustomers", "customers"];

#[test]
fn changes_between_versions_are_those_between_their_answers() {
    let mut changed_ratios = 0;
    let mut seen = [0, 0, 0];
    for seed in 0..12 {
        let case = Case::new(seed + 1_000, 3);
        let ask = |version: u64| {
            let opened = Dataset::open_as_of(&case.dataset, version).unwrap();
            let fields = ["account", "campaign"].into_iter().chain(METRICS);
            let [start, end] = ["2025-01-01", "2025-03-31"].map(|day| day.parse().unwrap());
            opened.query(&EventsQuery::new(fields, start, end).exact_ratios()).unwrap()
        };
        let (earlier, later) = (ask(1), ask(*case.answers.keys().next_back().unwrap()));
        assert!(later.changes_since(&later).unwrap().is_empty());
        let changes = later.changes_since(&earlier).unwrap();
        let (before, after) = (by_dimensions(&earlier), by_dimensions(&later));
        let mut keys: Vec<_> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| before.get(*key) != after.get(*key));
        assert_eq!(changes.len(), keys.len(), "{seed}");
        for (row, key) in keys.into_iter().enumerate() {
            let text = |name: &str| match changes.value(row, name) {
                Some(Value::Text(text)) => text.to_owned(),
                other => unreachable!("{other:?}"),
            };
            assert_eq!(&[text("account"), text("campaign")], key.as_slice(), "{seed}");
            let (status, at) = match (before.get(key), after.get(key)) {
                (None, _) => ("added", 0),
                (_, None) => ("removed", 1),
                _ => ("changed", 2),
            };
            seen[at] += 1;
            assert_eq!(text("status"), status);
            let metric = |rows: &Rows, at: usize| rows.get(key).map(|metrics| metrics[at].clone());
            for (at, name) in METRICS.into_iter().enumerate() {
                let [was, is] = [metric(&before, at), metric(&after, at)];
                let value = |suffix: &str| changes.value(row, &format!("{name}{suffix}")).unwrap();
                if name == "bookRate" {
                    let ratio = |it: &Option<(String, Option<i128>, Option<f64>)>| {
                        it.as_ref().and_then(|it| it.2).unwrap_or(0.0)
                    };
                    assert_eq!((value(""), value(".previous")), (Value::Ratio(ratio(&is)), Value::Ratio(ratio(&was))));
                    match value(".change") {
                        // The difference of the fractions, rounded once. The counts are so small that doubles hold
                        // them.
                        Value::Number(change) => {
                            let count = |rows, at: usize| metric(rows, at).and_then(|it| it.1).unwrap();
                            let [n0, n1] = [&before, &after].map(|rows| count(rows, 4));
                            let [d0, d1] = [&before, &after].map(|rows| count(rows, 5));
                            #[expect(clippy::cast_precision_loss, reason = "the counts are small")]
                            let expected = (n1 * d0 - n0 * d1) as f64 / (d0 * d1) as f64;
                            assert_eq!(change, expected);
                            changed_ratios += usize::from(change != ratio(&is) - ratio(&was));
                        }
                        other => {
                            let has_both = [&was, &is].iter().all(|it| it.as_ref().is_some_and(|it| it.2.is_some()));
                            assert!(other == Value::Null && !has_both);
                        }
                    }
                } else {
                    let number =
                        |it: &Option<(String, Option<i128>, Option<f64>)>| it.as_ref().and_then(|it| it.1).unwrap_or(0);
                    let found = [value(""), value(".previous"), value(".change")].map(|value| exact(value).unwrap());
                    assert_eq!(found, [number(&is), number(&was), number(&is) - number(&was)], "{name}");
                }
            }
        }
    }
    assert!(seen[0] > 0 && seen[2] > 0, "{seen:?}");
    assert!(changed_ratios > 0, "no case in which the difference of two rounded ratios is another number");
    let case = Case::new(1, 1);
    let opened = Dataset::open(&case.dataset).unwrap();
    let ask = |fields: &[&str]| {
        let [start, end] = ["2025-01-01", "2025-03-31"].map(|day| day.parse().unwrap());
        opened.query(&EventsQuery::new(fields.to_vec(), start, end).allow_unknown(true)).unwrap()
    };
    let refused = ask(&["account", "leads"]).changes_since(&ask(&["account", "spend"])).unwrap_err();
    assert_eq!(refused, NotComparable::DifferentColumns("leads".to_owned()));
    let rounded = ask(&["account", "bookRate"]);
    assert_eq!(rounded.changes_since(&rounded), Err(NotComparable::RoundedRatios("bookRate".to_owned())));
    for (fields, twice) in [(&["status", "leads"][..], "status"), (&["leads.change", "leads"], "leads.change")] {
        let refused = ask(fields).changes_since(&ask(fields)).unwrap_err();
        assert_eq!(refused, NotComparable::ColumnOfDifference(twice.to_owned()));
    }
}
