//! `trueup serve --memory N` uses at most 1.3 N + 90 MiB, whatever its callers ask for and however they read answers.

#![cfg(target_os = "linux")]

use crate::workspace::{RunningServer, Workspace};
use std::fs::File;
use std::io::{BufWriter, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};
use trueup::access::{Directory, DirectorySettings, Grant, Organization, SqliteDirectory};

const MIB: usize = 1 << 20;

/// The number of accounts, each of which has a document of [`DOCUMENT_BYTES`].
const ACCOUNTS: usize = 24;
const DOCUMENT_BYTES: usize = 4 * MIB;

/// The number of customers, each with a text of its own of [`TEXT_BYTES`] on both of its events.
const CUSTOMERS: usize = 5_000;
const TEXT_BYTES: usize = 1_000;

/// The fields of questions about events, most of which make a group for each customer or each event.
const EVENT_FIELDS: [&str; 6] = [
    "opportunityId,leads",
    "note,leads",
    "opportunityId,note,campaign,leads",
    "note,date,leads",
    "opportunityId,date,type,leads,total",
    "campaign,leads,bookRate",
];

/// The number of documents in an answer that is not read to its end, of 32 MiB.
const UNREAD_DOCUMENTS: usize = 8;
const READERS: usize = 24;

const CALLERS: usize = 12;
/// The most bytes that a caller reads of an answer.
const READ_BYTES: u64 = 8 << 20;

fn account(number: usize) -> String {
    format!("account-{number}")
}

/// Creates the dataset and its directory. Returns the keys of two users.
fn with_large_answers() -> (Workspace, [String; 2]) {
    let workspace = Workspace::new();
    let mut events = BufWriter::new(File::create(workspace.path("events.csv")).unwrap());
    writeln!(events, "account,opportunityId,type,date,campaign,note").unwrap();
    for customer in 0..CUSTOMERS {
        for (stage, date) in [("lead-originated", "2025-01-05"), ("booked", "2025-02-05")] {
            let campaign = customer % 700;
            writeln!(events, "account-0,customer-{customer},{stage},{date},{campaign},{customer:0TEXT_BYTES$}")
                .unwrap();
        }
    }
    events.flush().unwrap();
    let mut insights = BufWriter::new(File::create(workspace.path("insights.ndjson")).unwrap());
    let text = "n".repeat(DOCUMENT_BYTES);
    for number in 0..ACCOUNTS {
        let account = account(number);
        let line = format!(
            "{{\"account\":\"{account}\",\"date\":\"2025-01-31\",\"insight\":{{\"n\":1,\"text\":\"{text}\"}}}}"
        );
        writeln!(insights, "{line}").unwrap();
    }
    insights.flush().unwrap();
    workspace.run(&["ingest", "events.csv", "--insights", "insights.ndjson", "--into", "ds"]).succeeded();
    workspace.change(&["users", "add", "ds", "anna"]);
    workspace.change(&["users", "add", "ds", "ben"]);
    let directory: Box<dyn Directory> = Box::new(
        SqliteDirectory::open_existing(workspace.path("ds/directory.sqlite"), DirectorySettings::default()).unwrap(),
    );
    directory.add_organization(&Organization::new("all")).unwrap();
    for number in 0..ACCOUNTS {
        directory.add_account(&account(number)).unwrap();
        directory.place_account(&account(number), "all").unwrap();
    }
    for user in ["anna", "ben"] {
        directory.grant(user, &Grant::Organization("all".to_owned())).unwrap();
    }
    let keys = ["anna", "ben"].map(|user| workspace.key(user));
    (workspace, keys)
}

/// The logo of reports, the largest that is taken. A report with it is longer.
const LOGO_BYTES: usize = 512 << 10;
const REPORT: &str = "/report?month=2025-01";

/// Readers of reports, and how many each asks for on its connection. The system takes the first few.
const REPORT_READERS: usize = 4;
const REPORTS_OF_READER: usize = 8;

/// Sends a request. Returns the connection, and the status and the first bytes of the answer.
fn ask(server: &RunningServer, path: &str, key: &str) -> (TcpStream, u16, Vec<u8>) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let headers = format!("Host: test\r\nAuthorization: {key}\r\nAccept-Encoding: identity\r\nConnection: close");
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\n\r\n").unwrap();
    let mut begin = vec![0; 4_096];
    let read = stream.read(&mut begin).unwrap();
    begin.truncate(read);
    let status = std::str::from_utf8(&begin[9..12]).unwrap().parse().unwrap();
    (stream, status, begin)
}

/// Sends a request until it is answered, because the memory of callers that left is free a moment later.
fn answered(server: &RunningServer, path: &str, key: &str) -> (TcpStream, Vec<u8>) {
    let begun = Instant::now();
    loop {
        let (stream, status, begin) = ask(server, path, key);
        if status == 200 {
            return (stream, begin);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{status}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the largest resident memory of a server so far, in KiB. The pages of the program file do not count, because
/// a debug build has many more of them.
fn peak(server: &RunningServer) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let kib = |name: &str| -> usize {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_end_matches("kB").trim().parse().unwrap()
    };
    kib("VmHWM:").saturating_sub(kib("RssFile:"))
}

/// Returns the value of `trueup_memory_held_bytes`.
fn held(operators: &str) -> usize {
    let mut stream = TcpStream::connect(operators).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: h\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let value = answer.lines().find_map(|line| line.strip_prefix("trueup_memory_held_bytes ")).unwrap();
    value.parse().unwrap()
}

#[test]
fn a_service_stays_within_its_memory() {
    let (workspace, keys) = with_large_answers();
    let events = EVENT_FIELDS.map(|fields| format!("/api/all/events?fields={fields}&start=2025-01-01&end=2025-03-31"));
    for memory in [64, 128] {
        let operators = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let memory_size = format!("{memory}MiB");
        // A debug build takes long to find large documents.
        let options = ["--memory", &memory_size, "--metrics-listen", &operators, "--log", "off", "--deadline", "300"];
        let server = RunningServer::of(&workspace, &options);

        // Callers of everything at the same time, each in another order.
        let documents = ["/api/all/insights", "/api/all/insights?fields=n,text", "/api/all/insights?fields=n"];
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                let (server, key) = (&server, &keys[caller % 2]);
                let paths: Vec<&str> = events.iter().map(String::as_str).chain(documents).collect();
                scope.spawn(move || {
                    for request in 0..paths.len() {
                        let path = paths[(caller + request) % paths.len()];
                        let (stream, status, begin) = ask(server, path, key);
                        assert!(matches!(status, 200 | 503), "{path}: {}", String::from_utf8_lossy(&begin));
                        std::io::copy(&mut stream.take(READ_BYTES), &mut std::io::sink()).unwrap();
                    }
                });
            }
        });
        // Each question is answered once the others are.
        for path in &events {
            let (mut stream, _) = answered(&server, path, &keys[0]);
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        }
        let (mut stream, begin) = answered(&server, documents[0], &keys[0]);
        let rest = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        assert!(begin.len() as u64 + rest > (ACCOUNTS * DOCUMENT_BYTES) as u64, "{rest}");

        // Readers that stall. Each that is answered holds a document, and counts.
        let names: Vec<String> = (0..UNREAD_DOCUMENTS).map(account).collect();
        let path = format!("/api/all/insights?accounts={}", names.join(","));
        let readers: Vec<_> = (0..READERS).map(|number| ask(&server, &path, &keys[number % 2])).collect();
        let stalled = readers.iter().filter(|(_, status, _)| *status == 200).count();
        assert!(stalled >= 2 && readers.iter().all(|(_, status, _)| matches!(status, 200 | 503)), "{stalled}");
        assert!(held(&operators) >= stalled * DOCUMENT_BYTES, "{stalled} {}", held(&operators));
        let (peak, limit) = (peak(&server), (memory * 13 / 10 + 90) * 1_024);
        eprintln!("--memory {memory}MiB: {} MiB resident, {stalled} readers stalled", peak / 1_024);
        assert!(peak <= limit, "{memory} MiB: {peak} KiB of {limit} KiB");

        // The memory of readers that leave is free again.
        drop(readers);
        answered(&server, &path, &keys[0]);
    }
}

/// That unread answers use up the share of their reader is shown by the tests of the server.
#[test]
fn reports_that_nobody_reads_count() {
    let (workspace, anna) = Workspace::with_directory();
    std::fs::write(workspace.path("logo.gif"), [&b"GIF8"[..], &[7; LOGO_BYTES - 4]].concat()).unwrap();
    let operators = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut options = vec!["--reports", "--report-logo", "logo.gif", "--memory", "64MiB"];
    options.extend(["--metrics-listen", &operators, "--log", "off", "--deadline", "300"]);
    let server = RunningServer::of(&workspace, &options);
    let (mut stream, _) = answered(&server, REPORT, &anna);
    std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    assert!(held(&operators) < LOGO_BYTES, "{}", held(&operators));

    let readers: Vec<TcpStream> = (0..REPORT_READERS)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            let request = format!("GET {REPORT} HTTP/1.1\r\nHost: test\r\nAuthorization: {anna}\r\n\r\n");
            stream.write_all(request.repeat(REPORTS_OF_READER).as_bytes()).unwrap();
            stream
        })
        .collect();
    // A reader that stalls for 30 s is closed.
    let begun = Instant::now();
    while held(&operators) < LOGO_BYTES {
        assert!(begun.elapsed() < Duration::from_secs(25), "{} bytes count", held(&operators));
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(readers);
    answered(&server, REPORT, &anna);
}
