//! `trueup bench`: what it measures, not how fast trueup is.

use crate::workspace::Workspace;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

/// Creates the dataset `demo` with data of the demo.
fn demo() -> Workspace {
    let workspace = Workspace::new();
    let run = workspace.run(&["demo", "demo", "--events", "3000", "--accounts", "4", "--until", "2026-06-30"]);
    assert_eq!(run.code, 0, "{run:?}");
    workspace
}

fn names(queries: &Json) -> Vec<&str> {
    queries.as_array().unwrap().iter().map(|query| query["name"].as_str().unwrap()).collect()
}

/// Returns the exit code, the lines that the program writes in answer to `lines`, and its messages.
fn request(workspace: &Workspace, lines: impl AsRef<[u8]>) -> (i32, Vec<Json>, String) {
    let mut command = workspace.command();
    command.args(["bench", "demo", "--on-request"]);
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    program.stdin.take().unwrap().write_all(lines.as_ref()).unwrap();
    let output = program.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code().unwrap(), lines, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn every_query_of_the_suite_is_measured() {
    let workspace = demo();
    let report = workspace.run(&["bench", "demo", "--repeat", "1", "--callers", "2", "--format", "json"]).succeeded();
    let report: Json = serde_json::from_str(&report).unwrap();
    let names = names(&report["queries"]);
    assert!(names.len() >= 12, "{names:?}");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    for query in report["queries"].as_array().unwrap() {
        for positive in ["rows", "coldMilliseconds", "hotMilliseconds", "eventsPerSecond", "bytesRead", "gain"] {
            assert!(query[positive].as_f64().unwrap() > 0.0, "{positive}: {query}");
        }
        assert_eq!(query["callers"], 2);
        assert!(query["rowGroupsKept"].as_u64().unwrap() > 0, "{query}");
    }
    assert!(report["events"].as_u64().unwrap() > 1000);
    assert!(report["heldBytesPerEvent"].as_f64().unwrap() > 0.0);

    let again = ["bench", "demo", "--repeat", "2", "--query", "channel", "--again", "--format", "json"];
    let again: Json = serde_json::from_str(&workspace.run(&again).succeeded()).unwrap();
    assert!(again["queries"][0]["againFactor"].as_f64().unwrap() > 0.0, "{again}");
    let table = workspace.run(&["bench", "demo", "--repeat", "2", "--query", "channel", "--threads", "1"]).succeeded();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("query ") && lines[1].starts_with("channel "), "{table}");
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[3].contains("queried with 1 thread;") && lines[3].contains("bytes per event"), "{table}");
}

#[test]
fn the_suite_runs_when_no_column_fits_into_memory() {
    let workspace = demo();
    let report = |more: &[&str]| -> Json {
        let arguments = [&["bench", "demo", "--repeat", "1", "--format", "json"][..], more].concat();
        serde_json::from_str(&workspace.run(&arguments).succeeded()).unwrap()
    };
    let (fits, none) = (report(&[]), report(&["--memory", "1"]));
    assert!(fits["heldBytesPerEvent"].as_f64().unwrap() > 0.0);
    assert_eq!(none["heldBytesPerEvent"].as_f64(), Some(0.0));
    let rows = |report: &Json| -> Vec<Json> {
        report["queries"].as_array().unwrap().iter().map(|query| query["rows"].clone()).collect()
    };
    assert_eq!(rows(&fits), rows(&none));
}

#[test]
fn one_query_is_measured_per_request() {
    let workspace = demo();
    let (code, lines, stderr) =
        request(&workspace, "channel question\nchannel hot\n\nchannel cold\nchannel answer\none-account question\n");
    assert_eq!((code, stderr.as_str(), lines.len()), (0, "", 5));
    let [question, hot, cold, answer, one] = &lines[..] else { unreachable!() };
    let text = |name: &str| question[name].as_str().unwrap();
    let fields: Vec<&str> = question["fields"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!((fields[0], text("interval")), ("attributionChannel", "total"));
    let rows = answer["rows"].as_array().unwrap();
    for timed in [hot, cold] {
        assert_eq!(timed["rows"], rows.len());
        assert!(timed["milliseconds"].as_f64().unwrap() > 0.0);
    }
    let range = ["--start", text("start"), "--end", text("end"), "--format", "json"];
    let fields = fields.join(",");
    let query = [&["query", "demo", "--fields", &fields][..], &range].concat();
    assert_eq!(serde_json::from_str::<Json>(&workspace.run(&query).succeeded()).unwrap(), answer["rows"]);
    assert_eq!(one["accounts"].as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_measured_is_reported() {
    let workspace = demo();
    let message = workspace.run(&["bench", "demo", "--query", "chanel"]).failed(1);
    assert!(message.contains("`chanel`") && message.contains("channel-day"), "{message}");
    workspace.run(&["bench", "demo", "--repeat", "0"]).failed(2);
    workspace.run(&["bench", "demo", "--on-request", "--repeat", "3"]).failed(2);
    let (code, lines, stderr) = request(&workspace, "channel hot\nchannel warm\n");
    assert_eq!((code, lines.len()), (1, 1));
    assert!(stderr.contains("`channel warm`"), "{stderr}");
    let (code, lines, stderr) = request(&workspace, b"channel hot\n\xff\n");
    assert_eq!((code, lines.len()), (1, 1));
    assert!(stderr.contains("`-`: "), "{stderr}");

    workspace.write("none.csv", "account,opportunityId,type,date\n");
    workspace.run(&["ingest", "none.csv", "--into", "none"]).succeeded();
    let run = workspace.run(&["bench", "none"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("the dataset is empty"), "{run:?}");
    let message = workspace.run(&["bench", "none", "--query", "channel"]).failed(1);
    assert!(message.contains("the dataset is empty"), "{message}");
}
