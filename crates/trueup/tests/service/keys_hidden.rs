//! Secrets that are put into every place of a request that may hold one show nowhere: not in what is logged, not in what is
//! answered, and not in anything that can be printed on the way.

use crate::failures::damage;
use crate::platform::{NOW, Platform, Rival};
use proptest::prelude::*;
use std::error::Error as _;
use std::fmt::Write as _;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use trueup::access::{Directory, DirectorySettings, MemoryDirectory, SecretKey, SqliteDirectory};
use trueup::service::{Limits, Request, Service, ServiceError};

const PATHS: [&str; 9] = [
    "/api",
    "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31",
    "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31&campaign=[%22nope%22]",
    "/api/acme/events?fields=leads",
    "/api/acme/insights",
    "/api/acme/benchmarks?month=2031-01",
    "/api/rival/events?fields=leads&start=2025-01-01&end=2025-03-31",
    "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31&account=rival-1",
    "/nowhere",
];

/// Whether a part of the secret that nobody would guess is in the text: any fifteen characters of it hold one of these parts.
fn tells(text: &str, secret: &str) -> bool {
    let random = secret.strip_prefix("tu_").unwrap_or(secret);
    random.as_bytes().chunks_exact(8).any(|part| text.contains(std::str::from_utf8(part).unwrap()))
}

/// What a log may write of a failure: both forms of the error, and of each of its sources.
fn logged(error: &ServiceError, log: &Mutex<String>) {
    let mut log = log.lock().unwrap();
    write!(log, "{error} {error:?} {error:#?}").unwrap();
    let mut source = error.source();
    while let Some(error) = source {
        write!(log, " {error} {error:?} {error:#?}").unwrap();
        source = error.source();
    }
}

/// A platform whose failures are all written into the text.
fn watched(directory: Arc<dyn Directory>, limits: Limits) -> (Platform, Arc<Mutex<String>>) {
    let log: Arc<Mutex<String>> = Arc::default();
    let hook = {
        let log = Arc::clone(&log);
        move |error: &ServiceError| logged(error, &log)
    };
    (Platform::over(directory, &Rival::default(), |builder| builder.limits(limits).on_failure(hook)), log)
}

/// Requests that carry the secret wherever credentials can stand, rightly or not.
fn requests(secret: &str) -> Vec<Request> {
    let authorizations = ["", "{}", " {} ", "Bearer {}", "Basic {}", "{}, {}", "\"{}\"", "{}\r\nX: y"];
    let cookies = ["", "session={}", "a=b; session={}; c=d", "session=\"{}\"", "session={}=", "{}={}", "session", "{}"];
    let mut requests = Vec::new();
    for (number, path) in PATHS.iter().enumerate() {
        for (authorization, cookie) in
            authorizations.iter().zip(&cookies).chain(authorizations.iter().rev().zip(&cookies))
        {
            let filled = |text: &&str| (!text.is_empty()).then(|| text.replace("{}", secret));
            let mut request = Request::get(*path);
            request.authorization = filled(authorization);
            request.cookie = filled(cookie);
            request.accept_encoding = Some("identity".to_owned());
            if number % 4 == 3 && authorization.len() % 2 == 0 {
                request.method = "POST".to_owned();
            }
            requests.push(request);
        }
    }
    requests
}

/// Sends them, and returns all that was sent back or can be printed.
fn printed(service: &Service, requests: &[Request], statuses: &mut Vec<u16>) -> String {
    let mut text = format!("{service:?} {service:#?}");
    for request in requests {
        let response = service.handle(request);
        write!(text, "{request:?} {request:#?} {response:?} {:?}", response.headers).unwrap();
        statuses.push(response.status);
        let body = String::from_utf8(response.body.into_bytes().unwrap()).unwrap();
        // Of an answer of `/api`, what depends on who asks; the rest is the same for all.
        text.push_str(body.split("\"endpoints\"").next().unwrap());
    }
    text
}

/// What a service that links trueup holds in its hands on the way.
fn held(directory: &dyn Directory, secret: &str) -> String {
    let key = SecretKey::new(secret);
    let mut text = format!("{key:?} {key:#?}");
    for login in [directory.authenticate(Some(&key)), directory.session(Some(&key), NOW)].into_iter().flatten() {
        write!(text, "{login:?} {login:#?}").unwrap();
        match login {
            Ok(login) => {
                let reach = directory.reach(&login).unwrap();
                write!(text, "{reach:?} {:?} {:?}", reach.accounts(), reach.organizations()).unwrap();
            }
            Err(refusal) => write!(text, "{refusal}").unwrap(),
        }
    }
    text
}

/// Everything that can be printed while each of the secrets is used, and what the requests were answered.
fn used(directory: Arc<dyn Directory>, limits: Limits, secrets: &mut Vec<String>) -> (String, Vec<u16>) {
    let (platform, log) = watched(directory, limits);
    secrets.extend(["<anna>", "<dora>", "<eve>", "<busy>", "<bert session>"].map(|name| platform.secret(name)));
    // An organization's key of old that looks like any other.
    let retired = SecretKey::new(format!("{}-of-old", secrets[0]));
    platform.service.directory().retire_organization_key("acme", &retired).unwrap();
    secrets.push(retired.reveal().to_owned());
    let (mut text, mut statuses) = (String::new(), Vec::new());
    for round in 0..2 {
        for secret in &*secrets {
            text += &printed(&platform.service, &requests(secret), &mut statuses);
            text += &held(platform.service.directory(), secret);
        }
        if round == 0 {
            damage(&platform.dataset(), ".parquet");
            damage(&platform.dataset(), ".ndjson");
        }
    }
    text += &log.lock().unwrap();
    (text, statuses)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_is_logged_answered_or_printed(given in "[A-Za-z0-9]{24,60}") {
        let mut secrets = vec![given];
        let settings = DirectorySettings::default().hourly_limit(1_000);
        let (text, statuses) = used(Arc::new(MemoryDirectory::new(settings)), Limits::default(), &mut secrets);
        let overdue = Limits { deadline: Duration::ZERO, ..Limits::default() };
        let (other, others) = used(Arc::new(MemoryDirectory::new(DirectorySettings::default())), overdue, &mut secrets);
        for secret in &secrets {
            prop_assert!(!tells(&text, secret) && !tells(&other, secret), "{secret}");
        }
        // They were put where they count: each is let in, refused or limited as it should be.
        for status in [200, 400, 401, 404, 405, 429, 502] {
            prop_assert!(statuses.contains(&status), "{status}");
        }
        prop_assert!(others.contains(&504));
    }
}

#[test]
fn no_secret_is_logged_when_the_directory_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sqlite");
    let directory = Arc::new(SqliteDirectory::open(&path, DirectorySettings::default()).unwrap());
    let (platform, log) = watched(directory.clone(), Limits::default());
    let secrets = ["<anna>", "<retired>", "<bert session>"].map(|name| platform.secret(name));
    fs::write(&path, vec![0xA5; 65_536]).unwrap();
    for name in ["directory.sqlite-wal", "directory.sqlite-shm"] {
        drop(fs::remove_file(folder.path().join(name)));
    }
    let mut statuses = Vec::new();
    for secret in &secrets {
        let text = printed(&platform.service, &requests(secret), &mut statuses) + &log.lock().unwrap();
        assert!(!secrets.iter().any(|secret| tells(&text, secret)), "{secret}");
        assert!(!text.is_empty());
    }
    assert!(statuses.contains(&502), "{statuses:?}");
    assert!(log.lock().unwrap().contains("directory.sqlite") && !format!("{directory:?}").contains(&secrets[0]));
}
