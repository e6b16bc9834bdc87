//! A dataset of one version, and inputs of several kinds for the next.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use trueup_ingest::Ingest;
use trueup_testkit::damage::copy_folder;

/// Adds a file to an ingest.
type Add = fn(Ingest, PathBuf) -> Ingest;

/// A dataset of one version, and the inputs of the next.
pub(crate) struct Case {
    pub(crate) dir: TempDir,
    memory: usize,
    /// The files of the next version.
    later: Vec<(&'static str, Add)>,
}

/// A mapping that joins two inputs.
const MAPPING: &str = r#"
[input.log]
file = "log.csv"
[input.people]
file = "people.csv.gz"
[[events]]
from = "log"
join = [{ input = "people", on = "agent", unmatched = "refuse" }]
[events.columns]
account = { value = "a01" }
opportunityId = "id"
type = { value = "sold" }
date = "day"
total = "total"
campaign = "name"
"#;

impl Case {
    /// Makes a case whose inputs are text.
    pub(crate) fn new() -> Self {
        Self::with_memory(1 << 30)
    }

    /// Makes a case whose rows do not fit into memory.
    pub(crate) fn spilled() -> Self {
        Self::with_memory(20_000)
    }

    fn with_memory(memory: usize) -> Self {
        let later: Vec<(&str, Add)> =
            vec![("2.csv", Ingest::events), ("spend2.csv", Ingest::spend), ("insights.ndjson", Ingest::insights)];
        let case = Self { dir: tempfile::tempdir().unwrap(), memory, later };
        case.write("1.csv", &events(0..12));
        case.write("2.csv", &(events(6..9).replace(",sold,", ",closed,") + &rows(14..16)));
        case.write("spend.csv", "account,date,adSpend\na01,2025-01-02,1\na02,2025-01-03,2.5\n");
        case.write("spend2.csv", "account,date,adSpend\na01,2025-01-02,7\n");
        case.write("accounts.csv", "account,accountName\na01,One\n");
        case.write("insights.ndjson", "{\"account\":\"a01\",\"date\":\"2025-01-01\",\"insight\":{\"n\":1}}\n");
        case.first().run().unwrap();
        case
    }

    /// Makes a case whose inputs are compressed.
    pub(crate) fn gzip() -> Self {
        let mut case = Self::new();
        for (name, packed) in [("2.csv", "2.csv.gz"), ("insights.ndjson", "insights.ndjson.gz")] {
            case.write_packed(packed, &fs::read(case.dir.path().join(name)).unwrap());
        }
        case.later = vec![("2.csv.gz", Ingest::events), ("insights.ndjson.gz", Ingest::insights)];
        case
    }

    /// Makes a case whose input is a workbook.
    pub(crate) fn xlsx() -> Self {
        let mut case = Self::new();
        let workbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign/events.xlsx");
        fs::copy(workbook, case.dir.path().join("events.xlsx")).unwrap();
        case.later = vec![("events.xlsx", Ingest::events)];
        case
    }

    /// Makes a case whose inputs, one of them compressed, are joined by a mapping.
    pub(crate) fn mapped() -> Self {
        let mut case = Self::new();
        case.write("mapping.toml", MAPPING);
        case.write("log.csv", "id,day,total,agent\nc1,2025-01-20,3,p\nc2,2025-01-20,4.5,q\nnew,2025-01-21,,p\n");
        case.write_packed("people.csv.gz", b"agent,name\np,Pat\nq,Quin\n");
        case.later =
            vec![("mapping.toml", Ingest::mapping), ("log.csv", Ingest::events), ("people.csv.gz", Ingest::events)];
        case
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).unwrap();
    }

    /// Writes a file that is compressed with gzip.
    fn write_packed(&self, name: &str, bytes: &[u8]) {
        let file = File::create(self.dir.path().join(name)).unwrap();
        let mut packed = GzEncoder::new(file, Compression::default());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap();
    }

    /// Keeps a copy of the dataset for [`reset`](Self::reset).
    pub(crate) fn keep(&self) {
        copy_folder(&self.dataset(), &self.dir.path().join("old")).unwrap();
    }

    /// Replaces the dataset by the copy that was kept.
    pub(crate) fn reset(&self) {
        fs::remove_dir_all(self.dataset()).unwrap();
        copy_folder(&self.dir.path().join("old"), &self.dataset()).unwrap();
    }

    pub(crate) fn dataset(&self) -> PathBuf {
        self.dir.path().join("dataset")
    }

    pub(crate) fn ingest(&self, files: &[(&str, Add)]) -> Ingest {
        // With one thread, the operations have nearly the same order each time.
        let ingest = Ingest::into(self.dataset()).memory(self.memory).row_group_rows(30).threads(1);
        files.iter().fold(ingest, |ingest, (name, add)| add(ingest, self.dir.path().join(name)))
    }

    pub(crate) fn first(&self) -> Ingest {
        self.ingest(&[("1.csv", Ingest::events), ("spend.csv", Ingest::spend), ("accounts.csv", Ingest::accounts)])
    }

    pub(crate) fn second(&self) -> Ingest {
        self.ingest(&self.later)
    }

    /// Returns the files next to the dataset, with their contents.
    pub(crate) fn inputs(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut inputs: Vec<_> =
            entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        inputs.sort();
        inputs
    }
}

fn events(accounts: impl Iterator<Item = usize>) -> String {
    "account,opportunityId,type,date,eventId,total\n".to_owned() + &rows(accounts)
}

fn rows(accounts: impl Iterator<Item = usize>) -> String {
    let mut text = String::new();
    for account in accounts {
        for customer in 0..8 {
            for (at, stage) in ["lead-originated", "sold"].iter().enumerate() {
                let day = 1 + customer + at * 9;
                writeln!(text, "a{account:02},c{customer},{stage},2025-01-{day:02},{customer}/{at},{customer}.5")
                    .unwrap();
            }
        }
    }
    text
}
