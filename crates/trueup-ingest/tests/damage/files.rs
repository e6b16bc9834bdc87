//! Damaged files of a dataset. A query, a verification, a further ingest, and a dataset that was opened before the
//! damage each report it, or give the right answer.

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use trueup_core::dataset::manifest::Manifest;
use trueup_core::dataset::{Verification, manifest_file};
use trueup_core::query::{AccountFilter, DateRange, EventsQuery};
use trueup_core::{Dataset, Error, Interrupt};
use trueup_ingest::Ingest;
use trueup_testkit::damage::copy_folder;
use trueup_testkit::exhaustive::{bits, is_exhaustive, step};
use trueup_testkit::random::Random;

/// A small dataset of two event files, for tests to damage, and its answers.
struct DamagedDataset {
    dir: TempDir,
    /// The answers of the undamaged dataset.
    sound: String,
    /// The answers after a further ingest.
    later: String,
}

impl DamagedDataset {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let events = "account,opportunityId,type,date,dateTime,total,campaign\n\
            a,1,lead-originated,2025-01-01,2025-01-01T05:00:00Z,,x\na,1,sold,2025-01-09,2025-01-09T05:00:00Z,12.5,\n\
            a,2,lead-originated,2025-01-02,,,y\nb,1,booked,2025-01-02,2025-01-02T07:00:00Z,,x\nb,1,sold,2025-02-01,,99.99,x\n";
        write("events.csv", events);
        write("spend.csv", "account,date,campaign,adSpend,clicks\na,2025-01-02,x,1,3\nb,2025-01-02,,2.25,4\n");
        write("accounts.csv", "account,accountName\nb,B\na,A\n");
        let insights = "{\"account\":\"a\",\"date\":\"2025-01-02\",\"insight\":{\"n\":1}}\n\
            {\"account\":\"b\",\"date\":\"2025-01-01\",\"insight\":{}}\n";
        write("insights.ndjson", insights);
        let more = "account,opportunityId,type,date,dateTime,total,campaign\na,1,closed,2025-01-12,,12.5,\nc,1,sold,2025-01-09,,7,z\n";
        write("more-events.csv", more);
        // A stored day is restated, so that stored spend is read.
        write("more-spend.csv", "account,date,campaign,adSpend,clicks\na,2025-01-03,x,4,3\na,2025-01-02,x,5,3\n");
        write("more-accounts.csv", "account,accountName\nc,C\n");
        write("more-insights.ndjson", "{\"account\":\"a\",\"date\":\"2025-01-03\",\"insight\":{\"n\":2}}\n");
        let mut dataset = Self { dir, sound: String::new(), later: String::new() };
        dataset.ingest("").unwrap();
        dataset.sound = answers(&Dataset::open(dataset.folder()).unwrap()).unwrap();
        let kept = dataset.copy();
        dataset.ingest("more-").unwrap();
        dataset.later = answers(&Dataset::open(dataset.folder()).unwrap()).unwrap();
        dataset.restore(&kept);
        assert_ne!(dataset.sound, dataset.later);
        dataset
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("dataset")
    }

    /// Ingests a file of each table, whose name begins with `prefix`.
    fn ingest(&self, prefix: &str) -> Result<(), trueup_ingest::IngestError> {
        let file = |name: &str| self.dir.path().join(format!("{prefix}{name}"));
        let ingest = Ingest::into(self.folder()).threads(1).row_group_rows(3).file_rows(3);
        let ingest = ingest.events(file("events.csv")).spend(file("spend.csv")).accounts(file("accounts.csv"));
        ingest.insights(file("insights.ndjson")).run().map(drop)
    }

    /// Returns a copy of the dataset as it is.
    fn copy(&self) -> TempDir {
        let kept = TempDir::new().unwrap();
        copy_folder(&self.folder(), kept.path()).unwrap();
        kept
    }

    fn restore(&self, kept: &TempDir) {
        fs::remove_dir_all(self.folder()).unwrap();
        copy_folder(kept.path(), &self.folder()).unwrap();
    }

    /// Returns the files that the manifest names.
    fn files(&self) -> Vec<PathBuf> {
        let manifest: Manifest = manifest_file::read_latest(&self.folder()).unwrap().unwrap();
        manifest.files().map(|file| self.folder().join(&file.path)).collect()
    }

    fn files_and_manifest(&self) -> Vec<PathBuf> {
        let manifest = self.folder().join(manifest_file::file_name(1));
        self.files().into_iter().chain([manifest]).collect()
    }

    /// Returns whether a query is refused. If not, checks its answer.
    fn query_is_refused(&self, what: &str) -> bool {
        match Dataset::open(self.folder()).and_then(|dataset| answers(&dataset)) {
            Ok(answer) => assert_eq!(answer, self.sound, "{what}"),
            Err(_) => return true,
        }
        false
    }

    /// Checks that verification fails or reports a fault.
    fn check_verification(&self, what: &str) {
        let found = Verification::of(self.folder(), None);
        assert!(found.is_err() || found.is_ok_and(|found| !found.faults.is_empty()), "{what}");
    }

    /// Returns whether a further ingest is refused. If not, checks the answer of the new version.
    fn ingest_is_refused(&self, what: &str) -> bool {
        if self.ingest("more-").is_err() {
            return true;
        }
        // A file that was not rewritten may still be damaged.
        if let Ok(answer) = Dataset::open(self.folder()).and_then(|dataset| answers(&dataset)) {
            assert_eq!(answer, self.later, "{what}");
        }
        false
    }
}

/// Returns every column of every row, the accounts, and all documents.
fn answers(dataset: &Dataset) -> Result<String, Error> {
    let range = DateRange { start: "2024-12-01".parse().unwrap(), end: "2025-03-01".parse().unwrap() };
    let fields = [
        "account",
        "opportunityId",
        "campaign",
        "dateTime",
        "customers",
        "eventCount",
        "leads",
        "soldLeads",
        "total",
        "soldRevenue",
        "spend",
        "clicks",
    ];
    let table = dataset.query(&EventsQuery::new(fields, range.start, range.end).allow_long_total())?;
    let insights = dataset.insights(&AccountFilter::All, Some(range), 10, &Interrupt::default())?;
    let insights = insights.collect::<Result<Vec<_>, _>>()?;
    let accounts: Vec<_> = dataset.accounts().iter().collect();
    Ok(format!("{table:?} {insights:?} {accounts:?} {:?}", dataset.account_keys()?))
}

/// Returns whether only ingests and verification read a file, and no query: a list of batches.
fn is_for_ingests(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("batches"))
}

#[test]
fn a_flipped_bit_never_changes_an_answer() {
    let dataset = DamagedDataset::new();
    let mut random = Random::new(1);
    for path in dataset.files_and_manifest() {
        let bytes = fs::read(&path).unwrap();
        // Flip one bit of each byte, and each bit of some bytes.
        let mut flips = bits(bytes.len(), 1);
        if !is_exhaustive() {
            let chosen: Vec<usize> = (0..12).map(|_| random.index(bytes.len())).collect();
            flips.extend(chosen.iter().flat_map(|at| (0..8).map(|bit| (*at, bit))));
        }
        println!("{} bits of {}", flips.len(), path.display());
        for (case, (at, bit)) in flips.into_iter().enumerate() {
            let what = format!("{}, byte {at}, bit {bit}", path.display());
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, &changed).unwrap();
            assert!(dataset.query_is_refused(&what) || is_for_ingests(&path), "{what}");
            if case % step(31) == 0 {
                dataset.check_verification(&what);
            }
        }
        fs::write(&path, &bytes).unwrap();
        assert!(!dataset.query_is_refused("whole again"));
    }
}

#[test]
fn a_file_of_another_length_is_refused() {
    let dataset = DamagedDataset::new();
    for path in dataset.files_and_manifest() {
        let bytes = fs::read(&path).unwrap();
        let longer = (1..40).map(|more| [&*bytes, &bytes[..more]].concat());
        for (case, changed) in (0..bytes.len()).map(|length| bytes[..length].to_vec()).chain(longer).enumerate() {
            let what = format!("{}, {} of {} bytes", path.display(), changed.len(), bytes.len());
            fs::write(&path, &changed).unwrap();
            assert!(dataset.query_is_refused(&what) || is_for_ingests(&path), "{what}");
            if case % step(61) == 0 {
                dataset.check_verification(&what);
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
}

/// Replaces the first file by something else, for which the second file may be used.
type Replacement = (&'static str, fn(&Path, &Path));

fn replacements() -> Vec<Replacement> {
    let mut all: Vec<Replacement> = vec![
        ("removed", |path, _| fs::remove_file(path).unwrap()),
        ("another file", |path, other| assert!(fs::copy(other, path).unwrap() > 0)),
        ("a folder", |path, _| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
        ("nothing but zeros", |path, _| fs::write(path, vec![0; fs::read(path).unwrap().len()]).unwrap()),
    ];
    #[cfg(unix)]
    all.extend([
        (
            "a link",
            (|path, _| {
                let elsewhere = path.with_extension("elsewhere");
                fs::rename(path, &elsewhere).unwrap();
                std::os::unix::fs::symlink(elsewhere, path).unwrap();
            }) as fn(&Path, &Path),
        ),
        ("a pipe", |path, _| {
            fs::remove_file(path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
    ]);
    all
}

#[test]
fn anything_in_place_of_a_file_is_refused() {
    let dataset = DamagedDataset::new();
    let kept = dataset.copy();
    let files = dataset.files();
    for (at, path) in files.iter().enumerate() {
        let other = &files[(at + 1) % files.len()];
        for (what, replace) in replacements() {
            let what = format!("{}: {what}", path.display());
            replace(path, other);
            assert!(dataset.query_is_refused(&what) || is_for_ingests(path), "{what}");
            dataset.check_verification(&what);
            dataset.ingest_is_refused(&what);
            dataset.restore(&kept);
        }
    }
    // Swap two files.
    let (one, other) = (&files[0], &files[1]);
    let (first, second) = (fs::read(one).unwrap(), fs::read(other).unwrap());
    fs::write(one, second).unwrap();
    fs::write(other, first).unwrap();
    assert!(dataset.query_is_refused("swapped"));
    dataset.check_verification("swapped");
}

#[test]
fn an_ingest_never_carries_damage_into_a_new_version() {
    let dataset = DamagedDataset::new();
    let kept = dataset.copy();
    let mut random = Random::new(7);
    for path in dataset.files_and_manifest() {
        let bytes = fs::read(&path).unwrap();
        let mut refused = 0;
        let flips = if is_exhaustive() {
            bits(bytes.len(), 1)
        } else {
            (0..20).map(|_| (random.index(bytes.len()), random.index(8))).collect()
        };
        println!("{} bits of {}", flips.len(), path.display());
        for (at, bit) in flips {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, &changed).unwrap();
            let what = format!("{}, byte {at}, bit {bit}", path.display());
            if dataset.ingest_is_refused(&what) {
                refused += 1;
            } else {
                // Everything that was written since is right.
                fs::write(&path, &bytes).unwrap();
                assert_eq!(answers(&Dataset::open(dataset.folder()).unwrap()).unwrap(), dataset.later, "{what}");
            }
            dataset.restore(&kept);
        }
        // An ingest does not read a file of events that has no account of the batch.
        assert!(refused > 0 || path.display().to_string().contains("events"), "{}", path.display());
    }
}

#[test]
fn a_byte_that_changes_in_an_open_dataset_never_changes_an_answer() {
    let damaged = DamagedDataset::new();
    let whole = Dataset::open(damaged.folder()).unwrap();
    answers(&whole).unwrap();
    // The budget keeps no column, some columns, or all but one in memory.
    for budget in [0, 1, whole.held_column_bytes() / 2, whole.held_column_bytes() - 1] {
        let dataset = Dataset::open(damaged.folder()).unwrap().with_column_budget(budget);
        assert_eq!(answers(&dataset).unwrap(), damaged.sound);
        let mut refused = 0;
        for path in damaged.files() {
            let bytes = fs::read(&path).unwrap();
            for (at, bit) in bits(bytes.len(), 11) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                fs::write(&path, &changed).unwrap();
                match answers(&dataset) {
                    Ok(answer) => assert_eq!(answer, damaged.sound, "{}, byte {at}, bit {bit}", path.display()),
                    Err(_) => refused += 1,
                }
            }
            fs::write(&path, &bytes).unwrap();
            assert_eq!(answers(&dataset).unwrap(), damaged.sound, "{} is whole again", path.display());
        }
        assert!(refused > 100, "{refused}");
    }
}
