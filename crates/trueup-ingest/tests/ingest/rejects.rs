//! Rejects files, and how an output file becomes visible.

use crate::dataset::Case;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use trueup_core::dataset::store;
use trueup_ingest::{OutputError, Outputs, Progress};

#[test]
fn faulty_rows_are_rejected_and_counted() {
    let case = Case::new();
    let csv = case.file(
        "a.csv",
        "account,opportunityId,type,date,total\na,1,sold,2025-01-01,x\na,1,sold\na,2,sold,2025-01-02,5\n",
    );
    let json = case.file("b.ndjson", "{\"account\":\"a\",\"opportunityId\":{},\"type\":\"sold\"}\n{\n");
    let rejects = case.path("rejects.ndjson");
    let summary = case.ingest().events(&csv).events(&json).rejects(&rejects).run(&()).unwrap();
    assert_eq!((summary.events.taken, summary.events.rejected), (1, 4));
    assert_eq!(case.manifest().batches[0].tables["events"].rejected, 4);
    let text = std::fs::read_to_string(&rejects).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        rows[0],
        json!({
            "file": csv, "line": 2, "column": "total", "value": "x",
            "reason": "expected an amount as a plain decimal number, such as `1234.5`, but found `x`",
            "row": {"account": "a", "opportunityId": "1", "type": "sold", "date": "2025-01-01", "total": "x"},
        })
    );
    assert_eq!(rows[1]["row"], json!({"account": "a", "opportunityId": "1", "type": "sold"}));
    assert_eq!(
        (&rows[2]["line"], &rows[2]["column"], &rows[2]["value"]),
        (&json!(1), &json!("opportunityId"), &json!("{}"))
    );
    assert_eq!((&rows[3]["line"], &rows[3]["column"], &rows[3]["value"]), (&json!(2), &Value::Null, &json!("{")));
}

#[test]
fn a_fault_of_the_whole_file_ends_the_ingest_despite_a_rejects_file() {
    let case = Case::new();
    let path = case.file("a.csv", "account,opportunityId,type,date\na,1,sold,\"2025\n");
    let rejects = case.path("rejects.ndjson");
    let error = case.ingest().events(path).rejects(&rejects).run(&()).unwrap_err();
    assert!(error.is_data(), "{error}");
    assert!(!rejects.exists() && !case.dataset().exists());
}

/// The rejected rows may explain why the data cannot be ingested.
#[test]
fn rejects_are_kept_if_faulty_data_ends_the_ingest() {
    let case = Case::new();
    let rejected = case.file("a.csv", "account,opportunityId,type,date\na,1,x,2025-01-01\na,1,sold,2025-01-01\n");
    let torn = case.file("b.csv", "account,opportunityId,type,date\na,1,sold,\"2025\n");
    let rejects = case.path("rejects.ndjson");
    let error = case.ingest().events(&rejected).events(&torn).rejects(&rejects).run(&()).unwrap_err();
    let message = error.to_string();
    assert!(error.is_data() && message.starts_with(&format!("{}: line 2: ", torn.display())), "{message}");
    let holds =
        format!("; nothing was ingested, and `{}` holds the rows that were rejected before (1)", rejects.display());
    assert!(message.ends_with(&holds), "{message}");
    assert!(fs::read_to_string(&rejects).unwrap().contains("expected a stage"));
    assert_eq!(case.names(), ["a.csv", "b.csv", "rejects.ndjson"]);
}

/// Publishes a manifest of the next version while the ingest is writing.
struct Overtaken<'a>(&'a Case);

impl Progress for Overtaken<'_> {
    fn stage(&self, name: &str, _: Option<u64>) {
        if name == "writing events" {
            fs::write(self.0.dataset().join(store::file_name(1)), "{}").unwrap();
        }
    }

    fn advance(&self, _: u64) {}
}

#[test]
fn rejects_are_removed_if_the_version_is_not_published() {
    let case = Case::new();
    let events = case.file("a.csv", "account,opportunityId,type,date\na,1,x,2025-01-01\na,1,sold,2025-01-01\n");
    let rejects = case.path("rejects.ndjson");
    let error = case.ingest().events(&events).rejects(&rejects).run(&Overtaken(&case)).unwrap_err();
    assert!(error.to_string().contains("version 1"), "{error}");
    assert!(!rejects.exists());
}

/// A reader would otherwise take the rejects of an earlier ingest for the rejects of this one.
#[test]
fn an_ingest_without_faults_leaves_an_empty_rejects_file() {
    let case = Case::new();
    let events = case.file("a.csv", "account,opportunityId,type,date\na,1,sold,2025-01-01\n");
    let rejects = case.file("rejects.ndjson", "old");
    let error = case.ingest().events(&events).rejects(&rejects).run(&()).unwrap_err();
    assert!(error.is_data() && error.to_string().contains("is already there"), "{error}");
    assert_eq!(case.names(), ["a.csv", "rejects.ndjson"]);
    case.ingest().events(&events).rejects(&rejects).replace_rejects(true).run(&()).unwrap();
    assert_eq!(fs::read_to_string(&rejects).unwrap(), "");
}

#[test]
fn long_values_are_shortened_in_messages_but_not_in_rejects() {
    let case = Case::new();
    let long = "9".repeat(5_000) + "x";
    let events = case.file("a.csv", format!("account,opportunityId,type,date,total\na,1,sold,2025-01-01,{long}\n"));
    let error = case.ingest().events(&events).run(&()).unwrap_err().to_string();
    assert!(error.ends_with("99... (5001 characters)`") && error.len() < 600, "{error}");
    let rejects = case.path("rejects.ndjson");
    case.ingest().events(&events).rejects(&rejects).run(&()).unwrap();
    let row: Value = serde_json::from_str(fs::read_to_string(&rejects).unwrap().trim()).unwrap();
    assert_eq!(row["row"]["total"], json!(long));
}

#[test]
fn a_file_that_appears_meanwhile_is_replaced_only_on_request() {
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
fn an_output_that_is_dropped_leaves_nothing() {
    let case = Case::new();
    let path = case.file("out.csv", "old");
    let mut output = Outputs::new(true).create(&path).unwrap();
    output.write_all(b"new").unwrap();
    // The name is not used before the file is whole. On Linux the unfinished file has no name at all.
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    if cfg!(target_os = "linux") {
        assert_eq!(case.names(), ["out.csv"]);
    }
    drop(output);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(case.names(), ["out.csv"]);
    assert!(Outputs::new(false).create(case.path("no/such/folder.csv")).is_err());
}
