//! What a caller learns of accounts that they may not see: nothing.

use crate::data::{Folder, SMALL, answer, call, csv, fault};
use serde_json::{Value, json};
use std::fmt::Write as _;
use trueup::Execution;
use trueup_ingest::Ingest;
use trueup_mcp::Toolbox;

/// What is only in the account `b`.
const SECRETS: [&str; 6] = ["Secret", "Radio", "Beta", "EUR", "2024-06-2", "hvac"];

#[test]
fn no_answer_has_anything_of_others() {
    let toolbox = SMALL.toolbox_of(&["a"]);
    let of = |tool: &str, arguments| answer(&toolbox, tool, arguments);
    for found in [
        of("overview", json!({})),
        of("find_values", json!({ "field": "campaign" })),
        of("find_values", json!({ "field": "campaign", "search": "Secret Campain" })),
        of("find_values", json!({ "field": "account" })),
        of("query", json!({ "metrics": ["leads", "closedRevenue"], "by": ["attributionChannel"], "days": "2024-Q2" })),
        of("query", json!({ "metrics": ["leads"], "days": "2024-Q2", "where": ["attributionChannel = 'Radjo'"] })),
        of(
            "compare",
            json!({ "metrics": ["leads"], "by": ["campaign"], "days": "2024-05", "with": "2024-06-01..2024-06-30" }),
        ),
        of("insights", json!({})),
        of(
            "query",
            json!({ "metrics": ["leads", "closedRevenue"], "by": ["attributionChannel"], "days": "2024-05", "targets": true }),
        ),
    ] {
        for secret in SECRETS {
            let [text, data] =
                [found.text.clone(), found.data.to_string()].map(|said| said.replace("Secret Campain", ""));
            assert!(!text.contains(secret) && !data.contains(secret), "{secret}: {text} {data}");
        }
    }
    let targets = of("overview", json!({})).data["targets"].clone();
    assert_eq!(targets, json!({ "metrics": ["leads"], "from": "2024-05", "to": "2024-05" }));
    let refused = fault(&toolbox, "query", json!({ "metrics": ["closedRevenue"], "days": "2024-06", "targets": true }));
    assert_eq!(refused.code, "no-targets");
    assert_eq!(refused.message, "none of the metrics has a target; metrics with targets are `leads`");
    // A value that only others have is one that nothing has.
    let found =
        of("query", json!({ "metrics": ["leads"], "days": "2024-Q2", "where": ["attributionChannel = Radio"] }));
    assert!(found.text.contains("nothing has the value \"Radio\""), "{}", found.text);
}

#[test]
fn an_account_of_others_is_like_one_that_does_not_exist() {
    let toolbox = SMALL.toolbox_of(&["a"]);
    let refused = |key: &str| {
        let fault = fault(&toolbox, "query", json!({ "metrics": ["leads"], "days": "2024-05", "accounts": [key] }));
        (fault.code, fault.to_string().replace(key, "KEY"))
    };
    assert_eq!(refused("b"), refused("q"));
}

/// Two accounts, `x` and, if asked for, `y`, which alone has values in columns that are not of the dictionary, and in
/// one that is.
fn tenants(with_y: bool) -> Folder {
    let dir = tempfile::tempdir().unwrap();
    let mut events = "account,opportunityId,type,date,attributionChannel,campaign,total,own".to_owned();
    events += if with_y { ",secretColumn,secretPhone,zip\n" } else { "\n" };
    for at in 1..=20 {
        let rest = if with_y { ",,," } else { "" };
        let _ = writeln!(events, "x,x{at},lead-originated,2024-05-{at:02},Mail,Drains {},,mine{rest}", at % 3);
        let _ = writeln!(events, "x,x{at},closed,2024-05-{at:02},Mail,Drains {},40,mine{rest}", at % 3);
        if with_y && at > 10 {
            let _ = writeln!(events, "y,y{at},lead-originated,2024-05-{at:02},Radio,Roofs,,theirs,hidden,555,12345");
        }
    }
    Ingest::into(dir.path().join("dataset")).events(csv(events)).run().unwrap();
    Folder::open(dir)
}

/// Returns calls that name a field in each place where a tool takes one.
fn calls(field: &str) -> Vec<(&'static str, Value)> {
    let days = "2024-Q2";
    let metrics = json!(["leads"]);
    vec![
        ("find_fields", json!({ "search": field, "limit": 100 })),
        ("find_fields", json!({ "search": field, "type": "dimension" })),
        ("find_fields", json!({ "names": [field] })),
        ("find_values", json!({ "field": field })),
        ("find_values", json!({ "field": "campaign", "search": field })),
        ("query", json!({ "metrics": metrics, "by": [field], "days": days })),
        ("query", json!({ "metrics": [field], "days": days })),
        ("query", json!({ "metrics": metrics, "days": days, "where": [format!("{field} = hidden")] })),
        ("query", json!({ "metrics": metrics, "days": days, "where": [format!("{field} ~ hid")] })),
        ("query", json!({ "metrics": metrics, "days": days, "having": [format!("{field} > 1")] })),
        ("query", json!({ "metrics": metrics, "days": days, "sort": [field] })),
        ("query", json!({ "metrics": metrics, "by": [field], "days": days, "as_of": "1" })),
        ("query", json!({ "metrics": metrics, "by": [field], "days": days, "targets": true })),
        ("compare", json!({ "metrics": metrics, "by": [field], "days": days })),
        ("what_changed", json!({ "metric": "leads", "days": days, "across": [field] })),
        ("what_changed", json!({ "metric": field, "days": days })),
        ("why", json!({ "metrics": metrics, "by": [field], "days": days, "row": { field: "hidden" } })),
        ("why", json!({ "metrics": metrics, "days": days, "metric": field })),
        ("benchmarks", json!({ "metrics": [field], "months": ["2024-05"] })),
        ("benchmarks", json!({ "by": [field], "months": ["2024-05"] })),
    ]
}

#[test]
fn a_column_of_others_is_like_one_that_does_not_exist() {
    let (both, alone) = (tenants(true), tenants(false));
    let (of_x, alone) = (both.toolbox_of(&["x"]), alone.toolbox_of(&["x"]));
    let said = |toolbox: &Toolbox, tool: &str, arguments: &Value| match call(toolbox, tool, arguments.clone()) {
        Ok(found) => format!("{}\n{}", found.text, found.data),
        Err(fault) => fault.to_json().to_string(),
    };
    let fields = [
        "secretColumn",
        "secretcolumn",
        "secretColum",
        "secretPhone",
        "secret",
        "Column",
        "phone",
        "zip",
        "zipp",
        "own",
        "ownn",
        "campaign",
        "nosuch",
        "e",
    ];
    for field in fields {
        for (tool, arguments) in calls(field) {
            assert_eq!(said(&of_x, tool, &arguments), said(&alone, tool, &arguments), "{tool} {arguments}");
        }
        let read = |toolbox: &Toolbox| {
            let read = toolbox.read(&format!("trueup://fields/{field}"), &Execution::default());
            read.unwrap_or_else(|fault| fault.to_json().to_string())
        };
        assert_eq!(read(&of_x), read(&alone), "{field}");
    }
    for (tool, arguments) in [("overview", json!({})), ("find_fields", json!({ "limit": 100 }))] {
        assert_eq!(said(&of_x, tool, &arguments), said(&alone, tool, &arguments), "{tool}");
    }
    let by = |field: &str| json!({ "metrics": ["leads"], "by": [field], "days": "2024-05" });
    for field in ["secretColumn", "secretPhone"] {
        assert_eq!(fault(&of_x, "query", by(field)).code, "unknown-fields");
        assert_eq!(fault(&of_x, "find_values", json!({ "field": field })).code, "unknown-fields");
    }
    // A column of one's own is there, and whoever sees all accounts sees all columns.
    assert_eq!(answer(&of_x, "query", by("own")).data["rows"], json!([["mine", 20]]));
    for toolbox in [both.toolbox(), both.toolbox_of(&["x", "y"])] {
        assert!(answer(&toolbox, "find_fields", json!({ "search": "secret" })).text.contains("secretColumn"));
        assert_eq!(answer(&toolbox, "query", by("secretColumn")).data["rows"], json!([["", 20], ["hidden", 10]]));
        assert_eq!(fault(&toolbox, "query", by("secretPhone")).code, "personal-field");
    }
}
