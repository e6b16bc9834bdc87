//! Limits on connections, clients that close their sending half, and the header `Host`.

use crate::client::Client;
use crate::hostile::{HEADER, LARGE, short};
use crate::town::{self, CUSTOMERS, RunningServer, Town, patient};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use trueup::Interruption;
use trueup::service::ServiceError;
use trueup_server::Settings;

#[test]
fn idle_connections_do_not_block_others() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, Settings { max_connections: 6, ..patient() });
    // Nothing, two parts of a head, a head without its body, and a part of a body.
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
    // The first connections are closed, the last one is not.
    assert!(idle[..60].iter_mut().all(Client::is_closed));
    assert_eq!(idle.last_mut().unwrap().get("/health", "").status, 200);
}

#[test]
fn the_longest_idle_connection_is_closed_and_no_busy_one() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, Settings { max_connections: 3, ..patient() });
    let mut busy = Client::connect(server.address);
    town.gate.close();
    busy.send(town.request("/api"));
    town.gate.wait_for(1);
    let [mut first, mut second] = [(); 2].map(|()| {
        let mut client = Client::connect(server.address);
        assert_eq!(client.get("/health", "").status, 200);
        client
    });
    // After a request, a connection has waited the shortest time.
    assert_eq!(first.get("/health", "").status, 200);
    let mut third = Client::connect(server.address);
    assert_eq!(third.get("/health", "").status, 200);
    assert!(second.is_closed());
    assert_eq!(first.get("/health", "").status, 200);
    town.gate.open();
    assert_eq!(busy.answer().unwrap().status, 200);
}

#[test]
fn a_new_connection_waits_while_all_others_are_busy() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, Settings { max_connections: 2, ..patient() });
    town.gate.close();
    let mut busy = [(); 2].map(|()| Client::connect(server.address));
    busy.iter_mut().for_each(|client| assert!(client.send(town.request("/api"))));
    town.gate.wait_for(2);
    let mut waits = Client::connect(server.address);
    waits.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
    thread::sleep(Duration::from_millis(300));
    town.gate.open();
    assert_eq!(waits.answer().unwrap().status, 200);
    assert!(busy.iter_mut().all(|client| client.answer().unwrap().status == 200));
}

#[test]
fn an_address_has_a_limit_of_connections() {
    let town = Town::new();
    let limited = Settings { max_connections_per_address: 2, limit_loopback: true, ..patient() };
    let server = RunningServer::new(&town.service, limited.clone());
    let mut first = Client::connect(server.address);
    assert_eq!(first.get("/health", "").status, 200);
    town.gate.close();
    let mut busy = [(); 2].map(|()| Client::connect(server.address));
    busy.iter_mut().for_each(|client| assert!(client.send(town.request("/api"))));
    town.gate.wait_for(2);
    // The idle connection was closed; the others are busy.
    assert!(first.is_closed());
    assert!(Client::connect(server.address).is_closed());
    town.gate.open();
    assert!(busy.iter_mut().all(|client| client.answer().unwrap().status == 200));

    // Loopback addresses are not limited, because a proxy may have one.
    let server = RunningServer::new(&town.service, Settings { limit_loopback: false, ..limited });
    let mut clients: Vec<_> = (0..5).map(|_| Client::connect(server.address)).collect();
    assert!(clients.iter_mut().all(|client| client.get("/health", "").status == 200));
    assert!(clients.iter_mut().all(|client| client.get("/health", "").status == 200));
}

#[test]
fn a_client_that_closes_its_sending_half_gets_its_answer() {
    let town = Town::with(Arc::clone(&LARGE), |builder| builder);
    let server = RunningServer::new(&town.service, patient());
    let expected = town::bytes(town.handle(CUSTOMERS).body);
    let before = town.gate.arrived();
    // The client closes its half together with the request, or while the service works.
    for is_late in [false, true] {
        if is_late {
            town.gate.close();
        }
        let mut client = Client::connect(server.address);
        client.send(town.request(CUSTOMERS));
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
    // Pipelined requests are answered too.
    let mut client = Client::connect(server.address);
    client.send(town.request("/api") + &town.request("/health") + &town.request("/api/waterworks/insights"));
    client.end();
    for _ in 0..3 {
        assert_eq!(client.answer().unwrap().status, 200);
    }
    assert!(client.is_closed());
    // An incomplete request is not answered.
    for part in ["GET /api HT", "POST /api HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"] {
        let mut client = Client::connect(server.address);
        client.send(part);
        client.end();
        assert!(client.is_closed(), "{part}");
    }
}

#[test]
fn a_half_closed_connection_is_canceled_after_a_timeout() {
    let (sender, failures) = mpsc::sync_channel(8);
    let town = Town::with(Arc::clone(&LARGE), |builder| {
        builder.on_failure(move |error: &ServiceError| {
            assert!(sender.send(matches!(error, ServiceError::Timeout(Interruption::Canceled))).is_ok());
        })
    });
    let server = RunningServer::new(&town.service, Settings { half_closed_timeout: HEADER, ..patient() });
    town.gate.close();
    let mut client = Client::connect(server.address);
    client.send(town.request(CUSTOMERS));
    town.gate.wait_for(1);
    let begun = Instant::now();
    client.end();
    assert!(client.is_closed() && begun.elapsed() >= HEADER);
    town.gate.open();
    assert_eq!(failures.recv_timeout(Duration::from_secs(10)), Ok(true));
}

#[test]
fn a_request_must_name_one_host() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, short());
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
        let is_explained =
            answer.text().contains("the header `Host`") && answer.text().contains(r#""code":"invalid-host""#);
        assert_eq!(is_explained, status == 400, "{}", answer.text());
    }
}
