//! No secret appears in a log, a response or debug output, wherever a request carries it.

use crate::platform::{NOW, Platform, Rival, damage};
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

/// Returns whether the text contains one of the secret's eight-character parts. Any fifteen characters in a row of the
/// secret contain such a part.
fn reveals(text: &str, secret: &str) -> bool {
    let random = secret.strip_prefix("tu_").unwrap_or(secret);
    random.as_bytes().as_chunks::<8>().0.iter().any(|part| text.contains(std::str::from_utf8(part).unwrap()))
}

/// Writes a failure to the log in every form: the error and each of its sources, as display and as debug output.
fn logged(error: &ServiceError, log: &Mutex<String>) {
    let mut log = log.lock().unwrap();
    write!(log, "{error} {error:?} {error:#?}").unwrap();
    let mut source = error.source();
    while let Some(error) = source {
        write!(log, " {error} {error:?} {error:#?}").unwrap();
        source = error.source();
    }
}

/// Returns a platform, and the log to which it writes all its failures.
fn logging_platform(directory: Arc<dyn Directory>, limits: Limits) -> (Platform, Arc<Mutex<String>>) {
    let log: Arc<Mutex<String>> = Arc::default();
    let hook = {
        let log = Arc::clone(&log);
        move |error: &ServiceError| logged(error, &log)
    };
    (Platform::with_directory(directory, &Rival::default(), |builder| builder.limits(limits).on_failure(hook)), log)
}

/// Requests that carry the secret wherever credentials can be, well-formed or not.
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

/// Sends the requests. Returns all that the service sends back or that debug output shows.
fn outputs(service: &Service, requests: &[Request], statuses: &mut Vec<u16>) -> String {
    let mut text = format!("{service:?} {service:#?}");
    for request in requests {
        let response = service.handle(request);
        write!(text, "{request:?} {request:#?} {response:?} {:?}", response.headers).unwrap();
        statuses.push(response.status);
        let body = std::io::read_to_string(response.body.reader()).unwrap();
        // In an answer of `/api`, only the part before the endpoints depends on the caller.
        text.push_str(body.split("\"endpoints\"").next().unwrap());
    }
    text
}

/// Returns the debug output of the types that a program gets when it authenticates its users itself.
fn typed_outputs(directory: &dyn Directory, secret: &str) -> String {
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

/// Sends requests with each of the secrets. Returns everything that could be printed meanwhile, and the statuses.
fn use_secrets(directory: Arc<dyn Directory>, limits: Limits, secrets: &mut Vec<String>) -> (String, Vec<u16>) {
    let (platform, log) = logging_platform(directory, limits);
    secrets.extend(["<anna>", "<dora>", "<eve>", "<busy>", "<bert session>"].map(|name| platform.secret(name)));
    // A retired organization key that looks like a user key.
    let retired = SecretKey::new(format!("{}-of-old", secrets[0]));
    platform.service.directory().retire_organization_key("acme", &retired).unwrap();
    secrets.push(retired.reveal().to_owned());
    let (mut text, mut statuses) = (String::new(), Vec::new());
    for round in 0..2 {
        for secret in &*secrets {
            text += &outputs(&platform.service, &requests(secret), &mut statuses);
            text += &typed_outputs(platform.service.directory(), secret);
        }
        if round == 0 {
            damage(&platform.dataset());
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
        let (text, statuses) = use_secrets(Arc::new(MemoryDirectory::new(settings).unwrap()), Limits::default(), &mut secrets);
        let overdue = Limits { deadline: Duration::ZERO, ..Limits::default() };
        let (other, others) = use_secrets(Arc::new(MemoryDirectory::new(DirectorySettings::default()).unwrap()), overdue, &mut secrets);
        for secret in &secrets {
            prop_assert!(!reveals(&text, secret) && !reveals(&other, secret), "{secret}");
        }
        // The requests reach every outcome, so the secrets were where the service looks for them.
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
    let (platform, log) = logging_platform(directory.clone(), Limits::default());
    let secrets = ["<anna>", "<retired>", "<bert session>"].map(|name| platform.secret(name));
    fs::write(&path, vec![0xA5; 65_536]).unwrap();
    for name in ["directory.sqlite-wal", "directory.sqlite-shm"] {
        drop(fs::remove_file(folder.path().join(name)));
    }
    let mut statuses = Vec::new();
    for secret in &secrets {
        let text = outputs(&platform.service, &requests(secret), &mut statuses) + &log.lock().unwrap();
        assert!(!secrets.iter().any(|secret| reveals(&text, secret)), "{secret}");
    }
    assert!(statuses.contains(&502), "{statuses:?}");
    assert!(log.lock().unwrap().contains("directory.sqlite") && !format!("{directory:?}").contains(&secrets[0]));
}
