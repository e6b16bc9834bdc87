//! Rejects files, and how an output file becomes visible.

use crate::dataset::Case;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use trueup_core::dataset::manifest_file;
use trueup_ingest::{OutputError, Outputs, Phase, Progress};

#[test]
fn faulty_rows_are_rejected_and_counted() {
    let case = Case::new();
    let csv = case.file(
        "a.csv",
        "account,opportunityId,type,date,total\na,1,sold,2025-01-01,x\na,1,sold\na,2,sold,2025-01-02,5\n",
    );
    let json = case.file("b.ndjson", "{\"account\":\"a\",\"opportunityId\":{},\"type\":\"sold\"}\n{\n");
    let rejects = case.path("rejects.ndjson");
    let summary = case.ingest().events(&csv).events(&json).rejects(&rejects).run().unwrap();
    assert_eq!((summary.events.taken, summary.events.rejected), (1, 4));
    assert_eq!(crate::batches::batches(&case)[0].protocol["events"].rejected().rows, 4);
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

/// Reads a rejects file.
fn rows_of(rejects: &Path) -> Vec<Value> {
    let text = fs::read_to_string(rejects).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_rejected_json_object_has_its_members_as_texts() {
    let case = Case::new();
    let faulty = "{\"account\":\"a\\n\",\"date\":null,\"opportunityId\":7,\"type\":[\"sold\"]}\n";
    let sound = "{\"account\":\"a\",\"opportunityId\":\"1\",\"type\":\"sold\",\"date\":\"2025-01-01\"}\n";
    let (events, rejects) = (case.file("a.ndjson", format!("{faulty}{sound}")), case.path("rejects.ndjson"));
    case.ingest().events(events).rejects(&rejects).run().unwrap();
    let row = json!({"account": "a\n", "date": null, "opportunityId": "7", "type": "[\"sold\"]"});
    assert_eq!(rows_of(&rejects)[0]["row"], row);
}

#[test]
fn a_rejected_insight_keeps_its_document() {
    let case = Case::new();
    let line = |date: &str| format!("{{\"account\":\"a\",\"date\":\"{date}\",\"insight\":{{\"n\": 1.0}}}}\n");
    let insights = case.file("i.ndjson", line("01/02/2025") + &line("2025-01-02"));
    let rejects = case.path("rejects.ndjson");
    case.ingest().insights(insights).rejects(&rejects).run().unwrap();
    let row = json!({"account": "a", "date": "01/02/2025", "insight": "{\"n\": 1.0}"});
    assert_eq!(rows_of(&rejects)[0]["row"], row);
}

#[test]
fn a_line_end_in_a_text_of_a_json_array_begins_no_element() {
    let case = Case::new();
    let sound = "{\"account\":\"a\",\"opportunityId\":\"1\",\"type\":\"sold\",\"date\":\"2025-01-01\"}";
    let array = format!("[{{\"a\":\"x\ny\"}},{{\"a\":1,\"a\":2}},{sound}]");
    let (events, rejects) = (case.file("a.json", array), case.path("rejects.ndjson"));
    case.ingest().events(events).rejects(&rejects).run().unwrap();
    let records: Vec<Value> = rows_of(&rejects).iter().map(|row| row["record"].clone()).collect();
    assert_eq!(records, [1, 2]);
}

#[test]
fn a_fault_of_the_whole_file_ends_the_ingest_despite_a_rejects_file() {
    let case = Case::new();
    let path = case.file("a.csv", "account,opportunityId,type,date\na,1,sold,\"2025\n");
    let rejects = case.path("rejects.ndjson");
    let error = case.ingest().events(path).rejects(&rejects).run().unwrap_err();
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
    let error = case.ingest().events(&rejected).events(&torn).rejects(&rejects).run().unwrap_err();
    let message = error.to_string();
    assert!(error.is_data() && message.starts_with(&format!("`{}`: line 2: ", torn.display())), "{message}");
    let holds =
        format!("; nothing was ingested, and `{}` holds the rows that were rejected before (1)", rejects.display());
    assert!(message.ends_with(&holds), "{message}");
    assert!(fs::read_to_string(&rejects).unwrap().contains("expected a stage"));
    assert_eq!(case.names(), ["a.csv", "b.csv", "rejects.ndjson"]);
}

#[test]
fn rejects_are_removed_if_the_version_is_not_published() {
    let case = Case::new();
    let events = case.file("a.csv", "account,opportunityId,type,date\na,1,x,2025-01-01\na,1,sold,2025-01-01\n");
    let rejects = case.path("rejects.ndjson");
    let other = Case::new();
    let other_events = other.file("b.csv", "account,opportunityId,type,date\na,2,sold,2025-01-01\n");
    other.ingest().events(&other_events).run().unwrap();
    let [published, manifest] = [&other, &case].map(|case| case.dataset().join(manifest_file::file_name(1)));
    let overtake = move |now: &Progress| {
        if now.phase == Phase::WritingEvents {
            fs::copy(&published, &manifest).unwrap();
        }
    };
    let error = case.ingest().events(&events).rejects(&rejects).progress(overtake).run().unwrap_err();
    assert!(error.to_string().contains("version 1"), "{error}");
    assert!(!rejects.exists());
}

/// A reader would otherwise take the rejects of an earlier ingest for the rejects of this one.
#[test]
fn an_ingest_without_faults_leaves_an_empty_rejects_file() {
    let case = Case::new();
    let events = case.file("a.csv", "account,opportunityId,type,date\na,1,sold,2025-01-01\n");
    let rejects = case.file("rejects.ndjson", "old");
    let error = case.ingest().events(&events).rejects(&rejects).run().unwrap_err();
    assert!(error.is_data() && error.to_string().contains("is already there"), "{error}");
    assert_eq!(case.names(), ["a.csv", "rejects.ndjson"]);
    case.ingest().events(&events).rejects(&rejects).replace_rejects(true).run().unwrap();
    assert_eq!(fs::read_to_string(&rejects).unwrap(), "");
}

#[test]
fn long_values_are_shortened_in_messages_but_not_in_rejects() {
    let case = Case::new();
    let long = "9".repeat(5_000) + "x";
    let events = case.file(
        "a.csv",
        format!("account,opportunityId,type,date,total\na,1,sold,2025-01-01,{long}\na,2,sold,2025-01-01,\n"),
    );
    let error = case.ingest().events(&events).run().unwrap_err().to_string();
    assert!(error.ends_with("99... (5001 characters)`") && error.len() < 600, "{error}");
    let rejects = case.path("rejects.ndjson");
    case.ingest().events(&events).rejects(&rejects).run().unwrap();
    let row: Value = serde_json::from_str(fs::read_to_string(&rejects).unwrap().trim()).unwrap();
    assert_eq!(row["row"]["total"], json!(long));
}

/// Removes the folder of a test from a message.
fn without_folder(case: &Case, message: &impl ToString) -> String {
    message.to_string().replace(&format!("{}/", case.path("").display()).replace("//", "/"), "")
}

#[test]
fn rejected_rows_are_counted_by_rule_over_all_inputs() {
    let case = Case::new();
    let csv = case.file(
        "a.csv",
        "account,opportunityId,type,date,total\na,1,Won,2025-01-01,\na,1,sold,2025-01-01,$5\na,2,sold,2025-01-02\n\
         a,3,sold,2025-01-02,5\na,4,Lost,2025-01-02,\n,5,sold,2025-01-02,\na,6,Won,2025-01-02,$6\n",
    );
    let json = case.file("b.ndjson", "{\"account\":\"a\",\"opportunityId\":7,\"type\":\"won\"}\n");
    let spend = case.file("s.csv", "account,date,adSpend\na,2025-01-01,x\na,2025-01-01,1\n");
    let ingest = || case.ingest().events(&csv).events(&json).spend(&spend);
    let error = ingest().run().unwrap_err();
    assert!(error.is_data() && !case.dataset().exists());
    let stages = "expected a stage (`lead-originated`, `booked`, `estimated`, `sold`, `closed` or `canceled`)";
    assert_eq!(
        without_folder(&case, &error),
        format!("`a.csv`, line 2, column `type`: {stages}, but found `Won`; 7 more rows break a rule")
    );
    let summary = format!(
        "4 rows, column `type`: {stages}\n  `a.csv`, line 2: `Won`\n  `a.csv`, line 6: `Lost`\n  `a.csv`, line 8: `Won`\n\
         1 row, column `total`: expected an amount as a plain decimal number, such as `1234.5`\n  `a.csv`, line 3: `$5`\n\
         1 row: expected 5 cells as in the header\n  `a.csv`, line 4: nothing\n\
         1 row, column `account`: expected a value\n  `a.csv`, line 7: nothing\n\
         1 row, column `adSpend`: expected an amount as a plain decimal number, such as `1234.5`\n  `s.csv`, line 2: `x`"
    );
    let rejected = error.rejected_rows().unwrap();
    assert_eq!((rejected.rows(), without_folder(&case, rejected)), (8, summary.clone()));
    // The same rows are rejected if there is a file for them.
    let taken = ingest().rejects(case.path("rejects.ndjson")).run().unwrap();
    assert_eq!((taken.rejected.rows(), without_folder(&case, &taken.rejected)), (8, summary));
    assert_eq!(case.stored_events(), ["a|3|sold|2025-01-02|||5.000000"]);
}

#[test]
fn a_fault_of_a_file_is_reported_after_its_rejected_rows() {
    let case = Case::new();
    let events = case.file("a.csv", "account,opportunityId,type,date\na,1,x,2025-01-01\na,1,sold,\"2025\n");
    let error = case.ingest().events(&events).run().unwrap_err();
    assert_eq!(
        without_folder(&case, &error),
        "`a.csv`, line 2, column `type`: expected a stage (`lead-originated`, `booked`, `estimated`, `sold`, `closed` or \
         `canceled`), but found `x`; and `a.csv`: line 3: a quote is opened and never closed"
    );
}

#[test]
fn an_ingest_whose_rows_are_all_rejected_fails() {
    let case = Case::new();
    let events = case.file("a.csv", "account,opportunityId,type,date\na,1,x,2025-01-01\na,2,y,2025-01-01\n");
    let spend = case.file("s.csv", "account,date,adSpend\na,2025-01-01,1\n");
    let error = case.ingest().events(&events).spend(&spend).rejects(case.path("r.ndjson")).run().unwrap_err();
    assert!(error.is_data() && !case.dataset().exists());
    assert_eq!(
        without_folder(&case, &error),
        "every row of the events breaks a rule (2 rows); nothing was ingested, and `r.ndjson` holds the rows that were \
         rejected before (2)"
    );
    assert_eq!(error.rejected_rows().unwrap().rows(), 2);
    assert_eq!(fs::read_to_string(case.path("r.ndjson")).unwrap().lines().count(), 2);
}

#[test]
fn more_rejected_rows_than_allowed_fail_the_ingest() {
    let case = Case::new();
    let events = case
        .file("a.csv", "account,opportunityId,type,date\na,1,x,2025-01-01\na,2,sold,2025-01-01\na,3,y,2025-01-01\n");
    let ingest = || case.ingest().events(&events).rejects(case.path("r.ndjson")).replace_rejects(true);
    for limit in ["1", "66.6666%"] {
        let error = ingest().max_rejects(limit.parse().unwrap()).run().unwrap_err();
        assert!(error.is_data() && !case.dataset().exists());
        assert_eq!(
            without_folder(&case, &error),
            format!(
                "2 rows of 3 break a rule, but at most {limit} may; nothing was ingested, and `r.ndjson` holds the rows \
                 that were rejected before (2)"
            )
        );
    }
    for limit in ["2", "66.6667%"] {
        assert_eq!(ingest().max_rejects(limit.parse().unwrap()).run().unwrap().events.rejected, 2);
        fs::remove_dir_all(case.dataset()).unwrap();
    }
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
