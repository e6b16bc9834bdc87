//! `trueup get` gives the service's own answer.

use crate::workspace::{Run, Workspace};
use std::sync::Arc;
use trueup::Dataset;
use trueup::access::{Directory, DirectorySettings, SqliteDirectory};
use trueup::service::{Request, Service};

const RANGE: &str = "start=2025-01-01&end=2025-03-31";

/// Runs `trueup get` with the key in the variable.
fn get(workspace: &Workspace, key: Option<&str>, arguments: &[&str]) -> Run {
    let mut command = workspace.command();
    command.arg("get").args(arguments);
    if let Some(key) = key {
        command.env("TRUEUP_KEY", key);
    }
    command.output().unwrap().into()
}

#[test]
fn get_answers_like_the_service() {
    let (workspace, key) = Workspace::with_directory();
    let directory =
        SqliteDirectory::open_existing(workspace.path("ds/directory.sqlite"), DirectorySettings::default()).unwrap();
    let directory: Arc<dyn Directory> = Arc::new(directory);
    let service = Service::builder(Arc::new(Dataset::open(workspace.path("ds")).unwrap()), directory).build();
    let events = |organization: &str, query: &str| format!("/api/{organization}/events?{query}");
    let requests: [(u16, String, Option<&str>); 16] = [
        (200, "/api".to_owned(), Some(&key)),
        (200, "/api/".to_owned(), Some(&key)),
        (200, events("group", &format!("fields=account%2Cleads&{RANGE}")), Some(&key)),
        (200, events("acme", &format!("fields=leads,zip&interval=month&{RANGE}&campaign=%5BVa%5D+Drain")), Some(&key)),
        (200, "/api/group/insights".to_owned(), Some(&key)),
        (400, events("group", RANGE), Some(&key)),
        (400, events("group", "fields=leads&start=2025-01-01"), Some(&key)),
        (400, events("group", "fields=leads&start=2025-01-01&end=2025-12-31"), Some(&key)),
        (400, events("group", &format!("fields=leads&{RANGE}&campaign=%5B%5D")), Some(&key)),
        (401, "/api".to_owned(), None),
        (401, "/api".to_owned(), Some("tu_guess")),
        (401, events("group", RANGE), None),
        (404, events("elsewhere", RANGE), Some(&key)),
        (404, events("beta", RANGE), Some(&key)),
        (404, events("group", "account=beta"), Some(&key)),
        (404, "/nothing".to_owned(), Some(&key)),
    ];
    for (status, path, key) in requests {
        let run = get(&workspace, key, &["ds", &path]);
        let answer = service.handle(&Request {
            authorization: key.map(str::to_owned),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(path.as_str())
        });
        assert_eq!(answer.status, status, "{path}");
        let (head, body) = run.stdout.split_once("\n\n").unwrap();
        let mut lines = head.lines();
        assert!(lines.next().unwrap().starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        let headers: Vec<String> = answer.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(lines.collect::<Vec<_>>(), headers, "{path}");
        assert_eq!(body.as_bytes(), answer.body.into_bytes().unwrap(), "{path}");
        assert_eq!(run.code, i32::from(status != 200), "{path}: {}", run.stderr);
        assert_eq!(run.stderr.is_empty(), status == 200, "{path}: {}", run.stderr);
        assert!(key.is_none_or(|key| !run.stderr.contains(key)), "{}", run.stderr);
    }
}

#[test]
fn the_key_comes_from_an_option_a_file_or_a_variable() {
    let (workspace, key) = Workspace::with_directory();
    workspace.write("anna.key", &format!("{key}\n"));
    let body = |run: Run| {
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout
    };
    let by_variable = body(get(&workspace, Some(&key), &["ds", "/api", "--body-only"]));
    assert!(by_variable.starts_with(r#"{"user":"anna""#), "{by_variable}");
    assert_eq!(body(get(&workspace, None, &["ds", "/api", "--body-only", "--key", &key])), by_variable);
    assert_eq!(
        body(get(&workspace, Some("tu_old"), &["ds", "/api", "--body-only", "--key-file", "anna.key"])),
        by_variable
    );
    let message = get(&workspace, None, &["ds", "/api", "--key-file", "anna.key", "--key", &key]).failed(2);
    assert!(!message.contains(&key), "{message}");
    get(&workspace, None, &["ds", "/api", "--key-file", "no.key"]).failed(1);
}

#[test]
fn the_body_is_compressed_on_request() {
    let (workspace, key) = Workspace::with_directory();
    let output =
        workspace.command().args(["get", "ds", "/api", "--gzip", "--body-only"]).env("TRUEUP_KEY", &key).output();
    assert!(output.unwrap().stdout.starts_with(&[0x1f, 0x8b]));
    let output = workspace.command().args(["get", "ds", "/api", "--gzip"]).env("TRUEUP_KEY", &key).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nContent-Encoding: gzip\n"));
}

#[test]
fn unknown_fields_cause_a_warning() {
    let (workspace, key) = Workspace::with_directory();
    let run = get(&workspace, Some(&key), &["ds", &format!("/api/group/events?fields=leads,colour&{RANGE}")]);
    assert!(run.code == 0 && run.stderr.starts_with("warning: ") && run.stderr.contains("colour"), "{run:?}");
}

#[test]
fn limits_are_enforced() {
    let (workspace, key) = Workspace::with_directory();
    let status = |more: &[&str], path: &str| {
        let run = get(&workspace, Some(&key), &[&["ds", path], more].concat());
        (run.code, run.stdout[9..12].to_owned())
    };
    let events = format!("/api/group/events?fields=leads,date&{RANGE}");
    assert_eq!(status(&["--max-rows", "1"], &events), (1, "400".to_owned()));
    assert_eq!(status(&["--max-account-intervals", "0"], &events), (1, "400".to_owned()));
    assert_eq!(status(&["--deadline", "0.000001"], &events), (1, "504".to_owned()));
    assert_eq!(status(&["--hourly-limit", "2"], &events), (1, "429".to_owned()));
    let run = get(&workspace, Some(&key), &["ds", "/api", "--hourly-limit", "0"]);
    assert!(run.stdout.contains("\nRetry-After: "), "{run:?}");
    get(&workspace, Some(&key), &["ds", "/api", "--deadline", "soon"]).failed(2);
}

/// The cause, which the answer does not contain, is written to stderr.
#[test]
fn a_damaged_dataset_is_a_502_and_the_cause_goes_to_stderr() {
    let (workspace, key) = Workspace::with_directory();
    workspace.write(
        "insights.ndjson",
        "{\"account\": \"acme\", \"date\": \"2025-02-03\", \"insight\": {\"period\": \"January\"}}\n",
    );
    workspace.run(&["ingest", "--insights", "insights.ndjson", "--into", "ds"]).succeeded();
    let insights = ["ds", "/api/group/insights"];
    assert!(get(&workspace, Some(&key), &insights).succeeded().ends_with(r#""insight":{"period": "January"}}]"#));
    let file = workspace.path("ds/insights").read_dir().unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[20] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let run = get(&workspace, Some(&key), &insights);
    assert!(run.code == 1 && run.stdout.starts_with("HTTP/1.1 502 "), "{run:?}");
    assert!(run.stderr.contains("ndjson") && !run.stdout.contains("ndjson"), "{run:?}");
}
