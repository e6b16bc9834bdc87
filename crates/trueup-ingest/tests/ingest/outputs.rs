//! Files that are there once they are whole.

use crate::dataset::Case;
use std::fs;
use std::io::Write;
use trueup_ingest::{OutputError, Outputs};

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let case = Case::new();
    let path = case.path("out.csv");
    for (replaces, left) in [(false, "of somebody"), (true, "ours")] {
        let mut output = Outputs::new(replaces).create(&path).unwrap();
        output.write_all(b"ours").unwrap();
        fs::write(&path, "of somebody").unwrap();
        let kept = output.keep();
        assert_eq!(matches!(kept, Err(OutputError::Exists(_))), !replaces, "{kept:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
        fs::remove_file(&path).unwrap();
        assert_eq!(case.names(), [""; 0]);
    }
}

#[test]
fn what_is_not_kept_leaves_nothing() {
    let case = Case::new();
    let path = case.file("out.csv", "old");
    let mut output = Outputs::new(true).create(&path).unwrap();
    output.write_all(b"new").unwrap();
    // Nothing is under the name before it is whole, nor under another where the system has files without one.
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    if cfg!(target_os = "linux") {
        assert_eq!(case.names(), ["out.csv"]);
    }
    drop(output);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(case.names(), ["out.csv"]);
    assert!(Outputs::new(false).create(case.path("no/such/folder.csv")).is_err());
}
