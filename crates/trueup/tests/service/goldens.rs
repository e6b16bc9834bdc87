//! Requests and the responses that the documents promise, byte for byte.
//!
//! A file of `testdata/goldens` holds cases, each begun by a line `# ` with the sentence that it shows: the request's line and
//! headers, an empty line, the status and the headers that matter (`!Name` for one that must be absent), and the body: `= ` and the
//! whole body, `~ ` and a part of it, or `^ ` and
//! what must not be in it, one to a line. `<name>` stands for a key. Files named `limits...` are put to a service with small limits,
//! `benchmarks...` to one with accounts to compare with, which `benchmarks_gathering` does not let anybody wait for. Those of
//! `testdata/failing` are put to a service whose files are `damaged`, whose deadline is always `overdue`, whose memory others hold
//! (`overloaded`), or that has next to none (`too_much_memory`).

use crate::crowd::{crowd, crowded, crowded_with};
use crate::failures::damage;
use crate::overload::{hasty, taken};
use crate::platform::{Platform, Received, Rival, small};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use trueup::access::DirectorySettings;
use trueup::service::{Limits, Request};

pub(crate) fn cases() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in ["goldens", "failing"] {
        let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "service", "testdata", folder].iter().collect();
        paths.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = format!("\n{}", fs::read_to_string(&path).unwrap());
        let texts = text.split("\n# ").skip(1).map(|case| (name.clone(), case.trim_end().to_owned()));
        cases.extend(texts.collect::<Vec<_>>());
    }
    cases
}

fn request(platform: &Platform, head: &str) -> Request {
    let mut lines = head.lines();
    let (method, path) = lines.next().unwrap().split_once(' ').unwrap();
    let mut request = Request { method: method.to_owned(), ..Request::get(path) };
    request.accept_encoding = Some("identity".to_owned());
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        let value = platform.secret(value);
        match name {
            "Authorization" => request.authorization = Some(value),
            "Cookie" => request.cookie = Some(value),
            "Accept-Encoding" => request.accept_encoding = Some(value),
            other => panic!("{other}"),
        }
    }
    request
}

/// What of the response is not as the case says.
fn differences(expected: &str, response: &Received) -> Vec<String> {
    let body = String::from_utf8_lossy(&response.body);
    let mut lines = expected.lines();
    let mut found = Vec::new();
    if lines.next() != Some(&response.status.to_string()) {
        found.push(format!("status {}", response.status));
    }
    for line in lines {
        let holds = if let Some(whole) = line.strip_prefix("= ") {
            body == whole
        } else if let Some(part) = line.strip_prefix("~ ") {
            body.contains(part)
        } else if let Some(part) = line.strip_prefix("^ ") {
            !body.contains(part)
        } else if let Some(name) = line.strip_prefix('!') {
            response.header(name).is_none()
        } else {
            line.split_once(": ").is_some_and(|(name, value)| response.header(name) == Some(value))
        };
        if !holds {
            found.push(line.to_owned());
        }
    }
    if !found.is_empty() {
        found.push(format!("found {:?} {body}", response.headers));
    }
    found
}

#[test]
fn responses_are_those_of_the_documents() {
    let platform = Platform::new();
    let limited = Platform::with(&Rival::default(), DirectorySettings::default(), |builder| builder.limits(small()));
    let (crowded, hurried) = (crowded(), crowded_with(&crowd(), Duration::ZERO, |builder| builder));
    let damaged = Platform::new();
    for end in [".parquet", ".ndjson"] {
        damage(&damaged.dataset(), end);
    }
    let limits = Limits { deadline: Duration::ZERO, ..Limits::default() };
    let overdue = Platform::with(&Rival::default(), DirectorySettings::default(), |builder| builder.limits(limits));
    let within = |memory: &trueup::MemoryBudget| {
        Platform::with(&Rival::default(), DirectorySettings::default(), |builder| {
            builder.limits(hasty()).memory(memory.clone())
        })
    };
    let (taken, _held) = taken(1 << 20);
    let (overloaded, narrow) = (within(&taken), within(&trueup::MemoryBudget::new(40)));
    let cases = cases();
    assert!(cases.len() >= 150, "{}", cases.len());
    let mut wrong = Vec::new();
    for (name, case) in &cases {
        let (cited, rest) = case.split_once('\n').unwrap();
        let (head, expected) = rest.split_once("\n\n").unwrap_or_else(|| panic!("{name}: {cited}"));
        let platform = match name.as_str() {
            name if name.starts_with("limits") => &limited,
            "benchmarks_gathering" => &hurried,
            "damaged" => &damaged,
            "overdue" => &overdue,
            "overloaded" => &overloaded,
            "too_much_memory" => &narrow,
            name if name.starts_with("benchmarks") => &crowded,
            _ => &platform,
        };
        let response = platform.ask(&request(platform, head));
        for difference in differences(expected, &response) {
            wrong.push(format!("{name}: {cited}\n  {difference}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
