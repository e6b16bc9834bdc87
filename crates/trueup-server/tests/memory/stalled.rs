//! Clients that receive nothing and clients that send nothing: memory stays bounded, and others are served.

use crate::client::Client;
use crate::running::RunningServer;
use crate::town::{self, CUSTOMERS, Town};
use crate::{MIB, alone, growth};
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use trueup::MemoryBudget;
use trueup::service::Limits;
use trueup_server::Settings;

/// Number of answers that clients request and do not receive. Each has about 20 MB, more than socket buffers hold.
const READERS: usize = 32;
/// Number of connections without a request.
const IDLE: usize = 2_000;

/// Memory that a connection may use.
const PER_CONNECTION: usize = 256 << 10;

const SMALL: &str = "/api/east/events?fields=campaign,leads&start=2025-01-01&end=2025-01-31";

/// Raises the limit of open files if permitted, and returns it.
fn files() -> usize {
    let (process, wanted) = (std::process::id().to_string(), 2 * IDLE + 1_000);
    let _ = Command::new("prlimit").args(["--pid", &process, &format!("--nofile={wanted}:")]).status();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let soft =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next()?.parse().ok());
    soft.unwrap_or(256)
}

#[test]
fn stalled_readers_and_idle_connections_use_bounded_memory() {
    let _alone = alone();
    let dataset = Arc::new(town::dataset(25_000));
    let path = format!("{CUSTOMERS}&interval=month");
    // Measure the memory of one answer and its query.
    let roomy = MemoryBudget::new(1 << 40);
    let town = Town::with(Arc::clone(&dataset), |builder| builder.memory(roomy.clone()));
    let response = town.handle(&path);
    let one = roomy.held();
    let expected = response.body.into_bytes().unwrap();
    assert!(one > MIB && roomy.peak() > one && roomy.held() == 0, "{one} {}", roomy.peak());

    let budget = MemoryBudget::new(3 * roomy.peak());
    let limits = Limits { memory_wait: Duration::from_millis(100), ..Limits::default() };
    let town = Town::with(dataset, |builder| builder.memory(budget.clone()).limits(limits));
    let long = Duration::from_secs(300);
    let settings = Settings { write_timeout: long, header_timeout: long, idle_timeout: long, ..Settings::default() };
    let server = RunningServer::new(&town.service, settings);
    let ask = |client: &mut Client, path: &str| {
        assert!(client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers())));
    };
    assert_eq!(Client::connect(server.address).get(SMALL, &town.headers()).status, 200);
    let idle = IDLE.min(files().saturating_sub(200) / 2);
    let ((stalled, refused, silent), growth) = growth(|| {
        let mut readers: Vec<Client> = (0..READERS).map(|_| Client::connect(server.address)).collect();
        readers.iter_mut().for_each(|reader| ask(reader, &path));
        let (mut stalled, mut refused) = (Vec::new(), 0);
        for mut reader in readers {
            let head = reader.head().unwrap();
            if head.status == 200 {
                stalled.push((reader, head));
                continue;
            }
            refused += 1;
            assert_eq!((head.status, head.header("retry-after")), (503, Some("5")));
            let mut body = Vec::new();
            assert!(reader.body(&head, |bytes| body.extend_from_slice(bytes)));
            assert!(String::from_utf8(body).unwrap().ends_with(r#""code":"overloaded"}"#));
        }
        // Other clients are answered meanwhile.
        let mut silent = Vec::new();
        for number in 0..idle {
            silent.push(Client::connect(server.address));
            if number % 100 == 0 {
                assert_eq!(Client::connect(server.address).get(SMALL, &town.headers()).status, 200);
            }
        }
        assert_eq!(Client::connect(server.address).get("/api", &town.headers()).status, 200);
        (stalled, refused, silent)
    });
    assert!(stalled.len() >= 2 && refused >= READERS / 2, "{} are answered, {refused} are refused", stalled.len());
    assert!(budget.held() >= stalled.len() * one && budget.peak() <= budget.limit(), "{budget:?}");
    let bound = budget.limit() + 64 * MIB + (READERS + idle.min(1_024)) * PER_CONNECTION;
    assert!(growth <= bound, "{growth} bytes with {idle} idle connections, and the bound is {bound}");
    drop(silent);

    // A client that receives its answer late gets all of it.
    for (mut reader, head) in stalled {
        let mut body = Vec::new();
        assert!(reader.body(&head, |bytes| body.extend_from_slice(bytes)));
        assert!(body == expected);
    }
    let mut client = Client::connect(server.address);
    assert!(client.get(&path, &town.headers()).body == expected);
    assert_eq!(budget.held(), 0);
}

#[test]
fn many_connections_share_a_few_threads() {
    let _alone = alone();
    let town = Town::new();
    let settings = Settings { max_requests_at_once: 3, ..Settings::default() };
    let server = RunningServer::new(&town.service, settings);
    let mut clients: Vec<Client> = (0..128).map(|_| Client::connect(server.address)).collect();
    let ((), growth) = growth(|| {
        for _ in 0..5 {
            for client in &mut clients {
                assert!(client.send(format!("GET {SMALL} HTTP/1.1\r\nHost: h\r\n{}\r\n", town.headers())));
            }
            assert!(clients.iter_mut().all(|client| client.answer().unwrap().status == 200));
        }
    });
    assert!(growth <= 64 * MIB + clients.len() * PER_CONNECTION, "{growth}");
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    let query_threads = names.filter(|name| name.trim() == "trueup-query").count();
    assert!(query_threads <= 3, "{query_threads}");
}
