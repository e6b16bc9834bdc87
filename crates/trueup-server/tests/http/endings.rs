//! How a server stops, an address in use, and the deadline of a request that waits in the queue.

use crate::client::Client;
use crate::town::{self, CUSTOMERS, RunningServer, Town, patient};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use trueup::service::Limits;
use trueup_server::Settings;

#[test]
fn running_requests_are_finished_on_shutdown() {
    let town = Town::with(Arc::new(town::dataset(15_000)), |builder| builder);
    let mut server = RunningServer::new(&town.service, patient());
    let mut idle = Client::connect(server.address);
    assert_eq!(idle.get("/health", "").status, 200);
    // One answer is being sent, another is being produced.
    let mut sent = Client::connect(server.address);
    sent.send(town.request(CUSTOMERS));
    let head = sent.head().unwrap();
    town.gate.close();
    let mut made = Client::connect(server.address);
    made.send(town.request(CUSTOMERS));
    town.gate.wait_for(2);

    server.stop();
    assert!(idle.is_closed());
    assert!(TcpStream::connect(server.address).is_err());
    town.gate.open();
    let expected = town::bytes(town.handle(CUSTOMERS).body);
    let mut body = Vec::new();
    assert!(sent.body(&head, |bytes| body.extend_from_slice(bytes)));
    assert!(body == expected);
    assert!(made.answer().unwrap().body == expected);
    assert!(sent.is_closed() && made.is_closed());
    server.join();
}

#[test]
fn requests_that_outlast_the_shutdown_grace_are_canceled() {
    let town = Town::new();
    let settings = Settings { shutdown_grace: Duration::from_millis(200), ..patient() };
    let mut server = RunningServer::new(&town.service, settings);
    town.gate.close();
    let mut client = Client::connect(server.address);
    client.send(town.request(CUSTOMERS));
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
fn an_address_in_use_is_an_error() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, patient());
    let second = trueup_server::Server::bind(server.address, Arc::clone(&town.service), patient());
    assert_eq!(second.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}

/// Sends signals to the whole process, so one test sends all of them. No other server of the process handles signals.
#[cfg(unix)]
#[test]
fn a_signal_stops_the_server() {
    let town = Town::new();
    let bind = || trueup_server::Server::bind("127.0.0.1:0", Arc::clone(&town.service), patient()).unwrap();
    let send = |signal: &str| {
        let process = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &process]).status().unwrap().success());
    };
    // The signal arrives while the server listens and does not run yet.
    let server = bind().hear_signals().unwrap();
    let address = server.local_addr();
    send("-TERM");
    server.run().unwrap();
    assert!(TcpStream::connect(address).is_err());

    for signal in ["-TERM", "-HUP"] {
        // Under `nohup` a hangup stops no server, and the thread would never end.
        if signal == "-HUP" && trueup_server::is_hangup_ignored() {
            continue;
        }
        let server = bind();
        let address = server.local_addr();
        let thread = thread::spawn(move || server.run());
        // A server that answers also handles signals.
        assert_eq!(Client::connect(address).get("/health", "").status, 200);
        send(signal);
        thread.join().unwrap().unwrap();
        assert!(TcpStream::connect(address).is_err());
    }
}

#[test]
fn the_deadline_includes_the_time_in_the_queue() {
    let limits = Limits { deadline: Duration::ZERO, ..Limits::default() };
    let town = Town::with(Arc::new(town::dataset(1)), |builder| builder.limits(limits));
    let settings = Settings { max_requests_at_once: 1, ..patient() };
    let server = RunningServer::new(&town.service, settings);
    let ask = || Client::connect(server.address).get("/api/waterworks/insights", &town.headers());
    town.gate.close();
    thread::scope(|scope| {
        let first = scope.spawn(ask);
        town.gate.wait_for(1);
        // The first request keeps the only permit until the gate opens, after the second is answered.
        let second = Client::connect(server.address).get("/api", &town.headers());
        assert_eq!((second.status, town.gate.arrived()), (504, 1));
        assert!(String::from_utf8_lossy(&second.body).ends_with(r#""code":"timeout"}"#));
        town.gate.open();
        assert_eq!(first.join().unwrap().status, 504);
    });
}
