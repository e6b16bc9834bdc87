//! Datasets as an ingest writes them, and datasets and inputs that were damaged since.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod hostile;
mod workbooks;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use trueup_core::dataset::{Verification, manifest_file};
use trueup_core::{Dataset, Interrupt};
use trueup_ingest::Ingest;

/// Returns events of some accounts. Each customer has two events, on two days.
fn events(accounts: impl Iterator<Item = usize>) -> String {
    let mut text = "account,opportunityId,type,date,eventId,total\n".to_owned();
    for account in accounts {
        for customer in 0..40 {
            for (event, stage) in ["lead-originated", "sold"].iter().enumerate() {
                // Many customers of an account start on the same day.
                let day = 1 + customer % 5 + event * 9;
                let id = format!("{customer}/{event}");
                writeln!(text, "a{account:02},c{customer},{stage},2025-01-{day:02},{id},{customer}.5").unwrap();
            }
        }
    }
    text
}

/// Makes a dataset by several ingests. It has several versions, event files and row groups.
fn make_dataset(dir: &Path) {
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let dataset = dir.join("dataset");
    let ingest = || Ingest::into(&dataset).row_group_rows(30).file_rows(100);
    let spend = "account,date,campaign,adSpend\na03,2025-01-02,x,1\na01,2025-01-02,,2\na01,2025-01-01,y,3\n";
    let insights = "{\"account\":\"b\",\"date\":\"2025-01-01\",\"insight\":{\"n\":1}}\n\
        {\"account\":\"a\",\"date\":\"2025-01-02\",\"insight\":{}}\n";
    ingest()
        .events(write("first.csv", &events(0..8)))
        .spend(write("spend.csv", spend))
        .accounts(write("accounts.csv", "account,accountName\nb,B\na,A\n"))
        .insights(write("insights.ndjson", insights))
        .run()
        .unwrap();
    for (name, accounts) in [("later.csv", 3..4), ("last.csv", 6..11)] {
        let replacing = events(accounts).replace(",sold,", ",closed,");
        let added = "a03,c3,booked,2024-12-31,new,\na06,new,booked,2025-02-03,,\n";
        ingest().events(write(name, &(replacing + added))).run().unwrap();
    }
}

#[test]
fn every_version_of_an_ingested_dataset_verifies() {
    let dir = TempDir::new().unwrap();
    make_dataset(dir.path());
    let dataset = dir.path().join("dataset");
    for version in [1, 2, 3] {
        let found = Verification::of(&dataset, Some(version.into())).unwrap();
        assert_eq!(found.faults, Vec::<String>::new());
        assert!(found.files > 6, "{found:?}");
        Dataset::open_as_of(&dataset, version).unwrap();
    }
}

#[test]
fn a_file_in_place_of_another_is_refused() {
    let dir = TempDir::new().unwrap();
    make_dataset(dir.path());
    let dataset = dir.path().join("dataset");
    let manifest = manifest_file::read_latest(&dataset).unwrap().unwrap();
    let first = &manifest.events[0];
    let other = manifest.events.iter().find(|file| file.size != first.size).unwrap();
    fs::copy(dataset.join(&other.path), dataset.join(&first.path)).unwrap();
    let path = dataset.join(&first.path);
    let expected = format!("`{}` has {} bytes, but the manifest says {}", path.display(), other.size, first.size);
    let opened = Dataset::open(&dataset).unwrap();
    assert_eq!(opened.read_footers(&Interrupt::default()).unwrap_err().to_string(), expected);
    assert_eq!(Verification::of(&dataset, None).unwrap().faults, [expected]);
}

#[test]
fn a_changed_byte_is_found_in_every_file_of_a_table() {
    let dir = TempDir::new().unwrap();
    make_dataset(dir.path());
    let dataset = dir.path().join("dataset");
    let manifest = manifest_file::read_latest(&dataset).unwrap().unwrap();
    for file in manifest.tables().into_iter().flat_map(|(_, files)| files) {
        let path = dataset.join(&file.path);
        let sound = fs::read(&path).unwrap();
        let mut changed = sound.clone();
        changed[sound.len() / 2] ^= 1;
        fs::write(&path, changed).unwrap();
        let faults = Verification::of(&dataset, None).unwrap().faults;
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with(&format!("`{}` has the checksum ", path.display())), "{faults:?}");
        fs::write(&path, sound).unwrap();
    }
}
