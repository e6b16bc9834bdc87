//! Requests as common clients send them.

use crate::client::Client;
use crate::town::{self, CUSTOMERS, RunningServer, Town, patient};
use std::sync::Arc;

const RANGE: &str = "start=2025-01-01&end=2025-03-31";

/// Returns a service, a server that runs it, and a client of the server.
fn connected() -> (Town, RunningServer, Client) {
    let town = Town::new();
    let server = RunningServer::new(&town.service, patient());
    let client = Client::connect(server.address);
    (town, server, client)
}

#[test]
fn equivalent_urls_get_the_same_answer() {
    let (town, _server, mut client) = connected();
    let spring = r#"[{"campaign":"Spring, Drain + Sale","leads":50}]"#;
    let other = r#"[{"campaign":"Zoë's \"50%\" [Va] Drain|$99","leads":50}]"#;
    let requests = [
        // curl -G --data-urlencode, Python's requests, a browser's URLSearchParams, a browser's address bar.
        ("events?fields=campaign%2Cleads&campaign=Spring%2C%20Drain%20%2B%20Sale", spring),
        ("events?fields=campaign%2Cleads&campaign=Spring%2C+Drain+%2B+Sale", spring),
        ("events?campaign=Spring%2c+Drain+%2b+Sale&fields=campaign,leads", spring),
        ("events?fields=campaign,leads&campaign=Zo%C3%AB%27s+%2250%25%22+%5BVa%5D+Drain%7C%2499", other),
        ("events?fields=campaign,leads&campaign=Zo\u{eb}'s+%2250%25%22+[Va]+Drain|$99", other),
        // Python's json.dumps: a space after the comma, and \u for what is not ASCII.
        (
            "events?fields=campaign%2Cleads&campaign=%5B%22or%22%2C+%22Zo%5Cu00eb%27s+%5C%2250%25%5C%22+%5BVa%5D+Drain%7C%2499%22%5D",
            other,
        ),
        ("events?fields=campaign,leads&campaign=%5B%22regex%22%2C%20%22SPRING%22%2C%20%22i%22%5D", spring),
        ("events?fields=campaign,leads&filter=%7B%22campaign%22%3A+%5B%22regex%22%2C+%22%5ESpring%22%5D%7D", spring),
        // curl -g: as typed.
        ("events?fields=campaign,leads&campaign=[\"or\",\"Spring,+Drain+%2B+Sale\"]", spring),
        ("events?fields=campaign,leads&filter={\"campaign\":[\"regex\",\"^Zo\\u00eb.*>?\"]}", other),
        // A slash at the end, an empty parameter, repeated parameters.
        ("events/?fields=campaign&fields=leads&campaign=Spring%2C+Drain+%2B+Sale", spring),
        (
            "events?fields=campaign,leads&account=east&account=west&campaign=nothing&campaign=Spring%2C+Drain+%2B+Sale&",
            spring,
        ),
    ];
    for (path, expected) in requests {
        let path = format!("/api/waterworks/{path}&{RANGE}");
        let month = client.get(&format!("{path}&interval=month"), &town.headers());
        assert_eq!(month.status, 200, "{path}: {}", month.text());
        let whole = client.get(&path, &town.headers());
        assert_eq!((whole.status, &*whole.text()), (200, expected), "{path}");
        let compressed =
            client.get(&path, &format!("Authorization: {}\r\nAccept-Encoding: gzip, deflate, br\r\n", town.key));
        assert_eq!(compressed.header("content-encoding"), Some("gzip"));
        assert_eq!(compressed.content(), whole.body, "{path}");
    }
}

#[test]
fn a_small_answer_has_a_content_length() {
    let (town, _server, mut client) = connected();
    let rows = format!("/api/waterworks/events?fields=opportunityId,leads&{RANGE}");
    for path in ["/api", &rows, "/api/waterworks/insights", "/api/nowhere/events", "/openapi.json", "/health"] {
        for headers in [town.headers(), format!("Authorization: {}\r\n", town.key)] {
            let answer = client.get(path, &headers);
            assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()), "{path}");
            assert_eq!(answer.header("transfer-encoding"), None, "{path}");
            let is_plain = headers.contains("identity") || path == "/health";
            assert_eq!(answer.header("content-encoding").is_none(), is_plain, "{path}");
        }
    }
}

#[test]
fn a_large_answer_is_compressed_while_it_is_sent() {
    let town = Town::with(Arc::new(town::dataset(20_000)), |builder| builder);
    let server = RunningServer::new(&town.service, patient());
    let compressed = Client::connect(server.address).get(CUSTOMERS, &format!("Authorization: {}\r\n", town.key));
    assert_eq!(compressed.header("transfer-encoding"), Some("chunked"));
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert!(compressed.content() == town::bytes(town.handle(CUSTOMERS).body));
}

#[test]
fn credentials_are_read_from_the_headers() {
    let (town, _server, mut client) = connected();
    let status = |client: &mut Client, headers: &str| client.get("/api", headers).status;
    assert_eq!(status(&mut client, ""), 401);
    assert_eq!(status(&mut client, &format!("authorization: {}\r\n", town.key)), 200);
    assert_eq!(status(&mut client, &format!("Cookie: a=b; session={}\r\n", town.session)), 200);
    assert_eq!(status(&mut client, &format!("Cookie: a=b\r\nCookie: session={}\r\n", town.session)), 200);
    // Two keys are refused, because it is not defined which one counts.
    assert_eq!(status(&mut client, &format!("Authorization: {0}\r\nAuthorization: {0}\r\n", town.key)), 401);
}

#[test]
fn health_and_openapi_need_no_key() {
    let (_town, _server, mut client) = connected();
    let health = client.get("/health", "");
    assert_eq!((health.status, &*health.text()), (200, r#"{"status":"ok"}"#));
    let openapi = client.get("/openapi.json", "");
    assert_eq!((openapi.status, &*openapi.text()), (200, trueup::openapi::document()));
    for path in ["/healthy", "/health/x", "/", "//api", "/openapi"] {
        let answer = client.get(path, "Accept-Encoding: identity\r\n");
        assert!(answer.status == 404 && answer.text().contains(r#""code":"not-found""#), "{path}: {}", answer.text());
    }
    client.send("POST /health HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    let refused = client.answer().unwrap();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET")));
    assert_eq!(client.get("/health", "").status, 200);
}

#[test]
fn clients_may_cache_openapi() {
    let (_town, _server, mut client) = connected();
    let mut ask = |headers: &str| client.get("/openapi.json", headers);
    let (packed, plain) = (ask(""), ask("Accept-Encoding: identity\r\n"));
    assert!(packed.body.len() * 4 < plain.body.len(), "{} {}", packed.body.len(), plain.body.len());
    let cached = ["cache-control", "vary"].map(|name| packed.header(name));
    assert_eq!(cached, [Some("public, max-age=3600"), Some("Accept-Encoding")]);
    let [of_packed, of_plain] = [&packed, &plain].map(|answer| answer.header("etag").unwrap().to_owned());
    assert_ne!(of_packed, of_plain);
    for known in [of_packed.clone(), format!("\"old\", W/{of_packed}"), "*".to_owned()] {
        let answer = ask(&format!("If-None-Match: {known}\r\n"));
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{known}");
        assert_eq!(answer.header("etag"), Some(&*of_packed));
        assert_eq!(["cache-control", "vary"].map(|name| answer.header(name)), cached);
        assert!(answer.header("x-request-id").is_some());
    }
    for (known, headers) in [("\"old\"", ""), (&of_packed, "Accept-Encoding: identity\r\n"), (&of_plain, "")] {
        let answer = ask(&format!("If-None-Match: {known}\r\n{headers}"));
        assert_eq!((answer.status, &*answer.text()), (200, trueup::openapi::document()), "{known}");
    }
    client.send(format!("HEAD /openapi.json HTTP/1.1\r\nHost: h\r\nIf-None-Match: {of_plain}\r\n\r\n"));
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("etag")), (200, Some(&*of_packed)));
    assert_eq!(client.get("/health", "").status, 200);
}

#[test]
fn a_request_has_the_id_of_the_client_or_a_new_one() {
    let (_town, _server, mut client) = connected();
    let id =
        |client: &mut Client, headers: &str| client.get("/api", headers).header("x-request-id").unwrap().to_owned();
    assert_eq!(id(&mut client, "X-Request-Id: 7f3a.b-c_d\r\n"), "7f3a.b-c_d");
    let (first, second) = (id(&mut client, "X-Request-Id: a b\r\n"), id(&mut client, ""));
    assert!(first != second && first.len() == 16 && second.len() == 16, "{first} {second}");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (town, _server, mut client) = connected();
    let paths = ["/health", "/api", "/nowhere?a=b", "/api/waterworks/insights", "/health"];
    let requests: String = paths.iter().map(|path| town.request(path)).collect();
    client.send(requests);
    let statuses: Vec<u16> = paths.iter().map(|_| client.answer().unwrap().status).collect();
    assert_eq!(statuses, [200, 200, 404, 200, 200]);
}

#[test]
fn an_answer_to_head_has_no_body() {
    let (_town, _server, mut client) = connected();
    for (path, status) in [("/health", 200), ("/api", 405)] {
        client.send(format!("HEAD {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
        assert_eq!(client.head().unwrap().status, status, "{path}");
    }
    assert_eq!(client.get("/health", "").status, 200);
}
