//! What operators get from `trueup serve`: metrics at an address of their own, and readiness.

use crate::workspace::{EVENTS_URL, RunningServer, Workspace};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Returns an address that was free a moment ago.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Returns the answer to a GET request.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: h\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Waits until the answer contains a text.
#[track_caller]
fn wait_for(address: &str, path: &str, text: &str) {
    let begun = Instant::now();
    loop {
        let answer = get(address, path);
        if answer.contains(text) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{text}: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn operators_see_versions_that_arrive_and_versions_that_cannot_be_opened() {
    let (workspace, key) = Workspace::with_directory();
    let address = free_address();
    let server = RunningServer::of(&workspace, &["--metrics-listen", &address]);
    server.wait_for_answer(&key, r#"[{"leads":2}]"#);
    wait_for(&address, "/metrics", "\ntrueup_dataset_version 1\n");
    workspace.write("more.csv", "account,opportunityId,type,date\nacme,9,lead-originated,2025-03-01\n");
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    wait_for(&address, "/metrics", "\ntrueup_dataset_version 2\n");
    wait_for(&address, "/metrics", "\ntrueup_dataset_refresh_failing 0\n");
    fs::write(workspace.path("ds/manifest-00000003.json"), "{").unwrap();
    wait_for(&address, "/metrics", "\ntrueup_dataset_refresh_failing 1\n");
    // The version before it is served, so that the service is ready.
    wait_for(&address, "/ready", r#"{"status":"ready"}"#);
    fs::remove_file(workspace.path("ds/manifest-00000003.json")).unwrap();
    wait_for(&address, "/metrics", "\ntrueup_dataset_refresh_failing 0\n");
    assert!(server.get("/metrics", &key).0.starts_with("HTTP/1.1 404 "));
    assert!(get(&address, EVENTS_URL).starts_with("HTTP/1.1 404 "));
    assert_eq!(server.stop("-TERM").0.code(), Some(0));
}

#[test]
fn a_directory_that_is_gone_is_not_ready_until_it_is_back() {
    let (workspace, _) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &[]);
    assert!(server.get("/ready", "").1.contains(r#""ready""#));
    fs::rename(workspace.path("ds/directory.sqlite"), workspace.path("away.sqlite")).unwrap();
    wait_for(&server.address, "/ready", r#"{"status":"not-ready","cause":"directory"}"#);
    fs::rename(workspace.path("away.sqlite"), workspace.path("ds/directory.sqlite")).unwrap();
    wait_for(&server.address, "/ready", r#"{"status":"ready"}"#);
    let (_, log) = server.stop("-TERM");
    // The cause is logged once, and not sent.
    assert_eq!((log.matches("not ready").count(), log.matches("ready again").count()), (1, 1), "{log}");
    assert!(log.contains("directory.sqlite"), "{log}");
}

#[test]
fn a_service_that_stops_answers_until_a_load_balancer_has_noticed() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--shutdown-delay", "2"]);
    let address = server.address.clone();
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| server.stop("-TERM"));
        wait_for(&address, "/ready", r#"{"status":"draining"}"#);
        assert!(get(&address, "/health").starts_with("HTTP/1.1 200 "));
        assert_eq!(stopped.join().unwrap().0.code(), Some(0));
    });
    assert!(TcpStream::connect(&address).is_err());
    assert!(workspace.get(Some(&key), &["ds", EVENTS_URL]).succeeded().ends_with(r#"[{"leads":2}]"#));
}

#[test]
fn a_service_may_stop_without_a_delay() {
    let (workspace, _) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--shutdown-delay", "0", "--shutdown-grace", "0"]);
    assert_eq!(server.stop("-TERM").0.code(), Some(0));
    let message = workspace.run(&["serve", "ds", "--memory-wait", "0"]).failed(2);
    assert!(message.contains("expected a positive number of seconds"), "{message}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let (workspace, _) = Workspace::with_directory();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = workspace.run(&["serve", "ds", "--listen", "127.0.0.1:0", "--metrics-listen", &address]).failed(1);
    assert!(message.contains(&format!("cannot listen on `{address}`")), "{message}");
    let message = workspace.run(&["serve", "ds", "--listen", "127.0.0.1:0", "--metrics-listen", "9464"]).failed(1);
    assert!(message.contains("expected an address to listen on"), "{message}");
}
