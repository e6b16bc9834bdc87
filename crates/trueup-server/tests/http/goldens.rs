//! Sends the requests of the facade's goldens over HTTP, and compares the answers with those of the facade.

use crate::client::{Answer, Client};
use crate::platform::{Golden, Platform, Rival, bytes, crowded, goldens, small};
use crate::town::{RunningServer, patient};
use std::sync::Arc;

/// Files of goldens that need a failing service, which only the tests of the facade make.
const FAILING: [&str; 4] = ["damaged", "overdue", "overloaded", "too_much_memory"];

/// Headers that only the HTTP answer has.
const HTTP_HEADERS: [&str; 4] = ["content-length", "date", "transfer-encoding", "x-request-id"];

fn over_http(client: &mut Client, head: &str) -> Answer {
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let encoding = if headers.contains("Accept-Encoding") { "" } else { "Accept-Encoding: identity\r\n" };
    let headers: String = headers.lines().map(|line| format!("{line}\r\n")).collect();
    assert!(client.send(format!("{line} HTTP/1.1\r\nHost: localhost\r\n{encoding}{headers}\r\n")));
    if line.starts_with("HEAD ") { client.head().unwrap() } else { client.answer().unwrap() }
}

/// Sends the goldens of the files that are wanted to a platform, over HTTP and without. Returns their number.
fn compare(platform: Platform, is_wanted: impl Fn(&str) -> bool) -> usize {
    let goldens: Vec<Golden> = goldens().into_iter().filter(|golden| is_wanted(&golden.file)).collect();
    let requests: Vec<_> =
        goldens.iter().map(|golden| (golden.request(&platform), platform.secret(&golden.head))).collect();
    let service = Arc::new(platform.service);
    let server = RunningServer::new(&service, patient());
    let mut client = Client::connect(server.address);
    for (Golden { file, title, .. }, (request, head)) in goldens.iter().zip(&requests) {
        let expected = service.handle(request);
        let found = over_http(&mut client, head);
        assert_eq!(found.status, expected.status, "{file}: {title}");
        for (name, value) in &expected.headers {
            assert_eq!(found.header(name), Some(&**value), "{file}: {title}: {name}");
        }
        for (name, _) in &found.headers {
            let is_known = expected.header(name).is_some() || HTTP_HEADERS.contains(&name.as_str());
            assert!(is_known, "{file}: {title}: {name}");
        }
        let body = if request.method == "HEAD" { Vec::new() } else { bytes(expected.body) };
        assert!(found.body == body, "{file}: {title}: {:?}", String::from_utf8_lossy(&found.body));
    }
    goldens.len()
}

#[test]
fn answers_over_http_equal_those_of_the_facade() {
    let limited = Platform::with(&Rival::default(), |builder| builder.limits(small()));
    let is_usual =
        |file: &str| !FAILING.contains(&file) && !file.starts_with("limits") && !file.starts_with("benchmarks");
    let compared = compare(Platform::new(), is_usual)
        + compare(limited, |file| file.starts_with("limits"))
        // Without `benchmarks_gathering`, because the computation of benchmarks may end between two requests.
        + compare(crowded(), |file| file.starts_with("benchmarks") && file != "benchmarks_gathering");
    assert!(compared >= 150, "{compared}");
}
