//! What is logged, and what is never logged.

use crate::client::Client;
use crate::platform::damage;
use crate::town::{ORGANIZATION, RunningServer, Town, USER, patient};
use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use trueup::Dataset;

/// The log of this process, at all levels.
#[derive(Clone, Default)]
pub(crate) struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CapturedLog {
    pub(crate) fn capture() -> Self {
        static LOGGED: OnceLock<CapturedLog> = OnceLock::new();
        let start = || {
            let logged = Self::default();
            let writer = logged.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
                .with_writer(move || writer.clone())
                .finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
            logged
        };
        LOGGED.get_or_init(start).clone()
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits until `least` lines contain the text `of`, and returns them.
    pub(crate) fn lines(&self, of: &str, least: usize) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let text = self.text();
            let lines: Vec<String> = text.lines().filter(|line| line.contains(of)).map(str::to_owned).collect();
            if lines.len() >= least {
                return lines;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{of}: {text}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_request_is_logged_in_one_line() {
    let logged = CapturedLog::capture();
    let town = Town::new();
    let server = RunningServer::new(&town.service, patient());
    let mut client = Client::connect(server.address);
    let path = "/api/waterworks/events?fields=leads&start=2025-01-01&end=2025-01-31";
    let answer = client.get(path, &format!("{}X-Request-Id: line-1\r\n", town.headers()));
    let lines = logged.lines("line-1", 1);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let bytes = format!("bytes={}", answer.body.len());
    for part in [
        "INFO",
        "id=line-1",
        r#"method="GET""#,
        r#"endpoint="events""#,
        "status=200",
        &bytes,
        "milliseconds=",
        "complete=true",
    ] {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
    assert_eq!(client.get("/nothing", "X-Request-Id: line-2\r\n").status, 404);
    assert!(logged.lines("line-2", 1)[0].contains(r#"endpoint="none" status=404"#));
}

#[test]
fn no_key_and_no_text_of_a_client_is_logged() {
    let logged = CapturedLog::capture();
    let town = Town::new();
    let server = RunningServer::new(&town.service, patient());
    let key = &town.key;
    let range = "start=2025-01-01&end=2025-01-31";
    let requests = [
        format!(
            "GET /api/{ORGANIZATION}/events?fields=campaign,leads&campaign=Drains&{range} HTTP/1.1\r\nAuthorization: {key}"
        ),
        format!("GET /api/{key}/events?fields=leads&{range} HTTP/1.1\r\nAuthorization: {key}"),
        format!("GET /{key} HTTP/1.1\r\nAuthorization: {key}"),
        format!("GET /api/{ORGANIZATION}/events?fields={key}&{key}={key}&{range} HTTP/1.1\r\nAuthorization: {key}"),
        format!("GET /api/{ORGANIZATION}/events?fields=leads&campaign=[{key}&{range} HTTP/1.1\r\nAuthorization: {key}"),
        format!("GET /api?key={key} HTTP/1.1\r\nAuthorization: Bearer {key}"),
        format!("GET /api HTTP/1.1\r\nAuthorization: {key}x"),
        format!("GET /api HTTP/1.1\r\nCookie: session={key}; {key}={key}"),
        format!("GET /api HTTP/1.1\r\nCookie: session={}", town.session),
        format!(
            "GET /api HTTP/1.1\r\nX-Request-Id: {key}\r\nAccept-Encoding: {key}\r\nUser-Agent: {key}\r\nReferer: {key}\r\n{key}: {key}"
        ),
        format!("{key} /api HTTP/1.1\r\nAuthorization: {key}"),
        format!("GET http://{ORGANIZATION}/{key} HTTP/1.1\r\nExpect: {key}"),
        format!("GET /api HTTP/1.1\r\nAuthorization: {key}\r\n{}", "A: a\r\n".repeat(70).trim_end()),
        format!("GET {key} HTTP/1.1\r\nAuthorization: {key}"),
        format!("GET /api HTTP/1.1\r\n{key} {key}"),
        format!("GET /api HTTP/1.1\r\nContent-Length: {key}"),
        key.clone(),
    ];
    for request in &requests {
        let mut client = Client::connect(server.address);
        client.send(format!("{request}\r\nHost: {key}\r\n\r\n"));
        assert!(client.answer().is_some(), "{request}");
    }
    let mut client = Client::connect(server.address);
    assert_eq!(client.get("/api", "X-Request-Id: the-last\r\n").status, 401);
    logged.lines("the-last", 1);
    drop(server);
    let text = logged.text();
    for word in [key, &town.session, &key[3..20], USER, ORGANIZATION, "Drains", "campaign"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn the_cause_of_a_failure_is_logged_with_its_id_and_not_sent() {
    let logged = CapturedLog::capture();
    let folder = tempfile::tempdir().unwrap();
    let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
    fs::write(&events, "account,opportunityId,type,date\neast,1,lead-originated,2025-01-03\n").unwrap();
    trueup_ingest::Ingest::into(&path).events(&events).run().unwrap();
    let dataset = Dataset::open(&path).unwrap();
    damage(&path);
    let town = Town::with(Arc::new(dataset), |builder| builder.on_failure(trueup_server::log_failure));
    let server = RunningServer::new(&town.service, patient());
    let path = format!("/api/{ORGANIZATION}/events?fields=leads&start=2025-01-01&end=2025-01-31");
    let answer = Client::connect(server.address).get(&path, &format!("{}X-Request-Id: broken-1\r\n", town.headers()));
    assert!(answer.status == 502 && !answer.text().contains("parquet"), "{}", answer.text());
    let lines = logged.lines("broken-1", 2);
    assert!(lines.iter().any(|line| line.contains("ERROR") && line.contains(".parquet")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("INFO") && line.contains("status=502")), "{lines:?}");
}
