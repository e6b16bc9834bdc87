//! Files that are not those that were written.

use crate::place::{FILES, Place, SOUND, events};
use std::fs;

#[test]
fn a_sound_dataset_answers_and_is_whole() {
    let place = Place::sound();
    // Three customers with events, and the spend of each account that has no campaign.
    assert_eq!(place.ask().unwrap(), 5);
    assert_eq!(place.faults(), Vec::<String>::new());
}

#[test]
fn a_file_that_is_missing_is_named() {
    for name in FILES {
        let place = Place::sound();
        fs::remove_file(place.path(name)).unwrap();
        let expected = format!("`{}` is missing, but the manifest names it", place.path(name).display());
        assert_eq!(place.refused(), expected);
        assert_eq!(place.fault(), expected);
    }
}

#[test]
fn a_file_that_is_cut_or_longer_is_named_with_both_lengths() {
    for name in FILES {
        let place = Place::sound();
        let bytes = fs::read(place.path(name)).unwrap();
        let longer: Vec<u8> = bytes.iter().copied().chain([b'\n']).collect();
        for changed in [&[], &bytes[..1], &bytes[..bytes.len() / 2], &bytes[..bytes.len() - 1], &longer] {
            fs::write(place.path(name), changed).unwrap();
            let path = place.path(name);
            let (path, found, promised) = (path.display(), changed.len(), bytes.len());
            let expected = format!("`{path}` has {found} bytes, but the manifest says {promised}");
            assert_eq!(place.refused(), expected);
            assert_eq!(place.fault(), expected);
        }
    }
}

#[test]
fn a_file_in_the_place_of_another_is_named_with_both_counts() {
    let mut place = Place::sound();
    place.manifest.events.clear();
    place.add_events(&[events(&SOUND[..2])]);
    let file = place.manifest.events[0].clone();
    place.manifest.events[0].rows = 4;
    place.recommit();
    let expected = format!("`{}` has 2 rows, but the manifest says 4", place.path(&file.path).display());
    assert_eq!(place.refused(), expected);
    assert_eq!(place.fault(), expected);

    let mut place = Place::sound();
    place.manifest.spend[0].rows = 2;
    place.manifest.accounts[0].rows = 1;
    place.manifest.insights[0].rows = 3;
    place.recommit();
    assert!(place.refused().ends_with("spend.parquet` has 3 rows, but the manifest says 2"));
    let faults = place.faults();
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(faults[1].ends_with("accounts.parquet` has 2 rows, but the manifest says 1"), "{faults:?}");
    assert!(faults[2].ends_with("insights.ndjson` has 2 lines, but the manifest says 3"), "{faults:?}");
}

#[test]
fn a_file_that_is_no_parquet_is_named() {
    for name in &FILES[..3] {
        let mut place = Place::sound();
        fs::write(place.path(name), "account,date\na,2025-01-01\n").unwrap();
        let file = place.described(name, 1);
        let manifest = &mut place.manifest;
        let files = [&mut manifest.events, &mut manifest.spend, &mut manifest.accounts];
        for held in files.into_iter().flatten().filter(|held| held.path == *name) {
            *held = file.clone();
        }
        place.recommit();
        assert!(place.refused().starts_with(&format!("`{}`: ", place.path(name).display())), "{}", place.refused());
    }
}

/// Damage that leaves the length as it was is found by the checksum. A query on such a file may answer, since nothing but the
/// checksum knows better; but it does not panic.
#[test]
fn a_flipped_byte_is_found_by_verification_and_survived_by_queries() {
    let place = Place::sound();
    for name in FILES {
        let path = place.path(name);
        let bytes = fs::read(&path).unwrap();
        // Every fifth byte: files repeat themselves enough.
        for at in (0..bytes.len()).step_by(5) {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            fs::write(&path, &changed).unwrap();
            drop(place.ask());
            if at % 61 == 0 {
                let fault = place.fault();
                assert!(fault.starts_with(&format!("`{}` has the checksum ", path.display())), "{fault}");
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(place.faults(), Vec::<String>::new());
}
