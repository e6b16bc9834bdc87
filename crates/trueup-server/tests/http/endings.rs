//! How a server ends.

use crate::client::Client;
use crate::running::Running;
use crate::town::{self, CUSTOMERS, Town};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use trueup::service::Limits;
use trueup_server::Settings;

#[test]
fn what_runs_is_finished() {
    let town = Town::with(Arc::new(town::dataset(15_000)), |builder| builder);
    let mut server = Running::new(&town.service, Settings::default());
    let mut idle = Client::connect(server.address);
    assert_eq!(idle.get("/health", "").status, 200);
    // One answer is on its way, another is being made.
    let mut sent = Client::connect(server.address);
    sent.send(format!("GET {CUSTOMERS} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers()));
    let head = sent.head().unwrap();
    town.gate.close();
    let mut made = Client::connect(server.address);
    made.send(format!("GET {CUSTOMERS} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers()));
    town.gate.wait_for(2);

    server.stop();
    assert!(idle.is_closed());
    assert!(TcpStream::connect(server.address).is_err());
    town.gate.open();
    let expected = town.handle(CUSTOMERS).body.into_bytes().unwrap();
    let mut body = Vec::new();
    assert!(sent.body(&head, |bytes| body.extend_from_slice(bytes)));
    assert!(body == expected);
    assert!(made.answer().unwrap().body == expected);
    assert!(sent.is_closed() && made.is_closed());
    server.join();
}

#[test]
fn what_does_not_finish_is_cut_off() {
    let town = Town::new();
    let settings = Settings { shutdown_grace: Duration::from_millis(200), ..Settings::default() };
    let mut server = Running::new(&town.service, settings);
    town.gate.close();
    let mut client = Client::connect(server.address);
    client.send(format!("GET {CUSTOMERS} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers()));
    town.gate.wait_for(1);
    let begun = Instant::now();
    server.stop();
    assert!(client.is_closed());
    assert!(begun.elapsed() >= Duration::from_millis(200));
    town.gate.open();
    server.join();
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let town = Town::new();
    let server = Running::new(&town.service, Settings::default());
    let second = trueup_server::Server::bind(server.address, Arc::clone(&town.service), Settings::default());
    assert_eq!(second.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}

/// One test, as a signal comes to all of the process: no other server in it hears any.
#[cfg(unix)]
#[test]
fn a_signal_ends_it() {
    let town = Town::new();
    let bind = || trueup_server::Server::bind("127.0.0.1:0", Arc::clone(&town.service), Settings::default()).unwrap();
    let send = |signal: &str| {
        let process = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &process]).status().unwrap().success());
    };
    // One that came while it listened and did not run yet.
    let server = bind().hear_signals().unwrap();
    let address = server.local_addr();
    send("-TERM");
    server.run().unwrap();
    assert!(TcpStream::connect(address).is_err());

    for signal in ["-TERM", "-HUP"] {
        let server = bind();
        let address = server.local_addr();
        let thread = thread::spawn(move || server.run());
        // Once it answers it hears signals too.
        assert_eq!(Client::connect(address).get("/health", "").status, 200);
        send(signal);
        thread.join().unwrap().unwrap();
        assert!(TcpStream::connect(address).is_err());
    }
}

#[test]
fn who_waits_for_a_turn_waits_no_longer_than_a_request_may_take() {
    let limits = Limits { deadline: Duration::ZERO, ..Limits::default() };
    let town = Town::with(Arc::new(town::dataset(1)), |builder| builder.limits(limits));
    let settings = Settings { max_requests_at_once: 1, ..Settings::default() };
    let server = Running::new(&town.service, settings);
    let ask = || Client::connect(server.address).get("/api/waterworks/insights", &town.headers());
    town.gate.close();
    thread::scope(|scope| {
        let first = scope.spawn(ask);
        town.gate.wait_for(1);
        // The first holds the only turn until the gate opens, which it does not before the second is answered.
        let second = ask();
        assert_eq!((second.status, town.gate.come()), (504, 1));
        assert!(String::from_utf8_lossy(&second.body).ends_with(r#""code":"timeout"}"#));
        town.gate.open();
        assert_eq!(first.join().unwrap().status, 504);
    });
}
