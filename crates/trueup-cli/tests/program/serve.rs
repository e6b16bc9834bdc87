//! `trueup serve`: the same answers over HTTP.

use crate::place::Place;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const EVENTS: &str = "/api/group/events?fields=leads&start=2025-01-01&end=2025-03-31";

/// A server of the dataset `ds`.
pub(crate) struct Running {
    child: Child,
    address: String,
    log: BufReader<ChildStderr>,
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
        Self { child, address, log }
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

    /// Ends it by a signal; gives how it ended, and what it said since it listened.
    pub(crate) fn end(mut self, signal: &str) -> (ExitStatus, String) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap(), log)
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
    let begun = Instant::now();
    while server.get(EVENTS, &key).1 != r#"[{"leads":3}]"# {
        assert!(begun.elapsed() < Duration::from_secs(20), "the later version is not answered from");
        std::thread::sleep(Duration::from_millis(20));
    }
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
    assert!(log.contains("later version") && log.contains("version=2"), "{log}");
    assert_eq!(log.matches("cannot be opened").count(), 1, "{log}");
}

/// It begins with the number of the one before.
#[test]
fn a_dataset_that_is_made_anew_counts() {
    let (place, key) = Place::with_directory();
    std::fs::rename(place.path("ds/directory.sqlite"), place.path("elsewhere.sqlite")).unwrap();
    let server = Running::of(&place, &["--hourly-limit", "100000", "--directory", "elsewhere.sqlite"]);
    assert_eq!(server.get(EVENTS, &key).1, r#"[{"leads":2}]"#);
    // What began before must be known as current first.
    std::thread::sleep(Duration::from_millis(300));
    place.write("anew.csv", "account,opportunityId,type,date\nacme,9,lead-originated,2025-03-01\n");
    place.run(&["ingest", "anew.csv", "--into", "anew"]).succeeded();
    std::fs::remove_dir_all(place.path("ds")).unwrap();
    std::fs::rename(place.path("anew"), place.path("ds")).unwrap();
    let begun = Instant::now();
    while server.get(EVENTS, &key).1 != r#"[{"leads":1}]"# {
        assert!(begun.elapsed() < Duration::from_secs(20), "the other dataset is not answered from");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.end("-TERM").0.code(), Some(0));
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
