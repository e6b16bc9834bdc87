//! Sends the requests of the facade's goldens over HTTP, and compares the answers with those of the facade.

use crate::client::{Answer, Client};
use crate::platform::{Platform, Rival, crowded, small};
use crate::town::RunningServer;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use trueup::access::DirectorySettings;
use trueup::service::{Request, Response, Service};
use trueup_server::Settings;

/// Headers that only the HTTP answer has.
const HTTP_HEADERS: [&str; 4] = ["content-length", "date", "transfer-encoding", "x-request-id"];

/// A request of a golden.
struct Golden {
    /// Name of the file and the sentence that the golden cites.
    place: String,
    /// Request line and headers, with keys inserted.
    head: String,
}

fn goldens(platform: &Platform, is_wanted: impl Fn(&str) -> bool) -> Vec<Golden> {
    let folder: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "trueup", "tests", "service", "testdata", "goldens"].iter().collect();
    let mut goldens = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !is_wanted(&name) {
            continue;
        }
        let text = format!("\n{}", fs::read_to_string(&path).unwrap());
        for case in text.split("\n# ").skip(1) {
            let (cited, rest) = case.split_once('\n').unwrap();
            let (head, _) = rest.split_once("\n\n").unwrap();
            goldens.push(Golden { place: format!("{name}: {cited}"), head: platform.secret(head) });
        }
    }
    goldens
}

fn in_process(service: &Service, head: &str) -> Response {
    let mut lines = head.lines();
    let (method, path) = lines.next().unwrap().split_once(' ').unwrap();
    let mut request = Request { method: method.to_owned(), ..Request::get(path) };
    request.accept_encoding = Some("identity".to_owned());
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        match name {
            "Authorization" => request.authorization = Some(value.to_owned()),
            "Cookie" => request.cookie = Some(value.to_owned()),
            "Accept-Encoding" => request.accept_encoding = Some(value.to_owned()),
            other => panic!("{other}"),
        }
    }
    service.handle(&request)
}

fn over_http(client: &mut Client, head: &str) -> Answer {
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let encoding = if headers.contains("Accept-Encoding") { "" } else { "Accept-Encoding: identity\r\n" };
    let headers: String = headers.lines().map(|line| format!("{line}\r\n")).collect();
    assert!(client.send(format!("{line} HTTP/1.1\r\nHost: localhost\r\n{encoding}{headers}\r\n")));
    if line.starts_with("HEAD ") { client.head().unwrap() } else { client.answer().unwrap() }
}

fn compare(service: Arc<Service>, goldens: &[Golden]) -> usize {
    let server = RunningServer::new(&service, Settings::default());
    let mut client = Client::connect(server.address);
    for Golden { place, head } in goldens {
        let expected = in_process(&service, head);
        let found = over_http(&mut client, head);
        assert_eq!(found.status, expected.status, "{place}");
        for (name, value) in &expected.headers {
            assert_eq!(found.header(name), Some(&**value), "{place}: {name}");
        }
        for (name, _) in &found.headers {
            assert!(expected.header(name).is_some() || HTTP_HEADERS.contains(&name.as_str()), "{place}: {name}");
        }
        let body = if head.starts_with("HEAD ") { Vec::new() } else { expected.body.into_bytes().unwrap() };
        assert!(found.body == body, "{place}: {:?}", String::from_utf8_lossy(&found.body));
    }
    goldens.len()
}

#[test]
fn answers_over_http_equal_those_of_the_facade() {
    let (usual, crowded) = (Platform::new(), crowded());
    let limited = Platform::with(&Rival::default(), DirectorySettings::default(), |builder| builder.limits(small()));
    let is_usual = |name: &str| !name.starts_with("limits") && !name.starts_with("benchmarks");
    let of_usual = goldens(&usual, is_usual);
    let of_limited = goldens(&limited, |name| name.starts_with("limits"));
    // Excluded, because the computation of benchmarks may end between two requests.
    let of_crowded = goldens(&crowded, |name| name.starts_with("benchmarks") && name != "benchmarks_gathering");
    let compared = compare(Arc::new(usual.service), &of_usual)
        + compare(Arc::new(limited.service), &of_limited)
        + compare(Arc::new(crowded.service), &of_crowded);
    assert!(compared >= 150, "{compared}");
}
