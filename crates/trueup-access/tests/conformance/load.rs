//! Hourly counts and rotation of keys in several threads.

use super::{NOW, both};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use trueup_access::{Directory, DirectorySettings, Hourly, Login, MemoryDirectory, SqliteDirectory, UnixTime};

/// The beginning of a clock hour.
const HOUR: UnixTime = UnixTime::from_seconds(1_760_000_400);

fn login(directory: &dyn Directory, user: &str) -> Login {
    directory.add_user(user).unwrap();
    directory.login(user).unwrap().unwrap()
}

/// Returns how many of 1,280 requests at `now` are allowed; eight threads send 160 each.
fn allowed(directory: &dyn Directory, login: &Login, now: UnixTime) -> u32 {
    let allowed = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..160 {
                    if directory.count(login, now).unwrap() == Hourly::Allowed {
                        allowed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    allowed.into_inner()
}

#[test]
fn eight_threads_get_exactly_the_limit_in_each_hour() {
    both(|directory| {
        let (anna, bert) = (login(directory, "anna"), login(directory, "bert"));
        assert_eq!(allowed(directory, &anna, HOUR), 1_000);
        let last = HOUR.plus_seconds(3_599);
        assert_eq!(directory.count(&anna, HOUR).unwrap(), Hourly::Limited(3_600));
        assert_eq!(directory.count(&anna, last).unwrap(), Hourly::Limited(1));
        // Another user has their own count.
        assert_eq!(directory.count(&bert, last).unwrap(), Hourly::Allowed);
        assert_eq!(allowed(directory, &anna, HOUR.plus_seconds(3_600)), 1_000);
        // A request whose clock was read before the hour passed finds the counts of both hours unchanged.
        assert!(matches!(directory.count(&anna, last).unwrap(), Hourly::Limited(_)));
        assert!(matches!(directory.count(&anna, HOUR.plus_seconds(3_600)).unwrap(), Hourly::Limited(_)));
    });
}

#[test]
fn the_hourly_limit_is_configurable() {
    let folder = tempfile::tempdir().unwrap();
    for limit in [0, 1, 3] {
        let settings = DirectorySettings::default().hourly_limit(limit);
        let sqlite = SqliteDirectory::open(folder.path().join(limit.to_string()), settings.clone()).unwrap();
        let memory = MemoryDirectory::new(settings).unwrap();
        for directory in [&sqlite as &dyn Directory, &memory] {
            let login = login(directory, "u");
            let before_1970 = UnixTime::from_seconds(-1);
            let results: Vec<_> = (0..4).map(|_| directory.count(&login, before_1970).unwrap()).collect();
            let counted = results.iter().filter(|result| **result == Hourly::Allowed).count();
            assert_eq!(counted, usize::try_from(limit).unwrap());
            assert_eq!(directory.remaining(&login, before_1970).unwrap(), 0);
            assert_eq!(directory.remaining(&login, HOUR).unwrap(), limit);
            assert_eq!(results[3], Hourly::Limited(1));
        }
    }
}

#[test]
fn no_request_that_begins_after_a_rotation_is_answered_with_the_old_key() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let keys = std::sync::RwLock::new(vec![directory.create_key("u", NOW).unwrap()]);
        // Keys before this index were replaced before the index was stored.
        let revoked = AtomicUsize::new(0);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::SeqCst) {
                        let known_revoked = revoked.load(Ordering::SeqCst);
                        let last_two = {
                            let keys = keys.read().unwrap();
                            let first = known_revoked.saturating_sub(1);
                            keys[first..]
                                .iter()
                                .enumerate()
                                .map(|(at, key)| (first + at, key.secret.clone()))
                                .collect::<Vec<_>>()
                        };
                        for (index, secret) in last_two {
                            let admitted = directory.authenticate(Some(&secret)).unwrap().is_ok();
                            assert!(
                                !admitted || index >= known_revoked,
                                "key {index} was accepted, and the first {known_revoked} are revoked"
                            );
                        }
                    }
                });
            }
            for round in 1..=100 {
                let old = keys.read().unwrap()[round - 1].id;
                let new = directory.rotate_key("u", old, NOW).unwrap();
                keys.write().unwrap().push(new);
                revoked.store(round, Ordering::SeqCst);
            }
            done.store(true, Ordering::SeqCst);
        });
        let keys = keys.into_inner().unwrap();
        let is_accepted: Vec<bool> =
            keys.iter().map(|key| directory.authenticate(Some(&key.secret)).unwrap().is_ok()).collect();
        assert_eq!(is_accepted.iter().filter(|is_accepted| **is_accepted).count(), 1);
        assert!(is_accepted[100]);
    });
}
