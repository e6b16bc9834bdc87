//! Files that are missing, cut, swapped or changed, the manifest among them.

use crate::test_dataset::{FILES, SOUND, TestDataset, events};
use std::fs;
use std::sync::Arc;
use trueup_core::dataset::manifest::{ACCOUNTS, INSIGHTS, SCHEMA_VERSION};
use trueup_core::dataset::{AsOf, Verification, manifest_file};
use trueup_core::{Dataset, DatasetError, Error};
use trueup_testkit::exhaustive::{bits, step};

#[test]
fn a_valid_dataset_answers_and_has_no_faults() {
    let stored = TestDataset::sound();
    // Three customers with events, and for each account the spend without a campaign.
    assert_eq!(stored.ask().unwrap(), 5);
    assert_eq!(stored.faults(), Vec::<String>::new());
}

#[test]
fn a_file_that_is_missing_is_named() {
    for name in FILES {
        let stored = TestDataset::sound();
        fs::remove_file(stored.path(name)).unwrap();
        let expected = format!("`{}` is missing, but the manifest names it", stored.path(name).display());
        assert_eq!(stored.refused(), expected);
        assert_eq!(stored.fault(), expected);
    }
}

#[test]
fn a_file_that_is_cut_or_longer_is_named_with_both_lengths() {
    for name in FILES {
        let stored = TestDataset::sound();
        let bytes = fs::read(stored.path(name)).unwrap();
        let longer: Vec<u8> = bytes.iter().copied().chain(*b"\n").collect();
        for changed in [&[], &bytes[..1], &bytes[..bytes.len() / 2], &bytes[..bytes.len() - 1], &longer] {
            fs::write(stored.path(name), changed).unwrap();
            let path = stored.path(name);
            let (path, found, promised) = (path.display(), changed.len(), bytes.len());
            let expected = format!("`{path}` has {found} bytes, but the manifest says {promised}");
            assert_eq!(stored.refused(), expected);
            assert_eq!(stored.fault(), expected);
        }
    }
}

#[test]
fn a_file_with_another_number_of_rows_is_named_with_both_numbers() {
    let mut stored = TestDataset::sound();
    stored.manifest.events.clear();
    stored.add_events(&[events(&SOUND[..2])]);
    let file = stored.manifest.events[0].clone();
    stored.manifest.events[0].rows = 4;
    Arc::make_mut(&mut stored.manifest.events[0].row_groups)[0].rows = 4;
    stored.republish();
    let expected = format!("`{}` has 2 rows, but the manifest says 4", stored.path(&file.path).display());
    assert_eq!(stored.refused(), expected);
    assert_eq!(stored.fault(), expected);

    let mut stored = TestDataset::sound();
    stored.manifest.spend[0].rows = 2;
    Arc::make_mut(&mut stored.manifest.spend[0].row_groups)[0].rows = 2;
    stored.republish();
    assert!(stored.refused().ends_with("spend.parquet` has 3 rows, but the manifest says 2"));
    stored.manifest.named.get_mut(ACCOUNTS).unwrap().rows = 1;
    stored.manifest.named.get_mut(INSIGHTS).unwrap().rows = 3;
    stored.republish();
    let faults = stored.faults();
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(faults[1].ends_with("accounts.parquet` has 2 rows, but the manifest says 1"), "{faults:?}");
    assert!(faults[2].ends_with("insights.ndjson` has 2 lines, but the manifest says 3"), "{faults:?}");
}

#[test]
fn a_file_that_is_not_parquet_is_named() {
    for name in &FILES[..3] {
        let mut stored = TestDataset::sound();
        fs::write(stored.path(name), "account,date\na,2025-01-01\n").unwrap();
        let rows = stored.manifest.files().find(|file| file.path == *name).unwrap().rows;
        let file = stored.described(name, rows);
        let manifest = &mut stored.manifest;
        let files = manifest.events.iter_mut().chain(&mut manifest.spend).chain(manifest.named.values_mut());
        for held in files.filter(|held| held.path == *name) {
            *held = file.clone();
        }
        stored.republish();
        assert!(stored.refused().starts_with(&format!("`{}`: ", stored.path(name).display())), "{}", stored.refused());
    }
}

/// The checksum finds damage that does not change the length. A query may or may not read the damaged bytes, but it
/// does not panic.
#[test]
fn verification_finds_a_flipped_bit_and_no_query_panics() {
    let stored = TestDataset::sound();
    for name in FILES {
        let path = stored.path(name);
        let bytes = fs::read(&path).unwrap();
        // Every fifth byte is enough, because the files are repetitive.
        for (case, (at, bit)) in bits(bytes.len(), 5).into_iter().enumerate() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, &changed).unwrap();
            drop(stored.ask());
            if case % step(61) == 0 {
                let fault = stored.fault();
                assert!(fault.starts_with(&format!("`{}` has the checksum ", path.display())), "{fault}");
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(stored.faults(), Vec::<String>::new());
}

#[test]
fn an_absent_dataset_or_version_is_an_error() {
    let stored = TestDataset::sound();
    let absent = Dataset::open(stored.path("absent")).unwrap_err();
    assert!(matches!(&absent, Error::Dataset(DatasetError::Missing { .. })), "{absent:?}");
    let other = Dataset::open_as_of(stored.folder(), 7).unwrap_err();
    assert!(matches!(&other, Error::Dataset(DatasetError::NoVersion { version: 7, .. })), "{other:?}");
    assert!(other.to_string().ends_with("holds no dataset of version 7, but of version 1"), "{other}");
    let unverified = Verification::of(stored.folder(), Some(AsOf::Version(7))).unwrap_err();
    assert_eq!(unverified.to_string(), other.to_string());
}

#[test]
fn the_error_of_a_file_that_is_no_manifest_names_the_file_and_the_line() {
    let stored = TestDataset::sound();
    for text in ["", "{", "[]", "PAR1", "{\"schemaVersion\":\"one\"}"] {
        fs::write(stored.path(&manifest_file::file_name(1)), text).unwrap();
        let message = stored.refused();
        assert!(message.contains("manifest-00000001.json` is no manifest of a dataset: "), "{message}");
        assert!(message.contains("line 1"), "{message}");
    }
}

#[test]
fn the_error_of_another_layout_names_the_known_one_and_what_to_do() {
    let expected = [(4, "ingest the original files into a new dataset"), (9, "use a later version of trueup")];
    for (layout, advice) in expected {
        let stored = TestDataset::sound();
        let path = stored.path(&manifest_file::file_name(1));
        let known = format!("\"schemaVersion\": {SCHEMA_VERSION}");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(&known));
        fs::write(&path, text.replace(&known, &format!("\"schemaVersion\": {layout}"))).unwrap();
        let message = stored.refused();
        let known = format!("and this program reads layout {SCHEMA_VERSION}");
        let expected = format!("manifest-00000001.json` has layout {layout}, {known}; {advice}");
        assert!(message.ends_with(&expected), "{message}");
    }
}

#[test]
fn a_manifest_that_is_a_folder_is_an_error() {
    let stored = TestDataset::sound();
    let path = stored.path(&manifest_file::file_name(1));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let message = stored.refused();
    assert!(message.contains("manifest-00000001.json` is a folder, and a manifest is a plain file"), "{message}");
}
