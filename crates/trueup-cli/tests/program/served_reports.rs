//! `GET /report` of `trueup serve --reports`: the report of a key, for nobody else, with what the operator puts on it.

use crate::workspace::{RunningServer, Workspace};

/// Returns a server of the dataset `ds`, whose user Anna reaches `acme` and Bert `beta`, and a key of each.
fn server(workspace: &Workspace, more: &[&str]) -> RunningServer {
    workspace.write("comment.md", "Thank you for *January*.\n");
    let options = ["--reports", "--report-from", "Us", "--report-comment", "comment.md"];
    RunningServer::of(workspace, &[&options[..], more].concat())
}

#[test]
fn a_key_gets_the_report_of_its_accounts_alone() {
    let (workspace, anna) = Workspace::with_directory();
    let bert = workspace.key("bert");
    let server = server(&workspace, &[]);
    let (head, report) = server.get("/report?month=2025-01", &anna);
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.to_ascii_lowercase().contains("content-type: text/html"),
        "{head}"
    );
    assert!(head.contains("default-src 'none'; style-src 'unsafe-inline'; img-src data:"), "{head}");
    for part in ["January 2025: Acme Plumbing", "<dt>From</dt><dd>Us</dd>", "Thank you for <em>January</em>."] {
        assert!(report.contains(part), "{part}\n{report}");
    }
    // Neither the other account nor the days of its data are anywhere.
    assert!(!report.contains("beta") && !report.contains("2025-02-01") && !report.contains("Spring Drain"), "{report}");
    assert!(report.contains("<dt>Data</dt><dd>2025-01-03 to 2025-01-20, version 1</dd>"), "{report}");
    // The same report as at the shell, for a reader who sees the same accounts.
    let (_, narrowed) = server.get("/report?month=2025-01&organization=group&account=acme", &anna);
    assert_eq!(narrowed, report);
    let (_, credited) = server.get("/report?month=2025-01&attribution=first", &anna);
    assert!(credited.contains("<dd>first, so that each event counts for the channel"), "{credited}");
    let (_, of_bert) = server.get("/report?month=2025-02", &bert);
    assert!(of_bert.contains("February 2025: beta") && !of_bert.contains("Acme"), "{of_bert}");
}

#[test]
fn what_has_no_report_is_refused() {
    let (workspace, anna) = Workspace::with_directory();
    let server = server(&workspace, &["--hourly-limit", "10"]);
    for (status, path, said) in [
        (400, "/report", "`month`: is missing"),
        (400, "/report?month=May", "expected a month as YYYY-MM, but found `May`"),
        (400, "/report?month=2025-01&day=1", "but found `day`"),
        (
            400,
            "/report?month=2025-01&attribution=all",
            "`attribution`: expected the attribution `recorded`, `first` or",
        ),
        (400, "/report?month=2025-01&through=2025-02-01", "expected the last day of the report in 2025-01"),
        // The days of the other account are not named.
        (400, "/report?month=2025-02", "its days are 2025-01-03 to 2025-01-20"),
        (404, "/report?month=2025-01&account=beta", "beta"),
        (404, "/report?month=2025-01&organization=beta", "beta"),
    ] {
        let (head, body) = server.get(path, &anna);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        assert!(
            serde_json::from_str::<serde_json::Value>(&body).unwrap()["error"].as_str().unwrap().contains(said),
            "{body}"
        );
    }
    assert!(server.get("/report?month=2025-01", "tu_guess").0.starts_with("HTTP/1.1 401 "));
    assert!(server.get_with("/report?month=2025-01", "X: y").0.starts_with("HTTP/1.1 401 "));
    // Each is a request of the hour.
    assert!(server.get("/report?month=2025-01", &anna).0.starts_with("HTTP/1.1 200 "));
    assert!(server.get("/report?month=2025-01", &anna).0.starts_with("HTTP/1.1 200 "));
    assert!(server.get("/report?month=2025-01", &anna).0.starts_with("HTTP/1.1 429 "));
}

#[test]
fn a_browser_without_a_key_is_asked_for_one() {
    let (workspace, anna) = Workspace::with_directory();
    let of_reports = server(&workspace, &[]);
    let (head, page) = of_reports.get_with("/report?month=2025-01", "Accept: text/html,*/*;q=0.8");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("script-src 'self'"), "{head}");
    assert!(page.contains("<script src=\"report?script\" defer></script>") && !page.contains("Acme"), "{page}");
    let (head, script) = of_reports.get_with("/report?script", "Accept: */*");
    assert!(
        head.to_ascii_lowercase().contains("content-type: text/javascript") && script.contains("Authorization"),
        "{head}"
    );
    let without = RunningServer::of(&workspace, &[]);
    assert!(without.get("/report?month=2025-01", &anna).0.starts_with("HTTP/1.1 404 "));
}
