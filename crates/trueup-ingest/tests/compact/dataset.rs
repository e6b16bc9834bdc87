//! Datasets as updates leave them: customers have rows in several files, and deletion vectors leave out all but the
//! newest history of each.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use trueup_core::dataset::manifest::{DataFile, Manifest, VECTORS_FOLDER, checksum};
use trueup_core::dataset::{BlockHasher, DeletionVector, Verification, encode_vectors, manifest_file};
use trueup_core::files::Files;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, ResultTable};
use trueup_ingest::{Compact, Ingest};
use trueup_testkit::random::Random;

const HEADER: &str = "account,opportunityId,type,date,eventId,total,campaign,even,odd\n";
const SPEND_HEADER: &str = "account,date,adSpend,campaign\n";

/// The account, and the customer of events or the day of spend.
type Key = (String, String);

/// The rows of each key, of events and of spend.
#[derive(Clone, Default)]
struct Rows {
    events: BTreeMap<Key, String>,
    spend: BTreeMap<Key, String>,
}

/// A dataset in several runs, and the same rows ingested at once.
pub(crate) struct Case {
    pub(crate) dir: TempDir,
}

impl Case {
    /// Makes a dataset of a number of runs.
    pub(crate) fn new(seed: u64, runs: u64) -> Self {
        let case = Self { dir: tempfile::tempdir().unwrap() };
        let mut random = Random::new(seed);
        let scale = random.below(4) * random.below(20) + 1;
        // What each run writes, and the newest rows of each key.
        let written: Vec<Rows> = (0..runs).map(|run| rows(&mut random, run, scale)).collect();
        let mut newest = Rows::default();
        for rows in &written {
            newest.events.extend(rows.events.clone());
            newest.spend.extend(rows.spend.clone());
        }
        case.ingest("once", &newest);
        let (mut manifest, mut vectors) = (None::<Manifest>, BTreeMap::new());
        for (run, rows) in written.iter().enumerate() {
            let part = case.ingest(&format!("run-{run}"), rows);
            let latest = manifest_file::read_latest(&part).unwrap().unwrap();
            let later = &written[run + 1..];
            for file in &latest.events {
                let gone = |key: &Key| later.iter().any(|rows| rows.events.contains_key(key));
                supersede(&part, file, "opportunityId", &gone, &mut vectors);
            }
            for file in &latest.spend {
                let gone = |key: &Key| later.iter().any(|rows| rows.spend.contains_key(key));
                supersede(&part, file, "date", &gone, &mut vectors);
            }
            for folder in ["events", "spend", "lists", "batches"].map(|folder| part.join(folder)) {
                let to = case.dataset().join(folder.file_name().unwrap());
                fs::create_dir_all(&to).unwrap();
                for file in fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap()) {
                    fs::copy(file.path(), to.join(file.file_name())).unwrap();
                }
            }
            match &mut manifest {
                None => manifest = Some(latest),
                Some(manifest) => {
                    manifest.lists.events.extend(latest.lists.events);
                    manifest.lists.spend.extend(latest.lists.spend);
                    manifest.events.extend(latest.events);
                    manifest.spend.extend(latest.spend);
                }
            }
        }
        case.publish(manifest.unwrap(), vectors);
        case
    }

    pub(crate) fn dataset(&self) -> PathBuf {
        self.dir.path().join("ds")
    }

    /// Returns the folder of the dataset that was ingested at once.
    pub(crate) fn once(&self) -> PathBuf {
        self.dir.path().join("once")
    }

    /// Returns the compaction of the dataset, with the settings with which it was ingested.
    pub(crate) fn compact(&self) -> Compact {
        Compact::new(self.dataset()).row_group_rows(16).file_rows(64)
    }

    /// Ingests rows into a dataset of their own, whose folder is returned.
    fn ingest(&self, name: &str, rows: &Rows) -> PathBuf {
        let folder = self.dir.path().join(name);
        let inputs = self.dir.path().join(format!("{name}-inputs"));
        fs::create_dir(&inputs).unwrap();
        let text = |rows: &BTreeMap<Key, String>| rows.values().map(String::as_str).collect::<String>();
        fs::write(inputs.join("events.csv"), HEADER.to_owned() + &text(&rows.events)).unwrap();
        let mut ingest = Ingest::into(&folder).events(inputs.join("events.csv")).row_group_rows(16).file_rows(64);
        if !rows.spend.is_empty() {
            fs::write(inputs.join("spend.csv"), SPEND_HEADER.to_owned() + &text(&rows.spend)).unwrap();
            ingest = ingest.spend(inputs.join("spend.csv"));
        }
        ingest.run().unwrap();
        folder
    }

    /// Publishes the dataset, with vectors in up to two files.
    fn publish(&self, mut manifest: Manifest, vectors: BTreeMap<String, DeletionVector>) {
        fs::create_dir(self.dataset().join(VECTORS_FOLDER)).unwrap();
        let named: Vec<(&str, &DeletionVector)> =
            vectors.iter().map(|(path, vector)| (path.as_str(), vector)).collect();
        for (number, vectors) in named.chunks(named.len().div_ceil(2).max(1)).enumerate() {
            let path = format!("{VECTORS_FOLDER}/{number}.parquet");
            fs::write(self.dataset().join(&path), encode_vectors(vectors.iter().copied()).unwrap()).unwrap();
            manifest.deletion_vectors.push(self.described(path, vectors.len() as u64));
        }
        manifest.superseded = vectors.into_iter().map(|(path, vector)| (path, Arc::new(vector))).collect();
        let staging = tempfile::tempdir_in(self.dir.path()).unwrap();
        manifest_file::publish(&Files::default(), &self.dataset(), staging.path(), &manifest).unwrap();
    }

    fn described(&self, path: String, rows: u64) -> DataFile {
        let bytes = fs::read(self.dataset().join(&path)).unwrap();
        let blake3 = checksum(&bytes);
        let mut blocks = BlockHasher::default();
        blocks.add(&bytes);
        let (size, blocks) = (bytes.len() as u64, blocks.finish());
        DataFile { path, size, rows, blake3, blocks, ..DataFile::default() }
    }
}

/// Makes the rows of a run: histories of random customers, and some days of spend.
fn rows(random: &mut Random, run: u64, scale: u64) -> Rows {
    let mut rows = Rows::default();
    for _ in 0..=random.below(8 * scale) {
        let (account, customer) = (format!("a{}", random.below(5)), random.below(6 * scale).to_string());
        let mut history = String::new();
        for (at, kind) in ["lead-originated", "booked", "sold", "closed"].iter().enumerate() {
            if random.below(3) > 0 || history.is_empty() {
                let (month, day, total) = (random.below(9) + 1, random.below(28) + 1, random.below(5_000));
                // Some rows are equal to others.
                let id = if random.below(4) > 0 { format!("e{customer}-{at}") } else { String::new() };
                let campaign = random.below(3);
                // Each run has both dimensions, but values in only one of them, and the next run in the other.
                let dimensions = ["x,", ",y"][usize::try_from(run % 2).unwrap()];
                history += &format!(
                    "{account},{customer},{kind},2025-{month:02}-{day:02},{id},{total},c{campaign},{dimensions}\n"
                );
            }
        }
        rows.events.insert((account, customer), history);
    }
    for _ in 0..random.below(5) * (run + 1) % 7 {
        let (account, day) = (format!("a{}", random.below(5)), format!("2025-0{}-03", random.below(9) + 1));
        let (one, other) = (random.below(100), random.below(100));
        let text = format!("{account},{day},{one},c1\n{account},{day},{other},c2\n");
        rows.spend.insert((account, day), text);
    }
    rows
}

/// Adds the deletion vector of a file. Each key consists of the account and the column `key`; `gone` says which keys
/// are superseded.
fn supersede(
    dataset: &Path,
    file: &DataFile,
    key: &str,
    gone: &dyn Fn(&Key) -> bool,
    vectors: &mut BTreeMap<String, DeletionVector>,
) {
    for row_group in 0..file.row_groups.len() {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(dataset.join(&file.path)).unwrap()).unwrap();
        let (mut superseded, mut left, mut number) = (Vec::new(), BTreeSet::new(), 0);
        for batch in builder.with_row_groups(vec![row_group]).build().unwrap() {
            let batch: RecordBatch = batch.unwrap();
            let days = batch.column_by_name("date").unwrap().as_primitive::<Date32Type>();
            let accounts = batch.column_by_name("account").unwrap().as_string::<i32>();
            for row in 0..batch.num_rows() {
                let key = match batch.column_by_name(key).unwrap().as_string_opt::<i32>() {
                    Some(keys) => keys.value(row).to_owned(),
                    None => days.value_as_date(row).unwrap().to_string(),
                };
                if gone(&(accounts.value(row).to_owned(), key)) {
                    superseded.push(number..number + 1);
                } else {
                    left.insert(days.value(row));
                }
                number += 1;
            }
        }
        if !superseded.is_empty() {
            let days = left.first().copied().zip(left.last().copied());
            vectors.entry(file.path.clone()).or_default().supersede(file, row_group, superseded, days);
        }
    }
}

pub(crate) fn answers(dataset: &Dataset) -> ResultTable {
    let fields =
        ["account", "opportunityId", "type", "campaign", "date", "eventCount", "total", "closedRevenue", "spend"];
    let query = EventsQuery::new(fields, "2025-01-01".parse().unwrap(), "2025-12-31".parse().unwrap());
    dataset.query(&query.allow_long_total()).unwrap()
}

pub(crate) fn answers_of(dataset: &Path) -> ResultTable {
    answers(&Dataset::open(dataset).unwrap())
}

pub(crate) fn faults(dataset: &Path) -> Vec<String> {
    Verification::of(dataset, None).unwrap().faults
}

/// Returns the checksums of the files of events and spend of the newest version, sorted.
pub(crate) fn checksums(dataset: &Path) -> Vec<String> {
    let manifest = manifest_file::read_latest(dataset).unwrap().unwrap();
    let mut sums: Vec<String> = manifest.events.iter().chain(&manifest.spend).map(|file| file.blake3.clone()).collect();
    sums.sort();
    sums
}
