//! `trueup serve`: the same answers over HTTP.

use crate::place::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const EVENTS: &str = "/api/group/events?fields=leads&start=2025-01-01&end=2025-03-31";

/// A server of the dataset `ds`.
pub(crate) struct Running {
    child: Child,
    address: String,
    /// Reads the log all the time: a server waits for whoever reads its log.
    log: Option<JoinHandle<String>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("listening on http://") {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "it does not listen");
        }
        let address = line["listening on http://".len()..].split(';').next().unwrap().to_owned();
        let log = std::thread::spawn(move || {
            let mut lines = String::new();
            log.read_to_string(&mut lines).unwrap();
            lines
        });
        Self { child, address, log: Some(log) }
    }

    fn of(place: &Place, more: &[&str]) -> Self {
        let mut command = place.command();
        command.args(["serve", "ds", "--listen", "127.0.0.1:0", "--refresh", "0.05"]).args(more);
        Self::start(command)
    }

    /// Head and body of an answer that is not compressed.
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

    /// Waits until the request for events is answered with that.
    #[track_caller]
    fn comes_to_answer(&self, key: &str, expected: &str) {
        let begun = Instant::now();
        while self.get(EVENTS, key).1 != expected {
            assert!(begun.elapsed() < Duration::from_secs(20), "{expected} is not answered");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it by a signal; gives how it ended, and what it said since it listened.
    pub(crate) fn end(mut self, signal: &str) -> (ExitStatus, String) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        let log = self.log.take().unwrap().join().unwrap();
        (self.child.wait().unwrap(), log)
    }
}

/// A test that fails leaves no server behind.
impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
    }
}

#[test]
fn it_answers_as_get_does_until_it_is_told_to_end() {
    let (place, key) = Place::with_directory();
    for signal in ["-TERM", "-INT", "-HUP"] {
        let server = Running::of(&place, &[]);
        for (key, path) in [
            (key.as_str(), "/api"),
            (&key, EVENTS),
            (&key, "/api/group/events"),
            (&key, "/api/beta/events"),
            (&key, "/api/group/insights"),
            ("tu_guess", "/api"),
        ] {
            let (head, body) = server.get(path, key);
            let run = place.run(&["get", "ds", path, "--key", key]);
            let (expected, expected_body) = run.stdout.split_once("\n\n").unwrap();
            assert_eq!(body, expected_body, "{path}");
            assert_eq!(head.lines().next(), expected.lines().next(), "{path}");
        }
        assert!(server.get("/health", "").0.starts_with("HTTP/1.1 200 "));
        assert!(server.get("/openapi.json", "").1.contains("\"openapi\""));
        let (status, log) = server.end(signal);
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("endpoint=\"events\"") && log.contains("status=404"), "{log}");
        assert!(!log.contains(&key) && !log.contains("tu_guess") && log.ends_with("ended\n"), "{log}");
    }
}

#[test]
fn a_later_version_and_other_grants_count_while_it_runs() {
    let (place, key) = Place::with_directory();
    let server = Running::of(&place, &["--hourly-limit", "100000"]);
    assert_eq!(server.get(EVENTS, &key).1, r#"[{"leads":2}]"#);
    place.write("more.csv", "account,opportunityId,type,date\nacme,9,lead-originated,2025-03-01\n");
    place.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    server.comes_to_answer(&key, r#"[{"leads":3}]"#);
    place.does(&["orgs", "hold", "ds", "group", "beta"]);
    assert_eq!(server.get(EVENTS, &key).1, r#"[{"leads":4}]"#);
    place.does(&["keys", "delete", "ds", "anna", "1"]);
    assert!(server.get(EVENTS, &key).0.starts_with("HTTP/1.1 401 "));

    // A version that does not open is told, and the one before goes on being answered from.
    let key = place.key("anna");
    std::fs::write(place.path("ds/manifest-00000003.json"), "{").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS, &key).1, r#"[{"leads":4}]"#);
    let (status, log) = server.end("-TERM");
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("another version") && log.contains("version=2"), "{log}");
    assert_eq!(log.matches("cannot be opened").count(), 1, "{log}");
}

/// A dataset of its own, of one version, with that many leads.
fn built(place: &Place, name: &str, leads: usize) {
    let header = "account,opportunityId,type,date\n".to_owned();
    let row = |number| format!("acme,{name}-{number},lead-originated,2025-03-01\n");
    place.write("built.csv", &(header + &(0..leads).map(row).collect::<String>()));
    place.run(&["ingest", "built.csv", "--into", name]).succeeded();
}

fn put_in_place(place: &Place, name: &str) {
    std::fs::rename(place.path("ds"), place.path(&format!("before-{name}"))).unwrap();
    std::fs::rename(place.path(name), place.path("ds")).unwrap();
}

#[test]
fn a_dataset_that_is_rebuilt_or_restored_counts_whatever_its_number() {
    let (place, key) = Place::with_directory();
    std::fs::rename(place.path("ds/directory.sqlite"), place.path("elsewhere.sqlite")).unwrap();
    for (name, leads) in [("one", 4), ("two", 5), ("three", 6)] {
        built(&place, name, leads);
    }
    let server = Running::of(&place, &["--hourly-limit", "100000", "--directory", "elsewhere.sqlite"]);
    // Version 1 after version 1, maybe before the first look.
    put_in_place(&place, "one");
    server.comes_to_answer(&key, r#"[{"leads":4}]"#);
    put_in_place(&place, "two");
    server.comes_to_answer(&key, r#"[{"leads":5}]"#);
    place.write("more.csv", "account,opportunityId,type,date\nacme,more,lead-originated,2025-03-02\n");
    place.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    server.comes_to_answer(&key, r#"[{"leads":6}]"#);
    // From version 2 back to version 1, by another folder, and by removing the newer manifest.
    put_in_place(&place, "before-one");
    server.comes_to_answer(&key, r#"[{"leads":2}]"#);
    std::fs::rename(place.path("ds"), place.path("older")).unwrap();
    std::fs::rename(place.path("before-before-one"), place.path("ds")).unwrap();
    server.comes_to_answer(&key, r#"[{"leads":6}]"#);
    std::fs::remove_file(place.path("ds/manifest-00000002.json")).unwrap();
    server.comes_to_answer(&key, r#"[{"leads":5}]"#);
    assert_eq!(server.end("-TERM").0.code(), Some(0));
}

#[test]
fn a_dataset_that_vanished_or_is_half_built_leaves_the_one_before() {
    let (place, key) = Place::with_directory();
    std::fs::rename(place.path("ds/directory.sqlite"), place.path("elsewhere.sqlite")).unwrap();
    built(&place, "next", 3);
    let server = Running::of(&place, &["--hourly-limit", "100000", "--directory", "elsewhere.sqlite"]);
    assert_eq!(server.get(EVENTS, &key).1, r#"[{"leads":2}]"#);
    std::fs::rename(place.path("ds"), place.path("away")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS, &key).1, r#"[{"leads":2}]"#);
    // The manifest comes first, its files later.
    std::fs::create_dir(place.path("ds")).unwrap();
    std::fs::copy(place.path("next/manifest-00000001.json"), place.path("ds/manifest-00000001.json")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS, &key).1, r#"[{"leads":2}]"#);
    std::fs::remove_dir_all(place.path("ds")).unwrap();
    std::fs::rename(place.path("next"), place.path("ds")).unwrap();
    server.comes_to_answer(&key, r#"[{"leads":3}]"#);
    let (status, log) = server.end("-TERM");
    assert_eq!(status.code(), Some(0), "{log}");
    let told =
        |cause: &str| log.lines().filter(|line| line.contains("cannot be opened") && line.contains(cause)).count();
    assert_eq!((told("`ds` holds no dataset any more"), told("ds/events")), (1, 1), "{log}");
}

/// A restore while the service runs: keys of the file that was replaced are dead, those of the new one work.
#[test]
fn a_directory_that_is_restored_counts_at_once() {
    let (place, key) = Place::with_directory();
    let backup = |name| {
        std::fs::copy(place.path("ds/directory.sqlite"), place.path(name)).unwrap();
    };
    let status = |server: &Running, key: &str| server.get("/api", key).0[9..12].to_owned();
    // Nobody has it open, so that it is whole by itself.
    backup("backup.sqlite");
    place.does(&["users", "add", "ds", "cara"]);
    place.does(&["users", "grant", "ds", "cara", "--account", "acme"]);
    let server = Running::of(&place, &["--hourly-limit", "100000"]);
    let later = place.key("cara");
    assert_eq!((status(&server, &key), status(&server, &later)), ("200".to_owned(), "200".to_owned()));
    place.does(&["keys", "delete", "ds", "anna", "1"]);
    assert_eq!(status(&server, &key), "401");
    std::fs::rename(place.path("backup.sqlite"), place.path("ds/directory.sqlite")).unwrap();
    // The program first, while the service still has the old file and its log open.
    assert_eq!(place.run(&["users", "list", "ds", "--format", "csv"]).succeeded().lines().count(), 3);
    assert_eq!((status(&server, &key), status(&server, &later)), ("200".to_owned(), "401".to_owned()));
    place.does(&["keys", "delete", "ds", "anna", "1"]);
    assert_eq!(status(&server, &key), "401");
    std::fs::rename(place.path("ds/directory.sqlite"), place.path("away.sqlite")).unwrap();
    assert_eq!(status(&server, &key), "502");
    let (_, log) = server.end("-TERM");
    assert!(log.contains("directory.sqlite` cannot be used"), "{log}");
    assert!(!place.path("ds/directory.sqlite").exists());
}

#[test]
fn limits_and_the_log_are_set() {
    let (place, key) = Place::with_directory();
    let server = Running::of(&place, &["--hourly-limit", "1", "--log", "warn"]);
    assert!(server.get("/api", &key).0.starts_with("HTTP/1.1 200 "));
    let head = server.get("/api", &key).0.to_lowercase();
    assert!(head.starts_with("http/1.1 429 ") && head.contains("\nretry-after: "), "{head}");
    let (status, log) = server.end("-TERM");
    assert_eq!((status.code(), log.as_str()), (Some(0), "ended\n"));
}

#[test]
fn memory_and_connections_are_bounded() {
    let (place, key) = Place::with_directory();
    let server = Running::of(&place, &["--memory", "20", "--memory-wait", "0.1", "--max-connections", "1"]);
    // It says nothing, so it makes room.
    let mut silent = TcpStream::connect(&server.address).unwrap();
    let (head, body) = server.get(EVENTS, &key);
    assert!(head.starts_with("HTTP/1.1 400 ") && body.contains("more than 9 bytes of memory"), "{head} {body}");
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.end("-TERM").0.code(), Some(0));
}

#[test]
fn what_it_cannot_serve_is_told() {
    let (place, _) = Place::with_directory();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = place.run(&["serve", "ds", "--listen", &address]).failed(1);
    assert!(message.starts_with("error: ") && message.contains(&address), "{message}");
    assert!(place.run(&["serve", "ds", "--listen", "nowhere"]).failed(1).contains("`nowhere`"));
    assert!(place.run(&["serve", "none"]).failed(1).contains("`none`"));
    assert!(place.run(&["serve", "ds", "--directory", "no.sqlite"]).failed(1).contains("`no.sqlite`"));
    // An address that is taken, so that none of them ever serves.
    for wrong in [["--log", "loud"], ["--refresh", "0"], ["--benchmark-accounts", "4"]] {
        place.run(&[["serve", "ds", "--listen", &address].as_slice(), &wrong].concat()).failed(2);
    }
    let run = place.command().args(["serve", "ds", "--listen", &address]).env("RUST_LOG", "loud").output().unwrap();
    assert_eq!(run.status.code(), Some(2));
}
