//! Requests and the responses that the documents promise, byte for byte.
//!
//! A file in `testdata` holds goldens. A golden is, line by line:
//!
//! - `# ` and its title: the sentence that it shows, and where that sentence is: in `API.md`, SEMANTICS or CONTRACT,
//!   the three texts of `docs/compat.md` in its order, where a number is a section; in `compat.md` or `api.md`, which
//!   are in `docs`; or `Beyond API.md`, if none of the three has it;
//! - the request: method and path, then headers, in which `<name>` is the key of that user;
//! - an empty line;
//! - the expected status, then headers, and `!Name` for a header that must be absent;
//! - `= ` and the whole body, `~ ` and a part of it, or `^ ` and a text that the body must not contain.
//!
//! The name of a file selects the service that gets its requests:
//!
//! | file | service |
//! |---|---|
//! | `limits...` | its limits are small |
//! | `benchmarks...` | it has accounts to compare with |
//! | `benchmarks_gathering` | the same; no request waits for figures |
//! | `failing/damaged` | its data files are damaged |
//! | `failing/overdue` | every deadline has passed |
//! | `failing/overloaded` | other queries hold all memory |
//! | `failing/too_much_memory` | it has next to no memory |
//! | any other | the small platform |

use crate::overload::{exhausted, no_waiting};
use crate::platform::{Platform, Received, Rival, crowd, crowded, crowded_with, damage, goldens, small};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::time::Duration;
use trueup::service::{Limits, Request};

/// Returns the expectations that the response does not meet, and the response.
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
fn every_golden_gets_its_response() {
    let platform = Platform::new();
    let limited = Platform::with(&Rival::default(), |builder| builder.limits(small()));
    let (crowded, impatient) = (crowded(), crowded_with(&crowd(), Duration::ZERO, |builder| builder));
    let damaged = Platform::new();
    damage(&damaged.dataset());
    let limits = Limits { deadline: Duration::ZERO, ..Limits::default() };
    let overdue = Platform::with(&Rival::default(), |builder| builder.limits(limits));
    let within = |memory: &trueup::MemoryBudget| {
        Platform::with(&Rival::default(), |builder| builder.limits(no_waiting()).memory(memory.clone()))
    };
    let (budget, _held) = exhausted(1 << 20);
    let (overloaded, narrow) = (within(&budget), within(&trueup::MemoryBudget::new(40)));
    let goldens = goldens();
    assert!(goldens.len() >= 150, "{}", goldens.len());
    let mut wrong = Vec::new();
    for golden in &goldens {
        let platform = match golden.file.as_str() {
            name if name.starts_with("limits") => &limited,
            "benchmarks_gathering" => &impatient,
            "damaged" => &damaged,
            "overdue" => &overdue,
            "overloaded" => &overloaded,
            "too_much_memory" => &narrow,
            name if name.starts_with("benchmarks") => &crowded,
            _ => &platform,
        };
        let response = platform.ask(&golden.request(platform));
        for difference in differences(&golden.expected, &response) {
            wrong.push(format!("{}: {}\n  {difference}", golden.file, golden.title));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every status and code of section 2 of CONTRACT, the contract of the service (see `docs/compat.md`), and of requests
/// with `why`. An error without a code has a part of its text instead.
pub(crate) const OUTCOMES: [(u16, &str); 28] = [
    (400, "missing-fields"),
    (400, "missing-range"),
    (400, "missing-metric"),
    (400, "invalid-query"),
    (400, "invalid-fields"),
    (400, "unknown-interval"),
    (400, "invalid-date"),
    (400, "invalid-range"),
    (400, "invalid-filter"),
    (400, "too-many-intervals"),
    (400, "too-many-rows"),
    (400, "invalid-month"),
    (400, "future-month"),
    (400, "not-benchmarkable"),
    (400, "invalid-row"),
    (401, "unauthorized"),
    (404, "inaccessible-organization"),
    (404, "inaccessible-accounts"),
    (404, "not-found"),
    (405, "method-not-allowed"),
    (429, "rate-limited"),
    (502, "upstream-failed"),
    (503, "benchmarks-gathering"),
    (504, "timeout"),
    // The three errors without a code.
    (400, "90-day attribution window"),
    (400, "insight documents match"),
    (401, "Sign in or use an API key"),
    // Success.
    (200, ""),
];

#[test]
fn every_status_and_code_of_the_contract_has_a_golden() {
    let (mut seen, mut others) = (BTreeSet::new(), Vec::new());
    for golden in goldens() {
        let expected = &golden.expected;
        let status: u16 = expected.lines().next().and_then(|line| line.parse().ok()).unwrap();
        let bodies: Vec<&str> = expected.lines().filter(|line| line.starts_with(['=', '~'])).collect();
        let has = |words: &str| bodies.iter().any(|line| line.contains(words));
        let is_shown = |(known, outcome): &&(u16, &str)| {
            // A golden of a body without a code must say so.
            let no_code =
                || expected.lines().any(|line| line == "^ code" || line == "^ \"code\"" || line.starts_with("= "));
            *known == status
                && (has(&format!("\"code\":\"{outcome}\""))
                    || (outcome.contains(' ') && has(outcome) && no_code())
                    || status == 200)
        };
        match OUTCOMES.iter().find(is_shown) {
            Some(outcome) => _ = seen.insert(*outcome),
            // This golden shows something else, such as a header.
            None => others.push(format!("{}: {status}", golden.file)),
        }
    }
    let missing: Vec<_> = OUTCOMES.iter().filter(|outcome| !seen.contains(*outcome)).collect();
    assert!(missing.is_empty(), "{missing:?}; {others:?}");
}

#[test]
fn the_gzip_body_is_the_same_json() {
    let platform = Platform::new();
    let path = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31";
    let plain = platform.get("anna", path);
    let request = Request { authorization: Some(platform.secret("<anna>")), ..Request::get(path) };
    let packed = platform.ask(&request);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let mut body = Vec::new();
    flate2::read::GzDecoder::new(&*packed.body).read_to_end(&mut body).unwrap();
    assert_eq!(body, plain.body);
    assert_eq!(body, br#"[{"leads":11}]"#);
}
