//! Who is connected: places that run out, callers that end their half, and the header that every request needs.

use crate::client::Client;
use crate::hostile::{HEADER, LARGE, short};
use crate::running::Running;
use crate::town::{CUSTOMERS, Town};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use trueup::Interruption;
use trueup::service::ServiceError;
use trueup_server::Settings;

/// Nothing of this is waited for: each is longer than a test.
fn patient() -> Settings {
    let long = Duration::from_secs(120);
    Settings {
        header_timeout: long,
        idle_timeout: long,
        write_timeout: long,
        half_closed_timeout: long,
        ..Settings::default()
    }
}

fn ask(path: &str, town: &Town) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers())
}

#[test]
fn who_waits_for_nothing_keeps_nobody_out() {
    let town = Town::new();
    let server = Running::new(&town.service, Settings { max_connections: 6, ..patient() });
    // Nothing, part of a head, a head whose body does not come, and the rest of an earlier request.
    let begun = [
        "",
        "GET /api HT",
        "GET /api HTTP/1.1\r\nHost: h\r\n",
        "POST /api HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n",
        "POST /api HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n",
    ];
    let mut idle: Vec<Client> = Vec::new();
    for _ in 0..20 {
        for bytes in begun {
            let mut client = Client::connect(server.address);
            client.send(bytes);
            idle.push(client);
        }
        let mut client = Client::connect(server.address);
        assert_eq!(client.get("/api", &town.headers()).status, 200);
        idle.push(client);
    }
    // The first of them are closed, the last ones are not.
    assert!(idle[..60].iter_mut().all(Client::is_closed));
    assert_eq!(idle.last_mut().unwrap().get("/health", "").status, 200);
}

#[test]
fn the_longest_idle_connection_is_closed_and_none_that_is_answered() {
    let town = Town::new();
    let server = Running::new(&town.service, Settings { max_connections: 3, ..patient() });
    let mut answered = Client::connect(server.address);
    town.gate.close();
    answered.send(ask("/api", &town));
    town.gate.wait_for(1);
    let [mut first, mut second] = [(); 2].map(|()| {
        let mut client = Client::connect(server.address);
        assert_eq!(client.get("/health", "").status, 200);
        client
    });
    // A request makes a connection the least idle.
    assert_eq!(first.get("/health", "").status, 200);
    let mut third = Client::connect(server.address);
    assert_eq!(third.get("/health", "").status, 200);
    assert!(second.is_closed());
    assert_eq!(first.get("/health", "").status, 200);
    town.gate.open();
    assert_eq!(answered.answer().unwrap().status, 200);
}

#[test]
fn where_all_are_answered_another_waits() {
    let town = Town::new();
    let server = Running::new(&town.service, Settings { max_connections: 2, ..patient() });
    town.gate.close();
    let mut answered = [(); 2].map(|()| Client::connect(server.address));
    answered.iter_mut().for_each(|client| assert!(client.send(ask("/api", &town))));
    town.gate.wait_for(2);
    let mut waits = Client::connect(server.address);
    waits.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
    thread::sleep(Duration::from_millis(300));
    town.gate.open();
    assert_eq!(waits.answer().unwrap().status, 200);
    assert!(answered.iter_mut().all(|client| client.answer().unwrap().status == 200));
}

#[test]
fn one_address_has_no_more_than_its_places() {
    let town = Town::new();
    let limited = Settings { max_connections_per_address: 2, limit_loopback: true, ..patient() };
    let server = Running::new(&town.service, limited.clone());
    let mut first = Client::connect(server.address);
    assert_eq!(first.get("/health", "").status, 200);
    town.gate.close();
    let mut answered = [(); 2].map(|()| Client::connect(server.address));
    answered.iter_mut().for_each(|client| assert!(client.send(ask("/api", &town))));
    town.gate.wait_for(2);
    // The idle one made room; now none is.
    assert!(first.is_closed());
    assert!(Client::connect(server.address).is_closed());
    town.gate.open();
    assert!(answered.iter_mut().all(|client| client.answer().unwrap().status == 200));

    // What comes from this machine may come through a proxy.
    let server = Running::new(&town.service, Settings { limit_loopback: false, ..limited });
    let mut clients: Vec<_> = (0..5).map(|_| Client::connect(server.address)).collect();
    assert!(clients.iter_mut().all(|client| client.get("/health", "").status == 200));
    assert!(clients.iter_mut().all(|client| client.get("/health", "").status == 200));
}

#[test]
fn who_sends_no_more_gets_the_answer() {
    let town = Town::with(Arc::clone(&LARGE), |builder| builder);
    let server = Running::new(&town.service, patient());
    let expected = town.handle(CUSTOMERS).body.into_bytes().unwrap();
    let before = town.gate.come();
    // Both at once, and the end while the service works.
    for is_late in [false, true] {
        if is_late {
            town.gate.close();
        }
        let mut client = Client::connect(server.address);
        client.send(ask(CUSTOMERS, &town));
        if is_late {
            town.gate.wait_for(before + 2);
            client.end();
            thread::sleep(Duration::from_millis(100));
            town.gate.open();
        } else {
            client.end();
        }
        let answer = client.answer();
        assert!(answer.is_some_and(|answer| answer.status == 200 && answer.body == expected), "{is_late}");
        assert!(client.is_closed());
    }
    // Requests that were sent ahead are owed too.
    let mut client = Client::connect(server.address);
    client.send(ask("/api", &town) + &ask("/health", &town) + &ask("/api/waterworks/insights", &town));
    client.end();
    for _ in 0..3 {
        assert_eq!(client.answer().unwrap().status, 200);
    }
    assert!(client.is_closed());
    // Of a request that did not come whole nothing is.
    for part in ["GET /api HT", "POST /api HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"] {
        let mut client = Client::connect(server.address);
        client.send(part);
        client.end();
        assert!(client.is_closed(), "{part}");
    }
}

#[test]
fn who_sends_no_more_may_be_gone() {
    let (told, failures) = mpsc::sync_channel(8);
    let town = Town::with(Arc::clone(&LARGE), |builder| {
        builder.on_failure(move |error: &ServiceError| {
            assert!(told.send(matches!(error, ServiceError::Timeout(Interruption::Canceled))).is_ok());
        })
    });
    let server = Running::new(&town.service, Settings { half_closed_timeout: HEADER, ..patient() });
    town.gate.close();
    let mut client = Client::connect(server.address);
    client.send(ask(CUSTOMERS, &town));
    town.gate.wait_for(1);
    let begun = Instant::now();
    client.end();
    assert!(client.is_closed() && begun.elapsed() >= HEADER);
    town.gate.open();
    assert_eq!(failures.recv_timeout(Duration::from_secs(10)), Ok(true));
}

#[test]
fn a_request_names_one_host() {
    let town = Town::new();
    let server = Running::new(&town.service, short());
    for (version, hosts, status) in [
        ("1.1", "Host: localhost:8080\r\n", 200),
        ("1.1", "host:\r\n", 200),
        ("1.0", "", 200),
        ("1.0", "Host: h\r\n", 200),
        ("1.1", "", 400),
        ("1.1", "Host: h\r\nHost: h\r\n", 400),
        ("1.0", "Host: h\r\nhost: h\r\n", 400),
        ("1.1", "Host: a b\r\n", 400),
    ] {
        let mut client = Client::connect(server.address);
        client.send(format!("GET /health HTTP/{version}\r\n{hosts}X-Request-Id: host-1\r\n\r\n"));
        let answer = client.answer().unwrap();
        assert_eq!(answer.status, status, "{version} {hosts}");
        assert_eq!(answer.header("x-request-id"), Some("host-1"));
        let is_told = answer.text().contains("the header `Host`") && answer.text().contains(r#""code":"invalid-host""#);
        assert_eq!(is_told, status == 400, "{}", answer.text());
    }
}
