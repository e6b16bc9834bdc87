//! `trueup mcp`: the program as a client starts it, and the configuration that it prints.

use crate::workspace::Workspace;
use serde_json::{Value as Json, json};
use std::io::Write as _;
use std::process::Stdio;

/// Starts the command, says lines to it, closes its stdin, and returns what it says and its exit code.
fn talk(workspace: &Workspace, arguments: &[&str], lines: &[Json]) -> (Vec<Json>, Option<i32>) {
    let mut command = workspace.command();
    let mut child = command
        .args(["mcp", "ds"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    (said.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), output.status.code())
}

fn begin() -> [Json; 2] {
    let client =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ]
}

fn call(id: u32, tool: &str, arguments: Json) -> Json {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

#[test]
fn a_client_asks_over_stdin_and_stdout() {
    let workspace = Workspace::with_dataset();
    let [first, second] = begin();
    let asked = json!({ "metrics": ["leads"], "days": "2025" });
    let (said, code) = talk(&workspace, &["--today", "2025-12-31"], &[first, second, call(2, "query", asked)]);
    assert_eq!(code, Some(0));
    assert_eq!(said[0]["result"]["serverInfo"]["name"], "trueup");
    let answer = said.iter().find(|message| message["id"] == 2).unwrap();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let expected =
        workspace.run(&["query", "ds", "--fields", "leads", "--year", "2025", "--format", "json"]).succeeded();
    let expected: Json = serde_json::from_str(&expected).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["rows"][0][0], expected[0]["leads"]);
}

#[test]
fn a_client_that_leaves_at_once_is_no_failure() {
    let workspace = Workspace::with_dataset();
    assert_eq!(talk(&workspace, &[], &[]), (Vec::new(), Some(0)));
}

#[test]
fn an_account_or_a_folder_that_does_not_exist_is_refused() {
    let workspace = Workspace::with_dataset();
    assert!(workspace.run(&["mcp", "ds", "--account", "nobody"]).failed(1).contains("no account `nobody`"));
    assert!(workspace.run(&["mcp", "ds", "--export-dir", "nowhere"]).failed(1).contains("a folder that exists"));
}

#[test]
fn the_configuration_of_a_client_has_whole_paths() {
    let workspace = Workspace::with_dataset();
    let printed = workspace.run(&["mcp", "ds", "--account", "north", "--install", "claude"]).succeeded();
    let printed: Json = serde_json::from_str(&printed).unwrap();
    let server = &printed["mcpServers"]["trueup"];
    let dataset = workspace.path("ds").display().to_string();
    assert_eq!(server["args"], json!(["mcp", dataset, "--account", "north"]));
    assert!(server["command"].as_str().unwrap().ends_with("trueup"));
    for client in ["cursor", "vscode", "codex"] {
        assert!(workspace.run(&["mcp", "ds", "--install", client]).succeeded().contains(&dataset), "{client}");
    }
    workspace.run(&["mcp", "ds", "--install", "other"]).failed(2);
}
