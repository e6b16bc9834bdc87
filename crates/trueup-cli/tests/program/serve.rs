//! `trueup serve`: the same answers as `trueup get`, over HTTP.

use crate::workspace::Workspace;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const EVENTS_URL: &str = "/api/group/events?fields=leads&start=2025-01-01&end=2025-03-31";

/// A running server.
pub(crate) struct RunningServer {
    child: Child,
    address: String,
    /// The thread that reads the log, because the server would wait for its reader.
    log: Option<JoinHandle<String>>,
}

impl RunningServer {
    /// Runs a command that serves, and waits until it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("listening on http://") {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the server does not listen");
        }
        let address = line["listening on http://".len()..].split(';').next().unwrap().to_owned();
        let log = std::thread::spawn(move || {
            let mut lines = String::new();
            log.read_to_string(&mut lines).unwrap();
            lines
        });
        Self { child, address, log: Some(log) }
    }

    /// Starts a server of the dataset `ds` with the options `more`.
    fn of(workspace: &Workspace, more: &[&str]) -> Self {
        let mut command = workspace.command();
        command.args(["serve", "ds", "--listen", "127.0.0.1:0", "--refresh", "0.05"]).args(more);
        Self::start(command)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends a request and returns the head and the body of the answer, uncompressed.
    pub(crate) fn get(&self, path: &str, key: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: test\r\nAuthorization: {key}\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Waits until the events request gets the expected answer.
    #[track_caller]
    fn wait_for_answer(&self, key: &str, expected: &str) {
        let begun = Instant::now();
        while self.get(EVENTS_URL, key).1 != expected {
            assert!(begun.elapsed() < Duration::from_secs(20), "{expected} is not answered");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server by a signal. Returns its exit status, and its log since it listened.
    pub(crate) fn stop(mut self, signal: &str) -> (ExitStatus, String) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        let log = self.log.take().unwrap().join().unwrap();
        (self.child.wait().unwrap(), log)
    }
}

/// A failed test does not leave a server running.
impl Drop for RunningServer {
    fn drop(&mut self) {
        // The server may have stopped already.
        drop(self.child.kill());
    }
}

#[test]
fn serve_answers_like_get_until_a_stop_signal() {
    let (workspace, key) = Workspace::with_directory();
    for signal in ["-TERM", "-INT", "-HUP"] {
        let server = RunningServer::of(&workspace, &[]);
        for (key, path) in [
            (key.as_str(), "/api"),
            (&key, EVENTS_URL),
            (&key, "/api/group/events"),
            (&key, "/api/beta/events"),
            (&key, "/api/group/insights"),
            ("tu_guess", "/api"),
        ] {
            let (head, body) = server.get(path, key);
            let run = workspace.run(&["get", "ds", path, "--key", key]);
            let (expected, expected_body) = run.stdout.split_once("\n\n").unwrap();
            assert_eq!(body, expected_body, "{path}");
            assert_eq!(head.lines().next(), expected.lines().next(), "{path}");
        }
        assert!(server.get("/health", "").0.starts_with("HTTP/1.1 200 "));
        assert!(server.get("/openapi.json", "").1.contains("\"openapi\""));
        let (status, log) = server.stop(signal);
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("endpoint=\"events\"") && log.contains("status=404"), "{log}");
        assert!(!log.contains(&key) && !log.contains("tu_guess") && log.ends_with("stopped\n"), "{log}");
    }
}

#[test]
fn new_versions_and_grants_take_effect_while_serving() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--hourly-limit", "100000"]);
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
    workspace.write("more.csv", "account,opportunityId,type,date\nacme,9,lead-originated,2025-03-01\n");
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    server.wait_for_answer(&key, r#"[{"leads":3}]"#);
    workspace.change(&["orgs", "hold", "ds", "group", "beta"]);
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":4}]"#);
    workspace.change(&["keys", "delete", "ds", "anna", "1"]);
    assert!(server.get(EVENTS_URL, &key).0.starts_with("HTTP/1.1 401 "));

    // A version that cannot be opened is logged, and the previous one stays in use.
    let key = workspace.key("anna");
    std::fs::write(workspace.path("ds/manifest-00000003.json"), "{").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":4}]"#);
    let (status, log) = server.stop("-TERM");
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("another version") && log.contains("version=2"), "{log}");
    assert_eq!(log.matches("cannot be opened").count(), 1, "{log}");
}

/// Builds a new dataset of one version with `leads` leads.
fn build(workspace: &Workspace, name: &str, leads: usize) {
    let header = "account,opportunityId,type,date\n".to_owned();
    let row = |number| format!("acme,{name}-{number},lead-originated,2025-03-01\n");
    workspace.write("built.csv", &(header + &(0..leads).map(row).collect::<String>()));
    workspace.run(&["ingest", "built.csv", "--into", name]).succeeded();
}

/// Moves the dataset `ds` to `before-NAME`, and the dataset `name` to `ds`.
fn put_in_place(workspace: &Workspace, name: &str) {
    std::fs::rename(workspace.path("ds"), workspace.path(&format!("before-{name}"))).unwrap();
    std::fs::rename(workspace.path(name), workspace.path("ds")).unwrap();
}

#[test]
fn a_rebuilt_or_restored_dataset_is_served_whatever_its_version() {
    let (workspace, key) = Workspace::with_directory();
    std::fs::rename(workspace.path("ds/directory.sqlite"), workspace.path("elsewhere.sqlite")).unwrap();
    for (name, leads) in [("one", 4), ("two", 5), ("three", 6)] {
        build(&workspace, name, leads);
    }
    let server = RunningServer::of(&workspace, &["--hourly-limit", "100000", "--directory", "elsewhere.sqlite"]);
    // Another version 1 replaces version 1, perhaps before the first check.
    put_in_place(&workspace, "one");
    server.wait_for_answer(&key, r#"[{"leads":4}]"#);
    put_in_place(&workspace, "two");
    server.wait_for_answer(&key, r#"[{"leads":5}]"#);
    workspace.write("more.csv", "account,opportunityId,type,date\nacme,more,lead-originated,2025-03-02\n");
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    server.wait_for_answer(&key, r#"[{"leads":6}]"#);
    // From version 2 back to version 1: by renaming folders, and by removing the newer manifest. `before-one` is the
    // first dataset of all; `before-before-one` is then the one with version 2.
    put_in_place(&workspace, "before-one");
    server.wait_for_answer(&key, r#"[{"leads":2}]"#);
    std::fs::rename(workspace.path("ds"), workspace.path("older")).unwrap();
    std::fs::rename(workspace.path("before-before-one"), workspace.path("ds")).unwrap();
    server.wait_for_answer(&key, r#"[{"leads":6}]"#);
    std::fs::remove_file(workspace.path("ds/manifest-00000002.json")).unwrap();
    server.wait_for_answer(&key, r#"[{"leads":5}]"#);
    assert_eq!(server.stop("-TERM").0.code(), Some(0));
}

#[test]
fn a_missing_or_incomplete_dataset_leaves_the_previous_one_in_use() {
    let (workspace, key) = Workspace::with_directory();
    std::fs::rename(workspace.path("ds/directory.sqlite"), workspace.path("elsewhere.sqlite")).unwrap();
    build(&workspace, "next", 3);
    let server = RunningServer::of(&workspace, &["--hourly-limit", "100000", "--directory", "elsewhere.sqlite"]);
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
    std::fs::rename(workspace.path("ds"), workspace.path("away")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
    // The manifest appears before its files.
    std::fs::create_dir(workspace.path("ds")).unwrap();
    std::fs::copy(workspace.path("next/manifest-00000001.json"), workspace.path("ds/manifest-00000001.json")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
    std::fs::remove_dir_all(workspace.path("ds")).unwrap();
    std::fs::rename(workspace.path("next"), workspace.path("ds")).unwrap();
    server.wait_for_answer(&key, r#"[{"leads":3}]"#);
    let (status, log) = server.stop("-TERM");
    assert_eq!(status.code(), Some(0), "{log}");
    let count =
        |cause: &str| log.lines().filter(|line| line.contains("cannot be opened") && line.contains(cause)).count();
    assert_eq!((count("`ds` no longer holds a dataset"), count("ds/events")), (1, 1), "{log}");
}

/// When a backup is restored while the service runs, the keys of the backup work and later keys do not.
#[test]
fn a_restored_directory_takes_effect_immediately() {
    let (workspace, key) = Workspace::with_directory();
    let backup = |name| {
        std::fs::copy(workspace.path("ds/directory.sqlite"), workspace.path(name)).unwrap();
    };
    let status = |server: &RunningServer, key: &str| server.get("/api", key).0[9..12].to_owned();
    // No process has the file open, so the copy is complete without its log.
    backup("backup.sqlite");
    workspace.change(&["users", "add", "ds", "cara"]);
    workspace.change(&["users", "grant", "ds", "cara", "--account", "acme"]);
    let server = RunningServer::of(&workspace, &["--hourly-limit", "100000"]);
    let later = workspace.key("cara");
    assert_eq!((status(&server, &key), status(&server, &later)), ("200".to_owned(), "200".to_owned()));
    workspace.change(&["keys", "delete", "ds", "anna", "1"]);
    assert_eq!(status(&server, &key), "401");
    std::fs::rename(workspace.path("backup.sqlite"), workspace.path("ds/directory.sqlite")).unwrap();
    // The program uses it first, while the service still has the old file and its log open.
    assert_eq!(workspace.run(&["users", "list", "ds", "--format", "csv"]).succeeded().lines().count(), 3);
    assert_eq!((status(&server, &key), status(&server, &later)), ("200".to_owned(), "401".to_owned()));
    workspace.change(&["keys", "delete", "ds", "anna", "1"]);
    assert_eq!(status(&server, &key), "401");
    std::fs::rename(workspace.path("ds/directory.sqlite"), workspace.path("away.sqlite")).unwrap();
    assert_eq!(status(&server, &key), "502");
    let (_, log) = server.stop("-TERM");
    assert!(log.contains("directory.sqlite` cannot be used"), "{log}");
    assert!(!workspace.path("ds/directory.sqlite").exists());
}

#[test]
fn options_set_limits_and_the_log_level() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--hourly-limit", "1", "--log", "warn"]);
    assert!(server.get("/api", &key).0.starts_with("HTTP/1.1 200 "));
    let head = server.get("/api", &key).0.to_lowercase();
    assert!(head.starts_with("http/1.1 429 ") && head.contains("\nretry-after: "), "{head}");
    let (status, log) = server.stop("-TERM");
    assert_eq!((status.code(), log.as_str()), (Some(0), "stopped\n"));
}

#[test]
fn options_bound_memory_and_connections() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--memory", "20", "--memory-wait", "0.1", "--max-connections", "1"]);
    // This connection is idle, so it is closed for the next one.
    let mut silent = TcpStream::connect(&server.address).unwrap();
    let (head, body) = server.get(EVENTS_URL, &key);
    assert!(head.starts_with("HTTP/1.1 400 ") && body.contains("more than 9 bytes of memory"), "{head} {body}");
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.stop("-TERM").0.code(), Some(0));
}

#[test]
fn what_cannot_be_served_is_reported() {
    let (workspace, _) = Workspace::with_directory();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = workspace.run(&["serve", "ds", "--listen", &address]).failed(1);
    assert!(message.starts_with("error: ") && message.contains(&address), "{message}");
    assert!(workspace.run(&["serve", "ds", "--listen", "nowhere"]).failed(1).contains("`nowhere`"));
    assert!(workspace.run(&["serve", "none"]).failed(1).contains("`none`"));
    assert!(workspace.run(&["serve", "ds", "--directory", "no.sqlite"]).failed(1).contains("`no.sqlite`"));
    // With an address in use, none of these could serve anyway.
    for wrong in [["--log", "loud"], ["--refresh", "0"], ["--benchmark-accounts", "4"]] {
        workspace.run(&[["serve", "ds", "--listen", &address].as_slice(), &wrong].concat()).failed(2);
    }
    let run = workspace.command().args(["serve", "ds", "--listen", &address]).env("RUST_LOG", "loud").output().unwrap();
    assert_eq!(run.status.code(), Some(2));
}
