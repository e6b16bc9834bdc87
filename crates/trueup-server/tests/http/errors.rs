//! The errors that the server answers without the facade, in the form of all other errors.

use crate::client::{Answer, Client};
use crate::hostile::short;
use crate::logs::CapturedLog;
use crate::town::{RunningServer, Town};
use std::time::{Duration, Instant};

/// Requests that never reach the facade, with the status and code of the response. `short` has the limits. The
/// head of each request is not ended, so that headers can follow.
fn refused() -> Vec<(String, u16, &'static str)> {
    let long = |bytes: usize| format!("GET /api?{} HTTP/1.1\r\nHost: h\r\n", "a".repeat(bytes));
    let request = |headers: &str| format!("GET /api HTTP/1.1\r\nHost: h\r\n{headers}");
    vec![
        // The server finds these.
        ("GET /api HTTP/1.1\r\n".to_owned(), 400, "invalid-host"),
        (long(2_100), 414, "url-too-long"),
        (request(&"A: a\r\n".repeat(70)), 431, "headers-too-large"),
        (request(&format!("A: {}\r\n", "a".repeat(4_100))), 431, "headers-too-large"),
        // hyper refuses these.
        ("nonsense\r\n".to_owned(), 400, "malformed-request"),
        ("GET /api HTTP/9.9\r\nHost: h\r\n".to_owned(), 400, "malformed-request"),
        (request("no header\r\n"), 400, "malformed-request"),
        (request("Content-Length: many\r\n"), 400, "malformed-request"),
        (request(&"A: a\r\n".repeat(200)), 431, "headers-too-large"),
    ]
}

/// Sends the start of a request with more headers on a connection of its own.
fn ask(server: &RunningServer, start: &str, headers: &str) -> (Client, Answer) {
    let mut client = Client::connect(server.address);
    client.send(format!("{start}{headers}\r\n"));
    let answer = client.answer();
    (client, answer.unwrap_or_else(|| panic!("{start:.100}")))
}

/// Returns the names of the headers that have to do with the answer, and not with the connection.
fn names(answer: &Answer) -> Vec<String> {
    let mut names: Vec<String> = answer.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.retain(|name| name != "connection");
    names.sort();
    names
}

#[test]
fn errors_of_the_server_have_the_form_of_all_errors() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    for encoding in ["", "Accept-Encoding: br\r\n", "accept-encoding: identity;q=0.5, gzip\r\n"] {
        let headers = format!("X-Request-Id: form-1\r\n{encoding}");
        let (_, usual) = ask(&server, "GET /nothing HTTP/1.1\r\nHost: h\r\n", &headers);
        assert_eq!((usual.status, usual.header("content-encoding").is_none()), (404, encoding.contains("br")));
        for (start, status, code) in refused() {
            let (_, answer) = ask(&server, &start, &headers);
            assert_eq!(answer.status, status, "{start:.100}");
            assert_eq!(names(&answer), names(&usual), "{start:.100}");
            for name in ["content-type", "cache-control", "vary", "content-encoding", "x-request-id"] {
                assert_eq!(answer.header(name), usual.header(name), "{start:.100}: {name}");
            }
            assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()), "{start:.100}");
            let text = answer.text();
            assert!(text.starts_with(r#"{"error":""#), "{text}");
            assert!(text.ends_with(&format!(r#"","code":"{code}"}}"#)), "{text}");
        }
    }
}

#[test]
fn a_malformed_request_gets_a_message() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    let (mut client, answer) = ask(&server, "GET\r\n", "Accept-Encoding: identity\r\n");
    assert_eq!(
        answer.text(),
        r#"{"error":"the request is not valid HTTP/1.1; send a first line such as `GET /api HTTP/1.1`, and headers such as `Host: localhost`","code":"malformed-request"}"#
    );
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.header("x-request-id").map(str::len), Some(16));
    assert!(client.is_closed());
    // The answer to HEAD has no body.
    let mut client = Client::connect(server.address);
    client.send("HEAD /api HTTP/1.1\r\nno header\r\n\r\n");
    let head = client.head().unwrap();
    assert!(head.status == 400 && head.header("content-length") != Some("0"), "{head:?}");
    assert_eq!(client.rest(), (Vec::new(), true));
}

#[test]
fn a_malformed_request_after_others_is_refused_too() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    let bad = "GET /api HTTP/1.1\r\nno header\r\nX-Request-Id: bad-1\r\n\r\n";
    let is_refused = |answer: &Answer| answer.status == 400 && answer.text().contains("malformed-request");
    // The refusal comes after the answers to earlier requests, and has the id of its own request.
    let mut client = Client::connect(server.address);
    for _ in 0..2 {
        assert_eq!(client.get("/api", &town.headers()).status, 200);
    }
    client.send(bad);
    let answer = client.answer().unwrap();
    assert!(is_refused(&answer) && answer.header("x-request-id") == Some("bad-1"), "{answer:?}");
    assert!(client.is_closed());
    // The same if the malformed request is sent ahead.
    let mut client = Client::connect(server.address);
    client.send(town.request("/api") + &town.request("/health") + bad);
    assert_eq!([(); 2].map(|()| client.answer().unwrap().status), [200, 200]);
    assert!(is_refused(&client.answer().unwrap()));
    assert!(client.is_closed());
}

/// The client has not sent all of its request when it is refused, and sends the rest before it reads.
#[test]
fn the_refusal_of_a_large_request_arrives() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    let large = [
        (format!("GET /{} HTTP/1.1\r\nHost: h\r\n", "a".repeat(1 << 20)), 414, "2048 bytes"),
        (format!("GET /api HTTP/1.1\r\nHost: h\r\nA: {}\r\n", "a".repeat(1 << 20)), 431, "4096 bytes"),
        (format!("GET /api HTTP/1.1\r\nHost: h\r\n{}", "A: a\r\n".repeat(50_000)), 431, "the limit is 64"),
    ];
    for (start, status, limit) in &large {
        for _ in 0..10 {
            let mut client = Client::connect(server.address);
            assert!(client.send(start), "{start:.40}");
            client.end();
            let answer = client.answer().unwrap();
            assert!(answer.status == *status && answer.text().contains(limit), "{start:.40}: {}", answer.text());
            assert!(client.is_closed());
        }
    }
}

#[test]
fn a_refused_client_that_keeps_its_connection_is_disconnected() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    let begun = Instant::now();
    let (mut client, answer) = ask(&server, "nonsense\r\n", "");
    assert_eq!(answer.status, 400);
    // The server's sending half is closed immediately, the connection soon.
    assert!(client.is_closed());
    while client.send("more\r\n") {
        assert!(begun.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_refused_request_is_logged() {
    let logged = CapturedLog::capture();
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    ask(&server, "GET /api?secret=1 HTTP/1.1\r\nno header\r\n", "X-Request-Id: refused-1\r\n");
    let line = &logged.lines("refused-1", 1)[0];
    assert!(line.contains("INFO") && line.contains("status=400") && !line.contains("secret"), "{line}");
}
