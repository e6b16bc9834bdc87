//! Exit codes: 1 for a request or data at fault, 2 for wrong usage.

use crate::workspace::{RANGE, Workspace};

#[test]
fn faulty_requests_exit_with_code_1() {
    let workspace = Workspace::with_dataset();
    let cases: [(&str, &[&str], &[&str]); 12] = [
        ("attributionChannel", &[], &["metric"]),
        (" , ", &[], &["field"]),
        ("start,leads", &[], &["`start`"]),
        ("leads", &["--account", "gamma"], &["`gamma`", "`acme`, `beta`"]),
        ("leads", &["--account", "acme", "--account", ""], &["``"]),
        ("leads", &["--where", r#"campaign=["like", "x"]"#], &["`campaign[0]`", "`like`"]),
        (
            "leads",
            &["--where", r#"campaign=["regex", "(a"]"#],
            &["`campaign[1]`", "`(a` does not compile: unclosed group"],
        ),
        // Of two faults, the one that the contract lists first.
        ("campaign", &["--where", "campaign=[]"], &["metric"]),
        ("leads,end", &["--filter", "{}"], &["`end`"]),
        ("leads", &["--where", "leads=many"], &["`leads`", "`many`"]),
        ("leads", &["--filter", r#"{"zip": "1", "zip": "2"}"#], &["`filter.zip`"]),
        ("leads", &["--filter", r#"["or", {"leads": 1}, {"zip": "1"}]"#], &["`filter`", "`leads`", "`zip`"]),
    ];
    for (fields, more, words) in cases {
        let message = workspace.query(fields, more).failed(1);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.starts_with("error: ") && words.iter().all(|word| message.contains(word)), "{message}");
    }
}

#[test]
fn the_attribution_window_limits_the_interval_total() {
    let workspace = Workspace::with_dataset();
    let query = |more: &[&str]| {
        let query =
            ["query", "ds", "--fields", "leads", "--start", "2025-01-01", "--end", "2025-04-01", "--format", "json"];
        workspace.run(&[query.as_slice(), more].concat())
    };
    let message = query(&[]).failed(1);
    assert!(message.contains("91 days") && message.contains("`--allow-long-total`"), "{message}");
    assert_eq!(query(&["--allow-long-total"]).succeeded(), r#"[{"leads":3}]"#);
    let reversed = ["query", "ds", "--fields", "leads", "--start", "2025-01-02", "--end", "2025-01-01"];
    let message = workspace.run(&reversed).failed(1);
    assert!(message.contains("2025-01-02") && message.contains("2025-01-01"), "{message}");
}

#[test]
fn wrong_usage_exits_with_code_2() {
    let workspace = Workspace::with_dataset();
    workspace.run(&[]).failed(2);
    workspace.run(&["guess"]).failed(2);
    workspace.run(&["query", "ds", "--fields", "leads"]).failed(2);
    workspace.query("leads", &["--format", "xml"]).failed(2);
    workspace.query("leads", &["--interval", "year"]).failed(2);
    workspace.query("leads", &["--where", "campaign"]).failed(2);
    workspace.query("leads", &["--where", "=x"]).failed(2);
    workspace.query("leads", &["--force"]).failed(2);
    workspace.run(&["ingest", "events.csv", "--into", "ds", "--force"]).failed(2);
    workspace.run(&["bench", "ds", "--callers", "1025"]).failed(2);
    for message in [
        workspace.query("leads", &["--threads", "0"]).failed(2),
        workspace.query("leads", &["--threads", "1025"]).failed(2),
        workspace.run(&["ingest", "events.csv", "--into", "ds", "--threads", "0"]).failed(2),
        workspace.run(&["ingest", "events.csv", "--into", "ds", "--threads", "1000000"]).failed(2),
        workspace.run(&["batch", "jobs.toml", "--into", "out", "--threads", "1000000"]).failed(2),
        workspace.run(&["bench", "ds", "--threads", "1000000"]).failed(2),
    ] {
        assert!(message.contains("a whole number of threads from 1 to 1024"), "{message}");
    }
    let message =
        workspace.run(&["query", "ds", "--fields", "leads", "--start", "2025-13-01", "--end", "2025-01-01"]).failed(2);
    assert!(message.contains("`2025-13-01`"), "{message}");
    assert!(workspace.run(&["--help"]).succeeded().contains("Usage"));
    for command in
        ["demo", "ingest", "query", "batch", "explain", "inspect", "verify", "get", "serve", "users", "orgs", "keys"]
    {
        assert!(workspace.run(&[command, "--help"]).succeeded().contains("Usage: trueup "), "{command}");
    }
    let help = workspace.run(&["ingest", "--help"]).succeeded();
    assert!(help.contains("--rejects rejects.ndjson") && !help.contains("rejects.csv"), "{help}");
    let help = workspace.run(&["query", "--help"]).succeeded();
    assert!(help.contains("avgCostPerLead") && help.contains("attributionChannel"), "{help}");
    assert!(workspace.run(&["--version"]).succeeded().starts_with("trueup "));
}

#[test]
fn missing_datasets_and_folders_are_reported() {
    let workspace = Workspace::with_dataset();
    let at = |dataset, more: &[&str]| {
        let query: Vec<&str> = ["query", dataset, "--fields", "leads"].into_iter().chain(RANGE).collect();
        workspace.run(&[&query, more].concat()).failed(1)
    };
    assert!(at("nowhere", &[]).contains("`nowhere`"));
    assert!(at("ds", &["--as-of", "9"]).contains('9'));
    let message = workspace.query("leads", &["-o", "no/such/folder/out.csv"]).failed(1);
    assert!(message.contains("no/such/folder/out.csv"), "{message}");
}

#[test]
fn long_values_are_truncated_in_messages() {
    let workspace = Workspace::with_dataset();
    let long = "y".repeat(3_000);
    for (fields, more) in [
        ("leads", ["--account", long.as_str()]),
        ("leads", ["--filter", &long]),
        ("leads", ["--where", &format!("leads={long}")]),
        (long.as_str(), ["--interval", "total"]),
    ] {
        let message = workspace.query(fields, &more).failed(1);
        assert!(message.contains("yy... (3000 characters)`") && message.len() < 600, "{message}");
    }
}
