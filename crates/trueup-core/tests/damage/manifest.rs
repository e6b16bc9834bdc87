//! Manifests that are none.

use crate::place::Place;
use std::fs;
use trueup_core::dataset::manifest::SCHEMA_VERSION;
use trueup_core::dataset::{Verification, store};
use trueup_core::{Dataset, DatasetError, Error};

#[test]
fn a_folder_without_a_dataset_says_so() {
    let place = Place::sound();
    let absent = Dataset::open(place.path("absent")).unwrap_err();
    assert!(matches!(&absent, Error::Dataset(DatasetError::Missing { version: None, .. })), "{absent:?}");
    let other = Dataset::open_version(place.folder(), 7).unwrap_err();
    assert!(matches!(&other, Error::Dataset(DatasetError::Missing { version: Some(7), .. })), "{other:?}");
    assert!(other.to_string().ends_with("holds no dataset of version 7"), "{other}");
    let unverified = Verification::of(place.folder(), Some(7)).unwrap_err();
    assert_eq!(unverified.to_string(), other.to_string());
}

#[test]
fn a_manifest_that_is_no_json_names_the_file_and_the_place() {
    let place = Place::sound();
    for text in ["", "{", "[]", "PAR1", "{\"schemaVersion\":\"one\"}"] {
        fs::write(place.path(&store::file_name(1)), text).unwrap();
        let message = place.refused();
        assert!(message.contains("manifest-00000001.json` is no manifest of a dataset: "), "{message}");
        assert!(message.contains("line 1"), "{message}");
    }
}

#[test]
fn a_manifest_of_an_unknown_layout_names_both() {
    let mut place = Place::sound();
    place.manifest.schema_version = 9;
    place.recommit();
    let message = place.refused();
    let expected = format!("manifest-00000001.json` has layout 9, and this program reads layout {SCHEMA_VERSION}; ");
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn a_manifest_that_is_a_folder_names_what_the_system_said() {
    let place = Place::sound();
    let path = place.path(&store::file_name(1));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let message = place.refused();
    assert!(message.contains("manifest-00000001.json` is a folder, and a manifest is a plain file"), "{message}");
}
