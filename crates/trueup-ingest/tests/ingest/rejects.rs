//! Faulty rows set aside.

use crate::dataset::Case;
use serde_json::{Value, json};

#[test]
fn faulty_rows_are_set_aside_and_counted() {
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
fn what_no_row_is_at_fault_for_still_stops() {
    let case = Case::new();
    let path = case.file("a.csv", "account,opportunityId,type,date\na,1,sold,\"2025\n");
    let rejects = case.path("rejects.ndjson");
    let error = case.ingest().events(path).rejects(&rejects).run(&()).unwrap_err();
    assert!(error.is_data(), "{error}");
    assert!(!rejects.exists() && !case.dataset().exists());
}
