//! Missing and damaged manifests.

use crate::test_dataset::TestDataset;
use std::fs;
use trueup_core::dataset::manifest::SCHEMA_VERSION;
use trueup_core::dataset::{Verification, store};
use trueup_core::{Dataset, DatasetError, Error};

#[test]
fn a_folder_without_a_dataset_is_an_error() {
    let stored = TestDataset::sound();
    let absent = Dataset::open(stored.path("absent")).unwrap_err();
    assert!(matches!(&absent, Error::Dataset(DatasetError::Missing { version: None, .. })), "{absent:?}");
    let other = Dataset::open_version(stored.folder(), 7).unwrap_err();
    assert!(matches!(&other, Error::Dataset(DatasetError::Missing { version: Some(7), .. })), "{other:?}");
    assert!(other.to_string().ends_with("holds no dataset of version 7"), "{other}");
    let unverified = Verification::of(stored.folder(), Some(7)).unwrap_err();
    assert_eq!(unverified.to_string(), other.to_string());
}

#[test]
fn a_manifest_that_is_not_json_names_the_file_and_the_line() {
    let stored = TestDataset::sound();
    for text in ["", "{", "[]", "PAR1", "{\"schemaVersion\":\"one\"}"] {
        fs::write(stored.path(&store::file_name(1)), text).unwrap();
        let message = stored.refused();
        assert!(message.contains("manifest-00000001.json` is no manifest of a dataset: "), "{message}");
        assert!(message.contains("line 1"), "{message}");
    }
}

#[test]
fn a_manifest_of_an_unknown_layout_names_both_layouts() {
    let mut stored = TestDataset::sound();
    stored.manifest.schema_version = 9;
    stored.republish();
    let message = stored.refused();
    let expected = format!("manifest-00000001.json` has layout 9, and this program reads layout {SCHEMA_VERSION}; ");
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn a_manifest_that_is_a_folder_is_an_error() {
    let stored = TestDataset::sound();
    let path = stored.path(&store::file_name(1));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let message = stored.refused();
    assert!(message.contains("manifest-00000001.json` is a folder, and a manifest is a plain file"), "{message}");
}
