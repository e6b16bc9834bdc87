//! The memory that answers use. These tests are a separate program and run one at a time, because they measure the
//! whole process.

#![expect(clippy::unwrap_used, reason = "tests")]

#[expect(dead_code, reason = "the other tests use more of it")]
#[path = "../http/client.rs"]
mod client;
#[expect(dead_code, reason = "the other tests use more of it")]
#[path = "../http/town.rs"]
mod town;

use client::Client;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use town::{CUSTOMERS, RunningServer, Town, patient};
use trueup::MemoryBudget;
use trueup::access::{Grant, Organization, UnixTime};
use trueup::service::{AnswerMemory, Limits, Service, ServiceError, SignedIn};
use trueup_server::{Door, DoorAnswer, DoorBody, Server, Settings};

const MIB: usize = 1 << 20;

/// Waits until no other test measures, and prevents others from measuring.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`. Returns its result, and by how many bytes the peak memory of this process rises above the previous
/// peak; 0 if the operating system does not report it.
fn growth<T>(work: impl FnOnce() -> T) -> (T, usize) {
    // If the peak cannot be reset, it covers the whole life of the process and grows less.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = peak();
    let done = work();
    let growth = peak().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
    eprintln!("memory grew by {} KiB (peak reset: {is_reset})", growth / 1_024);
    (done, growth)
}

fn peak() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1_024)
}

const MIN_BODY_BYTES: usize = 64_000_000;

/// Memory for chunks and buffers, and what the allocator keeps for each thread.
const SENDING_BYTES: usize = 24 * MIB;

#[test]
fn a_large_answer_is_not_held_in_memory() {
    let _alone = alone();
    let town = Town::with(Arc::new(town::dataset(70_000)), |builder| builder);
    // An unknown field is "" on each row, which makes the body longer but not the table.
    let path = &format!("{CUSTOMERS},{},{}", "nobodyKnows".repeat(8), "norWhatThisIs".repeat(7));
    // Here each chunk is dropped, so the growth is the table and the work on it.
    let ((expected, length), table) = growth(|| {
        let (mut hash, mut length) = (DefaultHasher::new(), 0);
        for chunk in town.handle(path).body {
            let chunk = chunk.unwrap();
            hash.write(&chunk);
            length += chunk.len();
        }
        (hash.finish(), length)
    });
    assert!(length >= MIN_BODY_BYTES, "{length}");

    let server = RunningServer::new(&town.service, patient());
    let mut client = Client::connect(server.address);
    for pause in [Duration::ZERO, Duration::from_millis(300)] {
        let (found, sent) = growth(|| {
            client.send(town.request(path));
            let head = client.head().unwrap();
            assert_eq!((head.status, head.header("content-length")), (200, None));
            // While the client pauses, the server must not continue.
            thread::sleep(pause);
            let (mut hash, mut length) = (DefaultHasher::new(), 0);
            assert!(client.body(&head, |bytes| {
                hash.write(bytes);
                length += bytes.len();
            }));
            (hash.finish(), length)
        });
        assert_eq!(found, (expected, length));
        assert!(sent <= table + SENDING_BYTES, "{sent} bytes to send, {table} bytes for the table");
    }
}

const CONNECTIONS: usize = 64;
const REQUESTS: usize = 50;

#[test]
fn many_connections_get_the_same_answers_as_one() {
    let _alone = alone();
    let town = Town::new();
    let range = "start=2025-01-01&end=2025-01-31";
    let events = format!("/api/waterworks/events?{range}");
    let paths: Vec<String> = vec![
        "/health".to_owned(),
        "/api".to_owned(),
        format!("{events}&fields=leads,customers"),
        format!("{events}&fields=campaign,leads&interval=week"),
        format!("{events}&fields=opportunityId,date,leads"),
        format!("{events}&fields=account,leads&campaign=%5B%22regex%22%2C%22drain%22%2C%22i%22%5D"),
        format!("/api/east/insights?{range}"),
        format!("/api/nobody/events?fields=leads&{range}"),
        format!("{events}&fields=campaign"),
        "/nowhere".to_owned(),
    ];
    let server = RunningServer::new(&town.service, patient());
    let expected: Vec<_> = paths
        .iter()
        .map(|path| {
            let answer = Client::connect(server.address).get(path, &town.headers());
            if path != "/health" {
                let facade = town.handle(path);
                assert_eq!(answer.status, facade.status, "{path}");
                assert!(answer.body == town::bytes(facade.body), "{path}");
            }
            (answer.status, answer.body)
        })
        .collect();
    let statuses: Vec<u16> = expected.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 404, 400, 404]);
    let ((), growth) = growth(|| {
        thread::scope(|scope| {
            for connection in 0..CONNECTIONS {
                let (paths, expected, town, address) = (&paths, &expected, &town, server.address);
                scope.spawn(move || {
                    let mut client = Client::connect(address);
                    for request in 0..REQUESTS {
                        // Each connection sends the requests in another order.
                        let path = (connection + request * 7) % paths.len();
                        let answer = client.get(&paths[path], &town.headers());
                        assert!((answer.status, answer.body) == expected[path], "{}", paths[path]);
                    }
                });
            }
        })
    });
    assert!(growth <= 96 * MIB, "{growth}");
}

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
    let expected = town::bytes(response.body);
    assert!(one > MIB && roomy.peak() > one && roomy.held() == 0, "{one} {}", roomy.peak());

    // One user may take half of it.
    let budget = MemoryBudget::new(6 * roomy.peak());
    let limits = Limits { memory_wait: Duration::from_millis(100), ..Limits::default() };
    let town = Town::with(dataset, |builder| builder.memory(budget.clone()).limits(limits));
    let server = RunningServer::new(&town.service, patient());
    let ask = |client: &mut Client, path: &str| {
        assert!(client.send(town.request(path)));
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

/// The number and the length of the names of accounts, so that the list of them is longer than what sockets hold.
const NAMES: usize = 60_000;
const NAME_BYTES: usize = 400;

#[test]
fn unread_answers_count_until_they_are_received() {
    let _alone = alone();
    let budget = MemoryBudget::new(1 << 30);
    let town = Town::with(Arc::new(town::dataset(25_000)), |builder| builder.memory(budget.clone()));
    town.directory.add_organization(&Organization::new("names")).unwrap();
    town.directory.grant(town::USER, &Grant::Organization("names".to_owned())).unwrap();
    for number in 0..NAMES {
        let name = format!("{number:0NAME_BYTES$}");
        town.directory.add_account(&name).unwrap();
        town.directory.place_account(&name, "names").unwrap();
    }
    let server = RunningServer::new(&town.service, patient());
    let monthly = format!("{CUSTOMERS}&interval=month");
    for (path, least) in [(&*monthly, MIB), ("/api", NAMES * NAME_BYTES)] {
        let mut readers: Vec<Client> = (0..8).map(|_| Client::connect(server.address)).collect();
        for reader in &mut readers {
            assert!(reader.send(town.request(path)));
            assert_eq!(reader.head().unwrap().status, 200, "{path}");
        }
        // The chunks that a connection has taken over count, too.
        let held = budget.held() - town.service.dataset().held_column_bytes();
        assert!(held >= readers.len() * least, "{path}: {held}");
        readers.into_iter().for_each(Client::close);
        wait_until_free(&budget, &town);
    }
}

/// The length of the answer of a door, of which sockets hold only a part.
const PAGE_BYTES: usize = 16 * MIB;
const PAGE_READERS: usize = 8;

/// Makes a page in the memory of its reader.
type MakePage = fn(&AnswerMemory) -> Result<DoorBody, ServiceError>;

/// A door that answers with a page.
#[derive(Debug)]
struct PageDoor {
    path: &'static str,
    service: Arc<Service>,
    make: MakePage,
}

impl Door for PageDoor {
    fn path(&self) -> &str {
        self.path
    }

    fn answer(&self, caller: SignedIn, _: Request<Full<Bytes>>) -> DoorAnswer<'_> {
        let page = (self.make)(&self.service.answer_memory(&caller));
        let response = page.map(Response::new).unwrap_or_else(|error| {
            let response = Response::builder().status(error.status());
            response.body(DoorBody::constant("no page")).unwrap()
        });
        Box::pin(async { response })
    }
}

/// Writes a page as a whole.
fn written(memory: &AnswerMemory) -> Result<DoorBody, ServiceError> {
    let line = [b'x'; 1 << 10];
    Ok(memory.body(|out| (0..PAGE_BYTES / line.len()).try_for_each(|_| out.write_all(&line)))?.into())
}

/// Returns a page as a frame that a protocol has made.
fn framed(memory: &AnswerMemory) -> Result<DoorBody, ServiceError> {
    Ok(DoorBody::frames(Full::new(Bytes::from(vec![b'x'; PAGE_BYTES])), memory.clone()))
}

#[test]
fn unread_answers_of_doors_count_against_the_share_of_their_user() {
    let _alone = alone();
    let budget = MemoryBudget::new(5 * PAGE_BYTES);
    let town = Town::with(Arc::new(town::dataset(100)), |builder| builder.memory(budget.clone()));
    town.directory.add_user("olga").unwrap();
    town.directory.grant("olga", &Grant::Organization(town::ORGANIZATION.to_owned())).unwrap();
    let key_of_other = town.directory.create_key("olga", UnixTime::from_seconds(0)).unwrap().secret;
    let server = Server::bind("127.0.0.1:0", Arc::clone(&town.service), patient()).unwrap();
    let door = |path, make: MakePage| Arc::new(PageDoor { path, service: Arc::clone(&town.service), make });
    let server = RunningServer::start(server.door(door("/written", written)).door(door("/framed", framed)), None);
    for path in ["/written", "/framed"] {
        let (readers, growth) = growth(|| {
            let mut readers: Vec<_> = (0..PAGE_READERS).map(|_| Client::connect(server.address)).collect();
            let mut statuses = Vec::new();
            for reader in &mut readers {
                assert!(reader.send(town.request(path)));
                let head = reader.head().unwrap();
                // The length is known although the page is sent in chunks.
                assert!(head.status != 200 || head.header("content-length") == Some(&*PAGE_BYTES.to_string()));
                statuses.push(head.status);
            }
            // One user may have half of what the others leave.
            assert_eq!(statuses, [200, 200, 503, 503, 503, 503, 503, 503], "{path}");
            readers
        });
        assert!(budget.held() >= 2 * PAGE_BYTES && budget.peak() <= budget.limit(), "{path}: {budget:?}");
        assert!(growth <= 4 * PAGE_BYTES + SENDING_BYTES, "{path}: {growth}");
        // Another user is answered meanwhile, whole.
        let page = Client::connect(server.address).get(path, &format!("Authorization: {}\r\n", key_of_other.reveal()));
        assert_eq!((page.status, page.body.len()), (200, PAGE_BYTES), "{path}");
        readers.into_iter().for_each(Client::close);
        wait_until_free(&budget, &town);
    }
}

/// Waits until no answer holds memory any more.
fn wait_until_free(budget: &MemoryBudget, town: &Town) {
    let begun = Instant::now();
    while budget.held() > town.service.dataset().held_column_bytes() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", budget.held());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn many_connections_share_a_few_threads() {
    let _alone = alone();
    let town = Town::new();
    let settings = Settings { max_requests_at_once: 3, ..patient() };
    let server = RunningServer::new(&town.service, settings);
    let mut clients: Vec<Client> = (0..128).map(|_| Client::connect(server.address)).collect();
    let ((), growth) = growth(|| {
        for _ in 0..5 {
            for client in &mut clients {
                assert!(client.send(town.request(SMALL)));
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
