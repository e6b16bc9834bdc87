//! Malformed, oversized, slow and aborted requests. The server keeps answering other clients.

use crate::client::Client;
use crate::logs::CapturedLog;
use crate::town::{self, CUSTOMERS, RunningServer, Town, patient};
use std::sync::{Arc, LazyLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use trueup::service::ServiceError;
use trueup::{Dataset, Interruption};
use trueup_server::Settings;

/// A dataset whose answer to [`CUSTOMERS`] has about 20 MB, more than socket buffers hold for a client that does not
/// read.
pub(crate) static LARGE: LazyLock<Arc<Dataset>> = LazyLock::new(|| Arc::new(town::dataset(25_000)));

/// The header timeout of [`short`].
pub(crate) const HEADER: Duration = Duration::from_millis(600);
/// The idle timeout of [`short`].
const IDLE: Duration = Duration::from_millis(1_200);

/// Returns settings with short timeouts and small limits.
pub(crate) fn short() -> Settings {
    Settings {
        header_timeout: HEADER,
        idle_timeout: IDLE,
        write_timeout: Duration::from_millis(800),
        max_header_bytes: 4_096,
        max_url_bytes: 2_048,
        max_ignored_body_bytes: 1_000,
        ..Settings::default()
    }
}

fn is_answering(server: &RunningServer) -> bool {
    Client::connect(server.address).get("/health", "").status == 200
}

#[test]
fn malformed_requests_are_refused() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    let malformed: [&[u8]; 12] = [
        b"\r\n\r\nnonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /api HTTP/9.9\r\n\r\n",
        b"GET /a b c HTTP/1.1\r\n\r\n",
        b"GET ?fields=leads HTTP/1.1\r\n\r\n",
        b"G\x00T /api HTTP/1.1\r\n\r\n",
        b"GET /api HTTP/1.1\r\nno header\r\n\r\n",
        b"GET /api HTTP/1.1\r\nname : value\r\n\r\n",
        b"GET /api HTTP/1.1\r\nHost: h\r\nContent-Length: many\r\n\r\n",
        b"GET /api HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET /api HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, what\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a greeting of TLS, which is not spoken here \r\n\r\n",
    ];
    for bytes in malformed {
        let mut client = Client::connect(server.address);
        client.send(bytes);
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(client.answer().map(|answer| answer.status), Some(400), "{text}");
        assert!(client.is_closed(), "{text}");
    }
    assert!(is_answering(&server));
}

#[test]
fn unusual_targets_are_answered_or_refused() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    for (line, status) in [
        ("GET http://elsewhere/health HTTP/1.1", 200),
        ("GET /health HTTP/1.0", 200),
        ("OPTIONS * HTTP/1.1", 405),
        ("CONNECT elsewhere:443 HTTP/1.1", 405),
        ("BREW /api HTTP/1.1", 405),
        ("GET /../../etc/passwd HTTP/1.1", 404),
        ("GET /%00 HTTP/1.1", 404),
        ("GET api HTTP/1.1", 404),
    ] {
        let mut client = Client::connect(server.address);
        client.send(format!("{line}\r\nHost: h\r\n\r\n"));
        assert_eq!(client.answer().map(|answer| answer.status), Some(status), "{line}");
    }
}

#[test]
fn an_oversized_request_is_refused_with_the_limit_in_the_message() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    let ask = |path: &str, headers: &str| Client::connect(server.address).get(path, headers);
    let long = |bytes: usize| format!("/api?{}", "a".repeat(bytes - 5));
    assert_eq!(ask(&long(2_048), "").status, 401);
    let url = ask(&long(2_049), "");
    assert!(url.status == 414 && url.text().contains("2048 bytes"), "{}", url.text());
    assert_eq!(url.header("x-request-id").map(str::len), Some(16));
    assert_eq!(ask("/api", &format!("A: {}\r\n", "a".repeat(4_000))).status, 401);
    let headers = ask("/api", &format!("A: {}\r\n", "a".repeat(4_096)));
    assert!(headers.status == 431 && headers.text().contains("4096 bytes"), "{}", headers.text());
    let many = ask("/api", &"A: a\r\n".repeat(64));
    assert!(many.status == 431 && many.text().contains("64"), "{}", many.text());
    // Requests far beyond the limits are not read to their end.
    for (path, headers) in [
        (long(60_000), String::new()),
        ("/api".to_owned(), "A: a\r\n".repeat(5_000)),
        ("/api".to_owned(), format!("A: {}\r\n", "a".repeat(1 << 20))),
    ] {
        let mut client = Client::connect(server.address);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n{headers}\r\n"));
        let status = client.answer().map(|answer| answer.status);
        assert_eq!(status, Some(if path.len() > 5 { 414 } else { 431 }));
        assert!(client.is_closed());
    }
    assert!(is_answering(&server));
}

#[test]
fn a_client_that_sends_slowly_or_nothing_is_disconnected() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    let begun = Instant::now();
    let mut silent = Client::connect(server.address);
    let mut half = Client::connect(server.address);
    half.send("GET /api HTTP/1.1\r\nHost: h\r\n");
    let mut idle = Client::connect(server.address);
    // The idle timeout of this connection starts when its answer has been written.
    assert_eq!(idle.get("/api", "").status, 401);
    let mut second_half = Client::connect(server.address);
    assert_eq!(second_half.get("/api", "").status, 401);
    second_half.send("GET /api HTT");
    let slow = thread::spawn({
        let address = server.address;
        move || {
            let mut slow = Client::connect(address);
            let sent = "GET /api HTTP/1.1\r\nHost: localhost\r\n".bytes().take_while(|byte| {
                thread::sleep(Duration::from_millis(50));
                slow.send([*byte])
            });
            (sent.count(), slow.is_closed())
        }
    });
    assert!(silent.is_closed() && half.is_closed() && second_half.is_closed());
    assert!(begun.elapsed() >= HEADER);
    assert!(idle.is_closed());
    assert!(begun.elapsed() >= IDLE && begun.elapsed() < Duration::from_secs(5));
    let (sent, is_closed) = slow.join().unwrap();
    assert!(sent < 30 && is_closed, "{sent}");
    assert!(is_answering(&server));
}

#[test]
fn a_client_that_receives_too_slowly_is_disconnected() {
    let town = Town::with(Arc::clone(&LARGE), |builder| builder);
    for (min_send_rate, is_whole) in [(u32::MAX, false), (0, true)] {
        let settings = Settings { min_send_rate, write_timeout: Duration::from_millis(1_500), ..short() };
        let server = RunningServer::new(&town.service, settings);
        let mut client = Client::connect(server.address);
        client.send(town.request(CUSTOMERS));
        let head = client.head().unwrap();
        // The client receives something all the time, so the write timeout alone never ends the connection.
        assert_eq!(client.body(&head, |_| thread::sleep(Duration::from_millis(2))), is_whole, "{min_send_rate}");
    }
}

#[test]
fn a_connection_that_is_idle_after_a_large_answer_is_closed() {
    let town = Town::with(Arc::clone(&LARGE), |builder| builder);
    let server = RunningServer::new(&town.service, short());
    let mut client = Client::connect(server.address);
    client.send(town.request(CUSTOMERS));
    // A write waits for the client, for less than the write timeout.
    thread::sleep(Duration::from_millis(200));
    assert_eq!(client.answer().unwrap().header("transfer-encoding"), Some("chunked"));
    let begun = Instant::now();
    assert!(client.is_closed());
    assert!(begun.elapsed() >= IDLE / 2 && begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn bodies_of_requests_are_ignored_up_to_a_limit() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
    let mut client = Client::connect(server.address);
    client.send(format!("GET /health HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n{}", "x".repeat(900)));
    assert_eq!(client.answer().unwrap().status, 200);
    client.send(format!("POST /api HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n{}", "x".repeat(900)));
    assert_eq!(client.answer().unwrap().status, 405);
    client.send("POST /api HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n".to_owned() + &"x".repeat(2_000));
    assert_eq!(client.answer().unwrap().status, 405);
    assert!(client.is_closed());
    // The body does not arrive.
    let mut client = Client::connect(server.address);
    client.send("GET /api HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 401);
    assert!(client.is_closed());
}

#[test]
fn a_client_that_reads_slowly_blocks_no_other_and_is_disconnected() {
    let town = Town::with(Arc::clone(&LARGE), |builder| builder);
    let settings = Settings { max_requests_at_once: 1, ..short() };
    let server = RunningServer::new(&town.service, settings);
    let mut slow = Client::connect(server.address);
    slow.send(town.request(CUSTOMERS));
    assert_eq!(slow.head().unwrap().status, 200);
    let begun = Instant::now();
    // Only one request may run at a time, and sending this answer does not block others.
    let mut other = Client::connect(server.address);
    let mut read = 0;
    while begun.elapsed() < Duration::from_millis(2_500) {
        read += slow.bytes(1).len();
        assert_eq!(other.get("/api", &town.headers()).status, 200);
        thread::sleep(Duration::from_millis(100));
    }
    assert!(read > 0);
    // The client finds the bytes sent before the connection was closed, without the end of the body.
    let (rest, is_closed) = slow.rest();
    assert!(is_closed && !rest.ends_with(b"\r\n0\r\n\r\n"), "{}", rest.len());
}

#[test]
fn requests_beyond_the_limit_wait() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, Settings { max_requests_at_once: 2, ..patient() });
    town.gate.close();
    let mut clients: Vec<Client> = (0..5).map(|_| Client::connect(server.address)).collect();
    for client in &mut clients {
        client.send(town.request("/api"));
    }
    town.gate.wait_for(2);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(town.gate.arrived(), 2);
    assert!(is_answering(&server));
    town.gate.open();
    assert!(clients.iter_mut().all(|client| client.answer().unwrap().status == 200));
}

#[test]
fn a_panic_is_a_500_and_does_not_affect_other_requests() {
    let town =
        Town::with(Arc::new(town::dataset(1)), |builder| builder.clock(|| panic!("a fault, made for this test")));
    let server = RunningServer::new(&town.service, Settings { max_requests_at_once: 1, ..short() });
    let mut client = Client::connect(server.address);
    for _ in 0..3 {
        let answer = client.get("/api", &town.headers());
        assert!(answer.status == 500 && answer.text().contains(r#""code":"internal-error""#), "{}", answer.text());
        assert_eq!(client.get("/nowhere", "").status, 404);
    }
}

#[test]
fn a_query_is_canceled_when_its_client_disconnects() {
    let (sender, failures) = mpsc::sync_channel(8);
    let town = Town::with(Arc::clone(&LARGE), |builder| {
        builder.on_failure(move |error: &ServiceError| {
            let is_canceled = matches!(error, ServiceError::Timeout(Interruption::Canceled));
            assert!(sender.send(is_canceled).is_ok());
        })
    });
    let logged = CapturedLog::capture();
    let settings = Settings { half_closed_timeout: Duration::from_millis(100), ..patient() };
    let server = RunningServer::new(&town.service, settings);
    town.gate.close();
    let mut client = Client::connect(server.address);
    client.send(format!("GET {CUSTOMERS} HTTP/1.1\r\nHost: h\r\nX-Request-Id: gone-1\r\n{}\r\n", town.headers()));
    town.gate.wait_for(1);
    client.close();
    // The server notices the end of the connection; then the query starts.
    assert!(logged.lines("gone-1", 1)[0].contains("status=0 bytes=0"));
    town.gate.open();
    assert_eq!(failures.recv_timeout(Duration::from_secs(10)), Ok(true));
    // The request of another client is answered.
    assert_eq!(
        Client::connect(server.address)
            .get("/api/waterworks/events?fields=leads&start=2025-01-01&end=2025-01-31", &town.headers())
            .status,
        200
    );
    assert!(failures.try_recv().is_err());
}

#[test]
fn a_client_may_disconnect_in_the_middle_of_an_answer() {
    let town = Town::with(Arc::clone(&LARGE), |builder| builder);
    let server = RunningServer::new(&town.service, patient());
    for _ in 0..3 {
        let mut client = Client::connect(server.address);
        client.send(town.request(CUSTOMERS));
        assert_eq!(client.head().unwrap().status, 200);
        assert!(!client.bytes(1_000).is_empty());
        client.close();
    }
    assert!(is_answering(&server));
}
