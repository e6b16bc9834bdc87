//! `trueup mcp` as a client starts it, the configuration that it prints, and the same tools of `trueup serve --mcp`.

use crate::workspace::{RunningServer, Workspace};
use serde_json::{Value as Json, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

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

/// Calls a tool of a server for `ds` with each of some arguments, one after the other: a server whose stdin ends may
/// leave calls unanswered. Returns the answers.
pub(crate) fn ask_each(workspace: &Workspace, tool: &str, arguments: &[Json]) -> Vec<Json> {
    let mut command = workspace.command();
    command.args(["mcp", "ds"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut said = BufReader::new(stdout).lines();
    let [first, second] = begin();
    writeln!(stdin, "{first}").unwrap();
    said.next().unwrap().unwrap();
    writeln!(stdin, "{second}").unwrap();
    let ask = |(id, arguments): (u32, &Json)| {
        writeln!(stdin, "{}", call(id, tool, arguments.clone())).unwrap();
        let mut messages = said.by_ref().map(|line| serde_json::from_str::<Json>(&line.unwrap()).unwrap());
        messages.find(|message| message["id"] == id).unwrap()
    };
    let answers = (2..).zip(arguments).map(ask).collect();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    answers
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

/// Sends a message to the door of a server. Returns the status and the body of the answer.
fn post(server: &RunningServer, headers: &str, message: &Json) -> (u16, String) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let (body, address) = (message.to_string(), &server.address);
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    let request = format!(
        "POST /mcp HTTP/1.1\r\n{host}{headers}\r\nAccept: application/json, text/event-stream\r\n\
         Accept-Encoding: identity\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

/// Calls a tool of a server with a key. Returns the result.
fn call_over_http(server: &RunningServer, key: &str, tool: &str, arguments: Json) -> Json {
    let (status, body) = post(server, &format!("Authorization: {key}"), &call(1, tool, arguments));
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Json>(&body).unwrap()["result"].take()
}

#[test]
fn a_service_answers_agents_with_what_their_keys_reach() {
    let (workspace, anna) = Workspace::with_directory();
    let bert = workspace.key("bert");
    let server = RunningServer::of(&workspace, &["--mcp", "--today", "2025-12-31"]);
    let asked = json!({ "metrics": ["leads"], "by": ["account"], "days": "2025" });
    for (key, account) in [(&anna, "acme"), (&bert, "beta")] {
        let said = call_over_http(&server, key, "query", asked.clone());
        let local = ["--today", "2025-12-31", "--account", account];
        let [first, second] = begin();
        let (said_locally, _) = talk(&workspace, &local, &[first, second, call(1, "query", asked.clone())]);
        let locally = said_locally.iter().find(|message| message["result"].get("isError").is_some()).unwrap();
        assert_eq!(said["structuredContent"], locally["result"]["structuredContent"]);
        assert_eq!(said["content"], locally["result"]["content"]);
        let seen = call_over_http(&server, key, "overview", json!({}));
        assert_eq!(seen["structuredContent"]["user"], if account == "acme" { "anna" } else { "bert" });
    }
    // Nothing is written, whatever is asked.
    let export = json!({ "metrics": ["leads"], "days": "2025", "format": "csv", "file": "a.csv" });
    assert_eq!(call_over_http(&server, &anna, "export", export)["isError"], true);
    // As clients of the protocol send a key.
    let [first, _] = begin();
    let (status, body) = post(&server, &format!("Authorization: Bearer {anna}"), &first);
    assert_eq!((status, body.contains("\"trueup\"")), (200, true), "{body}");
}

#[test]
fn agents_without_a_key_or_from_pages_of_others_are_refused() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--mcp", "--allow-host", "trueup.example.com"]);
    let [first, _] = begin();
    let status = |headers: &str| post(&server, headers, &first).0;
    let signed = format!("Authorization: {key}");
    for (headers, expected) in [
        (signed.clone(), 200),
        ("X-Nothing: 1".to_owned(), 401),
        ("Authorization: tu_guess".to_owned(), 401),
        (format!("{signed}\r\nHost: trueup.example.com"), 200),
        (format!("{signed}\r\nHost: evil.example.com"), 403),
        (format!("{signed}\r\nOrigin: https://trueup.example.com"), 200),
        (format!("{signed}\r\nOrigin: http://localhost:3000"), 200),
        (format!("{signed}\r\nOrigin: https://evil.example.com"), 403),
        (format!("{signed}\r\nOrigin: null"), 403),
    ] {
        assert_eq!(status(&headers), expected, "{}", headers.replace(&key, "KEY"));
    }
    let large = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "a": "a".repeat(1 << 17) } });
    assert_eq!(post(&server, &signed, &large).0, 413);
    // Without `--mcp`, the path is one that does not exist.
    let server = RunningServer::of(&workspace, &[]);
    assert_eq!(post(&server, &signed, &first).0, 405);
}

#[test]
fn each_call_is_one_request_of_the_hour() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--mcp", "--hourly-limit", "3"]);
    let [first, _] = begin();
    for _ in 0..5 {
        assert_eq!(post(&server, &format!("Authorization: {key}"), &first).0, 200);
    }
    let call = || call_over_http(&server, &key, "find_fields", json!({ "names": ["leads"] }));
    for _ in 0..3 {
        assert_eq!(call()["isError"], false);
    }
    assert_eq!(call()["structuredContent"]["code"], "rate-limited");
}

#[test]
fn limits_of_the_service_hold_for_agents() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--mcp", "--max-account-intervals", "30"]);
    let asked = json!({ "metrics": ["leads"], "days": "2025-01", "interval": "day" });
    assert_eq!(call_over_http(&server, &key, "query", asked)["structuredContent"]["code"], "too-many-intervals");
}

#[test]
fn a_client_hears_how_far_a_call_over_http_is() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--mcp"]);
    let mut asked = call(1, "query", json!({ "metrics": ["leads"], "days": "2025" }));
    asked["params"]["_meta"] = json!({ "progressToken": "p" });
    let (status, body) = post(&server, &format!("Authorization: {key}"), &asked);
    assert_eq!(status, 200);
    assert!(body.contains("notifications/progress") && body.contains("structuredContent"), "{body}");
}

#[test]
fn a_client_that_starts_programs_asks_a_service() {
    let (workspace, key) = Workspace::with_directory();
    workspace.write("anna.key", &key);
    let server = RunningServer::of(&workspace, &["--mcp", "--today", "2025-12-31"]);
    let asked = json!({ "metrics": ["leads"], "by": ["account"], "days": "2025" });
    let mut command = workspace.command();
    command.args(["mcp", "--url", &server.url(), "--key-file", "anna.key"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Json>(&lines.next().unwrap().unwrap()).unwrap();
    let [first, second] = begin();
    writeln!(stdin, "{first}").unwrap();
    assert_eq!(next()["result"]["serverInfo"]["name"], "trueup");
    writeln!(stdin, "{second}\n{}", call(2, "query", asked.clone())).unwrap();
    let said = next();
    assert_eq!(said["result"]["content"], call_over_http(&server, &key, "query", asked)["content"], "{said}");
    drop(stdin);
    assert!(child.wait().unwrap().success());

    // A key that is not accepted, and a service without the door.
    workspace.write("other.key", "tu_guess");
    let refused = |key_file: &str, url: &str| {
        let mut command = workspace.command();
        command.args(["mcp", "--url", url, "--key-file", key_file]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{first}").unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = refused("other.key", &server.url());
    assert!(code == Some(1) && said.contains("authorization required"), "{code:?} {said}");
    let without = RunningServer::of(&workspace, &[]);
    let (code, said) = refused("anna.key", &without.url());
    assert!(code == Some(1) && said.contains("runs with `--mcp`"), "{code:?} {said}");
}

/// Answers the requests of a connection as a service whose calls never end. Says when a call begins, and when its
/// client disconnects.
fn never_answer_calls(stream: &TcpStream, said: &Sender<&'static str>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let asked: Json = serde_json::from_slice(&body).unwrap_or_default();
        let answer = match asked["method"].as_str() {
            Some("initialize") => {
                let server = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": { "name": "slow", "version": "1" } });
                let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": server }).to_string();
                format!("200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            }
            Some("tools/call") => {
                said.send("begun").unwrap();
                if reader.read(&mut [0])? == 0 {
                    said.send("given up").unwrap();
                }
                return Ok(());
            }
            Some(_) => "202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
            None => "405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n".to_owned(),
        };
        let mut writer = stream;
        write!(writer, "HTTP/1.1 {answer}")?;
    }
}

#[test]
fn a_call_that_a_client_cancels_is_given_up_at_the_service() {
    let workspace = Workspace::new();
    workspace.write("anna.key", "tu_key");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (said, heard) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let said = said.clone();
            thread::spawn(move || never_answer_calls(&stream.unwrap(), &said));
        }
    });
    let mut command = workspace.command();
    command.args(["mcp", "--url", &url, "--key-file", "anna.key"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let [first, second] = begin();
    writeln!(stdin, "{first}").unwrap();
    assert!(lines.next().unwrap().unwrap().contains("slow"));
    writeln!(stdin, "{second}\n{}", call(2, "overview", json!({}))).unwrap();
    let next = || heard.recv_timeout(Duration::from_mins(1));
    assert_eq!(next(), Ok("begun"));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    writeln!(stdin, "{cancel}").unwrap();
    assert_eq!(next(), Ok("given up"));
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
