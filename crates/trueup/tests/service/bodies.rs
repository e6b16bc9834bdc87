//! The bytes of responses: they keep their memory until they are dropped, and documents are read while they are sent.

use crate::overload::no_waiting;
use crate::platform::{Platform, Rival, bytes};
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, Read as _, Seek as _, SeekFrom, Write as _};
use trueup::MemoryBudget;
use trueup::service::{Chunk, Limits, Request, Response};

/// The number of documents of `rival-1`, and the length of each, which is more than is read at a time.
const DOCUMENTS: usize = 6;
const DOCUMENT_BYTES: usize = 1_500_000;
const HALF_A_DOCUMENT: i64 = 750_000;

const INSIGHTS: &str = "/api/rival-1/insights?start=2025-01-01&end=2025-12-31";

fn document(number: usize) -> String {
    let long = format!("é{number}").repeat(DOCUMENT_BYTES / 3);
    format!(r#"{{"period": "{number}", "long":"{long}", "z":[1.0, {{}}]}}"#)
}

fn date(number: usize) -> String {
    format!("2025-0{}-01", number + 1)
}

/// Returns a platform with large documents.
fn platform(budget: &MemoryBudget, limits: Limits) -> Platform {
    let line = |number| {
        format!("{{\"account\":\"rival-1\",\"date\":\"{}\",\"insight\":{}}}\n", date(number), document(number))
    };
    let rival = Rival { insights: (0..DOCUMENTS).map(line).collect(), ..Rival::default() };
    Platform::with(&rival, |builder| builder.memory(budget.clone()).limits(limits))
}

fn ask(platform: &Platform, user: &str, path: &str, accept_encoding: &str) -> Response {
    platform.service.handle(&Request {
        authorization: Some(platform.secret(&format!("<{user}>"))),
        accept_encoding: Some(accept_encoding.to_owned()),
        ..Request::get(path)
    })
}

/// Returns the answer with the insights as `document` makes them.
fn array(document: impl Fn(usize) -> String) -> String {
    let element =
        |number| format!(r#"{{"account":"rival-1","date":"{}","insight":{}}}"#, date(number), document(number));
    format!("[{}]", (0..DOCUMENTS).map(element).collect::<Vec<_>>().join(","))
}

#[test]
fn a_chunk_keeps_the_memory_of_its_body() {
    let budget = MemoryBudget::new(1 << 30);
    let platform = platform(&budget, no_waiting());
    let events = "/api/acme/events?fields=account,date,leads&start=2025-01-01&end=2025-03-31";
    for path in [events, "/api/acme/insights", INSIGHTS, "/api", "/api/acme/benchmarks?month=2025-01"] {
        let user = if path == INSIGHTS { "rita" } else { "anna" };
        for (accept, encoding) in [("*/*", "identity"), ("*/*", "gzip"), ("application/vnd.apache.parquet", "gzip")] {
            let handle = || {
                platform.service.handle(&Request {
                    authorization: Some(platform.secret(&format!("<{user}>"))),
                    accept: Some(accept.to_owned()),
                    accept_encoding: Some(encoding.to_owned()),
                    ..Request::get(path)
                })
            };
            // What a first answer leaves for later ones: decoded columns, and months of benchmarks.
            drop(handle());
            let kept = budget.held();
            let response = handle();
            assert_eq!(response.status, 200, "{path}");
            let chunks: Vec<Chunk> = response.body.map(Result::unwrap).collect();
            for chunk in chunks {
                assert!(!chunk.is_empty() && budget.held() - kept >= chunk.len(), "{path} {encoding}");
            }
            assert_eq!(budget.held(), kept, "{path} {encoding}");
        }
    }
}

#[test]
fn documents_are_read_while_they_are_sent() {
    let budget = MemoryBudget::new(1 << 30);
    let platform = platform(&budget, no_waiting());
    let whole = array(document);
    let (mut text, mut most) = (Vec::new(), 0);
    for chunk in ask(&platform, "rita", INSIGHTS, "identity").body {
        most = most.max(budget.held());
        text.extend_from_slice(&chunk.unwrap());
    }
    assert!(text == whole.as_bytes());
    // One document, the blocks around it, and what is being written.
    assert!((DOCUMENT_BYTES..DOCUMENT_BYTES * 3 / 2 + (512 << 10)).contains(&most), "{most}");
    assert_eq!((budget.peak(), budget.held()), (most, 0));
    // Sections are as they are spelled, too; gzip changes nothing.
    let selected = array(|number| format!(r#"{{"period":"{number}","z":[1.0, {{}}]}}"#));
    for path in [&format!("{INSIGHTS}&fields=z,period,none"), &format!("{INSIGHTS}&fields=period&fields=z")] {
        assert_eq!(String::from_utf8(bytes(ask(&platform, "rita", path, "identity").body)).unwrap(), selected);
    }
    let mut unpacked = String::new();
    let compressed = ask(&platform, "rita", INSIGHTS, "gzip").body.reader();
    flate2::bufread::GzDecoder::new(compressed).read_to_string(&mut unpacked).unwrap();
    assert!(unpacked == whole);
    assert!(ask(&platform, "rita", INSIGHTS, "identity").body.reader().lines().all(|line| line.unwrap() == whole));
}

#[test]
fn documents_without_room_are_refused_before_they_are_read() {
    for (bytes, refused) in [(1 << 20, (400, "too-many-rows")), (DOCUMENT_BYTES * 5, (503, "overloaded"))] {
        let budget = MemoryBudget::new(bytes);
        let platform = platform(&budget, no_waiting());
        let _held = budget.reserve(bytes / 2).unwrap();
        let response = ask(&platform, "rita", INSIGHTS, "identity");
        let (status, code) = refused;
        assert_eq!(response.status, status);
        let body = String::from_utf8(crate::platform::bytes(response.body)).unwrap();
        assert!(body.contains(code), "{body}");
        assert_eq!(budget.peak(), bytes / 2);
    }
    // The number of documents is checked first.
    let budget = MemoryBudget::new(1);
    let platform = platform(&budget, Limits { documents: DOCUMENTS - 1, ..no_waiting() });
    let body = bytes(ask(&platform, "rita", INSIGHTS, "identity").body);
    assert!(body.starts_with(b"{\"error\":\"6 insight documents match, exceeding the limit of 5"), "{body:?}");
}

#[test]
fn damage_that_appears_while_documents_are_sent_ends_the_body_with_an_error() {
    let platform = platform(&MemoryBudget::new(1 << 30), no_waiting());
    assert!(bytes(ask(&platform, "rita", INSIGHTS, "identity").body) == array(document).as_bytes());
    let [plain, gzip] = ["identity", "gzip"].map(|encoding| ask(&platform, "rita", INSIGHTS, encoding));
    let file = fs::read_dir(platform.dataset().join("insights")).unwrap().next().unwrap().unwrap().path();
    let mut file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    file.seek(SeekFrom::End(-HALF_A_DOCUMENT)).unwrap();
    file.write_all(b"#").unwrap();
    for response in [plain, gzip] {
        assert_eq!(response.status, 200);
        let chunks: Vec<_> = response.body.collect();
        let (last, sound) = chunks.split_last().unwrap();
        assert!(last.is_err() && sound.iter().all(Result::is_ok), "{}", sound.len());
    }
    // A document that is read before the answer begins is a 502.
    assert_eq!(ask(&platform, "rita", "/api/rival-1/insights", "identity").status, 502);
    let other = ask(&platform, "rita", &INSIGHTS.replace("12-31", "04-30"), "identity");
    assert!(bytes(other.body).ends_with(b"[1.0, {}]}}]"));
}
