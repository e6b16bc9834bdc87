//! The mapping that a dataset keeps.

use crate::case::{Case, LOCK_WAIT};
use std::path::PathBuf;
use trueup_core::Dataset;
use trueup_core::dataset::Verification;
use trueup_ingest::{Ingest, Restore};

const FIRST: &str = "[input.log]\nfile = \"log-*.csv\"\n[[events]]\nfrom = \"log\"\n[events.columns]\n\
    account = { value = \"a\" }\nopportunityId = \"ref\"\neventId = \"ref\"\ntype = { value = \"sold\" }\ndate = \"day\"\n";

fn log(case: &Case, name: &str) -> PathBuf {
    let path = case.path(name);
    std::fs::write(&path, format!("ref,day\n{name},2025-01-02\n")).unwrap();
    path
}

fn mapping_of(case: &Case) -> Option<String> {
    Dataset::open(case.path("dataset")).unwrap().mapping().unwrap()
}

#[test]
fn later_ingests_use_the_mapping_of_the_dataset() {
    let case = Case::new(FIRST);
    let into = || Ingest::into(case.path("dataset")).wait(LOCK_WAIT);
    into().events(log(&case, "log-1.csv")).mapping(case.path("mapping.toml")).run().unwrap();
    assert_eq!(mapping_of(&case).as_deref(), Some(FIRST));
    // The file itself is needed no more.
    std::fs::remove_file(case.path("mapping.toml")).unwrap();
    let second = into().events(log(&case, "log-2.csv")).stored_mapping(true).run().unwrap();
    assert_eq!((second.version, second.events.taken), (2, 1));
    let mapped_by = second.protocol["events"].inputs[0].mapped_by.as_deref();
    assert_eq!(mapped_by, Some("mapping of the dataset events[0]"));
    // Without the setting, files are canonical.
    let canonical = case.path("canonical.csv");
    std::fs::write(&canonical, "account,opportunityId,type,date\na,z,sold,2025-01-03\n").unwrap();
    assert_eq!(into().events(&canonical).run().unwrap().events.taken, 1);
    let refused = into().events(&canonical).stored_mapping(true).run().unwrap_err().to_string();
    assert!(
        refused.contains("no input of the mapping that the dataset has names this file; its inputs are `log-*.csv`"),
        "{refused}"
    );
    // Another mapping takes its place, and an earlier version has its own.
    let other = FIRST.replace("sold", "closed");
    std::fs::write(case.path("other.toml"), &other).unwrap();
    into().events(log(&case, "log-3.csv")).mapping(case.path("other.toml")).run().unwrap();
    assert_eq!(mapping_of(&case).as_deref(), Some(other.as_str()));
    assert_eq!(Verification::of(case.path("dataset"), None).unwrap().faults, Vec::<String>::new());
    Restore::new(case.path("dataset"), 2).wait(LOCK_WAIT).run().unwrap();
    assert_eq!(mapping_of(&case).as_deref(), Some(FIRST));
    assert_eq!(into().events(log(&case, "log-4.csv")).stored_mapping(true).run().unwrap().events.taken, 1);
}

#[test]
fn a_fault_of_a_stored_mapping_says_where_the_mapping_is() {
    let case = Case::new(FIRST);
    let into = || Ingest::into(case.path("dataset")).wait(LOCK_WAIT);
    into().events(log(&case, "log-1.csv")).mapping(case.path("mapping.toml")).run().unwrap();
    std::fs::write(case.path("log-2.csv"), "ref,when\n1,2025-01-02\n").unwrap();
    let refused = into().events(case.path("log-2.csv")).stored_mapping(true).run().unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "the mapping that the dataset keeps, key `events[0].columns.date`, value `day`: no input has this column; the columns are: \
             ref, when; `trueup inspect {} --mapping` shows it, as a file to edit and to give again with `--mapping`",
            case.path("dataset").display()
        )
    );
    // The format that is given does not replace what the name of a file says, as with a given mapping.
    let format = trueup_ingest::FileFormat::NDJSON;
    assert!(into().events(log(&case, "log-3.csv")).stored_mapping(true).format(format).run().is_ok());
}

/// Tables of constants have no input, and the mapping that has them may lie in an object store.
#[test]
fn tables_of_constants_come_from_a_stored_mapping_too() {
    let accounts = "[[accounts]]\ncolumns = { account = { value = \"a\" }, currency = { value = \"USD\" } }\n";
    let case = Case::new(&format!("{FIRST}{accounts}"));
    let into = || Ingest::into(case.path("dataset")).wait(LOCK_WAIT);
    into().events(log(&case, "log-1.csv")).mapping(case.path("mapping.toml")).run().unwrap();
    let second = into().events(log(&case, "log-2.csv")).stored_mapping(true).run().unwrap();
    assert_eq!((second.accounts.taken, second.accounts.replaced), (1, 1));
}
