//! Keys and the hourly limit under load from eight threads.

use crate::platform::{NOW, Platform, Received, Rival};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};
use trueup::access::{Directory, DirectorySettings, MemoryDirectory, SqliteDirectory, UnixTime};
use trueup::service::Request;

const EVENTS: &str = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31";
const THREADS: usize = 8;

fn ask(platform: &Platform, key: &str) -> Received {
    platform.ask(&Request {
        authorization: Some(key.to_owned()),
        accept_encoding: Some("identity".to_owned()),
        ..Request::get(EVENTS)
    })
}

/// Rotates anna's key `rounds` times through `rotating`, while threads send requests with the old and the new key.
fn rotate_under_load(platforms: &[&Platform], rotating: &dyn Directory, rounds: usize) {
    let mut id = rotating.keys("anna").unwrap()[0].id;
    let begun = Instant::now();
    let keys = RwLock::new(vec![platforms[0].secret("<anna>")]);
    // Keys before this index are dead: the call that rotated them out had returned before the index was stored.
    let dead = AtomicUsize::new(0);
    let (done, answered, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (keys, dead, done, answered, refused) = (&keys, &dead, &done, &answered, &refused);
            let platform = platforms[number % platforms.len()];
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    let known_dead = dead.load(Ordering::SeqCst);
                    let index = known_dead.saturating_sub(number % 2);
                    let Some(key) = keys.read().unwrap().get(index).cloned() else { continue };
                    let response = ask(platform, &key);
                    assert!(matches!(response.status, 200 | 401), "{}", response.status);
                    if response.status == 200 {
                        assert!(index >= known_dead, "key {index} of {known_dead} dead ones was answered");
                        assert_eq!(response.body, br#"[{"leads":11}]"#);
                        answered.fetch_add(1, Ordering::Relaxed);
                    } else {
                        // The newest key may be rotated out during the request; the last one never is.
                        assert!(index < rounds, "the last key was refused");
                        refused.fetch_add(usize::from(index < known_dead), Ordering::Relaxed);
                    }
                }
            });
        }
        for round in 1..=rounds {
            let new = rotating.rotate_key("anna", id, NOW).unwrap();
            id = new.id;
            keys.write().unwrap().push(new.secret.reveal().to_owned());
            dead.store(round, Ordering::SeqCst);
            // Waits for more than `round` answers, and more than `round` refusals of dead keys.
            while answered.load(Ordering::Relaxed) <= round || refused.load(Ordering::Relaxed) <= round {
                if begun.elapsed() > Duration::from_secs(120) {
                    done.store(true, Ordering::SeqCst);
                    panic!("the threads send no more requests");
                }
                thread::yield_now();
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    let [answered, refused] = [answered, refused].map(AtomicUsize::into_inner);
    assert!(answered > rounds && refused > rounds, "{answered} answered, {refused} refused");
    for (index, key) in keys.into_inner().unwrap().iter().enumerate() {
        for platform in platforms {
            assert_eq!(ask(platform, key).status, if index == rounds { 200 } else { 401 }, "{index}");
        }
    }
}

fn in_file(folder: &Path) -> Arc<SqliteDirectory> {
    let settings = DirectorySettings::default().hourly_limit(u32::MAX);
    Arc::new(SqliteDirectory::open(folder.join("directory.sqlite"), settings).unwrap())
}

#[test]
fn after_a_rotation_only_the_new_key_works() {
    let platform = Platform::new();
    let directory = platform.service.directory();
    let old = directory.keys("anna").unwrap()[0].id;
    let new = directory.rotate_key("anna", old, NOW).unwrap();
    assert_eq!(platform.get("anna", EVENTS).status, 401);
    assert_eq!(ask(&platform, new.secret.reveal()).status, 200);
}

#[test]
fn all_keys_of_a_user_are_known_as_that_user_and_nothing_is_counted() {
    let settings = DirectorySettings::default().hourly_limit(1);
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new(settings).unwrap());
    let platform = Platform::with_directory(directory.clone(), &Rival::default(), |builder| builder);
    let second = directory.create_key("anna", NOW).unwrap();
    let first = platform.secret("<anna>");
    let user =
        |key: &str| platform.service.user(&Request { authorization: Some(key.to_owned()), ..Request::get(EVENTS) });
    for key in [&first, second.secret.reveal(), &format!(" {first} ")] {
        assert_eq!(user(key).as_deref(), Some("anna"));
    }
    assert_eq!(user("tu_nobody"), None);
    assert_eq!(platform.service.user(&Request::get(EVENTS)), None);
    assert_eq!([ask(&platform, &first).status, ask(&platform, &first).status], [200, 429]);
}

#[test]
fn a_rotation_in_a_file_takes_effect_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let directory = in_file(folder.path());
    let platform = Platform::with_directory(directory.clone(), &Rival::default(), |builder| builder);
    rotate_under_load(&[&platform], &*directory, 40);
}

#[test]
fn a_rotation_by_another_connection_takes_effect_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let platform = Platform::with_directory(in_file(folder.path()), &Rival::default(), |builder| builder);
    // Two services and the rotation each have connections of their own to the file.
    let other = platform.second_service(in_file(folder.path()));
    rotate_under_load(&[&platform, &other], &*in_file(folder.path()), 40);
}

#[test]
fn a_rotation_in_memory_takes_effect_immediately() {
    let directory = Arc::new(MemoryDirectory::new(DirectorySettings::default().hourly_limit(u32::MAX)).unwrap());
    let platform = Platform::with_directory(directory.clone(), &Rival::default(), |builder| builder);
    rotate_under_load(&[&platform], &*directory, 40);
}

/// The start of a clock hour in which no user of the platform has sent a request.
const HOUR: UnixTime = UnixTime::from_seconds(1_744_722_000);
const LIMIT: u32 = 100;

/// Sends 8 x 80 requests. Returns how many were answered 200 and 429, and the distinct values of `Retry-After`.
fn counted(platform: &Platform) -> (usize, usize, Vec<String>) {
    let key = platform.secret("<anna>");
    let responses: Vec<Received> = thread::scope(|scope| {
        let ask = |_| scope.spawn(|| (0..80).map(|_| ask(platform, &key)).collect::<Vec<_>>());
        let threads: Vec<_> = (0..THREADS).map(ask).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let of = |status: u16| responses.iter().filter(|response| response.status == status).count();
    let mut after: Vec<String> =
        responses.iter().filter_map(|response| response.header("Retry-After").map(str::to_owned)).collect();
    after.sort();
    after.dedup();
    (of(200), of(429), after)
}

fn check_the_hourly_limit(directory: Arc<dyn Directory>) {
    assert_eq!(HOUR.seconds() % 3_600, 0);
    // Each request reads the clock once. From reading `turn` on, the clock is in the next hour.
    let (read, turn) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(i64::MAX)));
    let clock = {
        let (read, turn) = (read.clone(), turn.clone());
        move || {
            let number = read.fetch_add(1, Ordering::SeqCst);
            HOUR.plus_seconds(if number < turn.load(Ordering::SeqCst) { 3_599 } else { 3_600 })
        }
    };
    let platform = Platform::with_directory(directory, &Rival::default(), |builder| builder.clock(clock));
    let limit = LIMIT as usize;
    assert_eq!(counted(&platform), (limit, 640 - limit, vec!["1".to_owned()]));
    assert_eq!(counted(&platform), (0, 640, vec!["1".to_owned()]));
    // The hour ends halfway through: requests before that are refused, then the limit starts again.
    turn.store(read.load(Ordering::SeqCst) + 320, Ordering::SeqCst);
    assert_eq!(counted(&platform), (limit, 640 - limit, vec!["1".to_owned(), "3600".to_owned()]));
    assert_eq!(counted(&platform), (0, 640, vec!["3600".to_owned()]));
    assert_eq!(read.load(Ordering::SeqCst), 4 * 640);
}

#[test]
fn the_hourly_limit_is_exact_under_eight_threads_and_resets_on_the_hour() {
    let folder = tempfile::tempdir().unwrap();
    let settings = DirectorySettings::default().hourly_limit(LIMIT);
    check_the_hourly_limit(Arc::new(MemoryDirectory::new(settings.clone()).unwrap()));
    check_the_hourly_limit(Arc::new(SqliteDirectory::open(folder.path().join("directory.sqlite"), settings).unwrap()));
}

#[test]
fn eight_threads_get_equal_answers_up_to_the_limit() {
    let settings = DirectorySettings::default().hourly_limit(1_100);
    let directory = Arc::new(MemoryDirectory::new(settings).unwrap());
    let platform = Platform::with_directory(directory, &Rival::default(), |builder| builder);
    let statuses = thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| {
                let path = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31";
                let answers = (0..20).map(|_| platform.get("busy", path));
                answers.map(|answer| (answer.status, answer.body)).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..8).map(ask).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    // 1,000 of the 1,100 requests were sent before.
    assert_eq!(statuses.iter().filter(|(status, _)| *status == 200).count(), 100);
    assert_eq!(statuses.iter().filter(|(status, _)| *status == 429).count(), 60);
    assert!(statuses.iter().filter(|(status, _)| *status == 200).all(|(_, body)| body == br#"[{"leads":11}]"#));
}
