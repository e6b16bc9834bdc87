//! The program, built with the feature `opentelemetry`, sends the spans of its steps to the collector that the
//! environment names.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// A collector that keeps what it receives.
struct Collector {
    url: String,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::<Mutex<Vec<u8>>>::default();
        let keep = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let keep = Arc::clone(&keep);
                thread::spawn(move || answer(stream.unwrap(), &keep));
            }
        });
        Self { url, received }
    }

    /// Returns whether spans contain a text.
    fn has(&self, text: &str) -> bool {
        self.received.lock().unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes())
    }
}

/// Answers the requests of a connection.
fn answer(stream: TcpStream, keep: &Mutex<Vec<u8>>) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        assert!(line.starts_with("POST /v1/traces HTTP/1.1"), "{line}");
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        keep.lock().unwrap().extend(body);
        stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        line.clear();
    }
}

fn run(folder: &Path, collector: Option<&Collector>, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueup"));
    command.current_dir(folder).args(arguments).env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
    if let Some(collector) = collector {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
}

#[test]
fn steps_are_exported_if_there_is_a_collector() {
    let folder = tempfile::tempdir().unwrap();
    let events = "account,opportunityId,type,date,campaign\nacme,1,lead-originated,2025-01-03,SecretCampaign\n";
    fs::write(folder.path().join("events.csv"), events).unwrap();
    let query = ["query", "ds", "--fields", "campaign,leads", "--month", "2025-01", "-o", "out.csv", "--force"];
    let collector = Collector::start();
    run(folder.path(), Some(&collector), &["ingest", "events.csv", "--into", "ds"]);
    assert!(["ingest", "reading events", "writing events"].iter().all(|span| collector.has(span)));
    assert!(!collector.has("scan"));
    run(folder.path(), Some(&collector), &query);
    assert!(["open", "query", "plan", "scan", "finish", "row_groups", "trueup"].iter().all(|span| collector.has(span)));
    // Spans hold numbers and no text of the data or of the user.
    assert!(!collector.has("SecretCampaign") && !collector.has("campaign"));
    let unused = Collector::start();
    run(folder.path(), None, &query);
    assert!(unused.received.lock().unwrap().is_empty());
}

#[test]
fn a_page_can_be_opened_while_steps_are_exported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("events.csv"), "account,opportunityId,type,date\nacme,1,sold,2025-01-03\n").unwrap();
    run(folder.path(), None, &["ingest", "events.csv", "--into", "ds"]);
    let collector = Collector::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueup"));
    command.args(["explore", "ds", "--no-browser"]).current_dir(folder.path()).stdout(Stdio::piped());
    let mut page = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url).spawn().unwrap();
    let mut link = String::new();
    BufReader::new(page.stdout.take().unwrap()).read_line(&mut link).unwrap();
    page.kill().unwrap();
    page.wait().unwrap();
    assert!(link.contains("/explore#sign-in="), "{link}");
}
